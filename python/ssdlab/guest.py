"""Adapter between a policy in Python and the engine; errors of a policy are reported with file and line."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import _engine
from ssdlab.errors import InputError, PolicyError, closest
from ssdlab.policy import CALLS, DECLARED, QUESTIONS, Facts, Mode, Needs, Policy, Random, Span, overridden_calls

__all__ = ["Guest", "shown_file"]


@dataclass(frozen=True, slots=True)
class _Begun:
    """Answers of a policy that the engine needs when a run begins."""

    needs: Needs
    calls: dict[str, Callable[..., Any]]
    mode_of_old_data: Mode
    move_after: list[Span | None]
    uses: Sequence[Mode]


class Guest:
    """Policy in Python in the form that the engine takes."""

    def __init__(self, policy: Policy | type[Policy]) -> None:
        if isinstance(policy, type):
            policy = _instance_of(policy)
        if not isinstance(policy, Policy):
            raise InputError(f"policy: {policy!r}: expected a policy's name, an ssdlab.Policy, or a subclass of it")
        #: The user's policy.
        self.policy = policy
        #: Name of the policy in results.
        self.name = str(policy.name or type(policy).__name__)
        complaints = _errors_in(policy)
        if complaints:
            raise PolicyError("\n".join(complaints))

    def begin(self, facts: dict[str, Any], stream: _engine.Stream) -> _Begun:
        """Passes `facts` and the random `stream` to the policy and returns its declarations. Called by the engine."""
        policy = self.policy
        policy.facts = Facts(**facts)
        policy.random = Random(stream)
        policy.setup()
        needs = policy.needs()
        if not isinstance(needs, Needs):
            raise TypeError(f"needs: {needs!r}: expected an ssdlab.policy.Needs")
        return _Begun(
            needs=needs,
            calls={name: getattr(policy, name) for name in overridden_calls(policy)},
            mode_of_old_data=policy.mode_of_old_data(),
            move_after=[policy.move_after(mode) for mode in policy.facts.write_modes],
            uses=policy.uses(),
        )

    def explanation_of(self, error: PolicyError) -> PolicyError:
        """Returns `error` with file and line: an exception raised by the policy, or answers that the engine refused."""
        kind = type(self.policy)
        if error.__cause__ is None:
            names = ((call, "." if hasattr(kind, call) else ": ", what) for call, what in error.args[0])
            return PolicyError(
                "\n".join(f"{_where(kind, call)}: {kind.__name__}{link}{call}: {what}" for call, link, what in names)
            )
        raised = error.__cause__
        place, call = _raised_at(kind, raised)
        what = "".join(traceback.format_exception_only(raised)).strip()
        return PolicyError(f"{place}: {call}: {what}")


def _instance_of(kind: type[Policy]) -> Policy:
    """Returns an instance of a policy that is passed as its class."""
    if not issubclass(kind, Policy):
        raise InputError(f"policy: {kind.__name__} is not a subclass of ssdlab.Policy")
    try:
        return kind()
    except (Exception, SystemExit) as error:
        place, call = _raised_at(kind, error)
        raise PolicyError(f"{place}: {call}: {type(error).__name__}: {error}") from error


def _errors_in(policy: Policy) -> list[str]:
    """Returns the errors that can be found in a policy before it runs.

    These are methods that cannot be called with the engine's arguments; methods that are never called, but whose names
    are close to one that is; and attributes whose names are close to that of a declaration.
    """
    kind = type(policy)
    complaints = []
    known = {**CALLS, **QUESTIONS}
    for name, count in known.items():
        method = getattr(policy, name)
        try:
            inspect.signature(method).bind(*[None] * count)
        except TypeError:
            wanted = ", ".join(["self", *list(inspect.signature(getattr(Policy, name)).parameters)[1:]])
            complaints.append(f"{_where(kind, name)}: {kind.__name__}.{name}: expected to be called as {name}({wanted})")
        except ValueError:  # a callable written in C, without a signature
            pass
    own = [name for name in (*dir(kind), *vars(policy)) if not name.startswith("_") and not hasattr(Policy, name)]
    for name in own:
        near = closest(name.lower(), DECLARED, cutoff=0.8)
        if near and not callable(getattr(policy, name)):
            complaints.append(
                f"{_where(kind)}: {kind.__name__}.{name}: never read: did you mean `{near}`? (of your own: `_{name}`)"
            )
    for name in (name for name in own if callable(getattr(policy, name))):
        near = closest(name.lower(), list(known), cutoff=0.8)
        if near:
            complaints.append(
                f"{_where(kind, name)}: {kind.__name__}.{name}: never called: did you mean `{near}`? "
                f"(a method of your own: `_{name}`)"
            )
    return complaints


def _where(kind: type[Policy], call: str = "") -> str:
    """Returns file and line of the user's method `call`, or of the class if it does not define that method."""
    method = getattr(kind, call, None)
    code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
    if code is not None and method is not getattr(Policy, call, None):
        return f"{shown_file(code.co_filename)}:{code.co_firstlineno}"
    try:
        return f"{shown_file(inspect.getfile(kind))}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):  # defined at a prompt
        return kind.__module__


def _raised_at(kind: type[Policy], error: BaseException) -> tuple[str, str]:
    """Returns place and function of an exception: the innermost frame in the policy's own file if there is one."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    files = {code.co_filename for name in vars(kind) if (code := getattr(vars(kind)[name], "__code__", None)) is not None}
    own = [index for index, frame in enumerate(frames) if frame.f_code.co_filename in files]
    foreign = [index for index, frame in enumerate(frames) if frame.f_code.co_filename != __file__]
    if not own and not foreign:
        return _where(kind), kind.__name__
    index = (own or foreign)[-1]
    code = frames[index].f_code
    return f"{shown_file(code.co_filename)}:{lines[index]}", code.co_qualname


def shown_file(file: str) -> str:
    """Returns a file's name for messages: relative to the working directory if the file is below it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
