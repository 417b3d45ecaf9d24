"""CPython 3.12: what differs from 3.11."""

from __future__ import annotations

from typing import Final

from dynamo_lite.strict.decode import v311
from dynamo_lite.strict.decode.common import (
    SHARED,
    forward,
    name,
    number,
    plain,
    return_const,
    unreachable,
    wrap_async_yield,
)
from dynamo_lite.strict.decode.scan import Rule, Scan

INTRINSICS_1: Final[dict[str, str]] = {
    "INTRINSIC_1_INVALID": "unreachable",
    "INTRINSIC_PRINT": "print_expr",
    "INTRINSIC_IMPORT_STAR": "import_star",
    "INTRINSIC_STOPITERATION_ERROR": "stop_iteration_error",
    "INTRINSIC_ASYNC_GEN_WRAP": "yield_async",
    "INTRINSIC_UNARY_POSITIVE": "unary_positive",
    "INTRINSIC_LIST_TO_TUPLE": "list_to_tuple",
    "INTRINSIC_TYPEVAR": "make_typevar",
    "INTRINSIC_PARAMSPEC": "make_paramspec",
    "INTRINSIC_TYPEVARTUPLE": "make_typevartuple",
    "INTRINSIC_SUBSCRIPT_GENERIC": "make_generic",
    "INTRINSIC_TYPEALIAS": "make_typealias",
}
INTRINSICS_2: Final[dict[str, str]] = {
    "INTRINSIC_2_INVALID": "unreachable",
    "INTRINSIC_PREP_RERAISE_STAR": "prep_reraise_star",
    "INTRINSIC_TYPEVAR_WITH_BOUND": "typevar_with_bound",
    "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS": "typevar_with_constraints",
    "INTRINSIC_SET_FUNCTION_TYPE_PARAMS": "set_function_type_params",
}
# These leave [None] where CPython's own instruction left nothing of its operand.
_WITH_RESULT: Final = frozenset({"print_expr", "import_star"})


def intrinsic_1(scan: Scan, arg: int) -> None:
    """CALL_INTRINSIC_1: one instruction of ours for each."""
    op = tuple(INTRINSICS_1.values())[arg]
    if op == "yield_async":
        wrap_async_yield(scan)
        return
    if op == "stop_iteration_error":
        scan.emit(op, True)
        return
    scan.emit(op, "CALL_INTRINSIC_1" if op == "unreachable" else None)
    if op in _WITH_RESULT:
        scan.emit("load_const", None)


def intrinsic_2(table: dict[str, str]) -> Rule:
    """CALL_INTRINSIC_2: one instruction of ours for each."""
    ops = tuple(table.values())

    def rule(scan: Scan, arg: int) -> None:
        op = ops[arg]
        scan.emit(op, "CALL_INTRINSIC_2" if op == "unreachable" else None)

    return rule


def for_iter(exit_size: int) -> Rule:
    """When exhausted CPython skips the clean-up instructions at the target; so does our jump."""

    def rule(scan: Scan, arg: int) -> None:
        scan.jump("for_iter", scan.next_offset + 2 * arg + exit_size)

    return rule


def load_attr(method: str) -> Rule:
    """LOAD_ATTR, whose lowest bit makes it a method load."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(method if arg & 1 else "load_attr", scan.names[arg >> 1])

    return rule


def load_super_attr(method: str) -> Rule:
    def rule(scan: Scan, arg: int) -> None:
        scan.emit(method if arg & 1 else "load_super_attr", (scan.names[arg >> 2], bool(arg & 2)))

    return rule


def _compare(scan: Scan, arg: int) -> None:
    scan.emit("compare", arg >> 4)


OWN: Final[dict[str, Rule]] = {
    **{
        key: v311.OWN[key]
        for key in (
            "PUSH_NULL",
            "LOAD_GLOBAL",
            "LOAD_CLOSURE",
            "MAKE_FUNCTION",
            "CALL_FUNCTION_EX",
            "KW_NAMES",
            "CALL",
            "FORMAT_VALUE",
        )
    },
    "INTERPRETER_EXIT": unreachable("INTERPRETER_EXIT"),
    "RESERVED": unreachable("RESERVED"),
    "END_FOR": unreachable("END_FOR"),
    "END_SEND": plain("pop_below"),
    "BINARY_SLICE": plain("binary_slice"),
    "STORE_SLICE": plain("store_slice"),
    "CLEANUP_THROW": plain("cleanup_throw"),
    "LOAD_LOCALS": plain("load_locals"),
    "FOR_ITER": for_iter(2),
    "LOAD_ATTR": load_attr("load_method_below"),
    "COMPARE_OP": _compare,
    "POP_JUMP_IF_FALSE": forward("pop_jump_if_false"),
    "POP_JUMP_IF_TRUE": forward("pop_jump_if_true"),
    "POP_JUMP_IF_NONE": forward("pop_jump_if_none"),
    "POP_JUMP_IF_NOT_NONE": forward("pop_jump_if_not_none"),
    "RETURN_CONST": return_const,
    "SEND": forward("send"),
    "LOAD_FAST_CHECK": number("load_fast"),
    "LOAD_FAST_AND_CLEAR": number("load_fast_and_clear"),
    "LOAD_SUPER_ATTR": load_super_attr("load_super_method_below"),
    "CALL_INTRINSIC_1": intrinsic_1,
    "CALL_INTRINSIC_2": intrinsic_2(INTRINSICS_2),
    "LOAD_FROM_DICT_OR_GLOBALS": name("load_from_dict_or_globals"),
    "LOAD_FROM_DICT_OR_DEREF": number("load_from_dict_or_deref"),
}
RULES: Final[dict[str, Rule]] = {**SHARED, **OWN}
JUMP_CACHES: Final[dict[str, int]] = {"FOR_ITER": 1, "SEND": 1}
