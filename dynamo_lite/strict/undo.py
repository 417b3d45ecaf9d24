"""How a place is saved before a write: each function here returns what puts the old state back."""

from __future__ import annotations

import array
import contextlib
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dynamo_lite.strict.machine.slots import MISSING, dict_of, inherits, lookup, plain_dict

Restore = Callable[[], None]


def namespace_of(kind: str, obj: Any, key: Any) -> tuple[dict[Any, Any] | None, bool]:
    """The dict that a write lands in, and whether it is saved by the key: namespaces of modules are, as other threads use them too.

    None where no dict, or none that is in sight, holds what is written.
    """
    if kind == "global":
        return obj, True
    if kind == "attr":
        of_class = issubclass(type(obj), type)
        held = None if of_class or _descriptor(obj, key) is not MISSING else plain_dict(obj)
        return held, type(obj) is types.ModuleType
    is_dict = (
        kind in ("item", "content") and inherits(type(obj), dict) and not inherits(type(obj), OrderedDict)
    )
    return (obj if is_dict else None), False


def _descriptor(obj: Any, name: str) -> Any:
    """What takes a write of an attribute in place of the dictionary."""
    attribute = lookup(type(obj), name)
    takes = attribute is not MISSING and lookup(type(attribute), "__set__") is not MISSING
    return attribute if takes or (name == "__dict__" and attribute is not MISSING) else MISSING


def save_key(mapping: Any, key: Any) -> Restore:
    """One item of a dict."""
    old = mapping.get(key, MISSING)

    def restore() -> None:
        if old is MISSING:
            mapping.pop(key, None)
        else:
            mapping[key] = old

    return restore


def _save_cell(cell: Any, key: Any) -> Restore:
    try:
        old = cell.cell_contents
    except ValueError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            cell.cell_contents = old
            return
        with contextlib.suppress(ValueError):
            del cell.cell_contents

    return restore


def _save_attribute(obj: Any, name: str) -> Restore:
    """An attribute that no dict in sight holds."""
    if issubclass(type(obj), type):
        return _save_class_attribute(obj, name)
    attribute = _descriptor(obj, name)
    if name == "__dict__" and type(attribute) is types.GetSetDescriptorType:
        return _save_dict_object(obj, attribute)
    return _save_in_c(obj, name) if attribute is MISSING else _save_descriptor(obj, attribute)


def _save_in_c(obj: Any, name: str) -> Restore:
    """An attribute of an object whose dictionary, if it has one, C keeps to itself (type variables, futures)."""
    try:
        old = object.__getattribute__(obj, name)
    except AttributeError:
        old = MISSING

    def restore() -> None:
        with contextlib.suppress(AttributeError, TypeError):  # the write failed as well
            if old is MISSING:
                object.__delattr__(obj, name)
            else:
                object.__setattr__(obj, name, old)

    return restore


def _save_class_attribute(cls: Any, name: str) -> Restore:
    own = dict_of(cls)
    # names such as __name__ are kept by the class itself, not in its dictionary
    described = lookup(type(cls), name)
    in_type = type(described) is types.GetSetDescriptorType and name not in own
    try:
        old = type.__getattribute__(cls, name) if in_type else own.get(name, MISSING)
    except AttributeError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            type.__setattr__(cls, name, old)
        elif in_type or name in dict_of(cls):
            with contextlib.suppress(AttributeError):
                type.__delattr__(cls, name)

    return restore


def _save_dict_object(obj: Any, getset: Any) -> Restore:
    namespace = getset.__get__(obj)
    content = save_dict(namespace)

    def restore() -> None:
        getset.__set__(obj, namespace)
        content()

    return restore


def _save_descriptor(obj: Any, descriptor: Any) -> Restore:
    """A slot or another attribute kept by C (``__class__``, ``__defaults__``)."""
    kind = type(descriptor)
    try:
        old = kind.__get__(descriptor, obj, type(obj))
    except AttributeError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            kind.__set__(descriptor, obj, old)
            return
        with contextlib.suppress(AttributeError):
            kind.__delete__(descriptor, obj)

    return restore


def _save_content(obj: Any, key: Any) -> Restore:
    """A whole container, at its first write."""
    for cls, save in _CONTENT:
        if inherits(type(obj), cls):
            return save(obj, key)
    return lambda: None  # not a container that C keeps: its own attributes are announced one by one


def _save_list(obj: Any, key: Any) -> Restore:
    old = list.copy(obj)
    return lambda: list.__setitem__(obj, slice(None), old)


def save_dict(obj: Any) -> Restore:
    """A whole dict, with the order of its keys."""
    old = dict.copy(obj)

    def restore() -> None:
        if not _same_dict(obj, old):
            dict.clear(obj)
            dict.update(obj, old)

    return restore


def _same_dict(left: Any, right: Any) -> bool:
    """The same keys and values, by identity and in the same order: then nothing is put back."""
    if len(left) != len(right):
        return False
    pairs = zip(dict.items(left), dict.items(right), strict=True)
    return all(a is b and x is y for (a, x), (b, y) in pairs)


def _save_ordered(obj: Any, key: Any) -> Restore:
    old = list(OrderedDict.items(obj))

    def restore() -> None:
        now = list(OrderedDict.items(obj))
        if len(now) == len(old) and all(a is b and x is y for (a, x), (b, y) in zip(now, old, strict=True)):
            return
        OrderedDict.clear(obj)
        for each, value in old:
            OrderedDict.__setitem__(obj, each, value)

    return restore


def _save_set(obj: Any, key: Any) -> Restore:
    old = set.copy(obj)

    def restore() -> None:
        if {*map(id, set.__iter__(obj))} != {*map(id, old)}:
            set.clear(obj)
            set.update(obj, old)

    return restore


def _save_deque(obj: Any, key: Any) -> Restore:
    old = tuple(deque.__iter__(obj))

    def restore() -> None:
        deque.clear(obj)
        deque.extend(obj, old)

    return restore


def _save_bytearray(obj: Any, key: Any) -> Restore:
    old = bytes(obj)
    return lambda: bytearray.__setitem__(obj, slice(None), old)


def _save_array(obj: Any, key: Any) -> Restore:
    old = obj[:]

    def restore() -> None:
        del obj[:]
        obj.extend(old)

    return restore


def _save_memory(obj: Any, key: Any) -> Restore:
    """What a memoryview shows, by a view of one's own: the program may release its."""
    view = memoryview(obj.obj)
    if obj.readonly or not view.c_contiguous:
        return lambda: (
            None
        )  # the write fails, or the buffer's owner is no plain one and gives no such view again
    flat = view.cast("B")
    old = flat.tobytes()

    def restore() -> None:
        flat[:] = old

    return restore


def _save_array_of_numpy(obj: Any, key: Any) -> Restore:
    old = np.array(obj, copy=True, subok=False)
    return lambda: np.copyto(obj, old)


_OF_EXCEPTIONS: Final = tuple(
    BaseException.__dict__[name]
    for name in ("args", "__cause__", "__context__", "__suppress_context__", "__traceback__")
)


def _save_exception(obj: Any, key: Any) -> Restore:
    """What raising it, and ``add_note``, change of an exception."""
    old = [(each, each.__get__(obj)) for each in _OF_EXCEPTIONS]
    namespace = plain_dict(obj)
    attributes = save_dict(namespace)
    notes = (namespace or {}).get("__notes__")
    listed = _save_list(notes, None) if type(notes) is list else None

    def restore() -> None:
        for each, value in old:
            each.__set__(obj, value)
        attributes()
        if listed is not None:
            listed()

    return restore


_CONTENT: Final[tuple[tuple[type, Callable[[Any, Any], Restore]], ...]] = (
    (list, _save_list),
    (OrderedDict, _save_ordered),
    (dict, lambda obj, key: save_dict(obj)),
    (set, _save_set),
    (deque, _save_deque),
    (bytearray, _save_bytearray),
    (array.array, _save_array),
    (memoryview, _save_memory),
    (np.ndarray, _save_array_of_numpy),
    (BaseException, _save_exception),
)
SAVERS: Final[dict[str, Callable[[Any, Any], Restore]]] = {
    "attr": _save_attribute,
    "global": save_key,
    "deref": _save_cell,
    "item": _save_content,
    "content": _save_content,
}
