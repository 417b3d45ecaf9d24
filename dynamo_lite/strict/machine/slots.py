"""Type slots as CPython sees them: looked up on the type along its MRO, never on the object, without running user code.

A slot is *native* when what the type defines for it is C code (or opaque code of ours): then the machine lets C run it.
Otherwise it is interpreted. What was found is cached by type until some class changes.
"""

from __future__ import annotations

import _thread
import gc
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final

from dynamo_lite.strict.machine.code import code_for
from dynamo_lite.strict.machine.frame import Frame

_mro: Final = type.__dict__["__mro__"].__get__
dict_of: Final = type.__dict__["__dict__"].__get__


def mro_of(cls: type) -> tuple[type, ...]:
    """The MRO, without asking the metaclass."""
    found: tuple[type, ...] | None = _mro(cls)
    if found is None:  # a few C types are not made ready until an attribute is asked for
        type.__getattribute__(cls, "__doc__")
        return _mro(cls)  # type: ignore[no-any-return]
    return found


def inherits(cls: type, base: type) -> bool:
    """Whether ``base`` is in the MRO of ``cls``, without asking a metaclass, whose ``__eq__`` or ``__subclasscheck__`` may be the program's."""
    return type.__subclasscheck__(base, cls)


name_of: Final = type.__dict__["__name__"].__get__
type_flags: Final[Callable[[type], int]] = type.__dict__["__flags__"].__get__


class TypeSet(frozenset[type]):
    """Types that are told by identity: a metaclass may define ``__hash__`` and ``__eq__``. ``ids`` is for those who ask often."""

    ids: frozenset[int]

    def __new__(cls, types: Iterable[type]) -> TypeSet:
        made = super().__new__(cls, types)
        made.ids = frozenset(map(id, made))
        return made

    def __contains__(self, cls: object) -> bool:
        return id(cls) in self.ids


_HEAP, _IMMUTABLE = 1 << 9, 1 << 8


def type_name(cls: type) -> str:
    """What C's messages call a type: C types with their module; the metaclass is not asked."""
    name: str = name_of(cls)
    if type_flags(cls) & (_HEAP | _IMMUTABLE) == _HEAP:
        return name
    module = type.__getattribute__(cls, "__module__")
    return name if module == "builtins" else f"{module}.{name}"


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<MISSING>"


MISSING: Final = _Missing()
_UNKNOWN: Final = _Missing()

# descriptors that are C code through and through, and None ("this operation is blocked")
NATIVE: Final[frozenset[type]] = frozenset(
    {
        types.WrapperDescriptorType,
        types.MethodDescriptorType,
        types.ClassMethodDescriptorType,
        types.BuiltinFunctionType,
        types.MethodWrapperType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        type(None),
    }
)


class TypeInfo:
    """What is known of one type: attributes found along the MRO, slots to interpret, ways to load attributes."""

    __slots__ = ("guard", "maker", "names", "plans", "slots", "stores")

    def __init__(self, cls: type) -> None:
        key = id(cls)
        self.maker: Any = None
        self.names: dict[str, Any] = {}
        self.slots: dict[str, Any] = {}
        self.plans: dict[str, Any] = {}
        self.stores: dict[str, bool] = {}
        self.guard = weakref.ref(cls, lambda _: INFOS.pop(key, None))


INFOS: Final[dict[int, TypeInfo]] = {}
WATCHERS: Final[list[list[weakref.ref[type]]]] = []
"""Each is told of the types that are looked at from the time on when it was put here and the cache was emptied."""


def info_of(cls: type) -> TypeInfo:
    """The record of a type, made at need."""
    info = INFOS.get(id(cls))
    if info is None:
        info = INFOS[id(cls)] = TypeInfo(cls)
        for watcher in WATCHERS:
            watcher.append(info.guard)
    return info


def classes_changed() -> None:
    """Drops all that is cached: a class was changed, or may have been."""
    INFOS.clear()


def _collecting(phase: str, info: dict[str, int]) -> None:
    """Before a full collection the cache lets go of what it holds of classes, which may lead back to them."""
    if phase == "start" and info["generation"] == 2:
        INFOS.clear()


gc.callbacks.append(_collecting)


def lookup(cls: type, name: str) -> Any:
    """The attribute in the dictionary of the first class of the MRO that has it, unbound, or MISSING."""
    info = INFOS.get(id(cls)) or info_of(cls)
    names = info.names
    found = names.get(name, _UNKNOWN)
    if found is not _UNKNOWN:
        return found
    found = MISSING
    for base in mro_of(cls):
        namespace = dict_of(base)
        if name in namespace:
            found = namespace[name]
            break
    names[name] = found
    return found


def is_native(attribute: Any, frame: Frame) -> bool:
    """Whether a slot's implementation may be left to C."""
    kind = type(attribute)
    if kind in NATIVE:
        return True
    if kind is types.FunctionType:
        return code_for(attribute.__code__, frame.policy).opaque
    if kind is staticmethod:
        return is_native(attribute.__func__, frame)
    return attribute is MISSING


def slot(frame: Frame, cls: type, name: str) -> Any:
    """What the type defines for a slot where that must be interpreted, else None."""
    info = INFOS.get(id(cls))
    if info is not None:
        found = info.slots.get(name, MISSING)
        if found is not MISSING:
            return found
    attribute = lookup(cls, name)
    found = None if is_native(attribute, frame) else attribute
    info_of(cls).slots[name] = found
    return found


_LOCAL: Final = _thread._local
_DICT_GETTERS: Final = (types.GetSetDescriptorType, types.MemberDescriptorType)  # modules have the latter


def plain_dict(obj: Any) -> dict[str, Any] | None:
    """The instance dictionary, read without running user code; None where there is none. Of a ``threading.local`` the thread's."""
    if inherits(type(obj), _LOCAL):
        found = _LOCAL.__getattribute__(obj, "__dict__")
        return found if isinstance(found, dict) else None
    for base in mro_of(type(obj)):
        getset = dict_of(base).get("__dict__")
        if type(getset) in _DICT_GETTERS:
            found = getset.__get__(obj)
            return found if isinstance(found, dict) else None
    return None
