"""What outside objects are instances of: as long as they are reached, they go on to be of the class that they were of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import Any

from dynamo_lite.strict.machine.slots import dict_of, inherits, mro_of
from dynamo_lite.strict.policy.contents import is_container
from dynamo_lite.strict.policy.origins import Origin, Origins, holds, namespace_of
from dynamo_lite.strict.policy.seen import may_change


def assume_kinds(
    origins: Origins, module: Any, is_tensor: Callable[[Any], bool], places: Mapping[int, str | None]
) -> None:
    """Takes the classes for granted of all objects that a path of mere look-ups leads to.

    Tensors have checks of their own. A program reads one from the module tree, at ``places`` by identity; what lies
    elsewhere goes on to be that tensor, what was read on another path the one at its place.
    """
    held: dict[int, bool] = {}
    for origin in origins.known():
        value = origin.value
        if is_tensor(value):
            place = places.get(id(value), origin.path())
            if place != origin.path() and _is_held(origin, held):
                origins.assume_object(origin, _at(origins, module, place) if place else None)
        elif _is_told(value) and _is_held(origin, held):
            origins.assume_class(origin)


def _is_told(value: Any) -> bool:
    """Whether an object of another class may come in its place unseen."""
    return is_container(value) or (may_change(type(value)) and not inherits(type(value), type))


def _at(origins: Origins, module: Any, place: str) -> Origin | None:
    """The origin of a parameter, a buffer or an attribute of the module tree."""
    *path, leaf = place.split(".")[1:]
    for name in path:
        module = module._modules.get(name)
        if module is None:
            return None
    owner, state = origins.of(module), vars(module)
    if owner is None:
        return None
    for name in ("_parameters", "_buffers"):
        if leaf in state[name]:
            registry = origins.place(state[name], owner, "attr", name)
            return Origin(state[name][leaf], registry, "item", leaf)
    return Origin(state[leaf], owner, "attr", leaf) if leaf in state else None


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
    if origin.step == "__dict__":
        return namespace_of(owner) is origin.value
    spaces = map(dict_of, mro_of(type(owner)))
    found = next((space[origin.step] for space in spaces if origin.step in space), None)
    return found is origin.value or type(found) is MemberDescriptorType
