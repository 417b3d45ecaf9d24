"""``program.to_torch()``: a real ``torch.export.ExportedProgram``, for the tools that take one.

This is the one place that asks PyTorch's exporter for something: a module that runs our graph on PyTorch's kernels is
exported by it, dimensions that our contract leaves open being open there too. Names of parameters, buffers and arguments are ours.
"""

from __future__ import annotations

import inspect
import keyword
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import torch
from torch import nn
from torch.export import Dim
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from dynamo_lite.torch_bridge.backend import Backend
from dynamo_lite.torch_bridge.errors import BACKWARD_NOT_EXPORTED
from dynamo_lite.torch_bridge.examples import examples
from dynamo_lite.trace.gradients import WITHOUT_GRADIENTS
from fx_ir.contract import InputLeaf, IntLeaf, TensorLeaf
from fx_ir.executor import _Writer
from fx_ir.graph import GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.number_ops import sym_ite
from fx_ir.ops.autograd import OPAQUE
from fx_ir.ops.registry import Operator
from fx_ir.program import TORCH_BRIDGE, ExportedProgram
from fx_ir.purity import branch_modules
from fx_ir.pytree import tree_flatten
from fx_ir.runner import make_plan
from solver.errors import ExportError
from solver.expr import IntExpr

_THEIRS: Final = {"cond": 1, "map_impl": 2, "while_loop": 2, "scan": 3}
"""Control flow that PyTorch has too, and how many groups of operands its operators take."""
_LARGE: Final = 7  # a size of which no usual part is 0 or 1


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

    def operands(self, node: Node, given: Sequence[Any]) -> tuple[list[str], list[str]]:
        """Groups of operands, and lines that give those met again a name of their own: PyTorch names what its bodies take by them."""
        groups: list[str] = []
        lines: list[str] = []
        seen: set[str] = set()
        for group in given:
            names: list[str] = []
            for value in group:
                name = self.argument(value)
                if name in seen and isinstance(value, Node) and isinstance(value.meta.get("val"), TensorMeta):
                    again = f"{node.name}_{len(lines)}_again"
                    lines.append(f"{again} = {self.bind(torch.ops.aten.alias.default, 'alias')}({name})")
                    name = again
                seen.add(name)
                names.append(name)
            groups.append(f"({''.join(f'{name}, ' for name in names)})")
        return groups, lines

    def call(self, node: Node) -> Iterator[str]:
        target = node.target
        if isinstance(target, Operator) and target.name == "_assert_scalar":
            yield f"{self.bind(torch._check, 'check')}({self.argument(node.args[0])})"
        elif target is sym_ite:
            yield f"{node.name} = {self.bind(torch.sym_ite, 'sym_ite')}({', '.join(map(self.argument, node.args))})"
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
            groups, again = self.operands(node, node.args[target.graph_args[-1] + 1 :])
            yield from again
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

    PyTorch takes some sizes of the example for fixed (where a part of it has 0 or 1 element); then an example of larger sizes that
    the contract admits is tried, and what is fixed all the same (what its tracer loops over) is warned of. Raises ``no-example`` for a program
    without example inputs if none can be made from its contract, and what PyTorch's exporter raises.
    """
    given = program.example_inputs or examples(program)
    exported, fixed = _exported(program, *given)
    if fixed:
        with suppress(ExportError):
            other, others = _exported(program, *examples(program, _LARGE))
            if len(others) < len(fixed):
                exported, fixed = other, others
    if fixed:
        warnings.warn(
            f"PyTorch's exporter fixes {', '.join(fixed)}: its program is narrower than this one",
            stacklevel=3,
        )
    return exported


def _exported(program: ExportedProgram, args: Any, kwargs: Any) -> tuple[Any, list[str]]:
    """PyTorch's program, and what is fixed in it that our contract leaves open."""
    runner = _with_signature(tuple(program.contract.arg_names), tuple(kwargs))(program)
    values, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    opened = [_opened(leaf) for leaf in program.contract.leaves]
    assert len(values) == len(opened)
    shapes = None
    if any(opened):
        positional, named = pytree.tree_unflatten(opened, spec)
        names = inspect.signature(runner.forward).parameters
        shapes = {**dict(zip(names, positional, strict=False)), **named}
    with torch.enable_grad():
        exported = torch.export.export(runner, tuple(args), dict(kwargs), dynamic_shapes=shapes, strict=False)
    return exported, list(_fixed(program, exported))


def _opened(leaf: InputLeaf) -> Any:
    """What PyTorch's exporter is told of an input."""
    if isinstance(leaf, TensorLeaf):
        return {dim: Dim.AUTO for dim, size in enumerate(leaf.dims) if isinstance(size, IntExpr)} or None
    return Dim.AUTO if isinstance(leaf, IntLeaf) and isinstance(leaf.expr, IntExpr) else None


def _fixed(program: ExportedProgram, exported: Any) -> Iterator[str]:
    """The open sizes and numbers of the contract that PyTorch's program has one value of."""
    from torch.fx.experimental.symbolic_shapes import (
        is_concrete_int,
    )  # brings sympy, which the exporter has loaded

    inputs = zip(
        exported.graph.find_nodes(op="placeholder"), exported.graph_signature.input_specs, strict=True
    )
    given = [node.meta.get("val") for node, spec in inputs if spec.kind is InputKind.USER_INPUT]
    for leaf, value in zip(program.contract.leaves, given, strict=True):
        opened = _opened(leaf)
        sizes = (
            {f".shape[{dim}]": value.shape[dim] for dim in opened}
            if isinstance(opened, dict)
            else {"": value}
        )
        if opened is not None:
            yield from (
                f"{leaf.path}{name} = {size}" for name, size in sizes.items() if is_concrete_int(size)
            )


TORCH_BRIDGE["to_torch"] = to_torch
