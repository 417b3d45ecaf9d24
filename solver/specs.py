"""The newer spelling of dynamic shapes: variables with arithmetic, and assumptions that relate them.

``ShapesSpec({"x": TensorSpec([a, 2*a, None])}, assumptions=[a % 8 == 0])``. A specification lowers to the nest that
``dynamic_shapes`` takes (:meth:`ShapesSpec.as_dynamic_shapes`), and to conditions over the names of its dimensions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from solver import expr as E
from solver.dims import DerivedDim, Dim, DimHint, DimSpec, check_range
from solver.expr import BoolExpr, IntExpr
from solver.parse import ExpressionError, is_symbol_name, parse_bool
from solver.trace_errors import BAD_SPEC

STATIC: Final = None
_SERIAL = itertools.count()


Operator: TypeAlias = Callable[[IntExpr, IntExpr], IntExpr]
Relation: TypeAlias = Callable[[IntExpr, IntExpr], BoolExpr]


class Arithmetic(Protocol):
    """An operator of a variable expression with another or with an int."""

    def __call__(self, other: VarExpr | int, /) -> VarExpr: ...


class Comparison(Protocol):
    """A comparison of a variable expression with another or with an int."""

    def __call__(self, other: VarExpr | int, /) -> VarCondition: ...


def _operand(value: object) -> tuple[IntExpr, dict[str, IntVar]] | None:
    if isinstance(value, VarExpr):
        return value.expr, value.variables
    return (E.constant(value), {}) if type(value) is int else None


def _arithmetic(op: Operator, reflected: bool = False) -> Any:
    def method(self: VarExpr, other: object) -> Any:
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        expr, variables = operand
        made = op(expr, self.expr) if reflected else op(self.expr, expr)
        return VarExpr(made, self.variables | variables)

    return method


def _relation(make: Relation) -> Any:
    def method(self: VarExpr, other: object) -> Any:
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        expr, variables = operand
        return VarCondition(make(self.expr, expr), self.variables | variables)

    return method


class VarExpr:
    """An integer expression over variables; comparisons give :class:`VarCondition`."""

    __slots__ = ("expr", "variables")

    def __init__(self, expr: IntExpr, variables: Mapping[str, IntVar]) -> None:
        self.expr = expr
        self.variables = dict(variables)

    def __repr__(self) -> str:
        return _readable(self.expr, self.variables)

    __add__: Arithmetic = _arithmetic(lambda a, b: a + b)
    __sub__: Arithmetic = _arithmetic(lambda a, b: a - b)
    __mul__: Arithmetic = _arithmetic(lambda a, b: a * b)
    __floordiv__: Arithmetic = _arithmetic(E.floordiv)
    __mod__: Arithmetic = _arithmetic(E.mod)
    __pow__: Arithmetic = _arithmetic(E.power)
    __radd__: Arithmetic = _arithmetic(lambda a, b: a + b, reflected=True)
    __rsub__: Arithmetic = _arithmetic(lambda a, b: a - b, reflected=True)
    __rmul__: Arithmetic = _arithmetic(lambda a, b: a * b, reflected=True)
    __rfloordiv__: Arithmetic = _arithmetic(E.floordiv, reflected=True)
    __rmod__: Arithmetic = _arithmetic(E.mod, reflected=True)
    __rpow__: Arithmetic = _arithmetic(E.power, reflected=True)
    __lt__: Comparison = _relation(E.lt)
    __le__: Comparison = _relation(E.le)
    __gt__: Comparison = _relation(E.gt)
    __ge__: Comparison = _relation(E.ge)
    __eq__: Comparison = _relation(E.eq)  # type: ignore[assignment]
    __ne__: Comparison = _relation(E.ne)  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise BAD_SPEC(what=f"{self!r} has no value before export: state it as an assumption")

    def __neg__(self) -> VarExpr:
        return VarExpr(-self.expr, self.variables)

    def __abs__(self) -> VarExpr:
        return VarExpr(E.int_abs(self.expr), self.variables)


class VarCondition:
    """A condition over variables, to be an assumption. ``&``, ``|`` and ``~`` combine; ``and``, ``or``, ``not`` cannot."""

    __slots__ = ("expr", "variables")

    def __init__(self, expr: BoolExpr, variables: Mapping[str, IntVar]) -> None:
        self.expr = expr
        self.variables = dict(variables)

    def __repr__(self) -> str:
        return _readable(self.expr, self.variables)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise BAD_SPEC(
            what=f"{self!r} has no value before export",
            hint="list conditions one by one, or join them with & and |; a chain a < b < c is two conditions",
        )

    def __and__(self, other: VarCondition) -> VarCondition:
        return VarCondition(E.and_(self.expr, other.expr), self.variables | other.variables)

    def __or__(self, other: VarCondition) -> VarCondition:
        return VarCondition(E.or_(self.expr, other.expr), self.variables | other.variables)

    def __invert__(self) -> VarCondition:
        return VarCondition(E.not_(self.expr), self.variables)


class IntVar(VarExpr):
    """A dynamic integer. Each object is a variable of its own, whatever its name.

    Raises InputError for a bad name or an empty range.
    """

    __slots__ = ("key", "max", "min", "name")

    def __init__(self, name: str | None = None, *, min: int | None = None, max: int | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not is_symbol_name(name)):
            raise BAD_SPEC(what=f"{name!r} cannot name a variable: an identifier is needed")
        check_range(f"{type(self).__name__}({name!r})", min, max, lowest=None)
        self.name = name or "anon"
        self.min = min
        self.max = max
        self.key = f"{self.name}__{next(_SERIAL)}"
        super().__init__(E.int_symbol(self.key), {self.key: self})

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.name


class ShapeVar(IntVar):
    """A dynamic size of a tensor: an :class:`IntVar` from 0."""

    __slots__ = ()

    def __init__(self, name: str | None = None, *, min: int = 0, max: int | None = None) -> None:
        check_range(f"ShapeVar({name!r})", min, max)
        super().__init__(name, min=min, max=max)

    __hash__ = object.__hash__


def _readable(expr: E.Expr, variables: Mapping[str, IntVar]) -> str:
    renamed = {key: E.int_symbol(v.name) for key, v in variables.items()}
    return str(E.substitute(expr, renamed))


LeafSpec: TypeAlias = VarExpr | int | None


class TensorSpec:
    """One entry a dimension: a variable, an expression over variables, an int (fixed) or None (static)."""

    __slots__ = ("entries",)

    def __init__(self, dims: Sequence[LeafSpec]) -> None:
        for i, entry in enumerate(dims):
            if entry is not None and type(entry) is not int and not isinstance(entry, VarExpr):
                raise BAD_SPEC(
                    what=f"entry {i} of a TensorSpec is {entry!r}, neither a ShapeVar, an int nor None"
                )
        self.entries = tuple(dims)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[LeafSpec]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"TensorSpec({list(self.entries)!r})"


class _Nested:
    """A container of specifications by key."""

    __slots__ = ("entries",)

    def __init__(self, entries: Mapping[Any, Any] | None = None) -> None:
        self.entries = dict(entries or {})

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.entries!r})"


class ObjectSpec(_Nested):
    """Specifications of the attributes of an object (a registered dataclass), by name."""

    __slots__ = ()


class DictSpec(_Nested):
    """Specifications of the values of a dict, by key."""

    __slots__ = ()


class SeqSpec:
    """Specifications of the items of a list or tuple, in order; what is left out is static."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = tuple(entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"SeqSpec({list(self.entries)!r})"


class ParamsSpec:
    """Specifications of the arguments, by name; ``"*args"`` takes a list and ``"**kwargs"`` a dict of them."""

    __slots__ = ("params",)

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        self.params = dict(params or {})
        for name in self.params:
            if not isinstance(name, str) or (name.startswith("*") and name not in ("*args", "**kwargs")):
                raise BAD_SPEC(what=f"{name!r} names no argument")

    @property
    def assumptions(self) -> list[BoolExpr]:
        return []

    def as_dynamic_shapes(self) -> dict[str, Any]:
        """The nest of :class:`Dim` that says the same."""
        return ShapesSpec(self).as_dynamic_shapes()

    def __repr__(self) -> str:
        return f"ParamsSpec({self.params!r})"


class ShapesSpec:
    """Arguments and assumptions. ``assumptions`` (lowered) are conditions over the names of the dimensions.

    ``params`` may hold :class:`Dim` where it may hold variables, so that assumptions can be added to a nest of them.

    An assumption is a condition over variables, or its text over their names. It is a premise of the proof and checked
    at run time. Raises InputError for what is none, and for a variable that no dimension bears.
    """

    def __init__(
        self,
        params: ParamsSpec | Mapping[str, Any] | None = None,
        *,
        assumptions: Sequence[VarCondition | str | bool] = (),
    ) -> None:
        self.params = params if isinstance(params, ParamsSpec) else ParamsSpec(params)
        lowering = _Lowering()
        self._nest = {name: lowering.entry(spec, name) for name, spec in self.params.params.items()}
        self.assumptions = [*lowering.extra, *[lowering.condition(a) for a in assumptions]]

    def as_dynamic_shapes(self) -> dict[str, Any]:
        """The nest of :class:`Dim` that says the same, by argument name."""
        nest = dict(self._nest)
        nest.update(nest.pop("**kwargs", None) or {})
        if "*args" in nest:
            nest["args"] = nest.pop("*args")
        return nest

    def __repr__(self) -> str:
        return f"ShapesSpec({self.params!r}, assumptions={self.assumptions!r})"


class _Lowering:
    """Names the variables of one specification and turns its entries into dimensions."""

    def __init__(self) -> None:
        self.dims: dict[str, Dim] = {}  # variable key -> its Dim
        self.names: set[str] = set()
        self.extra: list[BoolExpr] = []

    def entry(self, spec: object, path: str) -> Any:
        if spec is None or type(spec) is int:
            return spec
        if isinstance(spec, VarExpr):
            return self.leaf(spec, path)
        if isinstance(spec, Dim | DerivedDim | DimHint):
            return self.given(spec)
        if isinstance(spec, TensorSpec):
            return tuple(self.entry(one, f"{path}[{i}]") for i, one in enumerate(spec.entries))
        if isinstance(spec, _Nested):
            return {key: self.entry(one, f"{path}.{key}") for key, one in spec.entries.items()}
        if isinstance(spec, SeqSpec):
            return [self.entry(one, f"{path}[{i}]") for i, one in enumerate(spec.entries)]
        if isinstance(spec, list | tuple):
            return type(spec)(self.entry(one, f"{path}[{i}]") for i, one in enumerate(spec))
        if isinstance(spec, dict):
            return {key: self.entry(one, f"{path}.{key}") for key, one in spec.items()}
        raise BAD_SPEC(what=f"{path}: {spec!r} is not a specification")

    def leaf(self, spec: VarExpr, path: str) -> DimSpec:
        if isinstance(spec, IntVar):
            return self.dim(spec)
        linear = _linear(spec.expr)
        if linear is not None:
            key, scale, offset = linear
            return DerivedDim(self.dim(spec.variables[key]), scale, offset)
        for variable in spec.variables.values():
            self.dim(variable)
        made = ShapeVar(_identifier(path))
        self.extra.append(E.eq(E.int_symbol(self.dim(made).__name__), self.renamed(spec.expr)))
        return self.dim(made)

    def dim(self, variable: IntVar) -> Dim:
        """One Dim a variable; two variables of one name get two names."""
        found = self.dims.get(variable.key)
        if found is None:
            name, number = variable.name, 0
            while name in self.names:
                number += 1
                name = f"{variable.name}_{number}"
            self.names.add(name)
            found = self.dims[variable.key] = Dim.any_range(name, variable.min, variable.max)
        return found

    def given(self, spec: Dim | DerivedDim | DimHint) -> DimSpec:
        """A dimension in the other spelling; assumptions may speak of it by its name."""
        root = spec.root if isinstance(spec, DerivedDim) else spec
        if isinstance(root, Dim):
            name = root.__name__
            if name in self.names and self.dims.get(name) is None:
                raise BAD_SPEC(what=f"{name!r} names a ShapeVar and a Dim")
            self.names.add(name)
            self.dims.setdefault(name, root)
        return spec

    def renamed(self, expr: Any) -> Any:
        return E.substitute(expr, {key: E.int_symbol(dim.__name__) for key, dim in self.dims.items()})

    def condition(self, given: object) -> BoolExpr:
        if isinstance(given, bool):
            return E.truth(given)
        if isinstance(given, str):
            try:
                return parse_bool(given, {dim.__name__: "int" for dim in self.dims.values()})
            except ExpressionError as problem:
                raise BAD_SPEC(what=f"the assumption {given!r}: {problem}") from None
        if not isinstance(given, VarCondition):
            raise BAD_SPEC(what=f"{given!r} is not a condition over ShapeVars")
        missing = [v.name for key, v in given.variables.items() if key not in self.dims]
        if missing:
            raise BAD_SPEC(what=f"the assumption {given!r} speaks of {missing[0]}, which no dimension bears")
        made: BoolExpr = self.renamed(given.expr)
        return made


def _identifier(path: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in path).strip("_")
    return text if is_symbol_name(text) else f"dim_{text}"


def _linear(expr: IntExpr) -> tuple[str, int, int] | None:
    """``(key, scale, offset)`` of ``scale*variable + offset`` with a positive scale."""
    if len(expr.terms) != 1:
        return None
    ((mono, scale),) = expr.terms.items()
    if scale <= 0 or len(mono.atoms) != 1 or mono.atoms[0].op != "symbol":
        return None
    return mono.atoms[0].name, scale, expr.const
