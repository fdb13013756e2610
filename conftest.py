"""Conditions under which the examples in the docstrings of the package run."""

from __future__ import annotations

from pathlib import Path

import pytest

import ssdlab

#: Packages that ssdlab does not install, by the end of the names of the only examples that need them.
OPTIONAL = {"_frame": "pandas", "to_pandas": "pandas", "to_polars": "polars"}


@pytest.fixture(autouse=True)
def as_pasted(request: pytest.FixtureRequest) -> None:
    """Runs an example as if pasted after ``import ssdlab``, in an empty folder with the examples of the repository.

    The names of the module that holds the docstring are removed, since a user does not have them either. Tests are not
    affected.
    """
    if not isinstance(request.node, pytest.DoctestItem):
        return
    for ending, package in OPTIONAL.items():
        if request.node.name.endswith(ending):
            pytest.importorskip(package)
    request.node.dtest.globs.clear()
    request.getfixturevalue("doctest_namespace").update(__name__="__main__", ssdlab=ssdlab)
    folder = request.getfixturevalue("tmp_path")
    (folder / "examples").symlink_to(Path(__file__).parent / "examples")
    request.getfixturevalue("monkeypatch").chdir(folder)
