"""The operator table: importing this package declares every operator.

One module a family. ``registry`` holds the table and says what a declaration is; ``shapes`` and ``arrays`` what fake
rules and kernels share.
"""

from fx_ir.ops import (
    activation,
    attention,
    batch_norm,
    binary,
    composite,
    conv,
    convert,
    creation,
    grids,
    indexing,
    inplace_views,
    joining,
    loss,
    matmul,
    norm,
    padding,
    permute,
    pool,
    random,
    ranges,
    recurrent,
    reduction,
    resample,
    reshape,
    scatter,
    sorting,
    spectral,
    splits,
    statistics,
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
    binary, unary, ternary, activation, reduction, statistics, matmul, norm, batch_norm, attention, conv, pool, padding,
    resample, recurrent, loss, reshape, views, permute, inplace_views, splits, convert, creation, ranges, joining, grids, indexing,
    scatter, sorting, spectral, composite, random, sym,
)  # fmt: skip

__all__ = [
    "FAMILIES", "OPS", "PACKETS", "Operator", "Packet", "ViewRule", "find", "infer", "register", "register_inplace",
]  # fmt: skip
