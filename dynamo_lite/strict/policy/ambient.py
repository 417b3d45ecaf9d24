"""State of the process that C code reads unseen: the decimal context, NumPy's handling of errors, limits, the time zone, filters of warnings.

A subsystem is *touched* where C code of it is called, or one of its objects is read: from then on its state is a
condition of the program. What other C functions tell of the process is asked again at each call of a live program.
"""

from __future__ import annotations

import codecs
import decimal
import os
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

import numpy as np

from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.slots import inherits
from dynamo_lite.strict.policy import modules
from dynamo_lite.strict.policy.contents import is_frozen
from dynamo_lite.strict.policy.errors import CALL_REFUSED
from dynamo_lite.trace.settings import Settings
from dynamo_lite.trace.states import (
    DECIMAL,
    NUMPY,
    NUMPY_STATE,
    NUMPY_TEXT,
    STATES,
    numpy_state,
    raising_filters,
)
from fx_ir.plain import is_plain
from solver.errors import Location

_OF_MODULES: Final = {"decimal": DECIMAL, "_decimal": DECIMAL, "numpy": NUMPY}
_OF_FUNCTIONS: Final = {"numpy._core._multiarray_umath._get_extobj_dict": NUMPY_STATE}
_OF_CLASSES: Final = (
    (decimal.Decimal, DECIMAL),
    (decimal.Context, DECIMAL),
    (np.ndarray, NUMPY),
    (np.generic, NUMPY),
)
_TOGETHER: Final = {NUMPY: (NUMPY, NUMPY_TEXT), NUMPY_STATE: (NUMPY_STATE, NUMPY)}

# --- C functions that tell a state of the process: they are asked again

_DIGITS: Final = sys.int_info.str_digits_check_threshold
_BITS: Final = 3 * _DIGITS  # fewer bits are fewer digits
AGAIN: Final = "again"
CONTEXT: Final = "context"
CODEC: Final = "codec"
_ERRORS: Final = frozenset(
    {
        "strict",
        "ignore",
        "replace",
        "xmlcharrefreplace",
        "backslashreplace",
        "namereplace",
        "surrogateescape",
        "surrogatepass",
    }
)
_MARKS: Final = {"_contextvars.copy_context": CONTEXT, "builtins.encode": CODEC, "builtins.decode": CODEC}
ASKED_AGAIN: Final = frozenset(
    {
        "sys.getrecursionlimit", "sys.get_int_max_str_digits", "time.strftime", "datetime.timestamp",
        "datetime.astimezone", "_csv.list_dialects", "_csv.get_dialect", "_codecs.lookup_error",
        "torch.get_autocast_dtype", "torch._C.initial_seed",
    }
)  # fmt: skip


def asked_by(name: str) -> str | None:
    """What a C function asks of the process: a subsystem, or :data:`AGAIN`; by its name with that of its module."""
    if name in ASKED_AGAIN:
        return AGAIN
    return _MARKS.get(name) or _OF_FUNCTIONS.get(name) or _OF_MODULES.get(name.partition(".")[0])


class Ambient:
    """What one capture has asked of the process around it."""

    def __init__(
        self,
        settings: Settings,
        locate: Callable[[], Location | None],
        root: Callable[[str, Any], object],
    ) -> None:
        self._settings = settings
        self._root = root
        self._locate = locate
        self._of_class: dict[int, tuple[type, str | None]] = {}
        self._first: dict[str, Any] = {}
        self._held: list[Any] = []
        whole = partial(settings.environment, locate)
        self.wholes: dict[int, Callable[[], None]] = {id(os.environ): whole, id(os.environb): whole}
        """What is to be told of an object that C reads whole, by the object's identity."""

    def touch(self, state: str) -> None:
        """A subsystem takes part. Its state is that of the first time: what forward changes itself comes later."""
        for each in _TOGETHER.get(state, (state,)):
            if each not in self._first and each != NUMPY_STATE:
                self._first[each] = value = STATES[each]()
                if each == NUMPY:
                    self._first[NUMPY_STATE] = numpy_state()
                self._settings.note(each, STATES[each], value, self._locate)
        if state == NUMPY_STATE:
            self._settings.note(state, numpy_state, self._first[state], self._locate)

    def met(self, cls: type) -> None:
        """An object from outside was read: C may do with it what depends on its subsystem."""
        known = self._of_class.get(id(cls))
        if known is None:
            state = next((state for base, state in _OF_CLASSES if inherits(cls, base)), None)
            known = self._of_class[id(cls)] = cls, state
        if known[1] is not None and known[1] not in self._first:
            self.touch(known[1])

    def before(self, asked: str, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A C function that asks is about to be called."""
        if asked in STATES:
            self.touch(asked)
        elif asked == CODEC:
            errors = args[1] if len(args) > 1 else kwargs.get("errors")
            if type(errors) is str and errors not in _ERRORS:
                tell = partial(codecs.lookup_error, errors)
                self._settings.note(f"codecs.lookup_error({errors!r})", tell, tell(), self._locate)
        elif fn.__name__ == "strftime" and len(args) < 2 and type(fn.__self__) is not datetime:
            why = modules.CLOCK
            raise CALL_REFUSED(
                name="time.strftime", reason=why[0], hint_text=why[1], location=traced.location()
            )

    def after(
        self, asked: str, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """A C function has told something of the process: it will be asked again."""
        if asked == CONTEXT:
            self._held.append(result)
            self.wholes[id(result)] = self._refuse_context
        if asked != AGAIN:
            return
        owner = fn.__self__
        if type(owner) is datetime and owner.tzinfo is not None and (args or fn.__name__ == "timestamp"):
            return
        given = (*args, *kwargs.values())
        if not all(map(is_frozen, given)):
            why = modules.STATE
            raise CALL_REFUSED(
                name=fn.__qualname__, reason=why[0], hint_text=why[1], location=traced.location()
            )
        before = f"{fn.__module__ or repr(owner)}."
        shown = f"{before}{fn.__name__}({', '.join(map(repr, given))})"
        self._settings.note(shown, partial(fn, *args, **kwargs), result, self._locate)

    def told(self, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """A C function that may tell something of the process: asked again if it was given and gave plain values."""
        if is_frozen(result) and all(map(is_frozen, (*args, *kwargs.values()))):
            self.after(AGAIN, fn, args, kwargs, result)

    def digits(self, value: Any) -> None:
        """A number of many digits becomes text, or the other way about: there is a limit to that."""
        long = (
            value.bit_length() > _BITS
            if type(value) is int
            else type(value) in (str, bytes) and len(value) > _DIGITS
        )
        if long:
            self.after(AGAIN, sys.get_int_max_str_digits, (), {}, sys.get_int_max_str_digits())

    def _refuse_context(self) -> None:
        why = modules.STATE
        raise CALL_REFUSED(
            name="contextvars.Context, read whole,",
            reason=why[0],
            hint_text="read the variables one by one",
            location=traced.location(),
        )

    # --- output, which is skipped

    def logger(self, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """``logging`` has answered a question: it will be asked again."""
        shown = ", ".join(
            repr(value) if type(value) in (str, int) else str(getattr(value, "name", type(value).__name__))
            for value in (*args, *kwargs.values())
        )
        path = f"logging.{fn.__qualname__}({shown})"
        self._settings.note(path, partial(fn, *args, **kwargs), result, self._locate)
        if not is_plain(result):
            self._root(path, result)

    def warning(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a warning is an error by the filters that there are; that it stays what it is, is a condition."""
        given = dict(zip(("message", "category"), args, strict=False)) | dict(kwargs)
        message, category = given.get("message"), given.get("category")
        kind = type(message) if inherits(type(message), Warning) else category or UserWarning
        if not issubclass(type(kind), type):
            return False
        tell = partial(raising_filters, kind, str(message))
        value = tell()
        self._settings.note(
            f"the filters of warnings for {kind.__name__} {str(message)!r}", tell, value, self._locate
        )
        if not value:
            return False
        if value[0] != ("error", None, 0):
            why = modules.FILTERED
            raise CALL_REFUSED(
                name="warnings.warn", reason=why[0], hint_text=why[1], location=traced.location()
            )
        return True


LOGGING_ASKED: Final = frozenset(
    {
        "isEnabledFor", "getEffectiveLevel", "hasHandlers", "getLevelName", "getLogger", "getChild", "getLoggerClass",
        "getLogRecordFactory", "getLevelNamesMapping", "getHandlerNames", "getHandlerByName",
    }
)  # fmt: skip
