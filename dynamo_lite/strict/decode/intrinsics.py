"""CPython's intrinsics called as functions: what the compiler asks for and Python code cannot name (3.12 and later)."""

from __future__ import annotations

from opcode import opmap
from types import CodeType, FunctionType
from typing import Any

from dynamo_lite.strict.decode import v312, v313

_CODES: dict[str, CodeType] = {}


def _template(first: Any, second: Any) -> Any:
    return first


def _code(name: str) -> CodeType:
    known = _CODES.get(name)
    if known is None:
        if name in v312.INTRINSICS_1:
            count, opcode, index = 1, "CALL_INTRINSIC_1", list(v312.INTRINSICS_1).index(name)
        else:
            count, opcode, index = 2, "CALL_INTRINSIC_2", list(v313.INTRINSICS_2).index(name)
        body = [(opmap["RESUME"], 0), *((opmap["LOAD_FAST"], slot) for slot in range(count))]
        body += [(opmap[opcode], index), (opmap["RETURN_VALUE"], 0)]
        flat = bytes(byte for pair in body for byte in pair)
        known = _CODES[name] = _template.__code__.replace(co_code=flat, co_stacksize=3, co_name=name.lower())
    return known


def call_intrinsic(name: str, namespace: dict[str, Any], first: Any, second: Any = None) -> Any:
    """The result of an intrinsic of the running CPython, as if called by code of the module ``namespace``."""
    return FunctionType(_code(name), namespace)(first, second)
