"""The house rules that a machine can hold: imports point down, versions in one place, one registry of errors, no foreign words."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BELOW = {"solver": (), "fx_ir": ("solver",), "dynamo_lite": ("solver", "fx_ir")}
HEAVY = ("torch", "transformers", "sympy", "z3", "cvc5", "scipy")


def sources(package: str) -> Iterator[Path]:
    return (ROOT / package).rglob("*.py")


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every imported module, and whether it is imported when the file is (not inside a function, not for types alone)."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            yield name, node.col_offset == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", BELOW)
def test_imports_point_down(package: str) -> None:
    ours = {"solver", "fx_ir", "dynamo_lite"}
    for file in sources(package):
        for name, _ in imports(ast.parse(file.read_text(encoding="utf-8"))):
            root = name.partition(".")[0]
            if root in ours and root != package:
                assert root in BELOW[package], f"{file.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("package", BELOW)
def test_heavy_packages_are_imported_when_needed(package: str) -> None:
    for file in sources(package):
        if "torch_bridge" in file.parts:
            continue
        for name, at_import in imports(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (at_import and name.partition(".")[0] in HEAVY), (
                f"{file.relative_to(ROOT)} imports {name} at once"
            )


def test_import_loads_numpy_alone() -> None:
    code = (
        "import dynamo_lite, sys; dynamo_lite.export; print(*(m for m in sys.argv[1:] if m in sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "numpy", *HEAVY], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout.split() == ["numpy"]


def test_python_version_is_asked_in_one_package() -> None:
    asking = [
        str(file.relative_to(ROOT))
        for package in BELOW
        for file in sources(package)
        if "version_info" in file.read_text(encoding="utf-8")
    ]
    assert all(name.startswith("dynamo_lite/strict/decode/") for name in asking), asking


def test_errors_are_declared_in_error_modules() -> None:
    for package in BELOW:
        for file in sources(package):
            if not file.name.endswith("errors.py"):
                assert not re.search(r"= declare\(", file.read_text(encoding="utf-8")), file.relative_to(ROOT)


def test_every_error_has_a_sentence_and_a_way_out() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "dynamo_lite.error_page"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert run.stdout == (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert "Way out: ." not in run.stdout


def test_no_file_is_oversized() -> None:
    """A file of more than 600 lines needs splitting; tables made of data are the exception."""
    long = {
        str(file.relative_to(ROOT)): count
        for package in BELOW
        for file in sources(package)
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > 600
    }
    assert not long


def test_strict_policy_page_is_current() -> None:
    from dynamo_lite.strict.policy.page import page

    assert page() == (ROOT / "docs" / "strict-policy.md").read_text(encoding="utf-8")


# Where a function is marked to run natively while tracing: tests of exactly that, and nowhere else.
WAYS_OUT = {"allow_call", "assume_constant", "assume_constant_result"}
ON_WAYS_OUT = {
    "tests/cases/test_effects.py",  # an interrupt inside such a call
    "tests/dynamo_lite/strict/test_escape.py",  # the class of native code that they are
    "tests/dynamo_lite/torch_bridge/test_ecosystem.py",  # PyTorch's mark
    "tests/dynamo_lite/torch_bridge/test_kinds.py",  # PyTorch's mark
}


def test_only_their_own_tests_lean_on_the_ways_out() -> None:
    files = [file for folder in ("tests", "examples", "benchmarks") for file in (ROOT / folder).rglob("*.py")]
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "attr", getattr(node, "id", None))
            if name in WAYS_OUT or (
                isinstance(node, ast.ImportFrom) and WAYS_OUT & {each.name for each in node.names}
            ):
                found.add(str(file.relative_to(ROOT)))
    assert found == ON_WAYS_OUT
