"""What tells the state of parts of Python and NumPy that C code reads unseen."""

from __future__ import annotations

import decimal
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np


def arithmetic(value: decimal.Context) -> tuple[Any, ...]:
    """Settings of a context and names of its traps. Its flags are raised by what it computes, and are no setting."""
    traps = value.traps
    on = tuple([signal.__name__ for signal in _SIGNALS if traps[signal]])
    return value.prec, value.rounding, value.Emin, value.Emax, value.capitals, value.clamp, on


_SIGNALS: Final[tuple[Any, ...]] = tuple(decimal.Context().traps)


def decimal_context() -> tuple[Any, ...]:
    """What arithmetic of decimals depends on."""
    return arithmetic(decimal.getcontext())


def numpy_errors() -> tuple[Any, ...]:
    """Which floating-point errors of NumPy's raise or call something; what the others print is no result."""
    acting = [(kind, how) for kind, how in np.geterr().items() if how in ("raise", "call", "log")]
    return (*acting, np.geterrcall()) if acting else ()


def numpy_state() -> tuple[Any, ...]:
    """All that ``np.geterr``, ``np.geterrcall`` and ``np.getbufsize`` tell."""
    return *np.geterr().items(), np.geterrcall(), np.getbufsize()


def numpy_text() -> tuple[Any, ...]:
    """How NumPy prints."""
    return tuple(np.get_printoptions().items())


DECIMAL: Final = "the decimal context"
NUMPY: Final = "NumPy's floating-point errors"
NUMPY_STATE: Final = "NumPy's error state"
NUMPY_TEXT: Final = "NumPy's print options"
STATES: Final[dict[str, Callable[[], Any]]] = {
    DECIMAL: decimal_context,
    NUMPY: numpy_errors,
    NUMPY_STATE: numpy_state,
    NUMPY_TEXT: numpy_text,
}


def raising_filters(category: type, text: str) -> tuple[Any, ...]:
    """Of the filters that a warning may meet, those that raise it: their places in the code, as filters tell them."""
    found: list[tuple[Any, ...]] = []
    filters: Iterable[Any] = (*warnings.filters, (_DEFAULT.defaultaction, None, Warning, None, 0))
    for action, message, of, module, line in filters:
        if issubclass(category, of) and (message is None or message.match(text)):
            found.append((action, getattr(module, "pattern", None), line))
            if module is None and line == 0:
                break
    return tuple(found) if any(action == "error" for action, _, _ in found) else ()


_DEFAULT: Final[Any] = warnings
