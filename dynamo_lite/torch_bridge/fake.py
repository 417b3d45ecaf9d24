"""The fake tensor of PyTorch modules.

It is the torch-free slots class under another ``library_class``: ``isinstance(fake, torch.Tensor)`` asks the object's
``__class__`` when the type does not match, and so is true. In strict mode it stands on the interpreter's stack as it is. Native
code must never get it: PyTorch's C++ would take the answer of ``isinstance`` for a promise about memory. In non-strict mode,
where CPython runs the program, it therefore travels inside a real tensor without data (:mod:`dynamo_lite.torch_bridge.shell`).
"""

from __future__ import annotations

from typing import Any

import torch

from dynamo_lite.fake import FakeTensor
from dynamo_lite.lowering.access import FAKE, register_access
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES, TorchSize, torch_device
from dynamo_lite.torch_bridge.leaves import BY_ATTRIBUTE, BY_METHOD, SET_ATTRIBUTE


class TorchFake(FakeTensor):
    """A tensor of PyTorch under export."""

    __slots__ = ("shell",)

    shell: Any
    library_class = torch.Tensor

    @property
    def shape(self) -> TorchSize:
        return TorchSize(self.meta.shape)

    @property
    def dtype(self) -> torch.dtype:
        return TORCH_DTYPES[self.meta.dtype]

    @property
    def device(self) -> torch.device:
        return torch_device(self.meta.device)

    @property
    def layout(self) -> torch.layout:
        return torch.strided

    def __repr__(self) -> str:
        return f"FakeTensor({self.meta!r})"

    __hash__ = object.__hash__


def _install(cls: type) -> None:
    own = set(vars(cls))
    for name, method in BY_METHOD.items():
        if name not in own:
            setattr(cls, name, method)
    for name, getter in BY_ATTRIBUTE.items():
        if name not in own:
            setattr(cls, name, property(getter, SET_ATTRIBUTE.get(name)))


_install(TorchFake)
register_access(TorchFake, FAKE)
