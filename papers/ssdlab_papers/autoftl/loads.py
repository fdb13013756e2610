"""The paper's two drives, and the loads that are replayed on them."""

from __future__ import annotations

from dataclasses import dataclass

from ssdlab_papers.real_first import RealFirst
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load, Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One of the drives of table 3."""

    #: Name in the paper.
    name: str
    #: Name of the preset.
    preset: str
    #: Number of dies that program at once.
    dies: int
    #: Traces of the paper, with the gains of figure 9 and the changes of throughput of figure 10.
    of_the_paper: dict[str, tuple[float, float]]
    #: Other loads beside them, and the replay speeds of each, relative to the recording.
    stand_ins: tuple[tuple[str, tuple[float, ...]], ...]
    #: Replay speed of the traces in the paper, relative to the recording.
    speed: float
    #: Mean cycles of a block in one round of a lifetime run.
    round_cycles: float

    # Two configurations are equal only if they are one.
    __hash__ = object.__hash__

    @property
    def effective_ns(self) -> float:
        """``T_effective``: program time over the number of dies that program at once [ns]."""
        return 1_300_000 / self.dies


ENTERPRISE = Configuration(
    name="enterprise",
    preset="dpes-enterprise",
    dies=32,
    # The labels of figures 9 and 10 are in the text without the names of their traces. Derived: in figure 10 the text
    # places proj_0 first and prxy_0 fourth; in figure 9 it places proj_0 and src1_2 lowest, and 48 % follows from the
    # means (FACTS 4.1). Both fit one order of the traces alone.
    of_the_paper={
        "proj_0": (0.50, -0.0217),
        "src1_2": (0.48, -0.0066),
        "hm_0": (0.76, -0.0064),
        "prxy_0": (0.82, -0.0149),
        "stg_0": (0.78, -0.0014),
        "web_0": (0.80, -0.0036),
    },
    stand_ins=(("vm", (25.0, 100.0)), ("financial1", (100.0, 800.0))),
    speed=100.0,
    round_cycles=0.5,
)
MOBILE = Configuration(
    name="mobile",
    preset="dpes-mobile",
    dies=2,
    # Its two traces, m_down and m_p2p1, are not public.
    of_the_paper={},
    stand_ins=(("download", (1.0,)), ("copy", (1.0,)), ("telegram", (1.0,))),
    speed=1.0,
    round_cycles=4.0,
)
CONFIGURATIONS = (ENTERPRISE, MOBILE)
#: Loads and speeds of a quick run: a trace of the paper and a busy load on the enterprise drive, and a download.
_QUICK = (("prxy_0", 100.0), ("vm", 100.0), ("download", 1.0))
#: Requests of one pass of a quick run.
_QUICK_REQUESTS = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """A load on a drive at one replay speed, relative to the recording."""

    on: Configuration
    load: Load
    speed: float
    #: Requests of one pass; ``None``: all of the trace, or as many as its look-alike was fitted to.
    requests: int | None = None

    @property
    def title(self) -> str:
        """Name in tables."""
        return f"{self.load.title}, {self.speed:g}x" if self.on is ENTERPRISE else self.load.title

    @property
    def name(self) -> str:
        """Name in pictures."""
        return f"{self.load.name} {self.speed:g}x" if self.on is ENTERPRISE else self.load.name

    @property
    def is_of_paper(self) -> bool:
        """True if the paper ran this trace, of which a part or a look-alike may be at hand."""
        return self.load.name in self.on.of_the_paper

    @property
    def is_as_stated(self) -> bool:
        """True if the replay speed is the paper's."""
        return self.speed == self.on.speed

    def fields(self) -> dict[str, object]:
        """Returns the fields of a point with the load, its recorded gaps, and its addresses wrapped onto the drive."""
        return self.load.fields(self.requests, self.speed, replay="gaps", address="wrap")


@dataclass(frozen=True, slots=True)
class Cases(RealFirst[Case]):
    """Cases on the user's traces, whole or parts of them, which lead, and on look-alikes of all loads."""


def cases(setting: Setting) -> Cases:
    """Returns every load on its drive at every speed: the user's traces, and look-alikes."""
    wanted = [
        (on, name, speed)
        for on in CONFIGURATIONS
        for name, speeds in (*((name, (on.speed,)) for name in on.of_the_paper), *on.stand_ins)
        for speed in speeds
        if not setting.quick or (name, speed) in _QUICK
    ]
    most = _QUICK_REQUESTS if setting.quick else None

    def case(on: Configuration, load: Load, speed: float) -> Case:
        return Case(on, load, speed, None if most is None else min(most, load.requests))

    real = [case(on, load, speed) for on, name, speed in wanted if (load := setting.traces.find(name)) is not None]
    alike = [case(on, load, speed) for on, name, speed in wanted if (load := Traces().load(name)) is not None]
    return Cases(tuple(real), tuple(alike))
