"""Element types: names, promotion, devices."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from fx_ir import dtypes as d
from fx_ir.meta import TensorMeta


def test_types_print_as_pytorch_prints_them() -> None:
    assert repr(d.float32) == "torch.float32"
    assert f"{d.bfloat16}" == "torch.bfloat16"


def test_lookup() -> None:
    assert d.by_name("f32") is d.by_name("torch.float32") is d.by_name("float") is d.float32
    assert d.by_name("long") is d.int64 and d.by_name("b8") is d.bool_
    with pytest.raises(KeyError):
        d.by_name("float8")
    assert all(d.from_numpy(dtype.numpy) is dtype for dtype in d.ALL)
    assert d.from_numpy(np.dtype(">f4")) is d.float32
    with pytest.raises(TypeError):
        d.from_numpy(np.dtype("U3"))


def test_sizes_are_numpys() -> None:
    for dtype in d.ALL:
        assert dtype.itemsize == dtype.numpy.itemsize
        assert dtype.is_floating_point == (dtype.numpy.kind in "fV")
        assert dtype.is_complex == (dtype.numpy.kind == "c")


def test_singletons_survive_copies() -> None:
    assert copy.deepcopy(d.float16) is d.float16
    assert pickle.loads(pickle.dumps(d.int8)) is d.int8


def test_promotion_is_commutative_associative_enough_and_idempotent() -> None:
    for a in d.ALL:
        assert d.promote_types(a, a) is a
        for b in d.ALL:
            joined = d.promote_types(a, b)
            assert joined is d.promote_types(b, a)
            assert d.promote_types(joined, a) is joined


def test_promotion_over_the_three_priorities() -> None:
    vector, scalar = TensorMeta((3,), d.float32, d.CPU), TensorMeta((), d.float64, d.CPU)
    whole = TensorMeta((3,), d.int32, d.CPU)
    assert d.result_type(vector, scalar) is d.float32
    assert d.result_type(whole, scalar) is d.float64
    assert d.result_type(whole, 2.5) is d.float32
    assert d.result_type(whole, 2) is d.int32
    assert d.result_type(whole, 2j) is d.complex64
    assert d.result_type(TensorMeta((3,), d.bool_, d.CPU), 2) is d.int64
    assert d.result_type(TensorMeta((), d.int8, d.CPU), 300) is d.int8
    assert d.result_type(2, 2.5) is d.float32


def test_the_default_type_can_be_changed() -> None:
    whole = TensorMeta((3,), d.int32, d.CPU)
    d.set_default_dtype(d.float64)
    try:
        assert d.result_type(whole, 2.5) is d.float64
    finally:
        d.set_default_dtype(d.float32)
    with pytest.raises(TypeError):
        d.set_default_dtype(d.int64)


def test_devices() -> None:
    assert str(d.CPU) == "cpu" and repr(d.CPU) == "device(type='cpu')"
    assert d.Device.parse("cuda:1") == d.Device("cuda", 1)
    assert repr(d.Device("cuda", 1)) == "device(type='cuda', index=1)"
    for text in ("cuda:", "1", "cuda:x"):
        with pytest.raises(RuntimeError, match="Invalid device string"):
            d.Device.parse(text)


@pytest.mark.torch
def test_promotion_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    for a in d.ALL:
        for b in d.ALL:
            theirs = torch.promote_types(getattr(torch, a.name), getattr(torch, b.name))
            assert d.promote_types(a, b).name == str(theirs).removeprefix("torch."), (a, b)


@pytest.mark.torch
def test_result_types_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    shapes: tuple[tuple[int, ...], ...] = ((2,), ())
    for a in d.ALL:
        for b in (*d.ALL, 2, 2.5, True, 2j):
            for left in shapes:
                for right in shapes if isinstance(b, d.DType) else shapes[:1]:
                    ours_b = TensorMeta(right, b, d.CPU) if isinstance(b, d.DType) else b
                    theirs_b = (
                        torch.zeros(right, dtype=getattr(torch, b.name)) if isinstance(b, d.DType) else b
                    )
                    theirs = torch.result_type(torch.zeros(left, dtype=getattr(torch, a.name)), theirs_b)
                    if theirs is torch.complex32:
                        continue  # half complex numbers are not supported
                    ours = d.result_type(TensorMeta(left, a, d.CPU), ours_b)
                    assert ours.name == str(theirs).removeprefix("torch."), (a, left, b, right)
