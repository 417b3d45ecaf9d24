"""Where the graph must say that no gradient flows: what a model computes under ``no_grad`` is cut off by ``detach``.

A graph runs under the caller's gradient mode, so a mode that the model sets is kept as data. Only values that may require
gradients when the program runs are cut: what comes of parameters and of floating-point inputs, whatever the example's said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.lowering import modes
from dynamo_lite.trace.errors import GRADIENT_WRITTEN
from fx_ir import functionalize
from fx_ir.functionalize import Alias
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.autograd import OPAQUE
from fx_ir.ops.registry import OPS, Operator

if TYPE_CHECKING:
    from dynamo_lite.fake import FakeTensor
    from dynamo_lite.trace.tracer import Tracer

FLOATING: Final = 2  # the least category of dtypes that have gradients
_SEVERED: Final = "aten::detach"
WITHOUT_GRADIENTS: Final = (
    "a program exported with gradients off, whose model switches them or writes where autograd does not look"
    """Why the results of such a program are opaque."""
)


class Gradients:
    """Which nodes of one capture may carry gradients when the program runs."""

    __slots__ = ("_carries", "_cut", "_enabled", "_hidden_write", "_shown", "_tracer")

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._enabled = tracer.library.autograd and modes.grad_enabled()
        self._carries: dict[Node, bool] = {}
        self._cut: set[Alias] = set()  # views of what gradients pass that the model made with gradients off
        self._shown: dict[Node, Node] = {}
        self._hidden_write = False  # with gradients off, to what autograd would not see written

    def sever(self, op: Operator | HigherOrderOperator, node: Node) -> Node:
        """``node``, or a detached one where the model has switched gradients off and some could flow."""
        if not self._enabled or modes.grad_enabled() or op is OPS[_SEVERED] or not self._carry(node):
            return node
        made = self._tracer.level.graph.call_function(OPS[_SEVERED], (node,), meta=dict(node.meta))
        self._carries[made] = False
        return made

    def flow(self, values: Iterable[FakeTensor]) -> bool:
        """Whether gradients may flow from one of the values into what an autograd function makes of them."""
        if not self._enabled:
            self._tracer.looked("switch")  # its results are like all others of such a capture
            return False
        return modes.grad_enabled() and any(self._carry(self._tracer.node_of(value)) for value in values)

    def carries(self, fake: FakeTensor) -> bool:
        """Whether a gradient may flow into a tensor when the program runs."""
        return self._enabled and self._carry(self._tracer.node_of(fake))

    def replaced(self, fake: FakeTensor, sources: Sequence[FakeTensor], why: str, own: bool) -> FakeTensor:
        """``fake`` as a result whose gradient to ``sources`` the graph does not know; the same object if it is nobody else's."""
        own = own and fake.kind == "value" and fake.view_of is None and not fake.viewed
        made: FakeTensor = self._tracer.call(OPS[OPAQUE], (fake, list(sources), why), {})
        if not own:
            return made
        fake.viewed = False  # by ``made``, which nobody gets
        fake.node, fake.meta = made.node, made.meta
        return fake

    def shown(self, node: Node) -> Node:
        """``node`` as an output. Where gradients were off around the capture, what the model switched off itself is not known."""
        if node.op == "placeholder" or not self._unclear or not self._carry(node):
            return node
        known = self._shown.get(node)
        if known is None:
            arguments = (node, [node], WITHOUT_GRADIENTS)
            known = self._tracer.top.graph.call_function(OPS[OPAQUE], arguments, meta=dict(node.meta))
            self._shown[node] = known
        return known

    @property
    def _unclear(self) -> bool:
        if self._enabled or not self._tracer.library.autograd:
            return False
        return self._hidden_write or "switch" in self._tracer.asked

    def _carry(self, last: Node) -> bool:
        known = self._carries
        waiting = [last]
        while waiting:
            node = waiting[-1]
            if node in known:
                waiting.pop()
                continue
            inputs = node.all_input_nodes
            if node.op == "placeholder" or not _floats(node) or _blocks(node):
                known[node] = node.op == "placeholder" and self._is_source(node)
            elif all(source in known for source in inputs):
                known[node] = any(known[source] for source in inputs)
            else:
                waiting += [source for source in inputs if source not in known]
        return known[last]

    def _is_source(self, node: Node) -> bool:
        """Whether a placeholder may require gradients: a buffer or a constant does if it does now."""
        if not _floats(node):
            return False
        entry = self._tracer.state.entry_of(node)
        return entry is None or entry.kind == "parameter" or bool(entry.fake.meta.requires_grad)

    def note_view(self, alias: Alias | None, severed: bool) -> None:
        """Remembers a view that has no history though what it shows has one."""
        if severed and alias is not None:
            self._cut.add(alias)

    def check_view(self, alias: Alias) -> None:
        """Raises ``gradient-written`` where a view made with gradients off would be made anew, after a write to its memory."""
        if alias in self._cut:
            raise GRADIENT_WRITTEN(name="a view made with gradients off", location=self._tracer.locate())

    def scattered(self, alias: Alias, written: FakeTensor) -> FakeTensor:
        """What a write through a view made. That of ``as_strided`` has no derivative: PyTorch's of the functional form is another one."""
        if alias.operator.name != "as_strided" or not self.carries(written):
            return written
        return self.replaced(written, [written], "a write through as_strided", True)

    def check_write(self, fake: FakeTensor) -> None:
        """Raises what PyTorch raises for a write to a leaf that requires grad.

        Raises ``gradient-written`` where autograd would not follow the write but go on with the history that the tensor had.
        """
        root: Any = functionalize.root_of(fake)
        if not self._enabled:
            self._hidden_write = self._hidden_write or (root is not fake and is_detached(fake))
            return
        followed = modes.grad_enabled() and not is_detached(fake)
        if root.kind == "input":
            if root.meta.requires_grad:
                self._refuse_input(root, fake, followed)
        elif not followed and self._carry(self._tracer.node_of(root)):
            raise GRADIENT_WRITTEN(name="a tensor", location=self._tracer.locate())

    def _refuse_input(self, root: Any, fake: FakeTensor, followed: bool) -> None:
        example = next(item.example for item in self._tracer.inputs if item.fake is root)
        if followed and example.is_leaf:
            which = "a leaf Variable" if fake is root else "a view of a leaf Variable"
            raise RuntimeError(f"{which} that requires grad is being used in an in-place operation.")
        raise GRADIENT_WRITTEN(name=f"the input {root.origin}", location=self._tracer.locate())


def is_detached(fake: Any) -> bool:
    """Whether a tensor shares memory with one whose history it does not have."""
    while fake.view_of is not None:
        if fake.view_of.operator.qualified == _SEVERED:
            return True
        fake = fake.view_of.parent
    return False


def _floats(node: Node) -> bool:
    val = node.meta.get("val")
    if isinstance(val, (list, tuple)):
        return any(_is_floating(part) for part in val)
    return _is_floating(val)


def _is_floating(val: Any) -> bool:
    return isinstance(val, TensorMeta) and val.dtype.category >= FLOATING


def _blocks(node: Node) -> bool:
    target = node.target
    return isinstance(target, Operator) and (target.nondifferentiable or target.qualified == _SEVERED)
