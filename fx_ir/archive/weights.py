"""Tensors in the safetensors layout: eight bytes of header length, a JSON header, then the data, aligned.

The safetensors package reads what is written here (a test says so) and is not used itself: it saves by way of one more copy of all
tensors, reads only whole files of their own and not a member of an archive that lies mapped in memory, and has no complex128.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from fx_ir import dtypes
from fx_ir.archive.limits import ALIGNMENT
from fx_ir.errors import ARCHIVE_BAD

Array = np.ndarray[Any, Any]
_MAX_HEADER: Final = 100 << 20
_CODES: Final = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16",
    "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64", "complex128": "C128",
}  # fmt: skip
_NAMES: Final = {code: name for name, code in _CODES.items()}


def _header(arrays: Mapping[str, Array]) -> tuple[bytes, int]:
    """The header, padded so that the data is aligned, and the length of the data."""
    entries: dict[str, Any] = {}
    offset = 0
    for name, array in arrays.items():
        end = offset + array.nbytes
        code = _CODES[dtypes.from_numpy(array.dtype).name]
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    padding = -(8 + len(text)) % ALIGNMENT
    return struct.pack("<Q", len(text) + padding) + text + b" " * padding, offset


def ordered(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """By item size, largest first: then every array is aligned although none is padded."""
    return dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))


def chunks(arrays: Mapping[str, Array]) -> Iterator[Any]:
    """The bytes of the file, piece by piece, without a second copy in memory of arrays that are contiguous."""
    arrays = ordered(arrays)
    header, _ = _header(arrays)
    yield header
    for array in arrays.values():
        if array.nbytes:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def read(buffer: Any, file: str) -> dict[str, Array]:
    """Arrays over ``buffer`` (bytes or a map), without copying. Raises ``archive-bad``."""
    view = memoryview(buffer)
    return dict(_entries(view, file))


def _entries(view: memoryview, file: str) -> Iterator[tuple[str, Array]]:
    def bad(problem: str) -> Exception:
        return ARCHIVE_BAD(file=file, problem=problem)

    if len(view) < 8:
        raise bad("the header is cut off")
    (length,) = struct.unpack("<Q", view[:8])
    if length > min(_MAX_HEADER, len(view) - 8):
        raise bad("the header is longer than the file")
    try:
        header = json.loads(bytes(view[8 : 8 + length]))
    except (ValueError, RecursionError):
        raise bad("the header is not JSON") from None
    if not isinstance(header, dict):
        raise bad("the header is not a JSON object")
    data = view[8 + length :]
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        yield name, _array(data, name, entry, bad)


def _array(data: memoryview, name: str, entry: Any, bad: Any) -> Array:
    try:
        dtype = dtypes.by_name(_NAMES[entry["dtype"]])
        shape = tuple(entry["shape"])
        start, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise bad(f"the entry of {name} is malformed") from None
    if not all(type(size) is int and size >= 0 for size in (*shape, start, end)):
        raise bad(f"the entry of {name} has a bad shape or place")
    count = 1
    for size in shape:
        count *= size
    if end - start != count * dtype.itemsize or end > len(data):
        raise bad(f"the data of {name} does not fit its shape, or is cut off")
    if count == 0:
        return np.empty(shape, dtype.numpy)
    return np.frombuffer(data[start:end], dtype.numpy, count).reshape(shape)
