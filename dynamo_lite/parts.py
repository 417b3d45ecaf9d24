"""Parts of an unflattened program: modules that walk the operators which a call left in the graph."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.library import TensorLibrary
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.trace.loop_functions import apply_higher_order
from dynamo_lite.ways_out import check
from fx_ir.errors import NO_SUCH_CALL, PART_ALONE, PART_INPUTS, PART_REPLACED, TRAINING_FIXED
from fx_ir.graph import GraphModule
from fx_ir.hierarchy import Hierarchy, Region, derive_size, is_tensor_node
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import OPS, Operator
from fx_ir.program import ExportedProgram
from fx_ir.purity import branch_modules
from fx_ir.pytree import tree_flatten, tree_map, tree_unflatten
from fx_ir.signature import ConstantArgument

Values = dict[Node, Any]
COPY: Final = OPS["aten::copy_"]


@dataclass(slots=True, eq=False)
class Unflattened:
    """What all parts of one unflattened program share; not copied with them."""

    ep: ExportedProgram
    library: TensorLibrary
    calls: Hierarchy
    regions: dict[str, list[Region]]
    tied: dict[str, tuple[str, ...]]  # all names of state that has several
    fixed: list[str]  # paths of modules whose calls the graph does not show
    modes: dict[str, bool]  # burned in, by path

    def state(self, node: Node, region: Region) -> str | None:
        """The name of the state that a node holds, as the module of ``region`` has it if it does."""
        name = self.calls.state.get(node)
        names = self.tied.get(name, ()) if name is not None else ()
        return next((each for each in names if each.rpartition(".")[0] == region.path), name)

    def write(self, target: Any, value: Any) -> None:
        """Makes ``value`` the content of ``target``, which is like it."""
        recorder: Any = dispatch.recorder()
        if recorder is None:
            self.library.apply(COPY, (target, value), {})
        else:
            recorder.write(self.library.bare(target), self.library.bare(value))

    def __deepcopy__(self, memo: dict[int, Any]) -> Unflattened:
        return self


@dataclass(slots=True, eq=False)
class Passed:
    """What a part running inside another gets besides its arguments, and gives besides its result."""

    module: Any
    region: Region
    values: Values
    outputs: Values = field(default_factory=dict)


_PASSED: ContextVar[Passed | None] = ContextVar("passed", default=None)


class Part:
    """What makes a module of the tensor library a part of an unflattened program."""

    def _become(self, program: Unflattened, path: str, root: Any) -> None:
        self._program = program
        self._path = path
        # In a tuple: the root is no submodule of its parts.
        self._root = (root,)
        self.training = program.modes.get(path, True)

    def train(self, mode: bool = True) -> Any:
        """Sets the flags of the modules below. Raises ``training-fixed`` where the program was exported in the other mode."""
        inside = f"{self._path}." if self._path else ""
        for path, fixed in self._program.modes.items():
            if (path == self._path or path.startswith(inside)) and fixed is not mode and self._ours(path):
                raise TRAINING_FIXED()
        return super().train(mode)  # type: ignore[misc]

    def _ours(self, path: str) -> bool:
        """False for what was put in a part's place."""
        try:
            held = operator.attrgetter(path)(self._root[0]) if path else self._root[0]
        except AttributeError:
            return False
        return isinstance(held, Part)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        passed = _PASSED.get()
        if passed is not None and passed.module is self:
            _PASSED.set(None)
            region, values, alone = passed.region, passed.values, False
        else:
            region, values, alone = self._first_call(), {}, True
        run = Run(self._program, self._root[0], region, values, alone)
        run.take(args, kwargs)
        run.steps()
        result = run.result()
        if not alone:
            assert passed is not None
            passed.outputs.update((node, run.values[node]) for node in region.outputs)
        return result

    def _first_call(self) -> Region:
        regions = self._program.regions.get(self._path)
        if not regions:
            raise NO_SUCH_CALL(name=self._path)
        return regions[0]

    def _get_name(self) -> str:
        regions = self._program.regions.get(self._path) or [self._program.calls.root]
        return regions[0].class_name or "UnflattenedModule"


class Run:
    """One pass over the operators of a call. ``alone``: the module was called by the user, not by the module around it."""

    def __init__(self, program: Unflattened, root: Any, region: Region, values: Values, alone: bool) -> None:
        self.program = program
        self.library = program.library
        self.root = root
        self.region = region
        self.values = values
        self.alone = alone
        self.given: list[Node] = []

    # --- arguments ---------------------------------------------------------------------------------------------------

    def take(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Binds what the module was called with."""
        kept = self.region.signature
        if kept is None:
            wanted = self.region.tensor_inputs()
            if kwargs or len(args) != len(wanted):
                names = ", ".join(node.name for node in wanted) or "nothing"
                raise PART_INPUTS(
                    name=self.region.label,
                    expected=f"{len(wanted)} tensors by position ({names})",
                    given=f"{len(args)} and the keywords {list(kwargs)}" if kwargs else str(len(args)),
                )
            self._bind(zip(wanted, args, strict=True))
            return
        leaves, spec = tree_flatten((args, kwargs))
        if spec != kept.in_spec:
            raise PART_INPUTS(name=self.region.label, expected=str(kept.in_spec), given=str(spec))
        nodes = self.program.calls.nodes
        for arg, leaf in zip(kept.inputs, leaves, strict=True):
            if isinstance(arg, ConstantArgument):
                if self.alone and not (type(leaf) is type(arg.value) and leaf == arg.value):
                    raise PART_INPUTS(name=self.region.label, expected=repr(arg.value), given=repr(leaf))
                continue
            node = nodes.get(arg.name)
            if node is None:
                continue
            before = self.values.get(node)
            if self.alone and node in self.given and self.library.bare(before) is not self.library.bare(leaf):
                raise PART_INPUTS(
                    name=self.region.label, expected="one and the same object twice", given="two objects"
                )
            self._bind([(node, leaf)])

    def _bind(self, pairs: Any) -> None:
        for node, value in pairs:
            if self.alone:
                self._check_kind(node, value)
            self.values[node] = value
            self.given.append(node)

    def _check_kind(self, node: Node, value: Any) -> None:
        """A tensor of the dtype and of the fixed sizes for which the program was made."""
        held = node.meta.get("val")
        if not isinstance(held, TensorMeta):
            return
        given = meta_of(value) if is_tensor(value) else None
        if (
            given is None
            or given.dtype is not held.dtype
            or len(given.shape) != len(held.shape)
            or any(
                type(size) is int and size != other
                for size, other in zip(held.shape, given.shape, strict=True)
            )
        ):
            shown = type(value).__name__ if given is None else str(given)
            raise PART_INPUTS(name=self.region.label, expected=str(held), given=shown)

    def value(self, node: Node) -> Any:
        """A value from outside the region: state, an argument, what the module around passed, or a size derived from arguments."""
        if node in self.values:
            return self.values[node]
        target = self.program.state(node, self.region)
        if target is not None:
            return operator.attrgetter(target)(self.root)
        if self.alone:
            try:
                size = derive_size(node, self.given, self.values.__getitem__, self.values, self._number)
            except KeyError:
                pass
            else:
                self.values[node] = size
                return size
        if not self.alone and node.op == "call_function" and not is_tensor_node(node):
            # A size that a module which has been replaced would have told.
            return self._node(node)
        raise PART_ALONE(name=self.region.label, problem=f"uses {node.name}, which is computed outside of it")

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self) -> None:
        """Computes everything in the region, and writes the buffers whose new values it has."""
        for step, dead in zip(self.region.steps, self.region.dead, strict=True):
            if isinstance(step, Region):
                self._call_part(step)
            else:
                self.values[step] = self._node(step)
            for node in dead:
                self.values.pop(node, None)
        for name, node in self.region.updates:
            self.program.write(operator.attrgetter(name)(self.root), self.values[node])

    def _call_part(self, region: Region) -> None:
        module = operator.attrgetter(region.path)(self.root)
        args, kwargs = self._arguments(region)
        ours = isinstance(module, Part) and module._root[0] is self.root
        passed = Passed(module, region, {node: self.value(node) for node in region.inputs}) if ours else None
        token = _PASSED.set(passed)
        try:
            result = self._called(module, args, kwargs)
        finally:
            _PASSED.reset(token)
        if passed is not None:
            self.values.update(passed.outputs)
        self._take_results(region, result)
        for node in region.outputs:
            if node not in self.values and is_tensor_node(node):
                raise PART_REPLACED(value=node.name, name=region.path)

    def _called(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``module(*args, **kwargs)``: under a trace the way the trace runs Python, as a module may be a user's."""
        recorder: Any = dispatch.recorder()
        if recorder is None:
            return module(*args, **kwargs)
        given = tree_map(self.library.bare, args)
        return self.library.dressed(recorder.invoke(functools.partial(module, **kwargs), given))

    def _arguments(self, region: Region) -> tuple[tuple[Any, ...], dict[str, Any]]:
        kept = region.signature
        if kept is None:
            return tuple(self.value(node) for node in region.tensor_inputs()), {}
        args, kwargs = tree_unflatten([self._argument(arg) for arg in kept.inputs], kept.in_spec)
        return args, kwargs

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, ConstantArgument):
            return arg.value
        node = self.program.calls.nodes.get(arg.name)
        return None if node is None else self.value(node)

    def _take_results(self, region: Region, result: Any) -> None:
        """What hooks and replacements returned counts, not what the part computed."""
        kept = region.signature
        if kept is None:
            wanted = region.tensor_outputs()
            values = [result] if len(wanted) == 1 else result if isinstance(result, (tuple, list)) else ()
            if len(values) != len(wanted):
                raise PART_REPLACED(value=f"{len(wanted)} tensors", name=region.path)
            self.values.update(zip(wanted, values, strict=True))
            return
        leaves, spec = tree_flatten(result)
        if spec != kept.out_spec:
            raise PART_REPLACED(value=f"a result like {kept.out_spec}", name=region.path)
        nodes = self.program.calls.nodes
        computed = set(region.outputs)
        for arg, leaf in zip(kept.outputs, leaves, strict=True):
            node = nodes.get(arg.name)
            if node in computed:
                self.values[node] = leaf
            elif not self._unchanged(arg, node, leaf):
                raise PART_REPLACED(value="the result that is its own argument or constant", name=region.path)

    def _unchanged(self, arg: Any, node: Node | None, leaf: Any) -> bool:
        """Whether a result that the graph does not take from the module is what the graph takes instead."""
        if isinstance(arg, ConstantArgument):
            return bool(type(leaf) is type(arg.value) and leaf == arg.value)
        if node is None or not is_tensor_node(node):
            return True
        if node not in self.values and node not in self.program.calls.state:
            return True  # the program does not use this result
        bare = self.library.bare
        return bare(leaf) is bare(self.value(node))

    def _node(self, node: Node) -> Any:
        if node.op == "get_attr":
            return None
        target = node.target
        args = map_nodes(node.args, self.value)
        kwargs = map_nodes(dict(node.kwargs), self.value)
        if isinstance(target, HigherOrderOperator):
            return _control_flow(self.program.library, node, args)
        return apply_node(self.library, target, args, kwargs)

    def _number(self, node: Node, args: Sequence[Any]) -> Any:
        return apply_node(self.library, node.target, tuple(args), {})

    # --- results -----------------------------------------------------------------------------------------------------

    def result(self) -> Any:
        """What the module returns."""
        kept = self.region.signature
        if kept is None:
            results = tuple(self.values[node] for node in self.region.tensor_outputs())
            return results[0] if len(results) == 1 else results
        return tree_unflatten([self._result(arg) for arg in kept.outputs], kept.out_spec)

    def _result(self, arg: Any) -> Any:
        if isinstance(arg, ConstantArgument):
            return arg.value
        node = self.program.calls.nodes.get(arg.name)
        if node is not None:
            return self.value(node)
        if self.alone:
            raise PART_ALONE(
                name=self.region.label, problem="returns a value that nothing in the program uses"
            )
        return None


def apply_node(library: TensorLibrary, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of one call of a graph, on tensors or on fakes."""
    if not isinstance(target, Operator):
        return NUMBER_OPS[target].function(*args, **kwargs)
    if target.namespace == "aten":
        if target.name == "sym_size":
            return args[0].shape[args[1]]
        if target.name == "_assert_scalar":
            return check(args[0], args[1] if len(args) > 1 else kwargs.get("assert_msg"))
        if target.name.startswith("sym_constrain_range"):
            low = 0 if target.name.endswith("_for_size") else None
            return _constrain(args[0], kwargs.get("min", low), kwargs.get("max"))
    return library.apply(target, args, kwargs)


def _constrain(size: Any, low: int | None, high: int | None) -> None:
    if low is not None:
        check(size >= low)
    if high is not None:
        check(size <= high)


def _control_flow(library: TensorLibrary, node: Node, args: tuple[Any, ...]) -> Any:
    branches = [_branch(library, module) for module in branch_modules(node)]
    rest = [value for index, value in enumerate(args) if index not in node.target.graph_args]
    return apply_higher_order(node.target.name, branches, rest)


def _branch(library: TensorLibrary, module: GraphModule) -> Callable[..., Any]:
    """A branch graph as a function of its operands."""

    def run(*operands: Any) -> Any:
        values: Values = dict(zip(module.graph.placeholders, operands, strict=True))
        for node in module.graph.nodes:
            if node.op == "call_function":
                args = map_nodes(node.args, values.get)
                kwargs = map_nodes(dict(node.kwargs), values.get)
                if isinstance(node.target, HigherOrderOperator):
                    values[node] = _control_flow(library, node, args)
                else:
                    values[node] = apply_node(library, node.target, args, kwargs)
        return map_nodes(module.graph.output_node().args[0], values.__getitem__)

    return run
