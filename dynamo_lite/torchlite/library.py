"""``torch.library``: operators of one's own, with fake rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from dynamo_lite import dispatch
from dynamo_lite.fake import FakeTensor
from dynamo_lite.lowering.access import FAKE, register_access
from dynamo_lite.lowering.errors import NO_FAKE_RULE
from dynamo_lite.lowering.table import install_methods
from dynamo_lite.torchlite._tensor import Tensor, describe, wrap
from dynamo_lite.torchlite.ops import ops
from dynamo_lite.torchlite.schema import infer_schema
from fx_ir import fake_context
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import OPS, Operator, add_operator, find, infer, register_tensor_type

__all__ = ["CustomOpDef", "custom_op", "get_ctx", "infer_schema", "register_fake", "register_kernel"]


class MetaTensor:
    """What a fake rule written in Python gets: a description with the methods of a tensor."""

    __slots__ = ("__weakref__", "kind", "meta")

    def __init__(self, meta: TensorMeta) -> None:
        self.meta = meta
        self.kind = "value"

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Tensor

    __hash__ = object.__hash__


register_tensor_type(MetaTensor)
register_access(MetaTensor, FAKE)
install_methods(MetaTensor)


class _MetaRecorder:
    """Applies fake rules and keeps nothing: what tensor calls inside a fake rule come to."""

    def call(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        metas = tuple(_description(arg) for arg in args)
        if op.is_inplace:
            return args[0]
        return _as_meta_tensors(
            infer(op, metas, {name: _description(value) for name, value in kwargs.items()})
        )

    def fake_of(self, value: Any) -> Any:
        return MetaTensor(_description(value))

    def looked(self, what: str) -> None:
        """A fake rule may look at everything."""

    def known(self, tensor: Any) -> None:
        """A fake rule has no graph to look into."""

    def going_on(self, condition: Any) -> None:
        """A fake rule decides on nothing that depends on data."""

    def check(self, condition: Any, message: str | None = None) -> None:
        fake_context.current().env.check(condition, message)


def _description(value: Any) -> Any:
    kind = type(value)
    if kind is MetaTensor or issubclass(kind, FakeTensor):
        return value.meta
    if issubclass(kind, Tensor):
        return describe(value)
    if kind in (list, tuple):
        return [_description(item) for item in value]
    return value


def _as_meta_tensors(value: Any) -> Any:
    if isinstance(value, TensorMeta):
        return MetaTensor(value)
    if type(value) in (list, tuple):
        return type(value)([_as_meta_tensors(item) for item in value])
    return value


class CustomOpDef:
    """A custom operator: called like a function, met in graphs as ``ns.name.default``."""

    def __init__(self, operator: Operator, function: Callable[..., Any]) -> None:
        self._operator = operator
        self._function = function
        self._name = operator.name
        self._namespace = operator.namespace
        self._qualname = f"{operator.namespace}::{operator.name}"
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self._leaf = getattr(getattr(ops, operator.namespace), operator.name)

    @property
    def _opoverload(self) -> Any:
        return self._leaf.default

    def register_fake(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the fake rule (as a decorator)."""
        register_fake(self._qualname, rule)
        return rule

    def register_kernel(self, device_types: Any, function: Callable[..., Any] | None = None) -> Any:
        """Sets the function that computes; there is one device here."""
        return register_kernel(self._qualname, device_types, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._leaf(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
) -> Any:
    """Makes ``ns::name`` an operator that runs ``fn``; the schema comes from the annotations unless it is given.

    Raises ``ValueError`` for annotations without a counterpart in a schema and for a name that is taken.
    """

    def define(function: Callable[..., Any]) -> CustomOpDef:
        signature = schema if schema is not None else infer_schema(function, mutates_args=mutates_args)
        operator = _declare(f"{name}{signature}", function)
        return CustomOpDef(operator, function)

    return define if fn is None else define(fn)


def _declare(text: str, function: Callable[..., Any]) -> Operator:
    holder: list[Operator] = []

    def fake(*args: Any, **kwargs: Any) -> Any:
        return _run_fake(holder[0], args, kwargs)

    operator = Operator(text, fake, _kernel(function))
    holder.append(operator)
    if operator.schema.is_mutable:
        _make_functional(operator)
    return add_operator(operator)


_RULES: Final[dict[Operator, Callable[..., Any]]] = {}


def _run_fake(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    rule = _RULES.get(operator)
    if rule is None:
        returns = operator.schema.returns
        if returns:
            raise NO_FAKE_RULE(op=f"{operator.namespace}::{operator.name}")
        return None
    tensors = [_as_meta_tensors(arg) for arg in args]
    keywords = {name: _as_meta_tensors(value) for name, value in kwargs.items()}
    with dispatch.recording(_MetaRecorder()):
        return _description(rule(*tensors, **keywords))


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` on arrays instead of tensors."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [_as_tensors(arg) for arg in args]
        with dispatch.recording(None):
            return _as_arrays(
                function(*tensors, **{name: _as_tensors(value) for name, value in kwargs.items()})
            )

    return kernel


def _as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return wrap(value)
    return [_as_tensors(item) for item in value] if type(value) in (list, tuple) else value


def _as_arrays(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._array
    return type(value)([_as_arrays(item) for item in value]) if type(value) in (list, tuple) else value


def _make_functional(operator: Operator) -> None:
    """Gives a mutating operator its functional counterpart, which returns the written arguments after the results."""
    schema = operator.schema
    arguments = schema.arguments
    written = [index for index, argument in enumerate(arguments) if argument.is_mutated]
    if any(arguments[index].kwarg_only for index in written):
        raise ValueError(f"{operator.qualified}: arguments that are written must be positional")
    inner = operator.kernel
    assert inner is not None
    name = f"{operator.namespace}::{operator.name}_functional"
    before, _, after = operator.text.partition("(")[2].rpartition(" -> ")
    results = [part.strip() for part in after.strip("()").split(",") if part.strip()]
    text = f"{name}({_without_aliases(before)} -> ({', '.join([*results, *['Tensor'] * len(written)])})"

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        for index in written:
            given[index] = np.array(given[index], copy=True)
        produced = inner(*given, **kwargs)
        listed = () if produced is None else produced if isinstance(produced, tuple) else (produced,)
        return (*listed, *[given[index] for index in written])

    def fake(*args: Any, **kwargs: Any) -> Any:
        produced = operator.fake(*args, **kwargs)
        listed = (
            ()
            if produced is None
            else tuple(produced)
            if isinstance(produced, (tuple, list))
            else (produced,)
        )
        return (*listed, *[args[index].like() for index in written])

    def lower(call: Callable[..., Any], write: Callable[..., None], *args: Any, **kwargs: Any) -> Any:
        produced = tuple(call(name, *args, **kwargs))
        count = len(produced) - len(written)
        for index, value in zip(written, produced[count:], strict=True):
            write(args[index], value)
        if count == 0:
            return None
        return produced[0] if len(schema.returns) == 1 else produced[:count]

    add_operator(Operator(text, fake, kernel))
    operator.lower = lower


def _without_aliases(arguments: str) -> str:
    """A schema's arguments without ``(a!)``."""
    return re.sub(r"\((?:[a-z]\w*)!?(?:\s*->\s*\*)?\)", "", arguments)


def _qualified(op: Any) -> str:
    if isinstance(op, CustomOpDef):
        return op._qualname
    return str(op).removesuffix(".default") if isinstance(op, str) else op.operator.qualified


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **_: Any) -> Any:
    """Sets the fake rule of an operator, by name or object: results' shapes and dtypes from the arguments'."""
    name = _qualified(op)

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        if name not in OPS:
            raise RuntimeError(f"operator {name} does not exist")
        _RULES[find(name)] = rule
        return rule

    return enter if func is None else enter(func)


impl_abstract = register_fake


def register_kernel(
    op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Sets the function that computes an operator on the CPU; other devices are ignored."""
    name = _qualified(op)
    devices = (
        (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
    )

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        if None in devices or "cpu" in devices:
            find(name).kernel = _kernel(function)
        return function

    return enter if func is None else enter(func)


class _Context:
    """What a fake rule may ask for."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on data: an unbacked symbolic int."""
        return fake_context.current().unbacked("new_dynamic_size", "int", min, max)

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> _Context:
    """The context of the fake rule that is running."""
    fake_context.current()
    return _Context()
