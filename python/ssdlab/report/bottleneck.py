"""The bottleneck of a run, in words and in the diagram of its drive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssdlab.drawing.svg import SATURATED, resource_name, svg
from ssdlab.drives import Drive, diagram
from ssdlab.errors import InputError
from ssdlab.report.content import phrase
from ssdlab.units import percent

if TYPE_CHECKING:
    from ssdlab.results import RunData


def sentences(run: RunData) -> str:
    """Returns what limits a run: the bottleneck or, if there is none, the largest cause of latency.

    Empty for a result of an older version, which has no bottleneck.
    """
    if "bottleneck" not in run.summary:
        return ""
    found: dict[str, Any] | None = run.summary["bottleneck"]
    if found is None:
        return "Nothing is a bottleneck: no resource was busy."
    busy, share = resource_name(found["resource"]), percent(found["utilisation"])
    if found["next"] is None:
        following = "No other resource was busy."
    else:
        following = f"Next is {resource_name(found['next'])} with {percent(found['next_utilisation'])}."
    if found["utilisation"] >= SATURATED:
        limit = f"The bottleneck is {busy}: it is busy for {share} of the time, and limits the throughput."
        lead = "The largest cause of latency is"
    else:
        limit = f"No resource is a bottleneck: {busy}, the busiest, is busy for {share} of the time."
        lead = "What limits the commands is their latency, not the throughput of a resource. Its largest cause is"
    return " ".join([limit, following, *_largest_cause(run, lead)])


def _largest_cause(run: RunData, lead: str) -> list[str]:
    """Returns a sentence on the largest cause of latency that begins with `lead`; none without any latency."""
    causes = run.causes["all"]
    if not causes:
        return []
    cause = max(causes, key=lambda name: causes[name])
    share = percent(causes[cause] / sum(causes.values()))
    return [f"{lead} {phrase(cause)}, with {share} ({cause})."]


def drawing(run: RunData) -> str | None:
    """Returns the diagram of a run's drive, coloured by utilisation; ``None`` if this version cannot read the drive."""
    try:
        parts = diagram(Drive.from_text(run.drive_toml, run.drive))
    except InputError:
        return None
    return svg(parts, run.summary["utilisation"], run.summary.get("bottleneck"))
