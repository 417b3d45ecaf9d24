"""No Python code of a real model runs natively behind the interpreter's back: every model, watched while it is captured.

The layers of plain PyTorch and the selections of the zoo run always, all models in both settings under the marker ``long``.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from benchmarks.export_torch import dynamic_shapes
from tests.dynamo_lite.strict.leaks import Detector
from tests.zoo import models as zoo
from tests.zoo.plain import PLAIN

pytest.importorskip("transformers")

from tests.dynamo_lite.torch_bridge import test_more_models, test_zoo
from tests.zoo.kinds import KINDS

MODELS: Final[dict[str, Any]] = {**zoo.REG, **PLAIN, **KINDS}
QUICK: Final = (*dict.fromkeys((*test_zoo.SELECTION, *PLAIN, *test_more_models.SELECTION)),)


def check(name: str, shapes: str) -> None:
    torch.manual_seed(0)
    model, args, kwargs, dims = MODELS[name]()
    given = dynamic_shapes(dims, args, kwargs, dl.Dim.DYNAMIC) if shapes == "dynamic" else None
    detector = Detector()
    with warnings.catch_warnings(), detector.installed():
        warnings.simplefilter("ignore")
        with contextlib.suppress(
            dl.ExportError
        ):  # other tests say which are refused; what ran until then was watched
            dl.export(model, *copy.deepcopy((args, kwargs)), dynamic_shapes=given, strict=True)
    assert detector.escaped == []


@pytest.mark.parametrize("name", QUICK)
def test_quick_models(name: str) -> None:
    check(name, "static")


@pytest.mark.long
@pytest.mark.parametrize("shapes", ["static", "dynamic"])
@pytest.mark.parametrize("name", MODELS)
def test_every_model(name: str, shapes: str) -> None:
    check(name, shapes)
