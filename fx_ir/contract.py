"""The input contract: what every input of a program must be, as data.

``fx_ir.contract_code`` compiles a contract into one Python function; nothing else interprets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Union

from fx_ir.pytree import TreeSpec
from solver.errors import Location

if TYPE_CHECKING:
    from fx_ir.contract_code import CompiledContract
    from fx_ir.dtypes import Device, DType
    from solver.expr import BoolExpr, IntExpr

Dimension = Union[int, "IntExpr"]


@dataclass(frozen=True, slots=True)
class TensorLeaf:
    """A tensor input. ``None`` in an optional field means that the program does not depend on it.

    ``name`` is the placeholder, ``path`` what the user calls it (``x``, ``batch['ids'][0]``). ``contiguous``,
    ``strides`` and ``offset`` (in elements) are facts that the program looked at; ``alias_of`` is the index of an earlier
    leaf that must be the same object; ``class_name`` is the name of the class that the program asked for.
    """

    name: str
    path: str
    dtype: DType
    device: Device
    dims: tuple[Dimension, ...]
    requires_grad: bool | None = None
    contiguous: bool | None = None
    strides: tuple[Dimension, ...] | None = None
    alias_of: int | None = None
    location: Location | None = None
    offset: int | None = None
    class_name: str | None = None


@dataclass(frozen=True, slots=True)
class ConstLeaf:
    """An input that is burned in: a plain value, or any object that compares by value or identity."""

    name: str
    path: str
    value: Any
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class IntLeaf:
    """A dynamic integer input."""

    name: str
    path: str
    expr: Dimension


InputLeaf = TensorLeaf | ConstLeaf | IntLeaf
ConditionKind = Literal["spec", "adopted", "assumption", "guard"]


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact about symbols that a call must meet: of the specification, an adopted guard, an assumption of the user's."""

    expr: BoolExpr
    text: str
    kind: ConditionKind = "spec"
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Distinct:
    """Two tensor leaves (by index) that must be different objects: the program asked ``a is b`` and it was not.

    With ``apart`` they may share no memory: the program updates one of them, and keeps its inputs apart.
    """

    first: int
    second: int
    location: Location | None = None
    apart: bool = False


@dataclass(slots=True)
class InputContract:
    """Structure, leaves, symbol ranges and conditions.

    ``in_spec`` is the structure of ``(args, kwargs)``. ``arg_names`` are the parameters that may be given by position,
    in order: those of ``args`` first. ``ranges`` maps a symbol to its inclusive bounds (None: open). Phantom symbols
    (a derived dimension's root that is no dimension itself) are bound by division.
    """

    in_spec: TreeSpec
    leaves: tuple[InputLeaf, ...]
    arg_names: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    distinct: tuple[Distinct, ...] = ()
    _compiled: CompiledContract | None = field(default=None, repr=False, compare=False)

    def compiled(self) -> CompiledContract:
        """The checking code, made once."""
        if self._compiled is None:
            from fx_ir.contract_code import compile_contract

            self._compiled = compile_contract(self)
        return self._compiled
