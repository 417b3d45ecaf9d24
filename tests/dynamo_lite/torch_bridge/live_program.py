"""A program of the tests' whose code is changed: forward, and what it uses of Python. Made anew from its text for each test."""

# mypy: ignore-errors

from __future__ import annotations

import abc
import collections
import collections.abc
import contextlib
import dataclasses
import enum
import functools
import operator
import typing


class Base:
    val = 2

    def method(self):
        return 2

    @classmethod
    def of_class(cls):
        return cls.val


class Derived(Base):
    def method(self):
        return super().method()

    def by_attribute(self):
        return self.by_attribute.times

    by_attribute.times = 2


class Meta(type):
    def __instancecheck__(cls, other):
        return False

    def __call__(cls, *args):
        return super().__call__(*args)

    def __len__(cls):
        return 2

    def __iter__(cls):
        return iter([2])

    def __getattr__(cls, name):
        if name == "answered":
            return 2
        raise AttributeError(name)

    @property
    def prop(cls):
        return 2


class Made(metaclass=Meta):
    def __init__(self):
        self.value = 2

    def __init_subclass__(cls):
        cls.sub = 2


def subclass():
    class Sub(Made):
        pass

    return Sub.sub


class Object:
    """Whatever C asks of an object."""

    def __init__(self, key=2):
        self.key = key

    def __getitem__(self, index):
        return 2

    def __iter__(self):
        return iter([2])

    def __contains__(self, value):
        return True

    def __call__(self):
        return self.key

    def __float__(self):
        return 2.0

    def __index__(self):
        return 2

    def __format__(self, text):
        return "2"

    def __repr__(self):
        return "2"

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def __lt__(self, other):
        return self.key < other.key

    def __add__(self, other):
        return 2

    def __getattr__(self, name):
        if name == "answered":
            return 2
        raise AttributeError(name)


class Number(enum.Enum):
    TWO = 2

    def twice(self):
        return self.value * 2


@dataclasses.dataclass
class Data:
    a: int = 2
    b: list = dataclasses.field(default_factory=lambda: [2])


Pair = collections.namedtuple("Pair", "a b", defaults=[2, 2])


@contextlib.contextmanager
def managed():
    yield 2


def in_block():
    with managed() as value:
        return value


def generated():
    yield 2


def other():
    yield 3


def key(value):
    return -value


class Slots:
    __slots__ = ("value",)

    def __init__(self):
        self.value = 2

    def method(self):
        return self.value


class Missing(dict):
    def __missing__(self, key):
        return 2


class Listed(list):
    pass


class Integer(int):
    pass


class Descriptor:
    def __init__(self):
        self.value = 2

    def __get__(self, obj, owner):
        return self.value


class Described:
    attribute = Descriptor()
    held = Object()
    static = staticmethod(Object())
    part = functools.partialmethod(lambda self, value: value, 2)


def marked():
    return marked.value


marked.value = 2


@functools.lru_cache
def cached(value):
    return value


class Hooked(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, other):
        return False


class Other(abc.ABC):  # noqa: B024
    pass


@typing.runtime_checkable
class Quacking(typing.Protocol):
    def quack(self): ...


class Row:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [5, 6][index]


def matched(value):
    match value:
        case [_, _]:
            return 3
        case _:
            return 2


class Point:
    __match_args__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 2, 3


def first_of(value):
    match value:
        case Point(first, _):
            return first


def maybe():
    try:
        return nowhere
    except NameError:
        return 2


TABLE = {Object(): 2}
NAMED = abc, operator, collections.abc
