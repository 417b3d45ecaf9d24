"""``unflatten``: a program as a module hierarchy again, each module computing its part of the graph.

A module's ``forward`` walks the operators that its call left in the graph. It runs on tensors, and under ``export`` on fakes like any
other module. Where a module's own calling convention was kept (``preserve_module_call_signature``) it takes and returns what the
original did; elsewhere it takes the tensors that its part of the graph uses, in order of use, and returns those that others use.

A part called alone writes the buffers whose last update its first call makes; what a later call updates again it leaves. Operators
of hooks belong to the module around the one that they hang on. Arguments are not written: a part returns new values.
"""

from __future__ import annotations

import copy
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.library import TensorLibrary, library_for_backend
from dynamo_lite.parts import Part, Run, Unflattened
from fx_ir.contract_code import CheckWriter
from fx_ir.errors import ARCHIVE_ARGUMENT, PART_UNUSED
from fx_ir.hierarchy import Hierarchy, Region, hierarchy
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.node import Node
from fx_ir.program import ExportedProgram
from fx_ir.purity import branch_modules
from fx_ir.pytree import tree_unflatten
from fx_ir.signature import InputKind, OutputKind
from solver.sym import SymInt

# Which question about an input's metadata stands behind a fact of the contract.
_ASKED: Final[dict[str, dispatch.Asked]] = {
    "contiguous": "layout",
    "strides": "layout",
    "offset": "offset",
    "requires_grad": "grad",
    "class_name": "class",
}


def unflatten(ep: ExportedProgram) -> Any:
    """A module of the program's tensor library with the original's hierarchy, names and state (copied).

    ``unflatten(ep)(*args)`` checks its inputs and computes what ``ep.module()(*args)`` does; ``unflatten(ep).encoder`` is the
    part of the graph that came from the first call of ``encoder``. A module may be replaced by another that takes and returns the
    same. ``train`` and ``eval`` raise ``training-fixed`` where they would change a mode that is burned in. Raises :class:`InputError` for what is no program and :class:`UnsupportedError` where the graph no longer shows the calls.
    """
    if not isinstance(ep, ExportedProgram):
        raise ARCHIVE_ARGUMENT(
            function="unflatten", wanted="an ExportedProgram", given=f"a {type(ep).__name__}"
        )
    ep.backend  # noqa: B018  raises where the program's tensor library is not there
    library = library_for_backend(ep.backend_name)
    return _Builder(ep, library).module()


class Root(Part):
    """The whole program: its contract on the way in, updates of state and inputs on the way out."""

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        program, ep = self._program, self._program.ep
        for path in program.fixed:
            self._unmoved(path)
        leaves = ep.contract.compiled().flatten(args, kwargs)
        self._check(leaves)
        run = Run(
            program, self, program.calls.root, dict(zip(_user_nodes(program), leaves, strict=True)), False
        )
        run.steps()
        return self._results(run, leaves)

    def _unmoved(self, path: str) -> None:
        """A module whose calls the graph does not show cannot be replaced: nothing would call what is put there."""
        try:
            held = operator.attrgetter(path)(self)
        except AttributeError:
            held = None
        if not isinstance(held, Part) or held._root[0] is not self or held._path != path:
            raise PART_UNUSED(name=path)

    def _results(self, run: Run, leaves: Sequence[Any]) -> Any:
        program, ep = self._program, self._program.ep
        users = [s.arg.name for s in ep.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        shown: dict[Node, Any] = {}  # values that are updated inputs or buffers: users get those themselves
        results: list[Any] = []
        held = ep.graph.output_node().args[0]
        for spec, node in zip(ep.graph_signature.output_specs, held, strict=True):
            if not isinstance(node, Node):
                results.append(node)
            elif spec.kind is OutputKind.USER_OUTPUT:
                results.append(shown[node] if node in shown else run.value(node))
            elif spec.target is not None:
                updates_input = spec.kind is OutputKind.USER_INPUT_MUTATION
                target = (
                    leaves[users.index(spec.target)]
                    if updates_input
                    else operator.attrgetter(spec.target)(self)
                )
                if (
                    updates_input or node.op == "placeholder"
                ):  # other buffers were written where they were computed
                    program.write(target, run.value(node))
                shown[node] = target
        return tree_unflatten(results, ep.call_spec.out_spec)

    def _check(self, leaves: Sequence[Any]) -> None:
        ep, library = self._program.ep, self._program.library
        recorder: Any = dispatch.recorder()
        if recorder is None:
            ep.contract.compiled().checker(ep.backend)(leaves)
            return
        bare = [library.bare(leaf) for leaf in leaves]
        writer = CheckWriter(ep.contract, _Described(library))
        writer.namespace["_type"] = lambda value: int if isinstance(value, SymInt) else type(value)
        writer.compile()(bare)
        for leaf in ep.contract.leaves:
            for name, asked in _ASKED.items():
                if getattr(leaf, name, None) is not None:
                    recorder.looked(asked)
        for distinct in ep.contract.distinct:
            recorder.identical(bare[distinct.first], bare[distinct.second])


class _Described:
    """What a contract's check asks of a backend, answered for tensors under export: sizes compare as symbols."""

    def __init__(self, library: TensorLibrary) -> None:
        self.is_tensor = lambda value: is_fake(value) or library.is_tensor(value)
        self.describe = lambda value: value.meta if is_fake(value) else library.describe(value)
        self.shares_memory = lambda first, second: first is second

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _user_nodes(program: Unflattened) -> Iterator[Node]:
    nodes = program.calls.nodes
    return (
        nodes[s.arg.name] for s in program.ep.graph_signature.input_specs if s.kind is InputKind.USER_INPUT
    )


class _Builder:
    def __init__(self, ep: ExportedProgram, library: TensorLibrary) -> None:
        calls = hierarchy(ep)
        regions: dict[str, list[Region]] = {}
        for region in [*calls.root.regions(), *calls.idle]:
            if region is not calls.root:
                regions.setdefault(region.path, []).append(region)
        self.program = Unflattened(ep, library, calls, regions, _names(ep), _fixed(ep, calls), _modes(ep))
        base = library.module_class()
        # A list as bases: types that are not known before run time.
        self.part: Any = type("UnflattenedPart", (Part, base), {})
        self.root: Any = type("UnflattenedModule", (Root, base), {"forward": _entry(ep)})()

    def module(self) -> Any:
        """The root with its parts and their state."""
        ep = self.program.ep
        self.root._become(self.program, "", self.root)
        for entry in ep.module_call_graph:
            self._part(entry.fqn.partition("@")[0])
        for path in self.program.regions:
            self._part(path)
        memo: dict[int, Any] = {}
        parameters = set(ep.graph_signature.parameters) | _tied(ep)
        for name, tensor in ep.state_dict.items():
            owner, _, attribute = name.rpartition(".")
            held = copy.deepcopy(tensor, memo)
            if name in parameters:
                self._part(owner).register_parameter(attribute, held)
            else:
                self._part(owner).register_buffer(attribute, held)
        lifted = set(ep.graph_signature.lifted_tensor_constants)
        for name, tensor in ep.constants.items():
            owner, _, attribute = name.rpartition(".")
            held = copy.deepcopy(tensor, memo)
            if name in lifted:
                setattr(self._part(owner), attribute, held)
            else:
                self._part(owner).register_buffer(attribute, held, persistent=False)
        return self.root

    def _part(self, path: str) -> Any:
        module = self.root
        done = ""
        for name in path.split(".") if path else ():
            done = f"{done}.{name}" if done else name
            child = module._modules.get(name)
            if child is None:
                child = self.part()
                child._become(self.program, done, self.root)
                module.add_module(name, child)
            module = child
        return module


def _names(ep: ExportedProgram) -> dict[str, tuple[str, ...]]:
    """All names of each tensor of the state that has several."""
    groups: dict[int, list[str]] = {}
    for name, tensor in [*ep.state_dict.items(), *ep.constants.items()]:
        groups.setdefault(id(tensor), []).append(name)
    return {name: tuple(group) for group in groups.values() if len(group) > 1 for name in group}


def _fixed(ep: ExportedProgram, calls: Hierarchy) -> list[str]:
    """Modules without children that the graph does not show as calls, or that branches of control flow call."""
    shown = {region.path for region in calls.root.regions()}
    inside: set[str] = set()
    for node in ep.graph.nodes:
        if isinstance(node.target, HigherOrderOperator):
            inside |= {path for each in _branch_nodes(node) for path in _stack(each)} - _stack(node)
    paths = dict.fromkeys(entry.fqn.partition("@")[0] for entry in ep.module_call_graph if entry.fqn)
    parents = {path.rpartition(".")[0] for path in paths}
    return [path for path in paths if path not in parents and (path not in shown or path in inside)]


def _stack(node: Node) -> set[str]:
    return {label.partition("@")[0] for label, _ in node.meta.get("nn_module_stack") or ()}


def _branch_nodes(node: Node) -> Iterator[Node]:
    for module in branch_modules(node):
        for each in module.graph.nodes:
            yield each
            if isinstance(each.target, HigherOrderOperator):
                yield from _branch_nodes(each)


def _modes(ep: ExportedProgram) -> dict[str, bool]:
    """The mode of each module whose mode the program has burned in, by path."""
    found = {}
    for each in ep.assumptions:
        if each.path.startswith("self.") and each.path.endswith(".training") and type(each.expected) is bool:
            found[each.path.removeprefix("self.").removesuffix("training").rstrip(".")] = each.expected
    return found


def _tied(ep: ExportedProgram) -> set[str]:
    """Further names of parameters."""
    known = {id(ep.state_dict[name]) for name in ep.graph_signature.parameters if name in ep.state_dict}
    buffers = set(ep.graph_signature.buffers)
    return {name for name, tensor in ep.state_dict.items() if id(tensor) in known and name not in buffers}


def _entry(ep: ExportedProgram) -> Callable[..., Any]:
    """``forward`` with the original's parameter names, so that specifications by name fit when it is exported again."""

    def forward(self: Root, /, *args: Any, **kwargs: Any) -> Any:
        return self._forward(args, kwargs)

    kind = inspect.Parameter
    names = [kind("self", kind.POSITIONAL_ONLY)]
    names += [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in ep.contract.arg_names]
    keywords = ep.contract.in_spec.children_specs[1].context or ()
    names += [kind(str(name), kind.KEYWORD_ONLY) for name in keywords]
    forward.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return forward
