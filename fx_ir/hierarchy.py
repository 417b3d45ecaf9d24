"""A flat graph as the calls of modules that it came from: the nested regions of its module stacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fx_ir.errors import HIERARCHY_SPLIT
from fx_ir.graph import Graph
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, nodes_in
from fx_ir.ops.registry import Operator
from fx_ir.signature import ArgumentSpec, ExportGraphSignature, InputKind, ModuleCallSignature, OutputKind
from solver.expr import Expr
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram


@dataclass(slots=True, eq=False)
class Region:
    """One call of a module: what it computes, in order, and what passes its border.

    ``label`` names the call (``encoder@1``), ``path`` the module. ``inputs`` are the nodes from outside that it uses, state apart,
    ``outputs`` those of its own that are used outside. ``updates`` are the buffers whose new value it computes itself.
    ``dead[i]`` may be forgotten after step ``i``.
    """

    label: str
    class_name: str
    steps: list[Node | Region] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    updates: list[tuple[str, Node]] = field(default_factory=list)
    dead: list[list[Node]] = field(default_factory=list)
    signature: ModuleCallSignature | None = None

    @property
    def path(self) -> str:
        return self.label.partition("@")[0]

    def regions(self) -> Iterator[Region]:
        """This call and those inside it."""
        yield self
        for step in self.steps:
            if isinstance(step, Region):
                yield from step.regions()

    def tensor_inputs(self) -> list[Node]:
        """The inputs that hold tensors: what the module takes where its own signature is not kept."""
        return [node for node in self.inputs if is_tensor_node(node)]

    def tensor_outputs(self) -> list[Node]:
        """The outputs that hold tensors: what it returns then."""
        return [node for node in self.outputs if is_tensor_node(node)]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The root's region, calls that compute nothing, which node holds which state, and the graph's nodes by name."""

    root: Region
    idle: list[Region]
    state: dict[Node, str]
    nodes: dict[str, Node]


def is_tensor_node(node: Node) -> bool:
    """True for what is no size and no number."""
    return not isinstance(node.meta.get("val"), (SymInt, SymFloat, SymBool, int, float, bool))


def hierarchy(program: ExportedProgram) -> Hierarchy:
    """The calls of modules behind a program. Raises ``hierarchy-split`` where a call's operators do not lie together."""
    graph = program.graph
    nodes = {node.name: node for node in graph.nodes}
    signature = program.graph_signature
    state = {
        nodes[s.arg.name]: s.target
        for s in signature.input_specs
        if s.kind is not InputKind.USER_INPUT and s.target is not None
    }
    root = _regions(graph)
    kept = {
        entry.fqn: entry.signature for entry in program.module_call_graph if entry.fqn and entry.signature
    }
    updates, results = _results(graph, signature)
    for region in root.regions():
        region.signature = kept.pop(region.label, None)
        own = [step for step in region.steps if isinstance(step, Node)]
        region.updates = [(name, step) for step in own for name in updates.get(step, ())]
    idle = [Region(label, "", signature=kept[label]) for label in kept]
    _inputs(root, state, nodes)
    _outputs(root, results, nodes)
    return Hierarchy(root, idle, state, nodes)


def _results(graph: Graph, signature: ExportGraphSignature) -> tuple[dict[Any, list[str]], set[Node]]:
    """New values of buffers by node, and the nodes that leave the program otherwise."""
    updates: dict[Any, list[str]] = {}
    results: set[Node] = set()
    for node, spec in zip(graph.output_node().args[0], signature.output_specs, strict=True):
        if not isinstance(node, Node):
            continue
        if spec.kind is OutputKind.BUFFER_MUTATION and node.op == "call_function" and spec.target is not None:
            updates.setdefault(node, []).append(spec.target)
        else:
            results.add(node)
    return updates, results


def _named(
    signature: ModuleCallSignature | None, nodes: dict[str, Node], side: Literal["inputs", "outputs"]
) -> set[Node]:
    """The nodes that a kept signature takes or returns."""
    arguments: list[ArgumentSpec] = [] if signature is None else getattr(signature, side)
    return {nodes[arg.name] for arg in arguments if arg.name in nodes}


def _regions(graph: Graph) -> Region:
    root = Region("", "")
    running, ended = [root], set[str]()
    home: dict[Node, list[Region]] = {}
    for node in graph.nodes:
        if node.op not in ("call_function", "get_attr"):
            continue
        if _reads_size(node):
            home[node] = _place(node, running, home)
            continue
        # A branch graph is fetched where it is used.
        placed = next(iter(node.users), node) if node.op == "get_attr" else node
        stack = [entry for entry in placed.meta.get("nn_module_stack") or () if entry[0]]
        shared = 0
        while shared < min(len(stack), len(running) - 1) and running[shared + 1].label == stack[shared][0]:
            shared += 1
        ended.update(region.label for region in running[shared + 1 :])
        del running[shared + 1 :]
        for label, class_name in stack[shared:]:
            if label in ended:
                raise HIERARCHY_SPLIT(name=label, node=node.name, location=node.meta.get("location"))
            region = Region(label, class_name)
            running[-1].steps.append(region)
            running.append(region)
        running[-1].steps.append(node)
        home[node] = list(running)
    return root


def _reads_size(node: Node) -> bool:
    return isinstance(node.target, Operator) and node.target.name == "sym_size"


def _place(node: Node, running: list[Region], home: dict[Node, list[Region]]) -> list[Region]:
    """Puts the reading of a size where its tensor is at hand, so that a module which uses the size does not need the tensor."""
    tensor: Any = node.args[0]
    place = 0
    for mine, its in zip(running[1:], home.get(tensor, [])[1:], strict=False):
        if mine is not its:
            break
        place += 1
    steps = running[place].steps
    # The region that is running inside is the last step: it may use the size.
    steps.insert(len(steps) - (place + 1 < len(running)), node)
    return running[: place + 1]


def _inputs(region: Region, state: dict[Node, str], nodes: dict[str, Node]) -> set[Node]:
    """Fills in the inputs of a region and of those inside; returns what it computes."""
    computed: set[Node] = set()
    used: dict[Node, None] = {}
    for step in region.steps:
        if isinstance(step, Region):
            computed |= _inputs(step, state, nodes)
            used |= dict.fromkeys(step.inputs)
        else:
            computed.add(step)
            used |= dict.fromkeys(node for node in nodes_in((step.args, step.kwargs)) if node not in state)
    for node in [*_named(region.signature, nodes, "inputs"), *_named(region.signature, nodes, "outputs")]:
        if node not in state:
            used[node] = None
    region.inputs = [node for node in used if node not in computed]
    return computed


def _outputs(region: Region, outside: set[Node], nodes: dict[str, Node]) -> None:
    """Fills in what leaves a region and those inside, and when values are used last; ``outside`` are used outside it."""
    needs = [
        step.inputs if isinstance(step, Region) else list(nodes_in((step.args, step.kwargs)))
        for step in region.steps
    ]
    counts = Counter(node for need in needs for node in set(need))
    own = {node for _, node in region.updates} | _named(region.signature, nodes, "outputs")
    for step, need in zip(region.steps, needs, strict=True):
        if isinstance(step, Region):
            elsewhere = {node for node, count in counts.items() if count > (node in need)}
            _outputs(step, outside | elsewhere | own, nodes)
            region.outputs += [node for node in step.outputs if node in outside]
        elif step in outside:
            region.outputs.append(step)
    made: set[Node] = set()
    for step in region.steps:
        made.update(step.outputs if isinstance(step, Region) else [step])
    seen: set[Node] = outside | own
    for step, need in zip(reversed(region.steps), reversed(needs), strict=True):
        here = [*need, *(step.outputs if isinstance(step, Region) else [step])]
        gone = [node for node in dict.fromkeys(here) if node in made and node not in seen]
        seen.update(gone)
        region.dead.append(gone)
    region.dead.reverse()


# --- sizes -------------------------------------------------------------------------------------------------------------


def find_size(expr: Expr, tensors: Iterable[Node]) -> tuple[Node, int] | None:
    """A tensor and a dimension of it whose size is ``expr``."""
    for node in tensors:
        val = node.meta.get("val")
        if isinstance(val, TensorMeta):
            for dim, size in enumerate(val.shape):
                if isinstance(size, SymInt) and size.expr is expr:
                    return node, dim
    return None


def derive_size(
    node: Node,
    tensors: list[Node],
    given: Callable[[Node], Any],
    known: dict[Node, Any],
    call: Callable[..., Any],
) -> Any:
    """The value of a size that a module uses, from the tensors that it is given; KeyError where they do not tell.

    ``given`` maps a tensor's node to the tensor, ``call(node, args)`` computes a node of size arithmetic.
    """
    if node in known:
        return known[node]
    val = node.meta.get("val")
    found = find_size(val.expr, tensors) if isinstance(val, (SymInt, SymFloat, SymBool)) else None
    if found is not None:
        return given(found[0]).shape[found[1]]
    if node.op != "call_function" or any(is_tensor_node(used) for used in nodes_in((node.args, node.kwargs))):
        raise KeyError(node.name)
    args = [
        derive_size(arg, tensors, given, known, call) if isinstance(arg, Node) else arg for arg in node.args
    ]
    return call(node, args)
