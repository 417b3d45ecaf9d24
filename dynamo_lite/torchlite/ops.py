"""``torch.ops``: every operator by namespace, packet and overload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_lite import dispatch
from dynamo_lite.lowering.leaf import TensorFunction
from fx_ir.ops.registry import PACKETS, Operator, Packet


class OpOverload(TensorFunction):  # no docstring: it would stand in the way of the instances' own
    # One overload: ``torch.ops.aten.add.Tensor``.
    __slots__ = ("__doc__", "operator")

    def __init__(self, operator: Operator) -> None:
        def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
            return dispatch.call(operator, *operator.match(args, kwargs))

        super().__init__(f"ops.{operator}", lower, operator.text)
        self.operator = operator

    @property
    def _schema(self) -> Any:
        return self.operator.schema

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.operator.namespace}.{self.operator.name}', overload='{self.operator.overload}')>"

    def __str__(self) -> str:
        return str(self.operator)

    def __reduce__(self) -> Any:
        return _overload, (self.operator.namespace, self.operator.name, self.operator.overload)


class OpOverloadPacket(TensorFunction):  # no docstring: it would stand in the way of the instances' own
    # The overloads of one name: ``torch.ops.aten.add``; called, it chooses by the arguments.
    __slots__ = ("__doc__", "_overloads", "packet")

    def __init__(self, packet: Packet) -> None:
        def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
            return dispatch.call(*packet.resolve(args, kwargs))

        super().__init__(f"ops.{packet}", lower)
        self.packet = packet
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        return [operator.overload for operator in self.packet.overloads]

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._overloads.get(name)
        if found is None:
            for operator in self.packet.overloads:
                if operator.overload == name:
                    found = self._overloads[name] = OpOverload(operator)
                    return found
            raise AttributeError(
                f"The underlying op of '{self.packet.namespace}.{self.packet.name}' has no overload name '{name}'"
            )
        return found

    def __str__(self) -> str:
        return str(self.packet)

    def __reduce__(self) -> Any:
        return _packet, (self.packet.namespace, self.packet.name)


class Namespace:
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = PACKETS.get(f"{self._name}::{name}")
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        made = OpOverloadPacket(packet)
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        return sorted(name.removeprefix(prefix) for name in PACKETS if name.startswith(prefix))


class Ops:
    """``torch.ops``."""

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Namespace(name)
        setattr(self, name, made)
        return made


ops = Ops()


def _packet(namespace: str, name: str) -> OpOverloadPacket:
    return getattr(getattr(ops, namespace), name)  # type: ignore[no-any-return]


def _overload(namespace: str, name: str, overload: str) -> OpOverload:
    return getattr(_packet(namespace, name), overload)  # type: ignore[no-any-return]
