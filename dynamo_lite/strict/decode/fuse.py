"""Superinstructions: frequent neighbours become one instruction, so that the run loop turns less often.

A rule joins two neighbours, of which the first may be joined already. Where one that may call interpreted code is not the
last, the rest is kept out of line as well: the *tail* behind the code. The joined instruction does the whole in the common
case; in the other it moves the frame to the tail, and the call's result is dealt with there. An instruction in front of a
tail, never reached, gives the call its handler and position.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from dynamo_lite.strict.decode.record import Decoded, Handler, Instruction


class Rule(NamedTuple):
    """How two neighbours are joined: ``tail`` says that the second is kept out of line."""

    op: str
    tail: bool = False
    unless: frozenset[str] = frozenset()


_TAKES_ONE: Final = frozenset({"load_attr", "load_method_below", "load_method_above"})
RULES: Final[dict[tuple[str, str], Rule]] = {
    ("load_fast", "load_fast"): Rule("load_ff", unless=_TAKES_ONE),
    ("load_fast", "load_const"): Rule("load_fc"),
    ("load_fast", "load_attr"): Rule("load_f_attr"),
    ("load_fast", "load_method_below"): Rule("load_f_method_below"),
    ("push_null", "load_fast"): Rule("load_null_f"),
    ("push_null", "load_deref"): Rule("load_null_deref"),
    ("load_fast", "load_method_above"): Rule("load_f_method_above"),
    ("to_bool", "pop_jump_if_false"): Rule("bool_jump_false"),
    ("to_bool", "pop_jump_if_true"): Rule("bool_jump_true"),
    ("compare_bool", "pop_jump_if_false"): Rule("compare_jump_false", tail=True),
    ("compare_bool", "pop_jump_if_true"): Rule("compare_jump_true", tail=True),
    ("load_ff", "compare_bool"): Rule("compare_ff"),
    ("load_fc", "compare_bool"): Rule("compare_fc"),
    ("load_const", "compare_bool"): Rule("compare_xc"),
    ("load_fast", "return_value"): Rule("return_f"),
    ("load_const", "return_value"): Rule("return_c"),
    ("store_fast", "load_fast"): Rule("store_load", unless=_TAKES_ONE),
    ("store_fast", "jump"): Rule("store_jump"),
    ("pop_top", "jump"): Rule("pop_jump"),
    ("for_iter", "store_fast"): Rule("for_iter_store", tail=True),
    ("compare", "pop_jump_if_false"): Rule("compare_jump_false", tail=True),
    ("compare", "pop_jump_if_true"): Rule("compare_jump_true", tail=True),
    ("load_ff", "binary_op"): Rule("binary_ff"),
    ("load_fc", "binary_op"): Rule("binary_fc"),
    ("load_fast", "binary_op"): Rule("binary_xf"),
    ("load_const", "binary_op"): Rule("binary_xc"),
    ("binary_ff", "store_fast"): Rule("binary_ff_store", tail=True),
    ("binary_fc", "store_fast"): Rule("binary_fc_store", tail=True),
    ("binary_xf", "store_fast"): Rule("binary_xf_store", tail=True),
    ("binary_op", "store_fast"): Rule("binary_store", tail=True),
    ("load_ff", "compare"): Rule("compare_ff"),
    ("load_fc", "compare"): Rule("compare_fc"),
    ("compare_ff", "pop_jump_if_false"): Rule("compare_ff_jump_false", tail=True),
    ("compare_fc", "pop_jump_if_false"): Rule("compare_fc_jump_false", tail=True),
    ("load_const", "compare"): Rule("compare_xc"),
    ("compare_xc", "pop_jump_if_false"): Rule("compare_xc_jump_false", tail=True),
    ("load_ff", "binary_subscr"): Rule("subscr_ff"),
    ("load_fc", "binary_subscr"): Rule("subscr_fc"),
    ("load_fast", "binary_subscr"): Rule("subscr_xf"),
    ("load_const", "binary_subscr"): Rule("subscr_xc"),
}
FUSED: Final[tuple[str, ...]] = tuple(sorted({rule.op for rule in RULES.values()}))
# instructions whose argument is a target; of joined ones the last part of it is
_JUMPS: Final = frozenset(
    {
        "jump", "pop_jump_if_false", "pop_jump_if_true", "pop_jump_if_none", "pop_jump_if_not_none",
        "jump_if_false_or_pop", "jump_if_true_or_pop", "for_iter", "send", "send_pop",
    }
)  # fmt: skip
# of the parts of a joined instruction, those that cannot raise
_SILENT: Final = frozenset({"store_fast", "pop_jump_if_false", "pop_jump_if_true", "jump"})
_FOLLOWING: Final[dict[str, dict[str, Rule]]] = {}
for (_first, _second), _rule in RULES.items():
    _FOLLOWING.setdefault(_first, {})[_second] = _rule


def fuse(decoded: Decoded) -> Decoded:
    """The same code with frequent neighbours joined; jumps, handlers and positions stay right."""
    return _Fusion(decoded).run()


def joined_loads(fused: Decoded, index: int) -> list[tuple[int, int]]:
    """The (slot, byte offset) of each plain load that an instruction is joined of. Found anew: only errors ask."""
    from dynamo_lite.strict.decode import decode

    fusion = _Fusion(decode(fused.code))
    fusion.run()
    old, parts = fusion.old, fusion.parts(index)
    return [
        (old.instructions[part][1], old.offsets[part])
        for part in parts
        if len(parts) > 1 and old.instructions[part][0] == "load_fast"
    ]


class _Fusion:
    """One pass over a code object's instructions."""

    def __init__(self, decoded: Decoded) -> None:
        self.old = decoded
        self.handlers: tuple[Handler | None, ...] = decoded.handlers or (None,) * len(decoded.instructions)
        # new instruction → the old index where it begins; it goes on to where the next one begins
        self.starts: list[int] = []
        self.ops: list[str] = []
        self.tails: dict[int, int] = {}  # new index of an instruction with a tail → old index of the tail

    def run(self) -> Decoded:
        self._join(self._targets())
        if len(self.ops) == len(self.old.instructions):
            return self.old
        return self._build()

    def parts(self, new: int) -> range:
        """The old indices that a new instruction is made of; none for a tail."""
        starts, count = self.starts, len(self.old.instructions)
        if new >= len(starts):
            return range(0)
        return range(starts[new], starts[new + 1] if new + 1 < len(starts) else count)

    def _targets(self) -> set[int]:
        targets = {handler[0] for handler in self.old.handlers if handler is not None}
        targets.update([arg for op, arg in self.old.instructions if op in _JUMPS])
        targets.update([arg for op, arg in self.old.instructions if op == "yield_sub" and arg is not None])
        return targets

    def _join(self, targets: set[int]) -> None:
        instructions, handlers, starts, ops = self.old.instructions, self.handlers, self.starts, self.ops
        count = len(instructions)
        position = 0
        while position < count:
            op = instructions[position][0]
            starts.append(position)
            following = position + 1
            while (rules := _FOLLOWING.get(op)) is not None and following < count:
                rule = rules.get(instructions[following][0])
                if rule is None or following in targets or handlers[following] is not handlers[position]:
                    break
                if rule.unless and following + 1 < count and instructions[following + 1][0] in rule.unless:
                    break
                op = rule.op
                if rule.tail:
                    self.tails[len(ops)] = following
                following += 1
            ops.append(op)
            position = following

    def _build(self) -> Decoded:
        old, starts = self.old, self.starts
        moved: dict[int, int] = dict(zip(starts, range(len(starts)), strict=True))
        count = len(starts)
        # each tail takes three places behind the code: the stand-in, the instruction, the jump back
        place = {new: count + 3 * number + 1 for number, new in enumerate(self.tails)}
        instructions: list[Instruction] = []
        offsets = array("l")
        for new, first in enumerate(starts):
            end = starts[new + 1] if new + 1 < count else len(old.instructions)
            if end - first == 1:
                instructions.append(self._single(first, moved))
                offsets.append(old.offsets[first])
            else:
                parts = range(first, end)
                arguments = [self._single(part, moved)[1] for part in parts]
                if new in place:
                    arguments.append(place[new])
                instructions.append((self.ops[new], tuple(arguments)))
                offsets.append(old.offsets[self._where(parts)])
        sources = [*starts]
        for new, tail in self.tails.items():
            instructions += (("unreachable", "tail"), self._single(tail, moved), ("jump", new + 1))
            sources += (starts[new],) * 3
            offsets.extend((offsets[new], old.offsets[tail], old.offsets[tail]))
        return Decoded(
            old.code, tuple(instructions), offsets, self._moved_handlers(sources, moved), old.slot_names
        )

    def _moved_handlers(self, sources: list[int], moved: dict[int, int]) -> tuple[Handler | None, ...]:
        """The handler of each new instruction: that of the old one at its source."""
        if not self.old.handlers:
            return ()
        kept: dict[int, Handler | None] = {
            id(handler): (moved[handler[0]], handler[1], handler[2])
            for handler in self.handlers
            if handler is not None
        }
        return tuple([kept.get(id(self.handlers[source])) for source in sources])

    def _where(self, parts: range) -> int:
        """The part whose position the whole takes: the one that may raise, which is not a plain load or store."""
        for part in reversed(parts):
            if self.old.instructions[part][0] not in _SILENT:
                return part
        return parts[0]

    def _single(self, index: int, moved: dict[int, int]) -> Instruction:
        instruction = self.old.instructions[index]
        op, arg = instruction
        if op in _JUMPS or (op == "yield_sub" and arg is not None):
            return op, moved[arg]
        return instruction
