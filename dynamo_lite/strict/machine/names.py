"""Instructions on names: local slots, globals, namespaces, cells; and the stack shuffles."""

from __future__ import annotations

import builtins
from types import CellType, ModuleType
from typing import Any, Final

from dynamo_lite.strict.machine.frame import NULL, Frame, Globals, cell_value
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import lookup, slot

_module_dict: Final[Any] = ModuleType.__getattribute__


def builtins_of(frame: Frame) -> Globals:
    """The builtin names that the frame sees."""
    function = frame.function
    if function is not None:
        return function.__builtins__  # type: ignore[no-any-return]
    value = frame.globals.get("__builtins__", builtins)
    found: Globals = _module_dict(value, "__dict__") if isinstance(value, ModuleType) else value
    return found


def slot_name(frame: Frame, position: int) -> str:
    assert frame.code is not None
    return frame.code.decoded.slot_names[position]


def unbound(frame: Frame, position: int) -> NameError:
    """The error for a slot or cell without a value."""
    assert frame.code is not None
    name = slot_name(frame, position)
    if name in frame.code.code.co_freevars:
        text = (
            f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        )
        return _named(NameError(text), name)
    return _named(
        UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value"),
        name,
    )


def _named(error: NameError, name: str) -> NameError:
    error.name = name
    return error


def undefined(name: str) -> NameError:
    return _named(NameError(f"name '{name}' is not defined"), name)


def load_const(frame: Frame, stack: list[Any], value: Any) -> None:
    stack.append(value)


def unbound_local(frame: Frame, position: int) -> NameError:
    """The error for an unbound local slot, which CPython makes without ``name``."""
    error = unbound(frame, position)
    error.name = None
    return error


def load_fast(frame: Frame, stack: list[Any], position: int) -> None:
    value = stack[position]
    if value is NULL:
        raise unbound_local(frame, position)
    stack.append(value)


def load_fast_raw(frame: Frame, stack: list[Any], position: int) -> None:
    stack.append(stack[position])


def load_fast_and_clear(frame: Frame, stack: list[Any], position: int) -> None:
    stack.append(stack[position])
    stack[position] = NULL


def store_fast(frame: Frame, stack: list[Any], position: int) -> None:
    stack[position] = stack.pop()


def delete_fast(frame: Frame, stack: list[Any], position: int) -> None:
    if stack[position] is NULL:
        raise unbound_local(frame, position)
    stack[position] = NULL


def pop_top(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.pop()


def push_null(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(NULL)


def copy(frame: Frame, stack: list[Any], depth: int) -> None:
    stack.append(stack[-depth])


def swap(frame: Frame, stack: list[Any], depth: int) -> None:
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


def pop_below(frame: Frame, stack: list[Any], arg: None) -> None:
    del stack[-2]


# --- globals


def _global(frame: Frame, name: str) -> Any:
    value = frame.globals.get(name, NULL)
    if value is NULL and type(frame.globals) is not dict:
        value = _item_or_null(frame.globals, name)  # __missing__
    if value is NULL:
        names = builtins_of(frame)
        value = names.get(name, NULL) if type(names) is dict else _item_or_null(names, name)
        if value is NULL:
            if frame.policy is not None:
                frame.policy.missing_global(frame.globals, name)
            raise undefined(name)
    if frame.policy is not None:
        value = frame.policy.load_global(frame.globals, name, value)
    return value


def _item_or_null(names: Any, name: str) -> Any:
    """A builtin name where the builtins are some other mapping."""
    try:
        return names[name]
    except KeyError:
        return NULL


def load_global(frame: Frame, stack: list[Any], name: str) -> None:
    stack.append(_global(frame, name))


def load_global_null_below(frame: Frame, stack: list[Any], name: str) -> None:
    stack.append(NULL)
    stack.append(_global(frame, name))


def load_global_null_above(frame: Frame, stack: list[Any], name: str) -> None:
    stack.append(_global(frame, name))
    stack.append(NULL)


def store_global(frame: Frame, stack: list[Any], name: str) -> None:
    if frame.policy is not None:
        frame.policy.before_write("global", frame.globals, name)
    frame.globals[name] = stack.pop()


def delete_global(frame: Frame, stack: list[Any], name: str) -> None:
    if name not in frame.globals:
        raise undefined(name)
    if frame.policy is not None:
        frame.policy.before_write("global", frame.globals, name)
    del frame.globals[name]


# --- namespaces of classes and modules


def _namespace(frame: Frame) -> Any:
    if frame.locals is None:
        raise SystemError("no locals found")
    return frame.locals


def _item_slot(frame: Frame, mapping: Any, name: str) -> Any:
    """The interpreted slot of a namespace that is not a plain dict, or None."""
    return None if type(mapping) is dict else slot(frame, type(mapping), name)


def load_name(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    namespace = _namespace(frame)
    if type(namespace) is dict:
        try:
            value = namespace[name]
        except KeyError:
            pass
        else:
            if frame.policy is not None and namespace is frame.globals:
                value = frame.policy.load_global(namespace, name, value)
            stack.append(value)
            return None
        stack.append(_global(frame, name))
        return None
    return start(frame, _load_from(frame, namespace, name))


def _load_from(frame: Frame, mapping: Any, name: str) -> Routine:
    getter = _item_slot(frame, mapping, "__getitem__")
    try:
        if getter is None:
            return mapping[name]
        return (yield call(getter, mapping, name))
    except KeyError:
        pass
    return _global(frame, name)


def load_locals(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(_namespace(frame))


def load_from_dict_or_globals(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    mapping = stack.pop()
    if type(mapping) is dict and name in mapping:
        stack.append(mapping[name])
        return None
    return start(frame, _load_from(frame, mapping, name))


def store_name(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    namespace = _namespace(frame)
    setter = _item_slot(frame, namespace, "__setitem__")
    if setter is not None:
        return start(frame, _discard(call(setter, namespace, name, stack.pop())), _nothing)
    if frame.policy is not None and namespace is frame.globals:
        frame.policy.before_write("global", namespace, name)
    namespace[name] = stack.pop()
    return None


def _discard(request: Any) -> Routine:
    yield request


def _nothing(frame: Frame, result: Any) -> Frame | None:
    """Delivers nothing: the routine was run for its effect."""
    return frame.back


def delete_name(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    namespace = _namespace(frame)
    if frame.policy is not None and namespace is frame.globals:
        frame.policy.before_write("global", namespace, name)
    remover = _item_slot(frame, namespace, "__delitem__")
    if remover is not None:
        return start(frame, _discard(call(remover, namespace, name)), _nothing)
    if not _deleted(namespace, name):
        raise undefined(name)
    return None


def _deleted(namespace: Any, name: str) -> bool:
    try:
        del namespace[name]
    except KeyError:
        return False
    return True


def setup_annotations(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    namespace = _namespace(frame)
    if type(namespace) is dict:
        namespace.setdefault("__annotations__", {})
        return None
    return start(frame, _annotations(frame, namespace), _nothing)


def _annotations(frame: Frame, namespace: Any) -> Routine:
    getter = lookup(type(namespace), "__getitem__")
    try:
        yield call(getter, namespace, "__annotations__")
    except KeyError:
        yield call(lookup(type(namespace), "__setitem__"), namespace, "__annotations__", {})


# --- cells


def make_cell(frame: Frame, stack: list[Any], position: int) -> None:
    value = stack[position]
    stack[position] = CellType() if value is NULL else CellType(value)


def copy_free_vars(frame: Frame, stack: list[Any], count: int) -> None:
    assert frame.code is not None
    first = frame.code.slots - count
    stack[first : first + count] = frame.function.__closure__


def load_deref(frame: Frame, stack: list[Any], position: int) -> None:
    cell = stack[position]
    try:
        value = cell.cell_contents
    except ValueError:
        value = NULL
    if value is NULL:
        raise unbound(frame, position)
    if frame.policy is not None:
        value = frame.policy.load_deref(cell, slot_name(frame, position), value)
    stack.append(value)


def store_deref(frame: Frame, stack: list[Any], position: int) -> None:
    cell = stack[position]
    if frame.policy is not None:
        frame.policy.before_write("deref", cell, slot_name(frame, position))
    cell.cell_contents = stack.pop()


def delete_deref(frame: Frame, stack: list[Any], position: int) -> None:
    cell = stack[position]
    if cell_value(cell) is NULL:
        raise unbound(frame, position)
    if frame.policy is not None:
        frame.policy.before_write("deref", cell, slot_name(frame, position))
    del cell.cell_contents


def load_classderef(frame: Frame, stack: list[Any], position: int) -> Frame | None:
    stack.append(_namespace(frame))
    return load_from_dict_or_deref(frame, stack, position)


def load_from_dict_or_deref(frame: Frame, stack: list[Any], position: int) -> Frame | None:
    mapping = stack.pop()
    name = slot_name(frame, position)
    if type(mapping) is dict:
        if name in mapping:
            stack.append(mapping[name])
        else:
            load_deref(frame, stack, position)
        return None
    return start(frame, _from_dict_or_deref(frame, mapping, name, position))


def _from_dict_or_deref(frame: Frame, mapping: Any, name: str, position: int) -> Routine:
    getter = _item_slot(frame, mapping, "__getitem__")
    try:
        if getter is None:
            return mapping[name]
        return (yield call(getter, mapping, name))
    except KeyError:
        pass
    load_deref(frame, frame.stack, position)
    return frame.stack.pop()


def jump(frame: Frame, stack: list[Any], target: int) -> None:
    frame.it.__setstate__(target)


def unreachable(frame: Frame, stack: list[Any], opname: str) -> None:
    raise SystemError(f"unreachable instruction {opname}")
