"""The paper's two drives, the loads replayed on them, and what is taken from the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.autoftl import model
from ssdlab_papers.autoftl.loads import Case, Configuration
from ssdlab_papers.real_first import Found, RealFirst
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, Sample, over_seeds, samples

WORK = "autoFTL"
#: autoFTL with and without slow erases.
POLICIES = ("autoftl", "autoftl_minus")
#: autoFTL with the past utilisation sampled at each program; section 4.4 names write requests.
PER_PROGRAM = "autoftl, sampled at each program"
#: Relative difference up to which two rounds of an extrapolated life agree: bursts of a look-alike are drawn anew in
#: each round.
AGREEMENT = 0.03
#: Erase voltages, from the highest.
LEVELS = ("ev0", "ev1", "ev2", "ev3", "ev4")
#: Numbers of a run and of the life after it that a sweep does not keep by itself.
COLUMNS = (
    *(f"lifetime.{name}" for name in ("max_pe_ratio", "erases", "lazy_erases", "write_amplification", "write_latency_mean_ns")),
    *(f"lifetime.erase_modes.{level}{speed}" for level in LEVELS for speed in ("", "_slow")),
)

#: A number of a run.
Quantity = Callable[[Row], float]


def gain(row: Row) -> float:
    """Returns the gain in MAX P/E over the baseline, whose erases are all nominal, so that its own ratio is 1."""
    return float(row["lifetime.max_pe_ratio"]) - 1.0


def at_level(row: Row, level: str) -> float:
    """Returns the share of erases at a voltage, of either speed."""
    return _share(row, [level, f"{level}_slow"])


def share_at(level: str) -> Quantity:
    """Returns the share of erases at a voltage as a quantity."""
    return lambda row: at_level(row, level)


def slow(row: Row) -> float:
    """Returns the share of slow erases."""
    return _share(row, [f"{level}_slow" for level in LEVELS])


def at_most(row: Row) -> float:
    """Returns the share of slow erases at the lowest voltage: with these alone, a gain is the most that there is."""
    return _share(row, [f"{LEVELS[-1]}_slow"])


def lazy(row: Row) -> float:
    """Returns the number of lazy erases per erase: free blocks that were erased further before they were written."""
    return float(row["lifetime.lazy_erases"]) / max(1.0, float(row["lifetime.erases"]))


def mean_level(row: Row) -> float:
    """Returns the mean number of the erase voltage mode: 0 the highest, 4 the lowest."""
    return sum(index * at_level(row, level) for index, level in enumerate(LEVELS))


def wait_ns(row: Row) -> float:
    """Returns the mean wait of a write over a life [ns]."""
    return float(row["lifetime.write_latency_mean_ns"] or 0.0)


def _share(row: Row, modes: Sequence[str]) -> float:
    counts = {name: float(row[f"lifetime.erase_modes.{name}"] or 0.0) for each in LEVELS for name in (each, f"{each}_slow")}
    total = sum(counts.values())
    return sum(counts[name] for name in modes) / total if total else 0.0


def point(case: Case, policy: str, fields: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns a point on the case's drive with the model's wear, in the steady state unless `fields` say otherwise."""
    usual = {"precondition": "steady", "drive": case.on.preset, "policy": policy, **case.fields(), **model.fields()}
    return {**usual, **(fields or {})}


def life(setting: Setting, on: Configuration) -> dict[str, object]:
    """Returns the options of the lives on a drive: the summed effective wear reaches 3,000."""
    return {"round_cycles": on.round_cycles / (4.0 if setting.quick else 1.0), "agreement": AGREEMENT}


def lives(setting: Setting, name: str, wanted: Sequence[tuple[Case, str, Mapping[str, object]]]) -> list[Sample]:
    """Runs cases under a policy with further fields, each followed by a life, and returns them in the order given."""
    found: dict[int, Sample] = {}
    for on in dict.fromkeys(case.on for case, *_ in wanted):
        chosen = [at for at, (case, *_) in enumerate(wanted) if case.on is on]
        points = [point(*wanted[at]) for at in chosen]
        done = samples(setting, f"autoftl-{name}-{on.name}", points, columns=COLUMNS, lifetime=life(setting, on))
        found |= dict(zip(chosen, done, strict=True))
    return [found[at] for at in range(len(wanted))]


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """The runs of one case: the baseline replayed once, and the policies, each followed by a life."""

    case: Case
    base: Sample
    lives: Mapping[str, Sample]

    def estimate(self, quantity: Quantity, policy: str = "autoftl") -> Estimate:
        """Returns a quantity under a policy."""
        return self.lives[policy].estimate(quantity)


#: Rows of a case with one seed: of autoFTL, of autoFTL without slow erases, and of the baseline.
Rows = Sequence[Row]
#: A quantity of the rows of a case.
CaseQuantity = Callable[[Row, Row, Row], float]


def of_auto(quantity: Quantity) -> CaseQuantity:
    """Returns a quantity of autoFTL alone as one of a case."""
    return lambda auto, minus, base: quantity(auto)


def by_slow_erases(auto: Row, minus: Row, base: Row) -> float:
    """Returns the relative increase of MAX P/E by slow erases."""
    del base
    return float(auto["lifetime.max_pe_ratio"] / minus["lifetime.max_pe_ratio"]) - 1.0


def throughput(auto: Row, minus: Row, base: Row) -> float:
    """Returns the change of the write throughput: bytes written over the time until the last request completes."""
    del minus
    return float(auto["throughput.write_bytes_per_s"] / base["throughput.write_bytes_per_s"]) - 1.0


def delay_ns(auto: Row, minus: Row, base: Row) -> float:
    """Returns what autoFTL adds to a write's mean wait, which with an ideal interface is one for the buffer."""
    del minus
    return float(auto["latency.write.mean_ns"] or 0.0) - float(base["latency.write.mean_ns"] or 0.0)


def across(number: Callable[[list[Rows]], float], found: Sequence[CaseRuns]) -> Estimate:
    """Returns a number of all cases together, seed by seed, with its interval over the seeds."""
    runs = [sample for one in found for sample in (one.lives["autoftl"], one.lives["autoftl_minus"], one.base)]
    return over_seeds(lambda *rows: number([rows[at : at + 3] for at in range(0, len(rows), 3)]), *runs)


def over(quantity: CaseQuantity, found: Sequence[CaseRuns], of: Callable[[list[float]], float] = fmean) -> Estimate:
    """Returns the mean (or another number) of a quantity over cases, seed by seed, with its interval over the seeds."""
    return across(lambda rows: of([quantity(*each) for each in rows]), found)


@dataclass(frozen=True, slots=True)
class Both(RealFirst[CaseRuns]):
    """Cases on real traces, which lead, and on look-alikes."""

    @property
    def text(self) -> str:
        """The leading cases in words."""
        return ", ".join(one.case.title for one in self.leading)

    def of_cases(self, condition: Callable[[Case], bool]) -> Both:
        """Returns the runs of cases for which a condition holds."""
        return self.where(lambda one: condition(one.case))

    def find(self, quantity: CaseQuantity, of: Callable[[list[float]], float] = fmean) -> Found:
        """Returns the mean (or another number) of a quantity over the cases."""
        return self.together(lambda rows: of([quantity(*each) for each in rows]))

    def together(self, number: Callable[[list[Rows]], float]) -> Found:
        """Returns a number of all cases together."""
        real, alike = (across(number, found) if found else None for found in (self.real, self.alike))
        return Found(real, alike, self.text, WORK)


def fine_text(share: float) -> str:
    """Returns a small relative change in percent."""
    return f"{100 * share:+.2f} %"
