"""Reading expressions. Python's own parser makes the tree, a table of what is allowed makes the expression.

Nothing is evaluated: a node that the table does not name is an error with its column. Size and nesting are limited
before the tree is made, so that hostile text costs nothing.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from solver import expr as E
from solver.errors import ExportError
from solver.expr import BoolExpr, Expr, FloatExpr, IntExpr, Number, Sort

Sorts: TypeAlias = Mapping[str, Sort]
MAX_LENGTH: Final = E.MAX_TEXT
MAX_NESTING: Final = 90
MAX_DIGITS: Final = 400
RESERVED: Final = frozenset({"max", "min", "abs", "int", "float", "round", "math", "and", "or", "not", "if", "else"}
                            | {"in", "is", "True", "False", "None"})  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class ExpressionError(ValueError):
    """The text is not an expression of the grammar. ``column`` counts from 0; -1 when no place can be given."""

    def __init__(self, message: str, column: int = -1) -> None:
        super().__init__(message if column < 0 else f"{message} (column {column + 1})")
        self.column = column


def is_symbol_name(name: str) -> bool:
    """Whether a symbol may be called so."""
    return bool(_NAME.match(name)) and name not in RESERVED and len(name) <= 200


def parse(text: str, symbols: Sorts | None = None) -> Expr:
    """The expression that ``text`` spells.

    ``symbols`` gives the sort of every name that may occur; None takes any name as an integer. Raises
    :class:`ExpressionError`.
    """
    return _read(text, _Reader(symbols))


def computation(text: str, symbols: Sorts | None = None) -> list[tuple[BoolExpr, IntExpr]]:
    """Every integer that evaluating ``text`` as it is written computes, in order, and the condition under which it does.

    Terms that cancel are among them: ``x*y - x*y`` computes ``x*y``. Raises :class:`ExpressionError`.
    """
    follower = _Follower(symbols)
    _read(text, follower)
    return list(follower.computed)


def _read(text: str, reader: _Reader) -> Expr:
    _limit(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as `1 in 2`: judged below
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as problem:
        raise ExpressionError(f"not an expression: {problem.msg}", (problem.offset or 0) - 1) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("not an expression") from None
    try:
        return reader.read(tree.body)
    except RecursionError:
        raise ExpressionError("nested too deeply") from None
    except ExportError as problem:
        raise ExpressionError(problem.message) from None


def parse_bool(text: str, symbols: Sorts | None = None) -> BoolExpr:
    """A condition; raises :class:`ExpressionError` also where ``text`` is a number."""
    return _condition(parse(text, symbols), 0)


def _limit(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters")
    depth = 0
    for column, character in enumerate(text):
        if character in "([{":
            depth += 1
            if depth > MAX_NESTING:
                raise ExpressionError(f"more than {MAX_NESTING} brackets deep", column)
        elif character in ")]}":
            depth -= 1
        elif character in "#\n\r\\\"'`;:=!@" and not (character in "=!" and _comparison_at(text, column)):
            raise ExpressionError(f"unexpected character {character!r}", column)
    long_number = re.search(rf"\d{{{MAX_DIGITS},}}", text.replace("_", ""))
    if long_number:
        raise ExpressionError(f"a number with more than {MAX_DIGITS} digits")


def _comparison_at(text: str, column: int) -> bool:
    return text[column + 1 : column + 2] == "=" or text[column - 1 : column] in ("<", ">", "=", "!")


class _Reader:
    def __init__(self, symbols: Sorts | None) -> None:
        self.symbols = symbols

    def read(self, node: ast.expr) -> Expr:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise ExpressionError(f"{_describe(node)} is not part of the grammar", node.col_offset)
        value = handler(self, node)
        self.computes(value)
        return value

    def computes(self, value: Expr) -> None:
        """Told of each value as it is made."""

    def goes_on(self, condition: BoolExpr) -> None:
        """Told that what follows is evaluated only where ``condition`` holds."""

    def rejoins(self, count: int) -> None:
        """Told that the last ``count`` such conditions no longer matter."""

    def number(self, node: ast.expr) -> Number:
        value = self.read(node)
        if isinstance(value, BoolExpr):
            raise ExpressionError("a condition where a number is needed", node.col_offset)
        return value

    def integer(self, node: ast.expr) -> IntExpr:
        value = self.number(node)
        if isinstance(value, FloatExpr):
            raise ExpressionError("a float where an integer is needed", node.col_offset)
        return value

    def condition(self, node: ast.expr) -> BoolExpr:
        return _condition(self.read(node), node.col_offset)


class _Follower(_Reader):
    """Notes what is computed on the way, and under which conditions."""

    def __init__(self, symbols: Sorts | None) -> None:
        super().__init__(symbols)
        self.computed: dict[tuple[BoolExpr, IntExpr], None] = {}
        self.paths: list[BoolExpr] = [E.TRUE]

    def computes(self, value: Expr) -> None:
        if isinstance(value, IntExpr):
            self.computed[self.paths[-1], value] = None

    def goes_on(self, condition: BoolExpr) -> None:
        self.paths.append(E.and_(self.paths[-1], condition))

    def rejoins(self, count: int) -> None:
        del self.paths[len(self.paths) - count :]


def _condition(value: Expr, column: int) -> BoolExpr:
    if not isinstance(value, BoolExpr):
        raise ExpressionError("a number where a condition is needed", column)
    return value


def _describe(node: ast.AST) -> str:
    return type(node).__name__


def _name(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.Name)
    sort: Sort | None = "int" if reader.symbols is None else reader.symbols.get(node.id)
    if sort is None or not is_symbol_name(node.id):
        raise ExpressionError(f"unknown symbol {node.id!r}", node.col_offset)
    if sort == "int":
        return E.int_symbol(node.id)
    return E.bool_symbol(node.id) if sort == "bool" else E.float_symbol(node.id)


def _constant(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.Constant)
    value = node.value
    if isinstance(value, bool):
        return E.truth(value)
    if isinstance(value, int):
        return E.constant(value)
    if isinstance(value, float):
        return E.literal(value)
    raise ExpressionError(f"a literal of type {type(value).__name__}", node.col_offset)


def _unary(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        return E.not_(reader.condition(node.operand))
    if isinstance(node.op, ast.Invert):
        raise ExpressionError("~ is not part of the grammar", node.col_offset)
    value = reader.number(node.operand)
    if isinstance(node.op, ast.UAdd):
        return value
    return -value if isinstance(value, IntExpr) else E.unary("neg", value)


_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_INT_BINARY: Final[dict[str, Callable[[IntExpr, IntExpr], IntExpr]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": E.floordiv,
    "%": E.mod,
    "**": E.power,
}


def _binary(reader: _Reader, node: ast.expr) -> Expr:
    """Long sums lean to the left: the spine is walked in a loop."""
    spine: list[ast.BinOp] = []
    inner = node
    while isinstance(inner, ast.BinOp):
        spine.append(inner)
        inner = inner.left
    value: Number = reader.number(inner)
    for step in reversed(spine):
        op = _BINARY.get(type(step.op))
        if op is None:
            raise ExpressionError(
                f"operator {_describe(step.op)} is not part of the grammar", step.col_offset
            )
        right = reader.number(step.right)
        make = _INT_BINARY.get(op)
        if make is not None and isinstance(value, IntExpr) and isinstance(right, IntExpr):
            value = _int_power(value, right) if op == "**" else make(value, right)
        else:
            value = E.binary(op, value, right)
        reader.computes(value)
    return value


def _int_power(base: IntExpr, exponent: IntExpr) -> Number:
    if exponent.is_const and exponent.const < 0:
        return E.binary("**", base, exponent)  # a float in Python
    return E.power(base, exponent)


_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Number, Number], BoolExpr]]] = {
    ast.LtE: E.le,
    ast.Lt: E.lt,
    ast.GtE: E.ge,
    ast.Gt: E.gt,
    ast.Eq: E.eq,
    ast.NotEq: E.ne,
}


def _compare(reader: _Reader, node: ast.expr) -> Expr:
    """A chain is the conjunction of its links."""
    assert isinstance(node, ast.Compare)
    links: list[BoolExpr] = []
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        links.append(_link(reader, left, op, right))
        reader.goes_on(links[-1])
        left = right
    reader.rejoins(len(links))
    return E.and_(*links)


def _link(reader: _Reader, left: ast.expr, op: ast.cmpop, right: ast.expr) -> BoolExpr:
    if isinstance(op, ast.In | ast.NotIn):
        inside = _membership(reader, left, right)
        return inside if isinstance(op, ast.In) else E.not_(inside)
    make = _COMPARISONS.get(type(op))
    if make is None:
        raise ExpressionError(f"comparison {_describe(op)} is not part of the grammar", left.col_offset)
    a, b = reader.read(left), reader.read(right)
    if isinstance(a, BoolExpr) and isinstance(b, BoolExpr) and isinstance(op, ast.Eq | ast.NotEq):
        return E.iff(a, b) if isinstance(op, ast.Eq) else E.iff(a, E.not_(b))
    if isinstance(a, BoolExpr) or isinstance(b, BoolExpr):
        raise ExpressionError("a condition where a number is needed", left.col_offset)
    return make(a, b)


def _membership(reader: _Reader, left: ast.expr, right: ast.expr) -> BoolExpr:
    if not isinstance(right, ast.Set | ast.Tuple | ast.List):
        raise ExpressionError("`in` wants a set such as {1, 2}", right.col_offset)
    item = reader.number(left)
    elements = [reader.number(element) for element in right.elts]
    integers = [e for e in elements if isinstance(e, IntExpr)]
    if isinstance(item, IntExpr) and len(integers) == len(elements):
        return E.member(item, integers)
    return E.or_(*[E.eq(item, e) for e in elements])


def _bool_op(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.BoolOp)
    every = isinstance(node.op, ast.And)
    parts: list[BoolExpr] = []
    for value in node.values:
        parts.append(reader.condition(value))
        reader.goes_on(parts[-1] if every else E.not_(parts[-1]))
    reader.rejoins(len(parts))
    return E.and_(*parts) if every else E.or_(*parts)


def _if(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.IfExp)
    test = reader.condition(node.test)
    reader.goes_on(test)
    a = reader.read(node.body)
    reader.rejoins(1)
    reader.goes_on(E.not_(test))
    b = reader.read(node.orelse)
    reader.rejoins(1)
    if isinstance(a, BoolExpr) and isinstance(b, BoolExpr):
        return E.bool_if(test, a, b)
    if isinstance(a, BoolExpr) or isinstance(b, BoolExpr):
        raise ExpressionError("the two branches differ in type", node.col_offset)
    if isinstance(a, IntExpr) and isinstance(b, IntExpr):
        return E.int_if(test, a, b)
    return E.float_if(test, a, b)


def _extremum(op: str, args: list[Number]) -> Number:
    integers = [a for a in args if isinstance(a, IntExpr)]
    if len(integers) == len(args):
        return E.int_max(*integers) if op == "max" else E.int_min(*integers)
    result = args[0]
    for other in args[1:]:
        result = E.binary(op, result, other)
    return result


def _absolute(value: Number) -> Number:
    return E.int_abs(value) if isinstance(value, IntExpr) else E.unary("abs", value)


_FUNCTIONS: Final[dict[str, Callable[[Number], Number]]] = {
    "abs": _absolute,
    "int": lambda x: E.from_float("int", x),
    "round": lambda x: E.from_float("round", x),
    "math.trunc": lambda x: E.from_float("int", x),
    "math.floor": lambda x: E.from_float("floor", x),
    "math.ceil": lambda x: E.from_float("ceil", x),
    "math.sqrt": lambda x: E.unary("sqrt", x),
    "float": lambda x: E.unary("float", x),
}


def _call(reader: _Reader, node: ast.expr) -> Expr:
    assert isinstance(node, ast.Call)
    name = _callee(node.func)
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise ExpressionError(f"{name}() takes plain arguments", node.col_offset)
    args = [reader.number(a) for a in node.args]
    if name in ("max", "min"):
        if len(args) < 2:
            raise ExpressionError(f"{name}() takes two or more arguments", node.col_offset)
        return _extremum(name, args)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise ExpressionError(f"unknown function {name!r}", node.col_offset)
    if len(args) != 1:
        raise ExpressionError(f"{name}() takes one argument", node.col_offset)
    return function(args[0])


def _callee(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
        return f"math.{node.attr}"
    raise ExpressionError("only the functions of the grammar can be called", node.col_offset)


_HANDLERS: Final[dict[type[ast.expr], Callable[[_Reader, ast.expr], Expr]]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _if,
    ast.Call: _call,
}
