"""Contents of a live page, kept for any number of browsers."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ssdlab.plain import visible

__all__ = ["POINTS", "Feed"]

#: Points over time that are kept: at two a second, those of the last ten minutes.
POINTS = 1200


class _Part:
    """A part of the page, which is made when the first browser asks for it."""

    def __init__(self, version: int, content: Any) -> None:
        self.version = version
        self._content = content
        self._text: str | None = None
        self._making = threading.Lock()

    def text(self) -> str:
        """Returns the part as JSON."""
        with self._making:
            if self._text is None:
                self._text = _json(self._content() if callable(self._content) else self._content)
                self._content = None
            return self._text


class Feed:
    """Parts of a page by name, each with its latest content, and points over time.

    A browser asks for what is newer than what it has: one that stalls costs no memory, and skips what is outdated.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._parts: dict[str, _Part] = {}
        self._points: deque[tuple[int, str]] = deque(maxlen=POINTS)
        self._first = 0
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """True if nothing follows."""
        return self._is_over

    def put(self, point: Mapping[str, Any] | None = None, **parts: Any | Callable[[], Any]) -> None:
        """Replaces parts, and adds a point. A function stands for a content that is made when a browser asks for it."""
        with self._changed:
            self._version += 1
            for name, content in parts.items():
                self._parts[name] = _Part(self._version, content)
            if point is not None:
                self._points.append((self._version, _json(point)))
            self._changed.notify_all()

    def restart(self) -> None:
        """Forgets the points: what follows is about something else."""
        with self._changed:
            self._version += 1
            self._first = self._version
            self._points.clear()
            self._changed.notify_all()

    def end(self, **parts: Any) -> None:
        """Replaces parts for the last time."""
        self.put(**parts)
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def wait(self, version: int, seconds: float) -> bool:
        """Waits until something is newer than `version`, or nothing follows. Returns true if that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self._version > version or self._is_over, seconds)

    def since(self, version: int) -> tuple[int, str]:
        """Returns the latest version, and what has changed since another one as an object of JSON on one line."""
        with self._changed:
            latest, is_whole = self._version, version <= self._first
            parts = {name: part for name, part in self._parts.items() if part.version > version}
            points = [text for number, text in self._points if number > version]
        entries = [f"{_json(name)}:{part.text()}" for name, part in parts.items()]
        whole = "true" if is_whole else "false"
        return latest, "{" + ",".join([*entries, f'"points":[{",".join(points)}]', f'"whole":{whole}']) + "}"


def _json(content: Any) -> str:
    """Returns a content as JSON on one line. Characters that a page obeys are shown as numbers."""
    return json.dumps(_shown(content), allow_nan=False, separators=(",", ":"))


def _shown(content: Any) -> Any:
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, dict):
        return {visible(str(name)): _shown(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_shown(value) for value in content]
    return content
