"""all-MiniLM-L6-v2 from transformers: exported where PyTorch is, run where it is not, as the how-to page shows it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.walkthrough import blocks

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]
ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "transformers_encoder"
REFERENCE = ROOT / "tests" / "data" / "minilm_reference.json"
PAGE = ROOT / "docs" / "transformers.md"
TOLERANCE = 1e-4

# Any import of PyTorch fails in this process, as where it is not installed.
WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = None
sys.path.insert(0, sys.argv[1])
import numpy as np
from embed_sentences import embed, tokenize
reference = json.load(open(sys.argv[3], encoding="utf-8"))
ids, mask = tokenize(reference["sentences"])
assert ids.tolist() == reference["input_ids"] and mask.tolist() == reference["attention_mask"]
expected = np.array(reference["embeddings"])
for count in (len(expected), 3, 1):  # other batches, and shorter sequences: the longest sentence leads a batch
    found = embed(sys.argv[2], reference["sentences"][:count])
    print(float(np.abs(found - expected[:count]).max()))
"""


def python(*arguments: str) -> str:
    """What a fresh process prints."""
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_page_shows_the_scripts() -> None:
    shown = [block.code for block in blocks(PAGE.read_text(encoding="utf-8"))]
    names = ("export_encoder.py", "embed_sentences.py")
    assert shown == [(EXAMPLE / name).read_text(encoding="utf-8") for name in names]


def test_exported_with_pytorch_and_run_without(tmp_path: Path) -> None:
    file = str(tmp_path / "encoder.dlp")
    assert "proved" in python(str(EXAMPLE / "export_encoder.py"), file)
    errors = [
        float(line) for line in python("-c", WITHOUT_TORCH, str(EXAMPLE), file, str(REFERENCE)).splitlines()
    ]
    assert len(errors) == 3
    assert max(errors) < TOLERANCE
    table = python(str(EXAMPLE / "embed_sentences.py"), file, "A cat sleeps.", "A kitten naps.")
    assert table.count("1.") >= 2
