"""Sensitivity of two gains of the thesis to what is assumed of its drives: what a reader must believe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.sensitivity import Assumed, Sensitivity, option, sensitivity
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.regions import MEAN_MA, OF_READS
from ssdlab_papers.ssdexplorer.runs import SPECS, WORK
from ssdlab_papers.sweeps import Row, Sample, over_seeds

__all__ = ["OF_NASD", "OF_WINDOW", "entries", "nasd_sensitivity", "window_sensitivity"]

#: Joint draws: more than there are terms in a fit, 45 for eight numbers.
DRAWS: Final = 128

#: Assumptions of `ldpc-c` (FACTS 5.2 to 5.4), as far as they bear on reads. The law of its error rate acts through the
#: share of reads with a soft level, which is calibrated.
OF_NASD: Final = (
    option("flash.code.limits[1]", "error rate corrected with one soft level", (5e-3, 9e-3), 7e-3),
    option("flash.code.parity", "parity of a codeword", ("256B", "448B", "512B"), "448B"),
    option("ecc.decoder.decoders", "decoders of a channel", (1, 2, 4, 8), 4),
    option("flash.planes_per_die", "planes", (1, 2), 2),
    option("controller.firmware.count", "cores", (2, 4, 8), 8),
    option("controller.firmware.clock", "clock of the cores", ("300MHz", "600MHz", "1GHz"), "600MHz"),
    option("controller.dram.grade", "memory", ("ddr3-800", "ddr3-1333", "ddr4-2400"), "ddr3-1333"),
    option("host.interface.lanes", "lanes of the link", (2, 4, 8), 4),
)

_BASE, _WIDTH, _PERIOD, _READ, _IDLE = "base", "width", "period", "read", "idle"


#: Assumptions of `ssdpower-16x8` on the currents, of which the thesis has a figure without numbers. The current of a
#: pulse follows from the others: the mean power is stated.
OF_WINDOW: Final = (
    option(_BASE, "current between pulses [mA]", (0.8, 2.0), 1.6),
    option(_WIDTH, "width of a pulse [us]", (7.0, 26.0), 13.0),
    option(_PERIOD, "period of the pulses [us]", (50.0, 200.0), 100.0),
    option(_READ, "current of a read [mA]", (4.0, 25.0), 8.0),
    option(_IDLE, "current of a die at rest [uA]", (5.0, 100.0), 10.0),
    option("ftl.write_allocation", "choice of the die of a write", ("pull", "static", "round_robin"), "pull"),
    option("workload.iodepth", "queue depth", (256, 512, 1024, 4096), 1024),
)


def currents(fields: Mapping[str, Any]) -> dict[str, object]:
    """Returns the fields of the power of a drive, in place of the numbers from which they follow."""
    numbers = {name: float(fields[name]) for name in (_BASE, _WIDTH, _PERIOD, _READ, _IDLE)}
    of_program = (MEAN_MA - OF_READS * numbers[_READ]) / (1.0 - OF_READS)
    peak = numbers[_BASE] + (of_program - numbers[_BASE]) * numbers[_PERIOD] / numbers[_WIDTH]
    given = {
        "power.program.base": f"{1e3 * numbers[_BASE]:.0f}uA",
        "power.program.peak": f"{1e3 * peak:.0f}uA",
        "power.program.width": f"{1e3 * numbers[_WIDTH]:.0f}ns",
        "power.program.period": f"{1e3 * numbers[_PERIOD]:.0f}ns",
        "power.read.current": f"{1e3 * numbers[_READ]:.0f}uA",
        "power.idle": f"{numbers[_IDLE]:.0f}uA",
    }
    return {**given, **{name: value for name, value in fields.items() if name not in numbers}}


def nasd_sensitivity(
    setting: Setting, assumed: Sequence[Assumed] = OF_NASD, draws: int = DRAWS, length: int = 100_000
) -> Sensitivity:
    """Returns the sensitivity of the gain by NASD on reads of sample C behind the enterprise host."""
    common = {"drive": "ldpc-c", "workload": str(SPECS / "reads.fio"), "workload.iodepth": 256, "options.stop_after": length}
    common |= {"flash.blocks_per_plane": 128, "state.pe_cycles": 8000}

    def points(fields: Mapping[str, object]) -> list[Mapping[str, object]]:
        return [{**common, **fields, "ecc.plan.kind": plan} for plan in ("nasd", "soft")]

    return sensitivity(
        setting,
        "ssdexplorer-nasd",
        title="gain by NASD on reads of sample C, enterprise host (%)",
        assumed=assumed,
        points=points,
        quantity=_change("throughput.iops"),
        draws=draws,
    )


def window_sensitivity(
    setting: Setting, assumed: Sequence[Assumed] = OF_WINDOW, draws: int = DRAWS, length: int = 49_152
) -> Sensitivity:
    """Returns the sensitivity of what a window in the middle of programs changes of the peak power."""
    common = {"drive": "ssdpower-16x8", "workload": str(SPECS / "table_4_2_steady.fio"), "options.stop_after": length}
    window = {"page_types": [2], "at": [0.5], "length": "200us", "idle_chips_wait": False}

    def points(fields: Mapping[str, object]) -> list[Mapping[str, object]]:
        drive = {**common, **currents(fields)}
        return [{**drive, "power.suspend": [window]}, drive]

    return sensitivity(
        setting,
        "ssdexplorer-window",
        title="peak power with a window at 0.5, idle dies not waiting, over that without (%)",
        assumed=assumed,
        points=points,
        quantity=_change("energy.peak_w"),
        draws=draws,
        columns=("energy.peak_w",),
    )


def _change(number: str) -> Callable[[Sequence[Sample]], Estimate]:
    """Returns by how much a number of the first point exceeds that of the second [%]."""

    def change(row: Row, base: Row) -> float:
        return 100.0 * (float(row[number]) / float(base[number]) - 1.0)

    return lambda found: over_seeds(change, *found)


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the sensitivities, in the full form alone."""
    if not setting.full:
        return
    for found, where, load in (
        (nasd_sensitivity(setting), "table 2.8", "100% read, depth 256"),
        (window_sensitivity(setting), "table 4.2", "as table 4.2, from 20 ms on"),
    ):
        yield from found.entries(found.claim(work=WORK, where=where, load=load))
