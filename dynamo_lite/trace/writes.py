"""Writes to tensors, made functional: what ``fx_ir.functionalize`` asks of the recorder, and what eager would refuse."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.fake import FakeTensor
from dynamo_lite.trace import overlap
from dynamo_lite.trace.errors import IN_PLACE_RESIZES, IN_PLACE_VIEW, WRITE_THROUGH_EXPAND
from dynamo_lite.trace.write_errors import CONJUGATE_WRITTEN, DRAWS_INTO_A_PART
from fx_ir import functionalize
from fx_ir.functionalize import Alias
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from fx_ir.ops.registry import OPS, Operator
from fx_ir.ops.reshape import STRETCHING
from fx_ir.ops.shapes import contiguous_or, is_contiguous
from fx_ir.ops.views import WHOLE_RULE

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

_IDEMPOTENT: Final = frozenset({"fill_", "zero_"})


class Writes:
    """Operators in place and the views through which they write, in one capture."""

    __slots__ = ("_in_place", "_tracer", "_written")

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._in_place: set[Node] = set()  # what operators in place have computed
        self._written: Alias | None = None  # the view that is being written

    def in_place(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Applies an operator in place: what it computes becomes the content of its first argument, which it gives back."""
        target = args[0]
        functional = op.functional
        assert functional is not None
        held = self._tracer.fake_of(target)
        viewed = held.viewed
        overlap.check(self._tracer, op, held, args[1:], kwargs)
        if functional.random:
            self._check_draws(op, held)
        result = self._tracer.call(functional, args, kwargs)
        if functional.view is not None and functional.maybe_view is None:
            self._become_view(op, held, result, viewed)
        elif not _is_idle(functional, result):
            if result.meta.is_plain and held.view_of is None and not _in_order(held.meta):
                result = self._tracer.apply("aten::copy", held, result)  # eager keeps the order that there is
            self._in_place.add(result.node)
            self.write(target, result, op.name in _IDEMPOTENT)
        return target

    def in_order(self, node: Node) -> Node:
        """``node``, or a copy in the order of memory of what was updated in place, which eager keeps and the functional operator does not.

        The order may be another when the program runs.
        """
        if node not in self._in_place or not _makes_order(node):
            return node
        return self._tracer.top.graph.call_function(
            OPS["aten::copy"], (node.args[0], node), meta=dict(node.meta)
        )

    def _check_draws(self, op: Operator, held: FakeTensor) -> None:
        """Numbers are drawn in the order of memory, normal ones otherwise where it has gaps. Raises ``draws-into-a-part``."""
        self._tracer.looked("layout")
        if is_contiguous(held.meta):
            return
        if op.name == "normal_" or any(a < b for a, b in pairwise(held.meta.strides)):
            raise DRAWS_INTO_A_PART(op=op.name, location=self._tracer.locate())

    def _become_view(self, op: Operator, fake: FakeTensor, view: FakeTensor, viewed: bool) -> None:
        """``x.unsqueeze_(0)`` and its kin: the tensor itself becomes a view of what it was."""
        if op.name == "detach_":
            return
        if fake.kind != "value" or viewed:
            raise IN_PLACE_VIEW(op=op.name, location=self._tracer.locate())
        was = self._tracer.value(fake.meta, fake.node, fake.view_of)
        was.generation = fake.generation
        if fake.view_of is None:
            was.memory = fake.memory
        if view.view_of is not None:
            view.view_of.parent = was
        fake.meta, fake.node, fake.view_of = view.meta, view.node, view.view_of
        fake.viewed = False  # what was viewed is now its parent

    def become(self, target: Any, value: Any) -> bool:
        """Makes an empty tensor that forward has made hold a new value, of whatever size; False where it cannot be said what that does.

        Whoever made the tensor knows it as one in order of memory, and nobody views it.
        """
        held, new = self._tracer.fake_of(target), self._tracer.fake_of(value)
        for fake in (held, new):
            if fake.kind != "value" or fake.view_of is not None or fake.viewed or not fake.meta.is_plain:
                return False
        if held.meta.dtype is not new.meta.dtype or held.node.graph is not self._tracer.level.graph:
            return False
        held.meta, held.node = new.meta, new.node
        held.memory, held.generation = new.memory, new.generation
        return True

    def write(self, target: Any, value: Any, idempotent: bool = False) -> None:
        """Makes ``value`` the content of ``target``, cast to its dtype; all aliases see it.

        PyTorch lets ``idempotent`` operators write elements that stand for several; a functional graph cannot say it.
        """
        fake = self._tracer.fake_of(target)
        functionalize.settle(fake)
        if functionalize.storage_of(fake).conjugated:
            raise CONJUGATE_WRITTEN(location=self._tracer.locate())
        self._tracer.state.refuse_write(fake)
        self._tracer.gradients.check_write(fake)
        new = self._tracer.fake_of(value)
        meta = fake.meta
        if new.meta.dtype is not meta.dtype:
            if new.meta.dtype.category > meta.dtype.category:
                raise RuntimeError(
                    f"result type {new.meta.dtype} can't be cast to the desired output type {meta.dtype}"
                )
            new = self._tracer.apply("aten::_to_copy", new, dtype=meta.dtype)
        if len(new.meta.shape) != len(meta.shape):
            raise IN_PLACE_RESIZES(given=new.meta, held=meta, location=self._tracer.locate())
        for given, held in zip(new.meta.shape, meta.shape, strict=True):
            if given is not held and given != held:
                raise IN_PLACE_RESIZES(given=new.meta, held=meta, location=self._tracer.locate())
        self._written = None if idempotent else fake.view_of
        functionalize.write(fake, self._tracer.node_of(new), self)

    def regenerate(self, alias: Alias) -> Node:
        """Records a view anew on its parent's present value."""
        parent = alias.parent
        self._tracer.gradients.check_view(alias)
        made = self._call_on(alias.operator, parent, alias.args, alias.kwargs)
        picked = made if alias.index is None else made[alias.index]
        node: Node = picked.node
        return node

    def scatter(self, alias: Alias, new: Node) -> Node:
        """Records the parent's value with ``new`` written through the view."""
        view = alias.operator.view
        assert view is not None
        self._tracer.gradients.check_view(alias)
        detached = self._detached(alias.parent)
        part = self._tracer.value(new.meta["val"], new)
        try:
            written = view.scatter(
                self._tracer.apply, detached, part, alias.index or 0, *alias.args, **alias.kwargs
            )
        except RuntimeError:
            raises = alias is self._written and alias.operator.name != "unfold"
            if view.scatter not in STRETCHING or raises:
                raise
            raise WRITE_THROUGH_EXPAND(op=alias.operator.name, location=self._tracer.locate()) from None
        return self._tracer.node_of(self._tracer.gradients.scattered(alias, self._tracer.fake_of(written)))

    def _call_on(self, op: Operator, parent: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return self._tracer.call(op, (self._detached(parent), *args), kwargs)

    def _detached(self, parent: Any) -> FakeTensor:
        """The parent's present value without its aliases, described as its node is: its layout may be another now."""
        node = self._tracer.node_of(parent)
        return self._tracer.value(node.meta["val"], node)

    def keeps(self, node: Node) -> bool:
        """Only nodes of the outermost graph are remembered across branches."""
        return self._tracer.level is self._tracer.top


def _in_order(meta: TensorMeta) -> bool:
    """Whether a layout is known to be contiguous; nothing is asked."""
    return meta.is_plain or (meta.has_layout and contiguous_or(meta.shape, meta.strides) is None)


def _makes_order(node: Node) -> bool:
    """Whether an operator's result is contiguous however its first operand lies in memory."""
    operator = node.target
    values = [map_nodes(value, lambda other: other.meta["val"]) for value in node.args]
    named = {name: map_nodes(value, lambda other: other.meta["val"]) for name, value in node.kwargs.items()}
    if not isinstance(operator, Operator) or not isinstance(values[0], TensorMeta) or values[0].ndim < 2:
        return False
    first = values[0]
    unknown = first.like(strides=lambda: first.strides)
    args, keywords = operator.bind((unknown, *values[1:]), named)
    result = operator.fake(*args, **keywords)
    return isinstance(result, TensorMeta) and result.is_plain


def _is_idle(functional: Operator, result: FakeTensor) -> bool:
    """Whether an operator gives what it was given (``dropout`` in eval mode): in place, eager writes nothing then."""
    alias = result.view_of
    return functional.view is WHOLE_RULE and alias is not None and alias.shares is not None and alias.shares()
