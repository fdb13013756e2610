"""Numbers of the cell laboratory formatted for people."""

from __future__ import annotations

from ssdlab.units import YEAR_S

_SPANS = ((YEAR_S, "y"), (86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def span(seconds: float) -> str:
    """Formats a retention or an age: ``4 d``, ``3.62 d``, ``10 y``; not a number gives ``none``."""
    if seconds != seconds:
        return "none"
    for size, unit in _SPANS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def rate(value: float) -> str:
    """Formats an error rate: ``1.37e-03``."""
    return f"{value:.2e}"


def step_text(step: float, unit: str = "") -> str:
    """Formats a program step: ``0.4 V``; the step 0 stands for a part whose step is fixed."""
    if step != step:
        return "none"
    return f"{step:.4g} {unit}".rstrip() if step else "own step"
