"""Real models in four settings: both modes, static and dynamic, against eager to the bit at several sizes.

A selection of kinds runs always, the whole zoo under the marker ``long``.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from benchmarks.export_torch import compare, dynamic_shapes
from dynamo_lite.trace.inputs import bind_call
from fx_ir.structure import same_graph
from tests.zoo import models as zoo

pytest.importorskip("transformers")

SELECTION: Final = (
    "nn.mlp", "bert", "v.gpt2_default_cache", "v.llama_decode_dyncache", "t5", "resnet", "swin", "wav2vec2", "nn.lstm",
    "nn.kv_cache", "nn.bn_train", "nn.unet", "nn.nonzero_item", "nn.cond", "nn.mha",
)  # fmt: skip
REST: Final = tuple(name for name in zoo.REG if name not in SELECTION)
# What decides on data, in which settings it is refused (by mode; all shapes unless named), and what the error must speak of.
REFUSED: Final[dict[str, tuple[tuple[str, ...], type[Exception], str]]] = {
    "nn.data_dep_if": (("strict", "nonstrict"), dl.DataDependentError, "cond"),
    "mixtral_eager_experts": (("strict", "nonstrict"), dl.DataDependentError, "depends on data"),
    "nn.bn_train_cma": (("nonstrict",), dl.DataDependentError, "data"),
    "mamba": (("strict-dynamic", "nonstrict-dynamic"), dl.ConstraintViolationError, "only for 12"),
}
SIZES: Final = ((5, 9), (2, 20))


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refusal(name: str, mode: str, shapes: str) -> tuple[type[Exception], str] | None:
    settings, kind, word = REFUSED.get(name, ((), Exception, ""))
    return (kind, word) if mode in settings or f"{mode}-{shapes}" in settings else None


def check(name: str, shapes: str) -> None:
    torch.manual_seed(0)
    model, args, kwargs, dims = zoo.REG[name]()
    given = dynamic_shapes(dims, args, kwargs, dl.Dim.DYNAMIC) if shapes == "dynamic" else None
    programs = {}
    for mode in ("strict", "nonstrict"):
        expected = refusal(name, mode, shapes)
        arguments = copy.deepcopy((args, kwargs))
        if expected is not None:
            with pytest.raises(expected[0]) as caught:
                dl.export(model, *arguments, dynamic_shapes=given, strict=mode == "strict")
            assert expected[1] in str(caught.value)
            assert getattr(caught.value, "location", None) is not None
            continue
        programs[mode] = dl.export(model, *arguments, dynamic_shapes=given, strict=mode == "strict")
    if len(programs) == 2:
        assert same_graph(programs["strict"].graph_module, programs["nonstrict"].graph_module) == []
    for program in programs.values():
        equals_eager(model, program, name, None)
    if shapes == "dynamic" and "strict" in programs:
        sizes = [size for size in SIZES if equals_eager(model, programs["strict"], name, size)]
        assert sizes, "the contract admits the example alone"


def equals_eager(model: Any, program: Any, name: str, size: tuple[int, int] | None) -> bool:
    """Two calls in a row, state included; False where the contract excludes the size."""
    torch.manual_seed(1)
    _, args, kwargs, _ = zoo.REG[name]() if size is None else zoo.REG[name](*size)
    call = bind_call(model.forward, args, kwargs)
    eager, runner = copy.deepcopy(model), program.module()
    for seed in (2, 3):
        torch.manual_seed(seed)
        expected = eager(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        torch.manual_seed(seed)
        try:
            found = runner(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))
        except dl.GuardError:
            assert size is not None
            return False
        assert compare(expected, found) == "equal"
    state = runner.state_dict()
    for key, tensor in eager.state_dict().items():
        if key in state:
            assert torch.equal(tensor, state[key]), key
    return True


@pytest.mark.parametrize("shapes", ["static", "dynamic"])
@pytest.mark.parametrize("name", SELECTION)
def test_model(name: str, shapes: str) -> None:
    check(name, shapes)


@pytest.mark.long
@pytest.mark.parametrize("shapes", ["static", "dynamic"])
@pytest.mark.parametrize("name", REST)
def test_rest(name: str, shapes: str) -> None:
    check(name, shapes)
