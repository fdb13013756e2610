"""The front of a search: the trials that no other beats, their drives as files, and how good a front is as a whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab import toml
from ssdlab.explore.tasks import Task
from ssdlab.explore.trial import Bench, description

__all__ = ["Front", "comparison", "drive_text", "hypervolume", "not_beaten"]

#: Losses, one for each objective, and smaller for better.
Losses = tuple[float, ...]
#: Reference point of a hypervolume, in units of the range of each objective.
_REFERENCE = 1.1


def beats(one: Losses, other: Losses) -> bool:
    """Returns True if `one` is at least as good in all objectives, and better in one."""
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


def not_beaten(losses: Sequence[Losses | None]) -> list[int]:
    """Returns the places of the candidates that no other beats; of equal ones the first. ``None`` is no candidate.

    Examples:
        >>> from ssdlab.explore.front import not_beaten
        >>> not_beaten([(1.0, 3.0), (2.0, 2.0), None, (2.0, 3.0), (1.0, 3.0)])
        [0, 1]
    """
    first: dict[Losses, int] = {}
    for at, loss in enumerate(losses):
        if loss is not None:
            first.setdefault(loss, at)
    kept: list[Losses] = []
    # In this order a candidate is beaten only by earlier ones.
    for loss in sorted(first):
        if not any(beats(other, loss) for other in kept):
            kept.append(loss)
    return sorted(first[loss] for loss in kept)


class Front:
    """Front of the trials so far.

    Examples:
        >>> from ssdlab.explore.front import Front
        >>> front = Front()
        >>> for losses in ((1.0, 3.0), (2.0, 2.0), (0.5, 2.5), None):
        ...     front.add(losses)
        >>> sorted(front.losses)
        [(0.5, 2.5), (2.0, 2.0)]
    """

    def __init__(self) -> None:
        #: Losses of its members.
        self.losses: set[Losses] = set()

    def add(self, losses: Losses | None) -> None:
        """Adds a candidate; ``None`` is none."""
        if losses is None or any(beats(other, losses) for other in self.losses):
            return
        self.losses = {other for other in self.losses if not beats(losses, other)} | {losses}


def hypervolume(losses: Sequence[Losses], reference: Losses) -> float:
    """Returns the volume between the points that some of `losses` is at least as good as, and the reference point.

    Examples:
        >>> from ssdlab.explore.front import hypervolume
        >>> hypervolume([(0.0, 1.0), (1.0, 0.0)], (2.0, 2.0))
        3.0
    """
    inside = sorted({loss for loss in losses if all(mine < bound for mine, bound in zip(loss, reference, strict=True))})
    if not inside:
        return 0.0
    if len(reference) == 1:
        return reference[0] - inside[0][0]
    volume = 0.0
    # Slices along the first objective: each has the volume of the others, over the points that begin before it.
    for at, loss in enumerate(inside):
        end = inside[at + 1][0] if at + 1 < len(inside) else reference[0]
        if end > loss[0]:
            volume += (end - loss[0]) * hypervolume([other[1:] for other in inside[: at + 1]], reference[1:])
    return volume


def comparison(bench: Bench, search: Sequence[Mapping[str, Any]], chance: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the comparison of a search with a random one.

    One objective: the best values. Several: the hypervolumes of both fronts, as shares of the largest possible one; the
    range of each objective is that of both searches together.
    """
    objectives = bench.spec.objectives
    both = {"search": [bench.losses(row) for row in search], "random": [bench.losses(row) for row in chance]}
    known = [loss for side in both.values() for loss in side if loss is not None]
    least = [min(loss[at] for loss in known) for at in range(len(objectives))] if known else []
    widths = [(max(loss[at] for loss in known) - least[at]) or 1.0 for at in range(len(objectives))] if known else []
    found: dict[str, Any] = {"objectives": [{"key": one.key, "direction": one.direction} for one in objectives]}
    scores = {}
    for name, side in both.items():
        own = [loss for loss in side if loss is not None]
        scaled = [tuple((x - low) / width for x, low, width in zip(loss, least, widths, strict=True)) for loss in own]
        volume = hypervolume(scaled, (_REFERENCE,) * len(objectives)) / _REFERENCE ** len(objectives)
        best = {one.key: min((loss[at] for loss in own), default=None) for at, one in enumerate(objectives)}
        found[name] = {
            "trials": len(side),
            "feasible": len(own),
            "front": len(not_beaten(side)),
            "best": {one.key: None if best[one.key] is None else one.loss(best[one.key] or 0.0) for one in objectives},
            "hypervolume": volume,
        }
        scores[name] = volume
    difference = scores["search"] - scores["random"]
    found["better"] = "equal" if abs(difference) < 1e-12 else "search" if difference > 0 else "random"
    return found


def drive_text(bench: Bench, task: Task, row: Mapping[str, Any]) -> str:
    """Returns the drive of a trial as TOML that `ssdlab run` takes, with its values in comments above."""
    text = description(task)
    document = tomllib.loads(text)
    if made_absolute(document, Path(task.drive[0]).parent):
        text = toml.document(document)
    lines = [f"Trial {row['trial']} of a search, complete."]
    lines += [f"{one.key} = {row[one.key]!r} ({one.direction})" for one in bench.spec.objectives]
    lines += [f"{one.key} = {row[one.key]!r} (wanted: {one.value!r})" for one in bench.spec.targets]
    lines += [f"{name} = {toml.value(value)}" for name, value in task.point.fields.items()]
    if task.point.policy is not None and ".py:" in task.point.policy:
        lines.append(f"The policy is not part of a description: --policy {task.point.policy}")
    return "".join(f"# {line}\n" for line in lines) + "\n" + text


def made_absolute(inner: Any, folder: Path) -> bool:
    """Makes the files that a description names absolute. Returns True if there are any."""
    found = False
    if isinstance(inner, dict):
        for name, value in inner.items():
            if name == "file" and isinstance(value, str) and (folder / value).is_file():
                inner[name] = str((folder / value).resolve())
                found = True
            else:
                found |= made_absolute(value, folder)
    elif isinstance(inner, list):
        for value in inner:
            found |= made_absolute(value, folder)
    return found
