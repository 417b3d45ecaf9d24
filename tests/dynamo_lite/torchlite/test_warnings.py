"""Where PyTorch says nothing, programs on NumPy say nothing: no floating-point warning reaches the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch

SILENT: dict[str, tuple[Callable[[Any], Any], list[float], float]] = {
    "overflow": (lambda x: x.exp(), [1000.0], np.inf),
    "invalid": (lambda x: x.log(), [-1.0], np.nan),
    "division": (lambda x: 1 / x, [0.0], np.inf),
    "mean of nothing": (lambda x: x[1:].mean(), [1.0], np.nan),
    "mean without numbers": (lambda x: x.nanmean(), [np.nan], np.nan),
    "variance of one": (lambda x: x.var(), [1.0], np.nan),
    "normalised nothing": (lambda x: torch.nn.functional.layer_norm(x[1:][None], (0,)).sum(), [1.0], 0.0),
}


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("strict", [True, False])
def test_no_warning_reaches_the_user(name: str, strict: bool) -> None:
    function, values, expected = SILENT[name]

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dl.export(Model(), (torch.tensor(values),), strict=strict).module()(torch.tensor(values))
    np.testing.assert_array_equal(found.numpy().ravel(), [expected])
