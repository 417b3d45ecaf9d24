"""Numbers that tensors are known to hold without a look at data: tensors made of sizes, and the rows of packed sequences.

``torch.tensor(x.shape[0])``, ``torch.div(x.shape[1], 4, rounding_mode="floor")``, ``torch.prod(torch.tensor(x.shape))`` are
tensors, and ``item()`` of them is a size all the same. Integers alone: floats round.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dynamo_lite.lowering.packed import rows_of
from fx_ir.dtypes import int64
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.registry import Operator
from solver.sym import SymInt, statically_known, sym_max, sym_min

Numbers = list[Any]  # the elements of a tensor of one dimension or none
_MOST: Final = 16  # elements; and steps back through the graph
_COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _At:
    """Where the numbers are looked for: ``literals`` are what constants hold, ``steps`` how many are left."""

    literals: Mapping[Node, Any]
    steps: int = _MOST

    @property
    def before(self) -> _At:
        return _At(self.literals, self.steps - 1)


Rule = Callable[[Node, _At], Numbers | None]


def known_number(node: Node, literals: Mapping[Node, Any]) -> Any:
    """The number that a value of one element is known to be, or None: an int, a size, or what comparing them gave.

    ``literals`` holds the integers of constants that the program makes of numbers.
    """
    found = _numbers(node, _At(literals))
    return found[0] if found is not None and len(found) == 1 else None


def _numbers(value: Any, at: _At) -> Numbers | None:
    """The elements of an operand, as far as they are known."""
    if not isinstance(value, Node):
        return [value] if type(value) is int else None
    held = value.meta["val"]
    if isinstance(held, SymInt):
        return [held]
    if at.steps == 0 or not isinstance(held, TensorMeta) or held.ndim > 1 or not _is_small(held.shape):
        return None
    target = value.target
    found: Numbers | None = None
    if value in at.literals:
        literal = at.literals[value]
        found = literal if isinstance(literal, list) else [literal]
    elif target is operator.getitem:
        found = _part(value, at.before)
    elif isinstance(target, Operator) and target.namespace == "aten" and target.name in _RULES:
        found = _RULES[target.name](value, at.before)
    compared = isinstance(target, Operator) and target.name in _COMPARE and at.steps == _MOST
    whole = held.dtype is int64 or compared
    return found if whole and found is not None and all(each is not None for each in found) else None


def _is_small(shape: Any) -> bool:
    return not shape or (type(shape[0]) is int and 0 < shape[0] <= _MOST)


def _made(node: Node, at: _At) -> Numbers | None:
    return _numbers(node.args[0], at)


def _filled(node: Node, at: _At) -> Numbers | None:
    size, value = node.args[:2]
    held = _numbers(value, at)
    return None if held is None else held * (size[0] if size else 1)


def _stacked(node: Node, at: _At) -> Numbers | None:
    parts = [_numbers(part, at) for part in node.args[0]]
    return None if any(part is None for part in parts) else [one for part in parts for one in part or ()]


def _selected(node: Node, at: _At) -> Numbers | None:
    source, _, index = node.args
    if type(index) is not int:
        return None
    rows = rows_of(source) if index == 0 else None
    found = [rows] if rows is not None else _numbers(source, at)
    return None if found is None else [found[index]]


def _part(node: Node, at: _At) -> Numbers | None:
    """One of the parts that a tensor is taken apart into."""
    whole, index = node.args
    target = whole.target
    if not isinstance(target, Operator) or target.qualified != "aten::unbind.int":
        return None
    found = _numbers(whole.args[0], at)
    return None if found is None else [found[index]]


def _itself(node: Node, at: _At) -> Numbers | None:
    return _numbers(node.args[0], at)


def _folded(fold: Callable[[Any, Any], Any]) -> Rule:
    def rule(node: Node, at: _At) -> Numbers | None:
        found = _numbers(node.args[0], at) if len(node.args) == 1 else None
        if not found:
            return None
        total = found[0]
        for one in found[1:]:
            total = fold(total, one)
        return [total]

    return rule


def _between(apply: Callable[[Any, Any], Any], *allowed: str) -> Rule:
    """Element by element; ``allowed`` names the keyword arguments that the rule reads itself."""

    def rule(node: Node, at: _At) -> Numbers | None:
        if len(node.args) != 2 or node.kwargs.keys() - set(allowed):
            return None
        left, right = _numbers(node.args[0], at), _numbers(node.args[1], at)
        if left is None or right is None or (len(left) != len(right) and 1 not in (len(left), len(right))):
            return None
        count = max(len(left), len(right))
        return [apply(left[i % len(left)], right[i % len(right)]) for i in range(count)]

    return rule


def _positive(value: Any, least: int) -> bool:
    return bool(value >= least) if type(value) is int else statically_known(value >= least) is True


def _floor(a: Any, b: Any) -> Any:
    return a // b if _positive(b, 1) else None


def _remainder(a: Any, b: Any) -> Any:
    return a % b if _positive(b, 1) else None


def _rounded(node: Node, at: _At) -> Numbers | None:
    mode = node.kwargs.get("rounding_mode")
    whole = _floor if mode == "floor" else lambda a, b: _floor(a, b) if _positive(a, 0) else None
    return None if mode is None else _between(whole, "rounding_mode")(node, at)


_RULES: Final[Mapping[str, Rule]] = {
    "scalar_tensor": _made, "full": _filled, "stack": _stacked, "select": _selected,
    **dict.fromkeys(("alias", "detach", "clone", "lift_fresh_copy", "squeeze", "unsqueeze", "view", "reshape", "contiguous"), _itself),
    "add": _between(operator.add), "sub": _between(operator.sub), "mul": _between(operator.mul), "div": _rounded,
    "floor_divide": _between(_floor), "remainder": _between(_remainder),
    "maximum": _between(sym_max), "minimum": _between(sym_min),
    "sum": _folded(operator.add), "prod": _folded(operator.mul), "max": _folded(sym_max), "min": _folded(sym_min),
    **{name: _between(compare) for name, compare in _COMPARE.items()},
}  # fmt: skip
