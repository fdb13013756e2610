"""Outputs of a run while it goes on: rows that are kept in memory, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _engine
from ssdlab.commandlog import CommandLog, check_name
from ssdlab.errors import PolicyError
from ssdlab.files import FailedFiles, new_run_file

if TYPE_CHECKING:
    import pyarrow as pa

    from ssdlab.guest import Guest

__all__ = ["Outputs", "not_written"]


class Kept:
    """Rows that are kept in memory, if requested."""

    def __init__(self, wanted: bool) -> None:
        self.batches: list[pa.Table] | None = [] if wanted else None

    def take(self, columns: _engine.Columns) -> None:
        """Adds a batch of rows."""
        if self.batches is not None:
            # Start-up: few runs keep rows, which need pyarrow.
            from ssdlab.tables import from_columns

            self.batches.append(from_columns(columns))

    def table(self) -> pa.Table | None:
        """Returns all rows; ``None`` if they were not requested."""
        if self.batches is None:
            return None
        # Start-up: few runs keep rows.
        import pyarrow as pa

        return pa.concat_tables(self.batches).unify_dictionaries()


class Outputs:
    """Outputs of one run: a context in which its files are open. Each file appears complete, or not at all."""

    def __init__(
        self,
        record_commands: bool,
        record_spans: bool,
        log_commands: str | PathLike[str] | None,
        timeline: str | PathLike[str] | None,
        history: str | PathLike[str] | None,
        record_firmware: str | PathLike[str] | None,
        failed: FailedFiles,
    ) -> None:
        """Creates the outputs; `failed` receives the files that could not be written."""
        #: Commands in memory.
        self.commands = Kept(record_commands)
        #: Spans in memory.
        self.spans = Kept(record_spans)
        self._failed = failed
        named = {"timeline": timeline, "history": history, "record_firmware": record_firmware}
        self._named = {name: Path(path) for name, path in named.items() if path is not None}
        self._log_commands = None if log_commands is None else Path(log_commands)
        self._log: CommandLog | None = None
        self._beside: dict[str, Path] = {}
        self._files = ExitStack()

    def __enter__(self) -> Outputs:
        with ExitStack() as opening:
            if self._log_commands is not None:
                check_name(self._log_commands)
                self._beside["log_commands"] = opening.enter_context(new_run_file(self._log_commands, self._failed))
                self._log = CommandLog(self._beside["log_commands"], self._log_commands.name)
            for name, path in self._named.items():
                self._beside[name] = opening.enter_context(new_run_file(path, self._failed))
            self._files = opening.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._log is not None:
            self._log.close()
        self._files.__exit__(*raised)

    def _end(self, outcome: _engine.Outcome) -> None:
        """Closes the log and collects the files that could not be written."""
        if self._log is not None:
            self._log.close()
            if self._log.error is not None:
                self._failed.append((str(self._log_commands), self._log.error))
        named = {f"--{name.replace('_', '-')}": path for name, path in self._named.items()}
        self._failed += not_written(outcome.unwritten, named)

    def call(self, guest: Guest | None, session: _engine.Session | None) -> Callable[..., _engine.Outcome]:
        """Returns a function that runs the engine in `session` with these outputs, and explains errors of `guest`."""

        def call(request_json: str, paths: dict[str, Any], hook: Any) -> _engine.Outcome:
            files = {name: (str(self._beside[name]), path.name) for name, path in self._named.items()}
            takers = {"commands": self._taker(self.commands, self._log), "spans": self._taker(self.spans, None)}
            python = None if guest is None else (guest.name, guest)
            hooks = {"progress": hook, "live": getattr(hook, "live", None), **takers}
            try:
                outcome = _engine.run(request_json, {**paths, **files}, hooks, python, session)
            except PolicyError as error:
                if guest is None:
                    raise
                raise guest.explanation_of(error) from error.__cause__
            self._end(outcome)
            return outcome

        return call

    @staticmethod
    def _taker(kept: Kept, log: CommandLog | None) -> Callable[[_engine.Columns], None] | None:
        """Returns the function that takes each batch of rows; ``None`` if no output needs them."""
        takers = ([kept.take] if kept.batches is not None else []) + ([log.take] if log is not None else [])

        def take(columns: _engine.Columns) -> None:
            for taker in takers:
                taker(columns)

        return take if takers else None


def not_written(unwritten: Iterable[tuple[str, int | None, str]], files: Mapping[str, Path]) -> FailedFiles:
    """Returns those of `files` (by option) that the engine could not write, each with its error."""
    return [
        (str(files[option]), OSError(number or 0, said if number is None else os.strerror(number)))
        for option, number, said in unwritten
        if option in files
    ]
