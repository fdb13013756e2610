"""Figure 1.9, table 1.3: speed of the simulation, with a translation layer and with its abstraction."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ssdlab.charts import Axis, Chart, Series
from ssdlab_papers.claim import Claim, set_apart, statement, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import SPECS, WORK

#: Channels and targets of table 1.3.
_SHAPES = {
    **{f"C{place}": (2**power, 1) for place, power in enumerate(range(6), 1)},
    **{f"C{place}": (1, 2**power) for place, power in ((7, 1), (8, 2), (9, 3))},
}
#: Clock of the controller for the number of cycles [Hz]: the slowest of the state of the art of the thesis.
_CLOCK = 300e6
_REPEATS = 3
#: Why the times of two kinds of simulators are not compared.
_FIRMWARE = (
    "the thesis's simulator executes the firmware of the translation layer on a model of its processor; ours looks a page up in "
    "memory and charges the cycles. The ratio is of this machine and this moment"
)


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 1.5."""
    commands = 20_000 if setting.quick else 100_000
    walls: dict[str, tuple[float, float]] = {}
    cycles: dict[str, float] = {}
    for place, (name, (channels, targets)) in enumerate(_SHAPES.items()):
        if setting.progress is not None:
            setting.progress(place / len(_SHAPES), f"speed: {name}")
        shape = {"flash.channels": channels, "flash.chips_per_channel": targets, "flash.dies_per_chip": 1}
        shape |= {"flash.concurrent_dies_per_chip": 1, "flash.blocks_per_plane": 2048, "buffer.buffers": 1}
        pair = []
        for layer in ("page_map", {"kind": "waf", "write_amplification": 1.0}):
            load, sets = str(SPECS / "writes.fio"), {**shape, "ftl.translation": layer}
            results = [run("explorer-c1", load, set=sets, stop_after=commands) for _ in range(_REPEATS)]
            pair.append(median(result.wall_s for result in results))
            cycles[name] = results[0].summary["simulated_ns"] / 1e9 * _CLOCK / pair[-1]
        walls[name] = (pair[0], pair[1])
    drops = {name: with_map / without for name, (with_map, without) in walls.items()}
    claim = statement(
        sum(drops.values()) / len(drops),
        ", ".join(f"{name} {drop:.2f}" for name, drop in drops.items()),
        work=WORK,
        where="section 1.5",
        what="time of a simulation with a translation layer over that with the abstraction, mean of C1 to C9",
        published="3 on average",
        low=2.5,
        high=3.5,
        seeds=1,
        load="sequential writes of 4 KiB",
    )
    yield set_apart(claim, "not comparable", _FIRMWARE)
    yield untestable(
        work=WORK,
        where="figure 1.9",
        what=f"simulated controller cycles per second, at {_CLOCK / 1e6:.0f} MHz",
        published="in the order of 100,000",
        shown=f"{min(cycles.values()) / 1e6:.0f} to {max(cycles.values()) / 1e6:.0f} million",
        note="shown, not scored: an event engine does not simulate cycles in which nothing happens",
    )
    rates = {name: commands / without for name, (_, without) in walls.items()}
    rows = [[name, *_SHAPES[name], *walls[name], rates[name], cycles[name]] for name in _SHAPES]
    columns = ("architecture", "channels", "targets", "with a map s", "abstraction s", "writes per second", "cycles per second")
    yield Table(name="ssdexplorer-speed", title="Figure 1.9: speed of the simulation", columns=columns, rows=rows)
    names = [*_SHAPES]
    chart = Chart(
        title="Figure 1.9: simulated writes per second of this machine",
        x=Axis("architecture (table 1.3)"),
        y=Axis("writes per second", better="higher"),
        series=(
            Series("translation layer", names, [commands / walls[name][0] for name in names]),
            Series("abstraction", names, [rates[name] for name in names]),
        ),
        cases=True,
    )
    yield Picture(name="ssdexplorer-speed", chart=chart)
