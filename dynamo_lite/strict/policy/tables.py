"""What the standard library may do while tracing, as tables. ``docs/strict-policy.md`` is made from them.

A callable in none of the tables is *pure* where its module is one of the interpreter's own or known to be so: it is called natively.
Methods of builtin containers that change them are found by ``mutators.mutated``.
"""

from __future__ import annotations

import builtins
import math
import operator
import os
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, GeneratorType, ModuleType
from typing import Any, Final

from solver.sym import SymBool, SymFloat, SymInt, sym_float, sym_int, sym_sqrt

# --- refused: what cannot be undone or differs from run to run. By module, or by module and qualified name.

REFUSED_MODULES: Final[dict[str, tuple[str, str]]] = {
    "random": ("draws random numbers outside the tensor library", "draw with torch.rand and its kin, or pass the value as an input"),
    "_random": ("draws random numbers outside the tensor library", "draw with torch.rand and its kin, or pass the value as an input"),
    "secrets": ("draws random numbers outside the tensor library", "pass the value as an input"),
    "uuid": ("makes an identifier that differs from run to run", "pass it as an input"),
    "numpy.random": ("draws random numbers outside the tensor library", "draw with torch.rand and its kin, or pass the value as an input"),
    "socket": ("opens a connection", "do it outside forward"),
    "_socket": ("opens a connection", "do it outside forward"),
    "subprocess": ("starts a process", "do it outside forward"),
    "_posixsubprocess": ("starts a process", "do it outside forward"),
    "threading": ("starts or synchronises threads", "do it outside forward"),
    "_thread": ("starts or synchronises threads", "do it outside forward"),
    "tempfile": ("writes files", "do it outside forward"),
    "shutil": ("writes files", "do it outside forward"),
    "_io": ("reads or writes files", "read the data outside forward and pass it as an input"),
    "ctypes": ("calls machine code", "wrap it as an operator with library.custom_op"),
    "_ctypes": ("calls machine code", "wrap it as an operator with library.custom_op"),
}  # fmt: skip
_CLOCK: Final = ("reads a clock", "read it outside forward and pass it as an input")
_FILES: Final = ("reads or writes files", "read the data outside forward and pass it as an input")
REFUSED: Final[dict[str, tuple[str, str]]] = {
    **{
        f"time.{name}": _CLOCK
        for name in (
            "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
            "process_time_ns", "thread_time", "localtime", "gmtime", "ctime", "sleep",
        )
    },
    "builtins.open": _FILES,
    "_io.open": _FILES,  # what open itself is called differs between versions
    "io.open": _FILES,
    "builtins.input": ("asks the user", "pass the value as an input"),
    "builtins.breakpoint": ("stops for a debugger", "debug the model eagerly"),
    "posix.urandom": ("draws random numbers", "pass the value as an input"),
    "posix.system": ("starts a process", "do it outside forward"),
    "posix.open": _FILES,
    "posix.remove": _FILES,
    "posix.unlink": _FILES,
    "posix.mkdir": _FILES,
    "posix.getpid": ("differs from run to run", "pass the value as an input"),
}  # fmt: skip
CLOCK_METHODS: Final = frozenset({"now", "today", "utcnow"})
IDENTITY: Final = (
    "uses the address of an object as data",
    "compare objects with `is`, or number them yourself",
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

QUIET: Final[frozenset[type]] = frozenset(
    {
        int, float, complex, bool, str, bytes, type(None), range, type, FunctionType, BuiltinFunctionType, ModuleType,
        type(NotImplemented), type(...), CodeType, CellType,
    }
)  # fmt: skip

# --- library code that C may call unrehearsed, and weak-reference callbacks that may be made: file → why that is sound

TRUSTED: Final[dict[str, str]] = {
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
ITERATOR_TYPES: Final[frozenset[type]] = frozenset(
    {
        map, zip, filter, enumerate, reversed, type(iter([])), type(iter(())), type(iter({})), type(iter(set())),
        type(iter("")), type(iter(range(0))), GeneratorType,
    }
)  # fmt: skip
