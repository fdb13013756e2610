"""Figures 2 and 6: pages that are only read or only written, and how accurately a short history identifies them."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from ssdlab import Workload
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.traces import Access, access
from ssdlab.units import percent
from ssdlab_papers.agcr.loads import is_of_the_paper, length, loads, note_of
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

CLASSES = ("read_only", "write_only", "interleaved")
#: The columns of the file that :func:`written_down` writes.
_COLUMNS = "time=1:ns,op=2,offset=3:B,size=4:B"
#: Window sizes that are analysed [accesses].
_WINDOWS = range(1, 9)
#: Reason why look-alikes fall short of the published shares.
_MIXED = (
    "A look-alike draws the places of reads and of writes apart from each other, and mixes on a page what its trace keeps apart: "
    "over the 55 traces of papers/results/agcr_traces.csv the means are 87 % and 92 %"
)
#: Decrease of the accuracy with a longer window that counts as none.
_SAME = 0.001


def written_down(load: Load, requests: int, path: Path) -> Workload:
    """Returns the first requests of a load as a trace; those of a look-alike are generated and written to `path`."""
    if load.is_trace:
        return Workload(load.path, address="compact", replay="open", slice=f"0..{requests}")
    # Any drive serves: with open-loop replay the submitted requests do not depend on it.
    run = simulate("agcr-64g", load.workload(requests), "baseline", precondition="none", record_commands=True)
    commands = run.command_table()
    assert commands is not None, "the commands were recorded"
    asked = commands.select(["submitted_ns", "op", "offset", "length"]).sort_by("submitted_ns")
    rows = zip(*(column.to_pylist() for column in asked.columns), strict=True)
    path.write_text("".join(f"{at},{op},{offset},{length}\n" for at, op, offset, length in rows))
    return Workload(path, columns=_COLUMNS, replay="open")


def accesses(load: Load, requests: int) -> Access:
    """Returns the access analysis of a whole trace, or of the first requests of a look-alike."""
    if load.is_trace:
        return access(load.path)
    with tempfile.TemporaryDirectory() as folder:
        return access(written_down(load, requests, Path(folder) / f"{load.name}.csv"))


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the shares of each class, and the accuracy by window."""
    used = loads(setting)
    found = setting.share_out("figures 2 and 6", lambda load: accesses(load, length(setting, load)), used)
    whole = is_of_the_paper(setting, used)
    note = "" if whole else note_of(used)
    if not all(load.is_trace for load in used):
        note += f". {_MIXED}"
    yield from _shares(found, whole, note)
    yield from _accuracy(found, note)
    yield _bars(used, found)
    yield _curves(used, found)
    yield _table(used, found)


def _shares(found: Sequence[Access], whole: bool, note: str) -> Iterator[Entry]:
    """Yields the two observations of section 3.1 that have numbers, and the third."""
    reads = [share for one in found if (share := one.classes["read_only"].read_request_share) is not None]
    writes = [share for one in found if (share := one.classes["write_only"].write_request_share) is not None]
    for what, shares, published, low in (
        ("read requests that access read-only pages", reads, "more than 85 % on average", 0.85),
        ("write requests that access write-only pages", writes, "more than 91 % on average", 0.91),
    ):
        ours = fmean(shares)
        yield Entry(
            work="AGCR",
            where="figure 2, section 3.1",
            what=f"{what}, mean over the loads",
            published=published,
            standing="stated",
            ours=ours,
            shown=f"{percent(ours)} ({percent(min(shares))} to {percent(max(shares))})",
            low=low if whole else None,
            high=1.0 if whole else None,
            note=note,
        )
    mixed = [_interleaved_accesses(one) for one in found]
    yield Entry(
        work="AGCR",
        where="figure 2, section 3.1",
        what="accesses to interleaved pages, of all, mean over the loads",
        published="only a small part",
        standing="stated",
        ours=fmean(mixed),
        shown=f"{percent(fmean(mixed))} (up to {percent(max(mixed))}; "
        f"{percent(fmean(one.classes['interleaved'].page_share or 0.0 for one in found))} of the pages)",
        # Less than the two other classes together [A].
        low=0.0,
        high=0.5,
        note=note,
    )


def _interleaved_accesses(one: Access) -> float:
    mixed = one.classes["interleaved"]
    return (mixed.read_accesses + mixed.write_accesses) / max(1, one.read_accesses + one.write_accesses)


def _mean_accuracy(found: Sequence[Access]) -> list[float]:
    """Returns the mean accuracy over the loads for each window."""
    return [fmean(one.windows[size - 1].accuracy or 0.0 for one in found) for size in _WINDOWS]


def _accuracy(found: Sequence[Access], note: str) -> Iterator[Entry]:
    """Yields the relations of figure 6."""
    mean = _mean_accuracy(found)
    gains = [later - earlier for earlier, later in itertools.pairwise(mean)]
    definition = (
        "the paper does not define accuracy: accesses whose window says of which class the page is over the whole trace, of all "
        "[A]; the sizes in its figure are lost"
    )
    yield Entry(
        work="AGCR",
        where="figure 6",
        what="accuracy of identification by windows of 1 to 8 accesses, mean over the loads: smallest step",
        published="positive: a larger window is more accurate",
        standing="stated",
        ours=min(gains),
        shown=f"{100 * min(gains):+.2f} points ({', '.join(f'{100 * value:.1f}' for value in mean)} %)",
        low=-_SAME,
        high=1.0,
        note=definition,
    )
    yield Entry(
        work="AGCR",
        where="figure 6",
        what="accuracy, mean over the loads: from 2 to 4 accesses less from 4 to 8",
        published="positive: the increase decreases",
        standing="stated",
        ours=sum(gains[1:3]) - sum(gains[3:]),
        shown=f"{100 * sum(gains[1:3]):+.2f} less {100 * sum(gains[3:]):+.2f} points",
        low=0.0,
        high=1.0,
        note=definition,
    )
    worst = min(found, key=lambda one: one.windows[1].accuracy or 0.0)
    yield Entry(
        work="AGCR",
        where="figure 6, section 4.1",
        what="accuracy of the window of 2, mean over the loads",
        published="bars lost",
        standing="stated",
        ours=mean[1],
        shown=f"{percent(mean[1])} (least {percent(worst.windows[1].accuracy or 0.0)})",
        note=note,
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
