"""Cost of an architecture: the resources that it needs, weighted by coefficients that a specification states.

The unit is one die. The defaults are assumed [A]: they order architectures of one kind, and are no prices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ssdlab.errors import InputError, closest
from ssdlab.explore.expression import Expression, quantity
from ssdlab.explore.names import looked_up

__all__ = ["Cost"]

_MIB = 1024.0 * 1024.0
#: Error at a key of a specification.
Complaint = Callable[[str, str], InputError]


@dataclass(frozen=True, slots=True)
class Cost:
    """Coefficients of the cost of an architecture.

    Examples:
        >>> from ssdlab.explore.cost import Cost
        >>> flash = {"channels": 2, "chips_per_channel": 2, "dies_per_chip": 1}
        >>> Cost().total({"flash": flash}), Cost(channel=3.0).total({"flash": flash})
        (4.5, 10.0)
    """

    #: Cost of each die.
    die: float = 1.0
    #: Cost of each channel with its controller.
    channel: float = 0.25
    #: Cost of each MiB of write buffer.
    buffer_mib: float = 0.05
    #: Cost of each page buffer of the channel controllers.
    page_buffer: float = 0.01
    #: Cost of each MiB of DRAM whose size the description states, over all memories.
    dram_mib: float = 0.002
    #: Cost of each core of the controller.
    core: float = 0.5
    #: Cost of each lane of the host's link; SATA and `plain` have one.
    lane: float = 0.25
    #: Expression over the fields of the description that replaces the sum of all these.
    formula: Expression | None = None

    @classmethod
    def read(cls, table: Mapping[str, Any], error: Complaint) -> Cost:
        """Returns the cost that the table ``[cost]`` of a specification describes.

        Raises:
            InputError: the table has an unknown key, or a value that is no number of at least 0.
        """
        known = [field.name for field in fields(cls)]
        given: dict[str, Any] = {}
        for name, value in table.items():
            if name not in known:
                near = closest(name, known)
                hint = f" (did you mean `{near}`?)" if near else ""
                raise error(f"cost/{name}", f"unknown key: expected one of {', '.join(known)}{hint}")
            if name == "formula":
                if not isinstance(value, str):
                    raise error("cost/formula", f"{value!r}: expected an expression as a text")
                try:
                    given[name] = Expression.parse(value)
                except InputError as refused:
                    raise error("cost/formula", str(refused)) from None
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise error(f"cost/{name}", f"{value!r}: expected a number of at least 0")
            given[name] = float(value)
        return cls(**given)

    def total(self, description: Mapping[str, Any]) -> float:
        """Returns the cost of a drive.

        Args:
            description: The complete description, as ``ssdlab.check`` returns it.

        Raises:
            InputError: the formula has a name that the description lacks, or is no number.
        """
        if self.formula is not None:
            found = self.formula.value(lambda name: looked_up(description, name))
            if isinstance(found, bool) or not isinstance(found, int | float):
                raise InputError(f"`{self.formula.text}`: expected a number, not {found!r}")
            return float(found)
        return sum(count * float(getattr(self, name)) for name, count in resources(description).items())


def resources(description: Mapping[str, Any]) -> dict[str, float]:
    """Returns the number of each resource of a complete description, by the name of its coefficient."""

    def number(name: str, absent: float) -> float:
        try:
            found = quantity(looked_up(description, name))
        except KeyError:
            return absent
        return float(found) if isinstance(found, int | float) else absent

    channels = number("flash.channels", 0.0)
    link = description.get("host", {}).get("interface", {})
    has_link = isinstance(link, dict) and link.get("kind", "ideal") != "ideal"
    return {
        "die": channels * number("flash.chips_per_channel", 1.0) * number("flash.dies_per_chip", 1.0),
        "channel": channels,
        "buffer_mib": number("buffer.capacity", 0.0) / _MIB,
        "page_buffer": channels * number("controller.page_buffers.count", 0.0),
        # Each data buffer has a memory of its own.
        "dram_mib": number("buffer.buffers", 1.0) * number("controller.dram.size", 0.0) / _MIB,
        "core": number("controller.firmware.count", 0.0),
        "lane": number("host.interface.lanes", 1.0) if has_link else 0.0,
    }
