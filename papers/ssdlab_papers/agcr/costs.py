"""Table 1, the costs of single requests behind figure 1, and the metadata that the histories take."""

from __future__ import annotations

from collections.abc import Iterator

import ssdlab
from ssdlab_papers.agcr.runs import Run, run
from ssdlab_papers.entry import Entry

#: Table 1: time of a read and of a write of low, medium and high cost [us]; recalled.
READS_US = {"low": 70.0, "medium": 170.0, "high": 310.0}
WRITES_US = {"low": 450.0, "medium": 600.0, "high": 800.0}
#: Cost of a read and of a write under each scheme.
_SCHEMES = {"HCW/LCR": ("low", "high"), "MCW/MCR": ("medium", "medium"), "LCW/HCR": ("high", "low")}
#: Relative tolerance of table 1: the error of RC(N) (FACTS 3: least squares, within 3.5 %) and a command's cycles.
_TOLERANCE = 0.04
_REQUESTS = 20_000
_MIB = 1 << 20
_LIGHT = "random accesses of a page, one every 10 ms, half of them reads"


def lone_requests() -> dict[str, Run]:
    """Runs each scheme under a load so light that requests hardly meet."""
    arrival = {"kind": "constant", "gap": "10ms"}
    job = {"name": "lone", "pattern": "random", "read_share": 0.5, "arrival": arrival, "requests": _REQUESTS}
    return {scheme: run({"kind": "synthetic", "job": [job]}, scheme) for scheme in _SCHEMES}


def entries() -> Iterator[Entry]:
    """Yields table 1, figure 1 under a light load, and the storage overhead."""
    found = lone_requests()
    yield from _table_1(found)
    yield from _figure_1(found)
    yield from _storage()


def _table_1(found: dict[str, Run]) -> Iterator[Entry]:
    transfer = found["MCW/MCR"].write_us - WRITES_US["medium"]
    for scheme, (read, write) in _SCHEMES.items():
        for kind, cost, table, ours, low, note in (
            (
                "read",
                read,
                READS_US[read],
                found[scheme].read_us,
                1 - _TOLERANCE,
                "RC(N) = a N + b log2(N + 1) through three points",
            ),
            (
                "write",
                write,
                WRITES_US[write],
                found[scheme].write_us - transfer,
                1 - _TOLERANCE,
                f"the program alone: the {transfer:.1f} us in which a page crosses the channel come on top",
            ),
        ):
            yield Entry(
                work="AGCR",
                where="table 1",
                what=f"a {kind} of {cost} cost",
                published=f"{table:g} us",
                standing="recalled",
                ours=ours,
                shown=f"{ours:.1f} us",
                low=low * table,
                high=(1 + _TOLERANCE) * table,
                note=note,
            )


def _figure_1(found: dict[str, Run]) -> Iterator[Entry]:
    """Yields the relations of section 2 under a light load.

    The published differences are taken as percentage points of the default (FACTS 3 has the ranges).
    """
    base, high, low = found["MCW/MCR"], found["HCW/LCR"], found["LCW/HCR"]
    reads = [each.read_us / base.read_us for each in (high, low)]
    writes = [each.write_us / base.write_us for each in (high, low)]
    note = (
        "the published values are means of 12 volumes of MSR Cambridge, whose reads also wait for other operations, which pulls "
        "them to 100 %. 114 and 61 are points of the default: taken as ratios, LCW/HCR would read as fast as the default"
    )
    for what, published, ours, low_end, high_end in (
        ("reads of HCW/LCR over the default", "46 % (improved by 54 %)", reads[0], 0.40, 0.55),
        ("reads of LCW/HCR over the default", "160 % (114 points more)", reads[1], 1.40, 1.85),
        ("writes of LCW/HCR over the default", "74 % (improved by 26 %)", writes[1], 0.70, 0.80),
        ("writes of HCW/LCR over the default", "135 % (61 points more)", writes[0], 1.25, 1.45),
    ):
        yield Entry(
            work="AGCR",
            where="figure 1, section 2.3",
            what=f"{what}, {_LIGHT}",
            published=published,
            standing="derived",
            ours=ours,
            shown=f"{100 * ours:.1f} %",
            low=low_end,
            high=high_end,
            note=note,
        )


def _storage() -> Iterator[Entry]:
    """Yields the storage that the two fields of a mapping entry take (section 3.4)."""
    job = {"name": "one", "pattern": "random", "read_share": 0.0, "requests": 1}
    counted = run({"kind": "synthetic", "job": [job]}, "AGCR").counted
    pages = ssdlab.describe("agcr-64g")["physical_bytes"] / 4096
    for what, bits, published, standing, low, high, note in (
        ("as the paper counts", counted["metadata_bits_of_the_paper"], "4 MB", "stated", 4.0, 4.0, ""),
        (
            "as it takes",
            counted["metadata_bits_needed"],
            "4 MB",
            "derived",
            None,
            None,
            "the last access has three states (none, read, written), and a page's cost three: two bits each, where the paper has "
            "one",
        ),
    ):
        ours = bits * pages / 8 / _MIB
        yield Entry(
            work="AGCR",
            where="section 3.4",
            what=f"histories and tags of 64 GB in pages of 4 KB, {what}",
            published=published,
            standing=standing,
            ours=ours,
            shown=f"{ours:g} MiB ({bits:g} bits for each page)",
            low=low,
            high=high,
            note=note,
        )
