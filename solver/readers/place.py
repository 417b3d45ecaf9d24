"""Reading parts of a JSON value, with the place in the file for the error where a part is not what it should be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from solver.errors import ExportError
from solver.readers.errors import BAD_ARCHIVE
from solver.readers.srepr import SreprError, to_expression

_STORED: Final = re.compile(r"\s*(?:[A-Za-z_]\w*\s*\(|(?:true|false)\s*\Z)")


class Place:
    """One JSON entry of an archive; every method raises BAD_ARCHIVE with the place."""

    def __init__(self, file: str, entry: str) -> None:
        self.file = file
        self.entry = entry

    def fail(self, where: str, what: str) -> ExportError:
        return BAD_ARCHIVE(file=self.file, path=f"{self.entry}: {where[:200]}", what=what[:200])

    def mapping(self, value: object, where: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(where, f"an object is needed, not {type(value).__name__}")
        return cast(Mapping[str, Any], value)

    def sequence(self, value: object, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(where, f"a list is needed, not {type(value).__name__}")
        return value

    def get(self, entry: Mapping[str, Any], key: str, where: str) -> Any:
        if key not in entry:
            raise self.fail(where, f"{key[:80]!r} is missing")
        return entry[key]

    def text(self, value: object, where: str) -> str:
        if not isinstance(value, str):
            raise self.fail(where, f"text is needed, not {type(value).__name__}")
        return value

    def expression(self, value: object, where: str) -> str:
        """The expression text of a stored size: ``as_int`` or ``as_expr``."""
        entry = self.mapping(value, where)
        if "as_int" in entry:
            return str(self.integer(entry["as_int"], where))
        stored = self.mapping(self.get(entry, "as_expr", where), where)
        text = self.text(self.get(stored, "expr_str", where), where)
        if not _STORED.match(text):
            return text  # early archives of schema 8 store plain text; the parser of problems judges it
        try:
            return to_expression(text)
        except SreprError as error:
            raise self.fail(where, str(error)) from None

    def integer(self, value: object, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(where, f"an integer is needed, not {type(value).__name__}")
        return value
