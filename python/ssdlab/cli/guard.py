"""Errors of a command as messages and exit statuses."""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from ssdlab.cli import statuses
from ssdlab.cli.console import complain, remark
from ssdlab.errors import InputError
from ssdlab.words import as_flags


@contextmanager
def guarded() -> Iterator[None]:
    """Turns errors into messages and exit statuses.

    2: bad input; 130: interrupted; 1: a fault of ssdlab or of the system.

    Raises:
        SystemExit: there was an error.
        BrokenPipeError: the reader of the output has ended; this causes no message.
    """
    try:
        with as_flags():
            yield
    except InputError as error:
        complain(str(error))
        raise SystemExit(statuses.INPUT) from None
    except KeyboardInterrupt:
        remark("interrupted: there is no result")
        raise SystemExit(statuses.INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        # Files are named where they are written; what has no name is the output that this command prints.
        name = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")
        complain(f"{name}: {os.strerror(error.errno) if error.errno else error}" if name else str(error))
        raise SystemExit(statuses.FAULT) from None
    except Exception as fault:
        if hasattr(fault, "exit_code"):  # raised by Typer: a misspelt command or option, an exit
            raise
        traceback.print_exc()
        complain("this is a fault of ssdlab, not of its input: please report it with the lines above")
        raise SystemExit(statuses.FAULT) from None
    except BaseException as fault:
        if type(fault).__name__ != "PanicException":
            raise
        complain(f"this is a fault of ssdlab's engine, not of its input: please report it: {fault}")
        raise SystemExit(statuses.FAULT) from None
