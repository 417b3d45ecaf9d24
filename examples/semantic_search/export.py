"""First step: build the encoder with its real weights, export it in strict mode, show guards and proofs, save."""

from __future__ import annotations

import sys
import time

from data import model_folder, tokenize
from encoder import SentenceEncoder
from safetensors.numpy import load_file

import dynamo_lite as dl
import dynamo_lite.torchlite as torch


def build() -> SentenceEncoder:
    """The encoder with its published weights, in evaluation mode."""
    model = SentenceEncoder().eval()
    weights = load_file(model_folder() / "model.safetensors")
    state = {
        name: torch.from_numpy(array) for name, array in weights.items() if not name.startswith("pooler.")
    }
    model.load_state_dict(state)
    return model


def main(path: str) -> None:
    model = build()
    ids, mask = (
        torch.from_numpy(array) for array in tokenize(["A first sentence.", "And a second, longer one."])
    )
    start = time.perf_counter()
    model(ids, mask)  # the first call of the decorated forward captures and proves
    elapsed = time.perf_counter() - start
    program = model.forward.exported_program(model)
    nodes = sum(1 for _ in program.graph.nodes)
    print(f"captured and proved in {elapsed * 1e3:.0f} ms (first call, run included): {nodes} nodes")
    ranges = ", ".join(
        f"{low} <= {name} <= {high}" for name, (low, high) in program.range_constraints.items()
    )
    print(f"specification: {ranges}")
    print(program.proof)
    dl.save(program, path)
    print(f"saved {path}")


if __name__ == "__main__":
    main(sys.argv[1])
