"""The table of rules and tests is true of the test files, and no rule is without a test."""

from __future__ import annotations

import re

from tests.rules import PAGE, RULES, collect


def test_every_rule_has_a_test() -> None:
    """Every rule is named by a test."""
    assert [rule for rule, files in collect().items() if not files] == []


def test_the_page_names_tests_that_exist() -> None:
    """Each test in the table exists and names its rule; each rule has its row."""
    found = collect()
    rows = re.findall(r"^\| M(\d+) \| .* \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(rule) for rule, _ in rows] == list(RULES)
    for rule, cell in rows:
        for entry in cell.split("<br>"):
            match = re.fullmatch(r"`(.*)`: (.*)", entry)
            assert match is not None
            assert set(match[2].split(", ")) <= set(found[int(rule)].get(match[1], ())), entry
