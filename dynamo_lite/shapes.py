"""``dynamic_shapes``: from what users write to one specification a leaf.

Accepted are a dict by argument name or a sequence in argument order, nested as the inputs are; a ``ShapesCollection``,
``AdditionalInputs`` or ``ShapesSpec`` in its place; and for a tensor a dict by dimension or one entry a dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dynamo_lite.errors import SPEC_DOES_NOT_FIT, SPEC_UNKNOWN_ARGUMENT
from dynamo_lite.library import TensorLibrary
from dynamo_lite.trace.inputs import BoundCall, leaf_path
from fx_ir.pytree import (
    GetAttrKey,
    KeyPath,
    MappingKey,
    SequenceKey,
    key_get,
    tree_flatten_with_path,
)
from solver.dims import DerivedDim, Dim, DimHint
from solver.errors import Location

DIM_SPECS: Final = (Dim, DerivedDim, DimHint)


@dataclass(slots=True)
class LeafSpecs:
    """One entry a leaf: for a tensor a tuple with an entry a dimension, for an int its specification, None for static."""

    leaves: list[Any]
    assumptions: list[Any] = field(default_factory=list)


class ShapesCollection:
    """Specifications given by the input objects themselves: ``collection[x] = {0: batch}`` or ``collection[x][0] = batch``."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Any, Any]] = {}

    def __setitem__(self, tensor: Any, spec: Any) -> None:
        self._by_id[id(tensor)] = (tensor, spec)

    def __getitem__(self, tensor: Any) -> Any:
        if id(tensor) not in self._by_id:
            self._by_id[id(tensor)] = (tensor, {})
        return self._by_id[id(tensor)][1]

    def __len__(self) -> int:
        return len(self._by_id)

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        """The same as a nest by argument name. Raises ``spec-unknown-argument`` for an object that is no input."""
        from dynamo_lite.capture import undecorated
        from dynamo_lite.trace.inputs import bind_call

        call = bind_call(undecorated(m.forward), args, kwargs or {})
        return self._nest(call)

    def _nest(self, call: BoundCall) -> dict[str, Any]:
        used: set[int] = set()

        def find(tree: Any) -> Any:
            if id(tree) in self._by_id:
                used.add(id(tree))
                return self._by_id[id(tree)][1]
            pairs, spec = tree_flatten_with_path(tree)
            if spec.is_leaf():
                return None
            return [find(child) for child in _children(tree, pairs)]

        nest = {name: find(value) for name, value in _arguments(call)}
        for identity, (tensor, _) in self._by_id.items():
            if identity not in used:
                raise SPEC_UNKNOWN_ARGUMENT(
                    name=f"an object of class {type(tensor).__name__}",
                    known=", ".join(nest),
                    location=call.location,
                )
        return nest


class AdditionalInputs:
    """More example inputs: dimensions that differ between them and the example are dynamic, the others static."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> None:
        """Adds a set of inputs as ``export`` takes them."""
        self._examples.append((tuple(args), dict(kwargs or {})))

    def dynamic_shapes(self, m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> Any:
        """The nest of ``Dim.DYNAMIC`` and None that the examples make together."""
        from dynamo_lite.capture import undecorated
        from dynamo_lite.trace.inputs import bind_call

        call = bind_call(undecorated(m.forward), args, kwargs or {})
        others = [bind_call(undecorated(m.forward), a, k) for a, k in self._examples]
        return {
            name: _compare(value, [dict(_arguments(other))[name] for other in others])
            for name, value in _arguments(call)
        }

    def verify(self, ep: Any) -> None:
        """Checks that a program accepts every set of inputs. Raises GuardError where it does not."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _compare(value: Any, others: Sequence[Any]) -> Any:
    shape = getattr(value, "shape", None)
    if shape is not None:
        shapes = [tuple(other.shape) for other in others]
        return tuple(
            Dim.DYNAMIC if any(other[dim] != size for other in shapes) else None
            for dim, size in enumerate(shape)
        )
    pairs, spec = tree_flatten_with_path(value)
    if spec.is_leaf():
        dynamic = type(value) is int and any(other != value for other in others)
        return Dim.DYNAMIC if dynamic else None
    columns = [_children(other, tree_flatten_with_path(other)[0]) for other in others]
    return [
        _compare(child, [column[index] for column in columns])
        for index, child in enumerate(_children(value, pairs))
    ]


def _children(tree: Any, pairs: Sequence[tuple[KeyPath, Any]]) -> list[Any]:
    firsts = dict.fromkeys(path[0] for path, _ in pairs)
    return [key_get(tree, (key,)) for key in firsts]


def _arguments(call: BoundCall) -> list[tuple[str, Any]]:
    return [*zip(call.arg_names, call.args, strict=True), *call.kwargs.items()]


def leaf_specs(call: BoundCall, dynamic_shapes: Any, library: TensorLibrary) -> LeafSpecs:
    """Checks ``dynamic_shapes`` against the call and spreads it over the leaves. Raises InputError with the argument's path."""
    assumptions: list[Any] = []
    if isinstance(dynamic_shapes, ShapesCollection):
        dynamic_shapes = dynamic_shapes._nest(call)
    elif isinstance(dynamic_shapes, AdditionalInputs):
        others = [_rebound(call, example) for example in dynamic_shapes._examples]
        dynamic_shapes = {
            name: _compare(value, [other[name] for other in others]) for name, value in _arguments(call)
        }
    elif hasattr(dynamic_shapes, "as_dynamic_shapes"):
        assumptions = list(dynamic_shapes.assumptions)
        dynamic_shapes = dynamic_shapes.as_dynamic_shapes()
    nest = _by_argument(call, dynamic_shapes)
    pairs, _ = tree_flatten_with_path((call.args, call.kwargs))
    spread = _Spread(call, library)
    leaves = [spread.leaf(nest, path, leaf) for path, leaf in pairs]
    return LeafSpecs(leaves, assumptions)


def _rebound(call: BoundCall, example: tuple[tuple[Any, ...], dict[str, Any]]) -> dict[str, Any]:
    args, kwargs = example
    named = dict(zip(call.arg_names, args, strict=False))
    return {**dict(_arguments(call)), **named, **kwargs}


def _by_argument(call: BoundCall, given: Any) -> Mapping[str, Any]:
    names = [name for name, _ in _arguments(call)]
    if given is None:
        return {}
    if isinstance(given, Mapping):
        nest = dict(given)
        for name in list(nest):
            if name in names:
                continue
            inner = nest.pop(name)
            gathered = [known for known in names if known.startswith(f"{name}_")]
            if isinstance(inner, Mapping) and all(key in names for key in inner):  # what lands in **kwargs
                nest.update(inner)
            elif isinstance(inner, Sequence) and len(inner) == len(gathered):  # what lands in *args
                nest.update(zip(gathered, inner, strict=True))
            else:
                raise SPEC_UNKNOWN_ARGUMENT(
                    name=repr(name), known=", ".join(names) or "no arguments", location=call.location
                )
        return nest
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) > len(names):
            raise SPEC_DOES_NOT_FIT(
                path="the arguments",
                problem=f"{len(given)} entries for {len(names)} arguments",
                location=call.location,
            )
        return dict(zip(names, given, strict=False))
    raise SPEC_DOES_NOT_FIT(
        path="the arguments",
        problem=f"a dict, list or tuple is needed, not {type(given).__name__}",
        location=call.location,
    )


def _name_of(key: Any) -> Any:
    return key.key if isinstance(key, MappingKey) else getattr(key, "name", key)


class _Spread:
    """Looks up the specification of one leaf."""

    __slots__ = ("_call", "_library")

    def __init__(self, call: BoundCall, library: TensorLibrary) -> None:
        self._call = call
        self._library = library

    def leaf(self, nest: Mapping[str, Any], path: KeyPath, leaf: Any) -> Any:
        root, first, *rest = path
        is_positional = isinstance(root, SequenceKey) and root.idx == 0
        name = self._call.arg_names[first.idx] if is_positional else str(first.key)
        text = leaf_path(self._call, path)
        spec = nest.get(name)
        for depth, key in enumerate(rest):
            if spec is None:
                return None
            spec = self._step(spec, key, text, path, depth)
        if self._library.is_tensor(leaf):
            return self._tensor(spec, len(self._library.describe(leaf).shape), text)
        if spec is None or (isinstance(leaf, int) and not isinstance(leaf, bool) and _is_int_spec(spec)):
            return spec
        raise self._misfit(text, f"{spec!r} was given for a value of class {type(leaf).__name__}")

    def _step(self, spec: Any, key: Any, text: str, path: KeyPath, depth: int) -> Any:
        self._check_entries(spec, text, self._siblings(path, depth))
        if isinstance(key, MappingKey) and isinstance(spec, Mapping):
            return spec.get(key.key)
        if isinstance(key, GetAttrKey):
            if isinstance(spec, Mapping):
                return spec.get(key.name)
            index = self._field_index(path, depth)
            if isinstance(spec, Sequence) and index < len(spec):
                return spec[index]
        if isinstance(key, SequenceKey) and isinstance(spec, Sequence) and key.idx < len(spec):
            return spec[key.idx]
        if isinstance(key, MappingKey) and isinstance(spec, Sequence):
            index = self._field_index(path, depth)
            if index < len(spec):
                return spec[index]
        raise self._misfit(text, f"nothing at {key} in {spec!r}")

    def _check_entries(self, spec: Any, text: str, siblings: Sequence[Any]) -> None:
        """A specification says nothing about what the input does not hold. Raises ``spec-does-not-fit``."""
        if isinstance(spec, Mapping):
            names = [_name_of(key) for key in siblings]
            strange = next((name for name, inner in spec.items() if inner and name not in names), None)
            if strange is not None:
                raise self._misfit(text, f"{strange!r} is not among {', '.join(map(repr, names))}")
        elif isinstance(spec, Sequence) and not isinstance(spec, str):
            count = max(
                (key.idx + 1 for key in siblings if isinstance(key, SequenceKey)), default=len(siblings)
            )
            if any(spec[count:]):
                raise self._misfit(text, f"{len(spec)} entries are given for {count}")

    def _siblings(self, path: KeyPath, depth: int) -> list[Any]:
        """The steps that lead to what a container holds, ``depth`` below an argument."""
        prefix = path[: depth + 2]
        pairs, _ = tree_flatten_with_path((self._call.args, self._call.kwargs))
        found = dict.fromkeys(
            other[depth + 2] for other, _ in pairs if other[: depth + 2] == prefix and len(other) > depth + 2
        )
        return list(found)

    def _field_index(self, path: KeyPath, depth: int) -> int:
        """The position among its siblings of the step ``depth`` below an argument."""
        return self._siblings(path, depth).index(path[depth + 2])

    def _tensor(self, spec: Any, rank: int, text: str) -> tuple[Any, ...] | None:
        if spec is None:
            return None
        if isinstance(spec, Mapping):
            dims: list[Any] = [None] * rank
            for dim, one in spec.items():
                if type(dim) is not int or not -rank <= dim < rank:
                    raise self._misfit(
                        text, f"the tensor has {rank} dimensions, and dimension {dim!r} is named"
                    )
                dims[dim] = one
        elif isinstance(spec, Sequence) and not isinstance(spec, str):
            dims = list(spec)
            if len(dims) != rank:
                raise self._misfit(
                    text, f"the tensor has {rank} dimensions, and {len(dims)} entries are given"
                )
        else:
            raise self._misfit(text, f"{spec!r} is neither a dict nor a sequence")
        for one in dims:
            if one is not None and type(one) is not int and not isinstance(one, DIM_SPECS):
                raise self._misfit(text, f"{one!r} is no dimension specification")
        return tuple(dims)

    def _misfit(self, text: str, problem: str) -> Exception:
        where: Location | None = self._call.location
        return SPEC_DOES_NOT_FIT(path=text, problem=problem, location=where)


def _is_int_spec(spec: Any) -> bool:
    return type(spec) is int or isinstance(spec, DIM_SPECS)
