"""``export``: capture, prove, and hand out the program."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from dynamo_lite import places
from dynamo_lite.errors import (
    ALIASED_INPUTS_WRITTEN,
    ARGS_NOT_TUPLE,
    MISSING_STATE,
    MODEL_RAISES,
    NOT_A_MODULE,
)
from dynamo_lite.frontend import Run
from dynamo_lite.library import TensorLibrary, library_of
from dynamo_lite.lowering import modes
from dynamo_lite.shapes import leaf_specs
from dynamo_lite.strict.machine.calls import STANDS_FOR
from dynamo_lite.strict.policy.code import Code
from dynamo_lite.strict.policy.live_check import LiveCheck
from dynamo_lite.trace.again import check_strays
from dynamo_lite.trace.calls import call_graph, keeping
from dynamo_lite.trace.finish import Outputs, finish
from dynamo_lite.trace.inputs import BoundCall, UserInput, bind_call, make_inputs
from dynamo_lite.trace.settings import Setting
from dynamo_lite.trace.tracer import Tracer
from fx_ir.apart import overlap
from fx_ir.backend import get_backend
from fx_ir.contract import Condition, Distinct, InputContract
from fx_ir.program import ExportedProgram
from fx_ir.provenance import GRADIENT_MODE, Assumption
from fx_ir.pytree import TreeSpec
from fx_ir.signature import InputKind, ModuleCallEntry, ModuleCallSignature, OutputKind
from solver.errors import ExportError, Location
from solver.expr import BoolExpr
from solver.shape_env import ShapeEnv

if TYPE_CHECKING:
    from solver.report import Report


def export(
    mod: Any,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Sequence[str] = (),
) -> ExportedProgram:
    """Captures ``mod`` on example inputs as one graph, and proves that ``dynamic_shapes`` implies every shape guard.

    ``mod`` is an ``nn.Module`` of ``torchlite`` or of PyTorch; ``args`` and ``kwargs`` are example inputs; ``dynamic_shapes`` says which
    sizes (and integers) vary, by argument name or in argument order. ``strict`` interprets the bytecode of the model
    instead of running it. ``preserve_module_call_signature`` names submodules whose calling convention :func:`unflatten` shall give back.

    Raises :class:`InputError` for unusable arguments, :class:`ConstraintViolationError` where the specification does not imply a
    guard (with a counterexample and a proved fix), :class:`DataDependentError`, :class:`StateError` and
    :class:`UnsupportedError` with the user's line, and whatever the model itself raises.
    """
    try:
        library = library_for(mod)
        if not isinstance(args, (tuple, list)):
            raise ARGS_NOT_TUPLE(type=type(args).__name__)
        named = preserve_module_call_signature
        preserved = (named,) if isinstance(named, str) else tuple(named)
        capture = Capture(library, mod, undecorated(mod.forward), mod, strict, preserved=preserved)
        return capture.program(tuple(args), dict(kwargs or {}), dynamic_shapes)
    except BaseException as error:
        places.only_user_frames(error)
        raise


def undecorated(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The bound function under ``@exported``; any other forward as it is."""
    if type(forward) is not MethodType or type(forward.__func__) is not FunctionType:
        return forward
    original: Any = STANDS_FOR.get(forward.__func__)
    return forward if original is None else original.__get__(forward.__self__)


def library_for(module: Any) -> TensorLibrary:
    """The tensor library of a module. PyTorch is looked at only if the module's own code has imported it."""
    found = library_of(module)
    if found is None and "torch" in sys.modules and isinstance(module, sys.modules["torch"].nn.Module):
        import_module("dynamo_lite.torch_bridge")
        found = library_of(module)
    if found is None:
        raise NOT_A_MODULE(type=type(module).__name__)
    return found


@dataclass(slots=True)
class Capture:
    """One capture: ``target`` is what is run, the module or its undecorated forward."""

    library: TensorLibrary
    module: Any
    forward: Callable[..., Any]
    target: Callable[..., Any]
    strict: bool
    assigned: frozenset[str] = frozenset()
    live: LiveCheck | None = None
    code: Callable[[], Code] | None = None
    defaults: dict[str, Any] = field(default_factory=dict)
    preserved: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()  # what the program looked at of its tensors' metadata
    mode: bool | None = None  # the gradient mode, if the program asked for it
    settings: list[Setting] = field(default_factory=list)  # of the process, which the program asked for

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
        """Runs the front end on the example and builds the program."""
        with self.library.session():
            return self._program(args, kwargs, self.library.dynamic_shapes(dynamic_shapes))

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
        call = bind_call(self.forward, args, kwargs)
        self.defaults = call.defaults
        specs = leaf_specs(call, dynamic_shapes, self.library)
        env = ShapeEnv()
        tracer = Tracer(self.library, env)
        tracer.locate = lambda: call.location
        self.library.begin(tracer)
        env.locate = lambda: tracer.locate()
        env.asserting = tracer.check
        env.going_on = tracer.going_on
        env.describe = tracer.naming
        tracer.state.add_module(self.module)
        inputs, in_spec, fake_args, fake_kwargs = make_inputs(tracer, call, specs.leaves)
        for assumption in specs.assumptions:
            env.assume(assumption)
        with keeping(tracer, self.module, self.preserved):
            run = self._run(tracer, fake_args, fake_kwargs)
            if run.strays:
                repeatable = self.target is self.module and not self.preserved
                check_strays(tracer, run, lambda: self._run(tracer, fake_args, fake_kwargs), repeatable)
        ours = {f"self.{name}.forward" for name in self.preserved}
        run.assumptions = [item for item in run.assumptions if item.path not in ours]
        outputs = finish(tracer, inputs, run.leaves, run.spec, run.buffers)
        self.assigned = frozenset(
            entry.target
            for entry in tracer.state.entries
            if entry.kind == "buffer" and run.buffers.get(entry.target, entry.tensor) is not entry.tensor
        )
        self.live, self.code, self.asked = run.live, run.code, frozenset(tracer.asked)
        if "mode" in tracer.asked:
            self.mode = modes.grad_enabled()
            where = tracer.asked["mode"]
            run.assumptions.append(Assumption(GRADIENT_MODE, self.mode, "value", where))
        if "inference" in tracer.asked:
            where, tell = tracer.asked["inference"], self.library.inference_enabled
            tracer.settings.note("the inference mode around the call", tell, tell(), lambda: where)
        self.settings = list(tracer.settings.values())
        run.assumptions += [setting.assumption() for setting in self.settings]
        report = env.prove()
        env.closed = True
        return self._build(tracer, call, inputs, in_spec, run, outputs, report)

    def _run(self, tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
        # Imported before anything of the model's runs: what goes wrong here is not the model's.
        front_end: Any
        if self.strict:
            from dynamo_lite.strict import capture as front_end
        else:
            from dynamo_lite import nonstrict as front_end
        try:
            run: Run
            if self.strict:
                run = front_end.run(tracer, self.module, self.forward, self.target, args, kwargs)
            else:
                call = lambda: self.library.run_native(tracer, self.target, args, kwargs)  # noqa: E731
                run = front_end.run(tracer, self.module, self.forward, call)
            return run
        except ExportError:
            raise
        except Exception as error:
            if isinstance(error, AttributeError) and "object has no attribute" in str(error):
                note = MISSING_STATE(problem=str(error))
            else:
                note = MODEL_RAISES(type=type(error).__name__)
            error.add_note(str(note))
            raise

    def _build(
        self,
        tracer: Tracer,
        call: BoundCall,
        inputs: list[UserInput],
        in_spec: TreeSpec,
        run: Run,
        outputs: Outputs,
        report: Report,
    ) -> ExportedProgram:
        env = tracer.env
        _keep_apart(tracer, outputs, call.location)
        written = {
            s.target for s in outputs.signature.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION
        }
        leaves = tuple(
            item.contract_leaf(
                tracer.asked, item.placeholder.name in written, tracer.same_inputs.get(index), env
            )
            for index, item in enumerate(inputs)
        )
        contract = InputContract(
            in_spec,
            leaves,
            call.arg_names,
            env.range_constraints,
            tuple(_conditions(env)),
            tuple(tracer.distinct_inputs),
        )
        state, constants = self._state(tracer)
        return ExportedProgram(
            graph_module=tracer.top.module,
            graph_signature=outputs.signature,
            contract=contract,
            out_spec=outputs.out_spec,
            backend=self.library.backend,
            state_dict=state,
            constants=constants,
            guards=env.guards,
            problem=env.problem(),
            proof=report,
            assumptions=run.assumptions,
            effects=run.effects,
            example_inputs=(call.args, call.kwargs),
            module_call_graph=self._calls(tracer, contract, outputs),
            notes=env.notes,
        )

    def _calls(self, tracer: Tracer, contract: InputContract, outputs: Outputs) -> list[ModuleCallEntry]:
        """One entry a module; the program's own signature with the first."""
        signature = outputs.signature
        root = ModuleCallSignature(
            [s.arg for s in signature.input_specs if s.kind is InputKind.USER_INPUT],
            [s.arg for s in signature.output_specs if s.kind is OutputKind.USER_OUTPUT],
            contract.in_spec,
            outputs.out_spec,
            list(contract.arg_names),
        )
        modules = dict(self.library.named_modules(self.module))
        names = {name: list(inspect.signature(modules[name].forward).parameters) for name in self.preserved}
        return call_graph(tracer, self.module, root, names)

    def _state(self, tracer: Tracer) -> tuple[dict[str, Any], dict[str, Any]]:
        """``state_dict`` (every name of shared tensors too) and the other tensors of the program."""
        state = dict(self.library.named_parameters(self.module))
        constants: dict[str, Any] = {}
        for name, tensor, persistent in self.library.named_buffers(self.module):
            (state if persistent else constants)[name] = tensor
        for entry in tracer.state.entries:
            if entry.kind == "constant":
                constants[entry.target] = entry.tensor
        return state, constants


def _conditions(env: ShapeEnv) -> Iterator[Condition]:
    """What a call's sizes must meet besides ranges and shared symbols."""
    for fact in env.assumptions:
        yield Condition(fact.expr, fact.text, "assumption", fact.location)
    for guard in env.adopted:
        condition = env.final(guard.expr)
        if isinstance(condition, BoolExpr) and not condition.is_const:
            yield Condition(condition, env.phrase(condition), "adopted", guard.location)


def _keep_apart(tracer: Tracer, outputs: Outputs, where: Location | None) -> None:
    """What is updated may share nothing with another tensor. Raises where it does now; for inputs the contract says so."""
    backend = get_backend(tracer.library.backend)
    kinds = {True: OutputKind.USER_INPUT_MUTATION, False: OutputKind.BUFFER_MUTATION}
    updates = {(s.kind, s.target) for s in outputs.signature.output_specs}
    tensors = [(False, entry.target, entry.target, entry.tensor) for entry in tracer.state.entries]
    tensors += [(True, i.placeholder.name, i.path, i.example) for i in tracer.inputs if i.fake is not None]
    written = [
        n for n, (is_input, target, _, _) in enumerate(tensors) if (kinds[is_input], target) in updates
    ]
    if not written:
        return
    shared = overlap([backend.span(backend.unwrap(tensor)) for *_, tensor in tensors], written)
    if shared is not None:
        raise ALIASED_INPUTS_WRITTEN(
            written=tensors[shared[0]][2], other=tensors[shared[1]][2], location=where
        )
    apart: dict[tuple[int, int], Distinct] = {}
    leaves = [index for index, item in enumerate(tracer.inputs) if item.fake is not None]
    for index in leaves:
        if (kinds[True], tracer.inputs[index].placeholder.name) in updates:
            for other in leaves:
                if other != index:
                    first, second = sorted((index, other))
                    apart[first, second] = Distinct(first, second, where, apart=True)
    tracer.distinct_inputs += apart.values()
