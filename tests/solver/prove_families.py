"""Families of problems of any size, whose verdicts mathematics gives: each line is made from a size ``n``.

The verdict ``open`` is one that no method here can be asked for: it has to end soon, with a proof, a counterexample or unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Line = Callable[[int], str]
Family = tuple[str, tuple[int, ...], Line]


def each(n: int, template: str, between: str = " + ") -> str:
    """The template for every ``i`` below ``n``; ``j``, ``k``: other numbers below ``n``; ``d``: ``i + 2``; ``e``: ``i + 1``."""
    parts = (template.format(i=i, j=(i + 1) % n, k=(i * 7 + 3) % n, d=i + 2, e=i + 1, n=n) for i in range(n))
    return between.join(parts)


def free(n: int, low: int = 0) -> str:
    """``n`` symbols without upper bound."""
    return each(n, f"s{{i}}:{low}..", ", ")


def nested(n: int, template: str, inner: str = "h") -> str:
    """The template put into itself at ``@``, ``n`` times."""
    for i in range(n):
        inner = template.replace("@", inner).format(i=i, d=i % 3 + 2)
    return inner


def squared(n: int, more: str) -> str:
    """The square of a sum of floors against its products."""
    floors = [f"s{i}//{i + 2}" for i in range(n)]
    products = " + ".join(f"({a})*({b})" for a in floors for b in floors)
    return f"{free(n)} |- ({' + '.join(floors)})**2 + {more} == {products}"


FAMILIES: Final[dict[str, Family]] = {
    # sums
    "sum": ("proved", (300,), lambda n: f"{free(n, 2)} |- {each(n, 's{i}')} >= {2 * n}"),
    "sum too large": ("refuted", (300,), lambda n: f"{free(n, 2)} |- {each(n, 's{i}')} > {2 * n}"),
    "floors and products": (
        "proved",
        (30, 300),
        lambda n: f"{free(n, 2)} |- {each(n, 's{i}//2 + s{i}*s{j}')} >= {5 * n}",
    ),
    "floors times": (
        "proved",
        (30, 300),
        lambda n: f"{free(n, 2)} |- {each(n, '(s{i}//2)*s{j} + s{i}*s{i}')} >= {6 * n}",
    ),
    "floors times, too large": (
        "refuted",
        (30, 300),
        lambda n: f"{free(n, 2)} |- {each(n, '(s{i}//2)*s{j} + s{i}*s{i}')} > {6 * n}",
    ),
    "products less one": (
        "proved",
        (30, 100),
        lambda n: f"{free(n, 2)} |- {each(n, 's{i}*s{j} - s{i}')} >= {2 * n}",
    ),
    "one size divided": ("proved", (50, 300), lambda n: f"k:1.., h=32*k |- {each(n, 'h//{e}')} >= 1"),
    "floors below": (
        "proved",
        (10, 60),
        lambda n: f"{free(n)} |- {each(n, 's{i}//{d}')} <= {each(n, 's{i}')}",
    ),
    "remainders": (
        "proved",
        (10, 60),
        lambda n: f"{free(n)} |- {each(n, '(s{i} % {d})')} <= {n * (n + 1) // 2}",
    ),
    "remainders, too small": (
        "refuted",
        (10, 60),
        lambda n: f"{free(n)} |- {each(n, '(s{i} % {d})')} < {n * (n + 1) // 2}",
    ),
    "hermite": ("proved", (5, 40), lambda n: f"h:0.. |- {each(n, '(h + {i})//{n}')} == h"),
    "congruent sum": (
        "proved",
        (20, 100),
        lambda n: f"{free(n)}, {each(n, 's{i} % 8 == 0', ', ')} |- ({each(n, 's{i}')}) % 8 == 0",
    ),
    # products
    "product": ("proved", (8, 40), lambda n: f"{free(n, 2)} |- {each(n, 's{i}', '*')} >= {2**n}"),
    "product too large": ("refuted", (8, 40), lambda n: f"{free(n, 2)} |- {each(n, 's{i}', '*')} > {2**n}"),
    "product of two": ("proved", (8, 40), lambda n: f"{free(n, 1)} |- {each(n, 's{i}', '*')} >= s0*s1"),
    "product not zero": ("proved", (8, 40), lambda n: f"{free(n, 1)} |- {each(n, 's{i}', '*')} != 0"),
    "even product": (
        "proved",
        (4, 12),
        lambda n: f"{free(n, 1)}, {each(n, 's{i} % 2 == 0', ', ')} |- ({each(n, 's{i}', '*')}) % {2**n} == 0",
    ),
    "product of floors": (
        "proved",
        (2, 6),
        lambda n: f"{free(n)} |- {2**n}*{each(n, '(s{i}//2)', '*')} <= {each(n, 's{i}', '*')}",
    ),
    "square of floors": ("proved", (2, 6, 12), lambda n: squared(n, "0")),
    "square of floors, and more": ("refuted", (2, 6, 12), lambda n: squared(n, "s0//97")),
    "difference of sums of products": (
        "refuted",
        (10, 100),
        lambda n: f"{free(n)} |- {each(n, 's{i}*s{k}')} != 777",
    ),
    "squares": ("proved", (2, 20), lambda n: f"{each(n, 's{i}:..', ', ')} |- {each(n, 's{i}**2')} >= 0"),
    "squares of differences": (
        "proved",
        (2, 10),
        lambda n: f"{free(n)} |- {each(n, '(s{i} - s{j})**2')} >= 0",
    ),
    # max, min, abs, choices
    "nested max": (
        "proved",
        (5, 30),
        lambda n: (
            f"h:0.., {free(n)} |- {nested(n, 'max(s{i} + {i}, @)')} >= s0, h <= {nested(n, 'max(s{i}, @)')}"
        ),
    ),
    "sum of max": (
        "proved",
        (5, 100),
        lambda n: f"{free(n)} |- {each(n, 'max(s{i}, s{j})')} >= {each(n, 's{i}')}",
    ),
    "sum of min": (
        "proved",
        (5, 30),
        lambda n: f"{free(n)} |- {each(n, 'min(s{i}, s{j})')} <= {each(n, 's{i}')}",
    ),
    "max with min": (
        "open",
        (3, 40),
        lambda n: f"{free(n)} |- {each(n, 'max(s{i}, s{j}) + min(s{i}, s{j})')} == {each(n, '2*s{i}')}",
    ),
    "choices": (
        "proved",
        (5, 60),
        lambda n: f"{free(n)} |- {each(n, '(s{i} if s{i} >= 2 else 2)')} >= {2 * n}",
    ),
    "triangle": (
        "proved",
        (3, 20),
        lambda n: f"a:0.., b:0.., {free(n)} |- abs(a - s0) + {each(n, 'abs(s{i} - s{j})')} >= abs(a - s0)",
    ),
    # chains
    "floors of floors": ("proved", (8, 40), lambda n: f"h:0.. |- {nested(n, '(@//2)')} == h//{2**n}"),
    "ceilings of ceilings": (
        "proved",
        (4, 30),
        lambda n: f"h:1.. |- {nested(n, '((@ - 1)//2 + 1)')} >= 1, {nested(n, '((@ - 1)//2 + 1)')} <= h",
    ),
    "pooling": ("proved", (4, 10), lambda n: f"h:{4 * 2**n}.. |- {nested(n, '((@ - 3)//2 + 1)')} >= 1"),
    "uneven floors": (
        "proved",
        (4, 12),
        lambda n: f"h:0.. |- {nested(n, '((@ + {i})//{d})')} <= h + {n * n}",
    ),
    "symbolic divisors": (
        "proved",
        (3, 8),
        lambda n: f"h:0.., {free(n, 1)} |- {nested(n, '(@//s{i})')} == h//({each(n, 's{i}', '*')})",
    ),
    "increasing": (
        "proved",
        (4, 60),
        lambda n: f"{free(n)}, {each(n - 1, 's{i} < s{e}', ', ')} |- s0 + {n - 1} <= s{n - 1}",
    ),
    "doubling": (
        "proved",
        (4, 20),
        lambda n: f"{free(n, 1)}, {each(n - 1, '2*s{i} <= s{e}', ', ')} |- s{n - 1} >= {2 ** (n - 1)}",
    ),
    # conjunctions and disjunctions
    "long and": ("proved", (500,), lambda n: f"{free(n, 2)} |- {each(n, 's{i} + s{k} >= 4', ' and ')}"),
    "long and, one wrong": (
        "refuted",
        (500,),
        lambda n: f"{free(n, 2)} |- {each(n, 's{i} + s{k} >= 4', ' and ')} and s3 != 77",
    ),
    "all values": ("proved", (10, 100), lambda n: f"h:0.. |- {each(n, 'h == {i}', ' or ')} or h >= {n}"),
    "all remainders": ("proved", (4, 64), lambda n: f"h:0.. |- {each(n, 'h % {n} == {i}', ' or ')}"),
    "cycle": (
        "proved",
        (3, 40),
        lambda n: f"{free(n + 1)} |- {each(n, 's{i} < s{e}', ' or ')} or s0 >= s{n}",
    ),
    "implications": (
        "proved",
        (4, 40),
        lambda n: f"{free(n + 1)}, {each(n, '(s{i} < 5 or s{e} >= 5)', ', ')} |- s0 < 5 or s{n} >= 5",
    ),
    "choices of the specification": (
        "proved",
        (4, 12),
        lambda n: f"{free(n)}, {each(n, '(s{i} == 4 or s{i} == 8)', ', ')} |- ({each(n, 's{i}')}) % 4 == 0",
    ),
    # congruences
    "large modulus": ("proved", (40,), lambda n: f"h:0.., h % {2**n} == 0 |- h % {2 ** (n // 2)} == 0"),
    "two large moduli": (
        "proved",
        (1,),
        lambda n: "h:0.., h % 1000003 == 0, h % 1009 == 0 |- h % 1009003027 == 0",
    ),
    "one times one": (
        "proved",
        (256, 4096),
        lambda n: f"a:0.., b:0.., a % {n} == 1, b % {n} == 1 |- (a*b) % {n} == 1",
    ),
    "squares modulo": (
        "proved",
        (8, 64),
        lambda n: f"a:0.., b:0.. |- (a*a + b*b) % 4 != 3, (a*a) % {n} != 3",
    ),
    "squares modulo a prime": ("open", (4093,), lambda n: f"a:0.. |- (a*a) % {n} != 2"),
    # what mathematics finds hard
    "fermat": ("open", (1,), lambda n: "a:1.., b:1.., c:1.. |- a**3 + b**3 != c**3"),
    "pell": ("open", (61,), lambda n: f"a:1.., b:1.. |- a*a - {n}*b*b != 1"),
    "irrational": ("open", (1,), lambda n: "a:1.., b:1.. |- a*a != 2*b*b"),
    "factors": ("open", (1000036000099, 1000003), lambda n: f"a:2.., b:2.. |- a*b != {n}"),
    "pigeons": (
        "open",
        (6, 9),
        lambda n: (
            f"{each(n, f's{{i}}:0..{n - 2}', ', ')}, "
            f"{', '.join(f's{i} != s{j}' for i in range(n) for j in range(i))} |- s0 >= s1"
        ),
    ),
    "products against products": (
        "open",
        (30, 100),
        lambda n: f"{free(n)} |- {each(n, 's{i}*s{k}')} >= {each(n, '(s{i}//3)*s{j}')}",
    ),
    "loose equations": (
        "open",
        (100, 400),
        lambda n: f"{free(n)}, {each(n, 's{i} + 2*s{j} >= s{k} + 1', ', ')} |- s0 + s{n // 2} >= 3",
    ),
    "tied remainders": (
        "open",
        (20, 60),
        lambda n: f"{free(n)}, {each(n - 1, '(s{i} + s{e}) % 5 == 1', ', ')} |- (s0 + s{n // 2}) % 3 == 0",
    ),
}
