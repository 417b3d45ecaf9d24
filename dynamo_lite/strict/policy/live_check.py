"""Does what was burned in still hold on a live module? A walk by paths, and a fast check that is bound to the present objects.

The walk starts at the module and follows every path that was read; it costs a Python attribute access a step. The bound
check remembers the objects that a walk has found: as long as each is still where it was, its values are read from it
directly. When it fails, the walk decides, and the check is bound anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from keyword import iskeyword
from types import FunctionType, ModuleType
from typing import Any, Final

from dynamo_lite.strict.machine.slots import TypeSet, dict_of, inherits, mro_of
from dynamo_lite.strict.policy.contents import is_changed
from dynamo_lite.strict.policy.kinds import assume_kinds
from dynamo_lite.strict.policy.origins import OURS, Origin, Origins, Read, StepKind, namespace_of
from dynamo_lite.strict.policy.seen import may_change
from fx_ir.plain import same_plain

_GENERIC: Final[Any] = object.__getattribute__
_KNOWN_WAY: Final = TypeSet((dict, list, tuple, FunctionType, ModuleType, type)).ids
_MISSING: Final = object()
_MERGED: Final = "one of two objects that are now one and the same"
_TROUBLE: Final = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class LiveCheck:
    """The reads of one capture, checked on a module of the same kind."""

    def __init__(
        self,
        origins: Origins,
        module: Any,
        is_tensor: Callable[[Any], bool],
        places: Mapping[int, str | None],
    ) -> None:
        self._origins = origins
        self._places = places
        self._module = module
        self._is_tensor = is_tensor
        self._walk: Callable[[Any], str | None] | None = None

    def problem(self, module: Any) -> str | None:
        """The path of the first read that gives something else now; None if all hold."""
        if self._walk is None:
            assume_kinds(self._origins, self._module, self._is_tensor, self._places)
            self._walk = _Writer(self._origins, self._module).walk()
        return self._walk(module)

    def bind(self, module: Any) -> Callable[[], bool]:
        """A fast check for the objects that ``module`` consists of now; False means: ask :meth:`problem`."""
        return _Bound(self._origins, self._module, module).compile()


class _Writer:
    """Writes ``check(module)``: every object on the way gets a local name."""

    def __init__(self, origins: Origins, module: Any) -> None:
        self.origins = origins
        self.module = module
        self.lines: list[str] = []
        self.values: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.objects: set[int] = set()  # those that the names stood for, each once

    def owner(self, origin: Origin) -> str:
        """The local variable that holds the object of an origin."""
        found = self.names.get(id(origin))
        if found is not None:
            return found
        if origin.parent is None:
            name = "module" if origin.value is self.module else f"r{len(self.names)}"
            if name != "module":
                self.values[name] = origin.value
        else:
            found_from = self.step(origin.parent, origin.kind, origin.step)
            name = f"o{len(self.names)}"
            self.lines.append(f"{name} = {found_from}")
        self.names[id(origin)] = name
        self.objects.add(id(origin.value))
        return name

    def step(self, origin: Origin, kind: StepKind, step: Any) -> str:
        """The expression that takes a step from an object."""
        owner = self.owner(origin)
        if kind == "item":
            return f"{owner}[{self.constant(step)}]"
        if kind == "cell":
            return f"{owner}.cell_contents"
        if _has_own_way(origin.value):
            self.values["generic"] = _GENERIC
            return f"generic({owner}, {step!r})"
        if step.isidentifier() and not iskeyword(step):
            return f"{owner}.{step}"
        return f"getattr({owner}, {step!r})"

    def constant(self, value: Any) -> str:
        if type(value) in (int, str, bool) or value is None:
            return repr(value)
        name = f"c{len(self.values)}"
        self.values[name] = value
        return name

    def differs(self, read: Read, owner: str, found: str = "") -> str:
        """An expression that is true where the read gives something else now; empty where nothing can be said."""
        value = read.value
        if read.meaning == "alias":
            return f"{found} is not {self.owner(value)}"
        if read.meaning == "cache":
            return f"not {self.constant(value)}.is_held()"
        if read.meaning == "contents":
            self.values["is_changed"] = is_changed
            return f"is_changed({owner}, {self.constant(value)})"
        if read.meaning == "absence":
            self.values["has"] = _has
            return f"has({owner}, {read.step!r})"
        if read.meaning == "shadow":
            self.values["namespace_of"] = namespace_of
            return f"{read.step!r} in (namespace_of({owner}) or ())"
        if read.meaning == "length":
            return f"len({owner}) != {value}"
        if read.meaning == "type":
            return f"type({owner}) is not {self.constant(value)}"
        if read.meaning == "keys":
            found = f"(*{owner},)"
            if read.origin.step == "__dict__":
                self.values["other"] = OURS.__ne__
                found = f"(*filter(other, {owner}),)"
            return f"{found} != {self.constant(value)}"
        if value is None or type(value) is bool or read.meaning == "identity":
            return f"{found} is not {self.constant(value)}"
        cls = type(
            value
        )  # 2 and 2.0 are equal and do not mean the same; an object of the program's is not asked
        if cls in (set, frozenset):
            self.values["is_changed"] = is_changed
            return f"type(v := {found}) is not {cls.__name__} or is_changed(v, {self.constant((*value,))})"
        if cls in (int, str, bytes) or (cls is float and value and value == value):
            return f"type(v := {found}) is not {cls.__name__} or v != {self.constant(value)}"
        self.values["same"] = same_plain
        return f"not same({found}, {self.constant(value)})"

    def merged(self, read: Callable[[Origin, StepKind, Any], str]) -> str:
        """An expression that is true where some of what registries told is None or one and the same; empty where none told."""
        told = [
            read(each.parent, each.kind, each.step)
            for each in self.origins.apart.values()
            if each.parent is not None
        ]
        self.values["count"] = _count
        return f"count(None, {', '.join(told)}) != {len(told) + 1}" if told else ""

    def walk(self) -> Callable[[Any], str | None]:
        for read in self.origins.reads():
            owner = self.owner(read.origin)
            test = self.differs(read, owner, self.step(read.origin, read.kind, read.step))
            if test:
                self.lines.append(f"if {test}: return {read.path()!r}")
        if told := self.merged(self.step):
            self.lines.append(f"if {told}: return {_MERGED!r}")
        # what were different objects go on to be different ones
        names = self.names.values()
        self.lines.append(f"if count({', '.join(names)}) != {len(self.objects)}: return {_MERGED!r}")
        lines = ["def check(module):", " try:", *[f"  {line}" for line in self.lines or ["pass"]]]
        lines += [" except trouble as error:", "  return str(error)"]
        namespace = {**self.values, "trouble": _TROUBLE}
        exec(compile("\n".join(lines), "<live walk>", "exec"), namespace)
        check: Callable[[Any], str | None] = namespace["check"]
        return check


class _Bound(_Writer):
    """Writes ``check()`` over constants: each object is compared with what its parent holds now."""

    def __init__(self, origins: Origins, module: Any, live: Any) -> None:
        super().__init__(origins, module)
        self.live = live
        self.now: dict[int, Any] = {}
        self.anew: dict[int, bool] = {}

    def object_of(self, origin: Origin) -> Any:
        """The object that the origin's path leads to now."""
        if id(origin) not in self.now:
            if origin.parent is None:
                found = self.live if origin.value is self.module else origin.value
            else:
                found = _follow(self.object_of(origin.parent), origin.kind, origin.step)
            self.now[id(origin)] = found
        return self.now[id(origin)]

    def owner(self, origin: Origin) -> str:
        name = self.names.get(id(origin))
        if name is None:
            held = self.object_of(origin)
            name = self.names[id(origin)] = f"k{len(self.names)}"
            parent = origin.parent
            if parent is not None and self.is_made_anew(origin):
                self.lines.append(f"{name} = {self.step(parent, origin.kind, origin.step)}")
                return name
            self.values[name] = held
            if parent is not None and not self.is_fixed(origin):
                self.lines.append(
                    f"if {self.read(parent, origin.kind, origin.step)} is not {name}: return False"
                )
        return name

    def is_made_anew(self, origin: Origin) -> bool:
        """Whether each read gives another object (``co_varnames`` of code, a property): what it holds is read at each check."""
        if id(origin) not in self.anew:
            parent = origin.parent
            held = self.object_of(origin)
            again = held if parent is None else _follow(self.object_of(parent), origin.kind, origin.step)
            self.anew[id(origin)] = again is not held
        return self.anew[id(origin)]

    def is_fixed(self, origin: Origin) -> bool:
        """What a tuple holds cannot change."""
        parent = origin.parent
        assert parent is not None
        return origin.kind == "item" and self.is_kept_tuple(parent)

    def is_kept_tuple(self, origin: Origin) -> bool:
        """Whether an origin leads to one tuple, whose items are what they are."""
        return type(self.object_of(origin)) is tuple and not self.is_made_anew(origin)

    def read(self, owner: Origin, kind: StepKind, step: Any) -> str:
        """The expression that reads from an owner, by its own dictionary where the value lies there."""
        self.owner(owner)
        if kind == "attr":
            own = self.own(owner)
            if own and step in self.values[own]:
                return f"{own}[{step!r}]"
        return self.step(owner, kind, step)

    def own(self, origin: Origin) -> str:
        """The name of an object's own namespace, which goes on to be its own; empty where it has none."""
        name = self.owner(origin)
        own = f"d{name}"
        if own not in self.values:
            namespace = None if self.is_made_anew(origin) else namespace_of(self.object_of(origin))
            if namespace is None:
                return ""
            self.values[own] = namespace
            self.lines.append(f"if {self.step(origin, 'attr', '__dict__')} is not {own}: return False")
        return own

    def has(self, owner: Origin, name: str) -> str:
        """The expression that is true where an owner has an attribute; of a module, whose own way of looking is slow, by its parts."""
        found = self.owner(owner)
        if inherits(type(self.object_of(owner)), ModuleType):
            return f"{name!r} in {self.constant(vars(self.object_of(owner)))}"
        is_module = hasattr(self.object_of(owner), "_parameters") and not self.is_made_anew(owner)
        parts = vars(self.object_of(owner)) if is_module else None
        if parts is None:
            return self.differs(Read(owner, "attr", name, None, "absence", None), found)
        held = (parts, *[parts.get(registry, {}) for registry in ("_parameters", "_buffers", "_modules")])
        tests = [f"hasattr({self.constant(type(self.object_of(owner)))}, {name!r})"]
        tests += [f"{name!r} in {self.constant(part)}" for part in held]
        return " or ".join(tests)

    def compile(self) -> Callable[[], bool]:
        for read in self.origins.reads():
            owner = self.owner(read.origin)
            if self.is_kept_tuple(read.origin):
                continue
            if read.meaning == "type" and not may_change(read.value) and not self.is_made_anew(read.origin):
                continue  # it is this very object, whose class cannot be set
            if read.meaning == "keys" and read.origin.step == "_modules":  # each of them is looked up anyway
                self.lines.append(f"if len({owner}) != {len(read.value)}: return False")
                continue
            if read.meaning == "absence":
                self.lines.append(f"if {self.has(read.origin, read.step)}: return False")
                continue
            if read.meaning == "shadow" and (own := self.own(read.origin)):
                self.lines.append(f"if {read.step!r} in {own}: return False")
                continue
            special = read.meaning in ("length", "type", "contents", "keys", "cache", "shadow")
            found = "" if special else self.read(read.origin, read.kind, read.step)
            test = self.differs(read, owner, found)
            if test:
                self.lines.append(f"if {test}: return False")
        if told := self.merged(self.read):
            self.lines.append(f"if {told}: return False")
        lines = ["def check():", " try:", *[f"  {line}" for line in self.lines], "  return True"]
        lines += [" except trouble:", "  return False"]
        namespace = {**self.values, "trouble": _TROUBLE}
        exec(compile("\n".join(lines), "<live check>", "exec"), namespace)
        check: Callable[[], bool] = namespace["check"]
        return check


def _count(*objects: Any) -> int:
    return len({*map(id, objects)})


def _has(owner: Any, name: str) -> bool:
    """Whether an object has an attribute; code that a module's namespace has for others is not asked."""
    if inherits(type(owner), ModuleType):
        return name in vars(owner)
    return getattr(owner, name, _MISSING) is not _MISSING


def _follow(owner: Any, kind: StepKind, step: Any) -> Any:
    if kind == "item":
        return owner[step]
    if kind == "cell":
        return owner.cell_contents
    return _GENERIC(owner, step) if _has_own_way(owner) else getattr(owner, step)


def _has_own_way(value: Any) -> bool:
    """Whether a class looks attributes up by code of its own. What that code reads, it reads the generic way."""
    if id(type(value)) in _KNOWN_WAY:
        return False
    spaces = map(dict_of, mro_of(type(value)))
    return (
        type(next(space["__getattribute__"] for space in spaces if "__getattribute__" in space))
        is FunctionType
    )
