"""The page made from the operator table is current, and complete."""

from __future__ import annotations

from pathlib import Path

from fx_ir.ops.table import PAGE, declared, main, page


def test_the_page_in_docs_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m fx_ir.ops.table"


def test_every_operator_is_on_the_page_once() -> None:
    text = page()
    for operator in declared():
        assert text.count(f"| `{operator.text}` |") == 1


def test_the_script_writes_the_page(tmp_path: Path) -> None:
    target = tmp_path / "operators.md"
    main([str(target)])
    assert target.read_text(encoding="utf-8") == page()
