"""The page about what strict mode allows, made from the tables: ``python -m dynamo_lite.strict.policy.page > docs/strict-policy.md``."""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_lite.strict.mutators import MUTATORS
from dynamo_lite.strict.policy import impure, modules, tables
from dynamo_lite.strict.policy.ambient import ASKED_AGAIN, LOGGING_ASKED
from dynamo_lite.trace.states import STATES

_INTRODUCTION = """# What strict mode allows

Made by `python -m dynamo_lite.strict.policy.page > docs/strict-policy.md`. It holds while a model is captured; `dl.interpret` itself runs anything.

Python functions are interpreted. What is not Python is called natively, and this page says what becomes of such calls. C code is known by
its module: it computes from its arguments, changes one of them, or is refused; C code of a module that no table names is refused. Everything that forward writes lies in a transaction and is put back when tracing ends,
whether it ends well or not; `program.effects` lists it. What forward reads from outside and burns in is in `program.assumptions`.
"""


def _rows(heading: tuple[str, str, str], rows: Iterable[tuple[str, str, str]]) -> list[str]:
    lines = [f"| {' | '.join(heading)} |", "|---|---|---|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def page() -> str:
    """Markdown."""
    differing = {name: why for name, why in modules.FUNCTIONS.items() if why is not None}
    lines = [_INTRODUCTION, "## Refused", ""]
    refused = [
        (f"`{name}`" if "." in name else f"everything in `{name}`", reason, hint)
        for name, (reason, hint) in sorted({**modules.REFUSED_MODULES, **differing}.items())
    ]
    refused.append(("C code of a module that no table names", *modules.UNKNOWN))
    refused.append(("methods of an outside hash, compressor, parser or reader", *modules.STREAM))
    refused.append(("`id` in the user's own code", *tables.IDENTITY))
    refused.append(("`register` of an abstract class from outside", *tables.REGISTERS))
    refused.append(
        (
            "`datetime` methods " + ", ".join(sorted(tables.CLOCK_METHODS)),
            "read a clock",
            "pass the value as an input",
        )
    )
    refused.append(
        (
            "`next` and loops over an iterator from outside",
            "advance it for good",
            "make the iterator in forward",
        )
    )
    lines += _rows(("what", "reason", "way out"), refused)
    lines += ["## Skipped, with an entry in `effects`", ""]
    lines += [f"* `{name}`" for name in sorted(tables.SKIPPED)]
    lines += [f"* `logging`: {', '.join(sorted(tables.LOGGING_SKIPPED))}"]
    lines += [f"* locks, as `with` enters and leaves them: {', '.join(impure.LOCK_ANSWERS)}", ""]
    lines += [
        "## Read as an assumption",
        "",
        "* `os.environ` and `os.getenv`: the value (or its absence) is burned in and recorded; read whole, a digest of it.",
        f"* what C code depends on unseen: {', '.join(STATES)}, when a function or an object of theirs takes part.",
        f"* what these tell, which a live program asks again: {', '.join(f'`{name}`' for name in sorted(ASKED_AGAIN))};",
        f"  of `logging`: {', '.join(sorted(LOGGING_ASKED))}.",
        "* whether a warning that is skipped is an error by the filters.",
    ]
    lines += ["* attributes of outside objects, globals and closure variables, with their path and line.", ""]
    lines += ["## Changes its object: under the transaction", ""]
    lines += [f"* `{cls.__name__}`: {', '.join(sorted(names))}" for cls, names in MUTATORS.items()]
    computing = sorted(name for name, why in modules.FUNCTIONS.items() if why is None)
    lines += [
        "",
        "## Computes from its arguments",
        "",
        ", ".join(f"`{name}`" for name in sorted(modules.PURE)),
    ]
    lines += [
        f"; packages {', '.join(sorted(modules.KNOWN_PACKAGES))}; of other modules ",
        ", ".join(computing),
        "",
    ]
    lines += [
        "Objects of these keep state that cannot be put back, and are used where forward made them:",
        "",
    ]
    lines += [", ".join(f"`{name}`" for name in sorted(modules.STREAMS))]
    lines += ["", "## Called by C, and not rehearsed", ""]
    lines += [f"* `{file}`: {why}" for file, why in {**tables.TRUSTED, **tables.WEAK_TABLES}.items()]
    lines += ["", "## Kept symbolic", "", "Of a size, or of a number read from a tensor:", ""]
    lines += [f"* `{function.__module__}.{function.__name__}`" for function in tables.SYMBOLIC]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
