"""Live pages beside a command (``--watch``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ssdlab.cli.console import remark
from ssdlab.errors import InputError
from ssdlab.runs import ProgressHook

if TYPE_CHECKING:
    from ssdlab.watching.feed import Feed

_T = TypeVar("_T")
#: Function that gives a named run, whose progress a hook takes, a hook that shows it, too.
Observe: TypeAlias = Callable[[str, "ProgressHook | None"], "ProgressHook | None"]


@contextmanager
def live_page(port: int = 0, over: str = "the command has ended; this is its last state") -> Iterator[Feed]:
    """Yields the contents of a page, which is there until the block ends, and says where it is."""
    # Start-up: few commands are watched.
    from ssdlab.watching.feed import Feed
    from ssdlab.watching.site import site

    feed = Feed()
    with site(feed, port) as address:
        remark(f"watch: {address}")
        try:
            yield feed
        finally:
            feed.end(status={"kind": "over", "text": over})


@contextmanager
def observed(wanted: bool, drive: str, workload: str, sets: Sequence[str]) -> Iterator[Observe]:
    """Yields a function that has runs of a drive shown on a page, if that is wanted."""
    if not wanted:
        yield lambda _, hook: hook
        return
    # Start-up: few runs are watched.
    from ssdlab.drives import diagram
    from ssdlab.watching.runs import Observer

    try:
        parts = diagram(drive, set=sets)
    except InputError:
        parts = None  # The run says what is wrong.

    def observe(name: str, hook: ProgressHook | None) -> ProgressHook:
        return Observer(feed, f"{_short(drive)} under {_short(workload)}", name, parts, hook)

    with live_page() as feed:
        yield observe


@contextmanager
def served(wanted: bool, at: Path) -> Iterator[None]:
    """Shows the drive that is served at a socket, if that is wanted."""
    if not wanted:
        yield
        return
    with live_page() as feed, following(feed, at, 0.5):
        yield


@contextmanager
def following(feed: Feed, at: Path, every: float) -> Iterator[threading.Thread]:
    """Shows a served drive while the block goes on."""
    # Start-up: the help of all commands needs no server.
    from ssdlab.watching.served import follow

    stopped = threading.Event()
    work = threading.Thread(target=follow, args=(at, feed, every, stopped), name="ssdlab-follow", daemon=True)
    work.start()
    try:
        yield work
    finally:
        stopped.set()
        work.join(1.0)


def both(one: Callable[[_T], object] | None, other: Callable[[_T], object] | None) -> Callable[[_T], object] | None:
    """Returns a hook that calls two; the other one, or none, where one is absent."""
    if one is None or other is None:
        return one or other
    return lambda progress: (one(progress), other(progress))


def _short(name: Any) -> str:
    """Returns the last part of the name of a file."""
    return Path(str(name)).name
