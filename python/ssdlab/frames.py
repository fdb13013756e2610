"""Arrow tables as data frames of packages that ssdlab does not install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

__all__ = ["to_pandas", "to_polars"]


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """Returns a table as a pandas data frame.

    Raises:
        ModuleNotFoundError: pandas is not installed; the message names the extra, and the methods that need none.
    """
    _optional_package("pandas", "pip install 'ssdlab[pandas]'")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """Returns a table as a polars data frame.

    Raises:
        ModuleNotFoundError: polars is not installed; the message names the methods that need none.
    """
    return _optional_package("polars", "pip install polars").from_arrow(table)


def _optional_package(package: str, install: str) -> ModuleType:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        what = f"to_{package} needs {package}: {install}; to_arrow needs no other package"
        raise ModuleNotFoundError(what, name=package) from None
