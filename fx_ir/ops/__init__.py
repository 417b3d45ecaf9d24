"""The operator table: importing this package declares every operator.

One module a family. ``registry`` holds the table and says what a declaration is; ``shapes`` and ``arrays`` what fake
rules and kernels share.
"""

from fx_ir.ops import (
    activation,
    attention,
    binary,
    conv,
    convert,
    creation,
    indexing,
    joining,
    loss,
    matmul,
    norm,
    pool,
    random,
    recurrent,
    reduction,
    resample,
    reshape,
    scatter,
    sorting,
    spectral,
    splits,
    sym,
    ternary,
    unary,
    views,
)
from fx_ir.ops.registry import (
    OPS,
    PACKETS,
    Operator,
    Packet,
    ViewRule,
    find,
    infer,
    register,
    register_inplace,
)

FAMILIES = (
    binary, unary, ternary, activation, reduction, matmul, norm, attention, conv, pool, resample, recurrent, loss, reshape, views, splits, convert, creation,
    joining, indexing, scatter, sorting, spectral, random, sym,
)  # fmt: skip

__all__ = [
    "FAMILIES", "OPS", "PACKETS", "Operator", "Packet", "ViewRule", "find", "infer", "register", "register_inplace",
]  # fmt: skip
