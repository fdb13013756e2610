"""Live figures of a served drive, over the socket of its control."""

from __future__ import annotations

import threading
import time
from os import PathLike, fspath

from ssdlab.errors import InputError
from ssdlab.serving import Control
from ssdlab.watching.drives import Drive
from ssdlab.watching.feed import Feed
from ssdlab.watching.pace import Pace

__all__ = ["check", "follow"]

#: Longest wait for a sample [s].
PATIENCE = 30.0
#: Time between two looks for a server that is not there [s].
_AGAIN = 0.5
#: Real time for which the page says that power was lost [s].
_SAID = 10.0


def check(at: str | PathLike[str]) -> None:
    """Checks that a server with samples listens at a socket.

    Raises:
        InputError: none does.
    """
    with Control(at, patience=PATIENCE) as control:
        control.ask("sample", wear=False, diagram=False)


def follow(at: str | PathLike[str], feed: Feed, every: float, stopped: threading.Event) -> None:
    """Shows a served drive until `stopped` is set. Where no server listens, it waits for one."""
    drive = Drive(feed)
    while not stopped.is_set():
        try:
            with Control(at, patience=PATIENCE) as control:
                _follow(control, drive, every, stopped, f"server at {fspath(at)}")
        except InputError as error:
            gone = f"the drive is gone: {error}; the page goes on when it is back"
            feed.put(status={"kind": "gone", "text": gone if drive.has_begun else "waiting for the drive"})
            stopped.wait(max(every, _AGAIN))


def _follow(control: Control, drive: Drive, every: float, stopped: threading.Event, subtitle: str) -> None:
    """Shows a drive as long as its server answers.

    Raises:
        InputError: it does not.
    """
    pace = Pace(every, time.monotonic)
    sample = control.ask("sample", wear=True, diagram=True)
    drive.begin(sample["drive"], subtitle, sample["diagram"], is_new=False)
    losses, lost_at, wear = sample["server"]["power_losses"], -_SAID, True
    while True:
        if sample["server"]["power_losses"] > losses:
            losses, lost_at = sample["server"]["power_losses"], time.monotonic()
        drive.show(sample, status=_status(losses, time.monotonic() - lost_at < _SAID))
        pace.taken(sample["took_ns"] / 1e9, wear)
        if stopped.wait(pace.until()):
            return
        wear = pace.is_wear_due()
        sample = control.ask("sample", wear=wear, diagram=False)


def _status(losses: int, is_recent: bool) -> dict[str, str]:
    if is_recent:
        times = f"for the {losses}. time" if losses > 1 else ""
        return {"kind": "power", "text": f"the drive has lost power {times}".rstrip() + ", and is back"}
    return {"kind": "live", "text": "live"}
