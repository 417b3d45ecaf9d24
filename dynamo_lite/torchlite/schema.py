"""``infer_schema``: the schema string of a Python function, from its annotations."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Optional, Union, get_args, get_origin

from dynamo_lite.torchlite._tensor import Tensor
from fx_ir.dtypes import Device, DType

_BASES: Final[dict[Any, str]] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", DType: "ScalarType", Device: "Device",
}  # fmt: skip
_SCALAR: Final = frozenset({int, float, bool})
_NAMES: Final = {
    "Tensor": Tensor, "Optional": Optional, "List": list, "Sequence": Sequence, "Union": Union, "Tuple": tuple,
    "dtype": DType, "device": Device,
}  # fmt: skip


class _Unsupported(Exception):
    """An annotation without a counterpart in a schema."""


def _spelled(annotation: Any) -> str:
    """The schema type of an annotation."""
    base = _BASES.get(_plain(annotation))
    if base is not None:
        return base
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        inner = [part for part in parts if part is not type(None)]
        optional = "?" if len(inner) < len(parts) else ""
        if frozenset(inner) == _SCALAR:
            return "Scalar" + optional
        if len(inner) == 1 and optional:
            return _spelled(inner[0]) + "?"
        raise _Unsupported
    if origin in (list, Sequence) and len(parts) == 1:
        return _spelled(parts[0]) + "[]"
    raise _Unsupported


def _plain(annotation: Any) -> Any:
    from dynamo_lite.torchlite.types import device

    if annotation is device:
        return Device
    try:
        hash(annotation)
    except TypeError:
        return None
    return annotation


def _returned(annotation: Any) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    if get_origin(annotation) is tuple:
        parts = get_args(annotation)
        if Ellipsis in parts:
            raise _Unsupported
        return f"({', '.join(_spelled(part) for part in parts)})"
    return _spelled(annotation)


def _default(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, DType):
        return value.name
    raise _Unsupported


def _signature(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function)
    except NameError:
        hints = typing.get_type_hints(function, localns=_NAMES)
    return signature, hints


def infer_schema(
    function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """``(Tensor x, SymInt n) -> Tensor`` for a function whose parameters and result are annotated.

    Raises ``ValueError`` that names the parameter whose annotation is missing or has no counterpart.
    """
    signature, hints = _signature(function)
    unknown = mutates_args == "unknown"
    mutated = set() if unknown else {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)

    def wrong(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    missing = mutated - set(signature.parameters)
    if missing:
        raise wrong(f"{sorted(missing)} in mutates_args were not found in the function's signature.")
    parts: list[str] = []
    starred = False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        if name not in hints:
            raise wrong(f"Parameter {name} must have a type annotation.")
        try:
            spelled = _spelled(hints[name])
        except _Unsupported:
            raise wrong(f"Parameter {name} has unsupported type {hints[name]}.") from None
        tensors = spelled.startswith("Tensor")
        if name in mutated and not tensors:
            raise wrong(
                f"Parameter {name} is in mutates_args but only Tensors or collections of Tensors can be mutated"
            )
        if name in mutated or (unknown and tensors):
            spelled = f"Tensor(a{len(parts) - starred}!){spelled.removeprefix('Tensor')}"
        try:
            default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        except _Unsupported:
            raise wrong(
                f"Parameter {name} has an unsupported default value type {type(parameter.default)}."
            ) from None
        parts.append(f"{spelled} {name}{default}")
    if "return" not in hints:
        raise wrong("No return type annotation was provided. Please add one.")
    try:
        returned = _returned(hints["return"])
    except _Unsupported:
        raise wrong(f"Return has unsupported type {hints['return']}.") from None
    text = f"({', '.join(parts)}) -> {returned}"
    return text if op_name is None else op_name + text
