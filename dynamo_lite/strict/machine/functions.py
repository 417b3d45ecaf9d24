"""Making functions, returning from them, and the instruction that begins a class."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

from dynamo_lite.strict.machine.frame import NULL, Frame
from dynamo_lite.strict.machine.names import _item_or_null, builtins_of
from dynamo_lite.strict.machine.run import raise_in


def hand_over(frame: Frame, value: Any) -> Frame | None:
    """Gives the value to the frame's ``deliver``; what that raises is raised in the caller, for the frame has ended."""
    assert frame.deliver is not None
    back = frame.back
    try:
        return frame.deliver(frame, value)
    except BaseException as error:
        assert back is not None
        return raise_in(back, error)


def return_value(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    back = frame.back
    if frame.deliver is not None:
        try:  # as hand_over, without a call: constructing returns through here
            return frame.deliver(frame, stack.pop())
        except BaseException as error:
            return raise_in(back, error)  # type: ignore[arg-type]
    back.stack.append(stack.pop())  # type: ignore[union-attr]
    return back


def return_const(frame: Frame, stack: list[Any], value: Any) -> Frame | None:
    back = frame.back
    if frame.deliver is not None:
        try:
            return frame.deliver(frame, value)
        except BaseException as error:
            return raise_in(back, error)  # type: ignore[arg-type]
    back.stack.append(value)  # type: ignore[union-attr]
    return back


def make_function(frame: Frame, stack: list[Any], flags: int) -> None:
    code = stack.pop()
    closure = stack.pop() if flags & 8 else None
    annotations = stack.pop() if flags & 4 else None
    kwdefaults = stack.pop() if flags & 2 else None
    defaults = stack.pop() if flags & 1 else None
    if closure is None and code.co_freevars:
        # 3.13 sets the closure by an instruction of its own
        closure = tuple([CellType() for _ in code.co_freevars])
    fn = FunctionType(code, frame.globals, None, defaults, closure)
    fn.__qualname__ = code.co_qualname
    if kwdefaults is not None:
        fn.__kwdefaults__ = kwdefaults
    if annotations is not None:
        fn.__annotations__ = _annotations(annotations)
    _made(frame, fn)
    stack.append(fn)


def _made(frame: Frame, fn: FunctionType) -> None:
    if frame.policy is not None:
        frame.policy.made(fn)


def _annotations(value: Any) -> dict[str, Any]:
    if type(value) is tuple:
        return dict(zip(value[::2], value[1::2], strict=True))
    return value  # type: ignore[no-any-return]


def set_function_attribute(frame: Frame, stack: list[Any], flag: int) -> None:
    fn = stack.pop()
    value = stack.pop()
    if flag == 8:
        made = FunctionType(fn.__code__, fn.__globals__, None, fn.__defaults__, value)
        made.__qualname__ = fn.__qualname__
        made.__kwdefaults__ = fn.__kwdefaults__
        made.__annotations__ = fn.__annotations__
        fn = made
        _made(frame, fn)
    elif flag == 4:
        fn.__annotations__ = _annotations(value)
    elif flag == 2:
        fn.__kwdefaults__ = value
    else:
        fn.__defaults__ = value
    stack.append(fn)


def load_build_class(frame: Frame, stack: list[Any], arg: None) -> None:
    found = _item_or_null(builtins_of(frame), "__build_class__")
    if found is NULL:
        raise NameError("__build_class__ not found")
    stack.append(found)
