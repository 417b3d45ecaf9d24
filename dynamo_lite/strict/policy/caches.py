"""What a ``functools.lru_cache`` holds for a call, found without running its function."""

from __future__ import annotations

import functools
from types import CodeType, FrameType
from typing import Any, Final

from dynamo_lite.strict.machine.host import HOST

CACHE: Final = type(functools.lru_cache(len))


class _Absent(BaseException):
    """The function behind the cache was about to run."""


class _Stop:
    """Stops the function behind a cache; slots of the keys run."""

    problem: BaseException | None = None

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self.token = HOST.token(self)

    def began(self, frame: FrameType) -> None:
        if frame.f_code is self._code:
            raise _Absent

    def check(self) -> None:
        """Nothing was dropped: the look ends with what ``began`` raised."""


class Held:
    """A call of a cache, and the object that the cache held for it."""

    def __init__(self, cache: Any, args: tuple[Any, ...], kwargs: dict[str, Any], value: Any) -> None:
        self._cache = cache
        self._args = args
        self._kwargs = kwargs
        self._value = value
        self._stop = _Stop(cache.__wrapped__.__code__)

    def is_held(self) -> bool:
        """Whether the cache holds the very object still. A cache that was cleared, or had no room, does not."""
        who, before = object(), HOST.told()
        try:
            HOST.acquire(who)
            HOST.tell(self._stop.token)
            return self._cache(*self._args, **self._kwargs) is self._value
        except _Absent:
            return False
        finally:
            HOST.tell(before)
            HOST.release(who)
