"""The cell's curves of the slides, and what of the work is an input of the model: modes, codes and drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ssdlab import describe
from ssdlab.cell import ask
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab.units import YEAR_S
from ssdlab_papers.claim import Claim, taken
from ssdlab_papers.entry import Picture
from ssdlab_papers.retention.runs import CODES, SPEED, WORK

_HOUR, _YEAR = 3600.0, YEAR_S
_WEEKS = 7 * 86_400e9
#: Rated cycles of the cells.
RATED = 3_000
#: Required retention of the slide *Retention vs. Write Speed* [years], with two weeks.
_YEARS = (1.0, 0.5, 0.2, 0.1, 0.05, 14 / 365.25, 0.02, 0.01)
#: Wear of the cells of the slide *Retention vs. ECCs*, as a share of the rated cycles: it sets their error rate after a
#: year.
_SHARES = (0.04, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
#: Dies and exported capacity [GB] of the work's drives (slide *Experimental Setup*); the last capacity is illegible.
_CAPACITIES = {16: 106, 32: 212, 64: 423}


def entries() -> Iterator[Claim | Picture]:
    """Yields the inputs, and both curves."""
    yield from _inputs()
    yield _write_speed()
    yield _codes()


def write_speed(years: float) -> float:
    """Returns the speed-up of a program if this retention is promised instead of a year."""
    steps = [ask("modes", cell="rr-mlc", pe=RATED, retention=f"{round(each * _YEAR)}s")["step"] for each in (years, 1.0)]
    return float(steps[0] / steps[1])


def with_bch(share: float) -> tuple[float, float]:
    """Returns the error rate of a cell after a year, and its retention with BCH [years], at this wear."""
    cell = {"cell": "rr-mlc-ldpc", "pe": share * RATED}
    rates = ask("rber", **cell, age="1y")
    return float(rates["worst"]), float(ask("limits", **cell, limit=rates["limit"])["retention_s"]) / _YEAR


def _inputs() -> Iterator[Claim]:
    def given(ours: float, unit: Callable[[float], str], **fields: str) -> Claim:
        return taken(Estimate(0, ours, None, None), work=WORK, unit=unit, **fields)

    fast, slow = ({mode["name"]: mode for mode in describe(drive)["write_modes"]} for drive in (SPEED, CODES))
    yield given(
        fast["normal"]["program_ns"] / fast["fast"]["program_ns"],
        lambda value: f"{value:.2f}x",
        where="Retention vs. Write Speed",
        what="write speed-up if two weeks are promised instead of a year",
        published="2.3x",
        note="step and shoulder widths of the cell are one of a family that is solved for this value (FACTS 2)",
    )
    for name, published, text in (("fast", "2 weeks", "BCH of 24 bits in 1080 B"), ("normal", "1 year", "LDPC of 2.2e-2")):
        yield given(
            slow[name]["retention_ns"] / _WEEKS,
            lambda value: f"{value:.1f} weeks",
            where="Retention vs. ECCs",
            what=f"retention of a cell that needs LDPC to last a year, with {text}",
            published=published,
            note="the cell's retention loss is solved for both values (FACTS 2)",
        )
    for dies, capacity in _CAPACITIES.items():
        yield given(
            describe(SPEED, set={"flash.channels": dies // 4})["user_bytes"] / 1e9 * (1e9 / (1 << 30)),
            lambda value: f"{value:.1f} GiB",
            where="Experimental Setup",
            what=f"exported capacity of {dies} dies",
            published=f"{capacity} GB",
            note="over-provisioning is derived from this table",
        )


def _write_speed() -> Picture:
    chart = Chart(
        title="Slide Retention vs. Write Speed: write speed-up by the retention that is required",
        x=Axis("required retention (years)", log=True),
        y=Axis("times", span=(0.0, 3.0), better="higher"),
        series=(Series("our cell", [*_YEARS], [write_speed(years) for years in _YEARS]),),
        marks=(Mark(14 / 365.25, "two weeks", on="x"), Mark(2.3, "the work: 2.3x")),
    )
    return Picture(name="retention-write-speed", chart=chart)


def _codes() -> Picture:
    points = [with_bch(share) for share in _SHARES]
    chart = Chart(
        title="Slide Retention vs. ECCs: retention with BCH of 24 bits in 1080 B",
        x=Axis("error rate after a year", log=True),
        y=Axis("achievable retention (years)", log=True, better="higher"),
        series=(Series("our cell, by wear", [rate for rate, _ in points], [years for _, years in points]),),
        marks=(Mark(14 / 365.25, "two weeks"), Mark(2.2e-2, "the work: 2.2e-2", on="x")),
    )
    return Picture(name="retention-codes-cell", chart=chart)
