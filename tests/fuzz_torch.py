"""Random programs over real PyTorch: each mode = eager at every size, or refused by name.

    python -m tests.fuzz_torch --count 5000 [--seed N] [--one N]

A program (:mod:`tests.torch_programs`) is exported in both modes with every dimension of its inputs dynamic and inferred, and decorated.
At each size, layout and gradient setting two calls must equal eager's: structure, types, bits, strides, what shares memory with
what, gradients, what became of inputs and state. Or the input is refused by GuardError. A failure is made smaller by taking
lines away.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

import dynamo_lite as dl
from fx_ir.structure import same_graph
from tests.torch_programs import (
    EXAMPLE,
    SPECIALISING,
    compiled,
    inputs,
    kept,
    model_of,
    random_lines,
    returned,
    source,
)

# Sizes with the layout of the inputs; the example's own come first.
RUNS: Final = (
    (3, 5, 0), (3, 5, 1), (3, 5, 2), (3, 5, 3), (1, 1, 0), (2, 4, 0), (6, 3, 1), (4, 4, 0), (5, 8, 2), (0, 5, 0), (3, 0, 0), (0, 0, 0), (1, 5, 3), (3, 1, 1),
)  # fmt: skip
PROMISED: Final = ((1, 1), (8, 8), (1, 8), (8, 1), (2, 7), (5, 2))


class WrongError(AssertionError):
    """A result, a refusal or an error that is not eager's."""


@dataclass(slots=True)
class Outcome:
    """How the captures of a program ended, and how many runs were compared or refused."""

    kinds: list[str] = field(default_factory=list)
    compared: int = 0
    guarded: int = 0
    refuted: bool = False


def shapes(first: Any, second: Any) -> dict[str, Any]:
    """A specification of all inputs: ``first`` for their first size, ``second`` for the second."""
    return {
        "x": {0: first, 1: second}, "y": {0: first, 1: second}, "z": {0: second}, "i": {0: first}, "m": {0: first, 1: second},
        "d": {"p": {0: first}, "q": [{0: second}, {0: second, 1: first}]}, "n": None, "f": None,
    }  # fmt: skip


def facts(results: Any, given: Any, model: Any, layout: int) -> tuple[str, list[Any], Any]:
    """All that can be seen of a run: structure; results, inputs and state with who shares memory; gradients.

    Who shares memory is not compared where inputs have a layout of their own: an updated one is written from a copy.
    """
    leaves, spec = pytree.tree_flatten((results, given))
    leaves += [model.buf, model.count, model.w]
    seen: dict[Any, int] = {}
    rows = [(_fact(leaf), _storage(leaf, seen) if layout not in (1, 2) else None) for leaf in leaves]
    return str(spec), rows, _gradients(leaves, given, model)


def _fact(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return type(leaf), repr(leaf)
    strides = [stride for size, stride in zip(leaf.shape, leaf.stride(), strict=True) if size > 1]
    return (
        str(leaf.dtype), tuple(leaf.shape), strides if leaf.numel() else [], leaf.requires_grad, leaf.is_leaf,
        _bits(leaf),
    )  # fmt: skip


def _bits(leaf: torch.Tensor) -> bytes:
    plain = leaf.detach().resolve_conj().resolve_neg().contiguous().clone()
    if plain.dtype.is_floating_point or plain.dtype.is_complex:
        plain = torch.where(plain.isnan(), torch.full_like(plain, float("nan")), plain)
    return bytes(plain.clone(memory_format=torch.contiguous_format).untyped_storage().tolist())


def _storage(leaf: Any, seen: dict[Any, int]) -> int | None:
    if not isinstance(leaf, torch.Tensor) or not leaf.numel():
        return None
    return seen.setdefault(leaf.untyped_storage()._cdata, len(seen))


def _gradients(leaves: Sequence[Any], given: Any, model: Any) -> Any:
    wanted = [
        leaf
        for leaf in (*pytree.tree_leaves(given), model.w, model.lin.weight)
        if isinstance(leaf, torch.Tensor)
    ]
    wanted = [leaf for leaf in wanted if leaf.requires_grad and leaf.is_leaf]
    ends = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.grad_fn is not None}
    if not ends or not wanted:
        return None
    try:
        total = sum(end.abs().double().sum() for end in ends.values())
        found = torch.autograd.grad(total, wanted, allow_unused=True)
    except (RuntimeError, dl.UnsupportedError):
        return "refused"
    return [None if each is None else _fact(each) for each in found]


Run = Callable[..., Any]


def outcome_of(run: Run, owner: Any, size: tuple[int, int], layout: int) -> Any:
    """The facts after two calls under one seed, so that state is carried; or the exception. ``owner`` holds the state."""
    torch.manual_seed(7)
    try:
        run(*inputs(size, layout))
        given = inputs(size, layout)
        results = run(*given)
    except Exception as error:
        return error
    return facts(results, given, owner, layout)


def compare(run: Any, eager: Any, setting: tuple[int, int, int], outcome: Outcome) -> None:
    """Our run beside eager's. Raises WrongError."""
    size, layout = setting[:2], setting[2]
    given = outcome_of(run, run, size, layout)
    if isinstance(given, dl.GuardError):
        outcome.guarded += 1
        return
    expected = outcome_of(eager, eager, size, layout)
    if isinstance(given, Exception) != isinstance(expected, Exception):
        raise WrongError(f"at {setting} ours: {_short(given)}; eager: {_short(expected)}")
    if isinstance(given, Exception):
        return
    outcome.compared += 1
    differing(expected, given, setting)


def _short(found: Any) -> str:
    return f"{type(found).__name__}: {found}"[:600] if isinstance(found, Exception) else "a result"


def differing(expected: Any, given: Any, setting: Any) -> None:
    """Raises WrongError where the facts differ."""
    names = ("structure", "values", "gradients")
    for name, left, right in zip(names, expected, given, strict=True):
        if name == "gradients" and (left == "refused" or right == "refused"):
            continue  # autograd knows which values were overwritten, a program overwrites none
        if left != right:
            if name == "values":
                left, right = next((a, b) for a, b in zip(left, right, strict=True) if a != b)
            raise WrongError(f"{name} differ at {setting}: eager {str(left)[:400]} ours {str(right)[:400]}")


def capture(forward: Run, spec: Any, strict: bool) -> Any:
    """The program, or the refusal."""
    try:
        made = dl.export(model_of(forward), inputs(EXAMPLE), dynamic_shapes=spec, strict=strict)
    except dl.ExportError as error:
        return error
    made.validate()
    return made


def check(lines: Sequence[str], seed: int, back: str, thorough: bool = True) -> Outcome:
    """Captures and compares one program. Raises WrongError.

    Unless ``thorough`` the two modes are compared by their graphs, a few settings are drawn, and of the decorator and named
    dimensions one is tried.
    """
    rng = random.Random(seed)
    forward, outcome = compiled(lines, back), Outcome()
    inferred = dl.Dim.AUTO if rng.random() < 0.7 else dl.Dim.DYNAMIC
    spec = shapes(inferred, inferred)
    programs = [capture(forward, spec, strict) for strict in (False, True)]
    check_modes(programs, lines)
    for strict, program in enumerate(programs):
        if isinstance(program, dl.ExportError):
            outcome.kinds.append(f"{'strict' if strict else 'native'} {program.id}")
            continue
        outcome.kinds.append("captured")
        if not thorough and not strict and not _specialises(lines):
            continue
        before = outcome.compared
        for setting in RUNS if thorough else [RUNS[0], *rng.sample(RUNS[1:], 3)]:
            compare(program.module(), model_of(forward), setting, outcome)
        if outcome.compared == before:
            raise WrongError("the example itself is refused")
        if thorough or (seed % 2 and strict):
            check_live(forward, bool(strict), spec, rng, outcome)
    if not isinstance(programs[1], dl.ExportError) and (thorough or seed % 2 == 0):
        check_promise(forward, outcome)
    return outcome


def _specialises(lines: Sequence[str]) -> bool:
    return any(word in line for line in lines for word in SPECIALISING)


def check_modes(programs: Sequence[Any], lines: Sequence[str]) -> None:
    """Both modes refuse alike, or give equal graphs, unless CPython asked for a size. Raises WrongError."""
    native, strict = programs
    if _specialises(lines):
        return
    refusals = [program.id if isinstance(program, dl.ExportError) else None for program in programs]
    if refusals[0] != refusals[1]:
        raise WrongError(f"one mode refuses: {_short(native)} / {_short(strict)}")
    if refusals[0] is None:
        found = same_graph(native.graph_module, strict.graph_module)
        if found:
            raise WrongError(f"graphs differ: {found[:3]}")


def check_live(forward: Run, strict: bool, spec: Any, rng: random.Random, outcome: Outcome) -> None:
    """The decorator on a live module beside the module undecorated, through several settings."""
    live = model_of(dl.exported(spec, strict=strict)(forward))
    eager = model_of(forward)
    for setting in (RUNS[0], *rng.sample(RUNS, 3)):
        before = {name: value.clone() for name, value in eager.state_dict().items()}
        compare(live, eager, setting, outcome)
        live.load_state_dict(before)
        eager.load_state_dict(before)


def check_promise(forward: Run, outcome: Outcome) -> None:
    """With named dimensions what is accepted is proved: the program runs at every size in range and is right."""
    rows, columns = dl.Dim("rows", min=1, max=8), dl.Dim("columns", min=1, max=8)
    program = capture(forward, shapes(rows, columns), True)
    if isinstance(program, dl.ExportError):
        outcome.refuted = True
        return
    promised = Outcome()
    for size in PROMISED:
        compare(program.module(), model_of(forward), (*size, 0), promised)
        if promised.guarded:
            raise WrongError(f"{size} is promised and refused")


def smaller(lines: Sequence[str], seed: int) -> tuple[list[str], str, str]:
    """A failing program with as few lines as can be, and how it fails."""
    current = list(lines)
    message = failure(current, seed)
    changed = True
    while changed:
        changed = False
        for index in range(len(current) - 1, -1, -1):
            trial, _ = kept([*current[:index], *current[index + 1 :]], seed)
            found = failure(trial, seed)
            if found is not None and found.split(" ")[0] == (message or "").split(" ")[0]:
                current, message, changed = trial, found, True
                break
    return current, returned(current, random.Random(seed)), message or ""


def failure(lines: Sequence[str], seed: int) -> str | None:
    """How the program fails; None if it does not."""
    try:
        check(lines, seed, returned(lines, random.Random(seed)))
    except WrongError as error:
        return str(error)
    except Exception:
        return "crash " + "".join(traceback.format_exc(limit=-1).splitlines(True)[-8:])
    return None


def main(arguments: Sequence[str]) -> int:
    """Runs ``--count`` programs and prints what became of them; the status is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_torch")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", type=int, default=20, help="failures after which to stop")
    parser.add_argument("--one", action="store_true", help="print the program of the seed")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    total, failures, begun = Outcome(), 0, time.monotonic()
    for seed in range(options.seed, options.seed + (1 if options.one else options.count)):
        lines, back = kept(random_lines(random.Random(seed)), seed)
        if options.one:
            print(source(lines, back))
        try:
            found = check(lines, seed, back)
        except Exception:
            failures += 1
            small, small_back, message = smaller(lines, seed)
            print(f"--- seed {seed}: {message}\n{source(small, small_back)}", flush=True)
            if failures >= options.stop:
                break
            continue
        counts.update(found.kinds)
        total.compared += found.compared
        total.guarded += found.guarded
        counts["refuted with named dimensions"] += found.refuted
    for kind, count in counts.most_common():
        print(f"{count:7} {kind}")
    print(f"{total.compared} runs compared, {total.guarded} inputs refused, {failures} failures", end=", ")
    print(f"{time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
