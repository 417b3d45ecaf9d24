"""Run time: our exported program on PyTorch's kernels beside PyTorch's own exported module, over the zoo, in one process.

    python benchmarks/run_torch.py [--models bert,llama] [--rounds 15] [--eager]

Each model is exported by both with the same dynamic dimensions (static where PyTorch refuses those), called in turn on the example, and
timed by the median of the rounds. Printed: both times in microseconds, the ratio ours / theirs, the geometric mean and the worst.
With ``--eager`` the model itself is timed too.
"""

from __future__ import annotations

import argparse
import copy
import math
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

import dynamo_lite as dl  # noqa: E402
from benchmarks.export_torch import dynamic_shapes, peer_shapes  # noqa: E402
from dynamo_lite.trace.inputs import bind_call  # noqa: E402
from tests.zoo import models as zoo  # noqa: E402


def theirs(model: Any, args: Any, kwargs: Any, spec: Any) -> Any:
    """PyTorch's exported module; None if it refuses the model in every setting."""
    for shapes in (peer_shapes(model, spec, args, kwargs), None):
        try:
            return torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False).module()
        except Exception:
            continue
    return None


def ours(model: Any, args: Any, kwargs: Any, spec: Any) -> Any:
    """Our program's module; None for the models that no program can hold."""
    for shapes in (dynamic_shapes(spec, args, kwargs, dl.Dim.DYNAMIC), None):
        try:
            return dl.export(model, args, kwargs, dynamic_shapes=shapes, strict=False).module()
        except Exception:
            continue
    return None


Run = tuple[Any, Any, Any]  # what is called, with which arguments


def times(runs: list[Run], rounds: int) -> list[float]:
    """The median time of each, in microseconds; every round calls each once, in turn, on inputs of its own."""
    found: list[list[float]] = [[] for _ in runs]
    for round_ in range(rounds + 2):
        for index, (run, args, kwargs) in enumerate(runs):
            given, named = copy.deepcopy((args, kwargs))
            start = time.perf_counter()
            run(*given, **named)
            if round_ >= 2:
                found[index].append(time.perf_counter() - start)
    return [statistics.median(values) * 1e6 for values in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--eager", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    wanted = options.models.split(",") if options.models else list(zoo.REG)
    ratios: dict[str, float] = {}
    for name in wanted:
        model, args, kwargs, spec = zoo.REG[name]()
        pair = ours(model, args, kwargs, spec), theirs(model, args, kwargs, spec)
        if None in pair:
            print(f"{name:28} not exported by {'ours' if pair[0] is None else 'PyTorch'}", flush=True)
            continue
        call = bind_call(model.forward, args, kwargs)  # a program takes the defaults of forward as arguments
        runs = [(pair[0], call.args, call.kwargs), (pair[1], args, kwargs)]
        runs += [(model, args, kwargs)] if options.eager else []
        with torch.no_grad():
            mine, peer, *eager = times(runs, options.rounds)
        ratios[name] = mine / peer
        shown = f"  eager {eager[0]:9.0f}" if eager else ""
        print(f"{name:28} {mine:9.0f} {peer:9.0f}  {mine / peer:5.2f}{shown}", flush=True)
    mean = math.exp(statistics.fmean(math.log(value) for value in ratios.values()))
    worst = max(ratios, key=lambda name: ratios[name])
    print(f"{len(ratios)} models: geometric mean {mean:.2f}, worst {ratios[worst]:.2f} ({worst})")


if __name__ == "__main__":
    main()
