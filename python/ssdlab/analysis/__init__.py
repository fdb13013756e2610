"""Analyses of traces: their answers, and charts of them."""
