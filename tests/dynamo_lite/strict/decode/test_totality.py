"""Every opcode and intrinsic of the running CPython has a rule; every instruction of ours has a handler."""

from __future__ import annotations

import dis
import opcode
import sys
from types import CodeType
from typing import Any

import pytest

from dynamo_lite.strict import decode
from dynamo_lite.strict.decode import fuse, v312, v313
from dynamo_lite.strict.decode.instructions import INSTRUCTIONS
from dynamo_lite.strict.decode.scan import scan
from dynamo_lite.strict.machine import table
from dynamo_lite.strict.machine.code import HANDLERS, MAKERS
from solver.errors import UnsupportedError

VERSION: Any = decode._VERSIONS[sys.version_info[:2]]
# the walk over the bytes deals with these two itself
WALK = {"CACHE", "EXTENDED_ARG"}


def real_opcodes() -> set[str]:
    """Opcodes that can stand in a code object: not the compiler's pseudo ones, not those of instrumentation."""
    return {name for name, code in dis.opmap.items() if code < 256 and not name.startswith("INSTRUMENTED_")}


def test_every_opcode_has_a_rule() -> None:
    assert real_opcodes() - WALK == set(VERSION.RULES)


@pytest.mark.skipif(not hasattr(dis, "_intrinsic_1_descs"), reason="this CPython has no intrinsics")
def test_every_intrinsic_has_an_instruction() -> None:
    assert list(v312.INTRINSICS_1) == vars(dis)["_intrinsic_1_descs"]
    ours = v313.INTRINSICS_2 if sys.version_info >= (3, 13) else v312.INTRINSICS_2
    assert list(ours) == vars(dis)["_intrinsic_2_descs"]


def test_every_instruction_has_one_handler_and_no_handler_is_spare() -> None:
    assert table.__doc__
    assert set(HANDLERS) | set(MAKERS) == set(INSTRUCTIONS) | set(fuse.FUSED)
    assert not set(HANDLERS) & set(MAKERS)


def test_rules_only_make_known_instructions() -> None:
    seen = {op for code in _codes(dis) + _codes(opcode) for op, _ in decode.decode(code).instructions}
    assert seen <= set(INSTRUCTIONS)


def _codes(module: Any) -> list[CodeType]:
    with open(module.__file__) as file:
        code = compile(file.read(), module.__file__, "exec")
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if isinstance(const, CodeType)]
    return found


def test_an_unknown_opcode_is_a_clear_error() -> None:
    def program() -> int:
        return 1

    with pytest.raises(UnsupportedError) as caught:
        scan(program.__code__, {}, opcode.EXTENDED_ARG, {})
    assert caught.value.id == "unknown-opcode"
    assert "program" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["argparse", "dataclasses", "inspect", "typing", "asyncio.tasks", "contextlib", "enum"]
)
def test_lines_and_handlers_survive_decoding_and_joining(name: str) -> None:
    """Against ``dis``: the same instructions raise at the same lines, and handlers cover the same code."""
    module = __import__(name, fromlist=["x"])
    for code in _codes(module):
        decoded = decode.decode(code)
        lines = {i.offset: i.positions.lineno for i in dis.get_instructions(code) if i.positions}
        for index, offset in enumerate(decoded.offsets):
            assert decoded.position(index)[0] == lines[offset]
        covered = _covered(code)
        handled = {
            offset for offset, handler in zip(decoded.offsets, decoded.handlers, strict=False) if handler
        }
        generators = code.co_flags & 0x2A0 and sys.version_info < (3, 12)
        assert handled == covered & set(decoded.offsets) or generators
        joined = fuse.fuse(decoded)
        count = len(joined.instructions)
        assert len(joined.offsets) == count
        assert not joined.handlers or len(joined.handlers) == count
        assert all(handler is None or 0 <= handler[0] < count for handler in joined.handlers)
        assert set(joined.offsets) <= set(decoded.offsets)


def _covered(code: CodeType) -> set[int]:
    """Offsets that CPython's exception table covers, read by ``dis``."""
    entries = vars(dis)["_parse_exception_table"](code)
    return {offset for entry in entries for offset in range(entry.start, entry.end, 2)}
