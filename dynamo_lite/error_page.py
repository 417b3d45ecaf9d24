"""The error reference, made from the registry: ``python -m dynamo_lite.error_page > docs/errors.md``.

Errors are declared in modules named ``…errors.py`` and nowhere else; this runs them all, those of optional parts too.
"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from solver.errors import REGISTRY, ErrorSpec, ExportError

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("solver", "fx_ir", "dynamo_lite")


def load_declarations() -> None:
    """Runs every module of declarations that has not been imported, without importing the package it lies in."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*errors.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            if name in sys.modules:
                continue
            spec = spec_from_file_location(name, file)
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)


def page() -> str:
    """Markdown: one section a class, one entry an error, in the order of ids."""
    lines = ["# Errors", "", "Made by `python -m dynamo_lite.error_page > docs/errors.md`.", ""]
    lines += ["In the sentences, names in braces stand for the values of the case.", ""]
    for kind in (*ExportError.__subclasses__(), ExportError):
        specs = sorted((spec for spec in REGISTRY.values() if spec.kind is kind), key=lambda spec: spec.id)
        if specs:
            lines += [f"## {kind.__name__}", "", (kind.__doc__ or "").strip().splitlines()[0], ""]
            for spec in specs:
                lines += _entry(spec)
    return "\n".join(lines).rstrip() + "\n"


def _entry(spec: ErrorSpec) -> list[str]:
    about = [spec.about, ""] if spec.about else []
    return [f"### `{spec.id}`", "", *about, f"> {spec.message}", "", f"Way out: {spec.hint.rstrip('.')}.", ""]


if __name__ == "__main__":
    load_declarations()
    print(page(), end="")
