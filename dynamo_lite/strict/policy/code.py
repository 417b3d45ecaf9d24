"""Is the code that a trace ran the code that would run now? Classes, functions, builtin names, abstract classes.

Quiet calls ask for marks that CPython keeps (``decode.layout``), all of them at once. Where a mark has moved, the members
themselves are compared; where they are the same, the new mark is kept. What a class merely holds is no code: it is read, and recorded
where it is read.
"""

from __future__ import annotations

import abc
import builtins
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain
from operator import call, is_, itemgetter
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from dynamo_lite import places
from dynamo_lite.strict.decode.layout import class_mark, function_mark, settle, type_mark
from dynamo_lite.strict.machine.slots import MISSING, dict_of, inherits, mro_of, name_of, type_flags
from dynamo_lite.strict.policy.contents import PLAIN
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.seen import ALL, Seen, may_change

_Name = tuple[dict[str, Any], str, Any]
_IDLE: Final = ("__init__", "__setstate__")
_JOIN: Final = b"".join
_BUILTINS: Final = vars(builtins)
_CODE: Final = (FunctionType, BuiltinFunctionType)
# what CPython, ``abc``, ``copyreg``, ``typing`` and ``dataclasses`` note on a class; no code
_NOTES: Final = frozenset(
    {
        "__abstractmethods__", "__annotations__", "__dataclass_params__", "__doc__", "__firstlineno__", "__module__",
        "__non_callable_proto_members__", "__orig_bases__", "__parameters__", "__protocol_attrs__", "__qualname__",
        "__slotnames__", "__static_attributes__", "__type_params__",
    }
)  # fmt: skip
_COLLECTION: Final = (
    1 << 5 | 1 << 6
)  # whether patterns take instances for sequences or mappings; registering changes that


def _is_code(name: str, value: Any) -> bool:
    """Whether a member of a class decides what runs: functions and descriptors, classes, and all that C looks for by its name."""
    kind = type(value)
    if kind in _CODE or inherits(kind, type):
        return True
    if name.startswith("__") and name.endswith("__"):
        return name not in _NOTES
    return any("__get__" in dict_of(base) for base in mro_of(kind))


def _is_same(now: Any, before: Any) -> bool:
    return now is before or (type(now) is type(before) and type(now) in PLAIN and now == before)


def _named(cls: type) -> str:
    return f"{type.__getattribute__(cls, '__module__')}.{name_of(cls)}"


class _Classes:
    """The classes as they were: of each the bases, the metaclass, and the members that are code or stand before code."""

    def __init__(
        self,
        classes: Iterable[type],
        wanted: Mapping[int, tuple[type, set[str]]],
        ran: Iterable[FunctionType],
    ) -> None:
        kept = list(classes)
        self._ran = frozenset(map(id, ran))
        above = {id(base) for cls in kept for base in mro_of(cls)[1:]}
        self.leaves = [cls for cls in kept if id(cls) not in above]
        self.all = list({id(base): base for cls in self.leaves for base in mro_of(cls)}.values())
        self._lines = {id(cls): (mro_of(cls), type(cls), self._flags(cls)) for cls in self.all}
        self._wanted: dict[int, set[str]] = {}
        for leaf in self.leaves:
            line = mro_of(leaf)
            names = {name for base in line for name, value in dict_of(base).items() if _is_code(name, value)}
            names.update(*[wanted[id(base)][1] for base in line if id(base) in wanted])
            for base in line:
                self._wanted.setdefault(id(base), set()).update(names)
        # compilers put some of their own in the place of ``Module``'s, which makes no module of forward's
        asked = {name for _, names in wanted.values() for name in names}
        self._idle = {
            (id(cls), name)
            for cls in self.all
            for name in _IDLE
            if self._is_idle(cls, name) and name not in asked
        }
        self._members = {id(cls): self._members_of(cls) for cls in self.all if may_change(cls)}

    @staticmethod
    def _flags(cls: type) -> int:
        return type_flags(cls) & _COLLECTION

    def _is_idle(self, cls: type, name: str) -> bool:
        """Whether a class of a library has a constructor that did not run: whoever made an instance of it, or of a class below, ran it."""
        maker = dict_of(cls).get(name)
        idle = type(maker) is FunctionType and id(maker) not in self._ran
        return idle and places.is_library_file(maker.__code__.co_filename)

    def _members_of(self, cls: type) -> dict[str, Any]:
        wanted = self._wanted[id(cls)]
        found = {
            name: value
            for name, value in dict_of(cls).items()
            if (name in wanted or (type(name) is str and _is_code(name, value)))
            and (id(cls), name) not in self._idle
        }
        return found if ALL not in wanted else {**dict.fromkeys(dict_of(cls)), **found}

    def problem(self, leaves: Iterable[type]) -> str | None:
        """What of these classes, or of their bases, is not as it was."""
        asked = {id(base): base for leaf in leaves for base in (leaf, *self._lines[id(leaf)][0])}
        for cls in asked.values():
            line, meta, flags = self._lines[id(cls)]
            if len(mro_of(cls)) != len(line) or not all(map(is_, mro_of(cls), line)):
                return f"the bases of {_named(cls)}"
            if type(cls) is not meta or self._flags(cls) != flags:
                return f"the class of {_named(cls)}"
            before = self._members.get(id(cls))
            now = before if before is None else self._members_of(cls)
            if now is None or before is None:
                continue
            for name in {**before, **now}:
                if not _is_same(now.get(name, MISSING), before.get(name, MISSING)):
                    return f"{_named(cls)}.{name}"
        return None


class _Functions:
    """What functions ran: their code, their defaults, and what their keyword defaults hold."""

    def __init__(self, functions: Iterable[FunctionType]) -> None:
        self.all = list({id(fn): fn for fn in functions}.values())
        self._before = [self._of(fn) for fn in self.all]
        self._named = [fn.__kwdefaults__ for fn in self.all if fn.__kwdefaults__]
        self._counts = [*map(len, self._named)]
        self._content = [*self._contents()]

    @staticmethod
    def _of(fn: FunctionType) -> tuple[Any, ...]:
        named = fn.__kwdefaults__
        held = () if named is None else (*named, *named.values())
        return fn.__code__, fn.__defaults__, fn.__kwdefaults__, *held

    def _contents(self) -> Iterable[Any]:
        return chain(chain.from_iterable(self._named), chain.from_iterable(map(dict.values, self._named)))

    def keyword_defaults_hold(self) -> bool:
        """Whether dictionaries of keyword defaults hold what they held."""
        return [*map(len, self._named)] == self._counts and all(map(is_, self._contents(), self._content))

    def problem(self) -> str | None:
        """The function that is not as it was."""
        for fn, before in zip(self.all, self._before, strict=True):
            now = self._of(fn)
            if len(now) != len(before) or not all(map(is_, now, before)):
                return f"the code or a default of {fn.__module__}.{fn.__qualname__}"
        return None


class _Names:
    """Globals that were looked for in vain, and what the builtins held instead; globals that are code (``named``)."""

    def __init__(self, names: Iterable[_Name], named: Iterable[_Name]) -> None:
        self._named = list(named)
        self._gets = [partial(space.get, name) for space, name, _ in self._named]
        self._globals = [value for *_, value in self._named]
        spaces: dict[int, tuple[dict[str, Any], list[str]]] = {}
        held: dict[str, Any] = {}
        for namespace, name, value in names:
            spaces.setdefault(id(namespace), (namespace, []))[1].append(name)
            if value is MISSING:
                spaces.setdefault(id(_BUILTINS), (_BUILTINS, []))[1].append(name)
            elif _BUILTINS.get(name, MISSING) is value:
                held[name] = value
        for name in ("__build_class__", "__import__"):
            held[name] = _BUILTINS.get(name)
        self._absent = [(space.keys(), tuple(absent)) for space, absent in spaces.values()]
        self._asks = [keys.isdisjoint for keys, _ in self._absent]
        self._tuples = [absent for _, absent in self._absent]
        self._get = itemgetter(*held)
        self._held = held
        self._values = (*held.values(),)

    def hold(self) -> bool:
        """Whether all is absent that was, and the builtins are what they were."""
        try:
            return (
                all(map(call, self._asks, self._tuples))
                and all(map(is_, self._get(_BUILTINS), self._values))
                and all(map(is_, map(call, self._gets), self._globals))
            )
        except KeyError:
            return False

    def problem(self) -> str | None:
        """The name that means something else now."""
        for keys, absent in self._absent:
            for name in absent:
                if name in keys:
                    return f"the global {name}"
        for space, name, value in self._named:
            if space.get(name) is not value:
                return f"the global {name}"
        changed = (name for name, value in self._held.items() if _BUILTINS.get(name, MISSING) is not value)
        return next((f"the builtin {name}" for name in changed), None)


class _Judgements:
    """What abstract classes said of classes. Registering one anywhere has them asked again."""

    def __init__(self, pairs: Iterable[tuple[type, type]]) -> None:
        self._answers = [(abstract, cls, issubclass(cls, abstract)) for abstract, cls in pairs]

    def problem(self) -> str | None:
        """The class that is judged otherwise now."""
        for abstract, cls, answer in self._answers:
            if issubclass(cls, abstract) is not answer:
                return f"whether {_named(cls)} is a subclass of {_named(abstract)}"
        return None


class _Marks:
    """The marks of classes and functions, and what they were. A mark that is missing holds for nothing."""

    def __init__(self, classes: _Classes, functions: _Functions) -> None:
        self._leaves = classes.leaves
        self._tags = [type_mark(cls) for cls in classes.leaves]
        fixed = [*map(class_mark, classes.all), *map(function_mark, functions.all)]
        marks = [mark for mark in (*self._tags, *fixed) if mark is not None]
        self._marks = marks if len(marks) == len(self._tags) + len(fixed) else None
        self._fixed = b"" if self._marks is None else _JOIN(marks[len(self._tags) :])
        self._expected: bytes | None = None
        self.tags: list[bytes] = []
        self.keep(self.now())

    def hold(self) -> bool:
        """Whether no mark has moved."""
        return self._marks is not None and _JOIN(self._marks) == self._expected

    def now(self) -> list[bytes]:
        """The tags of the leaves; empty where there is none."""
        for leaf in self._leaves:
            settle(leaf)
        return [bytes(tag) if tag is not None and any(tag) else b"" for tag in self._tags]

    def moved(self, now: list[bytes]) -> list[type]:
        """The leaves whose tag is not the one that is kept."""
        pairs = zip(self._leaves, now, self.tags, strict=True)
        return [leaf for leaf, tag, before in pairs if not tag or tag != before]

    def keep(self, now: list[bytes]) -> None:
        """These tags are of classes that are as they were."""
        self.tags = now
        self._expected = _JOIN([*now, self._fixed]) if all(now) else None


class Code:
    """The code of one trace, as it was when this was made. One object serves all modules: code belongs to none."""

    def __init__(self, seen: Seen, classes: Iterable[type]) -> None:
        self._token = abc.get_cache_token()
        self._functions = _Functions(seen.functions())
        self._classes = _Classes(classes, seen.wanted, self._functions.all)
        self._marks = _Marks(self._classes, self._functions)
        self._names = _Names(seen.names.values(), seen.held.values())
        self._judgements = _Judgements(seen.judgements.values())

    def holds(self) -> bool:
        """Whether all is as it was."""
        return self._is_quiet() or self._problem() is None

    def problem(self) -> str | None:
        """What is not as it was, in words; None if all is."""
        return None if self._is_quiet() else self._problem()

    def _is_quiet(self) -> bool:
        return (
            self._marks.hold()
            and abc.get_cache_token() == self._token
            and self._functions.keyword_defaults_hold()
            and self._names.hold()
        )

    def _problem(self) -> str | None:
        token, now = abc.get_cache_token(), self._marks.now()
        judged_anew = token != self._token
        found = (
            self._classes.problem(self._classes.leaves if judged_anew else self._marks.moved(now))
            or self._functions.problem()
            or self._names.problem()
            or (self._judgements.problem() if judged_anew else None)
        )
        if found is None:
            self._marks.keep(now)
            self._token = token
        return found


def code_of(seen: Seen, origins: Origins) -> Code:
    """The code of a trace that has just ended."""
    return Code(seen, seen.classes(origins))
