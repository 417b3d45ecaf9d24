"""Each operator of PyTorch's own list with PyTorch's own samples: eager's bits, strides and gradients, or a named refusal."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.dynamo_lite.torch_bridge.op_db import SAMPLES, dynamic_outcomes, operators, outcomes

# Operators of which some samples are refused, most of them one variant alone; of all others every sample is captured.
REFUSED: Final = frozenset(
    """
    _batch_norm_with_update _native_batch_norm_legit addbmm as_strided chalf geqrf hash_tensor histogram histogramdd ldexp
    narrow native_batch_norm nn.functional.dropout3d nn.functional.embedding
    nn.functional.embedding_bag nn.functional.gaussian_nll_loss norm polygamma resize_ squeeze t
    tensor_split to_sparse transpose unsqueeze
    """.split()  # noqa: SIM905
)
QUICK: Final = (
    "amax", "broadcast_shapes", "clamp_max", "fft.rfft2", "float", "gather", "hsplit", "masked_fill", "nn.functional.bilinear",
    "nonzero", "round", "special.i1", "tensor_split", "tensordot", "unique_consecutive", "where",
)  # fmt: skip
"""What is tried each time: signatures of Python that differ from the operator's."""
PARTS: Final = 30


def check(op: Any, most: int) -> None:
    """No sample is wrong, and some are refused only of the operators that are said to be."""
    found = list(outcomes(op, most))
    assert [one for one in found if one.kind == "wrong"] == []
    refused = [one for one in found if one.kind == "refused"]
    assert all(one.what.partition(":")[0] in KINDS for one in refused), refused
    assert op.name in REFUSED or not refused, refused[:1]


KINDS: Final = frozenset({
    "missing-operator", "in-place-changes-shape", "in-place-view", "data-dependent-size", "branch-on-tensor-data",
    "gradient-written", "tensor-kind", "rank-depends-on-data",
})  # fmt: skip
"""Why samples are refused."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUICK)
def test_operators_with_signatures_of_their_own(name: str) -> None:
    tried = [op for op in operators() if op.name == name]
    assert tried
    for op in tried:
        check(op, 4)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_all_operators(part: int) -> None:
    problems = []
    for op in operators()[part::PARTS]:
        try:
            check(op, SAMPLES)
        except AssertionError as error:
            problems.append(f"{op.name}: {error}")
    assert problems == []


def check_dynamic(op: Any, most: int) -> None:
    """No sample is wrong at any size."""
    if op.name == "nn.functional.embedding_bag":
        return  # repeated offsets go back, and what PyTorch makes of them is whatever memory holds
    found = list(dynamic_outcomes(op, most))
    assert [one for one in found if one.kind == "wrong"] == []
    assert all(one.what.partition(":")[0] in KINDS for one in found if one.kind == "refused"), found


DYNAMIC: Final = (
    *QUICK, "einsum", "linalg.svd", "linalg.lstsq", "linalg.pinv", "special.bessel_j0", "igamma", "scatter_add", "nn.functional.glu", "lu_unpack",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_sizes(name: str) -> None:
    tried = [op for op in operators() if op.name == name]
    assert tried
    for op in tried:
        check_dynamic(op, 3)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_dynamic_sizes_of_all_operators(part: int) -> None:
    problems = []
    for op in operators()[part::PARTS]:
        try:
            check_dynamic(op, 8)
        except AssertionError as error:
            problems.append(f"{op.name}: {error}")
    assert problems == []
