"""Symbolic Python numbers, and functions of them that add no guard."""

from solver.sym.functions import (
    env_of,
    statically_known,
    sym_and,
    sym_ceil,
    sym_float,
    sym_floor,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_or,
    sym_round,
    sym_sqrt,
    sym_trunc,
)
from solver.sym.numbers import SymBool, SymFloat, SymInt, SymNumber

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "SymNumber",
    "env_of",
    "statically_known",
    "sym_and",
    "sym_ceil",
    "sym_float",
    "sym_floor",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_or",
    "sym_round",
    "sym_sqrt",
    "sym_trunc",
]
