"""Exports the zoo of real PyTorch models in strict and non-strict mode, static and dynamic, beside ``torch.export`` in one run.

    python benchmarks/export_torch.py [--models bert,llama] [--settings strict-dynamic,…] [--peer] [--json FILE] [--guards]

For each model and setting: whether it exports, whether the program equals eager at the example and at other sizes (bit for bit, under
one seed), the processor time (warm: median of three after a first run; the first run beside it), and the guards. ``--peer`` times
``torch.export.export`` in the same setting, a run of theirs after each of ours, and prints the ratio; with ``--guards`` it also says of each of our guards whether
PyTorch's imply it, and what eager does where they do not. ``benchmarks/torch_memory.py`` measures memory.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import json
import math
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import dynamo_lite as dl  # noqa: E402
from benchmarks.torch_guards import beside, replaced  # noqa: E402
from dynamo_lite.trace.inputs import bind_call  # noqa: E402
from tests.zoo import models as zoo  # noqa: E402

SETTINGS = ("strict-static", "strict-dynamic", "nonstrict-static", "nonstrict-dynamic")
OTHER_SIZES = (
    (5, 9),
    (2, 20),
    (1, 1),
    (1, 5),
    (3, 1),
    (8, 32),
    (9, 33),
    (2, 64),
)  # 1, tables' bounds, beyond


@dataclass
class Outcome:
    """What one model did in one setting."""

    model: str
    setting: str
    exports: bool = False
    error: str = ""
    equal: dict[str, str] = field(default_factory=dict)
    cold_ms: float = math.nan
    warm_ms: float = math.nan
    peer_ms: float = math.nan
    peer_error: str = ""
    nodes: int = 0
    guards: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.exports and all(
            verdict in ("equal", "close", "outside", "raises", "none") for verdict in self.equal.values()
        )


def dynamic_shapes(spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any) -> Any:
    """The zoo's labels as a specification: every marked dimension is ``dynamic``."""
    if spec == "cache":
        cache, _ = pytree.tree_flatten(layer_tensors(kwargs["past_key_values"]))
        found: dict[str, Any] = {name: {0: dynamic} for name in kwargs if name != "past_key_values"}
        found["attention_mask"] = {0: dynamic, 1: dynamic}
        found["past_key_values"] = [{0: dynamic, 2: dynamic} for _ in cache]
        return found
    if isinstance(spec, list):
        return [dict.fromkeys(dims, dynamic) for dims in spec]
    return {name: dict.fromkeys(dims, dynamic) for name, dims in spec.items()}


def peer_shapes(model: Any, spec: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same for PyTorch: every argument has an entry, those that land in ``**kwargs`` under its name."""
    given = dynamic_shapes(spec, args, kwargs, torch.export.Dim.DYNAMIC)
    if isinstance(given, list):
        return given
    full = {name: given.get(name) for name in kwargs}
    known = inspect.signature(model.forward).parameters
    rest = {name: full.pop(name) for name in list(full) if name not in known}
    catcher = next((p.name for p in known.values() if p.kind is p.VAR_KEYWORD), "kwargs")
    return {**full, catcher: rest} if rest else full


def layer_tensors(cache: Any) -> list[Any]:
    """Keys and values of a cache's layers."""
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of a result; caches by their layers."""
    for leaf in pytree.tree_leaves(tree):
        if hasattr(leaf, "layers"):
            yield from layer_tensors(leaf)
        elif hasattr(leaf, "self_attention_cache"):
            yield from layer_tensors(leaf.self_attention_cache)
            yield from layer_tensors(leaf.cross_attention_cache)
        else:
            yield leaf


def compare(expected: Any, given: Any) -> str:
    """``equal`` to the bit, ``close``, or what differs."""
    first, second = list(leaves(expected)), list(leaves(given))
    if len(first) != len(second):
        return f"{len(first)} leaves against {len(second)}"
    verdict = "equal"
    for index, (a, b) in enumerate(zip(first, second, strict=True)):
        if not isinstance(a, torch.Tensor):
            if a != b:
                return f"leaf {index}: {a!r} against {b!r}"
        elif a.shape != b.shape or a.dtype != b.dtype:
            return f"leaf {index}: {a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
        elif not torch.equal(a, b):
            if not torch.allclose(a, b, atol=1e-4, rtol=1e-4, equal_nan=True):
                return f"leaf {index}: differs by {(a - b).abs().max().item():.2g}"
            verdict = (
                "close"
                if not torch.equal(torch.isnan(a), torch.isnan(b)) or (a - b).abs().nan_to_num().max()
                else verdict
            )
    return verdict


def run_at(model: Any, program: Any, name: str, size: tuple[int, int] | None) -> str:
    """The program against eager at one size, two calls in a row, state included.

    ``raises`` where eager does and the program too; ``none`` where the zoo makes no input of that size.
    """
    torch.manual_seed(1)
    try:
        _, args, kwargs, _ = zoo.REG[name]() if size is None else zoo.REG[name](*size)
    except Exception:
        return "none"
    bound = bind_call(model.forward, args, kwargs)
    eager = copy.deepcopy(model)
    verdict = "equal"
    for call in range(2):
        torch.manual_seed(2 + call)
        try:
            expected = eager(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        except Exception as error:
            return raises_too(program, bound, error)
        torch.manual_seed(2 + call)
        found = compare(expected, program(*copy.deepcopy(bound.args), **copy.deepcopy(bound.kwargs)))
        if found not in ("equal", "close"):
            return f"call {call}: {found}"
        verdict = found if found == "close" else verdict
    state = program.state_dict()
    for key, tensor in eager.state_dict().items():
        if (
            key in state
            and not torch.equal(tensor, state[key])
            and not torch.allclose(tensor.float(), state[key].float(), atol=1e-4, equal_nan=True)
        ):
            return f"state {key} differs"
    return verdict


def raises_too(program: Any, bound: Any, error: Exception) -> str:
    """The verdict where eager raised ``error``."""
    try:
        program(*copy.deepcopy(bound.args), **copy.deepcopy(bound.kwargs))
    except Exception:
        return "raises"
    return f"runs where eager raises {type(error).__name__}: {str(error)[:100]}"


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the milliseconds of processor time that it took: other processes disturb that least.

    It is this thread's alone: after a copy of a tensor, PyTorch's idle workers spin for longer than an export takes.
    """
    begin = time.thread_time()
    result = call()
    return result, (time.thread_time() - begin) * 1000


def attempt(name: str, setting: str, peer: bool, repeat: int, debug: bool, guards: bool = False) -> Outcome:
    """One model in one setting."""
    outcome = Outcome(name, setting)
    mode, shapes = setting.split("-")
    torch.manual_seed(0)
    model, args, kwargs, spec = zoo.REG[name]()
    given = program = known = None
    if shapes == "dynamic":
        given = dynamic_shapes(spec, args, kwargs, dl.Dim.DYNAMIC)
    theirs = peer_call(model, args, kwargs, spec, mode == "strict", shapes == "dynamic") if peer else None

    def ours() -> Any:
        return dl.export(
            model, copy.deepcopy(args), copy.deepcopy(kwargs), dynamic_shapes=given, strict=mode == "strict"
        )

    try:
        program, outcome.cold_ms = timed(ours)
        known = in_turn(outcome, ours, theirs, repeat)
        outcome.exports = True
        outcome.nodes = len(list(program.graph.nodes))
        outcome.guards = [f"{guard.expr}  at {guard.location}" for guard in program.guards]
        for size in (None, *(OTHER_SIZES if shapes == "dynamic" else ())):
            outcome.equal["example" if size is None else f"{size[0]}x{size[1]}"] = checked(
                model, program, name, size
            )
    except Exception as error:
        outcome.error = f"{type(error).__name__}: {error}"
        if debug:
            traceback.print_exc()
    if guards and program is not None and program.guards and known is not None:
        outcome.guards = guards_beside(program, known, model, args, kwargs)
    return outcome


def checked(model: Any, program: Any, name: str, size: tuple[int, int] | None) -> str:
    """As :func:`run_at`, with what is raised as the verdict; ``outside`` for sizes that the contract excludes."""
    try:
        return run_at(model, program.module(), name, size)
    except dl.GuardError as error:
        return "outside" if size is not None else f"GuardError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def in_turn(outcome: Outcome, ours: Callable[[], Any], theirs: Callable[[], Any] | None, repeat: int) -> Any:
    """Enters the medians of ``repeat`` runs each, ours and theirs in turn; the peer's program, if it makes one."""
    spans: list[float] = []
    peers: list[float] = []
    known = None
    for turn in range(repeat + (theirs is not None)):
        if turn or theirs is None:
            spans.append(timed(ours)[1])
        if theirs is not None and not outcome.peer_error:
            try:
                known, span = timed(theirs)
                peers.append(span)
            except Exception as error:
                outcome.peer_error = f"{type(error).__name__}: {str(error)[:80]}"
    outcome.warm_ms = statistics.median(spans) if spans else math.nan
    if not outcome.peer_error and len(peers) > 1:
        outcome.peer_ms = statistics.median(peers[1:])  # its first run imports
    return known


def peer_call(
    model: Any, args: Any, kwargs: Any, spec: Any, strict: bool, dynamic: bool
) -> Callable[[], Any]:
    """``torch.export.export`` in the same setting."""
    given = peer_shapes(model, spec, args, kwargs) if dynamic else None

    def call() -> Any:
        torch._dynamo.reset()
        return torch.export.export(
            model, copy.deepcopy(args), copy.deepcopy(kwargs), dynamic_shapes=given, strict=strict
        )

    return call


def guards_beside(program: Any, theirs: Any, model: Any, args: Any, kwargs: Any) -> list[str]:
    """Our guards beside PyTorch's."""
    call = bind_call(model.forward, args, kwargs)
    tensors, put = replaced(call.args, call.kwargs, layer_tensors)

    def run(changed: list[Any]) -> Any:
        new_args, new_kwargs = put(changed)
        return copy.deepcopy(model)(*new_args, **new_kwargs)

    return beside(program, theirs, run, tensors)


def show(outcome: Outcome, guards: bool) -> None:
    """One line, and the reason where there is one."""
    verdicts = " ".join(f"{size}:{verdict}" for size, verdict in outcome.equal.items())
    ratio = (
        f" peer {outcome.peer_ms:8.0f} ms 1/{outcome.peer_ms / outcome.warm_ms:.0f}"
        if outcome.peer_ms == outcome.peer_ms
        else ""
    )
    mark = "ok " if outcome.good else "BAD"
    print(
        f"{mark} {outcome.model:28s} {outcome.setting:18s} {outcome.warm_ms:7.1f} ms (cold {outcome.cold_ms:6.0f}){ratio} {outcome.nodes:4d} nodes {len(outcome.guards)} guards {verdicts}"
    )
    if outcome.peer_error:
        print(f"    torch.export: {outcome.peer_error}".replace("\n", " "))
    if outcome.error:
        print("    " + outcome.error.replace("\n", "\n    ")[:900])
    if guards:
        for guard in outcome.guards:
            print("    guard", guard)
    sys.stdout.flush()


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--guards", action="store_true")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    outcomes = []
    for name in options.models.split(",") if options.models else zoo.REG:
        for setting in options.settings.split(","):
            outcome = attempt(name, setting, options.peer, options.repeat, options.debug, options.guards)
            outcomes.append(outcome)
            show(outcome, options.guards)
    print_summary(outcomes)
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1))


def print_summary(outcomes: list[Outcome]) -> None:
    """Counts by setting, and the geometric mean of the ratios."""
    for setting in dict.fromkeys(outcome.setting for outcome in outcomes):
        these = [outcome for outcome in outcomes if outcome.setting == setting]
        ratios = [o.peer_ms / o.warm_ms for o in these if o.exports and o.peer_ms == o.peer_ms]
        line = f"{setting}: {sum(o.exports for o in these)}/{len(these)} export, {sum(o.good for o in these)} equal eager"
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            line += f"; times: geometric mean 1/{mean:.0f} of torch.export's, worst 1/{min(ratios):.0f}"
        print(line)


if __name__ == "__main__":
    main()
