"""Dimension specifications, symbols, and what becomes of a program (M2, M4, M7, M10, M19, M21-M25, M33, M36, M37)."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from fx_ir.structure import same_graph
from tests.exporting import MODES, agree, arrays, both, both_modes, guards, module, numbers, refused, text


class Encoder(nn.Module):
    """A small model with most of what programs hold: state, views, in-place operators, a buffer update."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: Any, mask: Any) -> Any:
        batch, length, _ = x.shape
        y = self.norm(self.lin(x)).view(batch, length, 2, 4).transpose(1, 2)
        y = y * mask[:, None, :, None]
        y[:, 0] += 1
        self.calls += 1
        return y.reshape(batch, 2, length * 4), {"total": y.sum((2, 3)), "size": length * 4}


def encoder_shapes() -> Any:
    batch, length = Dim("batch", min=1, max=16), Dim("length", min=1, max=32)
    return {"x": {0: batch, 1: length}, "mask": {0: batch, 1: length}}


def encoder_inputs(batch: int, length: int) -> tuple[Any, Any]:
    return numbers(batch, length, 4), (numbers(batch, length, seed=1) > 0).float()


SIZES = [(1, 1), (2, 5), (16, 32), (3, 1)]


def test_modes_give_equal_programs() -> None:
    """M2, M3, M4, M7, M19, M22: both modes give one graph, right at every size, its sizes expressions over symbols."""
    model = Encoder()
    for program in both(model, encoder_inputs(2, 3), dynamic_shapes=encoder_shapes()):
        assert guards(program) == []
        run, eager = program.module(), Encoder()
        eager.load_state_dict(model.state_dict())
        for size in SIZES:
            assert arrays(run(*encoder_inputs(*size))) == arrays(eager(*encoder_inputs(*size)))
        assert arrays(run.calls) == arrays(torch.tensor(len(SIZES)))
        outputs = program.graph.output_node().args[0]
        shapes = [[repr(size) for size in node.meta["val"].shape] for node in outputs[1:3]]
        assert shapes == [["batch", "2", "4*length"], ["batch", "2"]]


@both_modes
def test_saved_programs(strict: bool, tmp_path: Path) -> None:
    """M33: what is loaded computes the same, checks the same and proves the same."""
    model = Encoder()
    program = dl.export(model, encoder_inputs(2, 3), dynamic_shapes=encoder_shapes(), strict=strict)
    dl.save(program, tmp_path / "encoder.dlp")
    loaded = dl.load(tmp_path / "encoder.dlp")
    assert same_graph(program.graph_module, loaded.graph_module) == []
    assert loaded.graph_signature == program.graph_signature
    assert dl.verify(loaded).status == dl.verify(program).status == "proved"
    run, again = program.module(), loaded.module()
    for size in SIZES:
        assert arrays(again(*encoder_inputs(*size))) == arrays(run(*encoder_inputs(*size)))
    for bad in ((17, 1), (1, 33)):
        messages = []
        for each in (run, again):
            with pytest.raises(dl.GuardError) as caught:
                each(*encoder_inputs(*bad))
            messages.append(caught.value.message)
        assert messages[0] == messages[1]


def test_printed_program() -> None:
    """M35, M37: typed values, source lines, signature and ranges."""
    for program in both(Encoder(), encoder_inputs(2, 3), dynamic_shapes=encoder_shapes()):
        shown = program.print_readable(print_output=False)
        assert 'x: "f32[batch, length, 4]"' in shown
        assert "torch.ops.aten.linear.default(x, p_lin_weight, p_lin_bias)" in shown
        assert f"File: {__file__}" in shown
        assert "code: y = y * mask[:, None, :, None]" in shown
        assert "BUFFER_MUTATION target='calls'" in shown
        assert "Range constraints: {batch: VR[1, 16], length: VR[1, 32]}" in shown


def test_no_specification_needed_without_guards() -> None:
    """M25: without guards on dynamic shapes any specification will do, up to the full range."""

    def forward(x: Any) -> Any:
        return torch.relu(x).sum(-1)

    for program in both(forward, (numbers(3, 2),), dynamic_shapes={"x": {0: Dim("n")}}):
        assert guards(program) == []
        agree(program, forward, [(numbers(n, 2),) for n in (0, 1, 1000)])


def test_size_known_to_be_backed() -> None:
    """M15, M21, M22, M23: a condition on a derived size of backed ones is evaluated, guarded and proved."""

    def forward(x: Any, y: Any) -> Any:
        joined = torch.cat([x, y])
        return joined * 2 if joined.shape[0] >= 4 else joined * 3

    shapes = {"x": {0: Dim("a", min=2, max=9)}, "y": {0: Dim("b", min=2, max=9)}}
    for program in both(forward, (numbers(3), numbers(5)), dynamic_shapes=shapes):
        assert guards(program) == []  # settled by the ranges
        agree(program, forward, [(numbers(a), numbers(b)) for a, b in ((2, 2), (9, 9))])
    wider = {"x": {0: Dim("a", min=1, max=9)}, "y": {0: Dim("b", min=1, max=9)}}
    for strict in MODES:
        error = refused(forward, (numbers(3), numbers(5)), dynamic_shapes=wider, strict=strict)
        assert [guard.expr for guard in error.report.guards] == ["a + b >= 4"]


def even(x: Any) -> Any:
    return x.reshape(2, -1) * 2


def test_inferred_dimensions_adopt() -> None:
    """M36: guards on DYNAMIC and AUTO join the contract, are listed as adopted and are checked at run time."""
    for hint in (Dim.DYNAMIC, Dim.AUTO, Dim.DYNAMIC(min=2, max=20)):
        for program in both(even, (numbers(8),), dynamic_shapes={"x": {0: hint}}):
            assert [guard.verdict for guard in program.guards] == ["adopted"]
            agree(program, even, [(numbers(n),) for n in (2, 6, 20)])
            with pytest.raises(dl.GuardError):
                program.module()(numbers(7))


@both_modes
def test_collapsing_dimensions(strict: bool) -> None:
    """M36: a DYNAMIC that collapses to one value is an error, an AUTO is static with a note that names the line."""

    def forward(x: Any) -> Any:
        return x + 1 if x.shape[0] == 8 else x - 1

    error = refused(forward, (numbers(8),), dynamic_shapes={"x": {0: Dim.DYNAMIC}}, strict=strict)
    assert error.id == "dynamic-is-constant"
    assert error.location.line == forward.__code__.co_firstlineno + 1
    program = dl.export(module(forward), (numbers(8),), dynamic_shapes={"x": {0: Dim.AUTO}}, strict=strict)
    (note,) = program.notes
    assert f":{forward.__code__.co_firstlineno + 1}" in note
    agree(program, forward, [(numbers(8),)])
    with pytest.raises(dl.GuardError):
        program.module()(numbers(9))


Pair = namedtuple("Pair", ["first", "second"])


def nested(pair: Any, *rest: Any, table: Any, **more: Any) -> Any:
    total = pair.first.sum() + pair.second.sum()
    for each in (*rest, *table["list"], *more.values()):
        total = total + each.sum()
    return Pair(total, {"n": pair.first.shape[0], "all": [total, (total + 1,)]})


def nested_inputs(n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    pair = Pair(numbers(n), numbers(n, seed=1))
    table = OrderedDict(list=[numbers(n, seed=2), numbers(2, seed=3)])
    return (pair, numbers(n, seed=4), numbers(3, seed=5)), {"table": table, "extra": numbers(n, seed=6)}


def test_nested_inputs_and_specifications() -> None:
    """M10, M36: containers of every kind in and out; specifications nested as the inputs, ``*args`` and ``**kwargs`` too."""
    size = Dim("n", min=1, max=9)
    spec = {
        "pair": Pair({0: size}, {0: size}),
        "rest": ({0: size}, None),
        "table": {"list": [{0: size}, None]},
        "more": {"extra": {0: size}},
    }
    args, kwargs = nested_inputs(4)
    for program in both(nested, args, kwargs, spec):
        run = program.module()
        for n in (1, 4, 9):
            given, named = nested_inputs(n)
            ours, theirs = run(*given, **named), nested(*given, **named)
            assert arrays(ours) == arrays(theirs)
            assert type(ours) is Pair
            assert ours.second["n"] == n
        given, named = nested_inputs(4)
        with pytest.raises(dl.GuardError):
            run(given[0], numbers(5), *given[2:], **named)


def scaled(x: Any, y: Any, n: int) -> Any:
    return (x + y) * n


def test_specifications_by_objects_and_examples() -> None:
    """M9, M36: ShapesCollection and AdditionalInputs, tuples in argument order, dynamic integers."""
    x, y = numbers(4, 3), numbers(4, 3, seed=1)
    size = Dim("n", min=1, max=9)
    collection = dl.ShapesCollection()
    collection[x] = {0: size}
    collection[y] = (size, None)
    more = dl.AdditionalInputs()
    more.add((numbers(6, 3), numbers(6, 3), 7))
    in_order = ({0: size}, {0: size}, Dim.DYNAMIC)
    model = module(scaled)
    for spec in (collection, more, in_order):
        for program in both(model, (x, y, 5), dynamic_shapes=spec):
            static = spec is collection
            agree(
                program,
                model,
                [(numbers(n, 3), numbers(n, 3, seed=1), 5 if static else n) for n in (2, 6, 9)],
            )
    for program in both(model, (x, y, 5), dynamic_shapes=more):
        more.verify(program)


def test_newer_spelling() -> None:
    """M36: ShapesSpec with assumptions is accepted in place of ``dynamic_shapes``; assumptions are premises and checks."""

    def forward(x: Any, y: Any) -> Any:
        return x.reshape(-1, 8).sum(0) if x.shape[0] + y.shape[0] > 10 else y.sum(0).expand(8)

    a, b = dl.ShapeVar("a", min=1, max=64), dl.ShapeVar("b", min=1, max=64)
    params = dl.ParamsSpec({"x": dl.TensorSpec([a]), "y": dl.TensorSpec([b])})
    spec = dl.ShapesSpec(params, assumptions=[a + b > 10, a % 8 == 0])
    for program in both(forward, (numbers(8), numbers(5)), dynamic_shapes=spec):
        agree(program, forward, [(numbers(m), numbers(n)) for m, n in ((8, 3), (16, 1), (64, 64))])
        for m, n in ((8, 2), (12, 9)):
            with pytest.raises(dl.GuardError):
                program.module()(numbers(m), numbers(n))
    for strict in MODES:
        error = refused(
            forward, (numbers(8), numbers(5)), dynamic_shapes=dl.ShapesSpec(params), strict=strict
        )
        assert isinstance(error, dl.ConstraintViolationError)


def test_proposals_are_proved() -> None:
    """M24: a proposed change of the specification, made, is enough."""

    def forward(x: Any) -> Any:
        return x + 1 if x.shape[0] > 7 else x - 1

    for strict in MODES:
        error = refused(
            forward, (numbers(9),), dynamic_shapes={"x": {0: Dim("n", min=1, max=64)}}, strict=strict
        )
        proposal = error.hint.partition("x.shape[0]: ")[2].partition(";")[0]
        fixed = eval(proposal, {"Dim": Dim})  # as a user would copy it
        program = dl.export(module(forward), (numbers(9),), dynamic_shapes={"x": {0: fixed}}, strict=strict)
        assert program.range_constraints["n"] == (8, 64)
        agree(program, forward, [(numbers(n),) for n in (8, 64)])


def test_explanations() -> None:
    """M35: ``explain`` says why a value is static, with the line that read it."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 3

        def forward(self, x: Any) -> Any:
            return x * self.scale

    program = dl.export(Model(), (numbers(3),), strict=True)
    shown = program.explain("self.scale")
    assert "3" in shown
    assert __file__ in shown
    assert text(program) == ["mul = aten.mul.Tensor(x, 3)"]


def test_shapes_as_results() -> None:
    """M10: a shape is a container of sizes like a tuple: it may go out of a program, and in."""

    def forward(x: Any) -> Any:
        return x.shape, x.new_zeros(x.shape[:1]), {"rest": x.shape[1:]}

    for program in both(forward, (numbers(3, 4),), dynamic_shapes={"x": {0: Dim("n", min=1)}}):
        for n in (1, 3, 7):
            shape, zeros, table = program.module()(numbers(n, 4))
            assert type(shape) is torch.Size
            assert (tuple(shape), tuple(zeros.shape), tuple(table["rest"])) == ((n, 4), (n,), (4,))

    def takes(x: Any, size: Any) -> Any:
        return x.expand(size)

    for program in both(takes, (numbers(1, 4), torch.Size([3, 4]))):
        agree(program, takes, [(numbers(1, 4), torch.Size([3, 4]))])
        with pytest.raises(dl.GuardError):
            program.module()(numbers(1, 4), torch.Size([2, 4]))


def test_sizes_that_depend_on_data(tmp_path: Path) -> None:
    """M16, M17, M21, M33: results of unbacked sizes, branches of different sizes; kept in files, layouts left open."""

    def found(x: Any) -> Any:
        nz = x.nonzero()
        return nz.sum(0), x[nz[:, 0]], nz.shape[0] * 2

    def either(x: Any) -> Any:
        return dl.cond(x.sum() > 0, lambda x: x[1:], lambda x: x, (x,))

    shapes = {"x": {0: Dim("n", min=1, max=9)}}
    for forward in (found, either):
        for program in both(forward, (numbers(3, 4),), dynamic_shapes=shapes):
            assert guards(program) == []
            dl.save(program, tmp_path / "program.dlp")
            loaded = dl.load(tmp_path / "program.dlp")
            loaded.validate()
            for version in (program, loaded):
                agree(version, forward, [(numbers(n, 4),) for n in (1, 2, 9)] + [(torch.ones(3, 4),)])
