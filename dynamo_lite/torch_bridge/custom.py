"""Operators called as such (``torch.ops.ns.name``), and operators that users define with ``torch.library``.

An operator of another namespace than ATen enters the table when it is first met: its schema is PyTorch's own, its fake rule the one
that was registered with ``register_fake``, run over tensors without data; its kernel is PyTorch's dispatcher.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch._library.custom_ops import OPDEFS
from torch._library.fake_impl import set_ctx_getter
from torch._library.simple_registry import singleton
from torch._ops import OpOverload, OpOverloadPacket

from dynamo_lite import dispatch
from dynamo_lite.lowering.errors import MISSING_OPERATOR, where
from dynamo_lite.torch_bridge.answers import answers
from dynamo_lite.torch_bridge.backend import KERNELS
from dynamo_lite.torch_bridge.borrowed import has_shapes, lend, on_meta
from dynamo_lite.torch_bridge.convert import describe, to_ours
from dynamo_lite.torch_bridge.errors import NO_FAKE_RULE
from dynamo_lite.torch_bridge.fake import TorchFake
from fx_ir import fake_context
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import OPS, PACKETS, Operator, add_operator, infer
from fx_ir.schema import Schema, SchemaError

Arguments = tuple[Any, ...]
Keywords = Mapping[str, Any]


_FUNCTIONAL: Final = "_functional"  # what a writing operator's functional form is called besides


def _qualified(overload: OpOverload) -> str:
    name = overload._schema.name
    return f"{name}.{overload._schema.overload_name}" if overload._schema.overload_name else name


def operator_of(overload: OpOverload) -> Operator:
    """Our operator of an overload. Raises ``missing-operator`` for one of ATen's that the table lacks."""
    qualified = _qualified(overload)
    found = OPS.get(qualified)
    if found is None:
        if overload.namespace in ("aten", "prims", "prim"):
            found = lend(overload._schema.name.removeprefix("aten::"), overload._overloadname)
        else:
            found = _declare(overload, qualified)
    if found is None:
        raise MISSING_OPERATOR(function=str(overload), packet=qualified, location=where())
    return found


def resolve(qualified: str) -> Operator | None:
    """The operator of that name if ``torch.library`` knows it, or the one whose functional form it is."""
    space, _, rest = qualified.partition("::")
    name, _, overload = rest.partition(".")
    if space in ("aten", "prims", "prim"):
        return lend(name, overload or None) if space == "aten" else None
    for base in (name, name.removesuffix(_FUNCTIONAL)):
        packet = getattr(getattr(torch.ops, space, None), base, None)
        found = getattr(packet, overload or "default", None)
        if isinstance(found, OpOverload):
            operator_of(found)
            return OPS.get(qualified)
    return None


@answers(OpOverload.__call__)
def call_overload(overload: OpOverload, /, *args: Any, **kwargs: Any) -> Any:
    """``torch.ops.ns.name.overload(…)`` under a trace."""
    operator = operator_of(overload)
    plain = {name: to_ours(value) for name, value in kwargs.items()}
    return dispatch.call(operator, *operator.match(tuple(map(to_ours, args)), plain))


@answers(OpOverloadPacket.__call__)
def call_packet(packet: OpOverloadPacket, /, *args: Any, **kwargs: Any) -> Any:
    """``torch.ops.ns.name(…)`` under a trace: the first overload that the arguments fit."""
    name = packet._qualified_op_name
    found = PACKETS.get(name)
    if found is None:
        if name.startswith("aten::"):
            lend(name.removeprefix("aten::"))
        else:
            for overload in packet.overloads():
                operator_of(getattr(packet, overload))
        found = PACKETS.get(name)
    if found is None:
        raise MISSING_OPERATOR(function=str(packet), packet=name, location=where())
    plain = {key: to_ours(value) for key, value in kwargs.items()}
    return dispatch.call(*found.resolve(tuple(map(to_ours, args)), plain))


# --- operators of users


def _declare(overload: OpOverload, qualified: str) -> Operator:
    def fake(*args: Any, **kwargs: Any) -> Any:
        return _run_rule(overload, args, kwargs)

    operator = Operator(str(overload._schema), fake, None)
    try:
        mutable = operator.schema.is_mutable
    except SchemaError:  # of classes that TorchScript knows
        raise MISSING_OPERATOR(function=str(overload), packet=qualified, location=where()) from None
    if mutable:
        _make_functional(operator, overload)
    return add_operator(operator)


class _Scratch:
    """Applies fake rules and keeps nothing: what tensor calls inside a user's fake rule come to."""

    def call(self, op: Operator, args: Arguments, kwargs: Keywords) -> Any:
        if op.is_inplace:
            return args[0]
        return self._fakes(
            infer(op, tuple(map(_meta, args)), {name: _meta(value) for name, value in kwargs.items()})
        )

    def fake_of(self, value: Any) -> Any:
        return value if type(value) is TorchFake else self.fake(describe(value))

    def looked(self, what: str) -> None:
        """The rule may look: what it says of the results is asked again of other inputs."""

    def known(self, tensor: Any) -> None:
        """A rule sees no values."""

    def going_on(self, condition: Any) -> None:
        """Nor does it go on where a decision on data would."""

    def check(self, condition: Any, message: Any = None) -> None:
        fake_context.current().env.check(condition, message)

    def invoke(self, function: Callable[..., Any], args: Arguments) -> Any:
        return function(*args)

    def fake(self, meta: TensorMeta) -> TorchFake:
        """A tensor that has a description and no node."""
        made = TorchFake.__new__(TorchFake)
        made.meta, made.tracer, made.kind, made.view_of = meta, self, "value", None  # type: ignore[assignment]
        return made

    def _fakes(self, value: Any) -> Any:
        if isinstance(value, TensorMeta):
            return self.fake(value)
        return type(value)(map(self._fakes, value)) if type(value) in (list, tuple) else value


class _Context:
    """What a user's fake rule gets from ``torch.library.get_ctx()``."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        return fake_context.current().unbacked("new_dynamic_size", "int", min, max)

    create_unbacked_symint = new_dynamic_size


def _meta(value: Any) -> Any:
    kind = type(value)
    if kind is TorchFake:
        return value.meta
    if issubclass(kind, torch.Tensor):
        return describe(value)
    return [_meta(item) for item in value] if kind in (list, tuple) else value


def _run_rule(overload: OpOverload, args: Arguments, kwargs: Keywords) -> Any:
    from dynamo_lite.torch_bridge.mode import ExportMode, unshelled
    from dynamo_lite.torch_bridge.shell import wrap

    name = overload._schema.name
    rule = singleton.find(name).fake_impl.kernel
    definition = OPDEFS.get(name)
    if not overload._schema.returns:
        return None
    if definition is not None and definition._abstract_fn is None:
        raise NO_FAKE_RULE(op=name, location=where())
    if rule is None:
        return _run_on_meta(overload, args, kwargs)
    scratch = _Scratch()
    given = [wrap(scratch._fakes(value)) for value in args]
    named = {name: wrap(scratch._fakes(value)) for name, value in kwargs.items()}
    with dispatch.recording(scratch), set_ctx_getter(_Context), torch._C._EnableTorchFunction(), ExportMode():
        result = rule(*given, **named)
    return _as_metas(unshelled(result))


def _run_on_meta(overload: OpOverload, args: Arguments, kwargs: Keywords) -> Any:
    """What PyTorch's own kernel for shapes alone makes of these. Raises ``torch-no-fake-rule``: it takes no symbolic sizes."""
    result = on_meta(overload, args, kwargs) if has_shapes(overload) else None
    if result is None:
        raise NO_FAKE_RULE(op=overload._schema.name, location=where())
    return result


def _as_metas(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_as_metas, value))
    return _meta(value)


_ALIAS: Final = re.compile(r"\((?:[a-z]\w*)!?(?:\s*->\s*\*)?\)")


def _make_functional(operator: Operator, overload: OpOverload) -> None:
    """Gives a mutating operator its functional counterpart, which returns the written arguments after the results."""
    written = [index for index, argument in enumerate(operator.schema.arguments) if argument.is_mutated]
    name = f"{operator.namespace}::{operator.name}{_FUNCTIONAL}"
    before = operator.text.partition("(")[2].rpartition(" -> ")[0]
    schema = operator.schema
    # A result that is a written argument (``Tensor(a!)``) is that argument; the others are computed.
    same = [_argument_behind(result, schema) for result in schema.returns]
    computed = [
        result.type.base + ("[]" if result.type.is_list else "")
        for result, index in zip(schema.returns, same, strict=True)
        if index is None
    ]
    text = f"{name}({_ALIAS.sub('', before)} -> ({', '.join([*computed, *['Tensor'] * len(written)])})"

    def without_written(produced: Any) -> list[Any]:
        return [value for value, index in zip(_listed(produced), same, strict=True) if index is None]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for index in written:
            given[index] = given[index].clone()
        return (*without_written(overload(*given, **kwargs)), *[given[index] for index in written])

    def fake(*args: Any, **kwargs: Any) -> Any:
        return (*without_written(operator.fake(*args, **kwargs)), *[args[index].like() for index in written])

    def lower(call: Callable[..., Any], write: Callable[..., None], *args: Any, **kwargs: Any) -> Any:
        produced = tuple(call(name, *args, **kwargs))
        count = len(produced) - len(written)
        for index, value in zip(written, produced[count:], strict=True):
            write(args[index], value)
        fresh = iter(produced[:count])
        results = tuple([next(fresh) if index is None else args[index] for index in same])
        if not results:
            return None
        return results[0] if len(results) == 1 else results

    KERNELS[name] = kernel
    add_operator(Operator(text, fake, None))
    operator.lower = lower


def _argument_behind(result: Any, schema: Schema) -> int | None:
    """The written argument that a result is, by its alias set."""
    if result.alias is None:
        return None
    for index, argument in enumerate(schema.arguments):
        if argument.is_mutated and argument.alias is not None and argument.alias.sets == result.alias.sets:
            return index
    return None


def _listed(produced: Any) -> tuple[Any, ...]:
    if produced is None:
        return ()
    return tuple(produced) if isinstance(produced, (tuple, list)) else (produced,)
