"""Every operator under autocast: captured with its casts it gives eager's bits, or it is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dynamo_lite as dl
from dynamo_lite.torch_bridge import autocast
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import arguments, leaves
from tests.fx_ir.ops.test_same_as_torch import to_torch, torch_overload

# About sizes and conditions alone, or with last bits that depend on where the operands lie in memory.
SKIPPED = {name for name in ATEN if ATEN[name].name.startswith(("sym_", "_assert", "linalg_lstsq"))}


def prepared(value: Any, lower: bool) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(torch.bfloat16) if lower and value.dtype is torch.float32 else value
    return (
        type(value)([prepared(item, lower) for item in value]) if isinstance(value, (list, tuple)) else value
    )


def floats(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_floating_point()
    return isinstance(value, (list, tuple)) and any(map(floats, value))


def same(ours: Any, theirs: Any) -> bool:
    if not isinstance(theirs, torch.Tensor):
        return bool(ours == theirs)
    return ours.dtype is theirs.dtype and torch.equal(ours.nan_to_num(), theirs.nan_to_num())


def calling(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A module that calls one operator under autocast."""

    def forward(self: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return overload(*args, **kwargs)

    return module(forward)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(ATEN) - NOT_SAMPLED - SKIPPED))
def test_operator_under_autocast(name: str) -> None:
    overload = torch_overload(name)
    known = autocast._has_cast(name) or ATEN[name].name in ("nll_loss_nd", "pad")
    samples = BY_OPERATOR[name] if known else BY_OPERATOR[name][:2]
    for call, lower in [(call, lower) for call in samples for lower in (False, True)]:
        given, named = arguments(call)
        args = tuple(prepared(to_torch(value), lower) for value in given)
        kwargs = {key: prepared(to_torch(value), lower) for key, value in named.items()}
        if "values" not in call.compare or not any(map(floats, (*args, *kwargs.values()))):
            continue

        model = calling(overload, args, kwargs)
        with torch.no_grad():
            try:
                expected = model()
            except (RuntimeError, NotImplementedError):
                continue  # PyTorch's kernel lacks the dtype
            try:
                found = dl.export(model, (), strict=False).module()()
            except dl.UnsupportedError as error:
                assert error.id == "autocast-operator", (str(call), error)
                assert ATEN[name].name in autocast._COMPOSED or ATEN[name].name in autocast._WIDEST
                continue
            except dl.DataDependentError:
                continue
        for mine, theirs in zip(leaves(found), leaves(expected), strict=True):
            assert same(mine, theirs), str(call)


BLOCKS: list[dict[str, Any]] = [
    {"dtype": dtype, "enabled": enabled, "cache_enabled": cache}
    for dtype in (None, torch.bfloat16, torch.float16)
    for enabled in (True, False)
    for cache in (True, False)
]


def in_two_blocks(outer: dict[str, Any], inner: dict[str, Any]) -> Any:
    """A module whose layers run before, in, and after two nested blocks; each block has a layer of its own.

    (PyTorch's cache of casts gives a layer that two blocks of different dtypes share weights of the wrong one, and raises.)
    """

    def forward(self: Any, x: Any) -> Any:
        with torch.autocast("cpu", **outer):
            first = self.lin(x)
            with torch.autocast("cpu", **inner):
                second = self.inner(first.float())
                others = second @ x.to(second.dtype).T, torch.softmax(second, -1), torch.cat([second, x])
                kept = torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))
            third = self.lin(second.float()) + second, second.pow(2)
        return first, second, others, third, self.lin(x), *kept

    return module(forward, inner=torch.nn.Linear(4, 4))


@both_modes
def test_blocks_in_blocks(strict: bool) -> None:
    x = torch.randn(3, 4)
    for outer in BLOCKS:
        for inner in BLOCKS:
            model = in_two_blocks(outer, inner)
            assert_same(model(x), dl.export(model, (x,), strict=strict).module()(x))


@both_modes
def test_a_program_is_not_called_under_autocast(strict: bool) -> None:
    """The casts would not be eager's: of what writes in place, and of blocks that switch autocast off."""

    def forward(self: Any, x: Any) -> Any:
        with torch.autocast("cpu", enabled=False):
            return self.lin(x)

    model, x = module(forward), torch.randn(3, 4)
    program = dl.export(model, (x,), strict=strict).module()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(dl.GuardError, match="autocast-around"):
            program(x)
        with torch.autocast("cpu", enabled=False):
            assert_same(program(x), model(x))
    assert_same(program(x), model(x))
