"""Tiny models of plain ``torch.nn`` and ``torch``: one a kind of layer, function or indexing that ``models`` lacks."""

from __future__ import annotations

from typing import Final

from tests.zoo.building import Maker
from tests.zoo.plain_functions import FUNCTIONS
from tests.zoo.plain_layers import LAYERS
from tests.zoo.plain_tensors import TENSORS

PLAIN: Final[dict[str, Maker]] = {**LAYERS, **FUNCTIONS, **TENSORS}
