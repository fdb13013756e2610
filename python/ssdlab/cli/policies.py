"""``ssdlab policies``: the mode policies that come with ssdlab."""

from __future__ import annotations

from ssdlab import drives
from ssdlab.cli import options
from ssdlab.cli.console import print_json, standard_output


def policies(json: options.Json = False) -> None:
    """List the mode policies that come with ssdlab: the names that --policy takes."""
    known = drives.policies()
    if json:
        print_json([{"name": name, "description": about} for name, about in known.items()])
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli.views import name_list

    standard_output().print(name_list("name", "policy", known))
