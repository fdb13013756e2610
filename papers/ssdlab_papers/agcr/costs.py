"""Table 1, which is an input, the metadata that the histories take, and overheads that no simulator shows."""

from __future__ import annotations

from collections.abc import Iterator

import ssdlab
from ssdlab.explore.statistics import Estimate
from ssdlab.units import YEAR_S
from ssdlab_papers.agcr.runs import DRIVE, Run, run
from ssdlab_papers.claim import Claim, number, taken, untestable

#: Table 1: time of a read and of a write of low, medium and high cost [us]; recalled.
READS_US = {"low": 70.0, "medium": 170.0, "high": 310.0}
WRITES_US = {"low": 450.0, "medium": 600.0, "high": 800.0}
#: Cost of a read and of a write under each scheme.
SCHEMES = {"HCW/LCR": ("low", "high"), "MCW/MCR": ("medium", "medium"), "LCW/HCR": ("high", "low")}
_REQUESTS = 4_000
#: Pages of the paper's drive: 64 GB in pages of 4 KB.
_PAGES = 64 << 18
_BITS_PER_MIB = 8 << 20
_YEAR_NS = YEAR_S * 1e9


def lone_requests() -> dict[str, Run]:
    """Runs each scheme, and AGCR, under a load so light that requests hardly meet."""
    arrival = {"kind": "constant", "gap": "10ms"}
    job = {"name": "lone", "pattern": "random", "read_share": 0.5, "arrival": arrival, "requests": _REQUESTS}
    return {scheme: run({"kind": "synthetic", "job": [job]}, scheme) for scheme in (*SCHEMES, "AGCR")}


def entries() -> Iterator[Claim]:
    """Yields table 1, the storage overhead, and what cannot be tested."""
    found = lone_requests()
    yield from _table_1(found)
    yield _storage(found["AGCR"])
    yield from _untestable()


def _table_1(found: dict[str, Run]) -> Iterator[Claim]:
    for scheme, (read, write) in SCHEMES.items():
        for kind, cost, table, note in (
            ("read", read, READS_US[read], "recalled; the model has RC(N) = a N + b ceil(log2(N + 1)) through its three points"),
            ("write", write, WRITES_US[write], "recalled; ours is the program and the transfer of a page over the channel"),
        ):
            yield taken(
                Estimate(0, found[scheme].mean_us(kind), None, None),
                work="AGCR",
                where="table 1",
                what=f"a {kind} of {cost} cost",
                published=f"{table:g} us",
                standing="recalled",
                unit=lambda value: f"{value:.1f} us",
                note=note,
            )
    drive = ssdlab.describe(DRIVE)
    yield taken(
        Estimate(0, len(drive["erase_modes"]), None, None),
        work="AGCR",
        where="section 4.1",
        what="number of erase times",
        published="1 (the cost of an erase does not depend on the write cost)",
        unit=lambda value: f"{value:g}",
        note="the drive's description has one erase time, 3 ms, which is recalled",
    )
    yield taken(
        Estimate(0, min(mode["retention_at_rated_ns"] for mode in drive["write_modes"]) / _YEAR_NS, None, None),
        work="AGCR",
        where="sections 2.2 and 3.4",
        what="least retention of a write mode at rated wear [years]",
        published="what is required, at every cost (no reliability issue)",
        unit=lambda value: f"{value:g}",
        note="every write mode is described with the same retention, and with a read that corrects its errors",
    )


def _storage(found: Run) -> Claim:
    """Returns the storage that the two fields of a mapping entry take (section 3.4)."""
    return number(
        Estimate(0, found.row["declared_state_bits_per_unit"] * _PAGES / _BITS_PER_MIB, None, None),
        4.0,
        0.5,
        work="AGCR",
        where="section 3.4",
        what="histories and tags of 64 GB in pages of 4 KB, as the policy keeps them [MiB]",
        words="4 MB (a bit for the last access, and one for the low-cost write)",
        unit=lambda value: f"{value:.3g}",
        headline=True,
        load="",
        note="two bits for each page hold four states. The rules tell apart three histories (none, read, written) and three "
        "write costs: section 4.2 writes what has no history at high cost, which a bit for the last access cannot say",
    )


def _untestable() -> Iterator[Claim]:
    lost = "bars of the figures are lost with them, and so are the names of the volumes"
    for where, what, published, note in (
        ("figures 1, 2 and 6 to 9", "bars of each of the 12 volumes", "lost", lost),
        ("section 3.4", "voltage thresholds for three costs, in hardware", "negligible", "the model has no circuits"),
        ("section 3.4", "identification, regulation and queueing, in firmware", "negligible", "the paper gives no processor"),
        ("section 3.4", "energy of the added components", "negligible", "the paper gives neither a value nor the components"),
    ):
        yield untestable(work="AGCR", where=where, what=what, published=published, note=note)
