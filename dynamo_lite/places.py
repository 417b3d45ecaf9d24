"""Which code is the user's: locations in error messages and in graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

import fx_ir
import solver
from solver.errors import ExportError, Location

_HERE: Final = Path(__file__).resolve().parent
_PACKAGES: Final = (
    _HERE,
    *(Path(entry).resolve() for package in (fx_ir, solver) for entry in package.__path__),
)
_OURS: Final = (*(f"{path}/" for path in _PACKAGES), "<contract: ")  # code that a contract is compiled to
# Python that runs like the user's, but is not where a user looks: bodies of library modules and functionals, what calls the user's functions.
INTERPRETED: Final = (
    *(f"{_HERE}/torchlite/{name}" for name in ("nn/", "decorated.py", "utils/_pytree.py")),
    *(f"{path}/pytree{name}" for path in fx_ir.__path__ for name in (".py", "_registry.py")),
)
_LIBRARY_PARTS: Final = ("/site-packages/torch/", "/lib/python3")
_CAPTURE: Final = str(_HERE / "capture.py")
_OVERRIDES: Final = "/torch/overrides.py"  # it hands functions on to modes, in a block that catches nothing
_MODULE_OF: Final = type.__dict__["__module__"].__get__
_ours_cache: dict[str, bool] = {}
_library_cache: dict[str, bool] = {}


def is_our_file(file: str) -> bool:
    """True for files of these packages."""
    known = _ours_cache.get(file)
    if known is None:
        known = _ours_cache[file] = file.startswith(_OURS)
    return known


def is_ours(code: CodeType) -> bool:
    """True for code of these packages."""
    return is_our_file(code.co_filename)


def is_our_class(cls: type) -> bool:
    """True for classes of these packages. Nothing of a metaclass runs."""
    name = _MODULE_OF(cls)
    module = sys.modules.get(name) if type(name) is str else None
    return is_our_file(getattr(module, "__file__", None) or "")


def is_opaque(code: CodeType) -> bool:
    """True for code of ours that the strict interpreter calls natively: nearly all."""
    file = code.co_filename
    return is_our_file(file) and not file.startswith(INTERPRETED)


def is_library_file(file: str) -> bool:
    """True for code where no user looks: ours, PyTorch's, the standard library's."""
    known = _library_cache.get(file)
    if known is None:
        third_party = "/site-packages/" in file and "/site-packages/torch/" not in file
        known = (
            is_our_file(file)
            or file.startswith("<frozen")
            or (not third_party and any(part in file for part in _LIBRARY_PARTS))
        )
        _library_cache[file] = known
    return known


def native_location() -> Location | None:
    """The innermost frame of the running thread that is the user's; inside a model that is all library, the library's."""
    frame: FrameType | None = sys._getframe(1)
    inner: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        known = _library_cache.get(file)
        if not (is_library_file(file) if known is None else known):
            return Location(file, frame.f_lineno, code.co_qualname)
        if file == _CAPTURE and code.co_name == "_program":  # what called export is no part of the model
            break
        if inner is None and not is_our_file(file):
            inner = frame
        frame = frame.f_back
    if inner is None:
        return None
    return Location(inner.f_code.co_filename, inner.f_lineno, inner.f_code.co_qualname)


def native_places() -> Iterator[tuple[CodeType, int, dict[str, Any]]]:
    """The functions of the model that run, innermost first: code, byte offset of the running instruction, globals."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_program" and code.co_filename == _CAPTURE:
            return
        passes_on = code.co_name == "handle_torch_function" and code.co_filename.endswith(_OVERRIDES)
        if not (is_opaque(code) or passes_on):
            yield code, frame.f_lasti, frame.f_globals
        frame = frame.f_back


def in_front(entry: TracebackType, following: TracebackType | None) -> TracebackType:
    """A copy of a traceback's entry, with others behind it. Of a generator that has not begun there may be no line."""
    line: int | None = entry.tb_lineno
    return TracebackType(following, entry.tb_frame, entry.tb_lasti, -1 if line is None else line)


def only_user_frames(error: BaseException) -> None:
    """Drops our own frames from an exception's traceback, for a function that then re-raises with a bare ``raise``.

    (CPython adds no entry for a frame that re-raises, so nothing of ours is left.)
    """
    if isinstance(error, ExportError):
        error.__suppress_context__ = True
    kept: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        if not is_our_file(entry.tb_frame.f_code.co_filename):
            kept.append(entry)
        entry = entry.tb_next
    following: TracebackType | None = None
    for entry in reversed(kept):
        following = in_front(entry, following)
    error.__traceback__ = following
