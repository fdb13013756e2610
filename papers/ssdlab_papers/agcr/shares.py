"""Figures 2 and 6: pages that are only read or only written, and how accurately a short history identifies them."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ssdlab import Workload
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab.traces import Access, access
from ssdlab_papers.agcr.figures import PARTS
from ssdlab_papers.agcr.loads import OF_MSR, is_of_the_paper, length, loads
from ssdlab_papers.agcr.runs import WORK
from ssdlab_papers.claim import NOTICEABLE, Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Found, RealFirst, shown_claim, worded_claim
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load, titles

CLASSES = ("read_only", "write_only", "interleaved")
#: The columns of the file that :func:`written_down` writes.
_COLUMNS = "time=1:ns,op=2,offset=3:B,size=4:B"
#: Window sizes that are analysed [accesses], and the largest that claims compare: more than a history of three
#: accesses is no short one.
_WINDOWS, _COMPARED = range(1, 9), 4
#: Reason why look-alikes fall short of the published shares.
_MIXED = (
    "A look-alike draws the places of reads and of writes apart from each other, and mixes on a page what its trace keeps apart: "
    "over the 55 traces of papers/results/agcr_traces.csv the means are 87 % and 92 %"
)
#: Accesses to interleaved pages that are *a small part*: what is left where 85 % of the reads and 91 % of the writes
#: access pages of their kind, if all are reads.
_SMALL_PART = 0.15


def write_trace(load: Load, requests: int, path: Path, seed: int = 1) -> Workload:
    """Returns the first requests of a load as a trace; those of a look-alike are generated and written to `path`."""
    if load.is_trace:
        return Workload(load.path, address="compact", replay="open", slice=f"0..{requests}")
    # Any drive serves: with open-loop replay the submitted requests do not depend on it.
    run = simulate("agcr-64g", load.workload(requests), "baseline", precondition="none", record_commands=True, seed=seed)
    commands = run.command_table()
    assert commands is not None, "the commands were recorded"
    asked = commands.select(["submitted_ns", "op", "offset", "length"]).sort_by("submitted_ns")
    rows = zip(*(column.to_pylist() for column in asked.columns), strict=True)
    path.write_text("".join(f"{at},{op},{offset},{length}\n" for at, op, offset, length in rows))
    return Workload(path, columns=_COLUMNS, replay="open")


def accesses(load: Load, requests: int, seed: int) -> Access:
    """Returns the access analysis of a whole trace, or of the first requests of a look-alike with a seed."""
    if load.is_trace:
        return access(load.path)
    with tempfile.TemporaryDirectory() as folder:
        return access(write_trace(load, requests, Path(folder) / f"{load.name}.csv", seed))


@dataclass(frozen=True, slots=True)
class Analysed(RealFirst[tuple[Load, tuple[Access, ...]]]):
    """The analyses of the loads: one of each trace, and one of each look-alike and seed."""

    def find(self, quantity: Callable[[Sequence[Access]], float]) -> Found:
        """Returns a quantity, computed seed by seed over all loads. Nothing in one of real traces is drawn."""
        real, alike = ([quantity(each) for each in zip(*(of for _, of in side), strict=True)] for side in (self.real, self.alike))
        return Found(
            Estimate(0, real[0], None, None) if real else None,
            estimate(alike) if alike else None,
            titles([load for load, _ in self.leading]),
            WORK,
        )


def analyse_loads(setting: Setting) -> Analysed:
    """Analyses every load."""
    of = loads(setting)
    seeds = range(1, setting.seeds + 1)
    pieces = [*((load, 1) for load in of.real), *((load, seed) for load in of.alike for seed in seeds)]
    found = iter(
        setting.share_out("figures 2 and 6", lambda piece: accesses(piece[0], length(setting, piece[0]), piece[1]), pieces)
    )
    real = tuple((load, (next(found),)) for load in of.real)
    return Analysed(real, tuple((load, tuple(next(found) for _ in seeds)) for load in of.alike))


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the shares of each class, and the accuracy by window."""
    every = analyse_loads(setting)
    found = every.where(lambda each: each[0].name in OF_MSR)
    whole = is_of_the_paper(setting, [load for load, _ in found.leading])
    yield from _shares(found, "" if whole else PARTS)
    yield from _accuracy(found)
    for what, quantity in (
        ("read requests that access read-only pages", _mean_share("read_only", "read_request_share")),
        ("write requests that access write-only pages", _mean_share("write_only", "write_request_share")),
    ):
        yield shown_claim(
            every.find(quantity),
            share_text,
            where="figure 2",
            what=f"{what}, mean over all loads, those of other collections among them",
            published="–",
        )
    used, first = [load for load, _ in every.leading], [of[0] for _, of in every.leading]
    yield _bars(used, first)
    yield _curves(used, first)
    yield _table(used, first)


def _mean_share(name: str, share: str) -> Callable[[Sequence[Access]], float]:
    """Returns the mean over the loads of a share of a class."""

    def mean(found: Sequence[Access]) -> float:
        return fmean(value for one in found if (value := getattr(one.classes[name], share)) is not None)

    return mean


def _shares(found: Analysed, about: str) -> Iterator[Claim]:
    """Yields the two observations of section 3.1 that have numbers, and the third."""
    for what, name, share, low in (
        ("read requests that access read-only pages", "read_only", "read_request_share", 0.85),
        ("write requests that access write-only pages", "write_only", "write_request_share", 0.91),
    ):
        yield worded_claim(
            found.find(_mean_share(name, share)),
            share_text,
            where="figure 2, section 3.1",
            what=f"{what}, mean over the volumes",
            published=f"more than {100 * low:.0f} % on average",
            low=math.nextafter(low, 1.0),
            note="; ".join(filter(None, (about, "" if found.real else _MIXED))),
        )
    yield worded_claim(
        found.find(lambda of: fmean(map(_interleaved_accesses, of))),
        share_text,
        where="figure 2, section 3.1",
        what="accesses to interleaved pages, of all, mean over the volumes",
        published="only a small part (no more than the 15 % that the other two observations leave [D])",
        high=_SMALL_PART,
    )
    yield shown_claim(
        found.find(lambda of: min(one.classes["read_only"].read_request_share or 1.0 for one in of)),
        share_text,
        where="section 4.1",
        what="read requests that access read-only pages, least of any volume",
        published="all volumes have similar access characteristics",
        note="the work gives no measure of similarity",
    )


def _interleaved_accesses(one: Access) -> float:
    mixed = one.classes["interleaved"]
    return (mixed.read_accesses + mixed.write_accesses) / max(1, one.read_accesses + one.write_accesses)


def _mean_accuracy(found: Sequence[Access]) -> list[float]:
    """Returns the mean accuracy over the loads for each window."""
    return [fmean(one.windows[size - 1].accuracy or 0.0 for one in found) for size in _WINDOWS]


def _gains(found: Sequence[Access]) -> list[float]:
    """Returns by how much each of the windows of 2 to 4 accesses is more accurate than the next smaller one."""
    return [later - earlier for earlier, later in itertools.pairwise(_mean_accuracy(found)[:_COMPARED])]


def _accuracy(found: Analysed) -> Iterator[Claim]:
    """Yields the relations of figure 6."""
    definition = (
        "accuracy is taken as the share of accesses whose window tells the class that their page has over the whole trace [A], "
        "and the sizes as those up to 4 accesses [A]: the figure is lost"
    )
    leading = [of[0] for _, of in found.leading]
    accuracy = _mean_accuracy(leading)[:_COMPARED]
    steps = (
        f"{', '.join(f'{100 * each:.1f}' for each in accuracy)} % with windows of 1 to {_COMPARED}: no figure "
        "shows a step below one point"
    )
    for what, quantity, published in (
        (
            "accuracy of windows of 1 to 4 accesses, mean over the volumes: smallest step",
            lambda of: min(_gains(of)),
            "above 0 (a larger window is more accurate)",
        ),
        (
            "the same: smallest decrease from one step to the next",
            lambda of: min(earlier - later for earlier, later in itertools.pairwise(_gains(of))),
            "above 0 (the increase decreases)",
        ),
    ):
        yield worded_claim(
            found.find(quantity),
            lambda value: f"{100 * value:+.2f} points",
            where="figure 6",
            what=what,
            published=published,
            low=NOTICEABLE,
            note=f"{definition}; {steps}",
        )
    yield shown_claim(
        found.find(lambda of: _mean_accuracy(of)[1]),
        share_text,
        where="figure 6, section 4.1",
        what="accuracy of the window of 2, mean over the volumes",
        published="high (bars lost)",
        note=definition,
    )


def _bars(used: Sequence[Load], found: Sequence[Access]) -> Picture:
    """Returns figure 2: the accesses of each load by kind and by the class of their page."""
    names = [load.known.name for load in used]

    def share(one: Access, name: str, kind: str) -> float:
        kinds = one.classes[name].read_accesses if kind == "reads" else one.classes[name].write_accesses
        return kinds / max(1, one.read_accesses + one.write_accesses)

    series = [
        Series(f"{kind}, {name.replace('_', '-')}", names, [share(one, name, kind) for one in found])
        for name in CLASSES
        for kind in ("reads", "writes")
    ]
    chart = Chart(
        title="Figure 2: accesses by the class of their page",
        x=Axis(""),
        y=Axis("share of accesses", span=(0.0, 1.0)),
        series=tuple(series),
        stacked=True,
    )
    return Picture(name="agcr-figure-2", chart=chart)


def _curves(used: Sequence[Load], found: Sequence[Access]) -> Picture:
    """Returns figure 6 for all window sizes."""
    sizes = [float(size) for size in _WINDOWS]
    series = [
        Series(load.known.name, sizes, [window.accuracy or 0.0 for window in one.windows])
        for load, one in zip(used, found, strict=True)
    ]
    chart = Chart(
        title="Figure 6: accuracy of identification by the size of the window",
        x=Axis("accesses in the window, the upcoming one included"),
        y=Axis("accuracy", better="higher"),
        series=(*series, Series("mean", sizes, _mean_accuracy(found), dashed=True)),
        marks=(Mark(2.0, "the paper's choice", on="x"),),
    )
    return Picture(name="agcr-figure-6", chart=chart)


def _table(used: Sequence[Load], found: Sequence[Access]) -> Table:
    columns = ["load", "read requests", "write requests", "pages"]
    columns += [
        f"{what} {name.replace('_', '-')}"
        for name in CLASSES
        for what in ("pages", "read requests", "write requests", "read accesses", "write accesses")
    ]
    columns += [f"accuracy {size}" for size in _WINDOWS]
    rows: list[list[object]] = []
    for load, one in zip(used, found, strict=True):
        row: list[object] = [load.title, one.reads, one.writes, one.pages]
        for name in CLASSES:
            kind = one.classes[name]
            row += [kind.page_share, kind.read_request_share, kind.write_request_share]
            row += [kind.read_access_share, kind.write_access_share]
        rows.append([*row, *(window.accuracy for window in one.windows)])
    return Table(
        name="agcr-figures-2-6",
        title="Figures 2 and 6: shares of the classes, and the accuracy of each window, load by load",
        columns=tuple(columns),
        rows=rows,
    )
