"""The main job on its real input: the encoder agrees with PyTorch's embeddings, in both modes, saved and loaded (M1, M4, M33)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "semantic_search"
sys.path.insert(0, str(EXAMPLE))

import dynamo_lite as dl  # noqa: E402
import dynamo_lite.torchlite as torch  # noqa: E402
from dynamo_lite.capture import Capture, library_for  # noqa: E402
from fx_ir.structure import same_graph  # noqa: E402

REFERENCE: dict[str, Any] = json.loads(
    (ROOT / "tests" / "data" / "minilm_reference.json").read_text(encoding="utf-8")
)
EXPECTED = np.array(REFERENCE["embeddings"])
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def model() -> Any:
    from export import build

    return build()


@pytest.fixture(scope="module")
def inputs() -> tuple[Any, Any]:
    return torch.tensor(REFERENCE["input_ids"]), torch.tensor(REFERENCE["attention_mask"])


def capture(model: Any, inputs: tuple[Any, Any], strict: bool) -> dl.ExportedProgram:
    from encoder import SHAPES

    forward = type(model).forward.function.__get__(model)
    example = inputs[0][:3], inputs[1][:3]
    return Capture(library_for(model), model, forward, forward, strict).program(example, {}, SHAPES)


def test_tokenizer_gives_the_reference_ids() -> None:
    from data import tokenize

    ids, mask = tokenize(REFERENCE["sentences"])
    assert ids.tolist() == REFERENCE["input_ids"]
    assert mask.tolist() == REFERENCE["attention_mask"]


def test_decorated_encoder_agrees_with_pytorch(model: Any, inputs: tuple[Any, Any]) -> None:
    for size in (2, 8, 1):  # the first call captures; the others run that program at other sizes
        found = model(inputs[0][:size], inputs[1][:size]).detach().numpy()
        assert np.abs(found - EXPECTED[:size]).max() < TOLERANCE
    assert len(model.forward.exported_programs(model)) == 1
    program = model.forward.exported_program(model)
    assert program.proof is not None and program.proof.status == "proved"
    assert dict(program.range_constraints) == {"batch": (1, 1024), "sequence": (1, 512)}


@pytest.mark.parametrize("strict", [True, False])
def test_program_agrees_with_pytorch(
    model: Any, inputs: tuple[Any, Any], strict: bool, tmp_path: Path
) -> None:
    program = capture(model, inputs, strict)
    program.validate()
    file = tmp_path / "encoder.dlp"
    dl.save(program, file)
    for candidate in (program, dl.load(file)):
        found = candidate.module()(*inputs).detach().numpy()
        assert np.abs(found - EXPECTED).max() < TOLERANCE
        assert dl.verify(candidate).status == "proved"


def test_both_modes_give_one_graph(model: Any, inputs: tuple[Any, Any]) -> None:
    strict, native = capture(model, inputs, True), capture(model, inputs, False)
    assert same_graph(strict.graph_module, native.graph_module) == []
    assert [str(guard) for guard in strict.guards] == [str(guard) for guard in native.guards]


def test_program_refuses_what_the_specification_excludes(model: Any, inputs: tuple[Any, Any]) -> None:
    run = capture(model, inputs, False).module()
    long = torch.zeros(1, 513, dtype=torch.long)
    with pytest.raises(dl.GuardError, match="513"):
        run(long, long)
    with pytest.raises(dl.GuardError):
        run(inputs[0], inputs[1][:4])


def test_a_fresh_process_needs_only_the_file(model: Any, inputs: tuple[Any, Any], tmp_path: Path) -> None:
    file = tmp_path / "encoder.dlp"
    dl.save(capture(model, inputs, True), file)
    run = subprocess.run(
        [sys.executable, str(EXAMPLE / "search.py"), str(file)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "Bake the bread at 220 degrees" in run.stdout
