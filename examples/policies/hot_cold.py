"""A policy that splits collected data by temperature (docs/guide/policy.md)."""

import ssdlab


class HotCold(ssdlab.Policy):
    """Keeps collected data that the host rewrites often apart from data that it does not.

    The heat of a unit is a counter of four bits, which rises by four with each host write and falls by one with each
    relocation: cold data is moved again and again between two host writes.
    """

    bits_per_unit = 4
    relocation_streams = 2

    def placed(self, placed, view):
        heat = view.bits[placed.lpn]
        view.bits[placed.lpn] = min(15, heat + 4) if placed.reason == "host" else max(0, heat - 1)

    def relocate(self, moving, view):
        return "normal", 0 if view.bits[moving.units[0]] >= 2 else 1
