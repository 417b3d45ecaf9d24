"""Reports as SARIF 2.1.0, for code scanners."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from solver.report import GuardReport, Report

_PLACE: Final = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?: in .*)?\Z")
_LEVEL: Final = {"refuted": "error", "unknown": "warning"}
_RULES: Final = {
    "guard-refuted": "The specification does not imply a guard of the program.",
    "guard-unknown": "Whether the specification implies a guard could not be decided.",
    "specification-unsatisfiable": "No input meets the specification.",
}


def sarif(reports: Iterable[tuple[str, Report]]) -> dict[str, Any]:
    """One run with a result for each guard that is not proved; ``reports`` come with the file they were read from."""
    results = [result for file, report in reports for result in _results(file, report)]
    rules = [{"id": id, "shortDescription": {"text": text}} for id, text in _RULES.items()]
    driver = {"name": "dynamo-lite solver", "rules": rules}
    return {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _results(file: str, report: Report) -> Iterable[dict[str, Any]]:
    if report.status == "spec_unsatisfiable":
        text = f"{report.name}: these cannot hold together: {', '.join(report.conflict)}"
        yield _result("specification-unsatisfiable", "error", text, file, None)
        return
    for guard in report.guards:
        if guard.verdict in _LEVEL:
            yield _result(
                f"guard-{guard.verdict}", _LEVEL[guard.verdict], _message(report, guard), file, guard.at
            )


def _message(report: Report, guard: GuardReport) -> str:
    parts = [f"{report.name}: {guard.id}: {guard.expr}"]
    if guard.verdict == "refuted":
        values = guard.shapes or {}
        parts.append(f"fails at {', '.join(f'{name} = {value}' for name, value in values.items())}")
        parts += [f"fix: {suggestion.words}" for suggestion in guard.suggestions[:1]]
    elif guard.reason:
        parts.append(f"reason: {guard.reason}")
    return "; ".join(parts)


def _result(rule: str, level: str, text: str, file: str, at: str | None) -> dict[str, Any]:
    match = _PLACE.match(at or "")
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": quote((match["file"] if match else file).replace("\\", "/"))}
    }
    if match:
        physical["region"] = {"startLine": max(int(match["line"]), 1)}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": physical}],
    }
