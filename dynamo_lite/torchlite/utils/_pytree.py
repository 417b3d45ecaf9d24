"""``torch.utils._pytree``."""

from __future__ import annotations

from typing import Any

from fx_ir.pytree import (
    GetAttrKey,
    LeafSpec,
    MappingKey,
    SequenceKey,
    TreeSpec,
    keystr,
    register_constant,
    register_dataclass,
    register_pytree_node,
    tree_all,
    tree_any,
    tree_flatten,
    tree_flatten_with_path,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_map_with_path,
    tree_structure,
)
from fx_ir.pytree import tree_unflatten as _tree_unflatten

__all__ = [
    "GetAttrKey", "LeafSpec", "MappingKey", "SequenceKey", "TreeSpec", "keystr", "register_constant",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_flatten_with_path",
    "tree_iter", "tree_leaves", "tree_map", "tree_map_only", "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip


def tree_unflatten(leaves: Any, treespec: Any) -> Any:
    """The tree of that structure; ``(leaves, spec)`` in either order, as PyTorch's two pytree modules differ in it."""
    return (
        _tree_unflatten(treespec, leaves)
        if isinstance(leaves, TreeSpec)
        else _tree_unflatten(leaves, treespec)
    )
