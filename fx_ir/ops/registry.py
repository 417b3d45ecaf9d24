"""The operator table: one declaration an ATen overload.

``register`` declares an operator (schema, fake rule, NumPy kernel, relations); ``OPS`` holds the overloads by qualified name,
``PACKETS`` the groups of overloads that share a name, in the order in which they are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fx_ir import schema as schemas
from fx_ir.meta import TensorMeta
from fx_ir.ops.matching import (
    NUMBERS_AS_TENSORS,
    TENSOR_TYPES,
    Key,
    Misfit,
    Plan,
    describe,
    is_tensor,
    key_of,
    make_plan,
    register_generator_type,
    register_tensor_type,
)
from fx_ir.schema import Schema

__all__ = [
    "OPS", "PACKETS", "TENSOR_TYPES", "Operator", "Packet", "ViewRule", "find", "infer", "is_tensor", "register",
    "register_generator_type", "register_inplace", "register_tensor_type",
]  # fmt: skip

Call = Callable[..., Any]
Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ViewRule:
    """How a new value is written through a view.

    ``scatter(call, base, new, index, *args, **kwargs)`` gives the new value of ``base`` after its view number ``index`` (0
    but for ``split`` and its kin) became ``new``; ``args`` are those of the view operator after the base, and
    ``call(qualified_name, *args, **kwargs)`` applies another operator.
    """

    scatter: Rule


class Operator:
    """One overload: ``fake`` and ``kernel`` take the positional arguments in order and the keyword-only ones by name.

    ``view`` is set where results share memory with the first argument; with ``maybe_view(result, *args, **kwargs)`` also set they
    do so only if that (asked of metadata) is true. ``functional`` names the operator without effect that an in-place one
    stands for. ``lower(call, write, *args, **kwargs)`` replaces a call by functional operators and returns its
    result, or ``NotImplemented`` if this call needs none; ``write(tensor, value)`` performs a mutation.
    """

    __slots__ = (
        "_functional", "_plans", "_schema", "fake", "kernel", "lower", "maybe_view", "name", "namespace",
        "nondifferentiable", "overload", "qualified", "random", "text", "view",
    )  # fmt: skip

    def __init__(
        self,
        text: str,
        fake: Rule,
        kernel: Rule | None,
        *,
        view: ViewRule | None = None,
        maybe_view: Rule | None = None,
        functional: str | None = None,
        random: bool = False,
        lower: Rule | None = None,
        nondifferentiable: bool = False,
    ) -> None:
        self.text = text
        self.namespace, self.name, overload = schemas.split_name(text)
        self.overload = overload or "default"
        self.qualified = text.partition("(")[0]
        self.fake = fake
        self.kernel = kernel
        self.view = view
        self.maybe_view = maybe_view
        self.random = random
        self.lower = lower
        self.nondifferentiable = nondifferentiable
        self._functional = functional
        self._schema: Schema | None = None
        self._plans: dict[Key, Plan] = {}

    @property
    def schema(self) -> Schema:
        """Parsed when first asked for: importing the table parses nothing."""
        if self._schema is None:
            self._schema = schemas.parse(self.text)
        return self._schema

    @property
    def functional(self) -> Operator | None:
        return None if self._functional is None else OPS[self._functional]

    @property
    def is_inplace(self) -> bool:
        return self._functional is not None

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword-only arguments with defaults filled in, whatever their types (graph nodes, say).

        TypeError for a missing, surplus or repeated argument.
        """
        positional = self.schema.positional
        if len(args) > len(positional):
            raise TypeError(f"{self} takes {len(positional)} positional arguments, got {len(args)}")
        rest = dict(kwargs)
        bound = list(args)
        for argument in positional[: len(args)]:
            if argument.name in rest:
                raise TypeError(f"{self} got multiple values for argument {argument.name!r}")
        for argument in positional[len(args) :]:
            bound.append(self._take(argument, rest))
        keywords = {argument.name: self._take(argument, rest) for argument in self.schema.keyword_only}
        if rest:
            raise TypeError(f"{self} got an unexpected keyword argument {next(iter(rest))!r}")
        return tuple(bound), keywords

    def _take(self, argument: schemas.Argument, rest: dict[str, Any]) -> Any:
        if argument.name in rest:
            return rest.pop(argument.name)
        if not argument.has_default:
            raise TypeError(f"{self} is missing argument {argument.name!r}")
        default = argument.default
        return default.copy() if type(default) is list else default

    def match(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """As ``bind``, with types checked and converted (an int for ``int[2]``, names as Python spells them)."""
        key = key_of(args, kwargs)
        plan = self._plans.get(key)
        if plan is None:
            try:
                plan = make_plan(self, key, self.name in NUMBERS_AS_TENSORS)
            except Misfit as misfit:
                raise _mismatch(self.name, (self,), args, kwargs, str(misfit)) from None
            self._plans[key] = plan
        _, bound, keywords = plan(args, kwargs)
        return bound, keywords

    def without_defaults(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The shortest call that binds to the same: trailing defaults dropped, as a graph prints it."""
        kept = len(args)
        positional = self.schema.positional
        while kept and _is_default(positional[kept - 1], args[kept - 1]):
            kept -= 1
        keywords = {
            argument.name: kwargs[argument.name]
            for argument in self.schema.keyword_only
            if argument.name in kwargs and not _is_default(argument, kwargs[argument.name])
        }
        return args[:kept], keywords

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}.{self.overload}"

    def __repr__(self) -> str:
        return f"<operator {self}>"

    def __copy__(self) -> Operator:
        return self

    def __deepcopy__(self, memo: object) -> Operator:
        return self

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (find, (self.qualified,))


def _is_default(argument: schemas.Argument, value: Any) -> bool:
    if not argument.has_default:
        return False
    default = argument.default
    return type(value) is type(default) and type(value) in _PLAIN and bool(value == default)


_PLAIN: Final = (bool, int, float, str, type(None), list)


class Packet:
    """The overloads of one name."""

    __slots__ = ("_plans", "name", "namespace", "overloads")

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.name = name
        self.overloads: list[Operator] = []
        self._plans: dict[Key, Plan] = {}

    def add(self, operator: Operator) -> None:
        self.overloads.append(operator)
        self._plans.clear()

    def resolve(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Operator, tuple[Any, ...], dict[str, Any]]:
        """The first overload that the arguments fit, with its arguments bound; TypeError with the signatures tried."""
        key = key_of(args, kwargs)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(key, args, kwargs)
        return plan(args, kwargs)

    def _plan(self, key: Key, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Plan:
        numbers = self.name in NUMBERS_AS_TENSORS
        reason = ""
        for operator in self.overloads:
            try:
                plan = make_plan(operator, key, numbers)
            except Misfit as misfit:
                reason = str(misfit)
                continue
            self._plans[key] = plan
            return plan
        raise _mismatch(self.name, tuple(self.overloads), args, kwargs, reason)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"

    def __repr__(self) -> str:
        return f"<operator packet {self}: {', '.join(operator.overload for operator in self.overloads)}>"


def _mismatch(
    name: str, tried: tuple[Operator, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any], reason: str
) -> TypeError:
    got = ", ".join(
        [describe(value) for value in args] + [f"{name}={describe(value)}" for name, value in kwargs.items()]
    )
    if len(tried) == 1:
        signature = tried[0].text.partition("(")[2].rpartition(" -> ")[0]
        return TypeError(
            f"{name}(): {reason or 'the arguments do not fit'} - got ({got}), expected ({signature}"
        )
    signatures = "".join(f"\n * ({op.text.partition('(')[2].rpartition(' -> ')[0]}" for op in tried)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{signatures}"
    )


OPS: Final[dict[str, Operator]] = {}
PACKETS: Final[dict[str, Packet]] = {}


def add_operator(operator: Operator) -> Operator:
    """Puts an operator in the table (custom operators too); ValueError if the name is taken."""
    if operator.qualified in OPS:
        raise ValueError(f"operator {operator.qualified} is registered twice")
    OPS[operator.qualified] = operator
    packet_name = f"{operator.namespace}::{operator.name}"
    packet = PACKETS.get(packet_name)
    if packet is None:
        packet = PACKETS[packet_name] = Packet(operator.namespace, operator.name)
    packet.add(operator)
    return operator


def register(
    schema: str,
    *,
    fake: Rule,
    kernel: Rule | None,
    view: ViewRule | None = None,
    maybe_view: Rule | None = None,
    functional: str | None = None,
    random: bool = False,
    lower: Rule | None = None,
    nondifferentiable: bool = False,
) -> Operator:
    """Declares an operator; see :class:`Operator` for what the parts mean."""
    return add_operator(
        Operator(
            schema,
            fake,
            kernel,
            view=view,
            maybe_view=maybe_view,
            functional=functional,
            random=random,
            lower=lower,
            nondifferentiable=nondifferentiable,
        )
    )


def register_inplace(schema: str, functional: str) -> Operator:
    """Declares an operator that writes the result of ``functional`` to its first argument, cast to that one's type.

    The caller checks that the shape is kept; the fake rule checks that the type can be cast.
    """

    def fake(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
        result: TensorMeta = OPS[functional].fake(self, *args, **kwargs)
        if result.dtype.category > self.dtype.category:
            raise RuntimeError(
                f"result type {result.dtype} can't be cast to the desired output type {self.dtype}"
            )
        return self

    return register(schema, fake=fake, kernel=None, functional=functional, random=OPS[functional].random)


def find(name: str) -> Operator:
    """The operator of a qualified name, with or without ``.default``; KeyError if there is none."""
    return OPS[name.removesuffix(".default")]


RESOLVERS: Final[list[Callable[[str], Operator | None]]] = []
"""Asked for operators that the table lacks: libraries that users register operators with answer here."""


def look_up(name: str) -> Operator | None:
    """The operator of a qualified name as files write it, declared now if a library knows it; None otherwise."""
    found = OPS.get(name)
    for resolve in RESOLVERS if found is None else ():
        found = resolve(name)
        if found is not None:
            break
    return found


def infer(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any], grad: bool = False) -> Any:
    """Applies the fake rule; with ``grad`` floating results require grad if a floating argument does."""
    result = operator.fake(*args, **kwargs)
    if grad and not operator.nondifferentiable and _any_requires_grad(args):
        if isinstance(result, TensorMeta):
            return _with_grad(result)
        if isinstance(result, (list, tuple)):
            return type(result)([_with_grad(item) for item in result])
    return result


def _any_requires_grad(args: Any) -> bool:
    for value in args:
        if isinstance(value, TensorMeta):
            if value.requires_grad:
                return True
        elif isinstance(value, (list, tuple)) and _any_requires_grad(value):
            return True
    return False


def _with_grad(meta: Any) -> Any:
    if not isinstance(meta, TensorMeta) or meta.requires_grad or meta.dtype.category < 2:
        return meta
    strides = None if meta.is_plain else lambda: meta.strides
    return TensorMeta(meta.shape, meta.dtype, meta.device, strides, True, lambda: meta.offset)
