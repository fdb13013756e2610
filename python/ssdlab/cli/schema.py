"""``ssdlab schema``: the fields of a drive's description."""

from __future__ import annotations

from ssdlab.cli.console import print_json


def schema() -> None:
    """Print the JSON Schema of a drive's description."""
    from ssdlab import drives

    print_json(drives.schema())
