"""How the tables of ``kinds`` and ``plain`` make models: ``MODELS[name](b, s)`` gives ``(module, args, kwargs, dims)``.

``dims`` names the dimensions that vary, by argument, as ``models.REG`` does. Weights are random, nothing is fetched.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

Made = tuple[nn.Module, tuple[Any, ...], dict[str, Any], Any]
Maker = Callable[..., Made]
Dims = Mapping[int, str]

BATCH: Final = 3
SEQUENCE: Final = 12
VOCABULARY: Final = 200
BOTH: Final[Dims] = {0: "b", 1: "s"}
ROWS: Final[Dims] = {0: "b"}


# --- models of transformers --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """Keyword inputs for a batch of ``b`` and a length of ``s``, and the dimensions of each that vary."""

    make: Callable[[int, int], dict[str, Any]]
    dims: Mapping[str, Dims]


def ids(b: int, s: int) -> torch.Tensor:
    return torch.randint(5, VOCABULARY, (b, s))


def padded(b: int, s: int) -> torch.Tensor:
    """A mask whose first row ends early."""
    mask = torch.ones(b, s, dtype=torch.long)
    mask[0, max(1, s - 3) :] = 0
    return mask


UNMASKED: Final = Inputs(lambda b, s: {"input_ids": ids(b, s)}, {"input_ids": BOTH})
TEXT: Final = Inputs(
    lambda b, s: {"input_ids": ids(b, s), "attention_mask": padded(b, s)},
    {"input_ids": BOTH, "attention_mask": BOTH},
)
TWO_TEXTS: Final = Inputs(
    lambda b, s: TEXT.make(b, s) | {"decoder_input_ids": ids(b, max(1, s - 4)), "use_cache": False},
    {**TEXT.dims, "decoder_input_ids": {0: "b", 1: "t"}},
)


def image(size: int = 32, free: bool = False) -> Inputs:
    """Images of ``size``, at least 32 high; ``free``: height and width vary too, and differ."""

    def make(b: int, s: int) -> dict[str, Any]:
        high, wide = (size + 32 * ((s - SEQUENCE) // 4), size + 32) if free else (size, size)
        return {"pixel_values": torch.randn(b, 3, max(high, 32), wide)}

    return Inputs(make, {"pixel_values": {0: "b", 2: "h", 3: "w"} if free else ROWS})


def tensors(**shapes: tuple[int, ...]) -> Inputs:
    """Random tensors of these shapes for each row of the batch."""
    return Inputs(
        lambda b, s: {name: torch.randn(b, *shape) for name, shape in shapes.items()},
        dict.fromkeys(shapes, ROWS),
    )


def kind(
    stem: str,
    *shared: Mapping[str, Any],
    head: str = "Model",
    inputs: Inputs = TEXT,
    call: Mapping[str, Any] | None = None,
    **options: Any,
) -> Maker:
    """The model ``{stem}{head}`` of transformers under ``{stem}Config`` with the ``shared`` options and its own.

    ``call`` holds further arguments of each call.
    """

    def make(b: int = BATCH, s: int = SEQUENCE) -> Made:
        library = importlib.import_module("transformers")
        merged: dict[str, Any] = {}
        for part in (*shared, options):
            merged |= part
        model = getattr(library, stem + head)(getattr(library, f"{stem}Config")(**merged)).eval()
        return model, (), inputs.make(b, s) | dict(call or {}), inputs.dims

    return make


# --- plain PyTorch -----------------------------------------------------------------------------------------------------


class Of(nn.Module):
    """A module whose forward is ``fn(self, …)``; the members may be modules."""

    def __init__(self, fn: Callable[..., Any], **members: Any) -> None:
        super().__init__()
        self.fn = fn
        for name, value in members.items():
            setattr(self, name, value)

    def forward(self, *args: Any) -> Any:
        return self.fn(self, *args)


class PlainModels(dict[str, Maker]):
    """Models by name."""

    def plain(
        self,
        name: str,
        inputs: Callable[[int, int], tuple[Any, ...]],
        dims: Any,
        make: Callable[[], nn.Module],
        train: bool = False,
    ) -> None:
        """Adds the module that ``make`` gives."""
        self[name] = lambda b=BATCH, s=SEQUENCE: (make().train(train), inputs(b, s), {}, dims)

    def fn(
        self,
        name: str,
        inputs: Callable[[int, int], tuple[Any, ...]],
        dims: Any,
        function: Callable[..., Any],
        members: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """Adds a function of a module with these members and of the inputs."""
        self.plain(name, inputs, dims, lambda: Of(function, **(members() if members else {})))
