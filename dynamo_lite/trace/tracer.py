"""The tracer: every tensor call of a capture ends here and becomes a node.

Both front ends, both tensor libraries and every operator take this one path: lift real tensors, apply the fake rule, record, wrap.
In-place operators and views are functionalised on the way (``fx_ir.functionalize``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import getitem
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from dynamo_lite import dispatch
from dynamo_lite.fake import FakeTensor
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.known import known_number
from dynamo_lite.trace import overlap
from dynamo_lite.trace.calls import ModuleCalls
from dynamo_lite.trace.definitions import Definitions
from dynamo_lite.trace.given import Given
from dynamo_lite.trace.gradients import FLOATING, Gradients
from dynamo_lite.trace.level import Level
from dynamo_lite.trace.naming import Naming
from dynamo_lite.trace.settings import Settings
from dynamo_lite.trace.state import LiftedState
from dynamo_lite.trace.writes import Writes
from fx_ir import functionalize
from fx_ir.contract import Distinct
from fx_ir.functionalize import Alias
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from fx_ir.ops.registry import OPS, Operator, find, infer, is_tensor
from solver.errors import Location
from solver.shape_env import ShapeEnv
from solver.sym import SymBool, SymFloat, SymInt, sym_not

if TYPE_CHECKING:
    from dynamo_lite.library import TensorLibrary
    from dynamo_lite.strict.outcomes import Outcome
    from dynamo_lite.trace.inputs import UserInput

_PLAIN: Final = frozenset({int, float, bool, str, type(None), complex})
# Views of some layouts, copies of others.
_VIEW_BY_LAYOUT: Final = frozenset({"reshape", "reshape_as", "flatten", "contiguous", "ravel"})
_SYMBOLIC: Final = (SymInt, SymFloat, SymBool)
Locate = Callable[[], Location | None]


def nowhere() -> Location | None:
    """The location before a front end says better."""
    return None


def _val(node: Node) -> Any:
    return node.meta["val"]


class Tracer:
    """One capture in progress.

    ``locate`` tells the user's line; ``modules_now`` the modules that are running, as ``(path, class name)`` pairs, outermost first.
    ``asked`` holds what the program looked at of its inputs' metadata, and where it did first.
    ``settings`` holds the settings of the process that it asked for.
    ``distinct_inputs`` and ``same_inputs`` (a leaf's index to an earlier one's) are the answers it got to ``a is b``.
    """

    def __init__(self, library: TensorLibrary, env: ShapeEnv) -> None:
        self.library = library
        self.env = env
        self.locate: Locate = nowhere
        self.outcome: Callable[[], Outcome | None] = lambda: None
        self.modules_now: Callable[[], tuple[tuple[str, str], ...]] = tuple
        self.calls = ModuleCalls()
        self.definitions = Definitions(self)
        self.level = self.top = Level(self, None)
        self.state = LiftedState(self)
        self.gradients = Gradients(self)
        self.writes = Writes(self)
        self.asked: dict[dispatch.Asked, Location | None] = {}
        self.inputs: list[UserInput] = []
        self.given = Given()
        self.settings = Settings()
        self.distinct_inputs: list[Distinct] = []
        self.same_inputs: dict[int, int] = {}
        self.naming = Naming()
        self._fake_class = library.fake_class
        self._relaid = (
            False  # an operand's value in the graph lies otherwise in memory than the user's tensor
        )
        # How Python functions given to control-flow operators are run; a front end that does not run Python natively replaces it.
        self.invoke: Callable[[Callable[..., Any], tuple[Any, ...]], Any] = lambda function, args: function(
            *args
        )

    # ---- values ----

    def node_meta(self, val: Any) -> dict[str, Any]:
        """What every node carries."""
        return {"val": val, "nn_module_stack": self.modules_now(), "location": self.locate()}

    def fake_of(self, value: Any) -> FakeTensor:
        """The fake that stands for a tensor of this trace: itself, or the lifted real tensor."""
        if issubclass(type(value), FakeTensor):
            return self._own(value)
        return self.state.fake_of(value)

    def _own(self, fake: FakeTensor) -> FakeTensor:
        if fake.tracer is not self:
            from dynamo_lite.trace.errors import FOREIGN_FAKE

            raise FOREIGN_FAKE(location=self.locate())
        return fake

    def value(self, meta: TensorMeta, node: Node, alias: Alias | None = None) -> FakeTensor:
        """A new fake tensor of the library's kind."""
        return self._fake_class(self, meta, node, "value", None, alias)

    def outputs_of(self, op: HigherOrderOperator, node: Node, metas: tuple[Any, ...]) -> list[Any]:
        """Fakes for what control flow returns; plain parts as they are.

        Outside, it is one operator: each floating-point result requires gradients if one of its operands does.
        """
        if self.definitions.expected:
            self.definitions.made(metas, node)
        given = [source.meta.get("val") for source in node.all_input_nodes]
        follows = modes.grad_enabled() and any(
            isinstance(meta, TensorMeta) and meta.requires_grad for meta in given
        )
        outputs: list[Any] = []
        for index, meta in enumerate(metas):
            if isinstance(meta, (int, float, bool, type(None))):
                outputs.append(meta)
                continue
            part = self.level.graph.call_function(getitem, (node, index), meta=self.node_meta(meta))
            if isinstance(meta, TensorMeta):
                known = meta.requiring(follows and meta.dtype.category >= FLOATING)
                outputs.append(self.value(known, self.gradients.sever(op, part)))
            else:
                self.level.sizes.define(meta.expr, part)
                outputs.append(meta)
        return outputs

    def branch_size(self, first: Any, second: Any) -> Any:
        """A size that is one of two, depending on the branch taken: an unbacked one."""
        return self.unbacked(f"{first!r} or {second!r}")  # repr: the text of a size adds no guard

    def node_of(self, fake: FakeTensor) -> Node:
        """The node that holds the fake's present value, as known in the graph being recorded."""
        node = functionalize.current(fake, self.writes)
        return node if node.graph is self.level.graph else self.level.own(node)

    # ---- questions that the contract answers for ----

    def looked(self, what: dispatch.Asked) -> None:
        """The program asked for strides, for ``requires_grad`` and the like."""
        if what not in self.asked and not (what == "mode" and modes.is_fixed()):
            self.asked[what] = self.locate()

    def read_setting(self, function: Callable[[], Any]) -> Any:
        """A setting of the process was asked for: what it was found to be is a condition."""
        value = function()
        path = f"the setting that {self.library.name}.{function.__name__}() tells"
        self.settings.note(path, function, value, self.locate)
        return value

    def identical(self, left: FakeTensor | None, right: FakeTensor | None) -> bool:
        """``left is right``; where two inputs are asked, the answer joins the contract."""
        if left is right:
            return True
        places = {id(item.fake): index for index, item in enumerate(self.inputs)}
        first, second = places.get(id(left)), places.get(id(right))
        if first is None or second is None:
            return False
        first, second = sorted((first, second))
        if self.inputs[first].example is self.inputs[second].example:
            self.same_inputs[second] = first
            return True
        distinct = Distinct(first, second, self.locate())
        if all((d.first, d.second) != (first, second) for d in self.distinct_inputs):
            self.distinct_inputs.append(distinct)
        return False

    def class_of(self, fake: FakeTensor) -> type:
        """The class of the tensor that ``fake`` stands for; of an input it joins the contract."""
        if fake.kind == "input":
            self.looked("class")
            return next(type(item.example) for item in self.inputs if item.fake is fake)
        return fake.library_class

    # ---- unbacked numbers (fx_ir.fake_context) ----

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        """A new unbacked number, defined by the node that is being recorded."""
        bound = max if isinstance(max, int) else None
        made = self.env.unbacked(source, cast('Literal["int", "float", "bool"]', kind), min, bound)
        self.definitions.expect(str(made.expr), made)
        if max is not None and bound is None:
            self.env.check(made <= max)  # holds by construction: nothing to assert at run time
        return made

    # ---- operators ----

    def call(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Applies ``op`` to fakes, real tensors, symbols and plain values, and records it."""
        if op.is_inplace:
            return self.writes.in_place(op, args, kwargs)
        if op.lower is not None:
            lowered = op.lower(self.apply, self.write, *args, **kwargs)
            if lowered is not NotImplemented:
                return lowered
        parents: list[FakeTensor] = []
        metas: list[Any] = []
        values: list[Any] = []
        self._relaid = False
        for arg in args:
            if type(arg) in _PLAIN:
                metas.append(arg)
                values.append(arg)
            else:
                meta, value = self._operand(arg, parents)
                metas.append(meta)
                values.append(value)
        keyword_metas: dict[str, Any] = {}
        keyword_values: dict[str, Any] = {}
        for name, arg in kwargs.items():
            if type(arg) in _PLAIN:
                keyword_metas[name] = keyword_values[name] = arg
            else:
                keyword_metas[name], keyword_values[name] = self._operand(arg, parents)
        env = self.env
        before, env.origin = env.origin, op.qualified
        try:
            result = infer(op, tuple(metas), keyword_metas, modes.grad_enabled())
        finally:
            env.origin = before
        short, keywords = op.without_defaults(tuple(values), keyword_values)
        recorded = result
        if self._relaid and not self.definitions.expected:
            # What users are told keeps the layout that eager has; the graph's values are described as they lie there.
            held = [map_nodes(value, _val) for value in values]
            named = {name: map_nodes(value, _val) for name, value in keyword_values.items()}
            with suppress(
                RuntimeError
            ):  # a view that eager has and this layout has not: kernels make it all the same
                recorded = infer(op, tuple(held), named, modes.grad_enabled())
            result = result if type(result) is TensorMeta else recorded
        node = self.level.graph.call_function(op, short, keywords, meta=self.node_meta(recorded))
        if self.definitions.expected:
            self.definitions.made(result, node)
        if type(result) is TensorMeta:
            made = node if modes.grad_enabled() else self.gradients.sever(op, node)
            if op.view is None:
                return self._fake_class(self, result, made)
            alias = self._alias(op, result, parents, metas, args, kwargs, None)
            self.gradients.note_view(alias, made is not node)
            return self.value(result, made, alias)
        return self._wrap(op, result, node, parents, metas, args, kwargs)

    def _operand(self, arg: Any, parents: list[FakeTensor]) -> tuple[Any, Any]:
        """``(what the fake rule sees, what the node holds)``."""
        kind = type(arg)
        if kind in _PLAIN:
            return arg, arg
        if issubclass(kind, FakeTensor):
            parents.append(arg)
            meta, node = self._own(arg).meta, self.node_of(arg)
            held = node.meta["val"]
            if held is not meta and not (held.is_plain and meta.is_plain):
                self._relaid = True
            return meta, node
        if issubclass(kind, _SYMBOLIC):
            return arg, self.level.sizes.of(arg.expr)
        if issubclass(kind, (list, tuple)):
            pairs = [self._operand(item, parents) for item in arg]
            return [meta for meta, _ in pairs], [value for _, value in pairs]
        if self.library.is_tensor(arg):
            return self._operand(self.state.fake_of(arg), parents)
        return arg, self.library.plain(arg)

    def _alias(
        self,
        op: Operator,
        result: TensorMeta,
        parents: list[FakeTensor],
        metas: list[Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        index: int | None,
    ) -> Alias | None:
        if not parents:
            return None
        asks = op.maybe_view
        if (
            op.name == "as_strided"
        ):  # it counts in the memory of what the caller gave, of which an update is a copy
            root: Any = functionalize.root_of(parents[0])
            if root.kind == "input" and root.memory.generation:
                self.looked("layout")
                self.looked("offset")
        if asks is None:
            return Alias(parents[0], op, args[1:], kwargs, index)

        def shares() -> bool:
            if op.name in _VIEW_BY_LAYOUT:  # whether two values share memory is a question of strides
                self.looked("layout")
            return bool(asks(result, *metas, **kwargs))

        return Alias(parents[0], op, args[1:], kwargs, index, shares)

    def _wrap(
        self,
        op: Operator,
        result: Any,
        node: Node,
        parents: list[FakeTensor],
        metas: list[Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        if not isinstance(result, (tuple, list)):
            return result
        outputs: list[Any] = []
        for index, meta in enumerate(result):
            if not isinstance(meta, TensorMeta):
                outputs.append(meta)
                continue
            part = self.level.graph.call_function(getitem, (node, index), meta=self.node_meta(meta))
            made = part if modes.grad_enabled() else self.gradients.sever(op, part)
            alias = None if op.view is None else self._alias(op, meta, parents, metas, args, kwargs, index)
            self.gradients.note_view(alias, made is not part)
            outputs.append(self.value(meta, made, alias))
        return tuple(outputs) if isinstance(result, tuple) else outputs

    def apply(self, qualified: str, *args: Any, **kwargs: Any) -> Any:
        """Calls an operator by qualified name with arguments as a user would give them."""
        op = find(qualified)
        return self.call(op, *op.bind(args, kwargs))

    # ---- mutation ----

    def check_out(self, name: str, targets: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raises ``reads-what-it-writes`` for tensors given as ``out`` that share memory with operands or each other."""
        overlap.check_out(self, name, targets, args, kwargs)

    def write(self, target: Any, value: Any, idempotent: bool = False) -> None:
        """Makes ``value`` the content of ``target``; see :meth:`Writes.write`."""
        self.writes.write(target, value, idempotent)

    # ---- facts ----

    def check(self, condition: Any, message: Any = None) -> None:
        """``torch._check``: a fact about unbacked sizes becomes an inline assertion, one about backed sizes a guard.

        ``message`` is a text or a function that makes one; sizes in it are shown as expressions and add no guard.
        """
        if is_tensor(condition):
            condition = condition.item()
        if isinstance(condition, SymBool):
            text = self._text(message)
            if self.env.check(condition, text):
                node = self.level.sizes.of(condition.expr)
                args = (node, text or f"expected {condition.expr}")
                self.level.graph.call_function(OPS["aten::_assert_scalar"], args, meta=self.node_meta(None))
        elif not condition:
            if self.env.facts or self.env.scopes:
                self.env.check(False, self._text(message))
            raise RuntimeError(self._text(message) or "Expected cond to be True, but got False")

    def known(self, tensor: Any) -> Any:
        """The number that a tensor of one element is known to hold without a look at data, or None."""
        made = self.state.made
        literals = {e.placeholder: made[id(e.tensor)] for e in self.state.entries if id(e.tensor) in made}
        return known_number(self.node_of(self.fake_of(tensor)), literals)

    def going_on(self, condition: Any) -> bool | None:
        """The outcome of a decision on data with which the program goes on, the other being asserted away; None for a real one.

        ``condition`` is a symbolic boolean or a tensor of one element.
        """
        found = self.outcome()
        if found is None:
            return None
        if isinstance(condition, SymBool):
            self.check(condition if found.goes_on else sym_not(condition), found.message)
        else:
            holds = condition if found.goes_on else self.apply("aten::logical_not", condition)
            self.apply("aten::_assert_async.msg", holds, found.message or "Assertion failed")
        return found.goes_on

    def _text(self, message: Any) -> str | None:
        if not callable(message):
            return None if message is None else str(message)
        self.env.quoting = True
        try:
            return str(self.invoke(message, ()))
        finally:
            self.env.quoting = False
