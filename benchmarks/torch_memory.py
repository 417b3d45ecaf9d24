"""Peak memory of an export, ours and PyTorch's: a process of its own for each, measured above what model and imports take.

    python benchmarks/torch_memory.py [--models bert,llama] [--modes strict,nonstrict]

Prints megabytes for each model of the zoo (dynamic shapes), and how often ours is above theirs. Each side has a process that has
imported its library and exported nothing; every measurement is a fork of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
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


def in_a_fork(name: str, side: str, strict: bool) -> float | None:
    """:func:`measured` in a process of its own; None where the export is refused."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(2, 1)  # what is printed is no result
            os.write(writer, json.dumps(measured(name, side, strict)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as results:
        said = results.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def serve(side: str, mode: str, names: list[str]) -> None:
    """Prints one measurement a line, in the order of ``names``."""
    import torch

    if side == "ours":
        import dynamo_lite.torch_bridge  # noqa: F401
    else:
        import torch._dynamo
        import torch.export  # noqa: F401
    from benchmarks import export_torch  # noqa: F401

    for name in names:
        print(json.dumps(in_a_fork(name, side, mode == "strict")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--modes", default="strict,nonstrict")
    parser.add_argument("--side", choices=("ours", "torch"))
    options = parser.parse_args()
    if options.side:
        serve(options.side, options.modes, options.models.split(","))
        return
    from tests.zoo import models as zoo

    names = options.models.split(",") if options.models else list(zoo.REG)
    for mode in options.modes.split(","):
        compare(mode, names)


def compare(mode: str, names: list[str]) -> None:
    """The table of one mode and its summary."""
    both: list[tuple[float, float]] = []
    command = [sys.executable, __file__, "--models", ",".join(names), "--modes", mode, "--side"]
    sides = [
        subprocess.Popen([*command, side], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for side in ("ours", "torch")
    ]
    for name in names:
        ours, theirs = (json.loads(side.stdout.readline()) for side in sides if side.stdout)
        shown = ["refused" if value is None else f"{value:7.1f} MB" for value in (ours, theirs)]
        print(f"{mode:9s} {name:28s} ours {shown[0]:>10s}   torch.export {shown[1]:>10s}", flush=True)
        if ours is not None and theirs is not None:
            both.append((ours, theirs))
    for side in sides:
        side.wait()
    above = sum(ours > theirs for ours, theirs in both)
    means = [statistics.median(side) for side in zip(*both, strict=True)]
    print(
        f"{mode}: {len(both)} exported by both; median {means[0]:.1f} MB against {means[1]:.1f} MB; ours above in {above}"
    )


if __name__ == "__main__":
    main()
