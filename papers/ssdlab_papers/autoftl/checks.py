"""Checks: table 2 from the presets, slow erases with a small buffer, an extrapolated life beside a full one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ssdlab import Drive, describe
from ssdlab.units import percent
from ssdlab_papers.autoftl.runs import CONFIGURATIONS, MOBILE, Case, Configuration, Life
from ssdlab_papers.entry import Entry
from ssdlab_papers.session import lifetime
from ssdlab_papers.setting import Setting

#: Pages of the buffer in the example of table 2.
_EXAMPLE_PAGES = 200
#: Share of slow erases up to which the published *little chance* counts as met [A].
_LITTLE = 0.05
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20}
#: Published increase of the buffer's utilisation by an erase, fast and slow: table 2 and section 5.2.
_PUBLISHED = {
    "table 2": ("2 % and 8 %", 0.02, 0.08),
    "mobile": ("40 %; too much", 0.4, 1.6),
    "enterprise": ("< 0.1 %", 0.001, 0.004),
}


def lives(setting: Setting) -> dict[str, Callable[[], Life]]:
    """Returns the lifetime runs of the checks by name, the full one first, because it takes longest."""
    case = _case(setting)
    without = partial(_live, case, "extrapolate", {"ftl.gc_idle_after": "100d"})
    if setting.quick:
        return {"without background": without}
    return {
        "full": partial(_live, case, "full"),
        "extrapolated": partial(_live, case, "extrapolate"),
        "without background": without,
    }


def entries(setting: Setting, found: Mapping[str, Life]) -> Iterator[Entry]:
    """Yields the cost of an erase for the buffer, its effect on a small buffer, and the accuracy of extrapolated lives.

    Args:
        setting: Settings of the experiment.
        found: Results of :func:`lives`.
    """
    yield _of_an_erase("table 2", MOBILE, _EXAMPLE_PAGES)
    for on in CONFIGURATIONS:
        yield _of_an_erase(on.name, on, buffer_pages(on))
    case = _case(setting)
    yield _without_background(case, found["without background"])
    if "full" in found:
        yield _in_full(case, found["full"], found["extrapolated"])


def _case(setting: Setting) -> Case:
    download = setting.traces.load("download")
    assert download is not None, "it has a look-alike"
    return Case(MOBILE, download, MOBILE.speed)


def buffer_pages(on: Configuration) -> int:
    """Returns the number of pages of a drive's buffer, as its preset states it."""
    stated = re.search(r'^capacity = "(\d+)(KiB|MiB)"', Drive.open(on.preset).text, re.MULTILINE)
    assert stated is not None, f"{on.preset} states its buffer"
    return int(stated[1]) * _BYTES[stated[2]] // int(describe(on.preset)["program_bytes"])


def _of_an_erase(where: str, on: Configuration, pages: int) -> Entry:
    """Returns the entry on the increase of the buffer's utilisation by an erase.

    An erase counts as the number of page programs that it takes, rounded up (equation 3), at the times of the drive's
    preset.
    """
    described = describe(on.preset)
    program = next(float(mode["program_ns"]) for mode in described["write_modes"] if mode["name"] == "normal")
    erases = {mode["name"]: float(mode["erase_ns"]) for mode in described["erase_modes"]}
    fast, slow = (math.ceil(erases[name] / program) / pages for name in ("ev0", "ev0_slow"))
    published, *expected = _PUBLISHED[where]
    return Entry(
        work="autoFTL",
        where="table 2" if where == "table 2" else "section 5.2",
        what=f"what an erase adds to the buffer's utilisation, fast and slow: {pages:,} pages ({where})",
        published=published,
        standing="stated",
        ours=slow,
        shown=f"{percent(fast)}; {percent(slow)}",
        low=0.95 * expected[1],
        high=1.05 * expected[1],
    )


def _without_background(case: Case, life: Life) -> Entry:
    """Returns the entry on slow erases without background collection.

    A buffer of ten pages allows a slow erase only while it is nearly empty: the mobile drive needs the background for
    them.
    """
    return Entry(
        work="autoFTL",
        where="section 5.3",
        what=f"slow erases without background collection, {case.title}, {case.on.name} drive",
        published="little chance: the buffer has 80 KB",
        standing="stated",
        ours=life.slow,
        shown=f"{percent(life.slow)} (MAX P/E {life.max_pe - 1:+.0%})",
        low=0.0,
        high=_LITTLE,
        note="with the slowest program mode, 20 ms are 8 pages of 10: a slow erase is allowed while at most two are taken",
    )


def _in_full(case: Case, full: Life, quick: Life) -> Entry:
    """Returns the entry that compares one steady round per interval with the simulation of every erase (POLICIES 5)."""
    return Entry(
        work="autoFTL",
        where="POLICIES 5",
        what=f"extrapolated MAX P/E over that of the full run, {case.title}, {case.on.name} drive",
        published="within 1 %",
        standing="assumed",
        ours=quick.max_pe / full.max_pe,
        shown=f"{quick.max_pe / full.max_pe:.4f} ({full.max_pe:.3f} in full)",
        low=0.99,
        high=1.01,
    )


def _live(case: Case, method: str, settings: dict[str, object] | None = None) -> Life:
    on: Configuration = case.on
    return Life.of(lifetime(on.preset, case.workload(), "autoftl", set=settings or {}, precondition="steady", method=method))
