"""A policy that allows everything: what a policy of one's own can start from."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from types import CodeType, FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.code import is_own
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.host import Observer
from dynamo_lite.strict.machine.operators import NATIVE_BINARY, NATIVE_COMPARE, NATIVE_UNARY
from dynamo_lite.strict.machine.slots import MISSING

_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = NATIVE_BINARY

_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"s": str, "r": repr, "a": ascii}


class NullPolicy:
    """Every hook does what the machine would do without a policy."""

    special_ids: Collection[int] = frozenset()
    uncatchable: tuple[type[BaseException], ...] = ()
    observer: Observer | None = None

    def operate(self, fn: Callable[..., Any], *operands: Any) -> Any:
        return fn(*operands)

    def entered(self, fn: FunctionType) -> None:
        pass

    def judged(self, abstract: type, cls: type) -> None:
        pass

    def opaque(self, code: CodeType) -> bool:
        return is_own(code)

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        return fn(*args, **kwargs)

    def load_global(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        return value

    def missing_global(self, namespace: dict[str, Any], name: str) -> None:
        pass

    def load_deref(self, cell: Any, name: str, value: Any) -> Any:
        return value

    def load_attr(self, obj: Any, name: str, value: Any) -> Any:
        return value

    def hooked(self, hook: FunctionType, obj: Any, name: str) -> Any:
        return MISSING

    def described(self, cls: type, name: str, attribute: Any) -> None:
        pass

    def not_held(self, obj: Any, name: str) -> None:
        pass

    def missing_attr(self, obj: Any, name: str) -> None:
        pass

    def load_item(self, container: Any, key: Any, value: Any) -> Any:
        return value

    def answered(self, fn: Any, value: Any) -> None:
        pass

    def before_write(self, kind: str, obj: Any, key: Any) -> None:
        pass

    def made(self, value: Any) -> None:
        pass

    def truth(self, value: Any) -> bool:
        return bool(value)

    def iterate(self, value: Any) -> Any:
        return iter(value)

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        return _BINARY[symbol](left, right)

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        return NATIVE_COMPARE[symbol](left, right)

    def identical(self, value: Any, other: Any) -> bool:
        return value is other

    def unary(self, symbol: str, value: Any) -> Any:
        return NATIVE_UNARY[symbol](value)

    def contains(self, container: Any, value: Any) -> bool:
        return operator.contains(container, value)

    def subscript(self, container: Any, key: Any) -> Any:
        return container[key]

    def format(self, value: Any, conversion: str | None, spec: str) -> str:
        converted = value if conversion is None else _CONVERSIONS[conversion](value)
        return format(converted, spec)
