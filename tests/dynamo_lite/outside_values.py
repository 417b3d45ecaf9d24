"""A module of the user's: what it holds is changed between decorated calls."""

from __future__ import annotations

from typing import Any

import dynamo_lite.torchlite as torch

SCALE = 2.0
TENSOR = torch.ones(2)


def scaled(x: Any) -> Any:
    return x * SCALE + TENSOR
