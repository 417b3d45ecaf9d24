"""Named dimensions on real models: each exports, or the proved fix of its refusal does, put into the specification as it stands.

The program is then right at the example and at other sizes, and every dimension keeps at least two sizes. A selection runs
always, the whole zoo under the marker ``long``.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any, Final

import pytest
import torch
from torch.utils import _pytree as pytree

import dynamo_lite as dl
from benchmarks.export_torch import compare, layer_tensors
from dynamo_lite.trace.inputs import bind_call
from tests.zoo import models as zoo

pytest.importorskip("transformers")

SELECTION: Final = (
    "bert", "llama", "v.llama_decode_dyncache", "t5", "v.gpt2_nomask", "wav2vec2", "swin", "nn.bn_train",
    "nn.convnet_dynhw", "nn.gru", "nn.kv_cache", "nn.unet",
)  # fmt: skip
DECIDES_ON_DATA: Final = ("nn.data_dep_if", "mixtral_eager_experts")
LOOPS: Final = "mamba"  # over its sequence: that dimension is fixed by any fix
REST: Final = tuple(name for name in zoo.REG if name not in (*SELECTION, *DECIDES_ON_DATA, LOOPS))
WIDER: Final = {"nn.convnet_dynhw": (torch.randn(2, 3, 50, 44),)}  # the zoo varies one of two dimensions
SIZES: Final = ((5, 12), (3, 9), (5, 9), (2, 20), (8, 31))


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def labels(spec: Any, kwargs: dict[str, Any]) -> Any:
    """The zoo's labels as ``{dimension: label}`` for each leaf; a cache's are the batch and its length."""
    if spec != "cache":
        return spec
    cached = pytree.tree_leaves(layer_tensors(kwargs["past_key_values"]))
    found: dict[str, Any] = {name: {0: "b"} for name in kwargs}
    return found | {"attention_mask": {0: "b", 1: "m"}, "past_key_values": [{0: "b", 2: "c"}] * len(cached)}


def named(spec: Any, dims: dict[str, Any]) -> Any:
    """The specification with ``dims[label]`` for each label."""
    if isinstance(spec, list):
        return [named(each, dims) for each in spec]
    if all(isinstance(key, int) for key in spec):
        return {index: dims[label] for index, label in spec.items()}
    return {name: named(each, dims) for name, each in spec.items()}


def sizes_of(spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, int]:
    """The size of every label in a call."""
    found: dict[str, int] = {}
    for key, dims in enumerate(spec) if isinstance(spec, list) else spec.items():
        value = args[key] if isinstance(key, int) else kwargs[key]
        each = zip(layer_tensors(value), dims, strict=True) if isinstance(dims, list) else [(value, dims)]
        for tensor, entry in each:
            found |= {label: tensor.shape[index] for index, label in entry.items()}
    return found


def fixed(dims: dict[str, Any], fix: Any) -> tuple[dict[str, Any], list[str]]:
    """The dimensions after a proved fix, and the assumptions that it adds: its source is evaluated as it stands."""
    if not fix.dims:
        return dims, [fix.assumption]
    changed = {}
    for source in fix.dims.values():
        made = eval(source, {"Dim": dl.Dim})
        changed[made.__name__] = made
    return dims | changed, []


def export_with_fix(model: Any, args: Any, kwargs: Any, spec: Any, mode: bool) -> Any:
    """The program under plain named dimensions, or under those that the refusal proposes."""
    dims: dict[str, Any] = {label: dl.Dim(label) for label in dict.fromkeys(pytree.tree_leaves(spec))}
    try:
        return dl.export(model, args, kwargs, dynamic_shapes=named(spec, dims), strict=mode)
    except dl.ConstraintViolationError as error:
        report = error.report
    fix = report.fix or report.roots[0].suggestions[0]
    dims, assumptions = fixed(dims, fix)
    shapes: Any = named(spec, dims)
    if assumptions:
        if isinstance(shapes, list):
            shapes = dict(zip(inspect.signature(model.forward).parameters, shapes, strict=False))
        shapes = dl.ShapesSpec(shapes, assumptions=assumptions)
    return dl.export(model, args, kwargs, dynamic_shapes=shapes, strict=mode)


def check(name: str, strict: bool) -> None:
    torch.manual_seed(0)
    model, args, kwargs, raw = zoo.REG[name]()
    spec = labels(raw, kwargs)
    program = export_with_fix(model, *copy.deepcopy((args, kwargs)), spec, strict)
    assert not program.contract.conditions or all(c.kind != "adopted" for c in program.contract.conditions)
    seen = {label: {size} for label, size in sizes_of(spec, args, kwargs).items()}
    for size in (None, *SIZES, "wider"):
        if size == "wider" and name not in WIDER:
            continue
        torch.manual_seed(1)
        args, kwargs = (WIDER[name], {}) if size == "wider" else zoo.REG[name](*(size or ()))[1:3]
        call = bind_call(model.forward, args, kwargs)
        eager, runner = copy.deepcopy(model), program.module()
        try:
            torch.manual_seed(2)
            found = runner(*copy.deepcopy(call.args), **copy.deepcopy(call.kwargs))
        except dl.GuardError:
            assert size is not None
            continue
        torch.manual_seed(2)
        assert compare(eager(*copy.deepcopy(args), **copy.deepcopy(kwargs)), found) == "equal"
        for label, number in sizes_of(spec, args, kwargs).items():
            seen[label].add(number)
    assert all(len(numbers) > 1 for numbers in seen.values()), seen


@pytest.mark.parametrize("name", SELECTION)
def test_named(name: str) -> None:
    check(name, strict=True)


@pytest.mark.long
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
@pytest.mark.parametrize("name", [*SELECTION, *REST])
def test_rest(name: str, strict: bool) -> None:
    if name == "nn.bn_train_cma" and not strict:
        with pytest.raises(dl.DataDependentError):
            check(name, strict)
        return
    check(name, strict)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
def test_a_loop_over_a_dimension_is_told_with_its_line(strict: bool) -> None:
    model, args, kwargs, spec = zoo.REG[LOOPS]()
    dims = {"b": dl.Dim("b"), "s": dl.Dim("s")}
    with pytest.raises(dl.ConstraintViolationError, match="keep the size dynamic") as caught:
        dl.export(model, args, kwargs, dynamic_shapes=named(spec, dims), strict=strict)
    assert caught.value.location is not None
