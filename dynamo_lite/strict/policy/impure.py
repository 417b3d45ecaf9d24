"""Which C functions cannot be undone or differ from run to run: strict mode refuses them, non-strict mode notes them."""

from __future__ import annotations

import threading
from typing import Any, Final

from dynamo_lite.strict.policy import tables
from fx_ir.provenance import EffectKind

LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))
LOCK_ANSWERS: Final[dict[str, Any]] = {"__enter__": True, "__exit__": None, "acquire": True, "release": None}
"""What a free lock answers. A lock keeps threads apart and changes no result, so a trace neither takes nor releases it."""


def is_lock_method(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a C function enters or leaves a lock as ``with`` does; with a timeout or without blocking it may fail."""
    if type(fn.__self__) not in LOCKS or fn.__name__ not in LOCK_ANSWERS:
        return False
    return fn.__name__ == "__exit__" or not (args or kwargs)


def module_of(fn: Any) -> str:
    """The module of a C function or of the class that its method belongs to."""
    owner = fn.__self__
    if owner is None or type(owner).__name__ == "module":
        return fn.__module__ or ""
    cls = owner if type(owner) is type else type(owner)
    return str(type.__getattribute__(cls, "__module__"))


def name_of(fn: Any) -> str:
    """``time.perf_counter``: the name in tables and messages."""
    return f"{module_of(fn)}.{fn.__name__}"


def reason(fn: Any) -> tuple[str, str] | None:
    """``(what it does, what to do instead)`` for a C function that is impure; None for others."""
    owner = fn.__self__
    if type(owner) is type and fn.__name__ in tables.CLOCK_METHODS and owner.__module__ == "datetime":
        return tables.REFUSED["time.time"]
    found = tables.REFUSED.get(name_of(fn))
    return found if found is not None else module_reason(module_of(fn))


def module_reason(module: str) -> tuple[str, str] | None:
    """The same for everything in a module, or in a package that holds it."""
    while module:
        found = tables.REFUSED_MODULES.get(module)
        if found is not None:
            return found
        module = module.rpartition(".")[0]
    return None


def kind_of(why: tuple[str, str]) -> EffectKind:
    """The ledger's word for what a function does."""
    if "random" in why[0] or "identifier" in why[0]:
        return "random"
    return "clock" if "clock" in why[0] else "other"
