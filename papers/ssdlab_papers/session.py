"""The session that all experiments of a process share.

They run the same drives many times under different policies and loads, and the session keeps what depends on the drive
alone.
"""

from __future__ import annotations

from ssdlab import Session

#: Pieces of an experiment run in several processes, each with a session of its own.
_SHARED = Session(limit="1GiB")

run = _SHARED.run
lifetime = _SHARED.lifetime
