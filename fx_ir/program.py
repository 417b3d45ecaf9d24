"""The exported program: a graph, what its inputs and outputs mean, its state, and what makes it valid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fx_ir.backend import Backend, get_backend
from fx_ir.contract import InputContract
from fx_ir.errors import NO_TORCH_BRIDGE, PROGRAM_CALLED
from fx_ir.graph import Graph, GraphModule
from fx_ir.provenance import Assumption, Effect
from fx_ir.pytree import TreeSpec
from fx_ir.signature import ExportGraphSignature, InputKind, ModuleCallEntry

if TYPE_CHECKING:
    from fx_ir.runner import ProgramModule
    from solver.problem import Problem
    from solver.records import Guard
    from solver.report import Report

Decompositions = Mapping[Any, Any]
TORCH_BRIDGE: Final[dict[str, Callable[[Any], Any]]] = {}


@dataclass(frozen=True, slots=True)
class CallSpec:
    """``in_spec`` is the structure of ``(args, kwargs)``, ``out_spec`` of what the program returns."""

    in_spec: TreeSpec
    out_spec: TreeSpec


class ExportedProgram:
    """A captured program.

    ``state_dict`` holds the parameters and persistent buffers, ``constants`` the other buffers and every tensor
    constant, both by qualified name, as tensors of the backend's library. ``guards`` are the conditions recorded while
    tracing, ``problem`` the proof obligations made of them, ``proof`` the report (proved when first asked for if it was not given).
    """

    def __init__(
        self,
        *,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        contract: InputContract,
        out_spec: TreeSpec,
        backend: str,
        state_dict: Mapping[str, Any] | None = None,
        constants: Mapping[str, Any] | None = None,
        guards: Sequence[Guard] = (),
        problem: Problem | None = None,
        proof: Report | None = None,
        assumptions: Sequence[Assumption] = (),
        effects: Sequence[Effect] = (),
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        module_call_graph: Sequence[ModuleCallEntry] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.graph_module = graph_module
        self.graph_signature = graph_signature
        self.contract = contract
        self.call_spec = CallSpec(contract.in_spec, out_spec)
        self.backend_name = backend
        self.state_dict: dict[str, Any] = dict(state_dict or {})
        self.constants: dict[str, Any] = dict(constants or {})
        self.guards: tuple[Guard, ...] = tuple(guards)
        self.problem = problem
        self._proof = proof
        self.assumptions: tuple[Assumption, ...] = tuple(assumptions)
        self.effects: tuple[Effect, ...] = tuple(effects)
        self.example_inputs = example_inputs
        self.module_call_graph: list[ModuleCallEntry] = list(module_call_graph)
        self.notes: tuple[str, ...] = tuple(notes)

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    @property
    def backend(self) -> Backend:
        """The tensor library of the program's state and kernels."""
        return get_backend(self.backend_name)

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """Inclusive bounds of each symbol."""
        return dict(self.contract.ranges)

    @property
    def proof(self) -> Report | None:
        """The verdict on every guard; None where there was nothing to prove."""
        if self._proof is None and self.problem is not None:
            from solver.prove import prove

            self._proof = prove(self.problem)
        return self._proof

    def parameters(self) -> Iterable[Any]:
        """The parameters, in the order of the signature."""
        return (self.state_dict[name] for name in self.graph_signature.parameters)

    def named_parameters(self) -> Iterable[tuple[str, Any]]:
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def buffers(self) -> Iterable[Any]:
        """The buffers, in the order of the signature."""
        return (tensor for _, tensor in self.named_buffers())

    def named_buffers(self) -> Iterable[tuple[str, Any]]:
        return ((name, self.tensor(name)) for name in self.graph_signature.buffers)

    def tensor(self, target: str) -> Any:
        """A parameter, buffer or constant by qualified name."""
        return self.state_dict[target] if target in self.state_dict else self.constants[target]

    def lifted_tensors(self) -> list[Any]:
        """The tensors behind the leading placeholders, in order."""
        return [
            self.tensor(spec.target)
            for spec in self.graph_signature.input_specs
            if spec.kind is not InputKind.USER_INPUT and spec.target is not None
        ]

    def module(self, backend: str | None = None) -> ProgramModule:
        """A callable that checks its inputs, runs the program and carries its state from call to call.

        Parameters are shared with the program; buffers are copied before the first write. ``backend`` runs on another
        tensor library than the program's own (its tensors are converted once).
        """
        from fx_ir.runner import ProgramModule

        return ProgramModule(self, backend)

    def check_assumptions(self, module: Any) -> list[str]:
        """What was burned in at export and no longer holds on a live module, one sentence each."""
        from fx_ir.liveness import check_assumptions

        return check_assumptions(self, module)

    def run_decompositions(self, table: Decompositions | None = None) -> ExportedProgram:
        """The same program over more elementary operators.

        ``table`` maps operators or packets to functions of tensors (None: the default table). The signature keeps its
        inputs and outputs. Raises ``no-function-tracer``.
        """
        from fx_ir.decompose import run_decompositions

        return run_decompositions(self, table)

    def validate(self) -> None:
        """Checks the graph, every value's metadata and the signature. Raises ``program-invalid`` or ``graph-invalid``."""
        from fx_ir.checker import check_program

        check_program(self)

    def explain(self, what: str = "") -> str:
        """Why an input, dimension, value or attribute is as it is: assumptions, guards and conditions with their lines."""
        from fx_ir.explain import explain

        return explain(self, what)

    def print_readable(self, print_output: bool = True) -> str:
        """The program's text; printed unless told otherwise."""
        text = str(self)
        if print_output:
            print(text)
        return text

    def to_torch(self) -> Any:
        """A real ``torch.export.ExportedProgram``. Raises ``no-torch-bridge`` without PyTorch."""
        bridge = TORCH_BRIDGE.get("to_torch")
        if bridge is None:
            raise NO_TORCH_BRIDGE()
        return bridge(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise PROGRAM_CALLED()

    def __str__(self) -> str:
        from fx_ir.printer import program_text

        return program_text(self)
