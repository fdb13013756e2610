"""Conversion of columns from the engine into Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as compute

if TYPE_CHECKING:
    from ssdlab._engine import Column, Columns

_TYPES: dict[str, pa.DataType] = {
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f64": pa.float64(),
}


def from_columns(columns: Columns) -> pa.Table:
    """Returns a table of the engine's columns; the numbers are not copied."""
    return pa.table({name: _array(column) for name, column in columns.items()})


def _array(column: Column) -> pa.Array[Any]:
    """Returns one column: numbers, truth values and strings as they are, codes with names as a dictionary array."""
    if isinstance(column, list):
        return pa.array(column, pa.string())
    kind, data, *names = column
    if kind == "some_u64":
        return _partly_known(data, names[0])
    if kind == "null":
        return pa.nulls(len(data), pa.uint64())
    if kind == "null_f64":
        return pa.nulls(len(data), pa.float64())
    if kind == "bool":
        truths: Any = pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])
        flags: pa.Array[Any] = truths.cast(pa.bool_())
        return flags
    numbers: Any = pa.Array.from_buffers(_TYPES[kind], len(data) * 8 // _TYPES[kind].bit_width, [None, pa.py_buffer(data)])
    return pa.DictionaryArray.from_arrays(numbers, pa.array(names[0], pa.string())) if names else numbers


def _partly_known(data: bytes, known: Any) -> pa.Array[Any]:
    """Returns 64-bit integers, null where the byte in `known` is 0."""
    numbers: Any = pa.Array.from_buffers(pa.uint64(), len(data) // 8, [None, pa.py_buffer(data)])
    marks: Any = pa.Array.from_buffers(pa.uint8(), len(known), [None, pa.py_buffer(known)])
    chosen: pa.Array[Any] = compute.if_else(marks.cast(pa.bool_()), numbers, pa.scalar(None, pa.uint64()))
    return chosen
