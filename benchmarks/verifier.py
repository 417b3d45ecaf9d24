"""How fast guards are decided, beside others on the same formulas.

``python -m benchmarks.verifier [--all]`` prints the time from files to verdicts, the growth with the number of guards, and for each
peer that is installed (``benchmarks.verifier_peers``) how many formulas it can state and decide, and its time. Of Swin's guards the
peers get every sixteenth; ``--all`` gives them all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.verifier_peers import PEERS, answers, missing
from solver.problem import Problem
from solver.prove import prove
from solver.readers import load
from tests.solver.prove_scale import large

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
ROUNDS = 5


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


def peer(name: str, problems: list[Problem], verdicts: dict[tuple[str, str], str]) -> str:
    """What a peer states and decides of all guards, and the time that it takes; a line of the table."""
    modules, ask = PEERS[name]
    if missing(modules):
        return f"{name:<20} {modules[0]} is not installed"
    counts: Counter[str] = Counter()
    wrong = 0
    start = perf_counter()
    questions = [(problem, guard) for problem in problems for guard in problem.guards]
    for (problem, guard), answer in zip(questions, answers(ask, questions), strict=True):
        counts["unstated" if answer is None else answer] += 1
        wrong += answer in ("proved", "refuted") and answer != verdicts[problem.name, guard.id]
    seconds = perf_counter() - start
    total = sum(counts.values())
    stated = total - counts["unstated"]
    each = seconds / max(stated, 1) * 1000
    return (
        f"{name:<20} states {stated:>3} of {total}, decides {counts['proved'] + counts['refuted']:>3} "
        f"({wrong} otherwise than here), {seconds:7.2f} s, {each:7.2f} ms each"
    )


def peers(problems: list[Problem]) -> None:
    """The table of all deciders on the guards of some problems."""
    verdicts: dict[tuple[str, str], str] = {}
    start = perf_counter()
    for problem in problems:
        verdicts.update({(problem.name, guard.id): guard.verdict for guard in prove(problem).guards})
    seconds = perf_counter() - start
    decided = sum(verdict != "unknown" for verdict in verdicts.values())
    total = len(verdicts)
    print(
        f"  {'here':<20} states {total:>3} of {total}, decides {decided:>3} "
        f"(0 otherwise than here), {seconds:7.2f} s, {seconds / total * 1000:7.2f} ms each"
    )
    for name in PEERS:
        print(f"  {peer(name, problems, verdicts)}", flush=True)


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
    for guards, symbols in ((1250, 50), (2500, 100), (5000, 200), (10000, 400)):
        problem = large(guards, symbols)
        start = perf_counter()
        prove(problem)
        print(f"  {guards} guards, {symbols} symbols: {perf_counter() - start:.2f} s")
    cases = [Problem.from_dict(case) for case in json.loads((DATA / "guards.json").read_text())]
    print("beside others: the guards of guards.json, each with its specification")
    peers([problem for problem in cases if problem.name != "spec_unsat"])
    if "--all" not in arguments:
        swin.guards = swin.guards[::16]
    print(f"beside others: {len(swin.guards)} guards of swin.pt2")
    peers([swin])


if __name__ == "__main__":
    main(sys.argv[1:])
