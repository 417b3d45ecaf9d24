"""The pass shared by all versions: walk the bytes, apply a version's rules, resolve jumps, index the exception table.

The walk reads ``co_code`` itself. A cold trace is dominated by decoding, and building the objects of a bytecode library
costs four to ten times this walk, for generality that the rules below do not need.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Final

from dynamo_lite.strict.decode.record import Decoded, Handler, Instruction
from dynamo_lite.strict.errors import UNKNOWN_OPCODE

CO_GENERATOR: Final = 0x20
CO_COROUTINE: Final = 0x80
CO_ITERABLE_COROUTINE: Final = 0x100
CO_ASYNC_GENERATOR: Final = 0x200
SUSPENDABLE: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

Rule = Callable[["Scan", int], None]
Rules = Mapping[int, Rule]


class Scan:
    """State of decoding one code object; rules append to it through :meth:`emit` and :meth:`jump`."""

    __slots__ = (
        "async_yield",
        "code",
        "consts",
        "fixups",
        "instructions",
        "keywords",
        "names",
        "next_offset",
        "offset",
        "offsets",
        "slot_names",
        "starts",
    )

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.consts = code.co_consts
        self.names = code.co_names
        variables = code.co_varnames
        cells = tuple(name for name in code.co_cellvars if name not in variables)
        self.slot_names = variables + cells + code.co_freevars
        self.instructions: list[Instruction] = []
        self.offsets: array[int] = array("l")
        self.fixups: list[int] = []
        self.starts: dict[int, int] = {}
        self.offset = 0
        self.next_offset = 0
        self.keywords: tuple[str, ...] | None = None
        self.async_yield = False

    def emit(self, op: str, arg: object = None) -> None:
        self.instructions.append((op, arg))
        self.offsets.append(self.offset)

    def jump(self, op: str, target: int) -> None:
        """Emits a jump whose target is a byte offset for now."""
        self.fixups.append(len(self.instructions))
        self.emit(op, target)

    def last(self) -> Instruction | None:
        """The instruction emitted just before, where nothing can jump in between."""
        return self.instructions[-1] if self.instructions else None

    @property
    def suspendable(self) -> bool:
        return bool(self.code.co_flags & SUSPENDABLE)


def scan(code: CodeType, rules: Rules, extended_arg: int, jump_caches: Mapping[int, int]) -> Decoded:
    """Decodes ``code`` by the rules of one CPython version.

    Raises UnsupportedError for an opcode that the rules do not know.
    """
    state = Scan(code)
    raw = code.co_code
    starts = state.starts
    instructions = state.instructions
    extended = 0
    fresh = True
    for offset in range(0, len(raw), 2):
        opcode = raw[offset]
        if opcode == 0:  # inline cache
            continue
        if fresh:
            starts[offset] = len(instructions)
        if opcode == extended_arg:
            extended = (extended | raw[offset + 1]) << 8
            fresh = False
            starts[offset + 2] = len(instructions)
            continue
        state.offset = offset
        state.next_offset = offset + 2 + 2 * jump_caches.get(opcode, 0)
        rule = rules.get(opcode)
        if rule is None:
            raise UNKNOWN_OPCODE(opcode=opcode, code=code.co_qualname)
        rule(state, raw[offset + 1] | extended)
        extended = 0
        fresh = True
    _resolve(state)
    handlers = _index(state)
    return Decoded(code, tuple(instructions), state.offsets, handlers, state.slot_names)


def _resolve(state: Scan) -> None:
    """Turns byte offsets of jump targets into instruction indices."""
    for index in state.fixups:
        op, target = state.instructions[index]
        state.instructions[index] = (op, state.starts[target])


def _varint(data: Iterator[int]) -> int:
    byte = next(data)
    value = byte & 63
    while byte & 64:
        byte = next(data)
        value = (value << 6) | (byte & 63)
    return value


def exception_entries(code: CodeType) -> list[tuple[int, int, int, int, bool]]:
    """(start, end, target, depth, push index) of each entry, in bytes."""
    data = iter(code.co_exceptiontable)
    entries: list[tuple[int, int, int, int, bool]] = []
    while True:
        try:
            start = _varint(data) * 2
        except StopIteration:
            return entries
        length = _varint(data) * 2
        target = _varint(data) * 2
        depth = _varint(data)
        entries.append((start, start + length, target, depth >> 1, bool(depth & 1)))


def _index(state: Scan) -> tuple[Handler | None, ...]:
    """One slot an instruction: its handler or None. Empty where the code handles nothing."""
    entries = exception_entries(state.code)
    if not entries:
        return ()
    handlers: list[Handler | None] = [None] * len(state.instructions)
    offsets = state.offsets
    position = 0
    for start, end, target, depth, push_index in entries:
        handler = (state.starts[target], depth, push_index)
        while position < len(offsets) and offsets[position] < start:
            position += 1
        while position < len(offsets) and offsets[position] < end:
            handlers[position] = handler
            position += 1
    return tuple(handlers)


def close_suspendable(decoded: Decoded) -> Decoded:
    """Adds the handler that keeps StopIteration inside a generator, where the compiler did not emit it (3.11)."""
    first = next((i for i, ins in enumerate(decoded.instructions) if ins[0] == "return_generator"), None)
    if first is None:
        return decoded
    count = len(decoded.instructions)
    handler = (count, 0, True)
    known = decoded.handlers or (None,) * count
    covered = tuple(known[i] if known[i] is not None or i < first else handler for i in range(count))
    tail = (("stop_iteration_error", False), ("reraise", 1))
    offsets = array("l", decoded.offsets)
    last = offsets[-1]
    offsets.extend((last, last))
    return Decoded(
        decoded.code, decoded.instructions + tail, offsets, (*covered, None, None), decoded.slot_names
    )
