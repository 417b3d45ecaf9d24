"""Which arguments fit which schema: PyTorch's argument rules, as a table over kinds of values.

The kind of an argument is a letter (a list's is the set of its items' letters). Whether a call fits an overload, and how
its arguments are laid out, depends on the kinds alone, so a :class:`Plan` is made once for a tuple of kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from fx_ir.dtypes import Device, DType, Layout, MemoryFormat, bool_, complex128, float64, int64
from fx_ir.meta import TensorMeta
from fx_ir.schema import ArgType, Argument, Schema
from solver.sym import SymBool, SymFloat, SymInt

Kind = Any  # a letter, or a frozenset of the letters of a list's items
Converter = Callable[[Any], Any]
Key = tuple[tuple[Kind, ...], tuple[tuple[str, Kind], ...]]

TENSOR_TYPES: Final[set[type]] = {TensorMeta}
_GENERATOR_TYPES: Final[set[type]] = {np.random.Generator}
_KINDS: Final[dict[type, str]] = {
    TensorMeta: "T", bool: "b", int: "i", float: "f", complex: "c", SymInt: "I", SymFloat: "F", SymBool: "B",
    str: "s", type(None): "n", DType: "d", type: "y", Device: "v", Layout: "l", MemoryFormat: "m",
    np.random.Generator: "G", list: "L", tuple: "L",
}  # fmt: skip
# For types that are no exact match. N, P, Q: what must be converted to int, float, bool.
_BASES: Final[tuple[tuple[type, str], ...]] = (
    (SymInt, "I"), (SymFloat, "F"), (SymBool, "B"), (np.bool_, "Q"), (np.integer, "N"), (np.floating, "P"),
    (bool, "b"), (int, "N"), (float, "P"), (complex, "c"), (str, "s"), (list, "L"), (tuple, "L"), (type, "y"),
)  # fmt: skip
_PYTHON_TYPES: Final[dict[Any, DType]] = {float: float64, int: int64, bool: bool_, complex: complex128}

_ACCEPTS: Final[dict[str, dict[str, Converter | None]]] = {
    "Tensor": {"T": None},
    "int": {"i": None, "N": int, "I": int},
    "SymInt": {"i": None, "I": None, "N": int},
    "float": {"f": None, "F": None, "I": None, "P": float, "i": float, "N": float, "b": float, "Q": float},
    "bool": {"b": None, "B": None, "Q": bool},
    "Scalar": {"b": None, "i": None, "f": None, "c": None, "I": None, "F": None, "B": None, "N": int, "P": float, "Q": bool},
    "str": {"s": None},
    "ScalarType": {"d": None, "y": lambda python: _PYTHON_TYPES[python]},
    "Device": {"v": None, "s": Device.parse},
    "Layout": {"l": None},
    "MemoryFormat": {"m": None},
    "Generator": {"G": None},
}  # fmt: skip
# PyTorch's python_arg_parser admits a number for any Tensor parameter of these.
NUMBERS_AS_TENSORS: Final = frozenset(
    name + suffix
    for name in ("add", "sub", "mul", "div", "true_divide", "floor_divide", "multiply", "subtract", "divide")
    for suffix in ("", "_")
)
_PYTHON_NAMES: Final = {
    "input": "self",
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "self",
    "x1": "self",
    "x2": "other",
}
_DROPPED_WHEN_NONE: Final = frozenset(
    {"out", "generator", "names", "dtype", "layout", "device", "pin_memory"}
)


def register_tensor_type(cls: type) -> None:
    """Makes instances of ``cls`` (and of its subclasses) count as tensors in every schema."""
    TENSOR_TYPES.add(cls)
    _KINDS[cls] = "T"


def register_generator_type(cls: type) -> None:
    """Makes instances of ``cls`` count as random generators."""
    _GENERATOR_TYPES.add(cls)
    _KINDS[cls] = "G"


def is_tensor(obj: object) -> bool:
    """True if the type of ``obj`` was registered as a tensor's."""
    return bool(kind_of(obj) == "T")


def kind_of(obj: object) -> Kind:
    """The kind of an argument; ``?`` for what no schema takes."""
    kind = _KINDS.get(type(obj))
    if kind is None:
        kind = _kind_of_type(type(obj))
    if kind == "L":
        # A list within a list stays the letter L, which no schema takes.
        return frozenset([_KINDS.get(type(item)) or kind_of(item) for item in obj])  # type: ignore[attr-defined]
    return kind


def key_of(args: Iterable[Any], kwargs: Mapping[str, Any]) -> Key:
    """The kinds of a call's arguments, by which its plan is kept."""
    kinds: list[Kind] = []
    for value in args:
        kind = _KINDS.get(type(value))
        kinds.append(kind if kind is not None and kind != "L" else kind_of(value))
    if not kwargs:
        return tuple(kinds), ()
    return tuple(kinds), tuple([(name, kind_of(value)) for name, value in kwargs.items()])


def _kind_of_type(cls: type) -> str:
    mro = cls.__mro__
    if any(base in TENSOR_TYPES for base in mro):
        kind = "T"
    elif any(base in _GENERATOR_TYPES for base in mro):
        kind = "G"
    else:
        kind = next((letter for base, letter in _BASES if base in mro), "?")
    if kind != "?":
        _KINDS[cls] = kind
    return kind


class Misfit(Exception):
    """The arguments do not fit this schema (why, for the reader of an error)."""


def converter(type: ArgType, kind: Kind, numbers: bool) -> Converter | None:
    """How a value of this kind becomes this type (None: as it is); Misfit if it cannot."""
    if kind == "n" and type.optional:
        return None
    accepts = _ACCEPTS.get(type.base)
    if accepts is None:
        raise Misfit(f"arguments of type {type.base} are not supported")
    if not isinstance(kind, frozenset):
        if type.is_list:
            return _expand(type, accepts, kind)
        if kind in accepts:
            return accepts[kind]
        if numbers and type.base == "Tensor" and kind in _ACCEPTS["Scalar"]:
            return _ACCEPTS["Scalar"][kind]
        raise Misfit("")
    if not type.is_list:
        raise Misfit("")
    convert = False
    for item in kind:
        if item == "n" and type.optional_items:
            continue
        if isinstance(item, frozenset) or item not in accepts:
            raise Misfit("")
        convert = convert or accepts[item] is not None
    return (lambda items: [_convert_item(accepts, item) for item in items]) if convert else list


def _convert_item(accepts: Mapping[str, Converter | None], item: Any) -> Any:
    change = accepts[kind_of(item)]
    return item if change is None else change(item)


def _expand(type: ArgType, accepts: Mapping[str, Converter | None], kind: str) -> Converter:
    """A single number stands for a list of known size."""
    if type.size is None or kind not in accepts or type.base == "Tensor":
        raise Misfit("")
    size = type.size
    change = accepts[kind]
    return lambda value: [value if change is None else change(value)] * size


class Plan:
    """How the arguments of a call are laid out for one overload: what is converted, and what is filled in."""

    __slots__ = ("_changes", "_keywords", "_rest", "_tail", "_varargs", "operator")

    def __init__(
        self,
        operator: Any,
        changes: Sequence[tuple[int, Converter]],
        rest: Sequence[tuple[str | None, Converter | None, Any]],
        keywords: Sequence[tuple[str, str | None, Converter | None, Any]],
        varargs: int | None,
    ) -> None:
        self.operator = operator
        self._changes = changes
        self._rest = rest
        self._keywords = keywords
        self._varargs = varargs
        constant = all(source is None and type(default) is not list for source, _, default in rest)
        self._tail = tuple([default for _, _, default in rest]) if constant else None

    def __call__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """The operator, its positional arguments, its keyword-only arguments; nothing is left out."""
        if self._varargs is not None:
            args = (*args[: self._varargs], args[self._varargs :])
        if self._changes:
            changed = list(args)
            for index, change in self._changes:
                changed[index] = change(changed[index])
            args = tuple(changed)
        if self._tail is not None:
            args = args + self._tail
        else:
            args = (*args, *[_fetch(kwargs, *source) for source in self._rest])
        return self.operator, args, {name: _fetch(kwargs, *source) for name, *source in self._keywords}


def _fetch(kwargs: Mapping[str, Any], source: str | None, change: Converter | None, default: Any) -> Any:
    """A keyword's value, or a default that the caller may keep."""
    if source is None:
        return default.copy() if type(default) is list else default
    return kwargs[source] if change is None else change(kwargs[source])


def make_plan(operator: Any, key: Key, numbers: bool) -> Plan:
    """The plan of a call of these kinds for this operator; Misfit with a reason if they do not fit."""
    schema: Schema = operator.schema
    given = list(key[0])
    positional, keyword_only = schema.positional, schema.keyword_only
    varargs = _varargs_start(positional, given)
    if varargs is not None:
        given[varargs:] = [frozenset(given[varargs:])]
    if len(given) > len(positional):
        raise Misfit(f"takes {len(positional)} positional arguments, got {len(given)}")
    names = _keyword_names(schema, key[1])
    changes: list[tuple[int, Converter]] = []
    for index, (argument, kind) in enumerate(zip(positional, given, strict=False)):
        if argument.name in names:
            raise Misfit(f"got multiple values for argument {argument.name!r}")
        change = _fit(argument, kind, numbers)
        if change is not None:
            changes.append((index, change))
    rest = [(*_keyword(argument, names, numbers), argument.default) for argument in positional[len(given) :]]
    keywords = [
        (argument.name, *_keyword(argument, names, numbers), argument.default) for argument in keyword_only
    ]
    return Plan(operator, changes, rest, keywords, varargs)


def _varargs_start(positional: Sequence[Argument], given: Sequence[Kind]) -> int | None:
    """``x.view(2, 3)``, ``zeros(2, 3)``: where a lone leading int list starts if it was given as separate ints."""
    start = 1 if positional and positional[0].type.is_tensor else 0
    if len(positional) != start + 1 or len(given) <= start or not positional[start].type.is_int_list:
        return None
    if len(given) == start + 1 and positional[start].type.size is not None:
        return None  # one number for a list of known size stands for all of its items
    return start if all(kind in ("i", "I", "N") for kind in given[start:]) else None


def _keyword_names(schema: Schema, kinds: Iterable[tuple[str, Kind]]) -> dict[str, tuple[str, Kind]]:
    """The schema's names of the keywords given; Misfit for one that it does not have."""
    known = {argument.name for argument in schema.arguments}
    names: dict[str, tuple[str, Kind]] = {}
    for given, kind in kinds:
        name = given if given in known else _PYTHON_NAMES.get(given, given)
        if name in known:
            names[name] = (given, kind)
        elif not (kind == "n" and given in _DROPPED_WHEN_NONE):
            raise Misfit(f"got an unexpected keyword argument {given!r}")
    return names


def _keyword(
    argument: Argument, names: Mapping[str, tuple[str, Kind]], numbers: bool
) -> tuple[str | None, Converter | None]:
    found = names.get(argument.name)
    if found is None:
        if not argument.has_default:
            raise Misfit(f"missing argument {argument.name!r}")
        return None, None
    return found[0], _fit(argument, found[1], numbers)


def _fit(argument: Argument, kind: Kind, numbers: bool) -> Converter | None:
    try:
        return converter(argument.type, kind, numbers)
    except Misfit as misfit:
        raise Misfit(str(misfit) or f"argument {argument.name!r} does not fit") from None


_KIND_NAMES: Final = {
    "T": "Tensor", "b": "bool", "i": "int", "f": "float", "c": "complex", "I": "SymInt", "F": "SymFloat", "B": "SymBool",
    "s": "str", "n": "NoneType", "d": "torch.dtype", "y": "type", "v": "torch.device", "l": "torch.layout",
    "m": "torch.memory_format", "G": "Generator", "N": "int", "P": "float", "Q": "bool",
}  # fmt: skip


def describe(obj: object) -> str:
    """How an error names an argument's type."""
    kind = kind_of(obj)
    if isinstance(kind, frozenset):
        items = " or ".join(sorted(_KIND_NAMES.get(item, "object") for item in kind if isinstance(item, str)))
        return f"{type(obj).__name__} of {items}" if items else type(obj).__name__
    return _KIND_NAMES.get(kind) or type(obj).__name__
