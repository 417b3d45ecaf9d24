"""What the standard library may do while tracing, as tables. ``docs/strict-policy.md`` is made from them.

What each module of C code may do stands in ``policy.modules``. Methods of builtin containers that change them are found by ``mutators.mutated``.
"""

from __future__ import annotations

import builtins
import math
import operator
import os
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

from solver.sym import SymBool, SymFloat, SymInt, sym_float, sym_int, sym_sqrt

CLOCK_METHODS: Final = frozenset({"now", "today", "utcnow"})
IDENTITY: Final = (
    "uses the address of an object as data",
    "compare objects with `is`, or number them yourself",
)

REGISTERS: Final = (
    "registers a class with an abstract class, which cannot be undone",
    "register it outside forward",
)

# --- skipped with an entry in the ledger

SKIPPED: Final = frozenset({"builtins.print", "_warnings.warn", "_warnings.warn_explicit", "warnings.warn"})
LOGGING_SKIPPED: Final = frozenset(
    {"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log", "warning_once"}
)

# --- files whose functions are called natively, so that the tables above see them before anything runs

OPAQUE_FILES: Final = frozenset(
    os.path.join(os.path.dirname(os.__file__), *name.split("/"))
    for name in (
        "random.py", "uuid.py", "secrets.py", "subprocess.py", "threading.py", "socket.py", "tempfile.py", "shutil.py",
        "logging/__init__.py", "warnings.py",
    )
)  # fmt: skip


# --- types whose values have no slots of the program's, in them or below them

# By identity, as ``special_ids`` of a policy: the hash of a class may be code of its metaclass.
QUIET: Final[frozenset[int]] = frozenset(
    map(
        id,
        (
            int, float, complex, bool, str, bytes, type(None), range, type, FunctionType, BuiltinFunctionType, ModuleType,
            type(NotImplemented), type(...), CodeType, CellType,
        ),
    )
)  # fmt: skip

# --- library code that C may call unrehearsed, and weak-reference callbacks that may be made: file → why that is sound

TRUSTED: Final[dict[str, str]] = {
    "/contextlib.py": "blocks of our own functions, beneath a call of C code",
    "/torch/nn/parameter.py": "`isinstance` of a tensor: asks for its class and a mark, which a fake answers as its tensor",
}
WEAK_TABLES: Final[dict[str, str]] = {
    "/weakref.py": "only drops the dead entry from its own table, which was saved when the entry was put there",
    "/_weakrefset.py": "only drops the dead entry from its own table, which was saved when the entry was put there",
    "/torch/_dynamo/utils.py": "only drops the dead entry from its own table, which was saved when the entry was put there",
}

# --- numbers: what keeps a symbolic number symbolic where C would ask for its value


def _int(value: Any) -> Any:
    if isinstance(value, (SymInt, SymFloat)):
        return sym_int(value)
    return int(value)


def _float(value: Any) -> Any:
    if isinstance(value, (SymInt, SymFloat)):
        return sym_float(value)
    return float(value)


def _index(value: Any) -> Any:
    return value if isinstance(value, SymInt) else operator.index(value)


SYMBOLIC: Final[dict[Callable[..., Any], Callable[[Any], Any]]] = {
    builtins.int: _int,
    builtins.float: _float,
    operator.index: _index,
    builtins.len: len,
    math.sqrt: sym_sqrt,
}
NUMBERS: Final = (SymInt, SymFloat, SymBool)
