"""Which tests name which rule of the programming model; ``python -m tests.rules`` writes ``docs/rules.md`` from them.

A test names a rule by its number (``M12``) in its own docstring.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent
PAGE: Final = ROOT.parent / "docs" / "rules.md"
RULES: Final = {
    1: "`export` runs the model on examples and returns one graph with what it rests on",
    2: "non-strict: CPython runs the code over fake tensors",
    3: "strict: the bytecode is interpreted; what cannot be analysed is an error with a way out",
    4: "both modes give the same graph",
    5: "`export` is non-strict by default, the decorator strict",
    6: "static values are folded, tensors never; random operators draw in program order",
    7: "dynamic values differ from run to run",
    8: "shapes of inputs static unless specified; dtype, device and layout static",
    9: "numbers, strings and None static; an int input can be made dynamic",
    10: "containers: structure static, elements by the same rules",
    11: "registered classes as containers; unregistered ones are refused",
    12: "a static input is checked at run time",
    13: "a default that is not passed is burned in and asked for",
    14: "control flow on static values is transparent; a loop over a dynamic size specialises",
    15: "a condition on a backed size becomes a guard",
    16: "a decision on data is refused at the user's line",
    17: "`cond`, `map` and the loops keep their branches and bodies",
    18: "`check` states facts; the error proposes the very call",
    19: "dynamic sizes are symbols, intermediates expressions over them",
    20: "every operator has a fake rule",
    21: "backed and unbacked sizes",
    22: "sizes derived from backed ones are backed",
    23: "static conditions are bools, backed ones guards, unbacked ones settled or refused",
    24: "the specification implies every guard; proposals are proved",
    25: "no guards, no specification needed",
    26: "the specification is checked at run time, facts are asserted inline",
    27: "custom operators",
    28: "state is read freely; what is missing is the model's own error",
    29: "static attributes may be updated and are rolled back",
    30: "plain tensor attributes may not be updated",
    31: "buffers may be updated, parameters not",
    32: "the graph is functional; the program carries its state",
    33: "a saved program computes, checks and proves the same",
    34: "`unflatten` and preserved call signatures",
    35: "nodes carry metadata, module stack and line",
    36: "dimension specifications in both spellings",
    37: "a printed program reads like the ecosystem's",
}
_NAMED: Final = re.compile(r"\bM(\d+)\b(?:-M(\d+)\b)?")


def named_in(text: str) -> set[int]:
    """The rules that a text names, ranges (``M6-M9``) included."""
    found: set[int] = set()
    for first, last in _NAMED.findall(text):
        found.update(range(int(first), int(last or first) + 1))
    return found & RULES.keys()


def tests_of(path: Path) -> Iterator[tuple[str, set[int]]]:
    """The tests of a file, each with the rules that its docstring names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node.name, named_in(ast.get_docstring(node) or "")


def collect() -> dict[int, dict[str, list[str]]]:
    """For every rule the tests that name it, by file relative to ``tests``."""
    found: dict[int, dict[str, list[str]]] = {rule: {} for rule in RULES}
    for path in sorted(ROOT.rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        for test, rules in tests_of(path):
            for rule in rules:
                found[rule].setdefault(name, []).append(test)
    return found


def page() -> str:
    """The text of ``docs/rules.md``."""
    lines = [
        "# The rules of the programming model and their tests",
        "",
        "Written by `python -m tests.rules`; a test compares it with the test files.",
        "",
        "| rule | meaning | tests |",
        "|---|---|---|",
    ]
    for rule, files in collect().items():
        cells = [f"`{name}`: {', '.join(tests)}" for name, tests in files.items()]
        lines.append(f"| M{rule} | {RULES[rule]} | {'<br>'.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
