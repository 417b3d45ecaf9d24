"""Refuses versions of PyTorch that the bridge was not tested with: it names functions of PyTorch by identity."""

from __future__ import annotations

from typing import Final

import torch

from dynamo_lite.torch_bridge.errors import TORCH_VERSION

TESTED: Final = ("2.13.0",)


def _check() -> None:
    version = str(torch.__version__).partition("+")[0]
    if version not in TESTED:
        raise TORCH_VERSION(version=torch.__version__, tested=", ".join(TESTED))


_check()
