"""M28: a lazy parameter that is not initialised is an error, and the module stays lazy."""

from __future__ import annotations

import pytest
import torch

import dynamo_lite as dl

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("strict", [True, False])
def test_an_uninitialised_parameter_is_refused_by_name(strict: bool) -> None:
    model = torch.nn.Sequential(torch.nn.LazyLinear(4))
    with pytest.raises(dl.StateError, match=r"0\.weight") as caught:
        dl.export(model, (torch.randn(2, 3),), strict=strict)
    assert caught.value.id == "uninitialized-state"
    assert isinstance(model[0], torch.nn.LazyLinear) and model[0].has_uninitialized_params()
    model(torch.randn(2, 3))
    program = dl.export(model, (torch.randn(2, 3),), strict=strict)
    x = torch.randn(2, 3)
    assert torch.equal(program.module()(x), model(x))
