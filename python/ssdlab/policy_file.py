"""Policies from Python files, as the command line names them: ``FILE.py:CLASS``."""

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

__all__ = ["load", "name_of", "policy_of", "split"]

#: Names with which classes were chosen.
_FILES: dict[type, str] = {}


def split(text: str) -> tuple[str, str | None]:
    """Returns file and class of ``FILE.py:CLASS``; for a text of another form the text itself and None."""
    file, colon, name = text.rpartition(":")
    return (file, name) if colon and file.endswith(".py") else (text, None)


def policy_of(text: str) -> str | type[Policy]:
    """Returns a policy named on the command line: a name as it is, or the class that ``FILE.py:CLASS`` refers to.

    Raises:
        InputError: as for :func:`load`.
    """
    file, name = split(text)
    if not file.endswith(".py"):
        return text
    found = load(file, name)
    _FILES[found] = text
    return found


def name_of(policy: object) -> str:
    """Returns the name with which :func:`policy_of` finds a policy again; ``class ...`` for one that has no file."""
    if inspect.isclass(policy) and policy in _FILES:
        return _FILES[policy]
    return f"class {(policy if inspect.isclass(policy) else type(policy)).__qualname__}"


def load(file: str, name: str | None = None) -> type[Policy]:
    """Returns the policy in a Python file: its class `name`, or the only policy that it defines.

    The file is run as a module of its own. Its folder is appended to the search path for imports.

    Raises:
        InputError: the file does not exist, or has no such class; or it defines no policy or several, and `name` is
            absent.
        PolicyError: the file cannot be run; its exception is the cause.
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
    """Runs a file and returns it as a module."""
    path = Path(file).resolve()
    # A name that no import finds by chance; equal for equal file names.
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
    """Returns file and line at which running the file failed: the innermost line in the file itself."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{shown_file(error.filename)}:{error.lineno}"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(path)]
    return f"{shown_file(str(path))}:{lines[-1]}" if lines else shown_file(str(path))
