"""The reference outputs of DiskSim's SSD extension, and the loads behind them.

The OFWAR paper simulated its drive with this extension (Agrawal et al., USENIX ATC 2008). The extension comes with the
outputs of eight runs: six synthetic loads, and the traces IOzone and Postmark. The synthetic loads follow from the
parameters of DiskSim's generator and from ``drand48``, and are made again here, request by request. The preset
``disksim-reference`` is the drive of all eight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["DRIVE", "REFERENCES", "Reference", "lines", "requests"]

#: Preset of the drive.
DRIVE: Final = "disksim-reference"
#: Pages of the address range. The parameter "storage capacity per device", 7,018,904, is one of sectors.
_PAGES: Final = 7_018_904 // 8
#: Mean of the exponential size of a request [sectors].
_MEAN_SECTORS: Final = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One run of the extension: its load, and the response times of its output [ms]."""

    #: Probability that a request continues the one before; ``None`` for a trace.
    sequential: float | None = None
    #: Probability that a request is a read.
    reads: float = 0.0
    #: Number of requests.
    count: int
    #: Mean of the response times.
    mean: float
    #: Their standard deviation.
    deviation: float
    #: The longest of them.
    longest: float


#: The runs by name, with the figures of the driver's statistics. The output's section "Overall I/O System" gives the
#: same means, and for IOzone another deviation, 24.24: its queue takes out the wrong one of several requests at the
#: same address.
REFERENCES: Final = {
    "sr250k": Reference(sequential=1.0, reads=1.0, count=250_000, mean=0.132511, deviation=0.000072, longest=0.135805),
    "sw250k": Reference(sequential=1.0, count=250_000, mean=0.310895, deviation=0.026646, longest=0.522476),
    "rr250k": Reference(sequential=0.0, reads=1.0, count=250_000, mean=0.136118, deviation=0.015205, longest=0.485446),
    "rw250k": Reference(sequential=0.0, count=250_000, mean=0.329458, deviation=0.068898, longest=1.579052),
    "sw5m": Reference(sequential=1.0, count=5_000_000, mean=0.334365, deviation=0.184392, longest=2.100248),
    "rw5m": Reference(sequential=0.0, count=5_000_000, mean=0.593438, deviation=0.970446, longest=6.518651),
    "iozone": Reference(count=100_000, mean=6.416810, deviation=23.627596, longest=1016.600971),
    "postmark": Reference(count=62_257, mean=4.140393, deviation=10.240173, longest=68.054171),
}


class _Drand48:
    """The generator ``drand48`` of POSIX: uniform numbers from 0 up to, and without, 1."""

    def __init__(self, seed: int) -> None:
        self._state = (seed << 16) | 0x330E

    def __call__(self) -> float:
        self._state = (self._state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return self._state / 2.0**48


def requests(reference: Reference) -> Iterator[tuple[float, int, int, bool]]:
    """Makes the requests of a synthetic load: time [ms], first page, pages, and whether it is a read.

    Requests arrive in an open loop, with uniform times between 0 and 1 ms from one to the next. A sequential request
    begins where the last one ended, and has its size.
    """
    if reference.sequential is None:
        raise ValueError("the requests of a trace are in a file")
    draw = _Drand48(42)

    def anywhere() -> tuple[int, int, bool]:
        while True:
            first = int(draw() * _PAGES)
            pages = (int(-_MEAN_SECTORS * math.log(1.0 - draw())) + 7) // 8
            if pages and first + pages < _PAGES:
                return first, pages, draw() < reference.reads

    time = draw()
    draw()
    first, pages, is_read = anywhere()
    draw()
    yield time, first, pages, is_read
    draw = _Drand48(1_000_003)
    for _ in range(reference.count - 1):
        continues = draw() < reference.sequential and first + 2 * pages < _PAGES
        time += draw()
        if continues:
            first += pages
        else:
            draw()
            first, pages, is_read = anywhere()
        draw()
        yield time, first, pages, is_read


def lines(reference: Reference) -> Iterator[str]:
    """Returns the lines of a synthetic load as a trace in DiskSim's format."""
    return (f"{time:.6f} 0 {first * 8} {pages * 8} {int(is_read)}\n" for time, first, pages, is_read in requests(reference))
