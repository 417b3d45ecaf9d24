"""The end of a capture: outputs, state updates and the signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.fake import FakeTensor, is_fake
from dynamo_lite.trace.errors import BUFFER_CHANGES_KIND, FAKE_BUFFER_LOST, OUTPUT_TYPE, TIED_BUFFER_REPLACED
from dynamo_lite.trace.gradients import is_detached
from dynamo_lite.trace.inputs import UserInput
from dynamo_lite.trace.settle import settle
from dynamo_lite.trace.state import Lifted
from dynamo_lite.trace.tracer import Tracer
from fx_ir import functionalize
from fx_ir.node import Node
from fx_ir.ops.registry import OPS
from fx_ir.pytree import TreeSpec, keystr, spec_paths
from fx_ir.signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from solver.sym import SymBool, SymFloat, SymInt

PLAIN_OUTPUTS = (int, float, complex, bool, str, bytes, type(None))
_INPUT_KINDS = {
    "parameter": InputKind.PARAMETER,
    "buffer": InputKind.BUFFER,
    "constant": InputKind.CONSTANT_TENSOR,
}


@dataclass(slots=True)
class Outputs:
    """The flat outputs of a finished graph."""

    signature: ExportGraphSignature
    out_spec: TreeSpec


@dataclass(slots=True)
class _Out:
    kind: OutputKind
    value: Any  # a Node or a plain value
    target: str | None = None
    argument: type[ArgumentSpec] = TensorArgument


def finish(
    tracer: Tracer,
    inputs: list[UserInput],
    leaves: Sequence[Any],
    out_spec: TreeSpec,
    final_buffers: Mapping[str, Any],
) -> Outputs:
    """Adds the output node, drops what nobody uses or what turned out a plain number, and names what goes in and out.

    ``final_buffers`` is what the module holds under each buffer's name when the program has run.
    """
    paths = spec_paths(out_spec)
    user = [_user_output(tracer, leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    _make_anew(tracer, user)
    _ask_layouts(tracer, inputs, user)
    outs = [*_buffer_updates(tracer, final_buffers), *_input_updates(tracer, inputs), *user]
    for out in outs:
        if isinstance(out.value, Node):
            out.value = tracer.gradients.shown(out.value)
    tracer.env.finish()
    for out, value in zip(outs, settle(tracer, [out.value for out in outs]), strict=True):
        out.value = value
    graph = tracer.top.graph
    graph.output(tuple(out.value for out in outs))
    kept = {value for call in tracer.calls.kept for value in call.outputs}
    graph.eliminate_dead_code(lambda node: node in kept or node.is_impure())
    graph.rename_canonically()
    signature = ExportGraphSignature(
        [*_state_specs(tracer), *[_input_spec(item) for item in inputs]],
        [OutputSpec(out.kind, _argument(out, index), out.target) for index, out in enumerate(outs)],
    )
    return Outputs(signature, out_spec)


def _argument(out: _Out, index: int) -> ArgumentSpec:
    if isinstance(out.value, Node):
        made: ArgumentSpec = out.argument(out.value.name)  # type: ignore[call-arg]
        return made
    return ConstantArgument(f"output_{index}", out.value)


def _ask_layouts(tracer: Tracer, inputs: list[UserInput], outs: Sequence[_Out]) -> None:
    """Where a result is a view of an updated input, its strides are those of the caller's tensor: its layout is held."""
    wholes = [tracer.node_of(item.fake) for item in inputs if item.fake is not None]
    updated = {functionalize.viewed(whole) for whole in wholes if whole.op != "placeholder"}
    for out in outs:
        node = out.value
        if isinstance(node, Node) and functionalize.viewed(node) in updated:
            while node not in wholes and getattr(node.target, "name", "") in ("alias", "detach"):
                node = node.args[0]
            if node not in wholes:
                tracer.looked("layout")


def _make_anew(tracer: Tracer, outs: Sequence[_Out]) -> None:
    """A constant that forward makes, and gives out, is another at each call; one that was there before is given itself."""
    for out in outs:
        root = functionalize.viewed(out.value) if isinstance(out.value, Node) else None
        entry = None if root is None else tracer.state.entry_of(root)
        if root is None or entry is None or entry.kind != "constant":
            continue
        if entry.new:
            with tracer.top.graph.inserting_after(tracer.top.graph.placeholders[-1]):
                made = tracer.top.graph.call_function(OPS["aten::clone"], (root,), meta=dict(root.meta))
            root.replace_all_uses_with(made)
            for other in outs:
                other.value = made if other.value is root else other.value


def _user_output(tracer: Tracer, leaf: Any, path: Any) -> _Out:
    kind = OutputKind.USER_OUTPUT
    if is_fake(leaf) or tracer.library.is_tensor(leaf):
        fake = tracer.fake_of(leaf)
        node = tracer.node_of(fake)
        if fake.view_of is not None and node is functionalize.current(
            functionalize.root_of(fake), tracer.writes
        ):
            # Written through an alias of the whole: the value is that of the tensor itself, the object is not.
            alias = OPS["aten::detach" if is_detached(fake) else "aten::alias"]
            node = tracer.top.graph.call_function(alias, (node,), meta=dict(node.meta))
        return _Out(kind, tracer.writes.in_order(node) if fake.kind == "value" else node)
    if isinstance(leaf, (SymInt, SymFloat, SymBool)):
        argument: type[ArgumentSpec] = SymIntArgument
        if isinstance(leaf, SymFloat):
            argument = SymFloatArgument
        elif isinstance(leaf, SymBool):
            argument = SymBoolArgument
        return _Out(kind, tracer.top.sizes.of(leaf.expr), argument=argument)
    plain = tracer.library.plain(leaf)
    if isinstance(leaf, PLAIN_OUTPUTS) or plain is not leaf or tracer.library.is_plain(leaf):
        return _Out(kind, plain)
    raise OUTPUT_TYPE(type=type(leaf).__name__, path=keystr(path) or "the result", location=tracer.locate())


def _buffer_updates(tracer: Tracer, final: Mapping[str, Any]) -> list[_Out]:
    updates: list[_Out] = []
    tied: dict[int, list[tuple[str, Any]]] = {}
    for name, tensor, _ in tracer.state.buffers:
        tied.setdefault(id(tensor), []).append((name, tensor))
    for entry in tracer.state.entries:
        if entry.kind != "buffer":
            continue
        held = final.get(entry.target, entry.tensor)
        for name, other in tied.get(id(entry.tensor), ()):
            if final.get(name, other) is not held:
                raise TIED_BUFFER_REPLACED(name=entry.target, other=name)
        if held is not entry.tensor and not is_fake(held) and not tracer.library.is_tensor(held):
            raise FAKE_BUFFER_LOST(name=entry.target, type=type(held).__name__)
        fake = entry.fake if held is entry.tensor else tracer.fake_of(held)
        node = tracer.node_of(fake)
        if node is not entry.placeholder:
            _same_kind(entry, fake)
            updates.append(_Out(OutputKind.BUFFER_MUTATION, node, entry.target))
    return updates


def _same_kind(entry: Lifted, new: FakeTensor) -> None:
    before, after = entry.fake.meta, new.meta
    fits = before.dtype is after.dtype and len(before.shape) == len(after.shape)
    if not fits or any(a is not b and a != b for a, b in zip(after.shape, before.shape, strict=True)):
        raise BUFFER_CHANGES_KIND(
            name=entry.target, before=before, after=after, location=new.node.meta.get("location")
        )


def _input_updates(tracer: Tracer, inputs: list[UserInput]) -> list[_Out]:
    updates: list[_Out] = []
    for item in inputs:
        if item.fake is not None:
            node = tracer.node_of(item.fake)
            if node is not item.placeholder:
                updates.append(_Out(OutputKind.USER_INPUT_MUTATION, node, item.placeholder.name))
    return updates


def _state_specs(tracer: Tracer) -> list[InputSpec]:
    by_name = {entry.placeholder.name: entry for entry in tracer.state.entries}
    specs: list[InputSpec] = []
    for node in tracer.top.graph.placeholders:
        entry = by_name.get(node.name)
        if entry is not None:
            kind = _INPUT_KINDS[entry.kind]
            specs.append(InputSpec(kind, TensorArgument(node.name), entry.target, entry.persistent))
    return specs


def _input_spec(item: UserInput) -> InputSpec:
    name = item.placeholder.name
    argument: ArgumentSpec
    if item.fake is not None:
        argument = TensorArgument(name)
    elif isinstance(item.value, SymInt):
        argument = SymIntArgument(name)
    else:
        argument = ConstantArgument(name, item.value)
    return InputSpec(InputKind.USER_INPUT, argument)
