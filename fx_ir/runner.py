"""A program made callable: it checks its inputs, runs on a tensor library, and carries its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fx_ir.apart import overlap
from fx_ir.backend import Backend, get_backend
from fx_ir.contract import TensorLeaf
from fx_ir.errors import STATE_MISMATCH, STATE_UNKNOWN, TRAINING_FIXED
from fx_ir.executor import compile_graph
from fx_ir.functionalize import viewed
from fx_ir.graph import Graph, GraphModule
from fx_ir.guard_errors import MODE, STATE_SHARED
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.registry import Operator
from fx_ir.provenance import GRADIENT_MODE
from fx_ir.pytree import LEAF_SPEC, TreeSpec, tree_unflatten
from fx_ir.signature import InputKind, OutputKind

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

_INTERNAL: Final = frozenset(
    {"program", "graph_module", "_backend", "_plan", "_state", "_check", "_flatten", "_run", "_mode"}
)


@dataclass(frozen=True, slots=True)
class Update:
    """A leading output that updates state: of a buffer (its name) or of a user input (its leaf's index).

    ``copies`` says that the value may share memory with an input of the graph, so that it is copied before it is kept.
    """

    target: str | int
    copies: bool


# A user output: of the module, the inputs, the native value and all that the graph returned.
Show = Callable[["ProgramModule", Sequence[Any], Any, Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the flat graph's inputs and outputs map to what users see; made once a program."""

    state: tuple[str, ...]  # qualified names behind the leading placeholders
    tensors: tuple[int, ...]  # which leaves are tensors
    updates: tuple[Update, ...]
    outputs: tuple[Show, ...]
    same: tuple[tuple[int, int], ...]  # outputs that are the object of an earlier one
    rebuild: Callable[[list[Any]], Any]
    inputs: tuple[str, ...]  # the user's inputs, as users call them

    def shown(self, module: Any, leaves: Sequence[Any], results: Sequence[Any]) -> Any:
        """What the caller is given. ``module`` has the backend and the state by name (``_backend``, ``_state``)."""
        outputs = results[len(self.updates) :]
        made = [
            show(module, leaves, value, results) for show, value in zip(self.outputs, outputs, strict=True)
        ]
        for index, earlier in self.same:
            made[index] = made[earlier]
        return self.rebuild(made)

    def kept(
        self, backend: Backend, state: Sequence[Any], given: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """What the graph is run on: what is updated afterwards, as a backward pass may keep it."""
        state, given = list(state), list(given)
        for update in self.updates:
            target = update.target
            if isinstance(target, int):
                given[target] = backend.kept(given[target])
            else:
                place = self.state.index(target)
                state[place] = backend.kept(state[place])
        return state, given

    def check_apart(self, backend: Backend, state: Sequence[Any], given: Sequence[Any]) -> None:
        """Raises ``state-shared`` where a tensor that the program updates shares memory with another."""
        count = len(self.state)
        places = [*range(count), *[count + index for index in self.tensors]]
        spans = [backend.span(state[place] if place < count else given[place - count]) for place in places]
        written = {
            count + each.target if isinstance(each.target, int) else self.state.index(each.target)
            for each in self.updates
        }
        found = overlap(spans, [index for index, place in enumerate(places) if place in written])
        if found is not None:
            names = [*self.state, *self.inputs]
            first, second = (names[places[index]] for index in found)
            raise STATE_SHARED(written=first, other=second)


class ProgramModule:
    """The runnable form of a program.

    Parameters are the program's own tensors; a buffer is replaced by a tensor of this module at its first update, so
    that two modules of one program do not see each other's. ``module.state_dict()`` and attributes
    (``module.lin.weight``) show the state as it is now. It may be called from several threads as long as the program
    updates no state (:attr:`updates_state`).
    """

    def __init__(self, program: ExportedProgram, backend: str | None = None) -> None:
        self.program = program
        self.graph_module: GraphModule = program.graph_module
        self._backend = program.backend if backend is None else get_backend(backend)
        self._plan = make_plan(program)
        self._mode = _mode_asked(program, self._backend)
        self._state = _converted_state(program, self._backend)
        compiled = program.contract.compiled()
        self._flatten = compiled.flatten
        self._check = compiled.checker(self._backend)
        self._run = compile_graph(program.graph_module, self._backend).run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program. Raises GuardError for inputs outside the contract, and for a mode around that changes kernels."""
        self._backend.check_around()
        if self._mode is not None and self._backend.grad_enabled() is not self._mode:
            raise MODE(expected=_ON[self._mode], given=_ON[not self._mode])
        leaves = self._flatten(args, kwargs)
        self._check(leaves)
        return self._call_checked(leaves)

    forward = __call__

    def _call_checked(self, leaves: Sequence[Any]) -> Any:
        plan, backend = self._plan, self._backend
        unwrap, state = backend.unwrap, self._state
        natives = [unwrap(state[name]) for name in plan.state]
        given = list(leaves)
        for index in plan.tensors:
            given[index] = unwrap(given[index])
        if plan.updates:
            plan.check_apart(backend, natives, given)
            natives, given = plan.kept(backend, natives, given)
        results = self._run(*natives, *given)
        if plan.updates:
            self._update(results, leaves, [*natives, *given])
        return plan.shown(self, leaves, results)

    def _update(self, results: Sequence[Any], leaves: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Keeps the new buffers and copies the new values of mutated inputs back into them."""
        backend, state = self._backend, self._state
        pending: list[tuple[Update, Any]] = []
        for update, native in zip(self._plan.updates, results, strict=False):
            tensor = backend.wrap(native, None)
            # All copies are taken before the first write: a value may be another state's old content.
            shares = update.copies or any(native is value for value in inputs)
            pending.append((update, backend.snapshot(tensor) if shares else tensor))
        for update, tensor in pending:
            if isinstance(update.target, int):
                backend.assign(leaves[update.target], backend.unwrap(tensor))
            else:
                before = state[update.target]
                for tied in [name for name, value in state.items() if value is before]:
                    state[tied] = tensor

    @property
    def updates_state(self) -> bool:
        """True when a call changes a buffer or an input."""
        return bool(self._plan.updates)

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    def print_readable(self, print_output: bool = True) -> str:
        return self.graph_module.print_readable(print_output)

    # --- state -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers as they are now."""
        return {name: self._state[name] for name in self.program.state_dict}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Replaces parameters and persistent buffers of this module. Raises ``state-unknown`` or ``state-mismatch``."""
        known = self.program.state_dict
        missing = [name for name in known if name not in state_dict]
        surplus = [name for name in state_dict if name not in known]
        if strict and (missing or surplus):
            raise STATE_UNKNOWN(
                name=", ".join(missing or surplus), problem="missing" if missing else "not in the program"
            )
        for name, tensor in state_dict.items():
            if name in known:
                self._set(name, tensor)

    def parameters(self) -> Iterator[Any]:
        return (tensor for _, tensor in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((name, self._state[name]) for name in self.program.graph_signature.parameters)

    def buffers(self) -> Iterator[Any]:
        return (tensor for _, tensor in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        return ((name, self._state[name]) for name in self.program.graph_signature.buffers)

    def _set(self, name: str, tensor: Any) -> None:
        backend = self._backend
        if not backend.is_tensor(tensor):
            raise STATE_MISMATCH(name=name, expected="a tensor", given=type(tensor).__name__)
        old, new = backend.describe(self._state[name]), backend.describe(tensor)
        if old.dtype is not new.dtype or tuple(old.shape) != tuple(new.shape):
            raise STATE_MISMATCH(name=name, expected=repr(old), given=repr(new))
        before = self._state[name]
        for tied in [key for key, value in self._state.items() if value is before]:
            self._state[tied] = tensor

    def __getattr__(self, name: str) -> Any:
        if name in _INTERNAL:
            raise AttributeError(name)
        return _look_up(self, "", name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _INTERNAL:
            object.__setattr__(self, name, value)
        elif name in self._state:
            self._set(name, value)
        else:
            raise STATE_UNKNOWN(name=name, problem="not in the program")

    def train(self, mode: bool = True) -> None:
        """An exported program is fixed in one mode. Raises ``training-fixed``."""
        raise TRAINING_FIXED()

    eval = train


def _mode_asked(program: ExportedProgram, backend: Backend) -> bool | None:
    """The gradient mode that the program asked for, which another library has none of; None where it did not ask."""
    if backend is not program.backend:
        return None
    found = [each.expected for each in program.assumptions if each.path == GRADIENT_MODE]
    return found[0] if found else None


_ON: Final = {True: "on", False: "off"}


class StateView:
    """The part of a module's state below a prefix: ``module.encoder`` of ``module.encoder.weight``."""

    def __init__(self, module: ProgramModule, prefix: str) -> None:
        self._module = module
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        return _look_up(self._module, f"{self._prefix}.", name)

    def __repr__(self) -> str:
        return f"<state of {self._prefix}>"


def _look_up(module: ProgramModule, prefix: str, name: str) -> Any:
    path = f"{prefix}{name}"
    if path in module._state:
        return module._state[path]
    if any(key.startswith(f"{path}.") for key in module._state):
        return StateView(module, path)
    raise AttributeError(f"the program has no parameter, buffer or constant {path!r}")


# --- the plan ----------------------------------------------------------------------------------------------------------


def make_plan(program: ExportedProgram) -> Plan:
    """Reads the signature once."""
    signature = program.graph_signature
    state = tuple(
        s.target for s in signature.input_specs if s.kind is not InputKind.USER_INPUT and s.target is not None
    )
    users = [s.arg.name for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    tensors = tuple(i for i, leaf in enumerate(program.contract.leaves) if isinstance(leaf, TensorLeaf))
    held = list(program.graph.output_node().args[0])
    updates: list[Update] = []
    updated: dict[Node, Update] = {}
    shows: list[Show] = []
    placeholders = {s.arg.name: s for s in signature.input_specs}
    for spec, node in zip(signature.output_specs, held, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            shows.append(_show(node, updated, placeholders, users))
            continue
        assert spec.target is not None
        target = users.index(spec.target) if spec.kind is OutputKind.USER_INPUT_MUTATION else spec.target
        update = Update(target, _may_share_input(node))
        updates.append(update)
        updated[node] = update
    names = tuple(leaf.path for leaf in program.contract.leaves)
    rebuild = _rebuilder(program.call_spec.out_spec)
    return Plan(state, tensors, tuple(updates), tuple(shows), _repeated(held[len(updates) :]), rebuild, names)


def _show(
    node: Any, updated: Mapping[Node, Update], placeholders: Mapping[str, Any], users: list[str]
) -> Show:
    """How a user output is shown: an input or state that is returned is that very object, the rest is wrapped."""
    if not isinstance(node, Node) or not isinstance(node.meta.get("val"), TensorMeta):
        return lambda module, leaves, native, results: native
    update = updated.get(node)
    if update is not None:
        target = update.target
        if isinstance(target, int):
            return lambda module, leaves, native, results: leaves[target]
        return lambda module, leaves, native, results: module._state[target]
    val = node.meta["val"]
    whole = _updated_whole(node, updated)
    if whole is not None:
        return _show_part(val, list(updated).index(whole), updated[whole].target)
    root = _root(node)
    spec = placeholders.get(root.name) if root is not None else None
    if spec is not None and root is node:
        if spec.kind is InputKind.USER_INPUT:
            index = users.index(node.name)
            return lambda module, leaves, native, results: leaves[index]
        name = spec.target
        if all(change.target != name for change in updated.values()):
            return lambda module, leaves, native, results: module._state[name]
    return lambda module, leaves, native, results: module._backend.wrap(native, val)


def _repeated(outputs: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    """Each output that is the node of an earlier one, with that one's index."""
    first: dict[Node, int] = {}
    return tuple(
        (index, first[node])
        for index, node in enumerate(outputs)
        if isinstance(node, Node) and first.setdefault(node, index) != index
    )


def _updated_whole(node: Node, updated: Mapping[Node, Update]) -> Node | None:
    """The new value of an input or of state that an output may share memory with: both are views of one value, or it is that."""
    roots = {viewed(whole): whole for whole in updated}
    return roots.get(viewed(node))


def _show_part(val: TensorMeta, position: int, target: str | int) -> Show:
    """A view of what has been updated is a view of what users hold, not of the value that was copied into it."""

    def show(module: ProgramModule, leaves: Sequence[Any], native: Any, results: Sequence[Any]) -> Any:
        backend = module._backend
        held = leaves[target] if isinstance(target, int) else module._state[target]
        part = backend.part_of(native, results[position], held)
        return backend.wrap(native, val) if part is None else part

    return show


def _root(node: Any) -> Node | None:
    """The placeholder that a value is, or may be a view of; None for what is computed anew."""
    while isinstance(node, Node):
        if node.op == "placeholder":
            return node
        if not isinstance(node.target, Operator) or node.target.view is None:
            return None
        node = node.args[0] if node.args else None
    return None


def _may_share_input(node: Any) -> bool:
    """True when a value is a placeholder, or a view of one, or comes out of a branch that may return one."""
    if _root(node) is not None:
        return True
    while isinstance(node, Node) and node.op == "call_function":
        if isinstance(node.target, HigherOrderOperator):
            return True
        if isinstance(node.target, Operator) and node.target.view is None:
            return False
        node = node.args[0] if node.args else None
    return False


def _rebuilder(spec: TreeSpec) -> Callable[[list[Any]], Any]:
    if spec.type is None:
        return lambda leaves: leaves[0]
    if all(child is LEAF_SPEC for child in spec.children_specs):
        if spec.type is tuple:
            return tuple
        if spec.type is list:
            return list
        if spec.type is dict:
            keys = list(spec.context)
            return lambda leaves: dict(zip(keys, leaves, strict=True))
    return lambda leaves: tree_unflatten(leaves, spec)


def _converted_state(program: ExportedProgram, target: Backend) -> dict[str, Any]:
    """The state as tensors of a library: the very objects where it is the program's own; tied ones stay tied."""
    state = {**program.state_dict, **program.constants}
    source = program.backend
    if source.name == target.name:
        return state
    parameters = set(program.graph_signature.parameters)
    converted: dict[int, Any] = {}
    for name, tensor in state.items():
        if id(tensor) not in converted:
            array = source.to_numpy(tensor)
            meta = source.describe(tensor)
            converted[id(tensor)] = target.from_numpy(array, meta, parameter=name in parameters)
    return {name: converted[id(tensor)] for name, tensor in state.items()}
