"""CPython 3.11: rewriting its instructions to ours."""

from __future__ import annotations

from typing import Final

from dynamo_lite.strict.decode.common import (
    SHARED,
    backward,
    forward,
    name,
    number,
    plain,
    skip,
    wrap_async_yield,
)
from dynamo_lite.strict.decode.scan import Rule, Scan


def _load_global(scan: Scan, arg: int) -> None:
    scan.emit("load_global_null_below" if arg & 1 else "load_global", scan.names[arg >> 1])


def _compare(scan: Scan, arg: int) -> None:
    scan.emit("compare", arg)


def _keyword_names(scan: Scan, arg: int) -> None:
    scan.keywords = scan.consts[arg]


def _call(scan: Scan, arg: int) -> None:
    if scan.keywords is None:
        scan.emit("call_null_below", arg)
    else:
        scan.emit("call_kw_null_below", (arg, scan.keywords))
        scan.keywords = None


def _async_gen_wrap(scan: Scan, arg: int) -> None:
    wrap_async_yield(scan)


def _format(scan: Scan, arg: int) -> None:
    scan.emit("format_value", ((None, "s", "r", "a")[arg & 3], bool(arg & 4)))


def _call_ex(scan: Scan, arg: int) -> None:
    scan.emit("call_ex_null_below", bool(arg & 1))


OWN: Final[dict[str, Rule]] = {
    "PUSH_NULL": plain("push_null"),
    "UNARY_POSITIVE": plain("unary_positive"),
    "PRINT_EXPR": plain("print_expr"),
    "LIST_TO_TUPLE": plain("list_to_tuple"),
    "IMPORT_STAR": plain("import_star"),
    "ASYNC_GEN_WRAP": _async_gen_wrap,
    "PREP_RERAISE_STAR": plain("prep_reraise_star"),
    "FOR_ITER": forward("for_iter"),
    "LOAD_ATTR": name("load_attr"),
    "LOAD_METHOD": name("load_method_below"),
    "COMPARE_OP": _compare,
    "JUMP_IF_FALSE_OR_POP": forward("jump_if_false_or_pop"),
    "JUMP_IF_TRUE_OR_POP": forward("jump_if_true_or_pop"),
    "POP_JUMP_FORWARD_IF_FALSE": forward("pop_jump_if_false"),
    "POP_JUMP_FORWARD_IF_TRUE": forward("pop_jump_if_true"),
    "POP_JUMP_FORWARD_IF_NONE": forward("pop_jump_if_none"),
    "POP_JUMP_FORWARD_IF_NOT_NONE": forward("pop_jump_if_not_none"),
    "POP_JUMP_BACKWARD_IF_FALSE": backward("pop_jump_if_false"),
    "POP_JUMP_BACKWARD_IF_TRUE": backward("pop_jump_if_true"),
    "POP_JUMP_BACKWARD_IF_NONE": backward("pop_jump_if_none"),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": backward("pop_jump_if_not_none"),
    "LOAD_GLOBAL": _load_global,
    "SEND": forward("send_pop"),
    "LOAD_CLOSURE": number("load_fast_raw"),
    "LOAD_CLASSDEREF": number("load_classderef"),
    "MAKE_FUNCTION": number("make_function"),
    "CALL_FUNCTION_EX": _call_ex,
    "PRECALL": skip,
    "KW_NAMES": _keyword_names,
    "CALL": _call,
    "FORMAT_VALUE": _format,
}
RULES: Final[dict[str, Rule]] = {**SHARED, **OWN}
JUMP_CACHES: Final[dict[str, int]] = {}
