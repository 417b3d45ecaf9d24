"""Nested containers as flat lists of leaves and a structure, with the names of PyTorch's pytrees.

Lists, tuples, named tuples, dicts (in insertion order), ordered dicts, default dicts and deques are containers; classes
join by registration; everything else, ``None`` included, is a leaf.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from fx_ir.errors import PYTREE_BAD_DATACLASS, PYTREE_MISMATCH, PYTREE_REGISTERED_TWICE

Context = Any
Leaf = Any
FlattenFunc = Callable[[Any], tuple[Iterable[Any], Context]]
UnflattenFunc = Callable[[Iterable[Any], Context], Any]
FlattenWithKeysFunc = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Context]]
T = TypeVar("T")


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
_NO_CHILDREN: Final[tuple[TreeSpec, ...]] = ()


class TreeSpec:
    """The structure of a tree: the container's type, its context (keys, class data) and its children.

    A leaf has type None. Specs are immutable, compare by value and can be hashed where their contexts can.
    """

    __slots__ = ("children_specs", "context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = tuple(children_specs)
        self.num_leaves: int = 1 if type is None else sum(child.num_leaves for child in self.children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in self.children_specs)

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable[Leaf]) -> Any:
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of ``tree`` at this structure's leaves. Raises ``pytree-mismatch`` where ``tree`` differs."""
        found: list[Any] = []
        _flatten_up_to(self, tree, found, ())
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.num_nodes == other.num_nodes
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        context = tuple(self.context) if isinstance(self.context, list) else None
        return hash((self.type, context if _hashable(context) else None, self.children_specs))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        children = ", ".join(map(repr, self.children_specs))
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{children}])"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


LEAF_SPEC: Final = TreeSpec(None, None, ())


def LeafSpec() -> TreeSpec:
    """The structure of a single leaf."""
    return LEAF_SPEC


def is_namedtuple_class(cls: type[Any]) -> bool:
    """True for classes made by ``namedtuple`` or ``typing.NamedTuple`` (and not for other tuple subclasses)."""
    bases = cls.__bases__
    return bases == (tuple,) and isinstance(cls.__dict__.get("_fields"), tuple)


def node_def(cls: type[Any]) -> NodeDef | None:
    """How ``cls`` is taken apart; None when its instances are leaves. Named tuple classes register themselves."""
    found = REGISTRY.get(cls)
    if found is None and issubclass(cls, tuple) and is_namedtuple_class(cls):
        found = _register_namedtuple(cls, None)
    return found


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Leaf], TreeSpec]:
    """The leaves of a tree, left to right, and its structure."""
    leaves: list[Leaf] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Leaf], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    found = node_def(type(tree))
    if found is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LEAF_SPEC
    children, context = found.flatten(tree)
    return TreeSpec(found.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Leaf], treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves. Raises ``pytree-mismatch`` if their number does not fit."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise PYTREE_MISMATCH(
            where="the tree", expected=f"{treespec.num_leaves} leaves", given=f"{len(given)}"
        )
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Iterator[Leaf], spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    found = REGISTRY[spec.type]
    return found.unflatten([_unflatten(leaves, child) for child in spec.children_specs], spec.context)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Leaf]:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Leaf]:
    """The leaves of a tree, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_map(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree with ``func`` applied to its leaves (and to the subtrees of ``rests`` at the same places)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def tree_map_only(kind: type[Any] | tuple[type[Any], ...], func: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with ``func`` applied to its leaves of type ``kind``."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_all(pred: Callable[[Any], bool], tree: Any) -> bool:
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: Any) -> bool:
    return any(map(pred, tree_leaves(tree)))


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Leaf]], TreeSpec]:
    """Like :func:`tree_flatten`, each leaf with the path that leads to it."""
    found: list[tuple[KeyPath, Leaf]] = []
    _walk_paths(tree, (), found, is_leaf)
    return found, tree_structure(tree, is_leaf)


def _walk_paths(
    tree: Any, path: KeyPath, found: list[tuple[KeyPath, Leaf]], is_leaf: Callable[[Any], bool] | None
) -> None:
    definition = node_def(type(tree))
    if definition is None or (is_leaf is not None and is_leaf(tree)):
        found.append((path, tree))
        return
    if definition.flatten_with_keys is not None:
        pairs, _ = definition.flatten_with_keys(tree)
        for key, child in pairs:
            _walk_paths(child, (*path, key), found, is_leaf)
        return
    children, context = definition.flatten(tree)
    items = list(children)
    for key, child in zip(child_keys(definition, context, len(items)), items, strict=True):
        _walk_paths(child, (*path, key), found, is_leaf)


def child_keys(definition: NodeDef, context: Context, count: int) -> list[Any]:
    """The path entries of a container's children."""
    if definition.keys is None:
        return [SequenceKey(index) for index in range(count)]
    return list(definition.keys(context, count))


def spec_paths(spec: TreeSpec) -> list[KeyPath]:
    """The paths of a structure's leaves, in order."""
    if spec.type is None:
        return [()]
    keys = child_keys(REGISTRY[spec.type], spec.context, spec.num_children)
    return [
        (key, *rest)
        for key, child in zip(keys, spec.children_specs, strict=True)
        for rest in spec_paths(child)
    ]


def tree_map_with_path(func: Callable[..., Any], tree: Any) -> Any:
    """The tree with ``func(path, leaf)`` at its leaves."""
    pairs, spec = tree_flatten_with_path(tree)
    return tree_unflatten([func(path, leaf) for path, leaf in pairs], spec)


def keystr(path: KeyPath) -> str:
    """A path as it would be written behind a variable: ``[0]['key'].field``."""
    return "".join(map(str, path))


def key_get(obj: Any, path: KeyPath) -> Any:
    """What ``path`` leads to from ``obj``."""
    for key in path:
        obj = key.get(obj)
    return obj


def _flatten_up_to(spec: TreeSpec, tree: Any, found: list[Any], path: KeyPath) -> None:
    if spec.type is None:
        found.append(tree)
        return
    where = f"the tree{keystr(path)}"
    if type(tree) is not spec.type:
        raise PYTREE_MISMATCH(where=where, expected=spec.type.__name__, given=type(tree).__name__)
    definition = REGISTRY[spec.type]
    children, context = definition.flatten(tree)
    items = list(children)
    if context != spec.context or len(items) != spec.num_children:
        raise PYTREE_MISMATCH(where=where, expected=describe_shape(spec), given=describe_tree(tree))
    keys = child_keys(definition, context, len(items))
    for key, child_spec, child in zip(keys, spec.children_specs, items, strict=True):
        _flatten_up_to(child_spec, child, found, (*path, key))


def describe_shape(spec: TreeSpec) -> str:
    """The outermost container of a structure in words."""
    if spec.type is None:
        return "a single value"
    if spec.type in (dict, OrderedDict):
        return f"{spec.type.__name__} with keys {list(spec.context)!r}"
    return f"{spec.type.__name__} of {spec.num_children}"


def describe_tree(tree: Any) -> str:
    """The outermost container of a tree in words."""
    definition = node_def(type(tree))
    if definition is None:
        return f"a value of type {type(tree).__name__}"
    children, context = definition.flatten(tree)
    return describe_shape(TreeSpec(definition.type, context, [LEAF_SPEC for _ in children]))


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


def register_constant(cls: type[Any]) -> None:
    """Makes instances of ``cls`` part of the structure: no leaves, compared by ``==`` and hash."""
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None:
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
