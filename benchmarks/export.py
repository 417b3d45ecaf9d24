"""Times the main job on the sentence encoder's architecture: capture, proof, run, decorated call, memory, import.

    python -m benchmarks.export

Weights are random (the times do not depend on them). Warm figures are the median of five runs in one process after a first, cold
one; ratios compare figures of the same process. Exit status 0 whatever the figures: timing decides no test.
"""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "semantic_search"))

from encoder import SHAPES, Config, SentenceEncoder

import dynamo_lite.torchlite as torch
from dynamo_lite.capture import Capture, library_for
from dynamo_lite.decorator import _programs_of
from dynamo_lite.live import LiveProgram
from fx_ir.executor import compile_graph
from fx_ir.program import ExportedProgram


def timed(action: Callable[[], Any], repeat: int = 5) -> tuple[float, float]:
    """Seconds: of the first run, and the median of ``repeat`` more."""
    times = []
    for _ in range(repeat + 1):
        gc.collect()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times[0], statistics.median(times[1:])


def model_of(layers: int) -> tuple[SentenceEncoder, Callable[..., Any]]:
    """An encoder in evaluation mode and its undecorated forward."""
    model = SentenceEncoder(Config(num_hidden_layers=layers)).eval()
    forward = SentenceEncoder.__dict__["forward"].function.__get__(model)
    return model, forward


def capture(model: SentenceEncoder, forward: Callable[..., Any], strict: bool = True) -> ExportedProgram:
    """Strict or non-strict export with dynamic batch and sequence, proof included."""
    return Capture(library_for(model), model, forward, forward, strict).program(inputs(2, 16), {}, SHAPES)


def inputs(batch: int, sequence: int) -> tuple[Any, Any]:
    """Random token ids and a mask without padding."""
    ids = torch.randint(5, 30000, (batch, sequence))
    return ids, torch.ones(batch, sequence, dtype=torch.long)


def show(what: str, seconds: float, note: str = "") -> None:
    print(f"  {what:<44} {seconds * 1e3:10.2f} ms   {note}", flush=True)


def export_times() -> None:
    ids, mask = inputs(8, 32)
    model, forward = model_of(6)
    _, eager = timed(lambda: forward(ids, mask))
    cold, warm = timed(lambda: capture(model, forward))
    _, native = timed(lambda: capture(model, forward, strict=False))
    print("export, dynamic batch and sequence, proof included")
    show("one eager forward, 8 x 32", eager)
    show("strict, warm (cold beside it)", warm, f"{warm / eager:.2f} x eager; cold {cold * 1e3:.0f} ms")
    show("non-strict, warm", native, f"{native / eager:.2f} x eager")
    for layers in (12, 24):
        deeper, deeper_forward = model_of(layers)
        _, seconds = timed(lambda m=deeper, f=deeper_forward: capture(m, f), 3)  # type: ignore[misc]
        show(f"strict, {layers} layers", seconds, f"{seconds / warm:.2f} x six layers")


def run_times() -> None:
    ids, mask = inputs(8, 32)
    model, forward = model_of(6)
    program = capture(model, forward)
    module = program.module()
    backend = program.backend
    natives = [backend.unwrap(tensor) for tensor in program.lifted_tensors()]
    by_hand = compile_graph(program.graph_module, backend).run
    given = [backend.unwrap(ids), backend.unwrap(mask)]
    pairs = []
    for _ in range(10):
        pairs.append(
            [
                seconds(lambda: forward(ids, mask)),
                seconds(lambda: module(ids, mask)),
                seconds(lambda: by_hand(*natives, *given)),
            ]
        )
    eager, exported, kernels = (statistics.median(column) for column in zip(*pairs, strict=True))
    print("run, 8 x 32")
    show("eager", eager)
    show("exported program", exported, f"{exported / eager:.2f} x eager")
    show("its kernels called one after another", kernels, f"program {exported / kernels:.3f} x kernels")


def seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def call_checks() -> None:
    model, _ = model_of(6)
    ids, mask = inputs(2, 16)
    model(ids, mask)
    (programs,) = _programs_of(model).values()
    live: LiveProgram = programs[-1]
    live.prepare(model, (ids, mask), {})
    count = 2000
    start = time.perf_counter()
    for _ in range(count):
        live.prepare(model, (ids, mask), {})
    each = (time.perf_counter() - start) / count
    print(
        f"decorated call: contract, state and {len(live.program.assumptions)} assumptions checked in {each * 1e6:.1f} us"
    )


def memory() -> None:
    model, forward = model_of(6)
    weights = sum(p._array.nbytes for p in model.parameters())
    gc.collect()
    before = resident()
    program = capture(model, forward)
    gc.collect()
    grown = resident() - before
    print(
        f"memory: weights {weights / 2**20:.0f} MiB, resident set grew by {grown / 2**20:.1f} MiB ({grown / weights:.1%}) during export"
    )
    assert program is not None


def resident() -> int:
    """Bytes of the resident set now (the peak where the system does not tell)."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def import_time() -> None:
    code = "import time; t = time.perf_counter(); import dynamo_lite; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(6)
    ]
    show("import dynamo_lite (fresh process)", statistics.median(runs[1:]))


def main() -> None:
    import_time()
    memory()
    export_times()
    run_times()
    call_checks()


if __name__ == "__main__":
    main()
