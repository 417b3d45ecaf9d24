"""What a program of PyTorch's goes on to: files, PyTorch's own exported programs, proofs of theirs, comparisons, the decorator."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import _higher_order_ops as loops
from torch import nn
from torch.export import Dim

import dynamo_lite as dl
from dynamo_lite.torch_bridge.obligations import problem_of
from solver.prove import prove
from solver.readers import load
from tests.dynamo_lite.torch_bridge.support import assert_equals_eager, assert_same, module


def network() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))


def stated(self: Any, x: Any, n: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= x.shape[0])
    return x[:k].sum(0)


def chosen(self: Any, x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: self.lin(x), lambda x: x.sin(), (x,))


def test_a_file_holds_the_program(tmp_path: Path) -> None:
    model = network()
    program = dl.export(model, (torch.randn(3, 4),), dynamic_shapes=[{0: Dim("b", min=2)}], strict=True)
    dl.save(program, tmp_path / "program.dlp")
    loaded = dl.load(tmp_path / "program.dlp")
    assert_equals_eager(model, loaded, (torch.randn(6, 4),))
    assert all(isinstance(loaded.state_dict[name], nn.Parameter) for name, _ in model.named_parameters())


@pytest.mark.parametrize("strict", [False, True])
def test_to_torch(strict: bool) -> None:
    model, x = network(), torch.randn(3, 4)
    program = dl.export(model, (x,), dynamic_shapes=[{0: Dim("b", min=2)}], strict=strict)
    real = program.to_torch()
    assert isinstance(real, torch.export.ExportedProgram)
    assert set(real.state_dict) == set(model.state_dict())
    eager, runner = copy.deepcopy(model), real.module()
    for rows in (3, 7):
        given = torch.randn(rows, 4)
        assert_same(eager(given), runner(given))
    assert torch.equal(eager[1].running_mean, runner.state_dict()["1.running_mean"])


@pytest.mark.parametrize(
    ("forward", "args"),
    [(stated, (torch.randn(5, 4), torch.tensor(3))), (chosen, (torch.randn(5, 4),))],
    ids=["assertions", "branches"],
)
def test_to_torch_keeps_what_depends_on_data(forward: Any, args: Any) -> None:
    model = module(forward)
    real = dl.export(model, args, strict=True).to_torch()
    assert_same(model(*args), real.module()(*args))


LIBRARY = torch.library.Library("dynamo_lite_downstream", "FRAGMENT")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x * 2, "CPU")
LIBRARY.define("adds(Tensor x, Tensor(a!) total) -> Tensor")
LIBRARY.impl("adds", lambda x, total: total.add_(x) + 0, "CPU")
torch.library.register_fake("dynamo_lite_downstream::twice", lambda x: torch.empty_like(x), lib=LIBRARY)
torch.library.register_fake("dynamo_lite_downstream::adds", lambda x, t: torch.empty_like(x), lib=LIBRARY)


def nested(self: Any, x: Any) -> Any:
    def then(x: Any) -> Any:
        return torch.cond(x.max() > 1, lambda x: self.lin(x), lambda x: x * 3, (x,))

    return torch.cond(x.sum() > 0, then, lambda x: x.sin(), (x,))


def by_size(self: Any, x: Any) -> Any:
    return torch.cond(x.shape[0] > 4, lambda x: (self.lin(x), x + 1), lambda x: (x.sin(), x * 1), (x,))


def counted(self: Any, x: Any) -> Any:
    return loops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, self.lin(y)), (torch.tensor(0), x))[1]


def grown(self: Any, x: Any) -> Any:
    return loops.while_loop(lambda y: y.sum() < 100, lambda y: (y * 2 + 1,), (x.abs(),))[0]


def by_number(self: Any, x: Any) -> Any:
    return dl.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, self.lin(y)), (0, x))[1]


def scanned(self: Any, x: Any) -> Any:
    return loops.scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x, dim=0)


def mapped(self: Any, x: Any) -> Any:
    return loops.map(lambda row: self.lin.bias * row, x)


def custom(self: Any, x: Any) -> Any:
    y = torch.ops.dynamo_lite_downstream.adds(torch.ops.dynamo_lite_downstream.twice(x)[0], self.buf)
    return y * self.buf


def cast(self: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = self.lin(x)
    with torch.no_grad():
        z = self.lin(x)
    return y, self.lin(x), z * x


def updated(self: Any, x: Any) -> Any:
    self.buf.add_(x.sum(0))
    self.buf = self.buf * 2
    x.add_(1)
    return x * self.buf


def measured(self: Any, x: Any) -> Any:
    n = x[0, 0].abs().long().item()
    torch._check(n >= 0)
    torch._check(n < 9)
    return x.new_zeros(n + 1, x.shape[0]), x.reshape(x.shape[0] * 2, 2), x[x > 0].sum(), {"n": x.shape[0]}


def drawn(self: Any, x: Any) -> Any:
    return torch.nn.functional.dropout(x, 0.5, True) + torch.rand_like(x)


def copied(self: Any, x: Any) -> Any:
    y = torch.zeros(3)
    y[1:] = x[0, :2]
    return y, x, x[0]


FORWARDS = [
    nested, by_size, counted, grown, by_number, scanned, mapped, custom, cast, updated, measured, drawn, copied,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("forward", FORWARDS, ids=lambda forward: str(forward.__name__))
def test_to_torch_of_many_kinds(forward: Any, tmp_path: Path) -> None:
    """At other sizes too: the program of PyTorch's, what PyTorch loads of its file, and that of a program without examples."""
    model = module(forward)
    spec = [{0: Dim("n", min=2, max=90)}]
    program = dl.export(model, (torch.randn(5, 4),), dynamic_shapes=spec, strict=True)
    dl.save(program, tmp_path / "program.dlp")
    torch.export.save(program.to_torch(), str(tmp_path / "program.pt2"))
    loaded = dl.load(tmp_path / "program.dlp")
    loaded.example_inputs = None
    programs = [torch.export.load(str(tmp_path / "program.pt2")), loaded.to_torch()]
    for each in programs:
        eager, runner = copy.deepcopy(model), each.module()
        for rows in (5, 2, 9):
            x = torch.randn(rows, 4)
            given = x.clone(), x.clone()
            torch.manual_seed(rows)
            expected = eager(given[0])
            torch.manual_seed(rows)
            assert_same(expected, runner(given[1]))
            assert torch.equal(*given)
        for name, tensor in eager.state_dict().items():
            assert torch.equal(tensor, runner.state_dict()[name])


def test_examples_are_found_where_sizes_are_tied(tmp_path: Path) -> None:
    def forward(self: Any, x: Any, y: Any, k: Any) -> Any:
        return (x.t().reshape(-1, 8) + 1, y[: x.shape[0]] * k)

    half = dl.Dim("half", min=4, max=40)
    spec = {"x": {0: 8 * half}, "y": {0: 8 * half + 1}, "k": None}
    args = (torch.randn(64, 3), torch.randn(65), 3)
    dl.save(dl.export(module(forward), args, dynamic_shapes=spec, strict=True), tmp_path / "program.dlp")
    loaded = dl.load(tmp_path / "program.dlp")
    loaded.example_inputs = None
    assert_same(module(forward)(*args), loaded.to_torch().module()(*args))


@pytest.mark.parametrize(
    ("dim", "status"),
    [
        (2 * Dim("half", max=50), "refuted"),
        (Dim("b", min=2, max=80), "proved"),
        (Dim("b", min=0, max=9), "refuted"),
    ],
    ids=["derived", "from two", "from none"],
)
def test_obligations_of_a_live_program_are_those_of_its_file(tmp_path: Path, dim: Any, status: str) -> None:
    model = module(lambda self, x: self.lin(x).relu() if x.shape[0] < 90 or x.shape[1] == 4 else x)
    real = torch.export.export(model, (torch.randn(6, 4),), dynamic_shapes=[{0: dim}])
    torch.export.save(real, str(tmp_path / "program.pt2"))
    ((written,), _) = load(tmp_path / "program.pt2")
    live = problem_of(real)
    assert [str(guard.expr) for guard in live.guards] == [str(guard.expr) for guard in written.guards]
    assert live.symbols == written.symbols
    proofs = [dl.verify(real), prove(written)]
    found = [[(g.id, g.verdict, g.counterexample) for g in proof.guards] for proof in proofs]
    assert found[0] == found[1]
    assert [proof.status for proof in proofs] == [status, status]


def test_compare_runs_all_four_modes() -> None:
    comparison = dl.compare(network(), (torch.randn(3, 4),), dynamic_shapes=[{0: dl.Dim("b", min=2)}])
    assert comparison.equal
    assert [side.error for side in comparison.sides] == [None] * 4
    assert [side.name for side in comparison.sides[2:]] == ["torch strict", "torch non-strict"]


class Decorated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.scale = 2.0

    @dl.exported(dynamic_shapes={"x": {0: dl.Dim("b")}})
    def forward(self, x: Any) -> Any:
        return self.lin(x) * self.scale


def plain(model: Any, x: Any) -> Any:
    return model.lin(x) * model.scale


def test_decorated_module_is_live() -> None:
    model = Decorated()
    x = torch.randn(3, 4)
    assert torch.equal(model(x), plain(model, x))
    model.load_state_dict({"lin.weight": torch.ones(4, 4), "lin.bias": torch.zeros(4)})
    assert torch.equal(model(x), plain(model, x))
    torch.optim.SGD(model.parameters(), lr=0.1)
    expected = torch.autograd.grad(plain(model, x).sum(), model.lin.weight)[0]
    assert torch.equal(torch.autograd.grad(model(x).sum(), model.lin.weight)[0], expected)
    model.scale = 3.0
    with pytest.raises(dl.GuardError):
        model(x)
    model.scale = 2.0
    with pytest.raises(dl.GuardError):
        model.double()(x.double())


def test_to_torch_keeps_open_what_a_small_example_would_fix() -> None:
    """Integers are open too."""

    def forward(self: Any, x: Any, n: int, *, k: Any = None) -> Any:
        return x[1:] * n, torch.zeros(n), torch.vmap(torch.dot)(x, x)

    model, args = module(forward), (torch.randn(2, 3), 4)
    spec = {"x": {0: dl.Dim("b", min=1)}, "n": dl.Dim.DYNAMIC, "k": None}
    program = dl.export(model, args, {"k": None}, dynamic_shapes=spec)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        real = program.to_torch()
    run = real.module()
    for rows, number in ((3, 2), (5, 7)):
        x = torch.randn(rows, 3)
        assert_same(model(x, number), run(x, number, k=None))


def test_to_torch_warns_of_what_it_fixes() -> None:
    """PyTorch's tracer loops over a sequence that is one operator here."""
    layer = nn.GRU(3, 4, batch_first=True)
    free = [{0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}]
    program = dl.export(layer, (torch.randn(2, 5, 3),), dynamic_shapes=free)
    with pytest.warns(UserWarning, match=r"fixes input\.shape\[1\] = 5: its program is narrower"):
        real = program.to_torch()
    x = torch.randn(3, 5, 3)
    torch.testing.assert_close(real.module()(x, None), layer(x))


class Held:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


torch.utils._pytree.register_pytree_node(
    Held, lambda held: ([held.inner], None), lambda children, _: Held(*children)
)


class Pair(NamedTuple):
    first: Any
    second: int = 1


def test_named_results_are_loaded_by_another_process(tmp_path: Path) -> None:
    """Classes of PyTorch's results, classes in its registry without a name for files, named tuples: each as it was."""

    def forward(self: Any, x: Any) -> Any:
        return Pair(x.median(1)), Held(x.sort()), x.aminmax(), x.shape

    dl.save(dl.export(module(forward), (torch.randn(3, 4),)), tmp_path / "program.dlp")
    script = (
        "import sys, torch, dynamo_lite as dl\n"
        f"import {__name__} as seen\n"
        "pair, held, ends, shape = dl.load(sys.argv[1]).module()(torch.arange(12.).view(3, 4))\n"
        "print([type(value).__name__ for value in (pair, pair.first, held, held.inner, ends, shape)], pair.second)\n"
    )
    run = [sys.executable, "-c", script, str(tmp_path / "program.dlp")]
    done = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
    assert done.stdout.strip() == "['Pair', 'median', 'Held', 'sort', 'aminmax', 'Size'] 1", done.stderr
