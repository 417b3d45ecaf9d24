"""Rules that read the same in every version, and makers of rules."""

from __future__ import annotations

from typing import Final

from dynamo_lite.strict.decode.scan import Rule, Scan


def skip(scan: Scan, arg: int) -> None:
    """For what only matters to CPython's own loop."""


def plain(op: str) -> Rule:
    """The instruction without an argument."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(op)

    return rule


def number(op: str) -> Rule:
    """The instruction with the argument as it stands."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(op, arg)

    return rule


def name(op: str) -> Rule:
    """The instruction with a name."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(op, scan.names[arg])

    return rule


def forward(op: str) -> Rule:
    """A jump forward from the next instruction."""

    def rule(scan: Scan, arg: int) -> None:
        scan.jump(op, scan.next_offset + 2 * arg)

    return rule


def backward(op: str) -> Rule:
    """A jump back from the next instruction."""

    def rule(scan: Scan, arg: int) -> None:
        scan.jump(op, scan.next_offset - 2 * arg)

    return rule


def constant(scan: Scan, arg: int) -> None:
    scan.emit("load_const", scan.consts[arg])


def pair(first: str, second: str) -> Rule:
    """Two instructions in one, their slots in one argument (3.13)."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(first, arg >> 4)
        scan.emit(second, arg & 15)

    return rule


def either(zero: str, one: str) -> Rule:
    """The argument chooses between two instructions."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit(one if arg else zero)

    return rule


def unreachable(opname: str) -> Rule:
    """An opcode that the compiler never leaves in a code object."""

    def rule(scan: Scan, arg: int) -> None:
        scan.emit("unreachable", opname)

    return rule


def returned(scan: Scan, arg: int) -> None:
    scan.emit("generator_return" if scan.suspendable else "return_value")


def return_const(scan: Scan, arg: int) -> None:
    scan.emit("generator_return_const" if scan.suspendable else "return_const", scan.consts[arg])


def unpack_ex(scan: Scan, arg: int) -> None:
    scan.emit("unpack_ex", (arg & 255, arg >> 8))


def wrap_async_yield(scan: Scan) -> None:
    """The next yield is one of the asynchronous generator, not of something it awaits."""
    scan.async_yield = True


def yielded(scan: Scan, arg: int) -> None:
    """A yield is the generator's own, an asynchronous generator's, or a step of a delegation (just after a send)."""
    last = scan.last()
    if scan.async_yield:
        scan.async_yield = False
        scan.emit("yield_async")
    elif last is not None and last[0] == "send":
        scan.emit("yield_sub", None)
    elif last is not None and last[0] == "send_pop":
        scan.jump("yield_sub", last[1])
    else:
        scan.emit("yield_value")


SHARED: Final[dict[str, Rule]] = {
    "POP_TOP": plain("pop_top"),
    "NOP": skip,
    "RESUME": skip,
    "UNARY_NEGATIVE": plain("unary_negative"),
    "UNARY_NOT": plain("unary_not"),
    "UNARY_INVERT": plain("unary_invert"),
    "BINARY_SUBSCR": plain("binary_subscr"),
    "STORE_SUBSCR": plain("store_subscr"),
    "DELETE_SUBSCR": plain("delete_subscr"),
    "GET_LEN": plain("get_len"),
    "MATCH_MAPPING": plain("match_mapping"),
    "MATCH_SEQUENCE": plain("match_sequence"),
    "MATCH_KEYS": plain("match_keys"),
    "MATCH_CLASS": number("match_class"),
    "PUSH_EXC_INFO": plain("push_exc_info"),
    "CHECK_EXC_MATCH": plain("check_exc_match"),
    "CHECK_EG_MATCH": plain("check_eg_match"),
    "WITH_EXCEPT_START": plain("with_except_start"),
    "GET_AITER": plain("get_aiter"),
    "GET_ANEXT": plain("get_anext"),
    "BEFORE_ASYNC_WITH": plain("before_async_with"),
    "BEFORE_WITH": plain("before_with"),
    "END_ASYNC_FOR": plain("end_async_for"),
    "GET_ITER": plain("get_iter"),
    "GET_YIELD_FROM_ITER": plain("get_yield_from_iter"),
    "LOAD_BUILD_CLASS": plain("load_build_class"),
    "LOAD_ASSERTION_ERROR": plain("load_assertion_error"),
    "RETURN_GENERATOR": plain("return_generator"),
    "RETURN_VALUE": returned,
    "SETUP_ANNOTATIONS": plain("setup_annotations"),
    "YIELD_VALUE": yielded,
    "POP_EXCEPT": plain("pop_except"),
    "STORE_NAME": name("store_name"),
    "DELETE_NAME": name("delete_name"),
    "UNPACK_SEQUENCE": number("unpack_sequence"),
    "UNPACK_EX": unpack_ex,
    "STORE_ATTR": name("store_attr"),
    "DELETE_ATTR": name("delete_attr"),
    "STORE_GLOBAL": name("store_global"),
    "DELETE_GLOBAL": name("delete_global"),
    "SWAP": number("swap"),
    "LOAD_CONST": constant,
    "LOAD_NAME": name("load_name"),
    "BUILD_TUPLE": number("build_tuple"),
    "BUILD_LIST": number("build_list"),
    "BUILD_SET": number("build_set"),
    "BUILD_MAP": number("build_map"),
    "BUILD_CONST_KEY_MAP": number("build_const_key_map"),
    "BUILD_STRING": number("build_string"),
    "BUILD_SLICE": number("build_slice"),
    "IMPORT_NAME": name("import_name"),
    "IMPORT_FROM": name("import_from"),
    "JUMP_FORWARD": forward("jump"),
    "JUMP_BACKWARD": backward("jump"),
    "JUMP_BACKWARD_NO_INTERRUPT": backward("jump"),
    "IS_OP": either("is_op", "is_not"),
    "CONTAINS_OP": either("contains", "not_contains"),
    "RERAISE": number("reraise"),
    "COPY": number("copy"),
    "BINARY_OP": number("binary_op"),
    "LOAD_FAST": number("load_fast"),
    "STORE_FAST": number("store_fast"),
    "DELETE_FAST": number("delete_fast"),
    "RAISE_VARARGS": number("raise"),
    "GET_AWAITABLE": number("get_awaitable"),
    "MAKE_CELL": number("make_cell"),
    "LOAD_DEREF": number("load_deref"),
    "STORE_DEREF": number("store_deref"),
    "DELETE_DEREF": number("delete_deref"),
    "COPY_FREE_VARS": number("copy_free_vars"),
    "LIST_APPEND": number("list_append"),
    "SET_ADD": number("set_add"),
    "MAP_ADD": number("map_add"),
    "LIST_EXTEND": number("list_extend"),
    "SET_UPDATE": number("set_update"),
    "DICT_MERGE": number("dict_merge"),
    "DICT_UPDATE": number("dict_update"),
}
