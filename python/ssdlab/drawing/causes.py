"""Colours of the causes of latency, for all pages and pictures."""

from __future__ import annotations

from ssdlab.drawing import looks

__all__ = ["COLOURS", "LOOKS"]

#: Lightening of the colours that have a pattern, so that each cause has a colour of its own.
_LIGHTER = {"": 0.0, "/": 0.12, "x": 0.22, ".": 0.32}
#: Hue and pattern of each cause, in the order from the host to the cell; the most frequent causes have no pattern.
LOOKS = {
    "host": ("grey", ""),
    "host_queue": ("grey", "/"),
    "queue_blocked": ("red", "x"),
    "wake": ("black", "x"),
    "link": ("grey", "x"),
    "core_wait": ("sky", "."),
    "firmware": ("blue", "."),
    "interconnect_wait": ("yellow", "."),
    "interconnect": ("green", "."),
    "dram_wait": ("orange", "x"),
    "dram": ("yellow", "x"),
    "card": ("grey", "."),
    "map": ("purple", "/"),
    "order": ("purple", "x"),
    "buffer_full": ("black", "/"),
    "free_space": ("black", ""),
    "sequencer": ("orange", "/"),
    "die_host_read": ("yellow", ""),
    "die_host_program": ("orange", ""),
    "die_relocation": ("red", ""),
    "die_erase": ("purple", ""),
    "die_held": ("red", "/"),
    "page_buffer": ("yellow", "/"),
    "power_wait": ("purple", "."),
    "bus_wait": ("green", "/"),
    "bus_command": ("green", "x"),
    "transfer": ("green", ""),
    "sense": ("sky", ""),
    "program": ("blue", ""),
    "rmw": ("blue", "/"),
    "retry": ("sky", "/"),
    "ecc_wait": ("sky", "x"),
    "decode": ("blue", "x"),
}


def _colour(hue: str, pattern: str) -> str:
    parts = looks.parts(looks.DISTINCT[hue])
    return "#" + "".join(f"{round(part + (255 - part) * _LIGHTER[pattern]):02x}" for part in parts)


#: Colour of each cause.
COLOURS = {cause: _colour(*look) for cause, look in LOOKS.items()}
