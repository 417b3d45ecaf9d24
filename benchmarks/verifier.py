"""How fast guards are decided, beside others on the same formulas.

``python -m benchmarks.verifier [--z3]`` prints the time from files to verdicts, the growth with the number of guards, and the peers:
raw z3 on the same SMT-LIB text (a limit of 0.5 s a guard; ``--z3`` takes all of Swin), jax's symbolic dimensions and
PyTorch's ``DimConstraints`` where they are installed, on the guards that each can state.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from solver.expr import Interval
from solver.problem import Problem
from solver.prove import prove
from solver.prove.world import World
from solver.readers import load
from solver.smt2 import obligation
from tests.solver.prove_scale import large

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
ROUNDS = 5
PEER_LIMIT_MS = 500


def command(name: str) -> float:
    """The median time of the command line on a file, start-up included."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        line = [sys.executable, "-m", "solver", "verify", str(DATA / name)]
        subprocess.run(line, cwd=ROOT, check=False, capture_output=True)
        times.append(perf_counter() - start)
    return median(times)


def ours(problem: Problem) -> tuple[float, dict[str, int]]:
    """Warm time of the verdicts alone."""
    counts = prove(problem).counts()
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        prove(problem)
        times.append(perf_counter() - start)
    return median(times), counts


def raw_z3(problem: Problem, limit: int) -> tuple[float, int, int]:
    """Seconds, guards asked, guards left unknown by z3 alone."""
    import z3

    world = World(problem)
    unknown = 0
    guards = problem.guards[:limit]
    start = perf_counter()
    for guard in guards:
        solver = z3.Solver(ctx=z3.Context())
        solver.set("timeout", PEER_LIMIT_MS)
        solver.from_string(obligation(world, guard, "unknown").partition("(check-sat)")[0])
        unknown += str(solver.check()) == "unknown"
    return perf_counter() - start, len(guards), unknown


def jax_dims(problem: Problem) -> tuple[float, int, int] | None:
    """Seconds, guards jax can state, guards it cannot decide; comparisons of symbolic dimensions under range constraints."""
    if importlib.util.find_spec("jax") is None:
        return None
    from jax import export

    ranges: dict[str, Interval] = problem.ranges
    limits = [f"{n} >= {low}" for n, (low, _) in ranges.items() if low is not None]
    dims = export.symbolic_shape(", ".join(ranges), constraints=limits)
    names = dict(zip(ranges, dims, strict=True))
    stated = undecided = 0
    start = perf_counter()
    for guard in problem.guards:
        if any(word in guard.text for word in (" and ", " or ", "max(", "min(")):
            continue
        stated += 1
        try:
            bool(eval(guard.text, {"__builtins__": {}}, dict(names)))
        except Exception:  # inconclusive comparison: jax raises
            undecided += 1
    return perf_counter() - start, stated, undecided


def _of_one_symbol(size: Any) -> list[Any]:
    import sympy
    from torch.utils._sympy.functions import FloorDiv, Mod

    guards = [sympy.Eq(Mod(size, m), 0) for m in (4, 8, 16, 32, 100)]
    guards += [sympy.Ge(FloorDiv(size, d), 2) for d in (2, 4, 8)]
    guards += [sympy.Eq(Mod(FloorDiv(size, d), m), 0) for d in (2, 4) for m in (2, 7, 8)]
    return guards


def torch_validator() -> tuple[float, int, int] | None:
    """Seconds, guards, guards refuted by PyTorch's translation validator (its z3), for one size of at least 1.

    It asks whether its target expressions imply its source expressions: the specification is given as target.
    """
    if importlib.util.find_spec("torch") is None:
        return None
    import sympy
    from torch.fx.experimental.validator import TranslationValidator, ValidationException

    size = sympy.Symbol("s", positive=True, integer=True)
    guards = _of_one_symbol(size)
    refuted = 0
    start = perf_counter()
    for guard in guards:
        validator = TranslationValidator()
        validator.add_var(size, int)
        validator.add_target_expr(sympy.Ge(size, 1, evaluate=False))
        validator.add_source_expr(validator.to_z3_boolean_expr(guard))
        try:
            validator.validate()
        except ValidationException:
            refuted += 1
    return perf_counter() - start, len(guards), refuted


def torch_constraints() -> tuple[float, int, int] | None:
    """Seconds, guards, and guards that ``DimConstraints`` could not reduce to a static or single-symbol result.

    It reduces congruences and comparisons of one symbol at a time, so it gets those guards of ``guards.json``.
    """
    if importlib.util.find_spec("torch") is None:
        return None
    import sympy
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimConstraints

    size = sympy.Symbol("s", positive=True, integer=True)
    guards = _of_one_symbol(size)
    failed = 0
    start = perf_counter()
    for guard in guards:
        try:
            constraints = DimConstraints(
                {size: [ConstantSource("x")]}, {size: sympy.Integer(22400)}, set(), {}
            )
            constraints.add(guard)
            constraints.solve()
        except Exception:  # what it cannot take counts as not decided
            failed += 1
    return perf_counter() - start, len(guards), failed


def main(arguments: list[str]) -> None:
    """Prints the table."""
    print("from the command line, start-up and advice included")
    for name in ("bert.pt2", "guards.json", "swin.pt2"):
        print(f"  {name:<12} {command(name):7.3f} s")
    swin = load(DATA / "swin.pt2")[0][0]
    seconds, counts = ours(swin)
    per_guard = seconds / len(swin.guards) * 1000
    print(f"verdicts on swin.pt2, warm: {seconds:.3f} s, {per_guard:.2f} ms a guard, {counts}")
    print("growth with the number of guards (verdicts, one run)")
    for guards, symbols in ((1250, 80), (2500, 120), (5000, 200)):
        problem = large(guards, symbols)
        start = perf_counter()
        prove(problem)
        print(f"  {guards} guards, {len(problem.symbols)} symbols: {perf_counter() - start:.2f} s")
    asked = 509 if "--z3" in arguments else 60
    time_z3, count, unknown = raw_z3(swin, asked)
    print(
        f"z3 alone: {count} guards of swin.pt2 in {time_z3:.2f} s, {unknown} unknown; ratio {time_z3 / count / (seconds / 509):.0f}x"
    )
    jax = jax_dims(swin)
    if jax is None:
        print("jax: not installed")
    else:
        print(f"jax: states {jax[1]} guards of swin.pt2, leaves {jax[2]} open, {jax[0]:.2f} s")
    torch = torch_constraints()
    if torch is None:
        print("DimConstraints: PyTorch is not installed")
    else:
        print(f"DimConstraints: {torch[1]} guards on one symbol, {torch[2]} not taken, {torch[0]:.3f} s")
    validator = torch_validator()
    if validator is not None:
        print(
            f"PyTorch's validator: {validator[1]} guards on one symbol, {validator[2]} refuted, {validator[0]:.3f} s"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
