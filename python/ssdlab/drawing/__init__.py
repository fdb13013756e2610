"""Drawings of a drive: the parts and flows that the engine returns, on a terminal and as SVG."""
