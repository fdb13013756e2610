"""The one budget where reads can fail: what of the works' gains is left when aged data of a worn cell needs retries.

Stored data has the error rates of the cell at its wear and age, varying from block to block; codewords are decoded in
the time of an LDPC decoder; a read that fails is repeated with up to three soft levels. The engine has no error rates
of write modes with moved levels: here all modes are derived with fixed levels, and compared with and without errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Final

from ssdlab import check
from ssdlab.charts import Axis, Chart, Mark
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.budget.runs import CONTENDERS, Busy, Drives, resolved_drive, wears
from ssdlab_papers.budget.tables import RATED, drive, normal_step
from ssdlab_papers.budget.tables import Table as Description
from ssdlab_papers.budget.unscored import half_of, result_claim, text_of
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar.runs import number_of
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, Sample, curve, over_seeds, samples

#: Policies of the four works, the control, and the policy that chooses from all modes.
POLICIES: Final = ("wear_adaptive", "ofwar", "rr_speed", "agcr", "autoftl", "margin")
#: Loads, and requests of a run: enough for the 99.9 % latency.
LOADS: Final = ("financial1", "telegram")
REQUESTS: Final = 40_000
_QUICK_LOADS, _QUICK_REQUESTS = ("financial1",), 10_000
#: Age up to which old data is, nearly that of the full promise, at which it would be moved during the run. It is the
#: same without errors.
AGE: Final = "3600d"
#: Decoders as in the preset `ldpc-a`.
_PATH: Final[Mapping[str, object]] = {
    "ecc.errors": {"kind": "cell"},
    "ecc.decoder": {"kind": "engines", "decoders": 4, "shared": "channel"},
}
ERRORS: Final[Mapping[str, object]] = {**_PATH, "ecc.plan": {"kind": "soft", "levels": 3}}
#: A code without soft decision is helped by shifted read levels only.
RETRY: Final[Mapping[str, object]] = {**_PATH, "ecc.plan": {"kind": "read_retry", "steps": 10}}
#: Age up to which data with the weak code alone is kept: it is moved when it is older than 313 days.
_WEAK_AGE: Final = "300d"
READ_LEVELS: Final = ("by_write_mode", "by_error_rate", "progressive")
#: Ages of data left alone at the rated wear, by mode: the limit of each, and times beyond that of the fast mode.
AGES: Final = (("normal", "3650d"), ("fast", "0s"), ("fast", "4d"), ("fast", "6d"), ("fast", "30d"), ("fast", "365d"))
#: Retries for 1,000 reads below which data is read in the mode that it needs [A].
_SELDOM: Final = 1.0
_JOB: Final = str(Path(__file__).with_name("reads.fio"))
#: Reads of such data, by form.
_READS, _QUICK_READS = 100_000, 20_000
COLUMNS: Final = (
    "read_errors.lost_units",
    "read_errors.lost_codewords",
    *(f"modes.read.{name}" for name in ("quick", "medium", "slow")),
)
_NOTE = (
    "no work claims it: none had reads that fail. Levels fixed at the cell's verify voltages, with and without errors alike: the "
    "engine has no error rates of the moved levels of the page's other results. Error rates by the cell's model and its assumed "
    f"variation of blocks and layers; data of every age up to {AGE}"
)
_CODES_NOTE = (
    "no work claims it. Each code has its own limit with a hard decision, and both share one kind of decoder and plan (read "
    "retry): the decoding time of the other code, and soft decision for one of them only, are not modelled, as a drive has one "
    "kind of decoder. The row of the baseline has the strong code alone, with soft decision"
)
_AGED_NOTE = (
    "no work claims it. The whole drive is filled, left alone, and read; its modes keep their program step and are given no "
    "limit, since data at its limit would be moved"
)
#: Key of a run: policy, stage of wear, name of its way, load.
Key = tuple[str, float, str, str]


def retries(row: Row) -> float:
    """Returns the repeated reads for each 1,000 first attempts, of reads for any reason."""
    repeated = number_of(row, "reliability.retries")
    return 1000.0 * repeated / max(1.0, number_of(row, "flash.operations.read") - repeated)


def tail_ns(row: Row) -> float:
    """Returns the 99.9 % latency of all commands, or their maximum if they are too few."""
    tail = row["latency.all.p99_9_ns"]
    return float(row["latency.all.max_ns"] if tail is None else tail)


def mean_ns(row: Row) -> float:
    """Returns the mean latency of all commands."""
    return float(row["latency.all.mean_ns"])


def read_ns(row: Row) -> float:
    """Returns the mean latency of reads."""
    return float(row["latency.read.mean_ns"])


def energy(row: Row) -> float:
    """Returns the energy of the flash for each byte of the host."""
    return float(row["energy.per_host_byte_j"])


def media(row: Row) -> float:
    """Returns the commands that read what could not be corrected, and the units that were lost."""
    return number_of(row, "read_errors.media_errors") + number_of(row, "read_errors.lost_units")


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs, each with every seed."""

    by: Mapping[Key, Sample]
    loads: tuple[str, ...]
    wears: tuple[float, ...]

    def gain(self, policy: str, wear: float, way: str, quantity: Callable[[Row], float]) -> Estimate:
        """Returns the change of a quantity by a policy from the baseline's in the same way."""
        return self.against(policy, way, "baseline", way, wear, quantity)

    def cost(self, wear: float, quantity: Callable[[Row], float]) -> Estimate:
        """Returns the change of a quantity of the baseline by errors."""
        return self.against("baseline", "with", "baseline", "without", wear, quantity)

    def against(self, policy: str, way: str, other: str, its_way: str, wear: float, quantity: Callable[[Row], float]) -> Estimate:
        """Returns the change of a quantity from that of another run, geometric mean of the loads, seed by seed."""
        both = ((policy, way), (other, its_way))
        of = [self.by[name, wear, each, load] for load in self.loads for name, each in both]

        def ratio(*rows: Row) -> float:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            return geometric_mean(quantity(own) / quantity(base) for own, base in pairs) - 1.0

        return over_seeds(ratio, *of)

    def mean(self, policy: str, wear: float, way: str, quantity: Callable[[Row], float]) -> Estimate:
        """Returns the mean of a quantity over the loads."""
        of = [self.by[policy, wear, way, load] for load in self.loads]
        return over_seeds(lambda *rows: fmean(quantity(row) for row in rows), *of)


def entries(setting: Setting, drives: Drives, fit: Sequence[Busy]) -> Iterator[Entry | Picture | Table]:
    """Yields what is left of each gain, AGCR's read levels, both codes, and data at and beyond its limit."""
    names = _QUICK_LOADS if setting.quick else LOADS
    chosen = [on for on in fit if on.load.name in names] or [*fit[:1]]
    runs = measure(setting, drives, chosen)
    yield from _what_survives(runs)
    yield from _read_levels(runs)
    yield from _margin(runs)
    yield from _codes(runs)
    yield from _aged(run_aged(setting, drives))
    yield _table(runs)
    yield _picture(runs)


def measure(setting: Setting, drives: Drives, on_loads: Sequence[Busy]) -> Runs:
    """Runs the policies with and without errors; without them, modes that do not follow wear are run once."""
    at = wears(setting)
    requests = _QUICK_REQUESTS if setting.quick else REQUESTS
    points: dict[Key, dict[str, object]] = {}
    for on in on_loads:
        load = replace(on.load, at_most=min(on.load.at_most or requests, requests))
        fields = {"precondition": "steady", "state.age": AGE, **load.fields(requests, on.speed, address="wrap")}
        for wear in at:
            for name, way, more in _ways():
                points[name, wear, way, load.name] = {**fields, **_of(drives, name, way, wear), **more}
    found = samples(setting, "budget-errors", [*points.values()], columns=COLUMNS)
    return Runs(dict(zip(points, found, strict=True)), tuple(on.load.name for on in on_loads), at)


def _ways() -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yields policy, name of the way and its fields, for each run on a load at a stage of wear."""
    for name in ("baseline", *POLICIES):
        yield name, "without", {}
        yield name, "with", ERRORS
    for levels in READ_LEVELS[1:]:
        yield "agcr", levels, {**ERRORS, "ecc.read_levels": levels}
        yield "baseline", levels, {**ERRORS, "ecc.read_levels": levels}
    for name in ("rr_ecc", "bch_ldpc"):
        yield name, "without", {}
        yield name, "with", RETRY
    yield "baseline", "weak", {**RETRY, "state.age": _WEAK_AGE}


def _of(drives: Drives, name: str, way: str, wear: float) -> dict[str, object]:
    """Returns the fields of a policy's drive at a stage of wear. Errors alone depend on wear if the modes do not."""
    contender = next(one for one in CONTENDERS if one.name == name)
    if way == "weak" or contender.table == "codes":
        path = drives.write(f"codes-{way == 'weak'}", _with_codes(way == "weak"))
    else:
        path = drives.file(contender.table, wear if contender.follows_wear else 0.0, "fixed")
    worn = {} if way == "without" and not contender.follows_wear else {"state.pe_cycles": round(wear * RATED)}
    return {"drive": path, "policy": contender.policy, **contender.settings, **worn}


@cache
def _with_codes(weak: bool) -> str:
    """Returns the drive with two codes, or with the weak one alone, without read modes.

    A read mode that states what it corrects would decide instead of the code of the write mode.
    """
    found: Description = drive("codes", 0.0, "fixed")
    flash = found["flash"]
    del flash["read_mode"]
    for mode in flash["write_mode"]:
        mode.pop("read_mode", None)
    if weak:
        # The cell's own code: BCH with 110 errors in 4 KiB.
        del flash["code"], flash["encoder"]
        derive = {"step": normal_step("fixed"), "at_pe_cycles": RATED, "levels": "fixed"}
        flash["write_mode"] = [{"name": "normal", "derive": derive}]
    return check(found)


def _alone(drives: Drives, mode: str) -> str:
    """Returns the name of the file of a drive all of whose data is written in one mode, without a limit."""
    modes = tomllib.loads(resolved_drive("speed", 0.0, "fixed").text)["flash"]["write_mode"]
    # The record of the derivation has the exact program step, on which the error rates depend.
    (own,) = [each for each in modes if each["name"] == mode]
    del own["retention"]
    found = drive("speed", 1.0, "fixed")
    found["flash"]["write_mode"] = [{**own, "name": "normal"}]
    return drives.write(f"alone-{mode}", check(found))


def run_aged(setting: Setting, drives: Drives) -> dict[tuple[str, str], Sample]:
    """Runs reads of data that was left alone at the rated wear, by its mode and age."""
    # The drive's own data has an age, too: it is new before it is left alone.
    common = {
        **ERRORS,
        "state.age": "0s",
        "workload": _JOB,
        "policy": "baseline",
        "precondition": "fill",
        "workload.number_ios": _QUICK_READS if setting.quick else _READS,
    }
    points = [{**common, "drive": _alone(drives, mode), "workload.startdelay": age} for mode, age in AGES]
    return dict(zip(AGES, samples(setting, "budget-aged", points, columns=COLUMNS), strict=True))


def _change(share: float) -> str:
    return f"{share:+.1%}"


def _few(count: float) -> str:
    return f"{count:.3g}"


def _what_survives(runs: Runs) -> Iterator[Entry]:
    """Yields each gain without and with errors."""
    for wear in runs.wears:
        cost = runs.cost(wear, mean_ns)
        yield result_claim(
            cost,
            f"mean latency {text_of(cost, _change)}, 99.9 % latency {text_of(runs.cost(wear, tail_ns), _change)}, "
            f"energy {text_of(runs.cost(wear, energy), _change)}; {_counted(runs, 'baseline', wear, 'with')}",
            where="errors in the path",
            what=f"baseline, {wear:.0%} worn: with errors over without",
            load=", ".join(runs.loads),
            note=_NOTE,
        )
    for name in (*POLICIES, "rr_ecc", "bch_ldpc"):
        for wear in runs.wears:
            found = [f"{what} {_both(runs, name, wear, number)}" for what, number in _GAINS.items()]
            yield result_claim(
                runs.gain(name, wear, "with", mean_ns),
                f"{'; '.join(found)}; {_counted(runs, name, wear, 'with')}",
                where="errors in the path",
                what=f"{name}, {wear:.0%} worn: over the baseline, without errors and with them",
                load=", ".join(runs.loads),
                note=_CODES_NOTE if name in ("rr_ecc", "bch_ldpc") else _NOTE,
            )


#: Quantities in which a policy gains something over the baseline.
_GAINS: Final[Mapping[str, Callable[[Row], float]]] = {
    "mean latency": mean_ns,
    "99.9 % latency": tail_ns,
    "energy": energy,
}


def _both(runs: Runs, name: str, wear: float, quantity: Callable[[Row], float]) -> str:
    without, found = (text_of(runs.gain(name, wear, way, quantity), _change) for way in ("without", "with"))
    return f"{without} without, {found} with"


def _counted(runs: Runs, name: str, wear: float, way: str) -> str:
    """Returns the retries and the data that was lost in words."""
    often, lost = text_of(runs.mean(name, wear, way, retries), _few), runs.mean(name, wear, way, media).mean
    return f"{often} retries for 1,000 reads, {_few(lost)} media errors and lost units"


def _read_levels(runs: Runs) -> Iterator[Entry]:
    """Yields the latency of AGCR's reads by the choice of the read mode."""
    for wear in runs.wears:
        for levels in READ_LEVELS:
            way = "with" if levels == READ_LEVELS[0] else levels
            found = runs.against("agcr", way, "agcr", "with", wear, read_ns)
            over = runs.against("agcr", way, "baseline", "with", wear, read_ns)
            yield result_claim(
                over,
                f"{text_of(over, _change)}; over by_write_mode {text_of(found, _change)}; {_counted(runs, 'agcr', wear, way)}",
                where="errors in the path",
                what=f"agcr, read_levels = {levels}, {wear:.0%} worn: mean read latency, over the baseline's",
                load=", ".join(runs.loads),
                note=_NOTE,
            )


def _margin(runs: Runs) -> Iterator[Entry]:
    """Yields whether `margin` reads in the mode that its data needs."""
    for wear in runs.wears:
        lost, own = runs.mean("margin", wear, "with", media), runs.mean("margin", wear, "with", retries)
        base = runs.mean("baseline", wear, "with", retries)
        soft = runs.mean("margin", wear, "with", _slow)
        rightly = lost.mean == 0.0 and own.mean < _SELDOM
        yield result_claim(
            own,
            f"{'rightly' if rightly else 'not always'}: {text_of(own, _few)} retries for 1,000 reads "
            f"(baseline {text_of(base, _few)}), {_few(lost.mean)} media errors and lost units; "
            f"{text_of(soft, percent)} of the reads sense seven times",
            where="errors in the path",
            what=f"margin, {wear:.0%} worn: does it read its data in the mode that it needs?",
            load=", ".join(runs.loads),
            note=f"rightly: nothing is lost, and fewer than {_SELDOM:g} retry for 1,000 reads, which is assumed. {_NOTE}",
        )


def _slow(row: Row) -> float:
    """Returns the share of the reads that sense with seven references."""
    counts = [number_of(row, f"modes.read.{name}") for name in ("quick", "medium", "slow")]
    return counts[-1] / max(1.0, sum(counts))


def _codes(runs: Runs) -> Iterator[Entry]:
    """Yields the reads of each code alone, one beside the other."""
    for wear in runs.wears:
        found = runs.against("baseline", "weak", "baseline", "with", wear, read_ns)
        strong, weak = (_counted(runs, "baseline", wear, way) for way in ("with", "weak"))
        yield result_claim(
            found,
            f"{text_of(found, _change)}; weak: {weak}; strong: {strong}",
            where="errors in the path",
            what=f"baseline with one code alone, {wear:.0%} worn: mean read latency with the weak code (BCH, read retry, data "
            f"up to {_WEAK_AGE} old) over that with the strong one (LDPC, soft decision, data up to {AGE} old)",
            load=", ".join(runs.loads),
            note=_CODES_NOTE,
        )


def _aged(found: Mapping[tuple[str, str], Sample]) -> Iterator[Entry]:
    """Yields the reads of data at the limit of its mode, and beyond it."""
    for (mode, age), sample in found.items():
        often = sample.estimate(retries)
        latency = sample.estimate(lambda row: read_ns(row) / 1000.0)
        lost = sample.estimate(media)
        yield result_claim(
            often,
            f"{text_of(often, _few)} retries for 1,000 reads; {text_of(latency, '{:.1f} us'.format)}; "
            f"{_few(lost.mean)} media errors",
            where="errors in the path",
            what=f"data in the mode {mode}, {age} old, 100% worn: retries and mean read latency (limits: normal 3650d, fast 4d)",
            load="random reads of 4 KiB, depth 4",
            note=_AGED_NOTE,
        )


def _table(runs: Runs) -> Table:
    """Returns the table of all policies at all stages of wear."""
    names = [f"{what} / baseline, {way} errors" for what in _GAINS for way in ("without", "with")]
    columns = [name for each in names for name in (each, f"{each} ±")]
    rows: list[tuple[object, ...]] = []
    for wear in runs.wears:
        for name in (*POLICIES, "rr_ecc", "bch_ldpc"):
            cells: list[object] = []
            for quantity in _GAINS.values():
                for way in ("without", "with"):
                    found = runs.gain(name, wear, way, quantity)
                    half = half_of(found)
                    cells += [1.0 + found.mean, half]
            counted = [runs.mean(name, wear, "with", number) for number in (retries, media)]
            base = runs.mean("baseline", wear, "with", retries)
            rows.append((wear, name, *cells, counted[0].mean, half_of(counted[0]), base.mean, counted[1].mean))
    return Table(
        name="one-budget-errors",
        title="Gains over the baseline without and with errors in the path, and retries",
        columns=("wear", "policy", *columns, "retries / 1,000 reads", "±", "the baseline's", "media errors and lost units"),
        rows=rows,
    )


def _picture(runs: Runs) -> Picture:
    percents = [100.0 * wear for wear in runs.wears]
    names = [name for name in POLICIES if name != "margin"]
    series = [
        curve(
            name if way == "with" else f"{name}, no errors",
            percents,
            [runs.gain(name, wear, way, mean_ns) for wear in runs.wears],
            dashed=way == "without",
            colour=colour,
            scale=100.0,
        )
        for colour, name in enumerate(names)
        for way in ("with", "without")
    ]
    chart = Chart(
        title="One budget, errors in the path: mean latency over the baseline's",
        x=Axis("wear [% of the rated cycles]"),
        y=Axis("change of the mean latency [%]"),
        series=tuple(series),
        marks=(Mark(0.0, "baseline"),),
    )
    return Picture(name="one-budget-errors", chart=chart)
