"""Decoding: from CPython's bytecode to the machine's instruction set. Python versions differ here and nowhere else."""

from __future__ import annotations

import opcode
import sys
from types import CodeType
from typing import Final

from dynamo_lite.strict.decode import v311, v312, v313
from dynamo_lite.strict.decode.record import Decoded
from dynamo_lite.strict.decode.scan import Rule, close_suspendable, scan
from dynamo_lite.strict.errors import UNSUPPORTED_PYTHON

_VERSIONS: Final = {(3, 11): v311, (3, 12): v312, (3, 13): v313}
# 3.11 keeps StopIteration inside generators in C; later compilers emit the handler.
_NEEDS_CLOSING: Final = sys.version_info[:2] == (3, 11)


def _table() -> tuple[dict[int, Rule], dict[int, int]]:
    version = _VERSIONS.get(sys.version_info[:2])
    if version is None:
        raise UNSUPPORTED_PYTHON(version=".".join(map(str, sys.version_info[:2])))
    codes = opcode.opmap
    rules = {codes[name]: rule for name, rule in version.RULES.items() if name in codes}
    caches = {codes[name]: count for name, count in version.JUMP_CACHES.items()}
    return rules, caches


_RULES, _JUMP_CACHES = _table()


def decode(code: CodeType) -> Decoded:
    """Decodes a code object of the running CPython. Raises UnsupportedError for an opcode without a rule."""
    decoded = scan(code, _RULES, opcode.EXTENDED_ARG, _JUMP_CACHES)
    if _NEEDS_CLOSING and code.co_flags & 0x2A0:
        return close_suspendable(decoded)
    return decoded
