"""Operators of ATen that the table lacks, lent by PyTorch where all sizes are static; of pointwise ones sizes may be symbolic.

PyTorch's own kernel for shapes alone (``Meta``, composite) says what comes out, its dispatcher computes it. How a result lies in memory
is not taken from there: kernels differ in it, so that asking is refused. What may share memory with an operand is not lent, nor
is what writes to an argument but the form in place of one that is lent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

import torch
from torch._ops import OpOverload, OpOverloadPacket

from dynamo_lite import dispatch
from dynamo_lite.lowering.errors import MISSING_OPERATOR, where
from dynamo_lite.lowering.packets import LENDERS
from dynamo_lite.torch_bridge.convert import DTYPES, TORCH_DTYPES, describe, to_torch
from dynamo_lite.torch_bridge.errors import LAYOUT_UNKNOWN
from fx_ir.dtypes import CPU
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import OPS, Operator, add_operator, register_inplace
from fx_ir.ops.shapes import broadcast_shapes
from solver.sym import SymNumber

LENT: Final[set[str]] = set()
"""Qualified names of the operators that were lent in this process."""

_SHAPES_ALONE: Final = (
    "Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
)  # fmt: skip
_POINTWISE: Final = frozenset(
    {
        "aten::special_gammainc",
        "aten::special_gammaincc",
        "aten::special_ndtr",
        "aten::special_polygamma",
        "aten::special_multigammaln",
    }
)
"""Composites of pointwise operators, which PyTorch does not tag."""
_UNSURE: Final = frozenset({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape})


def lend(name: str, overload: str | None = None) -> Operator | None:
    """An operator ``aten::name`` of a program on PyTorch, entered in the table with its overloads; None where there is none."""
    recorder: Any = dispatch.recorder()
    library = getattr(recorder, "library", None)
    if library is not None and library.name != "torch":
        return None
    packet = getattr(torch.ops.aten, name, None)
    if (
        not isinstance(packet, OpOverloadPacket) or "batch_norm" in name
    ):  # they write what their schemas do not say
        return None
    overloads = [getattr(packet, each) for each in packet.overloads()]
    wanted = [each for each in overloads if _tensors(each._schema)]
    if all(_qualified(each) in OPS or _is_lendable(each) for each in wanted):
        for each in wanted:
            _enter(each)
    return next((OPS[_qualified(each)] for each in wanted if _fits(each, overload)), None)


def _fits(each: OpOverload, overload: str | None) -> bool:
    return overload in (None, each._overloadname) and _qualified(each) in OPS


def _qualified(overload: OpOverload) -> str:
    schema = overload._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _is_lendable(overload: OpOverload) -> bool:
    """All overloads of a name are, or none is: what fits another would be taken for an error of the caller's."""
    schema = overload._schema
    if any(value.alias_info is not None for value in (*schema.arguments, *schema.returns)):
        return _functional(overload) is not None
    return not _UNSURE & set(overload.tags) and has_shapes(overload)


def _enter(overload: OpOverload) -> None:
    name, schema = _qualified(overload), str(overload._schema)
    if name in OPS:
        return
    LENT.add(name)
    functional = _functional(overload)
    if functional is not None:
        register_inplace(schema, functional.qualified)
        return
    random = torch.Tag.nondeterministic_seeded in overload.tags
    add_operator(Operator(schema, _rule(overload), None, random=random))


def _functional(overload: OpOverload) -> Operator | None:
    """``igamma`` for ``igamma_``, if there is one with the same arguments; None for what is no form in place."""
    schema = overload._schema
    first, *rest = schema.arguments
    written = first.alias_info is not None and first.alias_info.is_write
    base = schema.name.removeprefix("aten::")
    if not written or any(argument.alias_info is not None for argument in rest) or not base.endswith("_"):
        return None
    counterpart = getattr(getattr(torch.ops.aten, base[:-1], None), overload._overloadname, None)
    if counterpart is None or len(schema.returns) != 1 or _names(counterpart) != _names(overload):
        return None
    return lend(base[:-1], overload._overloadname)


def _names(overload: OpOverload) -> list[str]:
    return [argument.name for argument in overload._schema.arguments]


def _tensors(schema: Any) -> bool:
    """Whether tensors come in and out, and nothing that graphs do not hold; nor is it a form with ``out``."""
    kinds = [str(value.type) for value in (*schema.arguments, *schema.returns)]
    returned = [str(value.type) for value in schema.returns]
    return (
        not any(argument.is_out for argument in schema.arguments)
        and bool(returned)
        and all(kind in ("Tensor", "List[Tensor]") for kind in returned)
        and any("Tensor" in str(argument.type) for argument in schema.arguments)
        and not any(word in kind for kind in kinds for word in ("Dimname", "torch.classes"))
    )


def _rule(overload: OpOverload) -> Callable[..., Any]:
    name = str(overload)

    def unknown() -> NoReturn:
        raise LAYOUT_UNKNOWN(op=name, location=where())

    def placed(result: Any) -> Any:
        if isinstance(result, (list, tuple)):
            return type(result)(map(placed, result))
        return result.like(strides=unknown if result.ndim else None)

    pointwise = torch.Tag.pointwise in overload.tags or overload._schema.name in _POINTWISE

    def fake(*args: Any, **kwargs: Any) -> Any:
        result = on_meta(overload, args, kwargs, lent=True)
        if result is None and pointwise:
            result = _pointwise(overload, args, kwargs)
        if result is None:
            raise MISSING_OPERATOR(function=name, packet=overload._schema.name, location=where())
        return placed(result)

    return fake


def _pointwise(overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What an elementwise operator makes of symbolic sizes: the shape to which its tensors broadcast, the dtype of any other size."""
    shapes: list[Any] = []

    def small(value: Any) -> Any:
        if type(value) is not TensorMeta:
            return value
        shapes.append(value.shape)
        return value.like(shape=(1,) * value.ndim)

    given = [small(value) for value in args]
    result = on_meta(overload, tuple(given), {key: small(value) for key, value in kwargs.items()}, lent=True)
    if result is None:
        return None
    shape = broadcast_shapes(*shapes)
    if isinstance(result, (list, tuple)):
        return type(result)(each.like(shape=shape) for each in result)
    return result.like(shape=shape)


# --- kernels for shapes alone


def has_shapes(overload: OpOverload) -> bool:
    """Whether PyTorch has a kernel for shapes alone."""
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), key) for key in _SHAPES_ALONE)


def on_meta(
    overload: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any], lent: bool = False
) -> Any:
    """What PyTorch's kernel for shapes alone makes of these; None for symbolic sizes.

    None for one that is ``lent`` also where a result may share memory with an operand or another result; where operands lie in
    memory is not asked then.
    """
    if any(isinstance(value, SymNumber) for value in _flat((args, tuple(kwargs.values())))):
        return None
    given = [_on_meta(value, not lent) for value in args]
    named = {key: _on_meta(value, not lent) for key, value in kwargs.items()}
    try:
        with torch._C.DisableTorchFunction():
            result = overload(*given, **named)
    except NotImplementedError:
        return None
    return None if lent and _shared((given, tuple(named.values())), result) else _on_cpu(result)


def _shared(given: Any, result: Any) -> bool:
    """Whether a result is in the memory of an operand or of another result, or of a dtype that programs do not hold."""
    before, made = {_memory(value) for value in _real(given)}, list(_real((result,)))
    after = before | {_memory(value) for value in made}
    return len(after) < len(before) + len(made) or any(value.dtype not in DTYPES for value in made)


def _memory(tensor: torch.Tensor) -> Any:
    return tensor.untyped_storage()._cdata


def _real(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _real(value)
        elif isinstance(value, torch.Tensor):
            yield value


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if type(value) in (list, tuple):
            yield from _flat(value)
        elif isinstance(value, TensorMeta):
            yield from value.shape
        else:
            yield value


def _on_meta(value: Any, placed: bool) -> Any:
    if isinstance(value, TensorMeta):
        shape, dtype = tuple(value.shape), TORCH_DTYPES[value.dtype]
        if placed:
            return torch.empty_strided(shape, tuple(value.strides), dtype=dtype, device="meta")
        return torch.empty(shape, dtype=dtype, device="meta")
    return [_on_meta(item, placed) for item in value] if type(value) in (list, tuple) else to_torch(value)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return (list if type(value) is list else tuple)(map(_on_cpu, value))
    if not isinstance(value, torch.Tensor):
        return value
    meta = describe(value)
    return TensorMeta(meta.shape, meta.dtype, CPU, None if meta.is_plain else tuple(meta.strides))


LENDERS.append(lend)
