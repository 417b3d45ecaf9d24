"""Every public tensor function and method, one object each; ``install_methods`` puts the methods on a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynamo_lite.lowering import (
    attributes,
    composites,
    conversion,
    creation,
    dunders,
    indexing,
    metadata,
    names,
    packed,
    structure,
)
from dynamo_lite.lowering.leaf import Lower, TensorFunction, leaf
from dynamo_lite.lowering.one_hot import one_hot
from dynamo_lite.lowering.packets import lazy, special
from fx_ir.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

_CASTS: Final = {
    "float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "long": int64, "int": int32,
    "short": int16, "char": int8, "byte": uint8, "bool": bool_, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "size": metadata.size, "dim": metadata.dim, "ndimension": metadata.dim, "numel": metadata.numel,
    "nelement": metadata.numel, "stride": metadata.stride, "storage_offset": metadata.storage_offset,
    "is_contiguous": metadata.is_contiguous, "element_size": metadata.element_size,
    "is_floating_point": metadata.is_floating_point, "is_complex": metadata.is_complex,
    "is_signed": metadata.is_signed, "is_same_size": metadata.is_same_size, "get_device": metadata.get_device,
    "data_ptr": metadata.data_ptr, "requires_grad_": metadata.requires_grad_, "backward": metadata.backward,
    "retain_grad": metadata.itself, "pin_memory": metadata.itself, "cuda": structure.cuda, "adjoint": metadata.adjoint,
    "to": conversion.to, "type": conversion.type_, "type_as": conversion.type_as, "cpu": conversion.cpu,
    "item": conversion.item, "tolist": conversion.tolist, "numpy": conversion.numpy, "new_tensor": creation.new_tensor,
    "unique": structure.unique, "unique_consecutive": structure.unique_consecutive, "where": composites.where_of,
    "register_hook": structure.register_hook,
    "is_shared": structure.is_shared, "share_memory_": metadata.itself,
    "__array__": conversion.array, "__len__": conversion.length, "__iter__": conversion.iterate,
    "__reversed__": conversion.reverse, "__contains__": conversion.contains, "__repr__": conversion.text,
    "__format__": conversion.formatted, "__bool__": conversion.truth, "__index__": conversion.plain_index,
    "__getitem__": indexing.getitem, "__setitem__": indexing.setitem, "__pos__": dunders.pos,
    "__rtruediv__": dunders.rtruediv, "__divmod__": dunders.divmod_, "__copy__": structure.shallow_copy,
    "__deepcopy__": structure.deep_copy,
}  # fmt: skip

_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "tensor": creation.tensor, "as_tensor": creation.as_tensor, "asarray": creation.asarray,
    "from_numpy": creation.from_numpy_array, "numel": metadata.numel, "is_floating_point": metadata.is_floating_point,
    "is_complex": metadata.is_complex, "is_signed": metadata.is_signed, "is_same_size": metadata.is_same_size,
    "unique": structure.unique, "unique_consecutive": structure.unique_consecutive, "adjoint": metadata.adjoint,
    "is_nonzero": conversion.truth, "broadcast_shapes": structure.broadcast_shapes, "_pad_packed_sequence": packed.pad_packed_sequence,
}  # fmt: skip


def _dunder_lowers() -> dict[str, Lower]:
    lowers: dict[str, Lower] = {name: dunders.binary(packet) for name, packet in dunders.BINARY.items()}
    lowers |= {name: dunders.swapped(packet) for name, packet in dunders.SWAPPED.items()}
    lowers |= {name: dunders.unary(packet) for name, packet in dunders.UNARY.items()}
    lowers |= {f"__{kind.__name__}__": conversion.number(kind) for kind in (int, float, complex)}
    return lowers


def _methods() -> dict[str, TensorFunction]:
    made = {
        name: lazy(f"Tensor.{name}", name)
        for name in (*names.SHARED, *names.METHODS_ONLY, *names.INPLACE)
        if name not in _METHODS and name not in composites.SHARED
    }
    specials = {**_METHODS, **composites.SHARED, **composites.METHODS}
    made |= {name: special(f"Tensor.{name}", function) for name, function in specials.items()}
    made |= {name: leaf(f"Tensor.{name}", conversion.cast(dtype)) for name, dtype in _CASTS.items()}
    made |= {name: leaf(f"Tensor.{name}", lower) for name, lower in _dunder_lowers().items()}
    return made


def _functions() -> dict[str, TensorFunction]:
    wanted = dict.fromkeys((*names.SHARED, *names.FUNCTIONS_ONLY))
    made = {
        name: lazy(f"torch.{name}", name)
        for name in wanted
        if name not in _FUNCTIONS and name not in composites.NAMES
    }
    made |= {name: lazy(f"torch.{name}", name, factory=True) for name in names.FACTORIES}
    specials = {**_FUNCTIONS, **composites.SHARED, **composites.FUNCTIONS}
    made |= {name: special(f"torch.{name}", function) for name, function in specials.items()}
    return made


METHODS: Final[Mapping[str, TensorFunction]] = _methods()
"""``Tensor.name`` by name, dunders included."""

FUNCTIONS: Final[Mapping[str, TensorFunction]] = _functions()
"""``torch.name`` by name."""

NN_FUNCTIONS: Final[Mapping[str, TensorFunction]] = {
    name: special("nn.one_hot", one_hot) if name == "one_hot" else lazy(f"nn.{name}", name)
    for name in names.NN
}
"""The leaves of ``nn.functional`` by name (``torch._C._nn`` in PyTorch)."""

GETTERS: Final[Mapping[str, TensorFunction]] = {
    name: special(f"Tensor.{name}.__get__", read) for name, read in attributes.READ.items()
}
"""What reading an attribute calls, by the attribute's name."""

SETTERS: Final[Mapping[str, TensorFunction]] = {
    name: special(
        f"Tensor.{name}.__set__", lambda self, value, name=name: metadata.set_attribute(self, name, value)
    )
    for name in attributes.WRITE
}
"""What assigning an attribute calls, by the attribute's name."""

PROPERTIES: Final[Mapping[str, property]] = {
    name: property(getter, SETTERS.get(name)) for name, getter in GETTERS.items()
}


def install_methods(cls: type) -> None:
    """Puts every method, dunder and property on ``cls``, but for names that its own body defines."""
    own = set(vars(cls)) - {"__doc__", "__module__"}
    for table in (METHODS, PROPERTIES):
        for name, entry in table.items():
            if name not in own:
                setattr(cls, name, entry)
    if "__hash__" not in own or cls.__hash__ is None:
        cls.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]
