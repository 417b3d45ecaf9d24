"""Attributes of a tensor: what reading one computes, and which may be assigned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynamo_lite.lowering import metadata
from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.packets import apply

READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "shape": metadata.shape,
    "ndim": metadata.dim,
    "dtype": lambda self: meta_of(self).dtype,
    "device": lambda self: meta_of(self).device,
    "layout": metadata.layout,
    "itemsize": metadata.element_size,
    "nbytes": metadata.nbytes,
    "requires_grad": metadata.requires_grad,
    "is_leaf": metadata.is_leaf,
    "grad": metadata.grad,
    "grad_fn": metadata.grad_fn,
    "data": metadata.detached,
    "T": metadata.transposed,
    "mT": metadata.matrix_transposed,
    "mH": metadata.adjoint,
    "H": metadata.hermitian,
    "real": metadata.real,
    "imag": lambda self: apply("imag", self),
    "is_nested": lambda self: False,
    "is_sparse": lambda self: False,
    "is_quantized": lambda self: False,
    "is_mkldnn": lambda self: False,
    "is_meta": lambda self: meta_of(self).device.type == "meta",
    "is_cpu": lambda self: meta_of(self).device.type == "cpu",
    "is_cuda": lambda self: meta_of(self).device.type == "cuda",
    "is_xpu": lambda self: False,
    "is_mps": lambda self: False,
    "names": lambda self: (None,) * meta_of(self).ndim,
    "output_nr": metadata.history("output_nr"),
    "_version": metadata.history("_version"),
}
WRITE: Final = ("data", "grad", "requires_grad")
