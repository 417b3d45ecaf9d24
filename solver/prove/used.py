"""Which facts of the specification a proof needs, made minimal by leaving out one after the other."""

from __future__ import annotations

from solver.problem import Condition
from solver.prove.engine import Engine, Outcome
from solver.prove.world import goal_of

_MAX_TRIALS = 12


def minimal(engine: Engine, guard: Condition, outcome: Outcome) -> int:
    """The mask of ``outcome`` without premises that the fast proof can do without."""
    world = engine.world
    cone = world.cone(guard.expr)
    goal = goal_of(guard.expr)
    everything = sum(1 << bit for bit in world.bits(cone))
    mask = outcome.mask & everything
    bits = [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
    for bit in bits[:_MAX_TRIALS]:
        if not mask >> bit & 1:
            continue
        smaller = mask & ~(1 << bit)
        try:
            proof = engine.fast_proof(world.context(cone, everything & ~smaller), goal)
        except RecursionError:
            return mask
        if proof is not None:
            mask = proof & smaller
            if not mask:
                break
    return mask
