"""What tests of ``export`` share: both modes at once, graphs in short, runs against eager, state compared deeply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from fx_ir.graph import Graph
from fx_ir.node import Node
from fx_ir.printer import format_target
from fx_ir.pytree import tree_flatten, tree_map
from fx_ir.structure import same_graph

MODES: Final = (False, True)
both_modes: Final = pytest.mark.parametrize("strict", MODES, ids=["nonstrict", "strict"])


def module(forward: Callable[..., Any]) -> Any:
    """A module whose ``forward`` is a function without ``self``."""
    return type(forward.__name__.strip("<>"), (nn.Module,), {"forward": staticmethod(forward)})()


def export(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool,
) -> dl.ExportedProgram:
    """``dl.export`` of a module, or of a plain function; the program is checked and the model must be as before."""
    model = model if isinstance(model, nn.Module) else module(model)
    before = state(model)
    program = dl.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
    assert state(model) == before
    program.validate()
    return program


def both(
    model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None
) -> list[dl.ExportedProgram]:
    """The programs of both modes, which must be equal (M4): graph, signature, guards, ranges."""
    model = model if isinstance(model, nn.Module) else module(model)
    programs = [export(model, args, kwargs, dynamic_shapes, strict=strict) for strict in MODES]
    native, strict = programs
    assert same_graph(native.graph_module, strict.graph_module) == []
    assert native.graph_signature == strict.graph_signature
    assert guards(native) == guards(strict)
    assert native.range_constraints == strict.range_constraints
    assert native.contract.leaves == strict.contract.leaves
    return programs


def refused(
    model: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool,
    error: type[BaseException] = dl.ExportError,
) -> Any:
    """The error that export raises; the model must be as before."""
    model = model if isinstance(model, nn.Module) else module(model)
    before = state(model)
    with pytest.raises(error) as caught:
        dl.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
    assert state(model) == before
    return caught.value


def calls(program: dl.ExportedProgram | Graph) -> list[str]:
    """The targets of the graph's calls, in order."""
    graph = program if isinstance(program, Graph) else program.graph
    return [format_target(node.target) for node in graph.nodes if node.op == "call_function"]


def line_of(marker: str, file: str) -> int:
    """The line of a test file that carries the comment ``# <marker>``."""
    with open(file, encoding="utf-8") as text:
        found = [number for number, line in enumerate(text, 1) if line.rstrip().endswith(f"# {marker}")]
    assert len(found) == 1, f"{marker!r} stands on {len(found)} lines of {file}"
    return found[0]


def guards(program: dl.ExportedProgram) -> list[str]:
    """The guards in the order in which they were met."""
    return [str(guard.expr) for guard in program.guards]


# --- runs against eager ------------------------------------------------------------------------------------------------


def arrays(value: Any) -> list[Any]:
    """The leaves of a result, tensors as arrays with their dtype, for exact comparison."""
    return [_leaf(each) for each in tree_flatten(value)[0]]


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        array = value.detach().numpy()
        return (str(value.dtype), array.shape, array.tobytes())
    return (type(value).__name__, repr(value))


def copied(value: Any) -> Any:
    """The same inputs as new tensors."""
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, value)


def agree(program: dl.ExportedProgram, model: Any, inputs: Iterable[tuple[Any, ...]]) -> None:
    """Runs program and model on every set of positional inputs: results and what became of the inputs are equal to the bit."""
    model = model if isinstance(model, nn.Module) else module(model)
    run = program.module()
    for args in inputs:
        ours, theirs = copied(args), copied(args)
        assert arrays(run(*ours)) == arrays(model(*theirs)), f"results differ for {shapes(args)}"
        assert arrays(ours) == arrays(theirs), f"inputs differ after the call for {shapes(args)}"


def shapes(args: Any) -> list[Any]:
    """What inputs look like, for messages."""
    return [tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else leaf for leaf in tree_flatten(args)[0]]


def numbers(*shape: int, seed: int = 0) -> Any:
    """A float32 tensor of small numbers that sums and products keep exact."""
    drawn = np.random.default_rng(seed).integers(-8, 9, size=shape)
    return torch.from_numpy(drawn.astype(np.float32) / 4)


# --- state -------------------------------------------------------------------------------------------------------------


def state(model: Any) -> Any:
    """Everything a module holds, as comparable data: names in order, objects by identity, tensors with their content."""
    return [(name, _object(child, set())) for name, child in model.named_modules()]


def _object(value: Any, seen: set[int]) -> Any:
    if id(value) in seen:
        return ("again", id(value))
    if isinstance(value, torch.Tensor):
        return (id(value), value.requires_grad, *_leaf(value))
    if isinstance(value, nn.Module):
        seen.add(id(value))
        return (id(value), _object(dict(vars(value)), seen))
    return _container(value, seen)


def _container(value: Any, seen: set[int]) -> Any:
    if isinstance(value, (str, bytes, int, float, complex, bool, type(None))):
        return repr(value)
    if isinstance(value, Mapping):
        return [(_object(key, seen), _object(item, seen)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_object(item, seen) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    return id(value)


def blamed(error: BaseException) -> Iterator[str]:
    """The files of an exception's traceback below the test's own frame."""
    entry = error.__traceback__
    while entry is not None:
        yield entry.tb_frame.f_code.co_filename
        entry = entry.tb_next


# --- graphs as text ----------------------------------------------------------------------------------------------------


def text(program: dl.ExportedProgram | Graph) -> list[str]:
    """The graph's calls with their arguments: ``add = aten.add.Tensor(x, 10)``."""
    graph = program if isinstance(program, Graph) else program.graph
    return [
        f"{node.name} = {format_target(node.target).removeprefix('torch.ops.')}({_arguments(node)})"
        for node in graph.nodes
        if node.op == "call_function"
    ]


def _arguments(node: Node) -> str:
    return ", ".join(
        [*map(_written, node.args), *(f"{name}={_written(value)}" for name, value in node.kwargs.items())]
    )


def _written(value: Any) -> str:
    if isinstance(value, Node):
        return value.name
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    return repr(value) if isinstance(value, str) else str(value)


def placeholders(program: dl.ExportedProgram) -> list[str]:
    """The names of the graph's inputs."""
    return [node.name for node in program.graph.placeholders]
