"""Runs of the two all-RRAM drives of chapter 3, by page size and queue depth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ssdlab.charts import Axis
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import run_sweep
from ssdlab_papers.sweeps import Points

__all__ = [
    "BANDWIDTH",
    "BYTES",
    "DEPTHS",
    "IOPS",
    "MEAN",
    "MEDIAN",
    "MLC",
    "PAGES",
    "QOS",
    "RRAM",
    "WORK",
    "Found",
    "causes",
    "depth_axis",
    "high",
    "in_words",
    "low",
    "measure",
    "of_page",
    "page_axis",
    "ratio",
    "show",
    "tail",
]

#: Name of the section of the page.
WORK: Final = "SSDExplorer, chapter 3: RRAM"
PAGES: Final = ("256B", "512B", "1KiB", "2KiB", "4KiB")
BYTES: Final = {"256B": 256, "512B": 512, "1KiB": 1024, "2KiB": 2048, "4KiB": 4096}
DEPTHS: Final = (1, 2, 4, 8, 16, 32)
#: Array times of the medium: RRAM, and sample B-MLC of table 2.3, the one of the 1X node.
RRAM, MLC = "1us", "40us"
MEAN, MEDIAN, QOS = "latency.read.mean_ns", "latency.read.p50_ns", "latency.read.p99_99_ns"
IOPS, BANDWIDTH = "throughput.iops", "throughput.read_bytes_per_s"
_CAUSES = "causes.read."
#: Depths of a quick run.
_QUICK = (1, 16, 32)
#: Seeds of a quick run.
_QUICK_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Found:
    """Runs of the experiments of chapter 3."""

    #: Section 3.2, commands of one page: by page size, queue depth and array time.
    pages: Points
    #: Section 3.3, commands of 4 KiB in chunks of one page: by page size and queue depth.
    chunks: Points
    #: Section 3.2 with the overhead of a command spent elsewhere.
    overhead: Points

    @property
    def depths(self) -> list[int]:
        """The queue depths that were run."""
        return [*self.chunks.values("workload.iodepth")]


def measure(setting: Setting) -> Found:
    """Does the sweeps."""
    fewer = {"workload.iodepth": _QUICK}
    return Found(
        pages=run_sweep(setting, "rram_pages", fewer=fewer, quick_seeds=_QUICK_SEEDS),
        chunks=run_sweep(setting, "rram_chunks", fewer=fewer, quick_seeds=_QUICK_SEEDS),
        overhead=run_sweep(setting, "rram_overhead"),
    )


def of_page(page: str, depth: int, medium: str = RRAM) -> dict[str, object]:
    """Returns the point of section 3.2 with a page size and depth."""
    return {"flash.page_size": page, "workload.iodepth": depth, "flash.read_time": medium}


def causes(points: Points, where: Mapping[str, object]) -> dict[str, float]:
    """Returns the mean time of a read by its causes, averaged over the seeds [us]."""
    rows = [*points.at(where).values()]
    named = [name for name in rows[0] if name.startswith(_CAUSES)]
    means = {name.removeprefix(_CAUSES): sum(row[name] or 0.0 for row in rows) / len(rows) / 1e3 for name in named}
    return {name: value for name, value in means.items() if value > 0.0}


def ratio(points: Points, number: str, above: Mapping[str, object], below: Mapping[str, object]) -> Estimate:
    """Returns the ratio of a number of two points, seed by seed."""
    first, second = points.at(above), points.at(below)
    return estimate([first[seed][number] / second[seed][number] for seed in sorted(first.keys() & second.keys())])


def low(found: Estimate) -> float:
    """Returns the lower end of an interval; of one seed, the value."""
    return found.mean if found.low is None else found.low


def tail(points: Points, where: Mapping[str, object]) -> Estimate:
    """Returns the 99.99th percentile [us]; NaN where a run has too few commands beyond it."""
    tails = [row[QOS] for row in points.at(where).values()]
    return Estimate(len(tails), math.nan, None, None) if None in tails else estimate([value / 1e3 for value in tails])


def in_words(page: str) -> str:
    """Returns a page size as a text has it: `4 KiB` for ``4KiB``."""
    return page.replace("KiB", " KiB") if "KiB" in page else page.replace("B", " B")


def high(found: Estimate) -> float:
    """Returns the upper end of an interval; of one seed, the value."""
    return found.mean if found.high is None else found.high


def show(values: Sequence[float], unit: str) -> str:
    """Returns values in words, in the order of a quantity."""
    return f"{' → '.join(f'{value:.3g}' for value in values)} {unit}"


def depth_axis(depths: Sequence[int]) -> Axis:
    """Returns the axis of queue depths."""
    return Axis("queue depth", log=True, ticks=tuple((float(depth), str(depth)) for depth in depths))


def page_axis() -> Axis:
    """Returns the axis of page sizes."""
    return Axis("page size [B]", log=True, ticks=tuple((float(BYTES[page]), str(BYTES[page])) for page in PAGES))
