"""Whether anything in the interpreter grows faster than the work: programs timed at a size and at four times that size.

``python -m benchmarks.interpreter_growth`` prints processor time of both and the ratio, which should be about four.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from dynamo_lite.strict.interpret import interpret


def loops(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def recursion(n: int) -> int:
    def down(k: int) -> int:
        return 0 if k == 0 else 1 + down(k - 1)

    return down(n)


def generators_alive(n: int) -> int:
    def one(k: int) -> Iterator[int]:
        yield k
        yield k + 1

    alive = [one(k) for k in range(n)]
    return sum(next(each) for each in alive) + sum(next(each) for each in alive)


def delegation(n: int) -> int:
    def nested(k: int) -> Iterator[int]:
        if k:
            yield from nested(k - 1)
        yield k

    first = nested(n)
    return next(first)


def context_chain(n: int) -> int:
    kept: BaseException = ValueError(0)
    for i in range(n):
        try:
            try:
                raise kept
            finally:
                raise ValueError(i)
        except ValueError as error:
            kept = error
    count = 0
    link: BaseException | None = kept
    while link is not None:
        count, link = count + 1, link.__context__
    return count


def raised_through(n: int) -> int:
    def down(k: int) -> None:
        if k == 0:
            raise ValueError
        down(k - 1)

    try:
        down(n)
    except ValueError as error:
        depth, tb = 0, error.__traceback__
        while tb is not None:
            depth, tb = depth + 1, tb.tb_next
        return depth
    return 0


def handled_and_reraised(n: int) -> int:
    def down(k: int) -> None:
        try:
            if k == 0:
                raise ValueError
            down(k - 1)
        except ValueError:
            raise

    try:
        down(n)
    except ValueError:
        return n
    return 0


def raised_again(n: int) -> int:
    def again(k: int) -> None:
        raise error

    error = ValueError(n)
    for i in range(n):
        with contextlib.suppress(ValueError):
            next(map(again, [i]))
    return len(str(error))


def big_containers(n: int) -> int:
    items = list(range(n))
    table = {i: i for i in items}
    total = 0
    for i in items:
        table[i] += 1
        items[i] = table[i]
        total += i in table
    first, *rest = items
    return total + len((*rest, first)) + len({**table})


def unpacked_calls(n: int) -> int:
    def many(*args: int, **more: int) -> int:
        return len(args) + len(more)

    return many(*range(n), **{f"k{i}": i for i in range(n)})


def _exec(source: str, name: str = "made") -> Any:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace[name]


def long_function(n: int) -> int:
    lines = "".join(f"    a = a + {i} if a < {i} else a - 1\n" for i in range(n))
    return int(_exec(f"def made(a):\n{lines}    return a\n")(1))


def long_literals(n: int) -> int:
    values = ", ".join(f"a + {i}" for i in range(n))
    return len(_exec(f"def made(a):\n    return [{values}], ({values}), {{{values}}}\n")(1)[0])


def deep_nesting(n: int) -> int:
    depth = min(n, 18)
    lines = "".join("    " * (i + 1) + "for _ in (1,):\n" for i in range(depth))
    made = _exec(f"def made():\n    a = 0\n{lines}{'    ' * (depth + 1)}a += 1\n    return a\n")
    return sum(made() for _ in range(n))


def many_classes(n: int) -> int:
    total = 0
    for i in range(n):

        class Made:
            value = i

            def get(self) -> int:
                return self.value

        total += Made().get()
    return total


def deep_inheritance(n: int) -> int:
    class Root:
        def get(self) -> int:
            return 1

    made: Any = Root
    for _ in range(n // 20):
        made = type("Made", (made,), {})
    total = 0
    obj = made()
    for _ in range(n):
        total += obj.get()
    return total


def many_functions(n: int) -> int:
    functions = "".join(f"    def f{i}(x): return x + {i}\n    total += f{i}(1)\n" for i in range(n))
    return int(_exec(f"def made():\n    total = 0\n{functions}    return total\n")())


def many_locals(n: int) -> int:
    names = [f"v{i}" for i in range(n)]
    lines = "".join(f"    {name} = x\n" for name in names)
    made = _exec(f"def made(x):\n{lines}    return {' + '.join(names[:50])}\n")
    return sum(made(1) for _ in range(5))


def closures(n: int) -> int:
    chain: Any = lambda: 0  # noqa: E731
    for _ in range(n):
        chain = (lambda inner: lambda: 1 + inner())(chain)
    return int(chain())


def sorting(n: int) -> int:
    class Key:
        def __init__(self, value: int) -> None:
            self.value = value

        def __lt__(self, other: Any) -> bool:
            return bool(self.value < other.value)

    return sorted([Key(i * 7919 % n) for i in range(n)])[0].value


def matching(n: int) -> int:
    total = 0
    items = list(range(n))
    while items:
        match items:
            case [first, *_]:
                total += first
        items.pop()
        if len(items) < n - 50:
            break
    return total


# name → program, size; sizes of recursion stay below the recursion limit
PROGRAMS: Final[tuple[tuple[Callable[[int], int], int], ...]] = (
    (loops, 20000), (recursion, 200), (generators_alive, 2000), (delegation, 200), (context_chain, 400), (raised_through, 200),
    (handled_and_reraised, 200), (raised_again, 2000), (big_containers, 5000), (unpacked_calls, 5000), (long_function, 1000), (long_literals, 2000),
    (deep_nesting, 100), (many_classes, 100), (deep_inheritance, 1000), (many_functions, 500), (many_locals, 2000), (closures, 200),
    (sorting, 500), (matching, 1000),
)  # fmt: skip
FACTOR: Final = 4


def seconds(run: Callable[[int], int], size: int, repeats: int) -> float:
    """The shortest processor time of some runs; each decodes anew what it makes."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run(size)
        found.append(time.process_time() - start)
    return min(found)


def growth(fn: Callable[[int], int], size: int, repeats: int = 5) -> tuple[float, float]:
    """Processor time at the size and at ``FACTOR`` times the size. Raises AssertionError where a result is wrong."""
    run = interpret(fn)
    assert run(size) == fn(size), fn.__name__
    return seconds(run, size, repeats), seconds(run, FACTOR * size, repeats)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs to run (all)")
    options = parser.parse_args()
    for fn, size in PROGRAMS:
        if options.names and fn.__name__ not in options.names:
            continue
        small, large = growth(fn, size)
        native = (seconds(fn, size, 5), seconds(fn, FACTOR * size, 5))
        print(
            f"{fn.__name__:22} {size:6} → {FACTOR * size:6}   {small * 1e3:8.2f} → {large * 1e3:8.2f} ms   "
            f"{large / small:5.1f}×   (CPython {native[1] / native[0]:5.1f}×)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
