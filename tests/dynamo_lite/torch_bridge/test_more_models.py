"""Models beyond the zoo, dynamic, in both modes: equal to eager at the example and at other sizes, or refused as the table says.

Layers and functions of plain PyTorch (``tests/zoo/plain.py``) and architectures of transformers (``tests/zoo/kinds.py``). A
selection runs always, the rest under the marker ``long``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from benchmarks.export_torch import compare, dynamic_shapes
from dynamo_lite.trace.inputs import bind_call
from fx_ir.structure import same_graph
from tests.zoo.plain import PLAIN

pytest.importorskip("transformers")

from tests.zoo.kinds import KINDS

MODELS: Final[dict[str, Any]] = {**PLAIN, **KINDS}
SELECTION: Final = (
    "conv_transpose2d", "norms", "pools", "lstm_seq", "encoder_fast", "grid_sample", "einsum", "index_writes", "scatter",
    "data_sizes", "shaping", "weight_norm", "bert_qa", "opt", "mobilenet_v2",
)  # fmt: skip
DATA, STATE, SIZE = dl.DataDependentError, dl.StateError, dl.ConstraintViolationError
REFUSED: Final[dict[str, type[Exception]]] = {
    # Decisions on data. PyTorch exports none of them, in neither mode.
    "switch": DATA,  # loops over the experts that some token chose
    "nllb_moe": DATA,  # the same
    "fsmt": DATA,  # whether some token is padding decides on whether there is a mask
    "longformer": DATA,  # whether some token attends globally
    "led": DATA,  # the same layers
    "vilt": DATA,  # resizes position embeddings to each image's own size
    "encodec": DATA,  # paddings computed from buffers that hold kernel sizes
    # Forward writes to parameters.
    "rwkv": STATE,  # divides weights at the first call in evaluation, once; PyTorch exports it, dividing at each call
    # Forward leaves what it computed from inputs in attributes. PyTorch exports it with static shapes, and drops that.
    "recurrent_gemma": STATE,  # the recurrence's last state, which the next call overwrites
    # A dynamic size that Python loops over is static (M14). With a static one these export, here and in PyTorch.
    "canine": SIZE,  # one chunk of local attention a position
    "jamba": SIZE,  # one step of the recurrence a position
    "xlstm": SIZE,  # one step a chunk
    "funnel": SIZE,  # lists the positions as Python numbers
}  # fmt: skip
ONLY_NONSTRICT: Final = {
    "mobilenet_v2": SIZE
}  # int() of a size asks CPython for its value; PyTorch refuses it too
# They ask whether they are exported: then beit adds a mask that hides nothing, and qwen3_next substitutes instead of solving. Their
# eager results are those to the bit where it is told so too, and PyTorch's own program's differ as ours do.
ASKING: Final = ("beit", "qwen3_next")
SIZES: Final = (None, (5, 9), (2, 20))


@contextmanager
def exporting() -> Iterator[None]:
    """``torch.compiler.is_exporting()`` and ``is_compiling()`` are true in the block."""
    compiler: Any = torch.compiler
    before = compiler._is_exporting_flag, compiler._is_compiling_flag
    compiler._is_exporting_flag = compiler._is_compiling_flag = True
    try:
        yield
    finally:
        compiler._is_exporting_flag, compiler._is_compiling_flag = before


def check(name: str, strict: bool) -> None:
    torch.manual_seed(0)
    model, args, kwargs, dims = MODELS[name]()
    given = dynamic_shapes(dims, args, kwargs, dl.Dim.DYNAMIC)
    arguments = copy.deepcopy((args, kwargs))
    refusal = REFUSED.get(name) or (None if strict else ONLY_NONSTRICT.get(name))
    if refusal is not None:
        with pytest.raises(refusal) as caught:
            dl.export(model, *arguments, dynamic_shapes=given, strict=strict)
        assert getattr(caught.value, "location", None) is not None
        return
    program = dl.export(model, *arguments, dynamic_shapes=given, strict=strict)
    for size in SIZES:
        torch.manual_seed(1)
        _, args, kwargs, _ = MODELS[name](*(size or ()))
        call = bind_call(model.forward, args, kwargs)
        torch.manual_seed(0)
        eager = MODELS[name]()[0]
        torch.manual_seed(2)
        with exporting() if name in ASKING else nullcontext():
            expected = eager(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        torch.manual_seed(2)
        try:
            found = program.module()(*call.args, **call.kwargs)
        except dl.GuardError:
            assert size is not None
            continue
        assert compare(expected, found) == "equal"


def check_graphs(name: str) -> None:
    torch.manual_seed(0)
    model, args, kwargs, dims = MODELS[name]()
    given = dynamic_shapes(dims, args, kwargs, dl.Dim.DYNAMIC)
    strict, native = (
        dl.export(model, *copy.deepcopy((args, kwargs)), dynamic_shapes=given, strict=strict)
        for strict in (True, False)
    )
    assert same_graph(strict.graph_module, native.graph_module) == []


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
@pytest.mark.parametrize("name", SELECTION)
def test_model(name: str, strict: bool) -> None:
    check(name, strict)


@pytest.mark.long
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
@pytest.mark.parametrize("name", [name for name in MODELS if name not in SELECTION])
def test_rest(name: str, strict: bool) -> None:
    check(name, strict)


BOTH: Final = tuple(name for name in MODELS if name not in REFUSED and name not in ONLY_NONSTRICT)


@pytest.mark.parametrize("name", [name for name in BOTH if name in SELECTION])
def test_both_modes_give_one_graph(name: str) -> None:
    check_graphs(name)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in BOTH if name not in SELECTION])
def test_both_modes_give_one_graph_rest(name: str) -> None:
    check_graphs(name)
