"""``Size``: the tuple that ``Tensor.shape`` gives."""

from __future__ import annotations

from typing import Any, SupportsIndex, overload

from fx_ir.pytree import SequenceKey
from fx_ir.pytree_registry import register_pytree_node


class Size(tuple[Any, ...]):
    """A tuple of sizes, ints or symbolic ints.

    Comparing two sizes gives one condition (the conjunction over the dimensions), not one decision per dimension, so
    that a branch on ``x.shape == y.shape`` is guarded by exactly that condition.
    """

    __slots__ = ()

    def numel(self) -> Any:
        """The product of the sizes."""
        total: Any = 1
        for size in self:
            total = total * size
        return total

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        if len(self) != len(other):
            return False
        verdict: Any = True
        for mine, theirs in zip(self, other, strict=True):
            same = mine == theirs
            if same is False:
                return False
            if same is not True:
                verdict = same if verdict is True else verdict & same
        return verdict

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        if same is NotImplemented or same is True or same is False:
            return same if same is NotImplemented else not same
        return same == False  # noqa: E712  a symbolic bool has no logical `not` that stays symbolic

    __hash__ = tuple.__hash__

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[Any, ...]]]:
        return Size, (tuple(self),)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"


register_pytree_node(
    Size,
    lambda size: (list(size), None),
    lambda sizes, _: Size(sizes),
    serialized_type_name="torch.Size",
    flatten_with_keys_fn=lambda size: ([(SequenceKey(i), each) for i, each in enumerate(size)], None),
)
