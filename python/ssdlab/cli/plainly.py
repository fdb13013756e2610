"""Texts in tables of a terminal: what stands in a name must not control it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderHook
from rich.segment import Segment

from ssdlab.plain import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable

__all__ = ["Plainly"]


class Plainly(RenderHook):
    """Hook of a console: shows characters that a terminal obeys as their numbers. Colours are added after it."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Returns what is printed in place of `renderables`."""
        return [_Plain(one) for one in renderables]


class _Plain:
    def __init__(self, inner: ConsoleRenderable) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self.inner, options):
            yield Segment(text if control else visible(text), style, control)
