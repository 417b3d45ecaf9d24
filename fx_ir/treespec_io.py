"""Tree structures as JSON, in PyTorch's layout (protocol 1), without pickle and without importing anything.

A node is ``{"type": name, "context": …, "children_spec": […]}``; a leaf's type is null. Classes are found by the name
they were registered under in this process.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from typing import Any, Final

from fx_ir import plain
from fx_ir.errors import ARCHIVE_BAD, PYTREE_NOT_SERIALIZABLE, PYTREE_UNKNOWN
from fx_ir.pytree import LEAF_SPEC, NodeDef, TreeSpec, named_def, node_def

PROTOCOL: Final = 1
MAX_DEPTH: Final = 200


def treespec_dumps(spec: TreeSpec) -> str:
    """The JSON text of a structure. Raises ``pytree-not-serializable`` naming the class that lacks something."""
    return json.dumps([PROTOCOL, spec_to_json(spec)], allow_nan=False)


def treespec_loads(text: str) -> TreeSpec:
    """The structure that the text describes. Raises ``pytree-unknown-class`` or ``archive-bad``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ARCHIVE_BAD(file="tree structure", problem=f"not JSON: {error}") from None
    if not isinstance(data, list) or len(data) != 2 or data[0] != PROTOCOL:
        raise ARCHIVE_BAD(file="tree structure", problem=f"not a structure of protocol {PROTOCOL}")
    return spec_from_json(data[1])


def spec_to_json(spec: TreeSpec) -> Any:
    """The JSON value of a structure."""
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    definition = node_def(spec.type)
    assert definition is not None
    name = definition.serialized_type_name
    if name is None:
        raise PYTREE_NOT_SERIALIZABLE(name=spec.type.__qualname__, problem="it has no serialized_type_name")
    return {
        "type": name,
        "context": _dump_context(definition, spec.context),
        "children_spec": [spec_to_json(child) for child in spec.children_specs],
    }


def _dump_context(definition: NodeDef, context: Any) -> Any:
    if definition.to_dumpable_context is not None:
        context = definition.to_dumpable_context(context)
    try:
        return plain.encode(context)
    except plain.NotPlain as error:
        raise PYTREE_NOT_SERIALIZABLE(name=definition.type.__qualname__, problem=str(error)) from None


def spec_from_json(data: Any, depth: int = 0) -> TreeSpec:
    """The structure of a JSON value."""
    if depth > MAX_DEPTH:
        raise ARCHIVE_BAD(file="tree structure", problem=f"nested deeper than {MAX_DEPTH}")
    if not isinstance(data, dict) or not isinstance(data.get("children_spec"), list):
        raise ARCHIVE_BAD(file="tree structure", problem="a node is not an object with children_spec")
    name = data.get("type")
    if name is None:
        return LEAF_SPEC
    definition = named_def(name) if isinstance(name, str) else None
    if definition is None:
        raise PYTREE_UNKNOWN(name=name)
    try:
        context = plain.decode(data.get("context"))
    except plain.NotJson as error:
        raise ARCHIVE_BAD(file="tree structure", problem=f"context of {name}: {error}") from None
    if definition.from_dumpable_context is not None:
        context = definition.from_dumpable_context(context)
    children = [spec_from_json(child, depth + 1) for child in data["children_spec"]]
    _check_arity(definition, context, len(children))
    return TreeSpec(definition.type, context, children)


def _check_arity(definition: NodeDef, context: Any, count: int) -> None:
    cls = definition.type
    expected = count
    if cls in (dict, OrderedDict):
        expected = len(context) if isinstance(context, list) else -1
    elif cls is defaultdict:
        good = isinstance(context, list) and len(context) == 2 and isinstance(context[1], list)
        expected = len(context[1]) if good else -1
    elif cls is deque:
        expected = count if context is None or isinstance(context, int) else -1
    elif hasattr(cls, "_fields"):
        expected = len(cls._fields)
    if expected != count:
        raise ARCHIVE_BAD(
            file="tree structure",
            problem=f"{definition.serialized_type_name} with {count} children does not fit {context!r}",
        )
