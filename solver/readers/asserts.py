"""Runtime assertions in a serialised graph: ``_assert_scalar`` nodes, followed back to the sizes that they compare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_MAX_DEPTH: Final = 60
_FRAME: Final = re.compile(r'File "([^"]*)", line (\d+), in (\S+)')
_OF_TORCH: Final = re.compile(r"\Atorch/|[/\\](?:site|dist)-packages[/\\]torch[/\\]")
_SIGNS: Final = {
    "_operator.ge": ">=",
    "_operator.gt": ">",
    "_operator.le": "<=",
    "_operator.lt": "<",
    "_operator.eq": "==",
    "_operator.ne": "!=",
    "_operator.and_": "and",
    "_operator.or_": "or",
    "_operator.add": "+",
    "_operator.sub": "-",
    "_operator.mul": "*",
    "_operator.floordiv": "//",
    "_operator.mod": "%",
}
_NOT: Final = ("_operator.not_", "torch.sym_not")


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition that the program checks while it runs, and the user's line that it came from."""

    expr: str
    at: str | None


def assertions(nodes: list[Any], numbers: Mapping[str, str]) -> Iterator[Assertion]:
    """The assertions whose condition is arithmetic on sizes; others (on data) say nothing about sizes."""
    made_by = {name: node for node in nodes if isinstance(node, dict) for name in _outputs(node)}
    for node in nodes:
        if not isinstance(node, dict) or node.get("target") != "torch.ops.aten._assert_scalar.default":
            continue
        inputs = node.get("inputs")
        if isinstance(inputs, list) and inputs:
            text = _argument(inputs[0], made_by, numbers, 0)
            if text is not None:
                yield Assertion(text, _line(node))


def _outputs(node: Mapping[str, Any]) -> Iterator[str]:
    outputs = node.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        for kind in ("as_sym_bool", "as_sym_int"):
            inner = output.get(kind) if isinstance(output, dict) else None
            name = inner.get("as_name") if isinstance(inner, dict) else None
            if isinstance(name, str):
                yield name


def _argument(
    entry: object, made_by: Mapping[str, Any], numbers: Mapping[str, str], depth: int
) -> str | None:
    arg = entry.get("arg") if isinstance(entry, dict) else None
    if not isinstance(arg, dict) or depth > _MAX_DEPTH:
        return None
    if isinstance(arg.get("as_int"), int) and not isinstance(arg["as_int"], bool):
        return f"({arg['as_int']})"
    if isinstance(arg.get("as_bool"), bool):
        return str(arg["as_bool"])
    for kind in ("as_sym_int", "as_sym_bool"):
        inner = arg.get(kind)
        name = inner.get("as_name") if isinstance(inner, dict) else None
        if isinstance(name, str):
            return numbers[name] if name in numbers else _computed(made_by.get(name), made_by, numbers, depth)
    return None


def _computed(node: object, made_by: Mapping[str, Any], numbers: Mapping[str, str], depth: int) -> str | None:
    if not isinstance(node, dict) or not isinstance(node.get("inputs"), list):
        return None
    parts = [_argument(entry, made_by, numbers, depth + 1) for entry in node["inputs"]]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    target = node.get("target")
    if target in _NOT and len(known) == 1:
        return f"(not {known[0]})"
    sign = _SIGNS.get(target) if isinstance(target, str) else None
    return f"({known[0]} {sign} {known[1]})" if sign is not None and len(known) == 2 else None


def _line(node: Mapping[str, Any]) -> str | None:
    metadata = node.get("metadata")
    trace = metadata.get("stack_trace") if isinstance(metadata, dict) else None
    if not isinstance(trace, str):
        return None
    frames = [frame for frame in _FRAME.findall(trace) if not _OF_TORCH.search(frame[0])]
    if not frames:
        return None
    file, line, function = frames[-1]
    return f"{file}:{line} in {function}"
