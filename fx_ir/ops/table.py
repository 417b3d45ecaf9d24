"""The operator table as a page: ``python -m fx_ir.ops.table [FILE]`` writes ``docs/operators.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from fx_ir.ops import FAMILIES
from fx_ir.ops.registry import OPS, Operator

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators.md"

_HEAD = """# Operators

Made from the operator table by `python -m fx_ir.ops.table`; do not edit. {count} overloads: each has ATen's schema (those of
`dynamo_lite` are our own), a fake rule (shape, type and layout without data) and a NumPy kernel, or says what stands in for the kernel.

| mark | meaning |
|---|---|
| view | the result shares memory with the first argument; a rule says how to write through it |
| view? | it may share memory; metadata decides |
| in place | writes the result of the operator named to its first argument |
| random | draws from the random generator, in program order |
| lowered | certain calls are replaced by functional operators when recorded |
| no gradient | the result never requires grad |
"""


def marks(operator: Operator) -> str:
    """What there is to know about an operator beside its schema."""
    found: list[str] = []
    if operator.view is not None:
        found.append("view?" if operator.maybe_view is not None else "view")
    functional = operator.functional
    if functional is not None:
        found.append(f"in place: `{functional}`")
    if operator.random:
        found.append("random")
    if operator.lower is not None:
        found.append("lowered")
    if operator.nondifferentiable:
        found.append("no gradient")
    return ", ".join(found)


def family_of(operator: Operator) -> str:
    """The module that declares an operator: where its fake rule or kernel is written."""
    for part in (operator.kernel, operator.fake):
        module = getattr(part, "__module__", "")
        if module.startswith("fx_ir.ops.") and module != "fx_ir.ops.registry":
            return module
    functional = operator.functional
    return family_of(functional) if functional is not None else "fx_ir.ops.registry"


def _section(family: ModuleType, operators: Iterable[Operator]) -> list[str]:
    about = (family.__doc__ or "").strip().partition("\n")[0]
    lines = ["", f"## {family.__name__.rpartition('.')[2]}", "", about, "", "| schema | |", "|---|---|"]
    for operator in sorted(operators, key=lambda one: one.qualified):
        schema = operator.text.replace("|", "\\|")
        lines.append(f"| `{schema}` | {marks(operator)} |")
    return lines


def declared() -> list[Operator]:
    """The operators of the families: neither those of users nor those that a library has lent."""
    return [
        operator
        for operator in OPS.values()
        if operator.namespace in ("aten", "dynamo_lite")
        and getattr((operator.functional or operator).fake, "__module__", "").startswith("fx_ir")
    ]


def page() -> str:
    """The whole page."""
    groups: dict[str, list[Operator]] = {}
    for operator in declared():
        groups.setdefault(family_of(operator), []).append(operator)
    lines = [_HEAD.format(count=sum(map(len, groups.values()))).rstrip("\n")]
    for family in FAMILIES:
        members = groups.pop(family.__name__, [])
        if members:
            lines += _section(family, members)
    if groups:
        raise LookupError(f"operators of families that the package does not list: {sorted(groups)}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Writes the page to the file named, or to its place in ``docs``."""
    target = Path(arguments[0]) if arguments else PAGE
    target.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
