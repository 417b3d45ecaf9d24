"""What is known of a tensor that control flow gives: it may be the very tensor that went in, and its layout depends on the way taken.

Both are questions that most programs never ask. A write to a result, or to what it may share memory with, is refused by name; so is
asking for strides or an offset that differ from branch to branch or from step to step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dynamo_lite.fake import is_fake
from dynamo_lite.trace.errors import LAYOUT_VARIES, RESULT_SHARED
from fx_ir.functionalize import root_of
from fx_ir.meta import TensorMeta, contiguous_strides
from solver.sym import SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.control import Branch
    from dynamo_lite.trace.tracer import Tracer

Offset = Callable[[], Any]


# --- memory ------------------------------------------------------------------------------------------------------------


class MayShare:
    """Stands among a storage's unsure aliases for another tensor that may have the same memory, as long as that one lives.

    ``shares`` is asked before a write, and raises ``result-may-share-memory``.
    """

    __slots__ = ("generation", "memory", "node", "other", "tracer", "view_of", "viewed", "what")

    def __init__(self, tracer: Tracer, other: Any, what: str) -> None:
        self.tracer = tracer
        self.other = weakref.ref(other)
        self.what = what
        self.view_of: Any = self

    def shares(self) -> bool:
        if self.other() is None:
            return False
        raise RESULT_SHARED(what=self.what, location=self.tracer.locate())


def sources(branch: Branch, index: int, stand_for: Mapping[int, Sequence[Any]]) -> list[Any]:
    """The tensors from outside whose memory a branch's output may be.

    ``stand_for`` maps the identity of an operand to what it may be outside.
    """
    value = branch.fakes[index]
    found: list[Any] = []
    waiting, seen = [] if value is None else [root_of(value)], set[int]()
    while waiting:
        root = waiting.pop()
        if id(root) in seen:
            continue
        seen.add(id(root))
        if id(root) in stand_for:
            found += stand_for[id(root)]
        elif root.node.graph is not branch.level.graph:
            found.append(root)
        else:
            entries = [entry.other() for entry in root.memory.unsure if isinstance(entry, MayShare)]
            waiting += [other for other in entries if other is not None]
    return found


def share(tracer: Tracer, result: Any, others: Iterable[Any], what: str) -> None:
    """Notes that ``result``, a new value, may have the memory of any of ``others`` (values that own theirs)."""
    if not is_fake(result):
        return
    for other in {id(each): each for each in others}.values():
        result.memory.unsure.append(MayShare(tracer, other, what))
        other.memory.unsure.append(MayShare(tracer, result, what))


# --- layout ------------------------------------------------------------------------------------------------------------


def _contiguous(meta: TensorMeta) -> bool:
    """Whether the layout is contiguous; asks what has to be asked."""
    return meta.is_plain or tuple(meta.strides) == tuple(contiguous_strides(meta.shape))


def _refuse(tracer: Tracer, what: str) -> Any:
    raise LAYOUT_VARIES(what=what, location=tracer.locate())


def _offset(tracer: Tracer, what: str, metas: Sequence[TensorMeta]) -> Offset:
    def offset() -> Any:
        known = [meta.offset for meta in metas]
        return known[0] if all(_equal(known[0], each) for each in known) else _refuse(tracer, what)

    return offset


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, SymInt) and isinstance(b, SymInt):
        return a.expr is b.expr
    return type(a) is type(b) is int and a == b


def one_of(tracer: Tracer, metas: Sequence[TensorMeta], shape: Sequence[Any], what: str) -> TensorMeta:
    """A tensor that is one of several, of the joined ``shape``."""

    def strides() -> Any:
        if all(map(_contiguous, metas)):
            return None
        rows = [tuple(meta.strides) for meta in metas]
        same = all(_equal(a, b) for row in rows for a, b in zip(row, rows[0], strict=True))
        return rows[0] if same else _refuse(tracer, what)

    plain = all(meta.is_plain for meta in metas)
    return metas[0].like(
        shape=tuple(shape),
        strides=None if plain else strides,
        offset=_offset(tracer, what, metas),
        requires_grad=any(meta.requires_grad for meta in metas),
    )


def carried(tracer: Tracer, first: TensorMeta, what: str) -> TensorMeta:
    """A tensor that a step is given, ``first`` in the first step: contiguous if every step keeps it so, and nothing else is known.

    Where somebody asked, :func:`check_steps` sees to the rest.
    """
    return first.like(
        strides=lambda: None if _contiguous(first) else _refuse(tracer, what),
        offset=lambda: _refuse(tracer, what),
    )


def check_steps(tracer: Tracer, steps: Sequence[tuple[Any, Any]], what: str) -> None:
    """What a step returns has the layout that the step has relied on; ``steps`` pairs what it is given with what it returns."""
    done: set[int] = set()
    tensors = [(held, given) for held, given in steps if isinstance(held, TensorMeta)]
    # Answering for one value may ask about another.
    while waiting := [i for i, (held, _) in enumerate(tensors) if held.has_layout and i not in done]:
        done.update(waiting)
        if not all(_contiguous(tensors[i][1]) for i in waiting):
            _refuse(tracer, what)


def after_loop(
    tracer: Tracer, first: TensorMeta, last: TensorMeta, steps: Sequence[tuple[Any, Any]], what: str
) -> TensorMeta:
    """A carried tensor when the loop has ended, after no step or after some."""

    def strides() -> None:
        if not (_contiguous(first) and _contiguous(last)):
            _refuse(tracer, what)
        check_steps(tracer, steps, what)

    plain = first.is_plain and last.is_plain
    return first.like(
        strides=None if plain else strides,
        offset=_offset(tracer, what, (first, last)),
        requires_grad=first.requires_grad or last.requires_grad,
    )


def slice_of(tracer: Tracer, whole: TensorMeta, what: str) -> TensorMeta:
    """What a step sees of a tensor that is looped over; where it lies depends on the step."""
    return whole.like(
        shape=whole.shape[1:],
        strides=None if whole.is_plain else lambda: tuple(whole.strides[1:]),
        offset=lambda: _refuse(tracer, what),
    )
