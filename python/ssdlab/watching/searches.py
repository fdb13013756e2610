"""Live figures of a sweep or a search: counts, the best so far, and the last rows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ssdlab.units import count, significant
from ssdlab.watching.feed import Feed

__all__ = ["Rows"]

#: Rows of the table, and columns of it beside the fields.
_LAST = 20
_NUMBERS = ("latency.all.mean_ns", "latency.all.p99_ns", "throughput.iops", "write_amplification")


class Rows:
    """Rows of a sweep or a search in a feed."""

    def __init__(
        self,
        feed: Feed,
        title: str,
        subtitle: str,
        fields: Sequence[str],
        numbers: Sequence[str] = (),
        number: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Shows rows with these fields and numbers; `number` is the one whose best value is drawn, if there is one."""
        self._feed, self._clock, self._began = feed, clock, clock()
        self._fields = list(fields)
        self._numbers = list(dict.fromkeys([*numbers, *_NUMBERS]))
        self._number = number
        self._columns: list[str] = []
        self._last: deque[list[str]] = deque(maxlen=_LAST)
        feed.put(head={"kind": "rows", "title": title, "subtitle": subtitle}, status={"kind": "live", "text": "setting up"})

    def show(
        self,
        cards: Sequence[tuple[str, str]],
        done: int,
        failed: int,
        total: int,
        rate: float,
        row: Mapping[str, Any] | None,
        best: float | None,
    ) -> None:
        """Shows the counts, the row that has just ended, and the best value so far."""
        if row is not None:
            shown = [*(name for name in ("index", "trial") if name in row), *self._fields, "seed", "status", *self._numbers]
            # A run that failed has no numbers, and the columns stay.
            self._columns = self._columns or [name for name in shown if name in row or name not in _NUMBERS]
            self._last.appendleft([_text(row.get(name)) for name in self._columns])
        left = (total - done) / rate if rate > 0 else None
        said = [
            (count(done), "done"),
            (count(failed), "failed"),
            (count(total - done), "to do"),
            (f"{rate:.2f}", "per second"),
            ("–" if left is None else f"{left:,.0f} s", "left at this rate"),
            *cards,
        ]
        rows = {
            "cards": said,
            "share": done / total if total else 0.0,
            "columns": self._columns,
            "rows": list(self._last),
            "number": self._number,
        }
        point = None if best is None else {"at": round(self._clock() - self._began, 3), "best": best}
        self._feed.put(point, rows=rows, status={"kind": "live", "text": f"{done:,} of {total:,}"})


def _text(value: Any) -> str:
    if isinstance(value, float):
        return significant(value, 5)
    return "–" if value is None else str(value)
