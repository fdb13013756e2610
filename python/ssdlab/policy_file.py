"""A policy from a Python file, as the command line names it: ``FILE.py:CLASS``."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ssdlab.errors import InputError, PolicyError, unknown_name
from ssdlab.files import existing_file
from ssdlab.guest import shown_file
from ssdlab.policy import Policy

__all__ = ["chosen", "load", "split"]


def split(text: str) -> tuple[str, str | None]:
    """The file and the class that ``FILE.py:CLASS`` names; a text of another form as it is, and no class."""
    file, colon, name = text.rpartition(":")
    return (file, name) if colon and file.endswith(".py") else (text, None)


def chosen(text: str) -> str | type[Policy]:
    """What stands for a policy on the command line: a name as it is, or the class that ``FILE.py:CLASS`` names.

    Raises:
        InputError: as for :func:`load`.
    """
    file, name = split(text)
    return load(file, name) if file.endswith(".py") else text


def load(file: str, name: str | None = None) -> type[Policy]:
    """The policy of a Python file: its class `name`, or the only one that it defines.

    The file is run as a module of its own; it finds the modules beside it behind all others.

    Raises:
        InputError: there is no such file, no such class in it, or no or several policies where `name` is absent.
        PolicyError: the file cannot be run; what it raised is the cause.
    """
    module = _run(existing_file(file))
    classes = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Policy) and value is not Policy
    }
    own = [key for key, value in classes.items() if value.__module__ == module.__name__]
    if name is None:
        if len(own) != 1:
            found = f"defines {', '.join(own)}" if own else "defines no subclass of ssdlab.Policy"
            raise InputError(f"{file}: {found}: expected {file}:CLASS" if own else f"{file}: {found}")
        return classes[own[0]]
    if name not in classes:
        if hasattr(module, name):
            raise InputError(f"{file}: `{name}` is not a subclass of ssdlab.Policy")
        if not own:
            raise InputError(f"{file}: defines no `{name}`, and no subclass of ssdlab.Policy")
        raise InputError(f"{file}: {unknown_name('policy', name, own)}")
    return classes[name]


def _run(file: str) -> ModuleType:
    """The module that a file makes."""
    path = Path(file).resolve()
    # A name that no import finds by chance, the same for the same file.
    module_name = f"ssdlab_policy_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise PolicyError(f"{_place(path, error)}: {type(error).__name__}: {_message(error)}") from error
    return module


def _message(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _place(path: Path, error: BaseException) -> str:
    """File and line where a file that was run failed: its own, as far in as it goes."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{shown_file(error.filename)}:{error.lineno}"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    return f"{shown_file(str(path))}:{lines[-1]}" if lines else shown_file(str(path))
