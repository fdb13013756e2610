"""Registration with ``ssdlab paper``: the entry point of the group ``ssdlab.papers`` names :data:`PART`."""

from __future__ import annotations

import ssdlab_papers
from ssdlab.experiments import Experiments

#: This package. The annotation has the type checker compare it with the contract of the command.
PART: Experiments = ssdlab_papers
