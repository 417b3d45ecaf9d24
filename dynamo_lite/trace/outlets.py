"""Where output goes. It is skipped while tracing, which is sound only where the program does not read it back."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from dynamo_lite.trace.errors import OUTPUT_READ
from solver.errors import Location

_WARNINGS: Final[Any] = warnings
_LOGGING: Final[Any] = logging


def _warned() -> tuple[Any, ...]:
    """What shows a warning; ``catch_warnings(record=True)`` puts a list in its place."""
    return _WARNINGS.showwarning, _WARNINGS._showwarnmsg_impl


class Outlets:
    """The streams, the display of warnings and the log handlers, as they were when a capture began."""

    def __init__(self) -> None:
        self._streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        self._warned = _warned()
        self._handlers = set(
            map(id, _LOGGING._handlerList)
        )  # of the references, which last as long as the handlers

    @contextmanager
    def kept(self) -> Iterator[None]:
        """At the end of the block warnings are shown and filtered as before it: ``warnings`` changes that behind the transaction's back."""
        filters, listed = _WARNINGS.filters, [*_WARNINGS.filters]
        try:
            yield
        finally:
            if _WARNINGS.filters is not filters or filters != listed:
                _WARNINGS.filters, filters[:] = filters, listed
                _WARNINGS._filters_mutated()
            _WARNINGS.showwarning, _WARNINGS._showwarnmsg_impl = self._warned

    def check(self, name: str, kwargs: Mapping[str, Any], location: Location | None) -> None:
        """Raises ``output-read`` where ``name`` would write to an object that forward put there."""
        if name.endswith("print"):
            file = kwargs.get("file")
            inside = self._is_inside(sys.stdout if file is None else file)
        elif name == "logging":
            inside = any(map(self._is_inside, self._streams_of_new_handlers()))
        else:
            inside = any(now is not before for now, before in zip(_warned(), self._warned, strict=True))
        if inside:
            raise OUTPUT_READ(name=name, location=location)

    def _is_inside(self, file: Any) -> bool:
        return file is not None and all(file is not stream for stream in self._streams)

    def _streams_of_new_handlers(self) -> list[Any]:
        new = [made for made in _LOGGING._handlerList if id(made) not in self._handlers]
        return [getattr(made(), "stream", self) for made in new]
