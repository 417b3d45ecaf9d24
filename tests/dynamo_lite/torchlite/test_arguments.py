"""Every argument counts: what PyTorch's functions and modules do with the less common ones, ours do or refuse."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torchlite
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.torchlite.twin import Snippet, assert_same, needs_torch

ROOT: Final = Path(torchlite.__file__).parent
# Parameters whose value changes no result, here or in PyTorch, by function.
WITHOUT_EFFECT: Final[dict[str, set[str]]] = {
    "tensor": {"pin_memory", "names"}, "cpu": {"memory_format"}, "type_": {"non_blocking"}, "softmax": {"_stacklevel"},
    "softmin": {"_stacklevel"}, "log_softmax": {"_stacklevel"}, "gumbel_softmax": {"eps"}, "embedding": {"norm_type"},
    "embedding_bag": {"norm_type"}, "TransformerEncoder": {"enable_nested_tensor", "mask_check"},
    "Identity": {"args", "kwargs"}, "disable": {"recursive", "reason"}, "custom_op": {"device_types"},
    "register_fake": {"lib"}, "register_kernel": {"lib"}, "autocast": {"cache_enabled"}, "is_storage": {"obj"},
    "is_autocast_available": {"device_type"}, "has_torch_function": {"relevant_args"}, "make_tensor": {"device"},
    "assert_close": {"allow_subclasses", "check_device", "check_layout"},
}  # fmt: skip


def parameters_not_read() -> Iterator[tuple[str, str]]:
    """``(function or class, parameter)`` for every parameter of a public function of the library that its body does not read."""
    files = [*ROOT.rglob("*.py"), *(ROOT.parent / "lowering").glob("*.py")]
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        owners = {
            id(item): node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            for item in node.body
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            owner = owners.get(id(node), node.name)
            if owner.startswith("_") or (node.name.startswith("_") and node.name != "__init__"):
                continue
            bare = all(isinstance(step, (ast.Expr, ast.Raise, ast.Pass)) for step in node.body)
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            names = {arg.arg for arg in given} | {
                arg.arg for arg in (node.args.vararg, node.args.kwarg) if arg
            }
            read = {name.id for step in node.body for name in ast.walk(step) if isinstance(name, ast.Name)}
            for name in names - read - {"self", "cls", "_"}:
                if not bare and (node.name == "__init__" or id(node) not in owners):
                    yield owner, name


def test_no_argument_is_ignored() -> None:
    """A parameter that PyTorch acts on is acted on or refused."""
    inner = {("itself", "args"), ("itself", "kwargs"), ("backward", "args"), ("backward", "kwargs"), ("lower", "kwargs"), ("device", "type"), ("device", "index")}  # fmt: skip
    found = {pair for pair in parameters_not_read() if pair not in inner}
    allowed = {(owner, name) for owner, names in WITHOUT_EFFECT.items() for name in names}
    assert found - allowed == set()


X: Final = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
SNIPPETS: Final[dict[str, Snippet]] = {
    "sum by size_average": lambda t: t.nn.functional.mse_loss(t.tensor(X), t.tensor(X) * 2, size_average=False),
    "none by reduce": lambda t: t.nn.functional.l1_loss(t.tensor(X), t.tensor(X) * 2, reduce=False),
    "mean by both": lambda t: t.nn.functional.smooth_l1_loss(
        t.tensor(X), t.tensor(X) * 2, size_average=True, reduce=True, reduction="sum"
    ),
    "module by size_average": lambda t: t.nn.CrossEntropyLoss(size_average=False)(t.tensor(X), t.tensor([0, 2])),
    "module by reduce": lambda t: t.nn.KLDivLoss(reduce=False)(t.tensor(X), t.tensor(X).softmax(-1)),
    "cosine by reduce": lambda t: t.nn.CosineEmbeddingLoss(reduce=False)(
        t.tensor(X), t.tensor(X) + 1, t.tensor([1, -1])
    ),
    "indices in one dimension": lambda t: t.nn.MaxPool1d(2, 1, padding=1, return_indices=True)(t.tensor([X])),
    "indices of an adaptive pool": lambda t: t.nn.AdaptiveMaxPool2d(2, return_indices=True)(t.tensor([[X, X]])),
    "padding of volumes": lambda t: _volume(t),
    "output size": lambda t: _transposed(t, [1, 1, 8]),
    "output size, spatial": lambda t: _transposed(t, [7]),
    "output size out of reach": lambda t: _transposed(t, [12]),
    "scale computed anew": lambda t: t.nn.functional.interpolate(
        t.tensor([X]), scale_factor=1.5, mode="linear", recompute_scale_factor=True
    ),
    "scale as given": lambda t: t.nn.Upsample(scale_factor=1.5, mode="linear")(t.tensor([X])),
    "masks by position": lambda t: _decoder(t),
    "new tensor elsewhere": lambda t: t.tensor(X).new_tensor([1.0], device="cpu"),
}  # fmt: skip


def _volume(torch: Any) -> Any:
    layer = torch.nn.Conv3d(1, 1, 2, padding=1, padding_mode="circular")
    with torch.no_grad():
        layer.weight.copy_(torch.arange(8.0).reshape(1, 1, 2, 2, 2))
        layer.bias.fill_(0.5)
        return layer(torch.tensor([[[X, X]]]))


def _transposed(torch: Any, size: list[int]) -> Any:
    layer = torch.nn.ConvTranspose1d(2, 1, 3, stride=2)
    with torch.no_grad():
        layer.weight.fill_(0.25)
        layer.bias.fill_(0.5)
        return layer(torch.tensor([X]), output_size=size)


def _decoder(torch: Any) -> Any:
    layer = torch.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    stack = torch.nn.TransformerDecoder(layer, 2)
    with torch.no_grad():
        for number, parameter in enumerate(stack.parameters()):
            parameter.copy_(
                torch.arange(parameter.numel()).reshape(parameter.shape) % (number + 3) * 0.1 - 0.1
            )
        x = torch.arange(24.0).reshape(2, 3, 4) / 10
        return stack(x, x + 1, torch.tensor([[0.0, -1e9, -1e9], [0.0, 0.0, -1e9], [0.0, 0.0, 0.0]]))


@needs_torch
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SNIPPETS)
def test_same_as_pytorch(name: str) -> None:
    """Values, shapes, dtypes and errors."""
    assert_same(SNIPPETS[name])


def test_refused() -> None:
    """What cannot be done is said."""
    x = torchlite.ones(1, 2, 4)
    with pytest.raises(NotImplementedError, match="antialias"):
        nn.functional.interpolate(torchlite.ones(1, 1, 4, 4), size=2, mode="bilinear", antialias=True)
    with pytest.raises(NotImplementedError, match="max_norm"):
        nn.functional.embedding_bag(torchlite.tensor([[0]]), torchlite.ones(2, 2), max_norm=1.0)
    makes: list[Callable[[], Any]] = [
        lambda: nn.Linear(4, 2, device="cuda"),
        lambda: nn.LSTM(4, 2, device="cuda"),
        lambda: nn.BatchNorm1d(4, device="cuda"),
        lambda: nn.TransformerEncoderLayer(4, 2, device="cuda"),
        lambda: x.to("cuda"),
        lambda: torchlite.tensor([1.0], device="cuda"),
        lambda: torchlite.as_tensor([1.0], device="cuda"),
        lambda: torchlite.arange(3, device="cuda:1"),
        lambda: x.new_tensor([1.0], device="cuda"),
        lambda: torchlite.ones_like(x, device="cuda"),
    ]
    for make in makes:
        with pytest.raises(AssertionError, match="CUDA"):
            make()
    with pytest.raises(RuntimeError, match="CPU alone"):
        torchlite.ones(2, device="meta")
    written = nn.functional.dropout1d(x, 0.5, True, inplace=True)
    assert written is x


@pytest.mark.parametrize("strict", [False, True])
def test_devices_under_export(strict: bool) -> None:
    """A device that is not there is an error while capturing, as it is in eager execution."""

    class Moves(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.to("cuda") + 1

    with pytest.raises(AssertionError, match="CUDA"):
        dl.export(Moves(), (torchlite.ones(2),), strict=strict)
