"""The pages: what they link to, run and list is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_name_what_there_is(page: Path) -> None:
    """Modules of ours that are run, and scripts by their path."""
    text = page.read_text(encoding="utf-8")
    for module in re.findall(r"python[\d.]* -m ((?:solver|fx_ir|dynamo_lite|tests|benchmarks)[\w.]*)", text):
        place = ROOT.joinpath(*module.split("."))
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module
    for script in re.findall(r"python[\d.]* ([\w./]+/[\w.]+\.py)", text):
        assert (ROOT / script).exists(), script


def test_every_benchmark_is_listed() -> None:
    """A benchmark is a module that can be run."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    scripts = [
        file for file in (ROOT / "benchmarks").glob("*.py") if "__main__" in file.read_text(encoding="utf-8")
    ]
    assert scripts
    for file in scripts:
        assert f"`python -m benchmarks.{file.stem}`" in text or f"`python benchmarks/{file.name}" in text, (
            file.name
        )


def test_every_page_is_reachable() -> None:
    """From the README, by links alone."""
    reached: set[Path] = set()
    open_pages = [ROOT / "README.md"]
    while open_pages:
        page = open_pages.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#]+\.md)\)", page.read_text(encoding="utf-8"))
        open_pages += [(page.parent / target).resolve() for target in links]
    assert set(PAGES) <= reached
