"""The grammar: what is read, what is refused and where."""

from __future__ import annotations

import random

import pytest

from solver import expr as E
from solver.parse import MAX_NESTING, ExpressionError, parse, parse_bool


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')", "a.b > 1", "a[0] > 1", "lambda: 1", "a if b", "f(a) > 1", "(a", "a > 1)", "a >", "", "  ",
        "a := 3", "a = 3", "a is b", "a in b", "a & b", "~a > 1", "a @ b", "'x' == 'y'", "{1, 2}", "[a]", "max(a) > 1",
        "max(a, key=b) > 1", "max(*a) > 1", "math.pi > 3", "math.sin(a) > 1", "os.system(a)", "abs(a, b) > 1", "1j == a",
        "None == a", "a; b", "a\nb", "a # b", "await a", "yield", "f'{a}'", "{a: 1}", "{a for a in b}", "... == a",
        "a.__class__", "math > 1", "(yield)", "not", "a and", "a > 1 and b", "a + (b > 1)", "(a > 1) < (b > 2)",
        "1 if a else 2", "(1 if a > 1 else b > 2)", "9" * 500 + " > a", "2 ** 99999999 > a", "`a`", "a !b", "a\x00b > 1",
    ],
)  # fmt: skip
def test_what_is_not_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_bool(text)


def test_the_error_says_where() -> None:
    with pytest.raises(ExpressionError, match=r"unknown symbol 'zz' \(column 8\)"):
        parse("a + 3*(zz)", {"a": "int"})
    with pytest.raises(ExpressionError, match="unknown function 'sorted'"):
        parse("sorted(a)")


def test_sorts() -> None:
    sorts: dict[str, E.Sort] = {"n": "int", "x": "float", "p": "bool"}
    assert isinstance(parse("n + 1", sorts), E.IntExpr)
    assert isinstance(parse("n * x", sorts), E.FloatExpr)
    assert parse_bool("p and x < n or not p", sorts).op == "or"
    assert parse_bool("p == (n > 1)", sorts).op == "if"
    with pytest.raises(ExpressionError, match="number is needed"):
        parse("p + 1", sorts)
    with pytest.raises(ExpressionError, match="condition is needed"):
        parse_bool("n + 1", sorts)


@pytest.mark.parametrize("text", ["(" * 5000 + "a" + ")" * 5000 + " > 1", "-" * 50000 + "a > 1", "not " * 20000 + "a > 1",
                                  "a" + "+a" * 40000 + " > 1", "a > 1" + " and a > 1" * 5000, "*".join(["(a+b+c+d)"] * 60) + " > 1",
                                  "2**a" * 1 + "**2" * 9000 + " > 1", "1 if a > 1 else " * 5000 + "1", "a" * 200_000])  # fmt: skip
def test_absurd_text_ends_quickly(text: str) -> None:
    """Either an expression or an ExpressionError, never a crash."""
    try:
        node = parse(text)
    except ExpressionError:
        return
    assert isinstance(node, E.IntExpr | E.BoolExpr)


def test_nesting_up_to_the_limit() -> None:
    text = "(" * MAX_NESTING + "a" + ")" * MAX_NESTING
    assert parse(text) is E.int_symbol("a")


def test_mutated_text_never_crashes() -> None:
    seed = "(h//4) % 8 == 0 and max(a, b) <= 3*a + 1 or x in {1, 2} and math.floor(0.5*h) >= a if b > 1 else a != b"
    chance = random.Random(7)
    alphabet = seed + "()[]{}:=.'\"\\\n\x00é@#;~^&|"
    for _ in range(3000):
        characters = list(seed)
        for _ in range(chance.randint(1, 6)):
            position = chance.randrange(len(characters))
            characters[position : position + chance.randint(0, 3)] = chance.choice(alphabet)
        try:
            node = parse("".join(characters))
        except ExpressionError:
            continue
        assert parse(str(node), dict(E.symbol_sorts(node))) is node
