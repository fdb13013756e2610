"""Live figures of a run, from the samples of its engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from ssdlab.runs import Progress, ProgressHook
from ssdlab.watching.drives import Drive
from ssdlab.watching.feed import Feed
from ssdlab.watching.pace import Pace

__all__ = ["EVERY", "Observer"]

#: Processor time of the run between two samples [s].
EVERY = 0.5
#: Stages of a run in words.
_STAGES = {
    "foresee": "recording what is to come",
    "precondition": "preconditioning",
    "shutdown": "shutting down",
    "save": "saving the drive",
}


class Observer:
    """Progress hook of a run that shows it in a feed. It changes nothing in the run."""

    def __init__(
        self,
        feed: Feed,
        title: str,
        subtitle: str,
        diagram: Mapping[str, Any] | None,
        hook: ProgressHook | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Shows a run, and passes its progress on to `hook`."""
        self._drive = Drive(feed, clock)
        # Processor time of the run: on a busy machine, samples take no larger share of it.
        self._pace = Pace(EVERY, time.thread_time)
        self._hook = hook
        self._stage = ""
        self._feed = feed
        self._began, self._wear = 0.0, False
        self._drive.begin(title, subtitle, diagram, is_new=True)
        feed.put(status={"kind": "live", "text": "setting up"})

    def __call__(self, progress: Progress) -> bool | None:
        """Takes the progress of the run, about ten times a second."""
        if progress.stage != self._stage and progress.stage in _STAGES:
            self._feed.put(status={"kind": "live", "text": _STAGES[progress.stage]})
        self._stage = progress.stage
        return None if self._hook is None else self._hook(progress)

    def live(self, stage: str, fraction: float | None, text: str | None = None) -> bool | None:
        """Takes a sample, or says whether one is wanted: ``None`` if not; true if with the map of the wear."""
        is_end = stage == "end"
        if text is None:
            if not (is_end or self._pace.is_due()):
                return None
            self._began, self._wear = time.thread_time(), is_end or self._pace.is_wear_due()
            return self._wear
        share = "" if fraction is None else f": {100 * fraction:.0f} %"
        said = "gathering the results" if is_end else f"running{share}"
        self._drive.show(json.loads(text), status={"kind": "live", "text": said})
        self._pace.taken(time.thread_time() - self._began, self._wear)
        return None
