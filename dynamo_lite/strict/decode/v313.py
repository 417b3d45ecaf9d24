"""CPython 3.13: what differs from 3.12."""

from __future__ import annotations

from typing import Final

from dynamo_lite.strict.decode import v312
from dynamo_lite.strict.decode.common import SHARED, number, pair, plain, unreachable
from dynamo_lite.strict.decode.scan import Rule, Scan

INTRINSICS_2: Final[dict[str, str]] = {
    **v312.INTRINSICS_2,
    "INTRINSIC_SET_TYPEPARAM_DEFAULT": "set_typeparam_default",
}


def _load_global(scan: Scan, arg: int) -> None:
    scan.emit("load_global_null_above" if arg & 1 else "load_global", scan.names[arg >> 1])


def _compare(scan: Scan, arg: int) -> None:
    scan.emit("compare_bool" if arg & 16 else "compare", arg >> 5)


def _convert(scan: Scan, arg: int) -> None:
    """CONVERT_VALUE applies the conversion alone; formatting follows as an instruction of its own."""
    scan.emit("convert_value", (None, "s", "r", "a")[arg])


def _format_simple(scan: Scan, arg: int) -> None:
    scan.emit("format_value", (None, False))


def _format_with_spec(scan: Scan, arg: int) -> None:
    scan.emit("format_value", (None, True))


def _call_ex(scan: Scan, arg: int) -> None:
    scan.emit("call_ex_null_above", bool(arg & 1))


def _make_function(scan: Scan, arg: int) -> None:
    scan.emit("make_function", 0)


OWN: Final[dict[str, Rule]] = {
    **{
        key: rule for key, rule in v312.OWN.items() if key not in ("KW_NAMES", "LOAD_CLOSURE", "FORMAT_VALUE")
    },
    "EXIT_INIT_CHECK": unreachable("EXIT_INIT_CHECK"),
    "ENTER_EXECUTOR": unreachable("ENTER_EXECUTOR"),
    "FORMAT_SIMPLE": _format_simple,
    "FORMAT_WITH_SPEC": _format_with_spec,
    "CONVERT_VALUE": _convert,
    "TO_BOOL": plain("to_bool"),
    "CALL": number("call_null_above"),
    "CALL_KW": number("call_kw_null_above"),
    "CALL_FUNCTION_EX": _call_ex,
    "CALL_INTRINSIC_2": v312.intrinsic_2(INTRINSICS_2),
    "COMPARE_OP": _compare,
    "FOR_ITER": v312.for_iter(4),
    "LOAD_ATTR": v312.load_attr("load_method_above"),
    "LOAD_GLOBAL": _load_global,
    "LOAD_SUPER_ATTR": v312.load_super_attr("load_super_method_above"),
    "LOAD_FAST_LOAD_FAST": pair("load_fast", "load_fast"),
    "STORE_FAST_LOAD_FAST": pair("store_fast", "load_fast"),
    "STORE_FAST_STORE_FAST": pair("store_fast", "store_fast"),
    "MAKE_FUNCTION": _make_function,
    "SET_FUNCTION_ATTRIBUTE": number("set_function_attribute"),
}
RULES: Final[dict[str, Rule]] = {**SHARED, **OWN}
JUMP_CACHES: Final[dict[str, int]] = {
    "FOR_ITER": 1,
    "SEND": 1,
    "JUMP_BACKWARD": 1,
    "POP_JUMP_IF_TRUE": 1,
    "POP_JUMP_IF_FALSE": 1,
    "POP_JUMP_IF_NONE": 1,
    "POP_JUMP_IF_NOT_NONE": 1,
}
