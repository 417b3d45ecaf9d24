"""Every module of C code in the standard library, by what its functions do while tracing.

A name is that of the module that C functions and classes give as their own (``__module__``); functions that differ from
their module are named one by one. Python modules are interpreted: what they do is what these functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Reason = tuple[str, str]

_OUTSIDE: Final = "do it outside forward"
_INPUT: Final = "pass the value as an input"
FILES: Final[Reason] = ("reads or writes files", "read the data outside forward and pass it as an input")
CLOCK: Final[Reason] = ("reads a clock", "read it outside forward and pass it as an input")
RANDOM: Final[Reason] = (
    "draws random numbers outside the tensor library",
    "draw with torch.rand and its kin, or pass the value as an input",
)
NETWORK: Final[Reason] = ("opens a connection", _OUTSIDE)
PROCESS: Final[Reason] = ("starts a process", _OUTSIDE)
THREADS: Final[Reason] = ("starts or synchronises threads", _OUTSIDE)
MACHINE: Final[Reason] = ("calls machine code", "wrap it as an operator with library.custom_op")
TERMINAL: Final[Reason] = ("uses the terminal", _OUTSIDE)
STATE: Final[Reason] = ("reads or changes state of the process", _OUTSIDE)
SYSTEM: Final[Reason] = ("asks the operating system", _INPUT)
MEMORY: Final[Reason] = (
    "looks at the interpreter's memory, which is not the program's while tracing",
    _OUTSIDE,
)
FILTERED: Final[Reason] = (
    "is an error by a filter for some places in the code alone",
    "filter warnings by category or message",
)
OF_ARRAYS: Final[dict[str, Reason]] = dict.fromkeys(
    ("resize", "setflags"), ("changes an array in a way that cannot be put back", "make a new array")
)
DATABASE: Final[Reason] = ("uses a database", "read the data outside forward and pass it as an input")
STREAM: Final[Reason] = (
    "advances an object of C code that cannot be put back",
    "use a function that does it at once",
)
UNKNOWN: Final[Reason] = (
    "is C code that strict mode does not know",
    "wrap it as an operator with library.custom_op, or, where it only computes from its arguments, say so by "
    "dynamo_lite.strict.policy.modules.register_pure_module(name of its module)",
)

# --- what only computes from its arguments, or changes those (see ``strict.mutators``)

PURE: Final = frozenset(
    {
        "_abc", "_ast", "_bisect", "_codecs", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp",
        "_codecs_kr", "_codecs_tw", "_collections", "_collections_abc", "_contextvars", "_crypt", "_decimal",
        "_functools", "_heapq", "_json", "_multibytecodec", "_opcode", "_operator", "_sre", "_stat",
        "_statistics", "_string", "_struct", "_suggestions", "_symtable", "_tokenize", "_typing", "_warnings",
        "_weakref", "abc", "array", "ast", "audioop", "binascii", "builtins", "cmath", "codecs",
        "collections", "collections.abc", "contextlib", "contextvars", "copy", "datetime", "decimal",
        "functools", "graphlib", "ipaddress", "itertools", "marshal", "math", "numbers", "operator", "os",
        "re", "string", "struct", "types", "typing", "unicodedata", "weakref", "zoneinfo",
    }
)  # fmt: skip
# instances of these hold state that no one can save: hashes, compressors, parsers
STREAMS: Final = frozenset(
    {
        "_blake2", "_bz2", "_csv", "_elementtree", "_hashlib", "_lzma", "_md5", "_pickle", "_sha1", "_sha2",
        "_sha256", "_sha3", "_sha512", "pickle", "pyexpat", "xml.etree.ElementTree", "xml.parsers.expat",
        "zlib",
    }
)  # fmt: skip
# --- refused

REFUSED_MODULES: Final[dict[str, Reason]] = {
    **dict.fromkeys(("random", "_random", "secrets", "numpy.random"), RANDOM),
    **dict.fromkeys(
        ("uuid", "_uuid"), ("makes an identifier that differs from run to run", "pass it as an input")
    ),
    **dict.fromkeys(("socket", "_socket", "_ssl", "ssl", "select", "nis", "_tkinter"), NETWORK),
    **dict.fromkeys(("subprocess", "_posixsubprocess", "_multiprocessing", "_posixshmem"), PROCESS),
    **dict.fromkeys(
        ("threading", "_thread", "_asyncio", "_interpreters", "_interpchannels", "_interpqueues"), THREADS
    ),
    **dict.fromkeys(("_xxsubinterpreters", "_xxinterpchannels", "queue", "_queue", "interpreters"), THREADS),
    **dict.fromkeys(
        ("tempfile", "shutil", "_io", "io", "fcntl", "mmap", "_gdbm", "_dbm", "zipimport", "_overlapped"),
        FILES,
    ),
    **dict.fromkeys(("ctypes", "_ctypes", "ctypes._endian"), MACHINE),
    **dict.fromkeys(
        ("_curses", "_curses_panel", "curses", "readline", "termios", "syslog", "ossaudiodev"), TERMINAL
    ),
    **dict.fromkeys(("_sqlite3", "sqlite3"), DATABASE),
    **dict.fromkeys(
        ("gc", "_tracemalloc", "_lsprof", "faulthandler", "_testinternalcapi", "_sysconfig"), MEMORY
    ),
    **dict.fromkeys(
        ("_signal", "signal", "atexit", "_imp", "_locale", "locale", "sys", "sys.monitoring"), STATE
    ),
    **dict.fromkeys(("_frozen_importlib", "_frozen_importlib_external", "_pyrepl", "monitoring"), STATE),
    **dict.fromkeys(
        ("grp", "pwd", "spwd", "resource", "posix", "nt", "_scproxy", "_winapi", "winreg"), SYSTEM
    ),
}
_PURE_SYS: Final = (
    "exc_info exception intern getsizeof getdefaultencoding getfilesystemencoding getfilesystemencodeerrors is_finalizing"
    " getrecursionlimit _getframe _getframemodulename get_int_max_str_digits _is_interned _is_gil_enabled audit"
)
_PURE_POSIX: Final = (
    "fspath _path_normpath _path_splitroot _path_splitroot_ex WCOREDUMP WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED"
    " WSTOPSIG WTERMSIG major minor makedev"
)
_CLOCKS: Final = (
    "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time process_time_ns thread_time thread_time_ns"
    " localtime gmtime ctime asctime mktime sleep clock_gettime clock_gettime_ns clock_settime clock_settime_ns clock_getres"
    " pthread_getcpuclockid tzset get_clock_info"
)


def _each(module: str, names: str, value: Reason | None) -> dict[str, Reason | None]:
    return {f"{module}.{name}": value for name in names.split()}


# --- functions that differ from their module; None: they compute

FUNCTIONS: Final[dict[str, Reason | None]] = {
    **_each("sys", _PURE_SYS, None),
    "sys.getsizeof": MEMORY,
    "sys.audit": STATE,
    **_each("posix", _PURE_POSIX, None),
    **_each("posix", "urandom getrandom", ("draws random numbers", _INPUT)),
    **_each("posix", "system fork forkpty execv execve posix_spawn posix_spawnp", PROCESS),
    **_each("posix", "open remove unlink mkdir rename rmdir read write listdir scandir stat lstat", FILES),
    **_each("posix", "getpid getppid", ("differs from run to run", _INPUT)),
    **_each("time", _CLOCKS, CLOCK),
    **_each("time", "strftime strptime struct_time", None),
    **_each("builtins", "open", FILES),
    **_each("io", "open open_code", FILES),
    **_each("_io", "text_encoding", None),
    "builtins.input": ("asks the user", _INPUT),
    "builtins.breakpoint": ("stops for a debugger", "debug the model eagerly"),
    "builtins.hash": None,
    **_each("_weakref", "getweakrefcount getweakrefs proxy", MEMORY),
    **_each("_warnings", "_filters_mutated _filters_mutated_lock_held _acquire_lock _release_lock", None),
    **_each("_codecs", "register register_error unregister _unregister_error", STATE),
    **_each("_pickle", "dump load", FILES),
    **_each("marshal", "dump load", FILES),
    **_each("_struct", "_clearcache", STATE),
    **_each("_opcode", "get_specialization_stats", MEMORY),
    **_each(  # error handlers, which name no module
        "",
        "strict_errors ignore_errors replace_errors xmlcharrefreplace_errors backslashreplace_errors namereplace_errors",
        None,
    ),
    **_each("functools", "cache_clear", STATE),
    **_each("functools", "cache_info", MEMORY),
    **_each("_csv", "field_size_limit register_dialect unregister_dialect", STATE),
    **_each("_thread", "get_ident get_native_id", SYSTEM),
    **_each("_thread", "_local RLock lock", None),  # made and left alone: see ``impure.LOCK_ANSWERS``
    **_each("_io", "StringIO BytesIO", None),
    **_each("gc", "is_tracked is_finalized isenabled get_threshold get_debug", MEMORY),
}
# whole packages whose C code is known: their functions compute; what draws, writes or takes tensors is met on the way
KNOWN_PACKAGES: Final = frozenset({"dynamo_lite", "fx_ir", "numpy", "solver", "torch"})
_registered: Final[set[str]] = set()
# called when what is said of modules changes
ON_CHANGE: Final[list[Callable[[], None]]] = []


def register_pure_module(name: str) -> None:
    """Declares that the C functions of a module (and of those below it) compute from their arguments and change nothing else."""
    _registered.add(name)
    for forget in ON_CHANGE:
        forget()


def is_stream(module: str) -> bool:
    """Whether objects of the module's classes hold state that nobody can save."""
    return module in STREAMS


def classify(module: str, name: str) -> Reason | None:
    """Why a C function or class is refused; None where it may be called.

    A module that no table names is unknown, and so is what it does.
    """
    found = FUNCTIONS.get(f"{module}.{name}", _ABSENT)
    if found is not _ABSENT:
        return found  # type: ignore[return-value]
    outer = module
    while outer:
        refused = REFUSED_MODULES.get(outer)
        if refused is not None:
            return refused
        if outer in PURE or outer in STREAMS or outer in KNOWN_PACKAGES or outer in _registered:
            return None
        if outer == "time":
            return CLOCK
        outer = outer.rpartition(".")[0]
    return UNKNOWN


_ABSENT: Final = object()
