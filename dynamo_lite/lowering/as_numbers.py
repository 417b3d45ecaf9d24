"""One-element tensors where a schema wants a number: PyTorch's argument parser reads them, and a trace makes that an ``item()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynamo_lite.lowering.access import meta_of
from fx_ir.dtypes import Category
from fx_ir.ops.matching import is_tensor
from fx_ir.ops.registry import Operator, Packet
from fx_ir.schema import ArgType

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Read = Callable[[Any], Any]
_HIGHEST: Final = {
    "int": Category.INTEGER, "SymInt": Category.INTEGER, "float": Category.FLOAT, "Scalar": Category.COMPLEX,
}  # fmt: skip


def resolve_reading(
    packet: Packet, args: tuple[Any, ...], kwargs: Mapping[str, Any], item: Read
) -> tuple[Operator, tuple[Any, ...], dict[str, Any]]:
    """As ``packet.resolve``; where nothing fits, tensors without dimensions are read by ``item`` where numbers are wanted.

    Raises TypeError with the signatures tried.
    """
    try:
        return packet.resolve(args, kwargs)
    except TypeError:
        for operator in packet.overloads:
            stand_ins: list[Any] = []

            def stand_in(tensor: Any, seen: list[Any] = stand_ins) -> Any:
                seen.append(tensor)
                return 1 if meta_of(tensor).dtype.category is Category.INTEGER else 1.0

            tried = _read(operator, args, kwargs, stand_in)
            if not stand_ins:
                continue
            try:
                packet.resolve(*tried)
            except TypeError:
                continue
            return packet.resolve(*_read(operator, args, kwargs, item))
        raise


def _read(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any], read: Read) -> Arguments:
    types = [argument.type for argument in operator.schema.positional]
    types += types[-1:] * max(0, len(args) - len(types))  # sizes given one by one
    named = {argument.name: argument.type for argument in operator.schema.arguments}
    return (
        tuple([_value(type_, value, read) for type_, value in zip(types, args, strict=False)]),
        {name: _value(named.get(name), value, read) for name, value in kwargs.items()},
    )


def _value(type_: ArgType | None, value: Any, read: Read) -> Any:
    highest = None if type_ is None else _HIGHEST.get(type_.base)
    if highest is None:
        return value
    if isinstance(value, (list, tuple)):
        return [read(item) if _is_number(item, highest) else item for item in value]
    return read(value) if _is_number(value, highest) else value


def _is_number(value: Any, highest: Category) -> bool:
    if not is_tensor(value):
        return False
    meta = meta_of(value)
    return meta.ndim == 0 and not meta.requires_grad and Category.BOOL < meta.dtype.category <= highest
