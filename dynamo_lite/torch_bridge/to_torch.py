"""``program.to_torch()``: a real ``torch.export.ExportedProgram``, for the tools that take one.

This is the one place that asks PyTorch's exporter for something: a module that runs our graph on PyTorch's kernels is
exported by it, dimensions that our contract leaves open being open there too. Names of parameters, buffers and arguments are ours.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import nn
from torch.export import Dim, ShapesCollection

from dynamo_lite.torch_bridge.backend import Backend
from dynamo_lite.torch_bridge.errors import BACKWARD_NOT_EXPORTED
from dynamo_lite.torch_bridge.examples import examples
from dynamo_lite.trace.gradients import WITHOUT_GRADIENTS
from fx_ir.contract import TensorLeaf
from fx_ir.executor import _Writer
from fx_ir.graph import GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.autograd import OPAQUE
from fx_ir.ops.registry import Operator
from fx_ir.program import TORCH_BRIDGE, ExportedProgram
from fx_ir.purity import branch_modules
from fx_ir.pytree import tree_flatten
from fx_ir.runner import make_plan
from solver.expr import IntExpr

_THEIRS: Final = {"cond": 1, "map_impl": 2, "while_loop": 2, "scan": 3}
"""Control flow that PyTorch has too, and how many groups of operands its operators take."""


def _result(module: GraphModule) -> Any:
    return module.graph.output_node().args[0]


class _TraceableWriter(_Writer):
    """Writes a graph for PyTorch's tracer: what decides on data is said with PyTorch's own operators."""

    def is_theirs(self, node: Node) -> bool:
        """A loop that counts sizes is run by the tracer itself: PyTorch's would make a size of data of each."""
        target: Any = node.target
        if target.name != "while_loop":
            return True
        test = _result(branch_modules(node)[0])
        (condition,) = test if isinstance(test, tuple) else (test,)
        return isinstance(condition, Node) and isinstance(condition.meta.get("val"), TensorMeta)

    def call(self, node: Node) -> Iterator[str]:
        target = node.target
        if isinstance(target, Operator) and target.name == "_assert_scalar":
            yield f"{self.bind(torch._check, 'check')}({self.argument(node.args[0])})"
        elif isinstance(target, Operator) and target.qualified == OPAQUE:
            if node.args[2] == WITHOUT_GRADIENTS:
                yield f"{node.name} = {self.argument(node.args[0])}.detach()"
                return
            raise BACKWARD_NOT_EXPORTED(why=node.args[2], location=node.meta.get("location"))
        elif isinstance(target, HigherOrderOperator) and target.name in _THEIRS and self.is_theirs(node):
            branches = [self.function(branch, "branch") for branch in branch_modules(node)]
            if target.name == "while_loop" and isinstance(_result(branch_modules(node)[0]), tuple):
                branches[0] = f"(lambda *given: {branches[0]}(*given)[0])"
            before = [self.argument(value) for value in node.args[: target.graph_args[0]]]
            groups = [self.argument(tuple(value)) for value in node.args[target.graph_args[-1] + 1 :]]
            groups += ["()"] * (_THEIRS[target.name] - len(groups))
            theirs = self.bind(getattr(torch.ops.higher_order, target.name), target.name)
            yield f"{node.name} = tuple({theirs}({', '.join([*before, *branches, *groups])}))"
        else:
            yield from super().call(node)


def _compiled(program: ExportedProgram) -> Callable[..., Any]:
    writer = _TraceableWriter(Backend())
    name = writer.function(program.graph_module, "forward")
    exec(compile("\n".join(writer.lines), "<program for torch>", "exec"), writer.namespace)
    run: Callable[..., Any] = writer.namespace[name]
    return run


class Runner(nn.Module):
    """Runs a program's graph; parameters and buffers live under their own names, updates are written in place."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.plan = make_plan(program)
        self.compiled = _compiled(program)
        parameters = set(program.graph_signature.parameters)
        state = {**program.state_dict, **program.constants}
        for name in dict.fromkeys([*state, *self.plan.state]):
            self._place(name, state[name], name in parameters, name in program.state_dict)

    def _place(self, name: str, tensor: Any, is_parameter: bool, persistent: bool) -> None:
        path, _, leaf = name.rpartition(".")
        owner: nn.Module = self
        for part in path.split(".") if path else ():
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner._modules[part]
        if is_parameter:
            owner.register_parameter(leaf, tensor)
        else:
            owner.register_buffer(leaf, tensor.detach(), persistent=persistent)

    def _held(self, name: str) -> Any:
        path, _, leaf = name.rpartition(".")
        return getattr(self.get_submodule(path), leaf)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The program on these arguments."""
        leaves, _ = tree_flatten((args, kwargs))
        state = [self._held(name) for name in self.plan.state]
        results = self.compiled(*state, *leaves)
        count = len(self.plan.updates)
        for update, value in zip(self.plan.updates, results, strict=False):
            target = leaves[update.target] if isinstance(update.target, int) else self._held(update.target)
            target.copy_(value)
        return self.plan.rebuild(list(results[count:]))


def _with_signature(names: tuple[str, ...], keywords: tuple[str, ...]) -> type[Runner]:
    """A runner whose ``forward`` has the program's own argument names."""
    taken = [
        name if name.isidentifier() and not keyword.iskeyword(name) else f"arg_{i}"
        for i, name in enumerate(names)
    ]
    head = ", ".join(["self", *taken, *(["*", *keywords] if keywords else [])])
    named = ", ".join(f"{name!r}: {name}" for name in keywords)
    scope: dict[str, Any] = {}
    exec(
        f"def forward({head}):\n    return self.call(({''.join(f'{name}, ' for name in taken)}), {{{named}}})",
        scope,
    )
    forward: Callable[..., Any] = scope["forward"]
    return type("Program", (Runner,), {"forward": forward})


def to_torch(program: ExportedProgram) -> Any:
    """The program as PyTorch's.

    Raises ``no-example`` for one without example inputs if none can be made from its contract, and what PyTorch's exporter raises.
    """
    args, kwargs = program.example_inputs or examples(program)
    runner = _with_signature(tuple(program.contract.arg_names), tuple(kwargs))(program)
    shapes = ShapesCollection()
    leaves, _ = tree_flatten((args, kwargs))
    for leaf, value in zip(program.contract.leaves, leaves, strict=True):
        open_dims = (
            {dim: Dim.AUTO for dim, size in enumerate(leaf.dims) if isinstance(size, IntExpr)}
            if isinstance(leaf, TensorLeaf)
            else {}
        )
        if open_dims:
            shapes[value] = open_dims
    given = shapes.dynamic_shapes(runner, tuple(args), dict(kwargs)) if len(shapes) else None
    with torch.enable_grad():
        return torch.export.export(runner, tuple(args), dict(kwargs), dynamic_shapes=given, strict=False)


TORCH_BRIDGE["to_torch"] = to_torch
