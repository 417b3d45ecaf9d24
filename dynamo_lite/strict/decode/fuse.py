"""Superinstructions: frequent neighbours become one instruction, so that the run loop turns less often.

A rule joins two neighbours, of which the first may be joined already. Where one that may call interpreted code is not the
last, the rest is kept out of line as well: the *tail* behind the code. The joined instruction does the whole in the common
case; in the other it moves the frame to the tail, and the call's result is dealt with there. An instruction in front of a
tail, never reached, gives the call its handler and position.
"""

from __future__ import annotations

from array import array
from typing import Any, Final, NamedTuple

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


def fuse(decoded: Decoded) -> Decoded:
    """The same code with frequent neighbours joined; jumps, handlers and positions stay right."""
    return _Fusion(decoded).run()


def joined_loads(fused: Decoded, index: int) -> list[tuple[int, int]]:
    """The (slot, byte offset) of each plain load that an instruction is joined of. Found anew: only errors ask."""
    from dynamo_lite.strict.decode import decode

    fusion = _Fusion(decode(fused.code))
    fusion.run()
    parts = fusion.parts[index] if index < len(fusion.parts) else []
    old = fusion.old
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
        self.parts: list[list[int]] = []  # the old indices that each new instruction is made of
        self.ops: list[str] = []
        self.tails: dict[int, int] = {}  # new index of an instruction with a tail → old index of the tail

    def run(self) -> Decoded:
        targets = self._targets()
        self._join(targets)
        if len(self.ops) == len(self.old.instructions):
            return self.old
        return self._build()

    def _targets(self) -> set[int]:
        targets = {handler[0] for handler in self.old.handlers if handler is not None}
        for op, arg in self.old.instructions:
            if op in _JUMPS or (op == "yield_sub" and arg is not None):
                targets.add(arg)
        return targets

    def _join(self, targets: set[int]) -> None:
        instructions, handlers, rules = self.old.instructions, self.handlers, RULES
        count = len(instructions)
        position = 0
        while position < count:
            op = instructions[position][0]
            parts = [position]
            following = position + 1
            while (
                following < count and following not in targets and handlers[following] is handlers[position]
            ):
                rule = rules.get((op, instructions[following][0]))
                if rule is None:
                    break
                if rule.unless and following + 1 < count and instructions[following + 1][0] in rule.unless:
                    break
                op = rule.op
                if rule.tail:
                    self.tails[len(self.ops)] = following
                parts.append(following)
                following += 1
            self.ops.append(op)
            self.parts.append(parts)
            position = following

    def _build(self) -> Decoded:
        old = self.old
        moved: dict[int, int] = {parts[0]: new for new, parts in enumerate(self.parts)}
        count = len(self.ops)
        # each tail takes three places behind the code: the stand-in, the instruction, the jump back
        place = {new: count + 3 * number + 1 for number, new in enumerate(self.tails)}
        instructions: list[Instruction] = [
            (op, self._argument(parts, moved, place.get(new)))
            for new, (op, parts) in enumerate(zip(self.ops, self.parts, strict=True))
        ]
        offsets = array("l", [old.offsets[self._where(parts)] for parts in self.parts])
        sources = [parts[0] for parts in self.parts]
        for new, tail in self.tails.items():
            back = ("jump", new + 1)
            instructions += (("unreachable", "tail"), self._single(tail, moved), back)
            first = self.parts[new][0]
            sources += (first, first, first)
            offsets.extend((offsets[new], old.offsets[tail], old.offsets[tail]))
        handlers: tuple[Handler | None, ...] = ()
        if old.handlers:
            kept = {
                id(handler): (moved[handler[0]], handler[1], handler[2])
                for handler in old.handlers
                if handler is not None
            }
            handlers = tuple(
                [None if self.handlers[s] is None else kept[id(self.handlers[s])] for s in sources]
            )
        return Decoded(old.code, tuple(instructions), offsets, handlers, old.slot_names)

    def _where(self, parts: list[int]) -> int:
        """The part whose position the whole takes: the one that may raise, which is not a plain load or store."""
        for part in reversed(parts):
            if self.old.instructions[part][0] not in (
                "store_fast",
                "pop_jump_if_false",
                "pop_jump_if_true",
                "jump",
            ):
                return part
        return parts[0]

    def _single(self, index: int, moved: dict[int, int]) -> Instruction:
        op, arg = self.old.instructions[index]
        if op in _JUMPS or (op == "yield_sub" and arg is not None):
            return op, moved[arg]
        return op, arg

    def _argument(self, parts: list[int], moved: dict[int, int], tail: int | None) -> Any:
        if len(parts) == 1:
            return self._single(parts[0], moved)[1]
        arguments = [self._single(part, moved)[1] for part in parts]
        return tuple(arguments) if tail is None else (*arguments, tail)
