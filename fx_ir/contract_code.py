"""A contract compiled to Python: one function takes a call apart, one checks the leaves and binds the symbols."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from fx_ir import guard_errors as errors
from fx_ir import plain
from fx_ir.backend import Backend
from fx_ir.call_matching import Flatten, compile_flatten
from fx_ir.contract import Condition, ConstLeaf, Distinct, InputContract, IntLeaf, TensorLeaf
from fx_ir.errors import CONTRACT_UNBOUND
from fx_ir.meta import TensorMeta
from fx_ir.pytree import describe_tree
from solver.errors import ErrorSpec, Location
from solver.expr import IntExpr, constant, free_symbols
from solver.parse import is_symbol_name

Check = Callable[[Sequence[Any]], None]
_SINGLETONS: Final = (None, True, False, ...)
# What the text of an expression may name besides symbols.
_EXPRESSION_NAMES: Final[dict[str, Any]] = {
    "max": max,
    "min": min,
    "abs": abs,
    "int": int,
    "float": float,
    "round": round,
    "math": math,
}


class CompiledContract:
    """``flatten(args, kwargs)`` gives the leaves; ``checker(backend)(leaves)`` raises GuardError unless they fit."""

    def __init__(self, contract: InputContract) -> None:
        self.contract = contract
        self.flatten: Flatten = compile_flatten(contract)
        self._checkers: dict[str, Check] = {}

    def checker(self, backend: Backend) -> Check:
        """The check for the tensors of one library."""
        found = self._checkers.get(backend.name)
        if found is None:
            found = self._checkers[backend.name] = CheckWriter(self.contract, backend).compile()
        return found

    def source(self, backend: Backend) -> str:
        """The text of the check, for readers."""
        return CheckWriter(self.contract, backend).source()


def compile_contract(contract: InputContract) -> CompiledContract:
    """Compiles a contract. Raises ``contract-unbound`` for a condition over a symbol that no input gives."""
    return CompiledContract(contract)


class CheckWriter:
    """Writes the check: kinds and metadata leaf by leaf, then symbols, ranges, dimensions, conditions."""

    def __init__(self, contract: InputContract, backend: Backend) -> None:
        self.contract = contract
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {
            **_EXPRESSION_NAMES, "_is_tensor": backend.is_tensor, "_describe": backend.describe, "_shares": backend.shares_memory, "_same": plain.same_plain,
            # Symbols are locals of the check and may be called like builtins.
            "_len": len, "_type": type, "_tuple": tuple, "_dict": dict, "_int": int, "_str": str,
        }  # fmt: skip
        self.bound: dict[str, str] = {}  # symbol -> what the user calls its source
        self.pending: list[
            tuple[str, IntExpr, TensorLeaf | IntLeaf, int | None]
        ] = []  # code, expression, leaf, dimension
        self.pending_strides: list[tuple[str, tuple[Any, ...], Callable[..., NoReturn], str]] = []

    def compile(self) -> Check:
        self.namespace["__name__"] = __name__  # code of these packages, as every frame shows
        exec(compile(self.source(), "<contract: check>", "exec"), self.namespace)
        check: Check = self.namespace["check"]
        return check

    def source(self) -> str:
        leaves = self.contract.leaves
        self.lines = []
        if leaves:
            self.lines.append(f"{', '.join(f'_a{i}' for i in range(len(leaves)))}, = _leaves")
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, TensorLeaf):
                self.tensor(index, leaf)
            elif isinstance(leaf, IntLeaf):
                self.integer(index, leaf)
            else:
                self.const(index, leaf)
        self.bind_pending()
        self.ranges()
        for distinct in self.contract.distinct:
            self.distinct(distinct)
        for condition in self.contract.conditions:
            self.condition(condition)
        body = self.lines or ["pass"]
        return "def check(_leaves):\n" + "\n".join(f"    {line}" for line in body)

    def bind(self, value: Any) -> str:
        """A name in the check's globals for an object."""
        name = f"_g{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def require(self, wrong: str, fail: Callable[..., NoReturn], given: str) -> None:
        self.lines.append(f"if {wrong}: {self.bind(fail)}({given})")

    # --- leaves ------------------------------------------------------------------------------------------------------

    def tensor(self, index: int, leaf: TensorLeaf) -> None:
        value, meta, shape = f"_a{index}", f"_m{index}", f"_s{index}"
        place = leaf.location
        if leaf.alias_of is not None:
            first = self.contract.leaves[leaf.alias_of]
            wanted = f"the same tensor object as {first.path}"
            self.require(
                f"{value} is not _a{leaf.alias_of}",
                _raiser(errors.ALIAS, place, lambda _: "another", path=leaf.path, expected=wanted),
                value,
            )
        described = f"{leaf.dtype.short}[{', '.join(map(str, leaf.dims))}]"
        self.require(
            f"not _is_tensor({value})",
            _raiser(errors.NOT_A_TENSOR, place, _given_kind, path=leaf.path, expected=described),
            value,
        )
        self.lines.append(f"{meta} = _describe({value})")
        dtype = self.bind(leaf.dtype)
        fail = _raiser(errors.DTYPE, place, lambda m: m.dtype, path=leaf.path, expected=leaf.dtype)
        self.require(f"{meta}.dtype is not {dtype}", fail, meta)
        device = self.bind(leaf.device)
        fail = _raiser(errors.DEVICE, place, lambda m: m.device, path=leaf.path, expected=leaf.device)
        self.require(f"{meta}.device is not {device} and {meta}.device != {device}", fail, meta)
        self.lines.append(f"{shape} = {meta}.shape")
        fail = _raiser(errors.RANK, place, _given_rank, path=leaf.path, expected=len(leaf.dims))
        self.require(f"_len({shape}) != {len(leaf.dims)}", fail, shape)
        for dim, size in enumerate(leaf.dims):
            self.dimension(f"{shape}[{dim}]", size, leaf, dim)
        self.facts(leaf, value, meta)

    def facts(self, leaf: TensorLeaf, value: str, meta: str) -> None:
        """Metadata beyond dtype and sizes that the program looked at."""
        place = leaf.location
        if leaf.class_name is not None:
            fail = _raiser(
                errors.CLASS, place, lambda m: m.__name__, path=leaf.path, expected=leaf.class_name
            )
            self.require(f"_type({value}).__name__ != {leaf.class_name!r}", fail, f"_type({value})")
        if leaf.offset is not None:
            fail = _raiser(
                errors.LAYOUT,
                place,
                lambda m: f"offset {m.offset}",
                path=leaf.path,
                expected=f"a tensor that begins at element {leaf.offset} of its storage",
            )
            self.require(f"{meta}.offset != {leaf.offset}", fail, meta)
        if leaf.requires_grad is not None:
            fail = _raiser(
                errors.GRAD, place, lambda m: m.requires_grad, path=leaf.path, expected=leaf.requires_grad
            )
            self.require(f"{meta}.requires_grad is not {leaf.requires_grad}", fail, meta)
        if leaf.contiguous is not None:
            wanted = "a contiguous tensor" if leaf.contiguous else "a tensor that is not contiguous"
            fail = _raiser(
                errors.LAYOUT, place, lambda m: f"strides {m.strides}", path=leaf.path, expected=wanted
            )
            test = f"{self.bind(is_contiguous)}({meta})"
            self.require(f"not {test}" if leaf.contiguous else test, fail, meta)
        if leaf.strides is not None:
            fail = _raiser(
                errors.LAYOUT,
                place,
                lambda m: m.strides,
                path=leaf.path,
                expected=f"strides {_tuple(leaf.strides)}",
            )
            # Strides may mention symbols, so they are compared once those are bound.
            self.pending_strides.append((f"{meta}.strides", leaf.strides, fail, meta))

    def integer(self, index: int, leaf: IntLeaf) -> None:
        value = f"_a{index}"
        fail = _raiser(errors.INTEGER, None, repr, path=leaf.path, expected="an int")
        self.require(f"_type({value}) is not int", fail, value)
        self.dimension(value, leaf.expr, leaf, None)

    def const(self, index: int, leaf: ConstLeaf) -> None:
        value, expected = f"_a{index}", leaf.value
        fail = _raiser(errors.VALUE, leaf.location, _given_value, path=leaf.path, expected=_shown(expected))
        if any(expected is known for known in _SINGLETONS):
            self.require(f"{value} is not {expected!r}", fail, value)
        elif type(expected) in (int, str):
            self.require(
                f"_type({value}) is not _{type(expected).__name__} or {value} != {expected!r}", fail, value
            )
        elif plain.is_plain(expected):
            self.require(f"not _same({value}, {self.bind(expected)})", fail, value)
        else:
            name = self.bind(expected)
            self.require(f"{value} is not {name} and {self.bind(_differs)}({value}, {name})", fail, value)

    # --- symbols -----------------------------------------------------------------------------------------------------

    def dimension(self, code: str, size: int | IntExpr, leaf: TensorLeaf | IntLeaf, dim: int | None) -> None:
        """A static size is compared at once; a lone new symbol is bound; the rest waits until symbols are known."""
        expr = constant(size) if isinstance(size, int) else size
        if expr.is_const:
            self.require(f"{code} != {expr.const}", self.size_failure(leaf, dim, str(expr.const)), code)
            return
        symbol = _lone_symbol(expr)
        if symbol is None or symbol in self.bound:
            self.pending.append((code, expr, leaf, dim))
        else:
            self.bind_symbol(symbol, code, _where(leaf.path, dim))

    def bind_symbol(self, symbol: str, code: str, where: str) -> None:
        if not is_symbol_name(symbol) or symbol.startswith("_"):
            raise CONTRACT_UNBOUND(symbol=symbol, condition=where)
        self.lines.append(f"{symbol} = {code}")
        self.bound[symbol] = where

    def bind_pending(self) -> None:
        """Solves ``k*d + r == size`` for a symbol that has no dimension of its own, then compares everything left."""
        waiting, solved = self.pending, True
        while waiting and solved:
            solved, rest = False, []
            for code, expr, leaf, dim in waiting:
                root = _affine(expr, self.bound)
                if root is None:
                    rest.append((code, expr, leaf, dim))
                    continue
                symbol, factor, constant_part = root
                solved = True
                fail = _raiser(
                    errors.DIVISION,
                    None,
                    operator.pos,
                    path=leaf.path,
                    dim=dim,
                    expected=str(expr),
                    symbol=symbol,
                )
                self.require(f"({code} - {constant_part}) % {factor}", fail, code)
                self.bind_symbol(symbol, f"({code} - {constant_part}) // {factor}", _where(leaf.path, dim))
            waiting = rest
        for code, expr, leaf, dim in waiting:
            self.need(free_symbols(expr), str(expr))
            self.require(
                f"{code} != {expr}",
                self.size_failure(leaf, dim, str(expr), expr),
                f"{code}, {self.values(expr)}",
            )
        for code, strides, fail, meta in self.pending_strides:
            self.require(f"_tuple({code}) != {_tuple(strides)}", fail, meta)

    def need(self, symbols: frozenset[str], text: str) -> None:
        for symbol in symbols:
            if symbol not in self.bound:
                raise CONTRACT_UNBOUND(symbol=symbol, condition=text)

    def values(self, expr: Any) -> str:
        """Code of a dict with the values of an expression's symbols."""
        return f"_dict({', '.join(f'{s}={s}' for s in sorted(free_symbols(expr)))})"

    def size_failure(
        self, leaf: TensorLeaf | IntLeaf, dim: int | None, text: str, expr: IntExpr | None = None
    ) -> Callable[..., NoReturn]:
        """Raises the size error; for an expression its value at the symbols' values is added."""
        location = leaf.location if isinstance(leaf, TensorLeaf) else None
        path, sources = leaf.path, self.bound

        def fail(given: int, values: Mapping[str, int] | None = None) -> NoReturn:
            expected = text
            if expr is not None and values is not None:
                from solver.expr import evaluate

                origins = ", ".join(f"{symbol} from {sources[symbol]}" for symbol in values)
                expected = f"{text} = {evaluate(expr, values)} ({origins})"
            if dim is None:
                raise errors.INTEGER(path=path, expected=expected, given=given)
            raise errors.SIZE(path=path, dim=dim, expected=expected, given=given, location=location)

        return fail

    def ranges(self) -> None:
        for symbol, (low, high) in self.contract.ranges.items():
            if symbol not in self.bound or (low is None and high is None):
                continue
            wanted = f"{'-inf' if low is None else low}..{'inf' if high is None else high}"
            fail = _raiser(
                errors.RANGE, None, operator.pos, symbol=symbol, where=self.bound[symbol], expected=wanted
            )
            left = "" if low is None else f"{low} <= "
            right = "" if high is None else f" <= {high}"
            self.require(f"not {left}{symbol}{right}", fail, symbol)

    def distinct(self, distinct: Distinct) -> None:
        leaves = self.contract.leaves
        first, second = f"_a{distinct.first}", f"_a{distinct.second}"
        wanted, given, test = "another tensor object than", "the same", f"{second} is {first}"
        if distinct.apart:
            wanted, given, test = "no memory of", "a tensor that shares it", f"_shares({first}, {second})"
        wanted = f"{wanted} {leaves[distinct.first].path}"
        path = leaves[distinct.second].path
        fail = _raiser(errors.ALIAS, distinct.location, lambda _: given, path=path, expected=wanted)
        self.require(test, fail, second)

    def condition(self, condition: Condition) -> None:
        self.need(free_symbols(condition.expr), condition.text)
        fail = _raiser(
            errors.CONDITION, condition.location, _assignment, expected=condition.text, kind=condition.kind
        )
        name, values = self.bind(fail), self.values(condition.expr)
        test = f"if not ({condition.expr}): {name}({values})"
        if condition.expr.total:
            self.lines.append(test)
        else:  # A division by zero: the condition has no truth value, so it does not hold.
            self.lines += [
                "try:",
                f"    {test}",
                f"except (ZeroDivisionError, OverflowError, ValueError): {name}({values})",
            ]


def is_contiguous(meta: TensorMeta) -> bool:
    """Whether a described tensor is laid out row-major: strides of dimensions of size 1 do not matter."""
    if meta.is_plain:
        return True
    running = 1
    sizes = [int(size) for size in meta.shape]
    if 0 in sizes:
        return True
    for size, stride in zip(reversed(sizes), reversed(meta.strides), strict=True):
        if size != 1 and stride != running:
            return False
        running *= size
    return True


def _raiser(
    spec: ErrorSpec, location: Location | None, given: Callable[[Any], object], **values: Any
) -> Callable[[Any], NoReturn]:
    def fail(value: Any) -> NoReturn:
        raise spec(location=location, given=given(value), **values)

    return fail


def _lone_symbol(expr: IntExpr) -> str | None:
    atom = expr.atom
    return atom.name if atom is not None and atom.op == "symbol" else None


def _affine(expr: IntExpr, bound: Mapping[str, str]) -> tuple[str, int, int] | None:
    """``(symbol, factor, constant)`` when the expression is ``factor*symbol + constant`` over a symbol not yet bound."""
    if len(expr.terms) != 1:
        return None
    ((mono, factor),) = expr.terms.items()
    if len(mono.atoms) != 1 or mono.atoms[0].op != "symbol" or mono.atoms[0].name in bound or factor == 0:
        return None
    return mono.atoms[0].name, factor, expr.const


def _where(path: str, dim: int | None) -> str:
    return path if dim is None else f"{path}.shape[{dim}]"


def _tuple(items: Sequence[object]) -> str:
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def _given_kind(value: object) -> str:
    return "None" if value is None else describe_tree(value)


def _given_rank(shape: Sequence[int]) -> str:
    return f"{len(shape)} (shape {tuple(shape)})"


def _given_value(value: Any) -> str:
    shape = getattr(type(value), "shape", None)
    if shape is not None and not plain.is_plain(value):
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    return _shown(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _differs(value: Any, expected: Any) -> bool:
    return type(value) is not type(expected) or not bool(value == expected)


def _assignment(values: Mapping[str, int]) -> str:
    return ", ".join(f"{symbol} = {value}" for symbol, value in values.items())
