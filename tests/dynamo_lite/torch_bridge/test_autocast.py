"""Every operator under autocast: captured with its casts it gives eager's bits, or it is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dynamo_lite as dl
from dynamo_lite.torch_bridge import autocast
from tests.dynamo_lite.torch_bridge.support import module
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import arguments, leaves
from tests.fx_ir.ops.test_same_as_torch import to_torch, torch_overload

SKIPPED = {name for name in ATEN if ATEN[name].name.startswith(("sym_", "_assert"))}


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
