"""What looks at the running frame: globals, locals, vars, dir, exec, eval, sys.exc_info, sys._getframe, warnings."""

from __future__ import annotations

import builtins
import sys
import warnings
from types import CellType, CodeType, ModuleType, TracebackType
from typing import Any

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly
from dynamo_lite.strict.decode.versions import EXEC_TAKES_KEYWORDS
from dynamo_lite.strict.machine.attributes import VIRTUAL
from dynamo_lite.strict.machine.calls import CALLERS, Kwargs, native
from dynamo_lite.strict.machine.code import code_for
from dynamo_lite.strict.machine.frame import Frame, new_frame
from dynamo_lite.strict.machine.limit import LIMIT
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.run import get_traceback, shadow_frame
from dynamo_lite.strict.machine.slots import MISSING, lookup, slot
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.view import FrameView, frame_locals, frame_of, host_frame, user_frame, view_of


def _none(args: tuple[Any, ...], kwargs: Kwargs) -> bool:
    return not args and not kwargs


@replaces_directly(builtins.globals)
def globals_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not _none(args, kwargs):
        return native(frame, globals, args, kwargs)
    found = user_frame(frame).globals
    frame.stack.append(found)
    if frame.policy is not None:
        frame.policy.answered(globals, found)
    return None


@replaces_directly(builtins.locals)
def locals_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not _none(args, kwargs):
        return native(frame, locals, args, kwargs)
    frame.stack.append(frame_locals(user_frame(frame)))
    return None


@replaces_directly(builtins.vars)
def vars_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if _none(args, kwargs):
        return locals_(frame, args, kwargs)
    if len(args) != 1 or kwargs:
        return native(frame, vars, args, kwargs)
    return start(frame, _vars(args[0]))


def _vars(obj: Any) -> Routine:
    try:
        return (yield call(getattr, obj, "__dict__"))
    except AttributeError:
        pass
    raise TypeError("vars() argument must have __dict__ attribute")


@replaces_directly(builtins.dir)
def dir_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if _none(args, kwargs):
        return start(frame, _dir_locals(frame_locals(user_frame(frame))))
    if len(args) != 1 or kwargs:
        return native(frame, dir, args, kwargs)
    obj = args[0]
    method = slot(frame, type(obj), "__dir__")
    if method is None and isinstance(obj, ModuleType) and "__dir__" in obj.__dict__:
        return start(frame, _dir_of_module(obj))
    if method is None or lookup(type(obj), "__dir__") is MISSING:
        return native(frame, dir, args, kwargs)
    return start(frame, _dir(frame, obj, method))


def _dir_locals(namespace: Any) -> Routine:
    method = yield call(getattr, namespace, "keys")
    keys = yield call(method)
    return (yield call(sorted, keys))


def _dir_of_module(module: ModuleType) -> Routine:
    names = yield call(module.__dict__["__dir__"])
    return (yield call(sorted, names))


def _dir(frame: Frame, obj: Any, method: Any) -> Routine:
    names = yield from bound_call(frame, method, obj, ())
    return (yield call(sorted, names))


# --- exec and eval


@replaces(builtins.exec)
def exec_(frame: Frame, source: Any, globals: Any = None, locals: Any = None, /, **kwargs: Any) -> Routine:
    closure = kwargs.pop("closure", None)
    if EXEC_TAKES_KEYWORDS:
        globals, locals = kwargs.pop("globals", globals), kwargs.pop("locals", locals)
    if kwargs:
        raise TypeError(f"exec() got an unexpected keyword argument '{next(iter(kwargs))}'")
    yield from _execute(frame, source, globals, locals, closure, "exec")


@replaces(builtins.eval)
def eval_(frame: Frame, source: Any, globals: Any = None, locals: Any = None, /, **kwargs: Any) -> Routine:
    if EXEC_TAKES_KEYWORDS:
        globals, locals = kwargs.pop("globals", globals), kwargs.pop("locals", locals)
    if kwargs:
        raise TypeError("eval() takes no keyword arguments")
    return (yield from _execute(frame, source, globals, locals, None, "eval"))


def _execute(frame: Frame, source: Any, namespace: Any, local: Any, closure: Any, mode: str) -> Routine:
    where = user_frame(frame)
    if namespace is None:
        namespace = where.globals
        if local is None:
            local = frame_locals(where)
    elif local is None:
        local = namespace
    if not isinstance(namespace, dict) or not hasattr(type(local), "__getitem__"):
        return getattr(builtins, mode)(source, namespace, local)  # C refuses it
    if type(source) is not CodeType:
        if closure is not None:
            raise TypeError("closure can only be used when source is a code object")
        if isinstance(source, str) and mode == "eval":
            source = source.lstrip(" \t")
        if not isinstance(source, (str, bytes, bytearray, memoryview)):
            return getattr(builtins, mode)(source, {}, {})
        flags = where.code.flags & _INHERITED if where.code is not None else 0
        source = compile(source, "<string>", mode, flags, dont_inherit=True)
    elif source.co_freevars:
        if mode == "eval":
            raise TypeError("code object passed to eval() may not contain free variables")
        if (
            type(closure) is not tuple
            or len(closure) != len(source.co_freevars)
            or not all(type(cell) is CellType for cell in closure)
        ):
            raise TypeError(f"code object requires a closure of exactly length {len(source.co_freevars)}")
    elif closure is not None:
        raise TypeError("cannot use a closure with this code object")
    if "__builtins__" not in namespace:
        namespace["__builtins__"] = builtins.__dict__
    sys.audit("exec", source)
    return (yield _RUN_CODE, (source, namespace, local, closure), None)


@replaces_directly(builtins.compile)
def compile_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``compile``: C takes the future statements in force from the real caller; here they are the interpreted one's."""
    given = dict(kwargs or {})
    inherit = not (args[4] if len(args) > 4 else given.get("dont_inherit", False))
    where = user_frame(frame)
    if inherit and where.code is not None and len(args) >= 3:
        flags = args[3] if len(args) > 3 else given.get("flags", 0)
        if isinstance(flags, int):
            given["flags"] = flags | (where.code.flags & _INHERITED)
            given["dont_inherit"] = True
            if len(args) > 5:
                given["optimize"] = args[5]
            return native(frame, compile, args[:3], given)
    return native(frame, compile, args, kwargs)


_INHERITED = 0x1FF0000 | 0x1000000


class _RunCode:
    """Stands for running a code object in a namespace."""

    __slots__ = ()


_RUN_CODE = _RunCode()


class _Holder:
    """What a frame asks of its function where there is none: the closure."""

    def __init__(self, code: CodeType, closure: tuple[CellType, ...], names: dict[str, Any]) -> None:
        self.__closure__ = closure
        self.__name__ = code.co_name
        self.__qualname__ = code.co_qualname
        self.__builtins__ = names


def run_code(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame:
    source, namespace, local, closure = args
    code = code_for(source, frame.policy)
    made = new_frame(code, code.blank.copy(), namespace, frame)
    if closure:
        found = namespace["__builtins__"]
        made.function = _Holder(source, closure, found.__dict__ if isinstance(found, ModuleType) else found)
    if not source.co_flags & 2:
        made.locals = local
    return made


CALLERS[id(_RunCode)] = run_code


def _tb_frame(frame: Frame, tb: TracebackType) -> Any:
    return frame_of(tb)


VIRTUAL[id(TracebackType), "tb_frame"] = _tb_frame


@replaces_directly(TracebackType)
def traceback_type(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Tracebacks hold real frames; for the view of an interpreted one its shadow is taken."""
    args = tuple([shadow_frame(each.frame) if type(each) is FrameView else each for each in args])
    kwargs = {k: shadow_frame(v.frame) if type(v) is FrameView else v for k, v in (kwargs or {}).items()}
    return native(frame, TracebackType, args, kwargs)


# --- exceptions in flight


@replaces_directly(sys.exc_info)
def exc_info(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not _none(args, kwargs):
        return native(frame, sys.exc_info, args, kwargs)
    error = frame.handled.current()
    frame.stack.append((None, None, None) if error is None else (type(error), error, get_traceback(error)))
    return None


@replaces_directly(sys.exception)
def exception(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not _none(args, kwargs):
        return native(frame, sys.exception, args, kwargs)
    frame.stack.append(frame.handled.current())
    return None


# --- frames


@replaces_directly(sys._getframe)
def getframe(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if kwargs or len(args) > 1 or (args and type(args[0]) is not int):
        return native(frame, sys._getframe, args, kwargs)
    depth = args[0] if args else 0
    where = user_frame(frame)
    view: Any = host_frame() if where.code is None else view_of(where)
    for _ in range(max(depth, 0)):
        view = view.f_back
        if view is None:
            raise ValueError("call stack is not deep enough")
    frame.stack.append(view)
    return None


@replaces_directly(sys.getrecursionlimit)
def getrecursionlimit(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not _none(args, kwargs):
        return native(frame, sys.getrecursionlimit, args, kwargs)
    frame.stack.append(frame.machine.limit)
    if frame.policy is not None:
        frame.policy.answered(sys.getrecursionlimit, frame.machine.limit)
    return None


@replaces_directly(sys.setrecursionlimit)
def setrecursionlimit(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if kwargs or len(args) != 1 or type(args[0]) is not int or args[0] < 1:
        return native(frame, sys.setrecursionlimit, args, kwargs)
    if args[0] <= frame.depth:
        raise RecursionError(
            f"cannot set the recursion limit to {args[0]} at the recursion depth {frame.depth}: the limit is too low"
        )
    frame.machine.limit = args[0]
    LIMIT.change(args[0])
    frame.stack.append(None)
    return None


@replaces(warnings.warn, needed=lambda frame, *args, **kwargs: frame.policy is None)
def warn(
    frame: Frame, message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **rest: Any
) -> Routine:
    """``warnings.warn``: C reads the location off the real stack; here it is the interpreted caller's."""
    if issubclass(type(message), Warning):
        category = type(message)
    elif category is None:
        category = UserWarning
    if type(category) is not type or not issubclass(category, Warning) or rest:
        warnings.warn(message, category, **rest)
        return
    view: Any = view_of(user_frame(frame))
    for _ in range(stacklevel - 1):
        view = view.f_back if view is not None else None
    if view is None:
        namespace: dict[str, Any] = sys.__dict__
        file, line = "sys", 1
    else:
        namespace, file, line = view.f_globals, view.f_code.co_filename, view.f_lineno
    registry = namespace.setdefault("__warningregistry__", {})
    module = namespace.get("__name__") or "<string>"
    yield call(warnings.warn_explicit, message, category, file, line, module, registry, namespace, source)


def _getframemodulename(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``sys._getframemodulename`` (3.12 and later)."""
    depth = (kwargs or {}).get("depth", args[0] if args else 0)
    view: Any = view_of(user_frame(frame))
    for _ in range(depth):
        view = view.f_back if view is not None else None
    frame.stack.append(None if view is None else view.f_globals.get("__name__"))
    return None


if hasattr(sys, "_getframemodulename"):
    replaces_directly(sys._getframemodulename)(_getframemodulename)
