"""Operators: unary, binary, in-place, comparison, truth, items, containment, formatting.

Exact builtin numbers and strings are handed to C at once. Otherwise the operands' types decide: where no slot that
could be asked is interpreted, C does the whole operation; else a routine follows CPython's protocol step by step.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.decode.instructions import BINARY_OPERATORS, COMPARE_OPERATORS
from dynamo_lite.strict.machine.calls import bind, invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.iteration import extend, iterates_in_python
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, NATIVE, TypeSet, inherits, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.truth import index, truth

Handler = Callable[[Frame, list[Any], Any], "Frame | None"]

_DUNDER: Final = {
    "+": "add", "&": "and", "//": "floordiv", "<<": "lshift", "@": "matmul", "*": "mul", "%": "mod", "|": "or",
    "**": "pow", ">>": "rshift", "-": "sub", "/": "truediv", "^": "xor",
}  # fmt: skip
# symbol → (name, forward, reflected, in place)
_SLOTS: Final[dict[str, tuple[str, str, str, str | None]]] = {
    **{s: (n, f"__{n}__", f"__r{n}__", None) for s, n in _DUNDER.items()},
    **{f"{s}=": (n, f"__{n}__", f"__r{n}__", f"__i{n}__") for s, n in _DUNDER.items()},
}
_NATIVE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add, "&": operator.and_, "//": operator.floordiv, "<<": operator.lshift, "@": operator.matmul,
    "*": operator.mul, "%": operator.mod, "|": operator.or_, "**": operator.pow, ">>": operator.rshift,
    "-": operator.sub, "/": operator.truediv, "^": operator.xor,
    "+=": operator.iadd, "&=": operator.iand, "//=": operator.ifloordiv, "<<=": operator.ilshift,
    "@=": operator.imatmul, "*=": operator.imul, "%=": operator.imod, "|=": operator.ior, "**=": operator.ipow,
    ">>=": operator.irshift, "-=": operator.isub, "/=": operator.itruediv, "^=": operator.ixor,
}  # fmt: skip
_COMPARE: Final[dict[str, tuple[str, str, Callable[[Any, Any], Any]]]] = {
    "<": ("__lt__", "__gt__", operator.lt), "<=": ("__le__", "__ge__", operator.le),
    "==": ("__eq__", "__eq__", operator.eq), "!=": ("__ne__", "__ne__", operator.ne),
    ">": ("__gt__", "__lt__", operator.gt), ">=": ("__ge__", "__le__", operator.ge),
}  # fmt: skip
_UNARY: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "-": ("__neg__", operator.neg), "+": ("__pos__", operator.pos), "~": ("__invert__", operator.invert),
}  # fmt: skip


def _special(frame: Frame, left: Any, right: Any) -> bool:
    policy = frame.policy
    assert policy is not None
    return id(type(left)) in policy.special_ids or id(type(right)) in policy.special_ids


def answers(frame: Frame, value: Any, *names: str) -> bool:
    """Whether an operand beside a special one answers the operator by code of the program, in one of these slots."""
    kind = type(value)
    assert frame.policy is not None
    return id(kind) not in frame.policy.special_ids and any(
        compares_in_python(frame, kind, name) for name in names
    )


# --- binary


def binary(frame: Frame, symbol: str, left: Any, right: Any) -> Frame | None:
    """``left symbol right``: pushes the result, or returns the frame that will."""
    name, forward, reflected, in_place = _SLOTS[symbol]
    if frame.policy is not None:
        if _special(frame, left, right):
            if answers(frame, left, in_place or forward, forward) or answers(frame, right, reflected):
                return start(frame, _binary(frame, symbol, name, left, right))
            frame.stack.append(frame.policy.binary(symbol, left, right))
            return None
        if symbol[-1] == "=" and type(left) in _MUTABLE:
            frame.policy.before_write("content", left, None)
    kind, other = type(left), type(right)
    method = slot(frame, kind, forward)
    other_method = slot(frame, other, reflected)
    own = None if in_place is None else slot(frame, kind, in_place)
    if method is None and other_method is None and own is None:
        if symbol == "+=" and kind is list and iterates_in_python(frame, right):
            return start(frame, extend(frame, left, right))
        frame.stack.append(
            _NATIVE[symbol](left, right)
            if frame.policy is None
            else frame.policy.operate(_NATIVE[symbol], left, right)
        )
        return None
    if (
        own is None
        and type(method) is FunctionType
        and (kind is other or (other_method is None and not inherits(other, kind)))
        and (in_place is None or lookup(kind, in_place) is MISSING)
    ):
        following = invoke(frame, method, (left, right), None)
        if following is not None:
            following.deliver = _deliver_binary
            following.extra = (symbol, left, right)
            return following
        if frame.stack[-1] is not NotImplemented:
            return None
        frame.stack.pop()
        return start(frame, _declined(frame, symbol, left, right))
    return start(frame, _binary(frame, symbol, name, left, right))


def _deliver_binary(frame: Frame, result: Any) -> Frame | None:
    """The forward method's result; where it declines, the other operand is asked, if it is of another type."""
    back = frame.back
    assert back is not None
    if result is not NotImplemented:
        back.stack.append(result)
        return back
    symbol, left, right = frame.extra
    return start(back, _declined(frame, symbol, left, right)) or back


def _declined(frame: Frame, symbol: str, left: Any, right: Any) -> Routine:
    name, _, reflection, _ = _SLOTS[symbol]
    reflected = lookup(type(right), reflection)
    if type(left) is not type(right) and reflected is not MISSING:
        if _is_sequence_slot(reflected, name):
            if symbol == "*=":  # C does not ask the right operand then
                raise _unsupported(symbol, left, right)
            return reflected(right, (yield from _count(frame, left)))
        result = yield from bound_call(frame, reflected, right, (left,))
        if result is not NotImplemented:
            return result
    raise _unsupported(symbol, left, right)


_MUTABLE: Final = TypeSet((list, set, dict, bytearray))


def _binary(frame: Frame, symbol: str, name: str, left: Any, right: Any) -> Routine:
    method = None
    if symbol[-1] == "=":
        method = lookup(type(left), f"__i{name}__")
        if method is not MISSING and not _is_sequence_slot(method, name):
            result = yield from bound_call(frame, method, left, (right,))
            if result is not NotImplemented:
                return result
            method = MISSING
    result = yield from binary_protocol(frame, name, left, right, method)
    if result is NotImplemented:
        raise _unsupported(symbol, left, right)
    return result


def binary_protocol(frame: Frame, name: str, left: Any, right: Any, in_place: Any = None) -> Routine:
    """``__op__`` and ``__rop__`` in CPython's order; NotImplemented where neither applies.

    Sequence slots come after all others. ``in_place`` is the left operand's for ``+=`` and ``*=``, MISSING where it has none.
    """
    kind, other = type(left), type(right)
    forward, reflected = lookup(kind, f"__{name}__"), lookup(other, f"__r{name}__")
    last = forward if in_place is None or in_place is MISSING else in_place
    sequence, repeated = _is_sequence_slot(last, name), _is_sequence_slot(reflected, name)
    tried = kind is other or repeated
    overridden = not tried and reflected is not MISSING and reflected is not lookup(kind, f"__r{name}__")
    if overridden and inherits(other, kind):
        result = yield from bound_call(frame, reflected, right, (left,))
        if result is not NotImplemented:
            return result
        tried = True
    if forward is not MISSING and not _is_sequence_slot(forward, name):
        result = yield from bound_call(frame, forward, left, (right,))
        if result is not NotImplemented:
            return result
    if not tried and reflected is not MISSING:
        result = yield from bound_call(frame, reflected, right, (left,))
        if result is not NotImplemented:
            return result
    if sequence:
        if last is list.__iadd__ and iterates_in_python(frame, right):
            return (yield from extend(frame, left, right))
        return last(left, right if name == "add" else (yield from _count(frame, right)))
    if repeated and in_place is None:  # in place C does not ask the right one
        return reflected(right, (yield from _count(frame, left)))
    return NotImplemented


def _count(frame: Frame, value: Any) -> Routine:
    """How often a sequence is to be repeated."""
    if lookup(type(value), "__index__") is MISSING:
        raise TypeError(f"can't multiply sequence by non-int of type '{type_name(type(value))}'")
    return (yield from index(frame, value))


def _is_sequence_slot(attribute: Any, name: str) -> bool:
    """Whether a C ``__add__`` or ``__mul__`` (or its in-place form) is the sequence slot, which comes after the other operand's number slot."""
    if name not in ("add", "mul") or type(attribute) not in NATIVE or attribute is None:
        return False
    return not hasattr(attribute.__objclass__, f"__r{name}__") or (
        name == "mul" and not hasattr(attribute.__objclass__, "__rsub__")
    )


def _unsupported(symbol: str, left: Any, right: Any) -> TypeError:
    shown = "** or pow()" if symbol == "**" else symbol
    return TypeError(
        f"unsupported operand type(s) for {shown}: '{type_name(type(left))}' and '{type_name(type(right))}'"
    )


_EXACT: Final = frozenset({int, float, str, bool, complex, bytes, list, tuple})


def _binary_handler(symbol: str) -> Handler:
    native = _NATIVE[symbol]

    def handler(frame: Frame, stack: list[Any], arg: Any) -> Frame | None:
        right = stack.pop()
        left = stack[-1]
        kind = type(left)
        if (kind is int or kind is float or kind is str) and kind is type(right):
            stack[-1] = native(left, right)
            return None
        stack.pop()
        return binary(frame, symbol, left, right)

    return handler


BINARY_HANDLERS: Final[tuple[Handler, ...]] = tuple(_binary_handler(symbol) for symbol in BINARY_OPERATORS)


# --- comparison


def compare_values(frame: Frame, symbol: str, left: Any, right: Any) -> Frame | None:
    """A rich comparison: pushes the result, or returns the frame that will."""
    forward, reflected, native = _COMPARE[symbol]
    if frame.policy is not None and _special(frame, left, right):
        if answers(frame, left, forward) or answers(frame, right, reflected):
            return start(frame, compare_protocol(frame, symbol, left, right))
        frame.stack.append(frame.policy.compare(symbol, left, right))
        return None
    kind, other = type(left), type(right)
    method = slot(frame, kind, forward)
    if type(method) is FunctionType and (kind is other or not inherits(other, kind)):
        following = invoke(frame, method, (left, right), None)
        if following is not None:
            following.deliver = _deliver_comparison
            following.extra = (symbol, left, right)
            return following
        if frame.stack[-1] is not NotImplemented:
            return None
        frame.stack.pop()
        return start(frame, _compare_declined(frame, symbol, left, right))
    if (
        method is None
        and not compares_in_python(frame, kind, forward)
        and not compares_in_python(frame, other, reflected)
    ):
        frame.stack.append(
            native(left, right) if frame.policy is None else frame.policy.operate(native, left, right)
        )
        return None
    return start(frame, compare_protocol(frame, symbol, left, right))


def _deliver_comparison(frame: Frame, result: Any) -> Frame | None:
    """The forward method's answer; where it declines, the other operand's, and then the default."""
    back = frame.back
    assert back is not None
    if result is not NotImplemented:
        back.stack.append(result)
        return back
    return start(back, _compare_declined(back, *frame.extra)) or back


def _compare_declined(frame: Frame, symbol: str, left: Any, right: Any) -> Routine:
    result = yield from _ask(frame, _COMPARE[symbol][1], right, left)
    return _default_comparison(symbol, left, right) if result is NotImplemented else result


def compares_in_python(frame: Frame, kind: type, name: str) -> bool:
    """Whether a comparison of the type runs interpreted code (``!=`` falls back on ``__eq__``)."""
    if slot(frame, kind, name) is not None:
        return True
    return (
        name == "__ne__"
        and lookup(kind, "__ne__") is object.__ne__
        and slot(frame, kind, "__eq__") is not None
    )


def compare_protocol(frame: Frame, symbol: str, left: Any, right: Any) -> Routine:
    """Rich comparison step by step; raises TypeError where an order is not defined."""
    forward, reflected, _ = _COMPARE[symbol]
    kind, other = type(left), type(right)
    tried = False
    if kind is not other and inherits(other, kind):
        result = yield from _ask(frame, reflected, right, left)
        if result is not NotImplemented:
            return result
        tried = True
    result = yield from _ask(frame, forward, left, right)
    if result is not NotImplemented:
        return result
    if not tried:
        result = yield from _ask(frame, reflected, right, left)
        if result is not NotImplemented:
            return result
    return _default_comparison(symbol, left, right)


def _default_comparison(symbol: str, left: Any, right: Any) -> bool:
    """Where neither operand knows: identity, or no order."""
    if symbol == "==":
        return left is right
    if symbol == "!=":
        return left is not right
    kinds = f"'{type_name(type(left))}' and '{type_name(type(right))}'"
    raise TypeError(f"'{symbol}' not supported between instances of {kinds}")


def _ask(frame: Frame, name: str, obj: Any, other: Any) -> Routine:
    """One side's answer, NotImplemented where it has none."""
    method = lookup(type(obj), name)
    if method is MISSING:
        return NotImplemented
    if method is None:
        raise TypeError("'NoneType' object is not callable")
    if name == "__ne__" and method is object.__ne__:
        result = yield from _ask(frame, "__eq__", obj, other)
        if result is NotImplemented:
            return result
        return not (yield from truth(frame, result))
    if type(method) is FunctionType or type(method) in NATIVE:
        return (yield method, (obj, other), None)
    try:
        bound = yield from bind(frame, method, obj, type(obj))
    except Exception:  # C forgets what goes wrong here, too
        return NotImplemented
    return (yield call(bound, other))


def _compare_handler(symbol: str) -> Handler:
    native = _COMPARE[symbol][2]

    def handler(frame: Frame, stack: list[Any], arg: Any) -> Frame | None:
        right = stack.pop()
        left = stack[-1]
        kind = type(left)
        if (kind is int or kind is float or kind is str) and kind is type(right):
            stack[-1] = native(left, right)
            return None
        stack.pop()
        return compare_values(frame, symbol, left, right)

    return handler


COMPARE_HANDLERS: Final[tuple[Handler, ...]] = tuple(_compare_handler(symbol) for symbol in COMPARE_OPERATORS)


# --- unary


def unary(frame: Frame, symbol: str, value: Any) -> Frame | None:
    """``symbol value``: pushes the result, or returns the frame that will."""
    if frame.policy is not None and id(type(value)) in frame.policy.special_ids:
        frame.stack.append(frame.policy.unary(symbol, value))
        return None
    name, native = _UNARY[symbol]
    method = slot(frame, type(value), name)
    if method is None:
        frame.stack.append(native(value))
        return None
    return start(frame, bound_call(frame, method, value, ()))


def unary_negative(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return unary(frame, "-", stack.pop())


def unary_positive(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return unary(frame, "+", stack.pop())


def unary_invert(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return unary(frame, "~", stack.pop())


# --- truth


NATIVE_BINARY: Final = _NATIVE
NATIVE_COMPARE: Final = {symbol: native for symbol, (_, _, native) in _COMPARE.items()}
NATIVE_UNARY: Final = {symbol: native for symbol, (_, native) in _UNARY.items()}
