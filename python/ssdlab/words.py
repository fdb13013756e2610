"""Names of options in messages: those of the Python functions, or the flags of the command.

The engine reports options by the flags of the command. Functions that are decorated with :func:`in_own_words` report
them by the names of their arguments, unless the command calls them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from ssdlab.errors import InputError

__all__ = ["as_flags", "in_own_words", "with_argument_names"]

_Arguments = ParamSpec("_Arguments")
_Returned = TypeVar("_Returned")

_as_flags: ContextVar[bool] = ContextVar("as_flags", default=False)
#: A flag; the first alternative passes over the commands that a message quotes.
_FLAG = re.compile(r"`ssdlab [^`]*`|`--var (?P<var>\w+=\w+)`|`--ignore KEY,\.\.\.`|(?<![\w-])--(?P<flag>[a-z][a-z-]*[a-z])")


@contextmanager
def as_flags() -> Iterator[None]:
    """Keeps the flags in messages, within the command."""
    token = _as_flags.set(True)
    try:
        yield
    finally:
        _as_flags.reset(token)


def with_argument_names(message: str) -> str:
    """Returns a message with the names of arguments in place of flags, or as it is within the command."""
    return message if _as_flags.get() else _FLAG.sub(_argument, message)


def _argument(found: re.Match[str]) -> str:
    if found["var"] is not None:
        return f'`var=["{found["var"]}"]`'
    if found[0].startswith("`--ignore"):
        return '`ignore=["KEY", ...]`'
    flag = found["flag"]
    if flag is None:
        return found[0]
    if flag == "from":  # a word of Python
        return "source"
    # The only one that messages recommend to give, and whose name does not say that it is a truth value.
    return "force=True" if flag == "force" else flag.replace("-", "_")


def in_own_words(function: Callable[_Arguments, _Returned]) -> Callable[_Arguments, _Returned]:
    """Makes a function report options by the names of its arguments."""

    @wraps(function)
    def reworded(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Returned:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            error.args = tuple(with_argument_names(each) if isinstance(each, str) else each for each in error.args)
            raise

    return reworded
