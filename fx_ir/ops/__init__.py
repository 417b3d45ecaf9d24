"""The operator table: importing this package declares every operator."""

from fx_ir.ops import binary, matmul, reshape, splits, unary, views
from fx_ir.ops.registry import OPS, PACKETS, Operator, Packet, ViewRule, find, infer, register, register_inplace

__all__ = [
    "OPS", "PACKETS", "Operator", "Packet", "ViewRule", "binary", "find", "infer", "register", "register_inplace", "reshape",
    "matmul", "splits", "unary", "views",
]  # fmt: skip
