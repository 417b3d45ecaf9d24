"""C code that calls the program's own slots: each such call is rehearsed interpreted before it happens.

A real dict, set or list holds the program's objects, and C asks their ``__hash__``, ``__eq__``, ``__repr__`` and so on by itself. While
C works on values that are not plain, the interpreter of the host reports every Python function that begins. One that C began is
rehearsed: the machine runs it with the same arguments, in a transaction that is undone. What it reads becomes assumptions;
what it writes is announced; where it meets a tensor or a symbolic number, prints, or does what is refused, it is refused by name.
Then C may run it: it is the same code on the same state.
"""

from __future__ import annotations

import gc
import signal
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, Protocol

from dynamo_lite.strict.machine.code import is_own
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.machine.host import HOST
from dynamo_lite.strict.machine.run import BEHIND, execute
from dynamo_lite.strict.machine.slots import MISSING, dict_of, mro_of
from dynamo_lite.strict.policy import tables
from dynamo_lite.strict.policy.errors import SLOT_REFUSED
from dynamo_lite.strict.policy.rehearsal import RehearsalPolicy
from dynamo_lite.strict.transaction import Transaction
from solver.errors import ExportError, Location
from solver.sym import SymNumber

_SUSPENDS: Final = 0x2A0  # generator, coroutine, asynchronous generator
_TRUSTED: Final = tuple(tables.TRUSTED)
_PACKAGES: Final = ("dynamo_lite.", "fx_ir.", "solver.")
_own: Final[dict[int, tuple[CodeType, bool]]] = {}


class Watched(Protocol):
    """What the watch needs of the tracing policy."""

    special_ids: Any
    uncatchable: tuple[type[BaseException], ...]
    trusted_slots: frozenset[CodeType]
    transaction: Transaction

    def recorded(self) -> int:
        """How many nodes the graph has."""

    def where(self) -> Location | None:
        """The user's line."""


def is_ours(frame: FrameType) -> bool:
    """Code of these packages, code generated for them, and the stand-ins that can touch nothing (shadows of frames)."""
    code = frame.f_code
    known = _own.get(id(code))
    if known is None:
        known = code, is_own(code) or _is_harmless(code)
        _own[id(code)] = known
    if known[1]:
        return True
    name = frame.f_globals.get("__name__")
    return type(name) is str and name.startswith(_PACKAGES) and ".torchlite.nn" not in name


def _is_harmless(code: CodeType) -> bool:
    """Without parameters, names and constants a function reaches nothing."""
    nothing = not code.co_names and not code.co_freevars and set(code.co_varnames) <= {BEHIND}
    return nothing and set(code.co_consts) <= {None}


def is_bystander(frame: FrameType) -> bool:
    """Code that the host runs at any moment, for reasons of its own: finalisers, ends of weak references, hooks, signals.

    It belongs to objects from outside: those made under export may have none of it.
    """
    code = frame.f_code
    if code.co_name == "__del__":
        return True
    for name in code.co_varnames[: min(2, code.co_argcount)]:
        value = frame.f_locals[name]
        if isinstance(value, weakref.ref) and weakref.ref.__call__(value) is None:
            return True
    hooks = [*gc.callbacks, sys.unraisablehook, *map(signal.getsignal, signal.valid_signals())]
    return any(getattr(hook, "__code__", None) is code for hook in hooks)


class _Absent(BaseException):
    """The function behind a cache was about to run."""


class Peek:
    """Stops the function behind a cache; slots of the keys are watched as ever."""

    problem: BaseException | None = None

    def __init__(self, watch: Watch, code: CodeType) -> None:
        self._watch = watch
        self._code = code
        self.token = HOST.token(self)

    def began(self, frame: FrameType) -> None:
        if frame.f_code is self._code:
            raise _Absent
        self._watch.began(frame)

    def check(self) -> None:
        self._watch.check()


class Watch:
    """Makes calls of C functions under watch, for one capture."""

    def __init__(self, policy: Watched) -> None:
        self._policy = policy
        self.problem: BaseException | None = None
        self.token = HOST.token(self)

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``fn(*args, **kwargs)``. Raises ``slot-refused`` for a slot that may not run natively, whatever C made of it."""
        before = HOST.told()
        try:
            HOST.tell(self.token)
            return fn(*args, **kwargs)
        finally:
            HOST.tell(before)
            if self.problem is not None:
                self.check()

    def peek(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a ``functools.lru_cache`` holds for a call, or MISSING: its function is not run."""
        cached = Peek(self, fn.__wrapped__.__code__)
        before = HOST.told()
        try:
            HOST.tell(cached.token)
            return fn(*args, **kwargs)
        except _Absent:
            return MISSING
        finally:
            HOST.tell(before)
            self.check()

    def check(self) -> None:
        """Raises what a rehearsal found, in case that C dropped it."""
        problem, self.problem = self.problem, None
        if problem is not None:
            raise problem

    def began(self, frame: FrameType) -> None:
        """A Python function begins. Where C called it for us it is rehearsed; inside others it was rehearsed with them."""
        back = frame.f_back
        if self.problem is None and back is not None and not is_ours(frame) and is_ours(back):
            before = HOST.pause()
            try:
                self._rehearse(frame)
            except BaseException as problem:
                self.problem = problem
                raise
            finally:
                HOST.tell(before)

    def _rehearse(self, frame: FrameType) -> None:
        policy = self._policy
        code = frame.f_code
        if is_bystander(frame) or code.co_filename.endswith(_TRUSTED) or code in policy.trusted_slots:
            return
        if code.co_flags & _SUSPENDS:
            raise self._refusal(code, "gives a generator that C would run")
        args, kwargs = _arguments(frame)
        function = _function(frame, args)
        if function is None:
            raise self._refusal(code, "is one of several closures, and C does not tell which")
        for value in (*args, *kwargs.values()):
            if id(type(value)) in policy.special_ids:
                raise self._refusal(code, "is given a tensor or a size under export")
        nodes = policy.recorded()
        result = None
        machine = peek()
        assert machine is not None
        with policy.transaction.rehearsal() as done:
            machine.policy = RehearsalPolicy(policy, lambda why: self._refusal(code, why))  # type: ignore[arg-type]
            try:
                result = execute(machine, function, args, kwargs or None)
            except ExportError:
                raise
            except Exception:  # C will meet the same exception
                pass
            finally:
                machine.policy = policy  # type: ignore[assignment]
        if done.notes:
            raise self._refusal(code, f"has an effect that cannot be undone ({done.notes[0].what})")
        if id(type(result)) in policy.special_ids or isinstance(result, SymNumber):
            raise self._refusal(code, "gives a tensor or a size under export")
        if policy.recorded() != nodes:
            raise self._refusal(code, "computes with tensors")
        policy.transaction.announce(done)

    def _refusal(self, code: CodeType, why: str) -> ExportError:
        return SLOT_REFUSED(name=code.co_qualname, why=why, location=self._policy.where())


def _arguments(frame: FrameType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a function that has just begun was called with."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    count = code.co_argcount
    total = count + code.co_kwonlyargcount
    args = tuple([values[name] for name in names[:count]])
    kwargs = {name: values[name] for name in names[count:total]}
    if code.co_flags & 4:
        args += tuple(values[names[total]])
        total += 1
    if code.co_flags & 8:
        kwargs.update(values[names[total]])
    return args, kwargs


def _function(frame: FrameType, args: tuple[Any, ...]) -> FunctionType | None:
    """The function that runs in a frame; None where several closures share its code."""
    code = frame.f_code
    if not code.co_freevars:
        return FunctionType(code, frame.f_globals, code.co_name)
    for base in mro_of(type(args[0])) if args else ():
        for value in dict_of(base).values():
            inner = getattr(value, "__func__", value) if type(value) in (staticmethod, classmethod) else value
            if type(inner) is FunctionType and inner.__code__ is code:
                return inner
    found = [each for each in gc.get_referrers(code) if type(each) is FunctionType and each.__code__ is code]
    return found[0] if len(found) == 1 else None
