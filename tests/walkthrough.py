"""Runs the blocks of a literate document; ``python -m tests.walkthrough docs/walkthrough.md`` writes what they print.

A ``python`` block may be followed by a ``text`` block with what it prints. All blocks share one namespace; their code is compiled with
the document's own line numbers, so that locations in messages point into the document.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_BLOCK: Final = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """Code, the line of the document that it begins on, and the output that is shown (None: none is)."""

    code: str
    line: int
    shown: str | None
    span: tuple[int, int]


def blocks(document: str) -> Iterator[Block]:
    """The executable blocks of a document."""
    for match in _BLOCK.finditer(document):
        line = document.count("\n", 0, match.start(1)) + 1
        yield Block(match[1], line, match[2], match.span())


def run(block: Block, name: str, namespace: dict[str, Any]) -> str:
    """What a block prints."""
    padded = "\n" * (block.line - 1) + block.code
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(padded, name, "exec"), namespace)
    return output.getvalue()


def written(document: str, name: str) -> str:
    """The document with every output as it is now."""
    for _ in range(2):  # the first pass may move lines, the second has them right
        namespace: dict[str, Any] = {"__name__": "walkthrough"}
        parts: list[str] = []
        end = 0
        for block in blocks(document):
            output = run(block, name, namespace)
            parts += [document[end : block.span[0]], f"```python\n{block.code}```\n"]
            if output:
                parts.append(f"\n```text\n{output}```\n")
            end = block.span[1]
        document = "".join(parts) + document[end:]
    return document


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text(encoding="utf-8"), path.name), encoding="utf-8")
