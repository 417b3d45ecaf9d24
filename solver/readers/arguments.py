"""Where each input of a model sits among the arguments: the stored tree of arguments, read as data.

Guards speak of inputs by access (``L['d']['a'].size()[0]``), the graph by names (``d_a``) that are lower-case,
shortened and made unique. Only the tree tells which is which.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Step = str | int
Path = tuple[Step, ...]
Leaf = tuple[Path, str]
_SEQUENCES: Final = ("builtins.tuple", "builtins.list", "collections.deque")
_MAPPINGS: Final = ("builtins.dict", "collections.OrderedDict")
_MAX_DEPTH: Final = 200


@dataclass(frozen=True, slots=True)
class Arguments:
    """The leaves of a call, numbered in order: ``places`` by the steps that lead to each, ``texts`` as Python source."""

    places: Mapping[Path, int] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)


def read_arguments(graph_module: Mapping[str, Any]) -> Arguments:
    """The arguments of a model; the first step of a path is the parameter's name.

    Empty where the archive does not say; parts of a tree whose class is not known get no path.
    """
    call = _call(graph_module)
    names = call.get("forward_arg_names") if call is not None else None
    tree = _tree(call.get("in_spec")) if call is not None else None
    top = [child for part in _children(tree) for child in _children(part)]
    if not isinstance(names, list) or len(top) != len(names):
        return Arguments()
    fields = graph_module.get("treespec_namedtuple_fields")
    known = fields if isinstance(fields, dict) else {}
    leaves = [
        leaf
        for name, child in zip(names, top, strict=True)
        for leaf in _leaves(child, ((str(name),), str(name)), known, 0)
    ]
    places = {leaf[0]: at for at, leaf in enumerate(leaves) if leaf is not None}
    texts = {at: leaf[1] for at, leaf in enumerate(leaves) if leaf is not None}
    return Arguments(places | _gathered(places), texts)


def _gathered(paths: Mapping[Path, int]) -> dict[Path, int]:
    """``*xs`` is stored as ``xs_0, xs_1``, and reached as ``xs[0], xs[1]``."""
    extra: dict[Path, int] = {}
    for (name, *rest), at in paths.items():
        stem, _, number = str(name).rpartition("_")
        if stem and number.isdecimal() and len(number) < 7 and (stem,) not in paths:
            extra.setdefault((stem, int(number), *rest), at)
    return {path: at for path, at in extra.items() if path not in paths}


def _call(graph_module: Mapping[str, Any]) -> Mapping[str, Any] | None:
    entries = graph_module.get("module_call_graph")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("fqn") == "":
            signature = entry.get("signature")
            return signature if isinstance(signature, dict) else None
    return None


def _tree(text: object) -> Mapping[str, Any] | None:
    """A tree is stored as text: ``[version, tree]``."""
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    tree = data[1] if isinstance(data, list) and len(data) == 2 else None
    return tree if isinstance(tree, dict) else None


def _children(tree: object) -> list[Any]:
    children = tree.get("children_spec") if isinstance(tree, dict) else None
    return children if isinstance(children, list) else []


def _leaves(tree: object, here: Leaf | None, fields: Mapping[str, Any], depth: int) -> Iterator[Leaf | None]:
    """Path and text of each leaf, None for one that cannot be named."""
    if not isinstance(tree, dict) or depth > _MAX_DEPTH:
        yield None
        return
    if tree.get("type") is None:
        yield here
        return
    children = _children(tree)
    steps = _steps(tree, len(children), fields)
    for i, child in enumerate(children):
        below = None
        if here is not None and i < len(steps):
            step, written = steps[i]
            below = (*here[0], step), here[1] + written
        yield from _leaves(child, below, fields, depth + 1)


def _steps(tree: Mapping[str, Any], count: int, fields: Mapping[str, Any]) -> list[tuple[Step, str]]:
    """The step to each child, and how it is written; empty for a class that is not known."""
    kind = tree.get("type")
    if kind in _SEQUENCES or kind in fields:
        return [(i, f"[{i}]") for i in range(count)]
    try:
        keys = json.loads(tree["context"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return []
    if isinstance(keys, list) and len(keys) == 2 and isinstance(keys[0], list):
        keys, written = keys[0], ".{}"  # a dataclass: names of its fields, names of those that are None
    elif kind in _MAPPINGS and isinstance(keys, list):
        written = "[{!r}]"
    else:
        return []
    if not all(isinstance(key, str | int) and not isinstance(key, bool) for key in keys):
        return []
    return [(key, written.format(key)) for key in keys]
