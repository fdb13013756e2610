"""JSON Schemas of the files that users write."""

from __future__ import annotations

import json
from typing import Any, Literal

from ssdlab import _engine
from ssdlab.errors import unknown_name
from ssdlab.explore import schema as specifications

__all__ = ["schema"]


def schema(of: Literal["drive", "workload", "sweep", "optimise"] = "drive") -> dict[str, Any]:
    """Returns the JSON Schema (draft 7) of a kind of file in TOML, as editors use it.

    The kinds are the description of a drive, a workload, and the specifications of ``ssdlab sweep`` and ``ssdlab
    optimise``. Whatever a schema rejects, ssdlab rejects. Relations between fields are checked by ssdlab alone.

    Raises:
        InputError: there is no schema of this name.

    Examples:
        >>> ", ".join(sorted(ssdlab.schema()["properties"]))
        'base, buffer, controller, ecc, faults, flash, ftl, host, policy, power, power_loss, state, title'
        >>> ssdlab.schema("workload")["title"]
        'ssdlab workload'
    """
    known = ["drive", "workload", *specifications.PURPOSES]
    if of not in known:
        raise unknown_name("schema", of, known)
    if of in specifications.PURPOSES:
        return specifications.schema(of)
    fields: dict[str, Any] = json.loads(_engine.schema(of))
    return fields
