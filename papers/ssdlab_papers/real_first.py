"""Cases and quantities of real traces, which lead, with those of their look-alikes beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ssdlab.explore.statistics import Estimate

__all__ = ["Found", "RealFirst"]

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class RealFirst(Generic[Case]):
    """Cases of real traces, which lead, and of look-alikes."""

    real: tuple[Case, ...]
    alike: tuple[Case, ...]

    @property
    def leading(self) -> tuple[Case, ...]:
        """The cases of real traces, or those of look-alikes if there are none."""
        return self.real or self.alike


@dataclass(frozen=True, slots=True)
class Found:
    """A quantity on real traces and on look-alikes; ``None`` where there are none."""

    real: Estimate | None
    alike: Estimate | None
    load: str

    @property
    def leading(self) -> Estimate:
        """The quantity on real traces or, without them, on look-alikes."""
        found = self.real or self.alike
        assert found is not None, "a quantity is taken of some load"
        return found
