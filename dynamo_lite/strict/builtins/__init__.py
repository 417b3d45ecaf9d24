"""Replacements of C functions that call back into Python, as routines of the machine."""

from dynamo_lite.strict.builtins import (
    abstract,
    callbacks,
    classes,
    functions,
    iterables,
    methods,
    namespaces,
    objects,
    reductions,
    sorting,
    typeparams,
)

__all__ = [
    "abstract",
    "callbacks",
    "classes",
    "functions",
    "iterables",
    "methods",
    "namespaces",
    "objects",
    "reductions",
    "sorting",
    "typeparams",
]
