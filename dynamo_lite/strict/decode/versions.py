"""Behaviour outside the bytecode that differs between CPython versions."""

from __future__ import annotations

import sys
from typing import Final

# an error in __set_name__ is wrapped in a RuntimeError (later: it gets a note)
SET_NAME_WRAPS: Final = sys.version_info < (3, 12)
# exec and eval take globals and locals by keyword
EXEC_TAKES_KEYWORDS: Final = sys.version_info >= (3, 13)
