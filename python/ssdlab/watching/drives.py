"""Live figures of a drive at work, from samples of the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.drawing.causes import COLOURS
from ssdlab.drawing.svg import svg
from ssdlab.watching import figures
from ssdlab.watching.feed import Feed

__all__ = ["Drive"]


class Drive:
    """The part of a feed that is about a drive."""

    def __init__(self, feed: Feed, clock: Callable[[], float] = time.monotonic) -> None:
        self.feed = feed
        self._clock = clock
        self._began = clock()
        self._before: figures.Sample | None = None
        self._at = self._began
        self._diagram: Mapping[str, Any] | None = None
        self._losses = 0
        #: True once there was a drive.
        self.has_begun = False

    def begin(self, title: str, subtitle: str, diagram: Mapping[str, Any] | None, *, is_new: bool) -> None:
        """Begins to show a drive. `is_new`: its measurement begins now; otherwise it began earlier."""
        self._before = figures.EMPTY if is_new else None
        self._at = self._clock()
        self._diagram = diagram
        self._losses = 0
        self.has_begun = True
        self.feed.restart()
        words = terms.words()
        causes = [{"name": name, "words": words[name], "colour": COLOURS.get(name, looks.UNKNOWN)} for name in words]
        self.feed.put(head={"kind": "drive", "title": title, "subtitle": subtitle, "causes": causes}, now=None, wear=None)
        self._draw({})

    def show(self, sample: figures.Sample, **parts: Any) -> None:
        """Shows a sample, with other parts."""
        at = self._clock()
        losses = (sample.get("server") or {}).get("power_losses", 0)
        before, self._before = self._before, sample
        if before is not None and figures.has_restarted(before, sample):
            before = None if losses > self._losses else figures.EMPTY
        shown = None
        if before is not None:
            shown = figures.point(before, sample, at - self._began, at - self._at)
            shown["lost_power"] = losses > self._losses
        busy = None if before is None else figures.window_utilisation(before, sample)
        self._losses, self._at = losses, at
        if sample["wear"] is not None:
            parts["wear"] = sample["wear"]
        self.feed.put(shown, now=figures.now(sample), **parts)
        if busy is not None:
            self._draw(busy)

    def _draw(self, busy: Mapping[str, float]) -> None:
        """Draws the diagram, when a browser asks for it."""
        diagram = self._diagram
        if diagram is not None:
            self.feed.put(diagram=lambda: svg(diagram, busy))
