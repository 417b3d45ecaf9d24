"""Where outside objects come from, and what was read of them: assumptions as data, and as one fast check.

An *origin* is a path of reads from a root: the module under capture, a global namespace, a closure cell. Objects get one when
they are loaded from an object that has one. A plain value read from such an object is burned in, and recorded once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    TracebackType,
    UnionType,
)
from typing import Any, Final
from weakref import ReferenceType
from zoneinfo import ZoneInfo

from dynamo_lite.strict.machine.slots import MISSING, TypeSet, dict_of, lookup, mro_of
from dynamo_lite.strict.policy.caches import Held
from dynamo_lite.strict.policy.contents import PLAIN, contents, holds_objects, is_container, is_frozen, places
from dynamo_lite.strict.policy.origin import REGISTRIES, ByIdentity, Meaning, as_data
from dynamo_lite.strict.policy.origin import Origin as Origin
from dynamo_lite.strict.policy.origin import Read as Read
from dynamo_lite.strict.policy.origin import StepKind as StepKind
from fx_ir.provenance import Assumption
from solver.errors import Location

OURS: Final = "_exported_programs"
"""The attribute of a module that the decorator adds."""
LISTING: Final = frozenset({"items", "keys", "values", "copy"})
"""Methods of a registry that tell all of its keys."""
_READ_WHOLE: Final = TypeSet((tuple, list, set, frozenset, dict)).ids
_PLAIN: Final = PLAIN.ids
_BY_IDENTITY: Final = (FunctionType, BuiltinFunctionType, type)
_TOLD_BY_C: Final = (SimpleNamespace, BaseException)  # methods of C's read the state of these
_LEAVES: Final = (
    int, float, complex, str, bytes, re.Match, GenericAlias, UnionType, TracebackType, ZoneInfo, type(...), type(NotImplemented),
)  # fmt: skip
"""What C code reads of instances of these, and of subclasses, no read tells: that they are the same objects is assumed."""
_SELF: Final = (super.__dict__["__self__"].__get__, MethodWrapperType.__dict__["__self__"].__get__)
LIMIT: Final = 1000  # items of a container whose origins are kept


def holds(owner: Any, name: str, value: Any) -> bool:
    """Whether ``value`` lies in the owner's own namespace. Asks no code of the owner's."""
    if type(owner) is ModuleType:
        return True
    if issubclass(type(owner), type):  # which binds methods of C's anew at each read
        spaces = map(dict_of, mro_of(owner))
        return type(value) is not BuiltinFunctionType or any(space.get(name) is value for space in spaces)
    try:
        return object.__getattribute__(owner, "__dict__").get(name) is value
    except AttributeError:
        return False


def namespace_of(value: Any) -> dict[str, Any] | None:
    """The own attributes of an object that is neither a class nor a module of Python's; None where there are none."""
    if type(value) is ModuleType or issubclass(type(value), type):
        return None
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def _is_hooks(step: Any) -> bool:
    """Tables of a module's hooks, which ``dynamo_lite.live_hooks`` looks after: not those of state dicts."""
    return type(step) is str and step.endswith("_hooks") and "state_dict" not in step


def _owner(origin: Origin | None) -> Origin | None:
    """The object whose attributes a dictionary holds."""
    return origin.parent if origin is not None and origin.step == "__dict__" else origin


def _is_step(known: Any, step: Any) -> bool:
    """Whether two steps are one. Asks no code of the program's."""
    return known is step or (type(known) is type(step) and id(type(step)) in _PLAIN and known == step)


class Origins:
    """The origins and the reads of one capture."""

    __slots__ = ("_known", "_reads", "apart", "locate", "met", "roots", "tellers", "waiting")

    def __init__(self, locate: Callable[[], Location | None]) -> None:
        self._known: dict[int, Origin] = {}
        self._reads: dict[tuple[int, str, Any], Read] = {}
        self.roots: dict[str, Origin] = {}
        self.apart: dict[int, Origin] = {}  # what was told of registries: different objects, and not None
        self.locate = locate
        self.met: Callable[[type], object] = type  # told the type of each object that gets an origin
        self.waiting: dict[int, Origin] = {}  # dicts in containers that were not read themselves
        self.tellers: dict[int, Any] = {}  # outside objects whose state C tells: in texts, comparisons

    def root(self, name: str, value: Any) -> Origin:
        """Makes ``value`` a root called ``name``."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = Origin(value, None, "attr", name)
            self.roots[name] = found
        return found

    def place(self, value: Any, parent: Origin, kind: StepKind, step: Any) -> Origin:
        """Gives ``value`` an origin unless it has one."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = Origin(value, parent, kind, step)
        return found

    def of(self, value: Any) -> Origin | None:
        """The origin of an outside object; None for a fresh or unknown one."""
        return self._known.get(id(value))

    def is_outside(self, value: Any) -> bool:
        """True for an object that was reached from outside."""
        return id(value) in self._known

    def read(self, owner: Any, kind: StepKind, step: Any, value: Any) -> None:
        """``value`` was read from ``owner``: burned in if it is plain, an origin of its own otherwise."""
        origin = self._known.get(id(owner))
        if origin is None:
            return
        self.read_from(origin, kind, step, value)

    def read_from(self, origin: Origin, kind: StepKind, step: Any, value: Any) -> None:
        """As :meth:`read`, from an owner whose origin is known."""
        if kind == "item" and id(type(step)) not in _PLAIN and self._by_code(origin, step, value):
            return
        cls = type(value)
        if id(cls) in _PLAIN:
            self._record(origin, kind, step, value, "value")
            return
        known = self._known.get(id(value))
        if known is not None:
            self._again(known, origin, kind, step)
            return
        if kind == "attr":
            self.shadow(origin, step)
        if cls is ModuleType:
            self.place(value, origin, kind, step)
            return
        if cls is MethodType:
            if kind != "attr" or holds(origin.value, step, value):
                self._bound(self.place(value, origin, kind, step))
            return
        if issubclass(cls, _BY_IDENTITY):
            if kind == "attr" and not holds(origin.value, step, value):
                return  # found on the class of the owner, where assigning to the owner would be seen
            self._record(origin, kind, step, value, "identity")
            self._held_by(self.place(value, origin, kind, step))
            return
        made = self.place(value, origin, kind, step)
        self._told(made)
        if id(cls) in _READ_WHOLE:
            self._container(made, kind, step, value, origin)
        elif step not in REGISTRIES and not _is_hooks(step) and is_container(value):
            self.assume_contents(made)
        elif issubclass(cls, _LEAVES) and (kind != "attr" or holds(origin.value, step, value)):
            self._record(origin, kind, step, value, "identity")

    def _by_code(self, origin: Origin, key: Any, value: Any) -> bool:
        """Whether to look a key up would run code of the key's: then all that the container holds is told, by identity."""
        if is_frozen(key) or not is_container(origin.value):
            return False
        if (id(origin.value), "attr", "__contents__") not in self._reads:
            self.assume_contents(origin)
        if not self._is_told(value):
            self._held_in_container(self.root(f"item of {origin.path()}", value))
        return True

    def _told(self, made: Origin) -> None:
        """What C uses of an object, or tells of it, without a read that is seen."""
        value = made.value
        cls = type(value)
        self.met(cls)
        if cls is MethodWrapperType or issubclass(cls, super):
            self._held_in(made, "__self__", _SELF[cls is MethodWrapperType](value))
        elif issubclass(cls, ReferenceType):
            self.assume_object(made)
            self._referent(made)
        elif issubclass(cls, partial):
            self._record(made, "attr", "func", value.func, "identity")
            self._held_in(made, "args", value.args)
            self._held_in(made, "keywords", value.keywords)
        elif issubclass(cls, _TOLD_BY_C):
            self.tellers[id(value)] = value

    def _again(self, known: Origin, origin: Origin, kind: StepKind, step: Any) -> None:
        """A known object was read. By another path than its own: both go on to lead to one object."""
        registry = type(step) is str and step in REGISTRIES
        if registry or (_owner(known.parent) is _owner(origin) and _is_step(known.step, step)):
            return
        if kind == "attr":
            self.shadow(origin, step)
        cls = type(known.value)
        if cls is ModuleType:
            return
        if issubclass(cls, _BY_IDENTITY) and kind == "attr" and not holds(origin.value, step, known.value):
            return
        self._record(origin, kind, step, known, "alias")

    def _bound(self, method: Origin) -> None:
        """A bound method that is held: its function, and the object that the function is given."""
        self._record(method, "attr", "__func__", method.value.__func__, "identity")
        self._held_in(method, "__self__", method.value.__self__)

    def _referent(self, reference: Origin) -> None:
        """What a weak reference leads to is found by a call, on no path."""
        held = ReferenceType.__call__(reference.value)
        if held is not None:
            self._told(self.root(f"referent of {reference.path()}", held))

    def _held_by(self, function: Origin) -> None:
        """The cells that a function closes over, and the object that a C method is bound to, are outside as well."""
        value = function.value
        if type(value) is FunctionType:
            if value.__closure__:
                cells = self.place(value.__closure__, function, "attr", "__closure__")
                for index, cell in enumerate(value.__closure__):
                    self.place(cell, cells, "item", index)
            for name in ("__defaults__", "__kwdefaults__"):
                self._defaults(function, name, getattr(value, name))
        elif type(value) is BuiltinFunctionType and type(value.__self__) is not ModuleType:
            self._held_in(function, "__self__", value.__self__)

    def function(self, value: FunctionType) -> None:
        """A function from outside runs: what it closes over and its defaults are outside as well."""
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        if value.__closure__ or not all(id(type(each)) in _PLAIN for each in defaults):
            known = self._known.get(id(value))
            self._held_by(known or self.root(f"function {value.__module__}.{value.__qualname__}", value))

    def _defaults(self, function: Origin, name: str, held: Any) -> None:
        """The objects among the defaults of a function. That they stay its defaults is told by the function."""
        if not held:
            return
        items = held.items() if type(held) is dict else enumerate(held)
        for key, value in items:
            if id(type(value)) not in _PLAIN:
                self.read_from(self.place(held, function, "attr", name), "item", key, value)

    def _held_in(self, holder: Origin, name: str, value: Any) -> None:
        """What C uses of an object without a read that is seen."""
        if is_container(value):
            self.read_from(holder, "attr", name, value)
        elif id(value) not in self._known:
            self._told(self.place(value, holder, "attr", name))

    def shadow(self, origin: Origin, name: str) -> None:
        """What was found for a name is not the object's own: it goes on to have none of its own, which would go first."""
        if name == "__dict__" or self.is_shadow(origin, name):
            return
        own = namespace_of(origin.value)
        if own is not None and name not in own:
            self._reads[id(origin.value), "shadow", name] = Read(origin, "attr", name, None, "shadow", None)

    def is_shadow(self, origin: Origin, name: str) -> bool:
        """Whether :meth:`shadow` was told already."""
        return (id(origin.value), "shadow", name) in self._reads

    def assume_class(self, origin: Origin) -> None:
        """The object's class is what it is."""
        self._record(origin, "attr", "__class__", type(origin.value), "type")

    def assume_object(self, origin: Origin, place: Origin | None = None) -> None:
        """A path goes on to lead to this very object, or to the one that another path leads to."""
        if origin.parent is None:
            return
        if place is None:
            self._record(origin.parent, origin.kind, origin.step, origin.value, "identity")
        else:
            self._record(origin.parent, origin.kind, origin.step, place, "alias")

    def listed(self, registry: Any) -> None:
        """All of a registry was read: it goes on to have the keys that it has."""
        origin = self._known.get(id(registry))
        if origin is None or origin.step not in REGISTRIES:
            return
        self.assume_keys(origin)
        if origin.step == "__dict__":
            return
        for key, value in registry.items():  # what is None is passed over, what is there twice is told once
            self.read_from(origin, "item", key, value)
            known = self._known.get(id(value))
            if known is not None and known.parent is not None:
                self.apart[id(value)] = known

    def assume_keys(self, origin: Origin) -> None:
        """A dict has the keys that it has, in this order."""
        self._record(origin, "attr", "keys", tuple(filter(OURS.__ne__, origin.value)), "keys")

    def _container(self, made: Origin, kind: StepKind, step: Any, value: Any, origin: Origin) -> None:
        if made.step in REGISTRIES and (made.step != "__dict__" or "_modules" in value):
            return
        if len(value) > LIMIT:
            self.assume_contents(made)
            return
        items: Iterator[tuple[Any, Any]]
        if isinstance(value, dict):
            items = iter(value.items())
        elif isinstance(value, (list, tuple)):
            items = iter(enumerate(value))
        else:
            if all(type(item) in PLAIN for item in value):
                self._record(origin, kind, step, value.copy(), "value")
            else:
                self.assume_contents(made)
            return
        if isinstance(value, dict) and not _is_hooks(step):  # their order counts as well
            self.assume_contents(made)
        self._record(made, "attr", "__len__", len(value), "length")
        for key, item in items:
            if type(key) in PLAIN:
                self.read_from(made, "item", key, item)

    def assume_contents(self, container: Origin) -> None:
        """A container holds what it holds: C may read it whole, where nobody sees what is read."""
        held = contents(container.value)
        self._record(container, "attr", "__contents__", held, "contents")
        if len(held) > LIMIT or not holds_objects(container.value):
            return
        for key, item in places(container.value) or ():
            if type(key) in PLAIN and not self._is_told(item):
                self._held_in_container(self.place(item, container, "item", key))
        for index, item in enumerate(held):
            if not self._is_told(item):
                # without a subscript: since the container goes on to hold this very object, it is a root
                self._held_in_container(self.root(f"item {index} of {container.path()}", item))

    def _is_told(self, item: Any) -> bool:
        """Whether the contents of a container say all of an item, or it is known already."""
        cls = type(item)
        return id(cls) in _PLAIN or id(item) in self._known or issubclass(cls, (*_BY_IDENTITY, ModuleType))

    def _held_in_container(self, made: Origin) -> None:
        """What a container holds is outside too. Dicts in it wait until somebody reads them."""
        cls = type(made.value)
        self._told(made)
        if cls is tuple or cls is list:
            self._container(made, made.kind, made.step, made.value, made)
        elif is_container(made.value):
            if issubclass(cls, dict):
                self.waiting[id(made.value)] = made
            else:
                self.assume_contents(made)

    def read_whole(self, value: Any) -> None:
        """A dict that waited is read by C."""
        made = self.waiting.pop(id(value))
        if type(made.value) is dict:
            self._container(made, made.kind, made.step, made.value, made)
        else:
            self.assume_contents(made)

    def absent(self, origin: Origin, name: str) -> None:
        """An object has no attribute of this name: another branch runs once it has."""
        cls = type(origin.value)
        found = MISSING if issubclass(cls, type) else lookup(cls, name)
        if not issubclass(cls, type) and (found is MISSING or type(found) is MemberDescriptorType):
            self._record(origin, "attr", name, None, "absence")

    def assume_cache(self, cache: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> None:
        """A ``functools.lru_cache`` goes on to hold what was taken from it for a call."""
        name = f"cache {cache.__wrapped__.__module__}.{cache.__wrapped__.__qualname__}"
        call = f"call {(*map(id, args), *kwargs, *map(id, kwargs.values()))}"
        held = Held(cache, args, kwargs, value)
        self._record(self.of(cache) or self.root(name, cache), "attr", call, held, "cache")

    def _record(self, origin: Origin, kind: StepKind, step: Any, value: Any, meaning: Meaning) -> None:
        # a key of the program's own is told by its identity: its hash would be code of the program
        key = (id(origin.value), kind, step if id(type(step)) in _PLAIN else ByIdentity(step))
        if key not in self._reads:
            self._reads[key] = Read(origin, kind, step, value, meaning, self.locate())

    def assumptions(self) -> list[Assumption]:
        """What was burned in, as data."""
        return as_data(self._reads.values())

    def known(self) -> list[Origin]:
        """All origins, in the order in which they were found."""
        return list(self._known.values())

    def reads(self) -> list[Read]:
        """The reads, in order."""
        return list(self._reads.values())
