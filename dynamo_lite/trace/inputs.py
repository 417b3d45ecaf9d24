"""User inputs: the call bound to the signature, its leaves as placeholders."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.errors import ARGUMENTS_DO_NOT_FIT, UNREGISTERED_CLASS
from dynamo_lite.fake import FakeTensor
from dynamo_lite.trace.errors import NOT_PYTHON
from dynamo_lite.trace.given import Given
from fx_ir.contract import ConstLeaf, Dimension, InputLeaf, IntLeaf, TensorLeaf
from fx_ir.names import sanitize
from fx_ir.node import Node
from fx_ir.pytree import MappingKey, SequenceKey, TreeSpec, keystr, tree_flatten, tree_flatten_with_path
from solver.errors import Location
from solver.expr import IntExpr
from solver.shape_env import ShapeEnv
from solver.sym import SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

PLAIN: Final = (int, float, complex, bool, str, bytes, type(None))
_ADDED: Final = (*PLAIN, tuple, list, dict)


@dataclass(slots=True)
class BoundCall:
    """A call with every optional argument in it. ``arg_names`` are the parameters that ``args`` fill, in order.

    ``defaults`` are the plain defaults of parameters, whether or not this call used them.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arg_names: tuple[str, ...]
    location: Location | None
    defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class UserInput:
    """One leaf of the inputs. ``path`` is how the user would write it, ``example`` the value given."""

    path: str
    example: Any
    placeholder: Node
    fake: FakeTensor | None
    value: Any
    dims: tuple[Dimension, ...] = ()

    def contract_leaf(
        self, asked: Collection[str], written: bool, same_as: int | None, env: ShapeEnv
    ) -> InputLeaf:
        """What a call must bring for this leaf.

        ``asked`` says what the program looked at (``Tracer.asked``); ``same_as`` is the index of an earlier leaf that is the
        same object. Whether a tensor may be ``written`` depends on its ``requires_grad``.
        """
        name = self.placeholder.name
        if self.fake is None:
            if isinstance(self.value, SymInt):
                return IntLeaf(name, self.path, _final(env, self.value.expr))
            return ConstLeaf(name, self.path, self.value)
        meta = self.fake.meta
        strides = None
        layout_seen = "layout" in asked
        if layout_seen and not meta.is_plain:
            strides = tuple(_final(env, _expr(stride)) for stride in meta.strides)
        return TensorLeaf(
            name,
            self.path,
            meta.dtype,
            meta.device,
            tuple(_final(env, size) for size in self.dims),
            requires_grad=meta.requires_grad if written or "grad" in asked else None,
            contiguous=True if layout_seen and meta.is_plain else None,
            strides=strides,
            alias_of=same_as,
            offset=int(meta.offset) if "offset" in asked else None,
            class_name=type(self.example).__name__ if "class" in asked else None,
        )


def _final(env: ShapeEnv, size: Any) -> Dimension:
    """The size with dimensions that turned out static put in."""
    if isinstance(size, int):
        return size
    found = env.final(size)
    return found.const if isinstance(found, IntExpr) and found.is_const else found  # type: ignore[return-value]


def _expr(size: Any) -> Dimension:
    return size.expr if isinstance(size, SymInt) else size


def location_of(function: Any) -> Location | None:
    """Where a Python function is defined; of a wrapper, what it wraps."""
    function = getattr(function, "__func__", function)
    with suppress(ValueError):  # wrappers that wrap each other
        function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return Location(code.co_filename, code.co_firstlineno, code.co_qualname)


def _wrapped_names(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[str]:
    """What the function that a wrapper wraps calls these arguments, the first ones given by position; nothing if they do not fit."""
    try:
        signature = inspect.signature(forward)
        signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in signature.parameters.values() if each.kind in positional][: len(args)]


def bind_call(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> BoundCall:
    """The call as the program will ask for it: parameters left at a plain default are given that default.

    Raises ``arguments-do-not-fit``, and ``not-python`` for a forward whose parameters Python does not know.
    """
    where = location_of(forward)
    # A wrapper that takes (*args, **kwargs) declares no parameters, whatever it wraps: that tells names at most.
    try:
        signature = inspect.signature(forward, follow_wrapped=False)
    except ValueError:
        raise NOT_PYTHON(what=f"forward, a {type(forward).__name__},", location=where) from None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ARGUMENTS_DO_NOT_FIT(problem=str(error), signature=str(signature), location=where) from None
    positional, names, named = list(args), [], dict(kwargs)
    gap = False
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.kind is parameter.VAR_POSITIONAL:
            count = max(0, len(positional) - index)
            known = _wrapped_names(forward, args, kwargs) if index == 0 else []
            names += known[:count] + [f"{parameter.name}_{i}" for i in range(len(known), count)]
            gap = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            break
        elif parameter.kind is parameter.KEYWORD_ONLY or gap:
            if parameter.name not in named and index >= len(args) and _can_add(parameter.default):
                named[parameter.name] = parameter.default
        elif index < len(args):
            names.append(parameter.name)
        elif parameter.name in named:
            gap = True
        elif _can_add(parameter.default):
            positional.append(parameter.default)
            names.append(parameter.name)
        else:
            gap = True
    taken = {*names, *named}
    defaults = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if name in taken and _can_add(parameter.default)
    }
    return BoundCall(tuple(positional), named, tuple(names), where, defaults)


def _can_add(default: Any) -> bool:
    if default is inspect.Parameter.empty or not isinstance(default, _ADDED):
        return False
    return all(isinstance(leaf, PLAIN) for leaf in tree_flatten(default)[0])


def make_inputs(
    tracer: Tracer, call: BoundCall, specs: Sequence[Any]
) -> tuple[list[UserInput], TreeSpec, tuple[Any, ...], dict[str, Any]]:
    """Placeholders and fakes for every leaf; ``specs`` holds each leaf's dimension specification.

    Returns the inputs, the structure of ``(args, kwargs)``, and the two rebuilt over the fakes.
    """
    pairs, spec = tree_flatten_with_path((call.args, call.kwargs))
    inputs: list[UserInput] = []
    for (path, leaf), wanted in zip(pairs, specs, strict=True):
        inputs.append(_make_input(tracer, call, path, leaf, wanted))
    tracer.inputs = inputs
    tracer.given = Given(call.arg_names)
    tracer.state.first_input = inputs[0].placeholder if inputs else None
    args, kwargs = spec.unflatten([item.fake if item.fake is not None else item.value for item in inputs])
    return inputs, spec, args, kwargs


def leaf_path(call: BoundCall, path: Sequence[Any]) -> str:
    """``x``, ``batch['ids'][0]``: the leaf as the user would write it."""
    root, first, *rest = path
    if isinstance(root, SequenceKey) and root.idx == 0:
        name = call.arg_names[first.idx]
    else:
        name = str(first.key)
    return f"{name}{keystr(tuple(rest))}"


def _make_input(tracer: Tracer, call: BoundCall, path: Sequence[Any], leaf: Any, wanted: Any) -> UserInput:
    text = leaf_path(call, path)
    name = _identifier(call, path)
    graph = tracer.top.graph
    where = call.location
    if tracer.library.is_tensor(leaf):
        meta = tracer.library.describe(leaf)
        dims = wanted if wanted is not None else (None,) * meta.ndim
        sizes = tuple(
            tracer.env.input_dim(f"{text}.shape[{dim}]", size, one)
            for dim, (size, one) in enumerate(zip(map(int, meta.shape), dims, strict=True))
        )
        strides = None if meta.is_plain else _symbolic_strides(meta.shape, meta.strides, sizes)
        symbolic = meta.like(shape=sizes, strides=strides, offset=meta.offset)
        node = graph.placeholder(name, meta={"val": symbolic, "nn_module_stack": (), "location": where})
        fake = tracer.library.fake_class(tracer, symbolic, node, "input", text)
        for dim, size in enumerate(sizes):
            if isinstance(size, SymInt):
                tracer.definitions.by_size(node, dim, size.expr)
        return UserInput(text, leaf, node, fake, None, tuple(_expr(size) for size in sizes))
    if wanted is not None and isinstance(leaf, int) and not isinstance(leaf, bool):
        value = tracer.env.input_int(text, leaf, wanted)
        node = graph.placeholder(name, meta={"val": value, "nn_module_stack": (), "location": where})
        if isinstance(value, SymInt):
            tracer.definitions.by_value(str(value.expr), node)
        return UserInput(text, leaf, node, None, value)
    if not isinstance(leaf, PLAIN) and not tracer.library.is_plain(leaf):
        raise UNREGISTERED_CLASS(type=type(leaf).__name__, path=text, location=where)
    value = tracer.library.plain(leaf)
    node = graph.placeholder(name, meta={"val": value, "nn_module_stack": (), "location": where})
    return UserInput(text, leaf, node, None, leaf)


def _identifier(call: BoundCall, path: Sequence[Any]) -> str:
    root, first, *rest = path
    parts = [call.arg_names[first.idx] if root.idx == 0 else str(first.key)]
    for key in rest:
        if isinstance(key, SequenceKey):
            parts.append(str(key.idx))
        elif isinstance(key, MappingKey):
            parts.append(str(key.key))
        else:
            parts.append(str(getattr(key, "name", key)))
    return sanitize("_".join(parts))


def _symbolic_strides(
    concrete: tuple[Any, ...], strides: tuple[Any, ...], sizes: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Strides of a dense permuted input in terms of its symbolic sizes; others stay as they are."""
    order = sorted(range(len(sizes)), key=lambda dim: (strides[dim], -dim))
    running_size: Any = 1
    running = 1
    found: list[Any] = list(strides)
    for dim in order:
        if strides[dim] != running:
            return tuple(strides)
        found[dim] = running_size
        running *= concrete[dim]
        running_size = running_size * sizes[dim]
    return tuple(found)
