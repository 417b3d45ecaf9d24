"""Random programs over the operator table: strict = non-strict = eager, or refused alike.

    python -m tests.fuzz_programs --count 20000 [--seed N]

A program is a list of steps over a pool of tensors: views, in-place operators, reductions, arithmetic on sizes, branches on
sizes. Both dimensions of the inputs are dynamic and inferred, so that every guard joins the contract. At each size, inside the contract
or not, the exported program either refuses the input by GuardError or computes what eager computes, inputs included. Then the
program is captured with named dimensions: if the guards are proved, it must be right at every promised size, and refuse none
(what eager itself refuses, as the maximum of nothing, aside).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from fx_ir.pytree import tree_flatten
from fx_ir.structure import same_graph
from tests.exporting import copied, guards, module, numbers

Step = tuple[int, int, int, int, int]  # template, two operands, two small numbers
EXAMPLE: Final = (3, 5)
SIZES: Final = ((3, 5), (1, 1), (2, 4), (6, 3), (4, 4), (5, 8), (0, 5))
PROMISED: Final = ((1, 1), (8, 8), (1, 8), (8, 1), (2, 7), (5, 2))
DEPTH: Final = 8

# {a} and {b} are operands, {i} and {j} small numbers (as dimensions they may be out of range: such a step is left out).
EXPRESSIONS: Final = (
    "{a} + {b}", "{a} - 2 * {b}", "{a} * {b}", "torch.maximum({a}, {b})", "torch.where({a} > {b}, {a}, {b})",
    "{a} @ {b}", "torch.cat([{a}, {b}], dim={i})", "torch.stack([{a}, {b}], dim={i})", "{a} / 4", "-{a}",
    "{a}.relu()", "{a}.sigmoid()", "{a}.clamp(-1, 1)", "{a}.abs()", "{a}.sum({i})", "{a}.mean({i}, keepdim=True)",
    "{a}.amax({i})", "{a}.softmax({i})", "{a}.cumsum({i})", "{a}.sum()", "{a}.clone()", "{a}.double().float()",
    "{a}.transpose({i}, {j})", "{a}.unsqueeze({i})", "{a}.squeeze({i})", "{a}[{i}:]", "{a}[..., :{j}]", "{a}[:, {i}]",
    "{a}[-1]", "{a}[None]", "{a}.select({i}, {j})", "{a}.narrow({i}, 0, {j})", "{a}.reshape(-1)", "{a}.flatten({i})",
    "{a}.view({a}.shape[0], -1)", "{a}.reshape({i} + 1, -1)", "{a}.permute(*range({a}.dim())[::-1])",
    "{a}.expand(2, *{a}.shape)", "{a}.chunk(2, {i})[0]", "{a}.split(2, {i})[-1]", "{a}.diagonal()", "{a}.contiguous()",
    "{a}.movedim({i}, {j})", "{a}.flip({i})", "{a}.roll(1, {i})", "{a}.tril()", "{a}.t()",
    "{a} * {a}.shape[{i}]", "{a} + {a}.numel()", "torch.zeros({a}.shape) + {a}", "torch.ones({a}.shape[{i}])",
    "torch.arange({a}.shape[{i}]) + {a}", "{a} if {a}.shape[0] > {j} else {b}", "{a}[: {a}.shape[0] // 2]",
    "{a} + 1 if {a}.shape == {b}.shape else {a} - 1", "torch.nn.functional.pad({a}, ({i}, {j}))",
    "{a}.index_select({i}, torch.tensor([0, 0]))", "{a}.repeat(2, *[1] * ({a}.dim() - 1))", "{a}.argmax({i}).float()",
    "{a}.masked_fill({a} > 0, 2.0)", "({a} > {b}).float()", "{a}.unflatten({i}, (-1, 1))", "{a}.sort({i})[0]",
    "{a} + len({a}.chunk(3, {i}))", "{a} + len({a}.split(2, {i}))", "torch.cat({a}.tensor_split(2, {i})[::-1], {i})",
)  # fmt: skip
STATEMENTS: Final = (
    "{a}.add_({b})", "{a}.mul_(2)", "{a}.zero_()", "{a}.relu_()", "{a}[0] = 1.5", "{a}[..., 0] = {b}[..., 0]",
    "{a}.copy_({b})", "{a}[:{j}] += 1", "{a}.clamp_(-1, 1)", "{a}.fill_(0.5)", "{a}.transpose({i}, {j}).add_(1)",
    "{a}.select({i}, {j}).mul_(3)", "{a}[{a} > 1] = 0", "{a} += {b}", "{a}.narrow({i}, 0, {j}).sub_({b}.narrow({i}, 0, {j}))",
    "{a}.view(-1).add_(1)", "{a}.reshape(-1).mul_(2)", "{a}.T.neg_()",
)  # fmt: skip
TEMPLATES: Final = EXPRESSIONS + STATEMENTS


def inputs(size: tuple[int, int]) -> tuple[Any, Any]:
    """``x`` of shape (a, b) and ``y`` of shape (a, b, 2)."""
    return numbers(*size, seed=1), numbers(*size, 2, seed=2)


def compiled(lines: Sequence[str], names: Sequence[str]) -> Callable[..., Any]:
    """The forward function of these lines; it returns every value, so that nothing is left out as dead."""
    source = ["def forward(x, y):", *lines, f"return ({', '.join(names)},)"]
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile("\n    ".join(source), "<random program>", "exec"), namespace)
    forward: Callable[..., Any] = namespace["forward"]
    return forward


def build(steps: Sequence[Step]) -> tuple[list[str], list[str]]:
    """The lines of a program and the names of its values; steps that eager refuses at the example are left out."""
    lines: list[str] = []
    names = ["x", "y"]
    for template, first, second, i, j in steps:
        text = TEMPLATES[template % len(TEMPLATES)]
        text = text.format(a=names[first % len(names)], b=names[second % len(names)], i=i % 3, j=j % 4)
        grown = names
        if template % len(TEMPLATES) < len(EXPRESSIONS):
            grown = [*names, f"v{len(names)}"]
            text = f"{grown[-1]} = {text}"
        try:
            results = compiled([*lines, text], grown)(*inputs(EXAMPLE))
        except (RuntimeError, IndexError, TypeError, ValueError):
            continue
        if all(value.numel() <= 4096 for value in results):
            lines, names = [*lines, text], grown
    return lines, names


@dataclass(slots=True)
class Outcome:
    """What became of a program: how it ended, and at how many sizes it was compared or refused its input."""

    kind: str
    compared: int = 0
    guarded: int = 0
    refuted: bool = False


def check(steps: Sequence[Step]) -> Outcome:
    """Captures and compares one program. AssertionError where a mode, a result or a refusal is wrong."""
    lines, names = build(steps)
    forward = compiled(lines, names)
    shown = "\n".join(lines)
    programs: list[Any] = []
    for strict in (False, True):
        shapes = {"x": {0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}, "y": {0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}}
        try:
            made = dl.export(module(forward), inputs(EXAMPLE), dynamic_shapes=shapes, strict=strict)
        except dl.ExportError as error:
            programs.append(error)
        else:
            made.validate()
            programs.append(made)
    native, strict_one = programs
    if isinstance(native, dl.ExportError) or isinstance(strict_one, dl.ExportError):
        same = getattr(native, "id", None) == getattr(strict_one, "id", None)
        assert same, f"one mode refuses:\n{shown}\n{native}\n{strict_one}"
        return Outcome(f"refused: {native.id}")
    assert same_graph(native.graph_module, strict_one.graph_module) == [], shown
    assert guards(native) == guards(strict_one), shown
    outcome = Outcome("compared")
    for size in SIZES:
        compare(strict_one.module(), forward, size, shown, outcome)
    assert outcome.compared, f"the example itself is refused:\n{shown}"
    check_promise(forward, shown, outcome)
    return outcome


def check_promise(forward: Callable[..., Any], shown: str, outcome: Outcome) -> None:
    """With named dimensions what is accepted is proved: the program runs at every size in range and is right."""
    rows, columns = dl.Dim("rows", min=1, max=8), dl.Dim("columns", min=1, max=8)
    shapes = {"x": {0: rows, 1: columns}, "y": {0: rows, 1: columns}}
    try:
        program = dl.export(module(forward), inputs(EXAMPLE), dynamic_shapes=shapes, strict=True)
    except dl.ConstraintViolationError:
        outcome.refuted = True
        return
    promised = Outcome("promised")
    for size in PROMISED:
        compare(program.module(), forward, size, shown, promised)
        assert not promised.guarded, f"{size} is promised and refused:\n{shown}"


def compare(
    run: Any, forward: Callable[..., Any], size: tuple[int, int], shown: str, outcome: Outcome
) -> None:
    """One run beside eager: values and inputs afterwards."""
    given = inputs(size)
    ours, theirs = copied(given), copied(given)
    try:
        result = run(*ours)
    except dl.GuardError:
        outcome.guarded += 1
        return
    except Exception as error:  # what a kernel refuses, eager refuses too
        try:
            forward(*theirs)
        except Exception:
            return
        raise AssertionError(f"the program refuses {size}, eager does not ({error}):\n{shown}") from error
    try:
        expected = forward(*theirs)
    except Exception as error:
        raise AssertionError(f"eager refuses {size}, the program does not ({error}):\n{shown}") from error
    outcome.compared += 1
    pairs = zip(tree_flatten((result, ours))[0], tree_flatten((expected, theirs))[0], strict=True)
    for left, right in pairs:
        assert left.dtype is right.dtype, f"dtypes differ at {size}:\n{shown}"
        assert tuple(left.shape) == tuple(right.shape), f"shapes differ at {size}:\n{shown}"
        close = np.allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-5, equal_nan=True)
        assert close, f"values differ at {size}:\n{shown}"


def random_steps(rng: random.Random) -> list[Step]:
    """A list of steps for the long run."""
    return [
        (
            rng.randrange(len(TEMPLATES)),
            rng.randrange(8),
            rng.randrange(8),
            rng.randrange(3),
            rng.randrange(4),
        )
        for _ in range(rng.randint(1, DEPTH * 2))
    ][: DEPTH * 2]


def main(arguments: Sequence[str]) -> int:
    """Runs ``--count`` programs and prints what became of them; the status is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_programs")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", type=int, default=20, help="failures after which to stop")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    compared = guarded = refuted = failures = 0
    begun = time.monotonic()
    for number in range(options.seed, options.seed + options.count):
        try:
            outcome = check(random_steps(random.Random(number)))
        except Exception:
            failures += 1
            print(f"--- seed {number}\n{traceback.format_exc(limit=-3)}", flush=True)
            if failures >= options.stop:
                break
            continue
        counts[outcome.kind] += 1
        refuted += outcome.refuted
        compared += outcome.compared
        guarded += outcome.guarded
    for kind, count in counts.most_common():
        print(f"{count:7} {kind}")
    print(f"{refuted:7} with named dimensions refuted, the others right at every promised size")
    print(f"{compared} runs compared, {guarded} inputs refused, {failures} failures", end=", ")
    print(f"{time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
