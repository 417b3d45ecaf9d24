"""Numbers drawn over a tensor: eager's under one seed, refused for what eager refuses."""

from __future__ import annotations

from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
import dynamo_lite.torchlite as torchlite
from tests.dynamo_lite.torch_bridge.support import assert_equals_eager, both_modes, module

FLOATS: Final = (torch.float32, torch.float64, torch.bfloat16)
ALL: Final = (*FLOATS, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)
DRAWS: Final[tuple[tuple[str, tuple[Any, ...], tuple[torch.dtype, ...]], ...]] = (
    ("random_", (), ALL), ("random_", (2,), ALL), ("random_", (0, 2), ALL), ("random_", (1, None), ALL),
    ("cauchy_", (), FLOATS), ("cauchy_", (1.5, 0.5), FLOATS), ("log_normal_", (), FLOATS), ("log_normal_", (0.5, 0.1), FLOATS),
    ("geometric_", (0.3,), ALL[:-1]),
)  # fmt: skip


@both_modes
@pytest.mark.parametrize(("name", "parameters", "dtypes"), DRAWS)
def test_drawn_over(
    name: str, parameters: tuple[Any, ...], dtypes: tuple[torch.dtype, ...], strict: bool
) -> None:
    def forward(self: Any, x: Any) -> Any:
        return [
            getattr(torch.zeros(x.shape, dtype=each), name)(*parameters) for each in dtypes
        ], self.buf.normal_()

    model, x = module(forward), torch.zeros(3, 4)
    program = dl.export(model, (x,), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict)
    assert_equals_eager(model, program, (x,))
    assert_equals_eager(model, program, (torch.zeros(7, 4),))
    result = program.module("torchlite")(torchlite.zeros(5, 4))[0]
    assert [(each.dtype.name, tuple(each.shape)) for each in result] == [
        (str(each).removeprefix("torch."), (5, 4)) for each in dtypes
    ]


@both_modes
@pytest.mark.parametrize(
    ("name", "parameters", "dtype"),
    [
        ("random_", (3, 3), torch.float32),
        ("random_", (300,), torch.uint8),
        ("cauchy_", (0.0, 0.0), torch.float32),
        ("cauchy_", (), torch.int64),
        ("log_normal_", (1.0, -1.0), torch.float32),
        ("geometric_", (1.5,), torch.float32),
    ],
)
def test_what_eager_refuses_is_refused(
    name: str, parameters: tuple[Any, ...], dtype: torch.dtype, strict: bool
) -> None:
    model = module(lambda self, x: getattr(torch.zeros(3, dtype=dtype), name)(*parameters))
    with pytest.raises(RuntimeError) as expected:
        model(torch.zeros(3))
    with pytest.raises(RuntimeError) as given:
        dl.export(model, (torch.zeros(3),), strict=strict)
    assert str(expected.value).partition(" ")[0] == str(given.value).partition(" ")[0]


@both_modes
def test_sum_to_size_is_the_tensor_itself_where_nothing_is_summed(strict: bool) -> None:
    model = module(
        lambda self, x: [
            x.sum_to_size(x.shape[0], 4),
            x.sum_to_size(1, 4),
            x.sum_to_size(4),
            x.sum_to_size(()),
        ]
    )
    x = torch.randn(3, 4)
    for spec in (None, ({0: dl.Dim.DYNAMIC},)):
        program = dl.export(model, (x,), dynamic_shapes=spec, strict=strict)
        assert_equals_eager(model, program, (x,))
        assert program.module()(x)[0] is x
