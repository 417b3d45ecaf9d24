"""The operator table: importing this package declares every operator.

One module a family. ``registry`` holds the table and says what a declaration is; ``shapes`` and ``arrays`` what fake
rules and kernels share.
"""

from fx_ir.ops import (
    activation,
    adaptive_pool,
    attention,
    autograd,
    batch_norm,
    binary,
    composite,
    contractions,
    conv,
    convert,
    creation,
    distributions,
    einsum,
    factors,
    frames,
    grid_sample,
    grids,
    indexing,
    inplace_views,
    joining,
    linalg,
    loss,
    matmul,
    matrix_functions,
    noise,
    norm,
    packed,
    padding,
    permute,
    pool,
    powers,
    quantiles,
    random,
    ranges,
    recurrent,
    reduction,
    resample,
    reshape,
    scatter,
    sequence_loss,
    sorting,
    spectral,
    splits,
    statistics,
    sym,
    ternary,
    transformer,
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
    binary, powers, unary, ternary, activation, reduction, statistics, matmul, contractions, einsum, norm, batch_norm, attention, conv, pool, adaptive_pool, padding,
    resample, recurrent, packed, loss, sequence_loss, reshape, views, permute, inplace_views, splits, convert, creation, ranges, joining, grids, indexing,
    scatter, sorting, spectral, composite, random, distributions, transformer, grid_sample, noise, linalg, factors, matrix_functions, quantiles, frames, sym,
    autograd,
)  # fmt: skip

__all__ = [
    "FAMILIES", "OPS", "PACKETS", "Operator", "Packet", "ViewRule", "find", "infer", "register", "register_inplace",
]  # fmt: skip
