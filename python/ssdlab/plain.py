"""Characters of names and texts that a terminal or a page would obey instead of show."""

from __future__ import annotations

import re

__all__ = ["visible"]

#: Control characters but tab and line feed; marks of the writing direction, which reorder what stands around them; and
#: the two separators of Unicode that some programs take as line ends.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Returns a text in which characters that are obeyed stand as their numbers.

    Examples:
        >>> from ssdlab.plain import visible
        >>> visible("a" + chr(27) + "[2Jb")
        'a[U+001B][2Jb'
    """
    # Plain characters, which mean the same in a terminal, in HTML and in the JSON of a script.
    return _OBEYED.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
