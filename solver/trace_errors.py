"""The errors of expressions, specifications and the shape environment."""

from __future__ import annotations

from solver.errors import (
    InputError,
    UnsupportedError,
    declare,
)

EXPRESSION_TOO_LARGE = declare(
    "expression-too-large",
    UnsupportedError,
    "a size expression has more than {limit} {what}",
    hint="compute the value from a tensor's shape where it is needed instead of one closed formula",
)

BAD_PROBLEM = declare(
    "bad-problem",
    InputError,
    "{path}: {what}",
    hint="the format is shapeproof/1: name, symbols, spec, facts and guards, expressions as text",
)
