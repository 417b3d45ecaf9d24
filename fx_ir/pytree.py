"""Nested containers as flat lists of leaves and a structure, with the names of PyTorch's pytrees.

Lists, tuples, named tuples, dicts (in insertion order), ordered dicts, default dicts and deques are containers; classes
join by registration; everything else, ``None`` included, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from fx_ir.errors import PYTREE_MISMATCH
from fx_ir.pytree_registry import (
    BY_SERIALIZED_NAME,
    REGISTRY,
    Context,
    GetAttrKey,
    KeyPath,
    MappingKey,
    NodeDef,
    SequenceKey,
    child_keys,
    is_namedtuple_class,
    named_def,
    node_def,
    register_constant,
    register_dataclass,
    register_namedtuple,
    register_pytree_node,
)

__all__ = [
    "BY_SERIALIZED_NAME", "LEAF_SPEC", "REGISTRY", "GetAttrKey", "KeyPath", "LeafSpec", "MappingKey", "NodeDef", "SequenceKey",
    "TreeSpec", "child_keys", "describe_shape", "describe_tree", "is_namedtuple_class", "key_get", "keystr", "named_def", "node_def",
    "register_constant", "register_dataclass", "register_namedtuple", "register_pytree_node", "spec_paths", "tree_all",
    "tree_any", "tree_flatten", "tree_flatten_with_path", "tree_iter", "tree_leaves", "tree_map", "tree_map_only",
    "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip

Leaf = Any


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
