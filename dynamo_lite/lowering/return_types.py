"""Several results under the names that a schema gives them: ``torch.max(x, 0).values``."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any, Final

from fx_ir.ops.registry import Operator
from fx_ir.pytree_registry import NAME_RESOLVERS

_CLASSES: Final[dict[str, Any]] = {}
_BY_OPERATOR: Final[dict[Operator, Any]] = {}


def result_class(op: Operator) -> Any:
    """The class of the results of ``op``: a named tuple where its schema names every result, ``tuple`` otherwise."""
    found = _BY_OPERATOR.get(op)
    if found is None:
        names = [result.name for result in op.schema.returns]
        if len(names) > 1 and all(names):
            found = _named_tuple(op.name, tuple(str(name) for name in names))
        else:
            found = tuple
        _BY_OPERATOR[op] = found
    return found


def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    made = _CLASSES.get(name)
    if made is None or made._fields != fields:
        factory: Any = namedtuple
        made = _CLASSES[name] = factory(name, fields, module=__name__)
        made.__repr__ = _text
    return made


def _text(self: Any) -> str:
    held = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{held})"


def _named(name: str) -> Any:
    """The class that a file names. PyTorch's own names stand for these classes where its tensors are not taken."""
    place, _, leaf = name.rpartition(".")
    if place == __name__ or (place == "torch.return_types" and "dynamo_lite.torch_bridge" not in sys.modules):
        try:
            return __getattr__(leaf)
        except AttributeError:
            return None
    return None


NAME_RESOLVERS.append(_named)


def __getattr__(name: str) -> Any:
    """A class by its name, which is how one is unpickled."""
    from fx_ir.ops.registry import PACKETS

    packet = None if name.startswith("__") else PACKETS.get(f"aten::{name}")
    for op in packet.overloads if packet is not None else ():
        found = result_class(op)
        if found is not tuple:
            return found
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
