"""Peak memory of an export, ours and PyTorch's: a process of its own for each, measured above what model and imports take.

    python benchmarks/torch_memory.py [--models bert,llama] [--mode strict|nonstrict]

Prints megabytes for each model of the zoo (dynamic shapes), and how often ours is above theirs.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def status(field: str) -> float:
    """A line of ``/proc/self/status`` in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise KeyError(field)


def measured(name: str, side: str, strict: bool) -> float:
    """The peak of resident memory during one export above what was resident before, in megabytes."""
    import torch

    import dynamo_lite as dl
    from benchmarks.export_torch import dynamic_shapes, peer_shapes
    from tests.zoo import models as zoo

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    model, args, kwargs, spec = zoo.REG[name]()
    export: Any
    if side == "ours":
        import dynamo_lite.torch_bridge

        export, shapes = dl.export, dynamic_shapes(spec, args, kwargs, dl.Dim.DYNAMIC)
    else:
        import torch._dynamo
        import torch.export as theirs

        export, shapes = theirs.export, peer_shapes(model, spec, args, kwargs)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status("VmRSS")
    export(model, args, kwargs, dynamic_shapes=shapes, strict=strict)
    return status("VmHWM") - before


def in_a_process(name: str, side: str, mode: str) -> float | None:
    """:func:`measured` in a fresh process; None where the export is refused."""
    command = [sys.executable, __file__, "--models", name, "--mode", mode, "--side", side]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--mode", choices=("strict", "nonstrict"), default="strict")
    parser.add_argument("--side", choices=("ours", "torch"))
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measured(options.models, options.side, options.mode == "strict")))
        return
    from tests.zoo import models as zoo

    both: list[tuple[float, float]] = []
    for name in options.models.split(",") if options.models else zoo.REG:
        ours, theirs = (in_a_process(name, side, options.mode) for side in ("ours", "torch"))
        shown = ["refused" if value is None else f"{value:7.1f} MB" for value in (ours, theirs)]
        print(f"{name:28s} ours {shown[0]:>10s}   torch.export {shown[1]:>10s}", flush=True)
        if ours is not None and theirs is not None:
            both.append((ours, theirs))
    above = sum(ours > theirs for ours, theirs in both)
    means = [statistics.median(side) for side in zip(*both, strict=True)]
    print(
        f"{len(both)} exported by both; median {means[0]:.1f} MB against {means[1]:.1f} MB; ours above in {above}"
    )


if __name__ == "__main__":
    main()
