"""ATen schema strings, letter for letter, and what they say.

``aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor``
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from fx_ir.dtypes import MemoryFormat, by_code


@dataclass(frozen=True, slots=True)
class ArgType:
    """A type in a schema: ``int[2]?`` is base ``int``, a list of size 2, optional; ``Tensor?[]`` has optional items."""

    base: str
    is_list: bool = False
    size: int | None = None
    optional: bool = False
    optional_items: bool = False

    @property
    def is_int_list(self) -> bool:
        return self.is_list and self.base in ("int", "SymInt")

    @property
    def is_tensor(self) -> bool:
        """True for a single tensor, optional or not."""
        return self.base == "Tensor" and not self.is_list


@dataclass(frozen=True, slots=True)
class Alias:
    """``(a!)``: the sets an argument or a result belongs to, and whether it is written. ``(a -> *)`` is ``wildcard``."""

    sets: tuple[str, ...]
    is_write: bool = False
    wildcard: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    type: ArgType
    default: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    alias: Alias | None = None

    @property
    def is_mutated(self) -> bool:
        return self.alias is not None and self.alias.is_write


@dataclass(frozen=True, slots=True)
class Return:
    type: ArgType
    alias: Alias | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed schema; ``text`` is what was parsed."""

    text: str
    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @property
    def qualified(self) -> str:
        """``aten::add.Tensor``; without an overload name ``aten::relu``."""
        base = f"{self.namespace}::{self.name}"
        return f"{base}.{self.overload}" if self.overload else base

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    @property
    def is_mutable(self) -> bool:
        return any(argument.is_mutated for argument in self.arguments)

    def __str__(self) -> str:
        return self.text


class SchemaError(ValueError):
    """A string that is no schema: says where."""


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<arrow>->)|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<number>-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf\b))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<punct>[()\[\],*?!=|.:]))"
)
_CONSTANTS: Final[dict[str, Any]] = {"None": None, "True": True, "False": False, "inf": float("inf")}
# Defaults that a schema spells in another type: PyTorch prints memory formats and element types as their numbers.
_OF_DEFAULT: Final[dict[str, Any]] = {"float": float, "MemoryFormat": MemoryFormat, "ScalarType": by_code}


class _Parser:
    """Recursive descent over the tokens of one schema."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise SchemaError(f"unexpected {text[position]!r} at column {position} of schema {text!r}")
            kind = match.lastgroup
            assert kind is not None
            self.tokens.append((kind, match.group(kind)))
            position = match.end()
        self.next = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.next + ahead
        return self.tokens[index][1] if index < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise SchemaError(
                f"expected {expected or 'more'!r}, found {token or 'the end'!r} in schema {self.text!r}"
            )
        self.next += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.next += 1
            return True
        return False

    def schema(self) -> Schema:
        namespace = self.take()
        self.take(":")
        self.take(":")
        name = self.take()
        overload = self.take() if self.accept(".") else ""
        arguments = self.arguments()
        self.take("->")
        returns = self.returns()
        if self.peek():
            raise SchemaError(f"unexpected {self.peek()!r} after the results of schema {self.text!r}")
        return Schema(self.text, namespace, name, overload, arguments, returns)

    def arguments(self) -> tuple[Argument, ...]:
        self.take("(")
        found: list[Argument] = []
        kwarg_only = False
        while not self.accept(")"):
            if found or kwarg_only:
                self.take(",")
            if self.accept("*"):
                kwarg_only = True
                continue
            found.append(self.argument(kwarg_only))
        return tuple(found)

    def argument(self, kwarg_only: bool) -> Argument:
        type, alias = self.type()
        name = self.take()
        if not self.accept("="):
            return Argument(name, type, None, False, kwarg_only, alias)
        default = self.literal()
        if type.is_list and type.size is not None and default is not None and not isinstance(default, list):
            default = [default] * type.size
        if default is not None and not type.is_list and type.base in _OF_DEFAULT:
            default = _OF_DEFAULT[type.base](default)
        return Argument(name, type, default, True, kwarg_only, alias)

    def type(self) -> tuple[ArgType, Alias | None]:
        base = self.take()
        alias: Alias | None = None
        if self.peek() == "(":
            alias = self.alias()
        item_optional = False
        optional = self.accept("?")
        is_list = False
        size: int | None = None
        if self.accept("["):
            is_list = True
            item_optional, optional = optional, False
            if not self.accept("]"):
                size = int(self.take())
                self.take("]")
            if self.peek() == "(":
                alias = self.alias()
            optional = self.accept("?")
        return ArgType(base, is_list, size, optional, item_optional), alias

    def alias(self) -> Alias:
        self.take("(")
        sets = [self.take()]
        while self.accept("|"):
            sets.append(self.take())
        write = self.accept("!")
        wildcard = False
        if self.accept("->"):
            wildcard = self.take() == "*"
        self.take(")")
        return Alias(tuple(sets), write, wildcard)

    def literal(self) -> Any:
        kind, token = self.tokens[self.next]
        self.next += 1
        if kind == "string":
            return token[1:-1]
        if token == "[":
            items: list[Any] = []
            while not self.accept("]"):
                if items:
                    self.take(",")
                items.append(self.literal())
            return items
        if kind == "number":
            return float(token) if any(mark in token for mark in ".einf") else int(token)
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        return token

    def returns(self) -> tuple[Return, ...]:
        if not self.accept("("):
            return (self.one_return(),)
        found: list[Return] = []
        while not self.accept(")"):
            if found:
                self.take(",")
            found.append(self.one_return())
        return tuple(found)

    def one_return(self) -> Return:
        type, alias = self.type()
        name = self.take() if self.peek() not in ("", ",", ")") else None
        return Return(type, alias, name)


@cache
def parse(text: str) -> Schema:
    """Parses a schema; SchemaError says what is wrong with it. Results are shared: they are never changed."""
    return _Parser(text).schema()


def split_name(text: str) -> tuple[str, str, str]:
    """Namespace, name and overload of a schema or a qualified name, without parsing the rest."""
    head = text.partition("(")[0]
    namespace, colons, rest = head.partition("::")
    if not colons or not namespace or not rest:
        raise SchemaError(f"{head!r} is not of the form namespace::name.overload")
    name, _, overload = rest.partition(".")
    return namespace, name, overload
