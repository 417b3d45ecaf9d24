"""``python -m tests.dynamo_lite.strict.fuzz FIRST COUNT``: many programs, each difference with the shortest program that shows it.

``--traced`` compares programs run while tracing. ``--coverage`` only counts which opcodes the programs hold, and names the others.
"""

from __future__ import annotations

import argparse
import ast
import dis
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from types import CodeType
from typing import Final

from tests.dynamo_lite.strict.fuzz.compare import compiled, difference
from tests.dynamo_lite.strict.fuzz.writer import write_program

# what no function of a program can hold: the interactive prompt's, the module level's, and what compilers do not emit
NEVER: Final = frozenset(
    {
        "CACHE",
        "PRINT_EXPR",
        "IMPORT_STAR",
        "INTERPRETER_EXIT",
        "RESERVED",
        "ENTER_EXECUTOR",
        "EXIT_INIT_CHECK",
    }
    | set(getattr(dis, "_specialized_opmap", ()))
    | {name for name, number in dis.opmap.items() if number > 255 or name.startswith("INSTRUMENTED_")}
)


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    return [
        value
        for node in ast.walk(tree)
        for _, value in ast.iter_fields(node)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
    ]


def shorten(source: str, fails: Callable[[str], bool]) -> str:
    """A shorter program that still fails: statements are left out while that is so."""
    source = ast.unparse(ast.parse(source))
    size, position = 8, 0
    while size:
        tree = ast.parse(source)
        places = [(body, index) for body in _bodies(tree) for index in range(0, len(body), size)]
        if position >= len(places):
            size, position = size // 2, 0
            continue
        body, index = places[position]
        del body[index : index + size]
        if not body:
            body.append(ast.Pass())
        shorter = ast.unparse(tree)
        if shorter != source and _holds(shorter, fails):
            source = shorter
        else:
            position += 1
    return source


def _holds(source: str, fails: Callable[[str], bool]) -> bool:
    try:
        return fails(source)
    except Exception:  # the shorter program no longer is one
        return False


def opcodes(code: CodeType, into: Counter[str]) -> None:
    """Counts the opcodes of a code object and of those in it."""
    for instruction in dis.get_instructions(code):
        into[instruction.opname] += 1
        if "INTRINSIC" in instruction.opname:
            into[instruction.argrepr] += 1
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            opcodes(constant, into)


def coverage(first: int, count: int) -> None:
    """Prints the opcodes of this CPython that no program holds."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + count):
        opcodes(compiled(write_program(Random(seed))), seen)
    rare = sorted((number, name) for name, number in seen.items() if number < 20)
    print("never:", *sorted(set(dis.opmap) - NEVER - set(seen)))
    print("rare:", *(f"{name}:{number}" for number, name in rare))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--traced", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--keep", action="store_true", help="do not shorten")
    options = parser.parse_args()
    if options.coverage:
        coverage(options.first, options.count)
        return 0
    find = difference
    if options.traced:
        from tests.dynamo_lite.strict.fuzz.traced import difference as find
    gc.collect()
    gc.freeze()
    start = time.monotonic()
    failed = 0
    seed = options.first
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() - start > options.seconds:
            break
        source = write_program(Random(seed))
        found = find(source)
        if found is not None:
            failed += 1
            print(f"--- seed {seed}: {found}", flush=True)
            if not options.keep:
                short = shorten(source, lambda text: find(text) is not None)
                print(f"{short}\n--- which gives {find(short)}", flush=True)
    else:
        seed += 1
    print(
        f"{seed - options.first} programs on {sys.version.split()[0]}, {failed} differ, {time.monotonic() - start:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
