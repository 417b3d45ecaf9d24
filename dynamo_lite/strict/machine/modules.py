"""Imports, printing of expressions, and what PEP 695 makes."""

from __future__ import annotations

import operator
import sys
import typing
from collections.abc import Callable
from typing import Any, Final

from dynamo_lite.strict.decode.intrinsics import call_intrinsic
from dynamo_lite.strict.machine.calls import invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.names import builtins_of
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import type_name


def import_name(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    names = stack.pop()
    level = stack.pop()
    function = builtins_of(frame).get("__import__")
    if function is None:
        raise ImportError("__import__ not found")
    return invoke(frame, function, (name, frame.globals, frame.locals, names, level), None)


def import_from(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    return start(frame, _import_from(stack[-1], name))


def _import_from(module: Any, name: str) -> Routine:
    try:
        return (yield call(getattr, module, name))
    except AttributeError:
        pass
    package = None
    try:
        package = yield call(getattr, module, "__name__")
        full = f"{package}.{name}"
        if full in sys.modules:
            return sys.modules[full]
    except AttributeError:
        pass
    _raise_import_error(module, name, package)


def _raise_import_error(module: Any, name: str, package: Any) -> None:
    """CPython's own error: the statement itself, run where it fails."""
    scope: dict[str, Any] = {"__builtins__": {"__import__": lambda *_: module}}
    exec(f"from {'m'} import {name}", scope)


def import_star(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _import_star(frame, stack.pop()), _dropped)


def _dropped(routine: Frame, value: Any) -> Frame | None:
    return routine.back


def _import_star(frame: Frame, module: Any) -> Routine:
    try:
        names = yield call(getattr, module, "__all__")
        skip = False
    except AttributeError:
        namespace = yield call(getattr, module, "__dict__")
        names = list(namespace)
        skip = True
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Item in {module.__name__}.__all__ must be str, not {type_name(type(name))}")
        if skip and name.startswith("_"):
            continue
        value = yield call(getattr, module, name)
        frame.locals[name] = value


def print_expr(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    hook = getattr(sys, "displayhook", None)
    if hook is None:
        raise RuntimeError("lost sys.displayhook")
    return start(frame, _display(hook, stack.pop()), _dropped)


def _display(hook: Any, value: Any) -> Routine:
    yield call(hook, value)


# --- type parameters: what the compiler of 3.12 and later asks for


def _intrinsic(name: str) -> Callable[[Frame, list[Any], None], None]:
    def handler(frame: Frame, stack: list[Any], arg: None) -> None:
        stack[-1] = call_intrinsic(name, frame.globals, stack[-1])

    return handler


def _intrinsic_2(name: str) -> Callable[[Frame, list[Any], None], None]:
    def handler(frame: Frame, stack: list[Any], arg: None) -> None:
        second = stack.pop()
        stack[-1] = call_intrinsic(name, frame.globals, stack[-1], second)

    return handler


make_typevar: Final = _intrinsic("INTRINSIC_TYPEVAR")
make_paramspec: Final = _intrinsic("INTRINSIC_PARAMSPEC")
make_typevartuple: Final = _intrinsic("INTRINSIC_TYPEVARTUPLE")
make_typealias: Final = _intrinsic("INTRINSIC_TYPEALIAS")
typevar_with_bound: Final = _intrinsic_2("INTRINSIC_TYPEVAR_WITH_BOUND")
typevar_with_constraints: Final = _intrinsic_2("INTRINSIC_TYPEVAR_WITH_CONSTRAINTS")
set_function_type_params: Final = _intrinsic_2("INTRINSIC_SET_FUNCTION_TYPE_PARAMS")
set_typeparam_default: Final = _intrinsic_2("INTRINSIC_SET_TYPEPARAM_DEFAULT")


def make_generic(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _generic(stack.pop()))


def _generic(given: Any) -> Routine:
    parameters: Any = ()
    for each in given:
        if type(each).__name__ == "TypeVarTuple":
            each = yield call(operator.getitem, typing.Unpack, each)
        parameters += (each,)
    method = yield call(getattr, typing.Generic, "__class_getitem__")
    return (yield call(method, parameters))
