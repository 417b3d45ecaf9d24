"""The policy of a trace: what is called natively and how, what is recorded, what is refused."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import builtins
import io
import operator
import threading
import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import numpy as np

from dynamo_lite import places
from dynamo_lite.fake import is_fake
from dynamo_lite.lowering.leaf import TensorFunction
from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.frame import Frame, cell_value
from dynamo_lite.strict.machine.host import Observer
from dynamo_lite.strict.machine.operators import NATIVE_BINARY, NATIVE_COMPARE
from dynamo_lite.strict.machine.policy import CONSTANT_MARK
from dynamo_lite.strict.machine.slots import MISSING, TypeSet, inherits, lookup, mro_of
from dynamo_lite.strict.mutators import changed_by_numpy, mutated
from dynamo_lite.strict.policy import impure, modules, tables, whole
from dynamo_lite.strict.policy.errors import CALL_REFUSED, FINALIZER, ITERATOR_OUTSIDE, WEAK_FRESH
from dynamo_lite.strict.policy.origins import LISTING, Origins
from dynamo_lite.strict.policy.reads import is_native_iterator, user_location
from dynamo_lite.strict.policy.roots import place_import
from dynamo_lite.strict.policy.seen import ALL
from dynamo_lite.strict.policy.surroundings import Surroundings
from dynamo_lite.strict.policy.watch import Watch
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.trace.tracer import Tracer
from dynamo_lite.ways_out import WayOut
from solver.errors import ExportError, Location
from solver.sym import SymBool, SymFloat, SymInt

_CALL: Final = TensorFunction.__call__
_WAY_OUT: Final = WayOut.__call__
_SMALL: Final = (-5, 256)  # equal ints in this range are one object in CPython
_CACHE: Final = type(lru_cache(len))
_REGISTER: Final = _abc._abc_register
_GET_IDENT: Final = threading.get_ident
_BUFFERS: Final = TypeSet((io.StringIO, io.BytesIO))
_UNBOUND: Final = (MethodDescriptorType, WrapperDescriptorType)
_NO_OWNER: Final = TypeSet((type(None), ModuleType))
_OF_DIGITS: Final = frozenset({str, int, repr, format})
_MADE_IN_PYTHON: Final = 1 << 9  # a class that is no type of C's
_CLASSES: Final = {SymInt: int, SymFloat: float, SymBool: bool}


class TracePolicy(Surroundings):
    """One capture's policy."""

    uncatchable: tuple[type[BaseException], ...] = (ExportError,)
    # Slots in Python that depend on the identity of their operand alone: C may call them on tensors too.
    trusted_slots: frozenset[CodeType] = frozenset()

    def __init__(self, tracer: Tracer, transaction: Transaction, origins: Origins) -> None:
        super().__init__(transaction, origins, tracer.library.module_class(), tracer.settings)
        self.tracer = tracer
        self.seen.behind = tuple(tracer.library.tensor_types())
        self.watch = Watch(self)
        self.observer: Observer | None = self.watch
        self._caches: dict[int, tuple[Any, Any]] = {}
        self.special_ids = frozenset(
            map(id, (tracer.library.fake_class, SymInt, SymFloat, SymBool, *tracer.library.tensor_types()))
        )

    # --- what C calls by itself

    def operate(self, fn: Callable[..., Any], *operands: Any) -> Any:
        for operand in operands:
            if id(type(operand)) not in tables.QUIET:
                if fn is not operator.getitem:
                    self.met_whole(fn, operands)
                return self.watch.call(fn, operands, {})
        return fn(*operands)

    def _watched(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of C code: under watch, unless it is a function or a class that is given plain values alone."""
        kind = type(fn)
        if kind is type or (kind is BuiltinFunctionType and type(fn.__self__) in _NO_OWNER):
            quiet = tables.QUIET
            if all(id(type(value)) in quiet for value in args) and not kwargs:
                if fn in _OF_DIGITS and args:
                    self.ambient.digits(args[0])
                return fn(*args)
        self.met_whole(fn, args)
        if kind is type and args and type(args[0]) is dict:
            self.origins.listed(args[0])
        if kind is BuiltinFunctionType:
            self.of_whole(fn, args)
        return self.watch.call(fn, args, kwargs)

    def lower(self, leaf: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A tensor function. Objects of the program among its arguments may be asked for an index or a length."""
        if all(map(self._is_usual, args)) and all(map(self._is_usual, kwargs.values())):
            return leaf.lower(args, kwargs)
        return self.watch.call(leaf.lower, (args, kwargs), {})

    def _beside(self, fn: Callable[..., Any], *operands: Any) -> Any:
        """An operation of code of ours, as on tensors and sizes: operands of the program's own may be asked by it."""
        return fn(*operands) if all(map(self._is_usual, operands)) else self.watch.call(fn, operands, {})

    def _ours(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of Python code of ours, which is as C code is. Functions of the program that it is given, or holds, are watched."""
        if all(map(self._is_usual, map(cell_value, fn.__closure__ or ()))):
            return self._with(fn, args, kwargs)
        return self.watch.call(fn, args, kwargs)

    def _with(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of code of ours that holds nothing of the program."""
        if all(map(self._is_usual, (*args, *kwargs.values()))):
            return fn(*args, **kwargs)
        return self.watch.call(fn, args, kwargs)

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        return self._beside(NATIVE_BINARY[symbol], left, right)

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        return self._beside(NATIVE_COMPARE[symbol], left, right)

    def contains(self, container: Any, value: Any) -> bool:
        found: bool = self._beside(operator.contains, container, value)
        return found

    def subscript(self, container: Any, key: Any) -> Any:
        return self._beside(operator.getitem, container, key)

    def _is_usual(self, value: Any) -> bool:
        kind = type(value)
        if kind is list or kind is tuple:
            return all(map(self._is_usual, value))
        if kind is slice:
            return all(map(self._is_usual, (value.start, value.stop, value.step)))
        if kind is FunctionType:
            return places.is_ours(value.__code__) and value.__closure__ is None
        if kind is type and value.__flags__ & _MADE_IN_PYTHON:
            return places.is_our_class(value)
        if id(kind) in tables.QUIET or id(kind) in self.special_ids:
            return True
        return self.tracer.library.is_plain(value) or places.is_our_class(kind)

    def _cached(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of ``functools.lru_cache``: what the cache holds is taken; else the function is interpreted.

        The program's cache is not written. A cache of the trace makes a second call give the same object.
        """
        function = fn.__wrapped__
        given = (*args, *kwargs.values())
        if any(isinstance(value, tables.NUMBERS) for value in given):
            return self.tracer.invoke(partial(function, **kwargs), args)
        if not any(id(type(value)) in self.special_ids for value in given) and type(function) is FunctionType:
            held = self.watch.peek(fn, args, kwargs)
            if held is not MISSING:
                self.origins.assume_cache(fn, args, kwargs, held)
                return held
        marked = getattr(function, CONSTANT_MARK, False)
        known = self._caches.get(id(fn))
        if known is None:

            def interpreted(*args: Any, **kwargs: Any) -> Any:
                if marked:
                    return self._burned_in(function, args, kwargs)
                return self.tracer.invoke(partial(function, **kwargs), args)

            known = self._caches[id(fn)] = fn, lru_cache(**fn.cache_parameters())(interpreted)
        return known[1](*args, **kwargs) if marked else self.watch.call(known[1], args, kwargs)

    def _refuse_finalizer(self, fn: Any, args: tuple[Any, ...]) -> None:
        """Objects made under export may not have a finaliser, nor a callback for their end, in Python."""
        if type(fn) is type or (type(fn) is BuiltinFunctionType and fn.__name__ == "__new__" and args):
            cls = fn if type(fn) is type else args[0]
            finalizer = lookup(cls, "__del__")
            if type(finalizer) is FunctionType and not places.is_ours(finalizer.__code__):
                raise FINALIZER(name=finalizer.__qualname__, location=traced.location())
            if any(base is weakref.ref for base in mro_of(cls)):
                given = args if type(fn) is type else args[1:]
                callback = given[1:]
                if callback and type(callback[0]) is FunctionType and not _is_weakref_code(callback[0]):
                    raise FINALIZER(name=callback[0].__qualname__, location=traced.location())
                exact = callback and getattr(callback[0], "__module__", "") == "torch._dynamo.utils"
                if given and not exact and self.transaction.is_fresh(given[0]):
                    raise WEAK_FRESH(type=type(given[0]).__name__, location=traced.location())

    def recorded(self) -> int:
        """How many nodes the graph has."""
        return len(self.tracer.level.graph.nodes)

    def where(self) -> Location | None:
        """The user's line."""
        return user_location()

    # --- calls

    def opaque(self, code: CodeType) -> bool:
        file = code.co_filename
        if places.is_opaque(code) or file in tables.OPAQUE_FILES:
            return True
        return file.endswith(("/os.py", "<frozen os>")) and code.co_qualname.startswith("_Environ.")

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        kind = type(fn)
        if fn is type and len(args) == 1:
            return self._class_of(args[0], frame)
        if kind is FunctionType:
            if fn is _CALL:
                return self.lower(args[0], args[1:], kwargs)
            if places.is_ours(fn.__code__):
                return self._way_out(args, kwargs) if fn is _WAY_OUT else self._ours(fn, args, kwargs)
            if getattr(fn, CONSTANT_MARK, False):
                return self._burned_in(fn, args, kwargs)
            return self._library_function(fn, args, kwargs)
        if kind is _CACHE:
            return self._cached(fn, args, kwargs)
        if kind.__name__ == "cython_function_or_method":
            self._refuse_compiled(fn, args)
        container = mutated(fn, args)
        asked = None
        if container is not MISSING:
            self.before_write("content", container, None)
        else:
            if kind is BuiltinFunctionType and impure.is_lock_method(fn, args, kwargs):
                self.transaction.note("other", impure.name_of(fn), "dropped")
                return impure.LOCK_ANSWERS[fn.__name__]
            refusal = self._refusal(fn, args, frame)
            if refusal is not None:
                raise CALL_REFUSED(
                    name=impure.name_of(fn),
                    reason=refusal[0],
                    hint_text=refusal[1],
                    location=traced.location(),
                )
            if kind is BuiltinFunctionType and impure.name_of(fn) in tables.SKIPPED:
                return self._skipped(impure.name_of(fn), fn, args, kwargs)
            asked = impure.asked(fn)
            if asked is not None:
                self.ambient.before(asked, fn, args, kwargs)
            if kind is BuiltinFunctionType and fn.__name__ in LISTING:
                self.origins.listed(fn.__self__)
            elif fn is dir and args:
                self.seen.want(args[0] if inherits(type(args[0]), type) else type(args[0]), ALL)
            for array in changed_by_numpy(fn, args, kwargs):
                self.transaction.write("content", array, None)
        symbolic = tables.SYMBOLIC.get(fn) if kind is BuiltinFunctionType or kind is type else None
        if symbolic is not None and len(args) == 1 and not kwargs:
            result = self._number(symbolic, args[0])
        else:
            self._refuse_finalizer(fn, args)
            whole.look(self.load_attr, fn, args, kwargs)
            result = self._watched(fn, args, kwargs)
        if asked is not None:
            self.ambient.after(asked, fn, args, kwargs, result)
        self.transaction.made(result)
        if fn is FunctionType:
            self.transaction.mark(result)
        if fn is builtins.__import__:
            place_import(self.origins, result, args[0])
        return result

    def _refuse_compiled(self, fn: Any, args: tuple[Any, ...]) -> None:
        """Functions and methods that Cython made (NumPy's random numbers)."""
        module = type(args[0]).__module__ if args and fn.__module__ is None else str(fn.__module__)
        why = impure.module_reason(module)
        if why is not None:
            raise CALL_REFUSED(
                name=f"{module}.{fn.__name__}", reason=why[0], hint_text=why[1], location=traced.location()
            )

    def _number(self, function: Any, value: Any) -> Any:
        """``int``, ``float`` and their kin of a symbolic number, or of a tensor through ``item``; ``len`` of a tensor."""
        if function is len:
            self.met_whole(len, (value,))
            self.origins.listed(value)
            return value.shape[0] if is_fake(value) and value.meta.shape else len(value)
        if is_fake(value) or self.tracer.library.is_tensor(value):
            value = value.item()
        if isinstance(value, tables.NUMBERS):
            return function(value)
        plain = function
        for name, wrapped in tables.SYMBOLIC.items():
            if wrapped is function:
                plain = name
        return self._watched(plain, (value,), {})

    def _refusal(self, fn: Any, args: tuple[Any, ...], frame: Frame) -> tuple[str, str] | None:
        if fn is id:
            # Library code (copy, reprlib) keeps addresses only as keys of its own memory.
            code = frame.code
            user = code is None or not places.is_library_file(code.code.co_filename)
            return tables.IDENTITY if user else None
        if fn is _GET_IDENT:  # the same
            code = frame.code
            if code is not None and places.is_library_file(code.code.co_filename):
                return None
        if fn is _REGISTER and args and not self._is_ours_to_extend(args[0]):
            return tables.REGISTERS
        if fn is next and args and self.origins.is_outside(args[0]):
            raise ITERATOR_OUTSIDE(type=type(args[0]).__name__, location=traced.location())
        owner = args[0] if args and type(fn) in _UNBOUND else impure.bound_to(fn)
        if is_native_iterator(type(owner)) and self.origins.is_outside(owner):
            raise ITERATOR_OUTSIDE(type=type(owner).__name__, location=traced.location())
        if type(owner) in _BUFFERS and not self.origins.is_outside(owner):
            return None
        if inherits(type(owner), np.ndarray) and fn.__name__ in modules.OF_ARRAYS:
            return modules.OF_ARRAYS[fn.__name__]
        if self.origins.is_outside(owner) and modules.is_stream(impure.module_of(fn)):
            return modules.STREAM
        return impure.refusal(fn)

    def _is_ours_to_extend(self, cls: type) -> bool:
        """Whether forward made an abstract class and all that it inherits from: what is registered with others stays registered."""
        made = (each for each in mro_of(cls) if type(each) is not type and each is not abc.ABC)
        return all(map(self.transaction.is_fresh, made))

    def _way_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        way: WayOut = args[0]
        self.transaction.note("call", way.function.__qualname__, "burned in" if way.bake else "called")
        return way.function(*args[1:], **kwargs)

    def _burned_in(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function that ``torch.compiler.assume_constant_result`` marks."""
        self.transaction.note("call", fn.__qualname__, "burned in")
        return fn(*args, **kwargs)

    # --- identity and class

    def _class_of(self, value: Any, frame: Frame) -> type:
        if is_fake(value):
            # What libraries ask (copy, say), they ask of any tensor alike.
            file = "" if frame.code is None else frame.code.code.co_filename
            if file.endswith("/copy.py"):  # which looks for a way of copying: ours
                return type(value)
            asked = value.kind == "input" and not places.is_library_file(file)
            return self.tracer.class_of(value) if asked else value.library_class
        return _CLASSES.get(type(value)) or type(value)

    def identical(self, value: Any, other: Any) -> bool:
        if value is other:
            return True
        if is_fake(value):
            return is_fake(other) and self.tracer.identical(value, other)
        if self.tracer.library.is_tensor(value) and other is not None:
            for each in (value, other):
                if (origin := self.origins.of(each)) is not None:
                    self.origins.assume_object(origin)
        if isinstance(value, SymBool):  # True and False are one object each
            return (type(other) is bool or type(other) is SymBool) and bool(value) is bool(other)
        if isinstance(value, SymInt) and (type(other) is int or type(other) is SymInt):
            return bool(value == other) and bool(value >= _SMALL[0]) and bool(value <= _SMALL[1])
        return False

    # --- writes

    def before_write(self, kind: str, obj: Any, key: Any) -> None:
        # an exception that forward made may leave it, with its traceback
        if kind != "content" or not inherits(type(obj), BaseException) or self.origins.is_outside(obj):
            self.transaction.write(kind, obj, key)

    def made(self, value: Any) -> None:
        if type(value) is FunctionType or issubclass(type(value), type):
            self.transaction.mark(value)
        else:
            self.transaction.made(value)


def _is_weakref_code(callback: FunctionType) -> bool:
    """Callbacks of weak dictionaries and sets: they only drop the dead entry of their own table."""
    return callback.__code__.co_filename.endswith(tuple(tables.WEAK_TABLES))
