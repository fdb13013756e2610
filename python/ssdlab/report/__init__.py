"""The report: a page (:mod:`~ssdlab.report.page`) of figures, one module for each group of them.

Every figure takes a list of results. One result is shown in full; several are overlaid, one colour each.
"""
