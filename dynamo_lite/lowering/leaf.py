"""``TensorFunction``: the leaf callable that both front ends treat as a primitive."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Final

Lower = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]
"""A lowering takes the positional and the keyword arguments as given by the caller."""


class TensorFunction:  # no docstring: instances carry their own ``__doc__`` in a slot
    # One object per public function or method, so that front ends may resolve a call by identity. ``lower`` does the
    # work on eager tensors, on fakes and on real tensors under a trace alike.
    # ``like`` is the function of Python whose parameters it takes, where there is one.
    __slots__ = ("__doc__", "__name__", "__qualname__", "like", "lower")

    def __init__(
        self, qualname: str, lower: Lower, doc: str | None = None, like: Callable[..., Any] | None = None
    ) -> None:
        self.__qualname__ = qualname
        self.__name__ = qualname.rpartition(".")[2]
        self.__doc__ = doc
        self.lower = lower
        self.like = like

    @property
    def name(self) -> str:
        return self.__qualname__

    @property
    def __text_signature__(self) -> str | None:
        """What ``inspect.signature`` reads, as it does of C functions; None where the parameters are the operator's."""
        if self.like is None:
            return None
        found = inspect.signature(self.like)
        plain = [each.replace(annotation=each.empty) for each in found.parameters.values()]
        return str(found.replace(parameters=plain, return_annotation=found.empty))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.lower(args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __copy__(self) -> TensorFunction:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> TensorFunction:
        return self

    def __reduce__(self) -> tuple[Callable[[str], TensorFunction], tuple[str]]:
        return find, (self.__qualname__,)

    def __repr__(self) -> str:
        return f"<tensor function {self.__qualname__}>"


REGISTRY: Final[dict[str, TensorFunction]] = {}


def leaf(
    qualname: str, lower: Lower, doc: str | None = None, like: Callable[..., Any] | None = None
) -> TensorFunction:
    """Makes the tensor function ``qualname`` (``torch.add``, ``Tensor.view`` …) and enters it by that name.

    Raises ``ValueError`` when the name is taken.
    """
    if qualname in REGISTRY:
        raise ValueError(f"tensor function {qualname!r} is defined twice")
    made = TensorFunction(qualname, lower, doc, like)
    REGISTRY[qualname] = made
    return made


def find(qualname: str) -> TensorFunction:
    """The tensor function of that name; raises ``KeyError``. (This is how one is unpickled.)"""
    return REGISTRY[qualname]
