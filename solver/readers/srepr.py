"""SymPy's ``srepr`` notation, as PyTorch stores sizes, rewritten in the grammar of problems. Never evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

MAX_LENGTH: Final = 200_000
MAX_DEPTH: Final = 80
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<text>'[^'\\]*')|(?P<sign>[(),=]))"
)

Args = list[str]


class SreprError(ValueError):
    """The text is not in the notation, or uses a function that is not known."""


def to_expression(text: str) -> str:
    """``Mul(Integer(2), Symbol('s0', integer=True))`` as ``((2)*(s0))``."""
    if len(text) > MAX_LENGTH:
        raise SreprError(f"longer than {MAX_LENGTH} characters")
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> str:
        value = self.value(0)
        if self.text[self.at :].strip():
            raise SreprError(f"something follows the expression at column {self.at + 1}")
        return value

    def token(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise SreprError(f"not an expression at column {self.at + 1}")
        self.at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind]

    def value(self, depth: int) -> str:
        if depth > MAX_DEPTH:
            raise SreprError("nested too deeply")
        kind, name = self.token()
        if kind == "text":
            return name[1:-1]
        if kind == "number":
            return name
        if kind != "name":
            raise SreprError(f"not an expression at column {self.at}")
        if name in ("true", "false"):
            return "True" if name == "true" else "False"
        return self.call(name, depth)

    def call(self, name: str, depth: int) -> str:
        rule = _RULES.get(name)
        if rule is None:
            raise SreprError(f"unknown function {name[:60]!r}")
        if self.token() != ("sign", "("):
            raise SreprError(f"`(` expected at column {self.at}")
        args: Args = []
        while True:
            if self.keyword():
                pass
            else:
                args.append(self.value(depth + 1))
            kind, sign = self.token()
            if (kind, sign) == ("sign", ")"):
                break
            if (kind, sign) != ("sign", ","):
                raise SreprError(f"`,` or `)` expected at column {self.at}")
        try:
            return rule(args)
        except (IndexError, ValueError):
            raise SreprError(f"{name} does not take {len(args)} arguments of this kind") from None

    def keyword(self) -> bool:
        """Skips an assumption such as ``positive=True``."""
        match = re.compile(r"\s*[A-Za-z_]\w*\s*=\s*(?:True|False|\d+)").match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return True


def _symbol(args: Args) -> str:
    (name,) = args
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError
    return name


def _integer(args: Args) -> str:
    (number,) = args
    return str(int(number)) if int(number) >= 0 else f"({int(number)})"


def _float(args: Args) -> str:
    number = float(args[0])
    return repr(number) if number >= 0 else f"({number!r})"


def _joined(sign: str) -> Callable[[Args], str]:
    def rule(args: Args) -> str:
        if not args:
            raise ValueError
        return f"({sign.join(args)})"

    return rule


def _binary(sign: str) -> Callable[[Args], str]:
    def rule(args: Args) -> str:
        left, right = args
        return f"({left} {sign} {right})"

    return rule


def _function(name: str) -> Callable[[Args], str]:
    def rule(args: Args) -> str:
        if not args:
            raise ValueError
        return f"{name}({', '.join(args)})"

    return rule


def _power(args: Args) -> str:
    base, exponent = args
    return f"({base} ** {exponent})"


def _where(args: Args) -> str:
    condition, yes, no = args
    return f"({yes} if {condition} else {no})"


def _ceil_div(args: Args) -> str:
    left, right = args
    return f"(-((-{left}) // {right}))"


def _modular(args: Args) -> str:
    base, divisor, modulus = args
    return f"(({base} // {divisor}) % {modulus})"


def _same(args: Args) -> str:
    (value,) = args
    return value


_RULES: Final[dict[str, Callable[[Args], str]]] = {
    "Symbol": _symbol,
    "Integer": _integer,
    "Float": _float,
    "Add": _joined(" + "),
    "Mul": _joined("*"),
    "And": _joined(" and "),
    "Or": _joined(" or "),
    "Not": lambda args: f"(not {_same(args)})",
    "Pow": _power,
    "PowByNatural": _power,
    "FloatPow": _power,
    "FloorDiv": _binary("//"),
    "CleanDiv": _binary("//"),
    "Mod": _binary("%"),
    "PythonMod": _binary("%"),
    "IntTrueDiv": _binary("/"),
    "FloatTrueDiv": _binary("/"),
    "CeilDiv": _ceil_div,
    "ModularIndexing": _modular,
    "Where": _where,
    "Identity": _same,
    "Max": _function("max"),
    "Min": _function("min"),
    "Abs": _function("abs"),
    "ToFloat": _function("float"),
    "TruncToInt": _function("int"),
    "RoundToInt": _function("round"),
    "FloorToInt": _function("math.floor"),
    "floor": _function("math.floor"),
    "CeilToInt": _function("math.ceil"),
    "ceiling": _function("math.ceil"),
    "OpaqueUnaryFn_sqrt": _function("math.sqrt"),
    **{name: _binary("==") for name in ("Eq", "Equality")},
    **{name: _binary("!=") for name in ("Ne", "Unequality")},
    **{name: _binary("<") for name in ("Lt", "StrictLessThan")},
    **{name: _binary("<=") for name in ("Le", "LessThan")},
    **{name: _binary(">") for name in ("Gt", "StrictGreaterThan")},
    **{name: _binary(">=") for name in ("Ge", "GreaterThan")},
}
