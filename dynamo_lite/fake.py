"""The fake tensor: a tensor's description, the node that computes it, and its place among its aliases.

One class serves both front ends and both tensor libraries. It has no data: whatever would read data goes through the
lowering to the recorder, and is an operator, an unbacked number or an error there. Its class attribute ``library_class`` is what
``isinstance`` sees, so that ``isinstance(fake, torch.Tensor)`` is true without being a real tensor anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fx_ir.functionalize import Alias, Storage, storage_of
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.registry import register_tensor_type

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer


class FakeTensor:
    """A tensor value of one trace.

    ``kind`` is where it came from: ``"input"``, ``"parameter"``, ``"buffer"``, ``"constant"`` or ``"value"``; ``origin`` is
    its name in the module or the signature (None for a value).
    """

    __slots__ = (
        "__weakref__",
        "generation",
        "kind",
        "memory",
        "meta",
        "node",
        "origin",
        "tracer",
        "view_of",
        "viewed",
    )

    library_class: ClassVar[type]

    def __init__(
        self,
        tracer: Tracer,
        meta: TensorMeta,
        node: Node,
        kind: str = "value",
        origin: str | None = None,
        alias: Alias | None = None,
    ) -> None:
        self.tracer = tracer
        self.meta = meta
        self.node = node
        self.kind = kind
        self.origin = origin
        self.view_of = alias
        self.viewed = False
        if alias is None:
            self.memory = Storage()
            self.generation = 0
        else:
            alias.parent.viewed = True
            storage = storage_of(alias.parent)
            self.generation = storage.generation
            if alias.shares is not None:
                storage.unsure.append(self)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self.library_class

    __hash__ = object.__hash__

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a tensor under export has no data to pickle")


register_tensor_type(FakeTensor)


def is_fake(value: object) -> bool:
    """True for a fake tensor of any library (``isinstance`` cannot tell)."""
    return issubclass(type(value), FakeTensor)
