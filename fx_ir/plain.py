"""Plain Python values as JSON and back, exactly: ``nan``, ``-0.0``, tuples and non-string keys survive.

``None``, booleans, integers, finite floats, strings and lists stand for themselves; everything else is an object with
one key that names its kind. Reading builds only the kinds listed here: no name in the data is looked up or imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from fx_ir import dtypes
from fx_ir.dtypes import Device, DType, Layout, MemoryFormat

Json = Any
_FACTORIES: Final[dict[str, Callable[[], Any]]] = {
    "list": list, "dict": dict, "set": set, "tuple": tuple, "int": int, "float": float, "str": str, "bool": bool,
}  # fmt: skip


class NotPlain(TypeError):
    """A value that is not made of plain ones; the message names its type."""


class NotJson(ValueError):
    """Data that does not describe a plain value."""


def encode(value: Any, other: Callable[[Any], Json] | None = None) -> Json:
    """The JSON of a plain value. ``other`` encodes what is not plain; without it that raises :class:`NotPlain`."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is list:
        return [encode(item, other) for item in value]
    known = _ENCODERS.get(kind)
    if known is not None:
        return known(value, other)
    if other is not None:
        return other(value)
    raise NotPlain(f"a value of type {kind.__module__}.{kind.__qualname__} is not plain data")


def _items(values: Any, other: Callable[[Any], Json] | None) -> list[Json]:
    return [encode(item, other) for item in values]


def _type(value: type, other: Callable[[Any], Json] | None) -> Json:
    if _FACTORIES.get(value.__name__) is value:
        return {"type": value.__name__}
    if other is not None:
        return other(value)
    raise NotPlain(f"the type {value.__module__}.{value.__qualname__} is not plain data")


_ENCODERS: Final[dict[type, Callable[[Any, Callable[[Any], Json] | None], Json]]] = {
    tuple: lambda v, o: {"tuple": _items(v, o)},
    dict: lambda v, o: {"dict": [[encode(key, o), encode(item, o)] for key, item in v.items()]},
    slice: lambda v, o: {"slice": _items((v.start, v.stop, v.step), o)},
    range: lambda v, o: {"range": [v.start, v.stop, v.step]},
    set: lambda v, o: {"set": _items(sorted(v, key=repr), o)},
    frozenset: lambda v, o: {"frozenset": _items(sorted(v, key=repr), o)},
    complex: lambda v, o: {"complex": [encode(v.real), encode(v.imag)]},
    bytes: lambda v, o: {"bytes": v.hex()},
    type(Ellipsis): lambda v, o: {"ellipsis": True},
    DType: lambda v, o: {"dtype": v.name},
    Device: lambda v, o: {"device": str(v)},
    Layout: lambda v, o: {"layout": v.name},
    MemoryFormat: lambda v, o: {"memory_format": v.name},
    type: _type,
}


def decode(data: Json, other: Callable[[str, Json], Any] | None = None) -> Any:
    """The value that ``data`` describes. ``other(kind, content)`` decodes further kinds. Raises :class:`NotJson`."""
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return [decode(item, other) for item in data]
    if not isinstance(data, dict) or len(data) != 1:
        raise NotJson("expected a plain value or an object with one key")
    ((kind, content),) = data.items()
    known = _DECODERS.get(kind)
    try:
        if known is not None:
            return known(content, other)
        if other is not None:
            return other(kind, content)
    except NotJson:
        raise
    except (TypeError, ValueError, KeyError, RuntimeError, OverflowError) as error:
        raise NotJson(f"bad content of a {kind}: {error}") from None
    raise NotJson(f"unknown kind of value {kind!r}")


def _float(content: Json) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise NotJson(f"bad float {content!r}")
    return float(content)


def _range(content: Json) -> range:
    start, stop, step = (int(part) for part in content)
    return range(start, stop, step)


Other = Callable[[str, Json], Any] | None
_DECODERS: Final[dict[str, Callable[[Json, Any], Any]]] = {
    "float": lambda c, o: _float(c),
    "tuple": lambda c, o: tuple(decode(item, o) for item in c),
    "dict": lambda c, o: {decode(key, o): decode(item, o) for key, item in c},
    "slice": lambda c, o: slice(*(decode(item, o) for item in c)),
    "range": lambda c, o: _range(c),
    "set": lambda c, o: {decode(item, o) for item in c},
    "frozenset": lambda c, o: frozenset(decode(item, o) for item in c),
    "complex": lambda c, o: complex(*(decode(part) for part in c)),
    "bytes": lambda c, o: bytes.fromhex(c),
    "ellipsis": lambda c, o: ...,
    "dtype": lambda c, o: dtypes.by_name(c),
    "device": lambda c, o: Device.parse(c),
    "layout": lambda c, o: Layout[c],
    "memory_format": lambda c, o: MemoryFormat[c],
    "type": lambda c, o: _FACTORIES[c],
}


def is_plain(value: Any) -> bool:
    """True for values that :func:`encode` takes by itself."""
    try:
        encode(value)
    except NotPlain:
        return False
    return True


def same_plain(a: Any, b: Any) -> bool:
    """Equality that tells ``1`` from ``True`` and ``1.0``, ``0.0`` from ``-0.0``, and holds for ``nan``."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return bool(a.hex() == b.hex())
    if isinstance(a, complex):
        return same_plain(a.real, b.real) and same_plain(a.imag, b.imag)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_plain, a, b))
    if isinstance(a, dict):
        return same_plain(list(a), list(b)) and same_plain(list(a.values()), list(b.values()))
    return bool(a == b)
