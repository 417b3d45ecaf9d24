"""The program's tensors: each stored once, tied ones by reference, layout kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fx_ir import dtypes, plain
from fx_ir.archive.decode import reading
from fx_ir.backend import Backend
from fx_ir.dtypes import Device
from fx_ir.errors import ARCHIVE_BAD
from fx_ir.meta import TensorMeta, contiguous_strides
from fx_ir.pytree import tree_leaves

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

Array = np.ndarray[Any, Any]
Json = Any


def describe(meta: TensorMeta) -> dict[str, Json]:
    """What a tensor's entry says besides its data."""
    data: dict[str, Json] = {"dtype": meta.dtype.name, "shape": list(meta.shape), "device": str(meta.device)}
    if meta.requires_grad:
        data["requires_grad"] = True
    if not meta.is_plain and tuple(meta.strides) != contiguous_strides(meta.shape):
        data["strides"] = list(meta.strides)
    return data


class Tensors:
    """The table of a program's tensors and the arrays that hold their data."""

    def __init__(self, program: ExportedProgram) -> None:
        backend = program.backend
        parameters = set(program.graph_signature.parameters)
        self.table: dict[str, Json] = {}
        self.arrays: dict[str, Array] = {}
        first: dict[int, str] = {}
        for name, tensor in {**program.state_dict, **program.constants}.items():
            owner = first.setdefault(id(tensor), name)
            if owner != name:
                self.table[name] = {"same_as": owner}
                continue
            entry = describe(backend.describe(tensor))
            entry["parameter"] = name in parameters
            self.table[name] = entry
            self.arrays[name] = backend.to_numpy(tensor)


def example_leaves(program: ExportedProgram) -> tuple[Json, dict[str, Array]]:
    """The example inputs as JSON and arrays; ``None`` where they cannot be kept in a file."""
    if program.example_inputs is None:
        return None, {}
    backend = program.backend
    arrays: dict[str, Array] = {}
    table: dict[str, Json] = {}

    def leaf(value: Any) -> Json:
        if not backend.is_tensor(value):
            raise plain.NotPlain(type(value).__qualname__)
        name = f"example_{len(arrays)}"
        arrays[name] = backend.to_numpy(value)
        table[name] = describe(backend.describe(value))
        return {"example": name}

    try:
        leaves = [plain.encode(value, leaf) for value in tree_leaves(program.example_inputs)]
    except plain.NotPlain:
        return None, {}
    return {"leaves": leaves, "tensors": table}, arrays


def restore(
    table: Mapping[str, Json], arrays: Mapping[str, Array], backend: Backend, file: str
) -> dict[str, Any]:
    """The tensors of a table, for one library."""
    tensors: dict[str, Any] = {}
    for name, entry in table.items():
        with reading(file, f"the tensor {name}"):
            if "same_as" in entry:
                tensors[name] = tensors[entry["same_as"]]
                continue
            tensors[name] = _tensor(name, entry, arrays, backend, file)
    return tensors


def _tensor(
    name: str, entry: Mapping[str, Json], arrays: Mapping[str, Array], backend: Backend, file: str
) -> Any:
    array = arrays.get(name)
    if array is None:
        raise ARCHIVE_BAD(file=file, problem=f"the data of {name} is missing")
    dtype = dtypes.by_name(entry["dtype"])
    if array.dtype != dtype.numpy or list(array.shape) != entry["shape"]:
        raise ARCHIVE_BAD(
            file=file, problem=f"the data of {name} is {array.dtype}{list(array.shape)}, not what is declared"
        )
    strides = entry.get("strides")
    if strides is not None:
        array = _laid_out(array, strides)
    meta = TensorMeta(
        tuple(array.shape),
        dtype,
        Device.parse(entry["device"]),
        None if strides is None else tuple(size // array.itemsize for size in array.strides),
        entry.get("requires_grad", False) is True,
    )
    return backend.from_numpy(array, meta, parameter=entry.get("parameter", False) is True)


def _laid_out(array: Array, strides: list[int]) -> Array:
    """A copy whose dimensions lie in memory in the order that ``strides`` tell (a transposed weight stays one)."""
    if len(strides) != array.ndim or not all(type(stride) is int for stride in strides):
        raise ValueError("strides do not fit the shape")
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    back = np.argsort(order)
    laid = np.empty([array.shape[dim] for dim in order], array.dtype).transpose(back)
    laid[...] = array
    return laid
