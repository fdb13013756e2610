"""The session that the experiments of a process share: they run a drive again and again, under other policies and other loads."""

from __future__ import annotations

from ssdlab.sessions import Session

_SHARED = Session()

run = _SHARED.run
lifetime = _SHARED.lifetime
