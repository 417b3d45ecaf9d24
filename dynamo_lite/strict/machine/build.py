"""Building containers, slices and strings."""

from __future__ import annotations

from collections.abc import Callable
from operator import setitem
from typing import Any, Final

from dynamo_lite.strict.decode.versions import KEY_ERROR_IS_GIVEN_TWICE
from dynamo_lite.strict.machine.calls import describe
from dynamo_lite.strict.machine.frame import NULL, Frame
from dynamo_lite.strict.machine.iteration import collect, fill, get_iterator
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, TypeSet, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.stores import dropped


def build_tuple(frame: Frame, stack: list[Any], count: int) -> None:
    if count:
        value = tuple(stack[-count:])
        del stack[-count:]
        stack.append(value)
    else:
        stack.append(())


def build_list(frame: Frame, stack: list[Any], count: int) -> None:
    if count:
        value = stack[-count:]
        del stack[-count:]
        stack.append(value)
    else:
        stack.append([])


def operate(frame: Frame, fn: Callable[..., Any], *operands: Any) -> Any:
    """``fn(*operands)``, by the policy where there is one: C may ask the operands for a hash, or compare them."""
    return fn(*operands) if frame.policy is None else frame.policy.operate(fn, *operands)


def build_set(frame: Frame, stack: list[Any], count: int) -> None:
    value: set[Any] = set()
    if count:
        for item in stack[-count:]:
            operate(frame, value.add, item)
        del stack[-count:]
    stack.append(value)


def build_map(frame: Frame, stack: list[Any], count: int) -> None:
    if count:
        flat = stack[-2 * count :]
        del stack[-2 * count :]
        stack.append(operate(frame, _pairs, flat))
    else:
        stack.append({})
    if frame.policy is not None:
        frame.policy.made(stack[-1])


def _pairs(flat: list[Any]) -> dict[Any, Any]:
    return {flat[i]: flat[i + 1] for i in range(0, len(flat), 2)}


def build_const_key_map(frame: Frame, stack: list[Any], count: int) -> None:
    keys = stack.pop()
    value = dict(zip(keys, stack[-count:], strict=True))
    del stack[-count:]
    stack.append(value)
    if frame.policy is not None:
        frame.policy.made(value)


def build_string(frame: Frame, stack: list[Any], count: int) -> None:
    first = len(stack) - count
    value = "".join(stack[first:])
    del stack[first:]
    stack.append(value)


def build_slice(frame: Frame, stack: list[Any], count: int) -> None:
    value = slice(*stack[-count:])
    del stack[-count:]
    stack.append(value)


def list_to_tuple(frame: Frame, stack: list[Any], arg: None) -> None:
    stack[-1] = tuple(stack[-1])


def list_append(frame: Frame, stack: list[Any], depth: int) -> None:
    value = stack.pop()
    stack[-depth].append(value)


def set_add(frame: Frame, stack: list[Any], depth: int) -> None:
    value = stack.pop()
    operate(frame, stack[-depth].add, value)


def map_add(frame: Frame, stack: list[Any], depth: int) -> None:
    value = stack.pop()
    key = stack.pop()
    operate(frame, setitem, stack[-depth], key, value)


def list_extend(frame: Frame, stack: list[Any], depth: int) -> Frame | None:
    value = stack.pop()
    target = stack[-depth]
    if type(value) is list or type(value) is tuple:
        target.extend(value)
        return None
    return start(frame, _extend(frame, target, value), dropped)


def _extend(frame: Frame, target: list[Any], value: Any) -> Routine:
    kind = type(value)
    if (
        (frame.policy is None or id(kind) not in frame.policy.special_ids)
        and lookup(kind, "__iter__") is MISSING
        and lookup(kind, "__getitem__") is MISSING
    ):
        raise TypeError(f"Value after * must be an iterable, not {type_name(kind)}")
    target.extend((yield from collect(frame, value)))


_COLLECTIONS: Final = TypeSet((list, tuple, set, frozenset)).ids


def set_update(frame: Frame, stack: list[Any], depth: int) -> Frame | None:
    value = stack.pop()
    target = stack[-depth]
    if id(type(value)) in _COLLECTIONS:
        operate(frame, target.update, value)
        return None
    return start(frame, _update(frame, target, value), dropped)


def _update(frame: Frame, target: set[Any], value: Any) -> Routine:
    yield from fill(frame, target, value)


def dict_update(frame: Frame, stack: list[Any], depth: int) -> Frame | None:
    value = stack.pop()
    target = stack[-depth]
    if type(value) is dict:
        operate(frame, target.update, value)
        return None
    return start(frame, _update_mapping(frame, target, value), dropped)


def _update_mapping(frame: Frame, target: dict[Any, Any], value: Any) -> Routine:
    try:
        yield from _merge(frame, target, value, False)
        return
    except AttributeError:  # C takes any for a missing method
        pass
    raise TypeError(f"'{type_name(type(value))}' object is not a mapping")


class _GivenTwice(KeyError):
    """A key of a call's ``**`` that is there already."""


def _merge(frame: Frame, target: dict[Any, Any], value: Any, once: bool) -> Routine:
    """Adds a mapping's items, by ``keys`` and ``__getitem__`` as C reads one; ``once``: none may be there yet."""
    kind = type(value)
    if issubclass(kind, dict) and lookup(kind, "__iter__") is dict.__iter__:
        for key, item in list(dict.items(value)):
            if once and key in target:
                raise _GivenTwice(key)
            target[key] = item
        return
    keys = yield (yield call(getattr, value, "keys")), (), None
    for key in (yield from _collect_keys(frame, kind, keys)):
        if once and key in target:
            raise _GivenTwice(key)
        method = slot(frame, kind, "__getitem__")
        target[key] = value[key] if method is None else (yield from bound_call(frame, method, value, (key,)))


def _collect_keys(frame: Frame, kind: type, keys: Any) -> Routine:
    try:
        iterator = yield from get_iterator(frame, keys)
    except TypeError:
        iterator = None
    if iterator is None:
        raise TypeError(f"{type_name(kind)}.keys() returned a non-iterable (type {type_name(type(keys))})")
    return (yield from collect(frame, iterator))


def dict_merge(frame: Frame, stack: list[Any], depth: int) -> Frame | None:
    value = stack.pop()
    target = stack[-depth]
    if type(value) is dict and (not value or (not target and all(type(key) is str for key in value))):
        target.update(value)
        return None
    # below the dict: the positional arguments, then the callable (and NULL in either order)
    fn = stack[-depth - 2]
    if fn is NULL:
        fn = stack[-depth - 3]
    return start(frame, merge_mapping(frame, target, value, fn), dropped)


def merge_mapping(frame: Frame, target: dict[Any, Any], value: Any, fn: Any) -> Routine:
    """``**value`` in a call; a key given twice, or not a mapping, is CPython's TypeError.

    C knows them by an AttributeError or a KeyError, wherever it comes from.
    """
    as_it_is: KeyError | None = None
    try:
        yield from _merge(frame, target, value, True)
        return
    except AttributeError:
        problem = f"argument after ** must be a mapping, not {type_name(type(value))}"
    except KeyError as error:
        if len(error.args) != 1 or not (KEY_ERROR_IS_GIVEN_TWICE or type(error) is _GivenTwice):
            raise
        if not KEY_ERROR_IS_GIVEN_TWICE and frame.handled.current() is not None:
            as_it_is = KeyError(error.args[0])
        problem = f"got multiple values for keyword argument '{error.args[0]}'"
    if as_it_is is not None:
        raise as_it_is
    raise TypeError(f"{(yield from describe(fn))} {problem}")


# --- formatting


def format_value(frame: Frame, stack: list[Any], how: tuple[str | None, bool]) -> Frame | None:
    conversion, has_spec = how
    spec = stack.pop() if has_spec else ""
    value = stack.pop()
    policy = frame.policy
    if policy is not None and id(type(value)) in policy.special_ids:
        stack.append(policy.format(value, conversion, spec))
        return None
    kind = type(value)
    if kind is str and not spec:
        stack.append(
            value if conversion in (None, "s") else repr(value) if conversion == "r" else ascii(value)
        )
        return None
    return start(frame, formatted(frame, value, conversion, spec))


def formatted(frame: Frame, value: Any, conversion: str | None, spec: str) -> Routine:
    """``format(convert(value), spec)``."""
    if conversion is not None:
        value = yield call(_CONVERSIONS[conversion], value)
    if type(value) is str and not spec:
        return value
    return (yield call(format, value, spec))


_CONVERSIONS: dict[str, Any] = {"s": str, "r": repr, "a": ascii}


def convert_value(frame: Frame, stack: list[Any], conversion: str) -> Frame | None:
    value = stack.pop()
    policy = frame.policy
    if policy is not None and id(type(value)) in policy.special_ids:
        stack.append(policy.format(value, conversion, ""))
        return None
    return start(frame, _convert(_CONVERSIONS[conversion], value))


def _convert(function: Any, value: Any) -> Routine:
    return (yield call(function, value))
