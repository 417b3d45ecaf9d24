"""How the user's own variables spell a symbol: ``nz.shape[0]`` for the first size of what the variable ``nz`` holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dynamo_lite.fake import is_fake
from solver.sym import SymBool, SymFloat, SymInt

Variables = Callable[[], Mapping[str, Any]]


def no_variables() -> Mapping[str, Any]:
    """The variables where no user code runs."""
    return {}


class Naming:
    """Names of symbols that depend on data, found in the variables of the running function and remembered."""

    __slots__ = ("_known", "variables")

    def __init__(self) -> None:
        self.variables: Variables = no_variables
        self._known: dict[str, str] = {}

    def __call__(self, symbol: str) -> str | None:
        """The user's text for a symbol; None where no variable tells it."""
        for name, value in self.variables().items():
            for text, held in _spellings(name, value):
                if held == symbol:
                    self._known[symbol] = text
                    return text
        return self._known.get(symbol)


def _spellings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if not name.isidentifier():
        return
    kind = type(value)
    if issubclass(kind, (SymInt, SymFloat, SymBool)):
        yield name, str(value.expr)
    elif is_fake(value):
        for dim, size in enumerate(value.meta.shape):
            if isinstance(size, SymInt):
                yield f"{name}.shape[{dim}]", str(size.expr)
    elif kind in (tuple, list):
        for index, item in enumerate(value):
            if is_fake(item) or issubclass(type(item), (SymInt, SymFloat, SymBool)):
                yield from ((f"{name}[{index}]{text[1:]}", held) for text, held in _spellings("_", item))
