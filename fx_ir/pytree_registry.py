"""Which classes are containers, and how each is taken apart: the registry behind :mod:`fx_ir.pytree`."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final

from fx_ir.errors import PYTREE_BAD_DATACLASS, PYTREE_REGISTERED_TWICE

Context = Any
FlattenFunc = Callable[[Any], tuple[Iterable[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
FlattenWithKeysFunc = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Context]]


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """An index into a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, obj: Any) -> Any:
        return obj[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, obj: Any) -> Any:
        return obj[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeDef:
    """How a class is taken apart and put together again."""

    type: type[Any]
    flatten: FlattenFunc
    unflatten: UnflattenFunc
    keys: Callable[[Context, int], Iterable[Any]] | None = None
    flatten_with_keys: FlattenWithKeysFunc | None = None
    serialized_type_name: str | None = None
    to_dumpable_context: Callable[[Context], Any] | None = None
    from_dumpable_context: Callable[[Any], Context] | None = None


REGISTRY: Final[dict[type[Any], NodeDef]] = {}
BY_SERIALIZED_NAME: Final[dict[str, NodeDef]] = {}
RESOLVERS: Final[list[Callable[[type[Any]], NodeDef | None]]] = []
"""Asked about classes that nobody has registered: other registries of the process."""
NAME_RESOLVERS: Final[list[Callable[[str], type[Any] | None]]] = []
"""Asked for the class that a file means by a name which nobody has registered. What they answer is what the process holds."""


def is_namedtuple_class(cls: type[Any]) -> bool:
    """True for classes made by ``namedtuple`` or ``typing.NamedTuple`` (and not for other tuple subclasses)."""
    bases = cls.__bases__
    return bases == (tuple,) and isinstance(cls.__dict__.get("_fields"), tuple)


def node_def(cls: type[Any]) -> NodeDef | None:
    """How ``cls`` is taken apart; None when its instances are leaves. Named tuple classes register themselves."""
    found = REGISTRY.get(cls)
    if found is None and issubclass(cls, tuple) and is_namedtuple_class(cls):
        found = _register_namedtuple(cls, None)
    if found is None:
        for resolve in RESOLVERS:
            found = found or resolve(cls)
    return found


def named_def(name: str) -> NodeDef | None:
    """How the class is taken apart that files name so; None if no class of the process has that name."""
    found = BY_SERIALIZED_NAME.get(name)
    for resolve in () if found is not None else (*NAME_RESOLVERS, _imported):
        cls = resolve(name)
        found = None if cls is None else node_def(cls)
        if found is not None:
            break
    return found


def _imported(name: str) -> type[Any] | None:
    """A named tuple class of a module that the process has imported. Nothing of the module runs."""
    path, _, last = name.rpartition(".")
    inner = [last]
    while path and path not in sys.modules:
        path, _, last = path.rpartition(".")
        inner.insert(0, last)
    held: Any = sys.modules.get(path)
    for part in inner:
        held = vars(held).get(part) if isinstance(held, (type, ModuleType)) else None
    return held if isinstance(held, type) and is_namedtuple_class(held) else None


def child_keys(definition: NodeDef, context: Context, count: int) -> list[Any]:
    """The path entries of a container's children."""
    if definition.keys is None:
        return [SequenceKey(index) for index in range(count)]
    return list(definition.keys(context, count))


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: FlattenWithKeysFunc | None = None,
) -> None:
    """Makes instances of ``cls`` containers.

    ``flatten_fn(obj) -> (children, context)``, ``unflatten_fn(children, context) -> obj``. The context becomes part of
    the structure: it must compare by value. To be saved in a file the class needs ``serialized_type_name``, and the two
    context functions unless its context is plain JSON. Raises ``pytree-registered-twice``.
    """
    _add(
        NodeDef(
            cls,
            flatten_fn,
            unflatten_fn,
            None,
            flatten_with_keys_fn,
            serialized_type_name,
            to_dumpable_context,
            from_dumpable_context,
        )
    )


def _add(definition: NodeDef) -> NodeDef:
    if definition.type in REGISTRY:
        raise PYTREE_REGISTERED_TWICE(name=definition.type.__qualname__)
    name = definition.serialized_type_name
    if name is not None and name in BY_SERIALIZED_NAME:
        raise PYTREE_REGISTERED_TWICE(name=name)
    REGISTRY[definition.type] = definition
    if name is not None:
        BY_SERIALIZED_NAME[name] = definition
    return definition


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes instances of a dataclass containers of its fields.

    ``field_names`` are the fields that matter (default: all that ``__init__`` takes, less ``drop_field_names``); the
    others must have defaults. A field that holds None is part of the structure, as in PyTorch. Raises
    ``pytree-bad-dataclass`` if ``cls`` is no dataclass or the fields do not fit.
    """
    kept = _chosen_fields(cls, field_names, drop_field_names)

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        values = [(name, getattr(obj, name)) for name in kept]
        present = [(name, value) for name, value in values if value is not None]
        absent = [name for name, value in values if value is None]
        return [value for _, value in present], [[name for name, _ in present], absent]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def keys(context: Context, count: int) -> list[Any]:
        return [GetAttrKey(name) for name in context[0]]

    name = f"{cls.__module__}.{cls.__qualname__}" if serialized_type_name is None else serialized_type_name
    _add(NodeDef(cls, flatten, unflatten, keys, None, name, None, None))


def _chosen_fields(cls: type[Any], field_names: list[str] | None, dropped: list[str] | None) -> list[str]:
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise PYTREE_BAD_DATACLASS(
            name=getattr(cls, "__qualname__", repr(cls)), problem="it is not a dataclass"
        )
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    drop = list(dropped or ())
    kept = [name for name in fields if name not in drop] if field_names is None else list(field_names)

    def fail(problem: str) -> None:
        raise PYTREE_BAD_DATACLASS(name=cls.__qualname__, problem=problem)

    for name in (*kept, *drop):
        if name not in fields:
            fail(f"it has no field {name!r} that its __init__ takes")
        if name in kept and name in drop:
            fail(f"field {name!r} is both kept and dropped")
    for name, field in fields.items():
        optional = (
            field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        )
        if name not in kept and not optional:
            fail(f"field {name!r} is left out but has no default")
        if name not in kept and field_names is not None and dropped is not None and name not in drop:
            fail(f"field {name!r} is neither kept nor dropped")
    return kept


def _own_names(cls: type[Any]) -> set[str]:
    """What the class and its bases define beyond ``object``."""
    return {name for base in cls.__mro__ if base is not object for name in vars(base)}


def register_constant(cls: type[Any]) -> None:
    """Makes instances of ``cls`` part of the structure: no leaves, compared by ``==`` and hash."""
    if "__eq__" not in _own_names(cls) or cls.__hash__ is None:
        raise PYTREE_BAD_DATACLASS(
            name=cls.__qualname__, problem="a constant needs __eq__ and __hash__ of its own"
        )

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        return [], obj

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        return context

    _add(NodeDef(cls, flatten, unflatten))


def register_namedtuple(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Names a named tuple class for files before one is flattened (afterwards it has registered itself)."""
    if cls not in REGISTRY:
        _register_namedtuple(cls, serialized_type_name)


def _register_namedtuple(cls: type[Any], name: str | None) -> NodeDef:
    def flatten(obj: Any) -> tuple[list[Any], Context]:
        return list(obj), None

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        return cls(*values)

    def keys(context: Context, count: int) -> list[Any]:
        return [GetAttrKey(field) for field in cls._fields]

    serialized = name or f"{cls.__module__}.{cls.__qualname__}"
    definition = NodeDef(cls, flatten, unflatten, keys, None, serialized)
    REGISTRY[cls] = definition
    # A local class made anew on each call takes the place of its predecessor.
    BY_SERIALIZED_NAME[serialized] = definition
    return definition


def _sequence_keys(context: Context, count: int) -> list[Any]:
    return [SequenceKey(index) for index in range(count)]


def _mapping_keys(context: Context, count: int) -> list[Any]:
    return [MappingKey(key) for key in context]


def _default_keys(context: Context, count: int) -> list[Any]:
    return [MappingKey(key) for key in context[1]]


_BUILTIN: Final = (
    NodeDef(
        list, lambda obj: (obj, None), lambda values, _: list(values), _sequence_keys, None, "builtins.list"
    ),
    NodeDef(
        tuple,
        lambda obj: (obj, None),
        lambda values, _: tuple(values),
        _sequence_keys,
        None,
        "builtins.tuple",
    ),
    NodeDef(
        dict,
        lambda obj: (list(obj.values()), list(obj)),
        lambda values, keys: dict(zip(keys, values, strict=True)),
        _mapping_keys,
        None,
        "builtins.dict",
    ),
    NodeDef(
        OrderedDict,
        lambda obj: (list(obj.values()), list(obj)),
        lambda values, keys: OrderedDict(zip(keys, values, strict=True)),
        _mapping_keys,
        None,
        "collections.OrderedDict",
    ),
    NodeDef(
        defaultdict,
        lambda obj: (list(obj.values()), [obj.default_factory, list(obj)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
        _default_keys,
        None,
        "collections.defaultdict",
    ),
    NodeDef(
        deque,
        lambda obj: (list(obj), obj.maxlen),
        lambda values, maxlen: deque(values, maxlen=maxlen),
        _sequence_keys,
        None,
        "collections.deque",
    ),
)
for _definition in _BUILTIN:
    _add(_definition)
