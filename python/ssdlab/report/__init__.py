"""Report: a page (:mod:`~ssdlab.report.page`) of figures, with one module for each group of figures.

Every figure takes a list of results. One result is shown in full; several are overlaid, one colour each.
"""
