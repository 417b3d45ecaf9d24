"""A report as text for people: each guard that needs attention, where it came from, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from solver.report import GuardReport, Report, Suggestion, shared_dims

_MARK = {"proved": "proved ", "refuted": "REFUTED", "unknown": "UNKNOWN"}
_MAX_EXPR = 160
_MAX_PROVED = 40
_MAX_BAD = 30


def render(report: Report, *, every: bool = False) -> str:
    """The report; proved guards are summed up where there are many, unless ``every`` is set."""
    return "\n".join(_lines(report, every))


def _lines(report: Report, every: bool) -> Iterator[str]:
    counts = report.counts()
    numbers = ", ".join(f"{counts[verdict]} {verdict}" for verdict in counts if counts[verdict])
    yield f"{report.name or 'problem'}: {report.status} ({numbers or 'no guards'}; {report.seconds * 1000:.0f} ms)"
    yield from _second_opinion(report)
    if report.conflict:
        yield "  the specification has no solution: these cannot hold together"
        yield from (f"    {label}" for label in report.conflict)
        return
    yield from (f"  note: {note}" for note in report.notes)
    roots = [guard.id for guard in report.roots]
    shown = [
        guard
        for guard in report.guards
        if guard.verdict != "refuted" or guard.id in roots or not guard.follows_from
    ]
    quiet = not every and len([g for g in shown if g.verdict == "proved"]) > _MAX_PROVED
    rank = {id: place for place, id in enumerate(roots)}
    bad = sorted((g for g in shown if g.verdict != "proved"), key=lambda g: rank.get(g.id, len(rank)))
    listed = bad if every else bad[:_MAX_BAD]
    for guard in listed:
        yield from _guard(guard)
    if len(listed) < len(bad):
        yield f"  {len(bad) - len(listed)} more like these are not shown; --all shows them"
    hidden = len(report.guards) - len(shown)
    if hidden:
        yield f"  {_number(hidden, 'more refuted guard')} {'follows' if hidden == 1 else 'follow'} from those shown"
    if quiet:
        yield f"  {_number(counts['proved'], 'guard')} proved; --all shows them"
    else:
        for guard in shown:
            if guard.verdict == "proved":
                yield from _guard(guard)
    if report.fix is not None:
        yield "  one change that makes every guard hold:"
        yield from _suggestion(report.fix, "    ")


def _second_opinion(report: Report) -> Iterator[str]:
    """What the cross-check says, the guards by name on which it differs."""
    if report.cross_check is None:
        return
    from solver.crosscheck import disagreements

    differing = disagreements(report)
    left_open = sum(answer == "open" for answer in report.cross_check.values())
    agreed = len(report.cross_check) - left_open - len(differing)
    yield f"  cross-check: {agreed} agreed, {left_open} left open, {len(differing)} differing"
    for id in differing:
        yield f"    DIFFERS on {id}: {report.cross_check[id]}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _guard(guard: GuardReport) -> Iterator[str]:
    place = f"  [{guard.at}]" if guard.at else ""
    yield f"  {_MARK[guard.verdict]} {guard.id}: {_short(guard.expr)}{place}"
    if guard.note:
        yield f"      {guard.note}"
    if guard.verdict == "proved":
        rests = f"uses {', '.join(guard.used)}" if guard.used else "holds without the specification"
        yield f"      by {guard.method}; {rests}" if guard.method != "vacuous" else f"      {guard.reason}"
    elif guard.verdict == "refuted":
        values = guard.shapes or {name: str(v) for name, v in (guard.counterexample or {}).items()}
        yield f"      at {', '.join(f'{name} = {value}' for name, value in values.items())}: {guard.reason}"
        if guard.inputs:
            yield f"      input shapes: {', '.join(f'{name}: {shape}' for name, shape in guard.inputs.items())}"
        for suggestion in guard.suggestions:
            yield from _suggestion(suggestion, "      fix: ")
    else:
        yield f"      reason: {guard.reason}"


def _suggestion(suggestion: Suggestion, indent: str) -> Iterator[str]:
    yield f"{indent}{suggestion.words}"
    pad = " " * len(indent)
    declared, dims = shared_dims(suggestion.dims)
    yield from (f"{pad}{name} = {source}" for name, source in declared.items())
    yield from (f"{pad}{place}: {source}" for place, source in dims.items())
    if not suggestion.dims and suggestion.assumption:
        yield f"{pad}ShapesSpec(..., assumptions=[{suggestion.assumption}])"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_EXPR else f"{text[: _MAX_EXPR - 3]}..."
