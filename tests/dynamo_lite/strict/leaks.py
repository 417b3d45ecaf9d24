"""A detector of Python code that runs natively behind the interpreter's back."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dynamo_lite.strict.machine.code import MACHINE_FILES, is_own


def _is_ours(frame: FrameType) -> bool:
    """Code of ours without a file; and stand-ins (traceback frames, argument checks), which hold no code of the user's."""
    if frame.f_globals.get("__name__", "").startswith("dynamo_lite.strict"):
        return True  # made for our own dataclasses
    return not frame.f_code.co_names and set(frame.f_code.co_consts) <= {None}


@contextmanager
def watched(found: list[str]) -> Iterator[None]:
    """Adds to ``found`` every Python function that the machine, or C code called by it, runs natively."""

    collectors = {code for hook in gc.callbacks if (code := getattr(hook, "__code__", None)) is not None}

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        caller = frame.f_back
        if event != "call" or caller is None or is_own(frame.f_code) or _is_ours(frame):
            return
        if (
            frame.f_code in collectors
        ):  # the collector may run anywhere, and what it calls is nobody's callback here
            return
        if caller.f_code.co_filename.startswith(MACHINE_FILES) and not frame.f_code.co_filename.startswith(
            "<frozen"
        ):
            found.append(
                f"{frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_code.co_firstlineno})"
            )

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
