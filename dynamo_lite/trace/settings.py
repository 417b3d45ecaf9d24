"""What a program asked of the process around it: a path, what tells it, and what it told."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from fx_ir.liveness import ALL, environment_digest
from fx_ir.plain import is_plain, same_plain
from fx_ir.provenance import Assumption, AssumptionKind
from solver.errors import Location

ENVIRONMENT: Final = "environment"
WHOLE: Final = frozenset({"__iter__", "__len__", "__repr__", "copy", "__or__", "__ror__"})
"""Methods of ``os.environ`` that read all of it."""


class Setting(NamedTuple):
    """One thing that was asked. ``tell`` says what it is now, ``value`` is what it was when the program first asked."""

    path: str
    tell: Callable[[], Any]
    value: Any
    location: Location | None

    def holds(self) -> bool:
        """Whether it is told as it was. Objects that are no plain values are told by their identity."""
        value = self.value
        try:
            now = self.tell()
        except Exception:  # what can no longer be told is no longer so
            return False
        return now is value or (type(now) is type(value) and is_same(now, value))

    def assumption(self) -> Assumption:
        """The same as data."""
        value, kind = self.value, _KIND
        if value is None and self.path.startswith(f"{ENVIRONMENT} "):
            kind = "absence"
        elif not is_plain(value):
            kind = "identity"
            value = f"{type(value).__module__}.{type(value).__qualname__}"
        return Assumption(self.path, value, kind, self.location)


_KIND: Final[AssumptionKind] = "value"


def is_same(now: Any, value: Any) -> bool:
    """Whether two results of one type are equal. Asks no code of the program's."""
    if type(value) in (tuple, list):
        return len(now) == len(value) and all(
            one is other or (type(one) is type(other) and is_same(one, other))
            for one, other in zip(now, value, strict=True)
        )
    return is_plain(value) and same_plain(now, value)


class Settings(dict[str, Setting]):
    """What one capture asked, by path."""

    def note(
        self, path: str, tell: Callable[[], Any], value: Any, locate: Callable[[], Location | None]
    ) -> None:
        """Enters what was told; the first answer counts."""
        if path not in self:
            self[path] = Setting(path, tell, value, locate())

    def variable(self, name: str, locate: Callable[[], Location | None]) -> None:
        """A variable of the environment was asked for."""
        tell = partial(os.environ.get, name)
        self.note(f"{ENVIRONMENT} {name}", tell, tell(), locate)

    def environment(self, locate: Callable[[], Location | None]) -> None:
        """The environment was read whole. Its values are nobody's business: a digest tells them."""
        self.note(f"{ENVIRONMENT} {ALL}", environment_digest, environment_digest(), locate)
