"""What a run hands out while it goes on: rows that are kept in memory, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _engine
from ssdlab.commandlog import FORMATS, CommandLog
from ssdlab.errors import InputError, PolicyError
from ssdlab.files import deferred, new_file

if TYPE_CHECKING:
    import pyarrow as pa

    from ssdlab.guest import Guest
    from ssdlab.sessions import Session

__all__ = ["Outputs", "not_written"]


class Kept:
    """Rows that are kept in memory, if they are wanted."""

    def __init__(self, wanted: bool) -> None:
        self.batches: list[pa.Table] | None = [] if wanted else None

    def take(self, columns: _engine.Columns) -> None:
        """Adds a batch."""
        from ssdlab.tables import from_columns

        if self.batches is not None:
            self.batches.append(from_columns(columns))

    def table(self) -> pa.Table | None:
        """All of them; ``None`` if they are not wanted."""
        import pyarrow as pa

        if self.batches is None:
            return None
        return pa.concat_tables(self.batches).unify_dictionaries()


class Outputs:
    """The outputs of one run: a context in which its files are open; each appears whole, or not at all."""

    def __init__(
        self,
        record_commands: bool,
        record_spans: bool,
        log_commands: str | PathLike[str] | None,
        timeline: str | PathLike[str] | None,
        history: str | PathLike[str] | None,
    ) -> None:
        #: Commands in memory.
        self.commands = Kept(record_commands)
        #: Spans in memory.
        self.spans = Kept(record_spans)
        #: What could not be written here: the file, and why.
        self.failed: list[tuple[str, OSError]] = []
        self._named = {name: Path(path) for name, path in (("timeline", timeline), ("history", history)) if path is not None}
        self._log_commands = None if log_commands is None else Path(log_commands)
        self._log: CommandLog | None = None
        self._beside: dict[str, Path] = {}
        self._files = ExitStack()

    def __enter__(self) -> Outputs:
        with ExitStack() as opening:
            if self._log_commands is not None:
                if not self._log_commands.name.endswith(FORMATS):
                    raise InputError(f"--log-commands {self._log_commands}: expected a name in {', '.join(FORMATS)}")
                self._beside["log_commands"] = opening.enter_context(new_file(self._log_commands))
                self._log = CommandLog(self._beside["log_commands"], self._log_commands.name)
            for name, path in self._named.items():
                self._beside[name] = opening.enter_context(new_file(path))
            self._files = opening.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._log is not None:
            self._log.close()
        self._files.__exit__(*raised)

    def end(self, unwritten: Iterable[tuple[str, int | None, str]]) -> None:
        """The run is over: files end, and what could not be written does not take anything's place."""
        if self._log is not None:
            self._log.close()
            if self._log.error is not None:
                self.failed.append((str(self._log_commands), self._log.error))
                self._beside["log_commands"].unlink(missing_ok=True)
        for option, _, _ in unwritten:
            beside = self._beside.get(option.removeprefix("--"))
            if beside is not None:
                beside.unlink(missing_ok=True)

    def call(self, guest: Guest | None, session: Session | None) -> Callable[..., _engine.Outcome]:
        """The engine's run in a session, with these outputs; what goes wrong in a policy in Python is explained."""

        def call(request_json: str, paths: dict[str, Any], hook: Any) -> _engine.Outcome:
            files = {name: (str(self._beside[name]), path.name) for name, path in self._named.items()}
            takers = {"commands": self._taker(self.commands, self._log), "spans": self._taker(self.spans, None)}
            python = None if guest is None else (guest.name, guest)
            shared = None if session is None else session.engine
            try:
                if not any(takers.values()):
                    return _engine.run(request_json, {**paths, **files}, {"progress": hook, **takers}, python, shared)
                # A signal ends the run, and not the writing of a batch.
                with deferred() as deliver:

                    def progress(now: Any) -> bool:
                        deliver()
                        return True if hook is None else bool(hook(now))

                    return _engine.run(request_json, {**paths, **files}, {"progress": progress, **takers}, python, shared)
            except PolicyError as error:
                if guest is None:
                    raise
                raise guest.explained(error) from error.__cause__

        return call

    @staticmethod
    def _taker(kept: Kept, log: CommandLog | None) -> Callable[[_engine.Columns], None] | None:
        """Who takes rows; ``None`` if nobody does."""
        takers = ([kept.take] if kept.batches is not None else []) + ([log.take] if log is not None else [])

        def take(columns: _engine.Columns) -> None:
            for taker in takers:
                taker(columns)

        return take if takers else None


def not_written(
    unwritten: Iterable[tuple[str, int | None, str]], files: Mapping[str, str | PathLike[str] | None]
) -> list[tuple[str, OSError]]:
    """Files that the engine could not write, and why; `files` has the file of each option."""
    import os

    found = []
    for option, number, said in unwritten:
        reason = os.strerror(number) if number is not None else said
        found.append((str(files[option]), OSError(number or 0, reason)))
    return found
