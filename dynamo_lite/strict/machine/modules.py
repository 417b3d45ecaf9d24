"""Imports, printing of expressions, and what PEP 695 makes."""

from __future__ import annotations

import builtins
import sys
import typing
from typing import Any

from dynamo_lite.strict.machine.calls import invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.names import builtins_of
from dynamo_lite.strict.machine.routine import Routine, call, start


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
            raise TypeError(f"Item in {module.__name__}.__all__ must be str, not {type(name).__name__}")
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


def _own_module(frame: Frame) -> Any:
    return frame.globals.get("__name__", builtins.__name__)


def make_typevar(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(_parameter(frame, "T", stack.pop()))


def make_paramspec(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(_parameter(frame, "**T", stack.pop()))


def make_typevartuple(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(_parameter(frame, "*T", stack.pop()))


def _parameter(
    frame: Frame, form: str, name: str, rest: str = "", values: dict[str, Any] | None = None
) -> Any:
    """A type parameter made by the compiler's own instruction: the constructor cannot give it lazy bounds."""
    scope: dict[str, Any] = {"__name__": _own_module(frame), **(values or {})}
    exec(f"def f[{form.replace('T', name)}{rest}](): pass", scope)
    return scope["f"].__type_params__[0]


def make_generic(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    parameters = stack.pop()
    unpacked = tuple(
        typing.Unpack[each] if type(each).__name__ == "TypeVarTuple" else each for each in parameters
    )
    return start(frame, _generic(unpacked))


def _generic(parameters: Any) -> Routine:
    method = yield call(getattr, typing.Generic, "__class_getitem__")
    return (yield call(method, parameters))


def make_typealias(frame: Frame, stack: list[Any], arg: None) -> None:
    name, parameters, compute = stack.pop()
    scope: dict[str, Any] = {"__name__": _own_module(frame), "compute": compute}
    exec(f"type {name} = compute()", scope)
    alias = scope[name]
    if parameters:
        alias = _generic_alias(scope, name, parameters)
    stack.append(alias)


def _generic_alias(scope: dict[str, Any], name: str, parameters: Any) -> Any:
    raise NotImplementedError(name)


def typevar_with_bound(frame: Frame, stack: list[Any], arg: None) -> None:
    compute = stack.pop()
    stack.append(_parameter(frame, "T", stack.pop(), ": compute()", {"compute": compute}))


def typevar_with_constraints(frame: Frame, stack: list[Any], arg: None) -> None:
    compute = stack.pop()
    name = stack.pop()
    stack.append(_parameter(frame, "T", name, ": (None, compute())", {"compute": compute}))


def set_function_type_params(frame: Frame, stack: list[Any], arg: None) -> None:
    parameters = stack.pop()
    stack[-1].__type_params__ = parameters


def set_typeparam_default(frame: Frame, stack: list[Any], arg: None) -> None:
    raise NotImplementedError
