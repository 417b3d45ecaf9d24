"""What a trace reads of the program's surroundings: burned in, with the path that leads there."""

from __future__ import annotations

import operator
import os
import sys
from types import CodeType, FunctionType, MethodType, WrapperDescriptorType
from typing import Any, Final

from dynamo_lite import places
from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.attributes import OBJECT_GET
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.machine.null import NullPolicy
from dynamo_lite.strict.machine.slots import MISSING, dict_of, lookup, mro_of, name_of
from dynamo_lite.strict.policy import tables
from dynamo_lite.strict.policy.errors import ITERATOR_OUTSIDE
from dynamo_lite.strict.policy.origins import Origin, Origins, StepKind
from dynamo_lite.strict.policy.roots import globals_root
from dynamo_lite.strict.policy.seen import Seen, may_change
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.trace.settings import Settings
from solver.errors import Location

_REGISTRY_NAMES: Final = ("_parameters", "_buffers", "_modules")
_BINDING: Final = (MethodType, FunctionType)
_REGISTRIES: Final = operator.itemgetter(*_REGISTRY_NAMES)


class Reads(NullPolicy):
    """The part of a policy that is told of reads."""

    def __init__(
        self, transaction: Transaction, origins: Origins, module_class: type, settings: Settings
    ) -> None:
        self.transaction = transaction
        self.settings = settings
        self.origins = origins
        self.seen = Seen(transaction)
        self._passed: set[tuple[int, str]] = set()  # modules whose registries were read up to this one
        self._answered: set[tuple[int, str]] = set()  # attributes of modules that a registry gave
        self._module_getattr = _look_up_of(module_class)

    def load_global(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        if name in namespace and self.transaction.entry(namespace, "global", name) is None:
            self._read(globals_root(self.origins, namespace), "item", name, value)
        elif name not in namespace:
            self.seen.missing(namespace, name, value)
        return value

    def missing_global(self, namespace: dict[str, Any], name: str) -> None:
        self.seen.missing(namespace, name)

    def entered(self, fn: FunctionType) -> None:
        if self.seen.entered(fn):
            self.origins.function(fn)

    def judged(self, abstract: type, cls: type) -> None:
        self.seen.judged(abstract, cls)

    def load_deref(self, cell: Any, name: str, value: Any) -> Any:
        origin = self.origins.of(cell)
        if origin is not None and self.transaction.entry(cell, "deref", name) is None:
            self._read(origin, "cell", name, value)
        return value

    def load_attr(self, obj: Any, name: str, value: Any) -> Any:
        origin = self.origins.of(obj)
        if origin is None:
            if type(obj) is MethodType and name in getattr(obj.__func__, "__dict__", ()):
                obj = obj.__func__
            elif not issubclass(type(obj), type):
                return self._of_class(obj, name, value)
            origin = self._rooted(obj)
            if origin is None:
                return value
        if self.transaction.entry(obj, "attr", name) is None:
            self._read(origin, "attr", name, value)
            if name == "__dict__" and is_users(peek()):
                self.origins.listed(value)
        return value

    def _of_class(self, obj: Any, name: str, value: Any) -> Any:
        """An attribute of an object that forward made: where it lies on the class, it is read of that."""
        cls = type(obj)
        if may_change(cls) and type(value) not in _BINDING and lookup(cls, name) is value:
            holder = next(base for base in mro_of(cls) if name in dict_of(base))
            origin = self._rooted(holder)
            if origin is not None and self.transaction.entry(holder, "attr", name) is None:
                self._read(origin, "attr", name, value)
        return value

    def _rooted(self, code: Any) -> Origin | None:
        """The origin of a function or a class that was reached on no path; None for one of the trace, and what cannot change."""
        known = self.origins.of(code)
        if known is not None or self.transaction.is_known_fresh(code):
            return known
        if type(code) is FunctionType:
            return self.origins.root(f"function {code.__module__}.{code.__qualname__}", code)
        if not issubclass(type(code), type) or not may_change(code):
            return None
        return self.origins.root(f"class {type.__getattribute__(code, '__module__')}.{name_of(code)}", code)

    def hooked(self, hook: FunctionType, obj: Any, name: str) -> Any:
        """The look-up of a module's ``__getattr__``: parameters, buffers, modules. What it does not find is interpreted."""
        if hook.__code__ is not self._module_getattr:
            return MISSING
        own = OBJECT_GET(obj, "__dict__")
        try:
            registries = self.operate(_REGISTRIES, own)
        except KeyError:
            return MISSING
        for name_of_registry, registry in zip(_REGISTRY_NAMES, registries, strict=True):
            if type(registry) is not dict:
                return MISSING
            if self.operate(operator.contains, registry, name):
                return self._registered(obj, own, name_of_registry, name)
        return MISSING

    def _registered(self, obj: Any, own: dict[str, Any], holder: str, name: str) -> Any:
        """The reads of a look-up that ended in the registry ``holder``."""
        registry = own[holder]
        place = id(obj), holder
        if place not in self._passed or self.transaction.touched(own):
            origin = self.origins.of(obj)
            if origin is not None and self.transaction.entry(obj, "attr", "__dict__") is None:
                self._passed.add(place)
                self._read(origin, "attr", "__dict__", own)
            for each in _REGISTRY_NAMES[: _REGISTRY_NAMES.index(holder) + 1]:
                registry = self.load_item(own, each, own[each])
        if (id(obj), name) not in self._answered:
            self._answered.add((id(obj), name))
            self.not_held(obj, name)
        return self.load_item(registry, name, self.operate(operator.getitem, registry, name))

    def described(self, cls: type, name: str, attribute: Any) -> None:
        holder = next((base for base in mro_of(cls) if name in dict_of(base)), cls)
        if (
            not self.transaction.is_known_fresh(holder)
            and self.transaction.entry(holder, "attr", name) is None
        ):
            self.origins.root(f"class {holder.__module__}.{name_of(holder)}.{name}", attribute)

    def not_held(self, obj: Any, name: str) -> None:
        origin = self.origins.of(obj)
        if origin is not None and self.transaction.entry(obj, "attr", name) is None:
            if self.origins.is_shadow(origin, name):
                return
            self.origins.shadow(origin, name)
        self.seen.want(type(obj), name)
        if issubclass(type(obj), type):
            self.seen.want(obj, name)

    def missing_attr(self, obj: Any, name: str) -> None:
        self.seen.want(type(obj), name)
        behind = (obj,) if issubclass(type(obj), type) else ()
        for cls in self.seen.behind if id(type(obj)) in self.special_ids else behind:
            self.seen.want(cls, name)
        origin = self._rooted(obj.__func__) if type(obj) is MethodType else self.origins.of(obj)
        if origin is not None and self.transaction.entry(obj, "attr", name) is None:
            self.origins.absent(origin, name)

    def load_item(self, container: Any, key: Any, value: Any) -> Any:
        if container is os.environ or container is os.environb:
            self.read_environment(key)
            return value
        origin = self.origins.of(container)
        if origin is not None and self.transaction.entry(container, "item", key) is None:
            self._read(origin, "item", key, value)
        return value

    def _read(self, origin: Origin, kind: StepKind, step: Any, value: Any) -> None:
        """Something was read of an outside object, and not after the program wrote it."""
        self.origins.read_from(origin, kind, step, value)
        cls = type(value)
        if id(cls) not in tables.QUIET and is_native_iterator(cls):
            raise ITERATOR_OUTSIDE(type=cls.__name__, location=traced.location())

    def read_environment(self, key: Any) -> None:
        """A variable of the environment was read, by its name as text or bytes."""
        if type(key) in (str, bytes):
            self.settings.variable(os.fsdecode(key), user_location)


def is_users(machine: Any) -> bool:
    """Whether the line that runs now is the user's own."""
    code = None if machine is None or machine.frame is None else machine.frame.code
    return code is not None and not places.is_library_file(code.code.co_filename)


def _look_up_of(module_class: type) -> CodeType | None:
    """The code of the library's own ``Module.__getattr__``; None where somebody put another in its place."""
    found = module_class.__dict__.get("__getattr__")
    if type(found) is not FunctionType:
        return None
    code = found.__code__
    file = getattr(sys.modules.get(module_class.__module__), "__file__", None)
    return code if (code.co_filename, code.co_qualname) == (file, "Module.__getattr__") else None


def is_native_iterator(cls: type) -> bool:
    """An iterator of C code. Those in Python are interpreted, and what they write is put back; files have rules of their own."""
    step = lookup(cls, "__next__")
    if step is MISSING:
        return False
    if type(step) is not WrapperDescriptorType or lookup(cls, "__iter__") is MISSING:
        return False
    return not step.__objclass__.__module__.startswith(("_io", "torch", "numpy"))


def user_location() -> Location | None:
    """The innermost interpreted line that is the user's own; otherwise the innermost one."""
    machine = peek()
    frame = None if machine is None else machine.frame
    while frame is not None:
        code = frame.code
        if code is not None and not places.is_library_file(code.code.co_filename):
            return frame.location()
        frame = frame.back
    return traced.location()
