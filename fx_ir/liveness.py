"""Do the assumptions of a program still hold on a live module?

Paths are resolved from where they say: ``self.layers.0.training`` from the module, ``global model.py:SCALE`` and
``closure n`` from its forward function, ``environment HOME`` (``environment *``: all of it) from the process. ``input`` paths are the contract's business.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from fx_ir.backend import known_backends
from fx_ir.plain import same_plain
from fx_ir.provenance import Assumption

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

_STEP: Final = re.compile(r"\.([A-Za-z_]\w*)|\.(\d+)|\[([^\]]*)\]")
_MISSING: Final = object()
_UNKNOWN: Final = object()  # what a path leads to that starts at no root that is known here
ALL: Final = "*"


def environment_digest() -> str:
    """What tells one environment of the process from another, without the values in it."""
    return hashlib.sha256(repr(list(os.environ.items())).encode("utf-8", "surrogateescape")).hexdigest()


def check_assumptions(program: ExportedProgram, module: Any) -> list[str]:
    """What was burned in at export and no longer holds on ``module``, one sentence each, in the order of reading."""
    found: list[str] = []
    for assumption in program.assumptions:
        if assumption.path.startswith("input "):
            continue
        value = resolve(assumption.path, module)
        problem = _problem(assumption, value, module)
        if problem:
            place = "" if assumption.location is None else f" (read at {assumption.location})"
            found.append(f"{assumption.path}: {problem}{place}")
    return found


def resolve(path: str, module: Any) -> Any:
    """What an assumption's path leads to now; a private marker where it leads nowhere, another where its start is not known here."""
    root, _, rest = path.partition(" ")
    if root == "environment":
        return environment_digest() if rest == ALL else os.environ.get(rest, _MISSING)
    if root == "global":
        file, _, name = rest.rpartition(":")
        head, steps = _split(name)
        return _walk(_globals_of(file, module).get(head, _MISSING), steps)
    if root == "closure":
        head, steps = _split(rest)
        return _walk(_closure_of(module).get(head, _MISSING), steps)
    head, steps = _split(path)
    return _walk(module, steps) if head == "self" else _UNKNOWN


def _split(text: str) -> tuple[str, list[tuple[str, Any]]]:
    match = re.match(r"[A-Za-z_]\w*", text)
    head = match.group() if match else ""
    steps: list[tuple[str, Any]] = []
    for name, index, key in _STEP.findall(text[len(head) :]):
        if name:
            steps.append(("attribute", name))
        elif index:
            steps.append(("child", index))
        else:
            steps.append(("item", ast.literal_eval(key)))
    return head, steps


def _walk(value: Any, steps: list[tuple[str, Any]]) -> Any:
    for kind, key in steps:
        if value is _MISSING:
            return _MISSING
        try:
            if kind == "item":
                value = value[key]
            elif kind == "child" and not hasattr(value, key):
                value = value[int(key)]
            else:
                value = getattr(value, key)
        except (AttributeError, KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _forward_of(module: Any) -> Any:
    forward = getattr(type(module), "forward", None) or module
    forward = getattr(forward, "__func__", forward)
    return getattr(forward, "__wrapped__", forward)


def _globals_of(file: str, module: Any) -> Mapping[str, Any]:
    forward = _forward_of(module)
    code = getattr(forward, "__code__", None)
    if code is not None and (not file or code.co_filename.endswith(file)):
        own: Mapping[str, Any] = forward.__globals__
        return own
    for candidate in list(sys.modules.values()):
        if (getattr(candidate, "__file__", None) or "").endswith(file):
            return vars(candidate)
    return {}


def _closure_of(module: Any) -> Mapping[str, Any]:
    forward = _forward_of(module)
    code = getattr(forward, "__code__", None)
    if code is None:
        return {}
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, forward.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def qualified_name(value: Any) -> str:
    """``module.qualname`` of a class or function, of the class for anything else."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _describe(value: Any) -> str:
    for backend in known_backends():
        if backend.is_tensor(value):
            return repr(backend.describe(value))
    return repr(value)


def _problem(assumption: Assumption, value: Any, module: Any) -> str:
    """What is wrong in words; empty when the assumption holds, or is of what no path leads to."""
    expected, kind = assumption.expected, assumption.kind
    if kind == "alias":
        other = resolve(expected, module)
        same = value is other or value is _UNKNOWN or other is _UNKNOWN
        return "" if same else f"is another object than {expected}, at export it was the same"
    if value is _UNKNOWN:
        return ""
    if kind == "absence":
        return "" if value is _MISSING else f"exists now ({_describe(value)}), it did not at export"
    if value is _MISSING:
        return f"is gone, it was {expected!r}"
    if kind == "type":
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        return "" if expected in (name, type(value)) else f"has type {name}, at export {expected}"
    if kind == "identity":
        same = value is expected or (isinstance(expected, str) and qualified_name(value) == expected)
        return "" if same else f"is {qualified_name(value)}, at export {expected}"
    if kind == "metadata":
        held = str(expected) in (
            _describe(value),
            repr(value),
        )  # an array that is no tensor is told by what it holds
        return "" if held else f"is {_describe(value)}, at export {expected}"
    if kind == "length":
        return "" if len(value) == expected else f"has length {len(value)}, at export {expected}"
    if kind == "keys":
        return "" if list(value) == list(expected) else f"has keys {list(value)!r}, at export {expected!r}"
    same = value is expected or same_plain(value, expected)
    return "" if same else f"is {value!r}, at export {expected!r}"
