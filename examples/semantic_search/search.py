"""Second step, in a process that has only the file: embed sentences of several lengths and answer queries by similarity."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from data import tokenize
from rich.console import Console
from rich.table import Table

import dynamo_lite as dl
import dynamo_lite.torchlite as torch

QUERIES = (
    "an animal resting at home",
    "how to bake",
    "travelling by rail",
    "proving a property of a program",
    "facts about astronomy",
)


def embed(program: dl.ExportedProgram, sentences: list[str], batch: int = 8) -> np.ndarray:
    """Unit vectors of shape (sentences, 384). Batches differ in size and length: one program serves all."""
    run = program.module()
    parts = []
    for start in range(0, len(sentences), batch):
        ids, mask = tokenize(sentences[start : start + batch])
        parts.append(run(torch.from_numpy(ids), torch.from_numpy(mask)).detach().numpy())
    return np.concatenate(parts)


def main(path: str) -> None:
    program = dl.load(path)
    sentences = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines()
    corpus = embed(program, sentences)
    found = embed(program, list(QUERIES)) @ corpus.T
    table = Table(title=f"{len(sentences)} sentences, {len(QUERIES)} queries")
    for heading in ("query", "nearest sentence", "cosine"):
        table.add_column(heading, justify="right" if heading == "cosine" else "left")
    for query, scores in zip(QUERIES, found, strict=True):
        for rank, index in enumerate(np.argsort(-scores)[:2]):
            table.add_row(query if rank == 0 else "", sentences[index], f"{scores[index]:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1])
