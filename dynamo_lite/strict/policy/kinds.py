"""What outside objects are instances of: as long as they are reached, they go on to be of the class that they were of."""

from __future__ import annotations

from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

from dynamo_lite.strict.machine.slots import dict_of, inherits, mro_of
from dynamo_lite.strict.policy.origins import Origin, Origins, holds
from dynamo_lite.strict.policy.seen import may_change


def assume_kinds(origins: Origins, is_tensor: Callable[[Any], bool]) -> None:
    """Takes the classes for granted of all objects that a path of mere look-ups leads to. Tensors have checks of their own."""
    held: dict[int, bool] = {}
    for origin in origins.known():
        value = origin.value
        of_program = may_change(type(value)) and not inherits(type(value), type) and not is_tensor(value)
        if of_program and _is_held(origin, held):
            origins.assume_class(origin)


def _is_held(origin: Origin, held: dict[int, bool]) -> bool:
    """Whether no code of the program runs on the way to an object."""
    known = held.get(id(origin))
    if known is None:
        parent = origin.parent
        known = parent is None or (_is_held(parent, held) and _is_there(origin, parent.value))
        held[id(origin)] = known
    return known


def _is_there(origin: Origin, owner: Any) -> bool:
    if origin.kind != "attr" or holds(owner, origin.step, origin.value):
        return True
    spaces = map(dict_of, mro_of(type(owner)))
    found = next((space[origin.step] for space in spaces if origin.step in space), None)
    return found is origin.value or type(found) is MemberDescriptorType
