"""Behaviour outside the bytecode that differs between CPython versions."""

from __future__ import annotations

import sys
from typing import Final

# an error in __set_name__ is wrapped in a RuntimeError (later: it gets a note)
SET_NAME_WRAPS: Final = sys.version_info < (3, 12)
# what the pattern of ``case C():`` must be, as the error says it
CALLED_PATTERN_MUST_BE: Final = "type" if sys.version_info < (3, 12) else "class"
# locals() of a function is one dict for each frame, brought up to date at each call (later: a new dict at each call)
LOCALS_PERSIST: Final = sys.version_info < (3, 13)
# exec and eval take globals and locals by keyword
EXEC_TAKES_KEYWORDS: Final = sys.version_info >= (3, 13)
# a comparison whose truth decides a jump asks for it itself
COMPARISON_ASKS: Final = sys.version_info >= (3, 13)
# in f(**mapping) a KeyError that the mapping raises is taken for a key given twice (before, one of C's own, and that only where
# no exception is being handled)
KEY_ERROR_IS_GIVEN_TWICE: Final = sys.version_info >= (3, 12)
# a generator that ``for`` steps may be deeper than the recursion limit: only what it calls is counted
FOR_STEPS_UNCOUNTED: Final = sys.version_info >= (3, 13)
