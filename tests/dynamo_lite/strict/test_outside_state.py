"""State that objects from outside keep in ways of their own: forward gives what the first eager call gives, or export refuses, and all is as before."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import contextvars
import functools
import itertools
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


class Key:
    def __init__(self, number: int) -> None:
        self.number = number


class Counting:
    """A data descriptor that counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0
        self.held = 1

    def __get__(self, obj: object, owner: type | None = None) -> int:
        self.reads += 1
        return self.held + self.reads

    def __set__(self, obj: object, value: int) -> None:
        self.held = value


class Meta(type):
    writes = 0

    def __setattr__(cls, name: str, value: Any) -> None:
        Meta.writes += 1
        super().__setattr__(name, value)


class Settings(metaclass=Meta):
    scale = 1


class Lazy:
    counted = Counting()

    def __init__(self) -> None:
        self.number = 3

    @functools.cached_property
    def computed(self) -> int:
        self.number += 1
        return self.number

    @functools.lru_cache  # noqa: B019
    def remembered(self, factor: int) -> int:
        return self.number * factor


class Local(threading.local):
    def __init__(self) -> None:
        self.level = 4


class Hooked(abc.ABC):  # noqa: B024
    """Its answer depends on how often it was asked; it is asked once a class."""

    asked: ClassVar[list[str]] = []

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        cls.asked.append(other.__name__)
        return len(cls.asked) % 2 == 1


class Open(abc.ABC):  # noqa: B024
    pass


def _generator() -> Iterator[int]:
    yield 1
    yield 2
    yield 3


class World:
    """One of each, made anew for a test."""

    def __init__(self) -> None:
        self.keys = [Key(1), Key(2)]
        self.by_key = weakref.WeakKeyDictionary({self.keys[0]: 5})
        self.by_name = weakref.WeakValueDictionary({"a": self.keys[0]})
        self.weak_set = weakref.WeakSet([self.keys[0]])
        self.lazy = Lazy()
        self.module: Any = types.ModuleType("made_by_hand")
        exec(_MODULE, vars(self.module))
        self.variable = contextvars.ContextVar("variable", default=1)
        self.thread: Any = threading.local()
        self.thread.level = 3
        self.own_thread = Local()
        self.count = itertools.count(5)
        self.generator = _generator()
        self.random = random.Random(3)
        self.error = ValueError(1)
        Lazy.counted = Counting()
        Lazy.remembered.cache_clear()
        Meta.writes = 0
        type.__setattr__(Settings, "scale", 1)
        Hooked.asked.clear()
        _abc._reset_caches(Hooked)

    def state(self) -> Any:
        counting = vars(Lazy)["counted"]
        own = {name: value for name, value in vars(self.module).items() if name != "__builtins__"}
        error = self.error
        return (
            [(key.number, value) for key, value in self.by_key.items()], sorted(self.by_name), len(self.weak_set),
            dict(vars(self.lazy)), (counting.reads, counting.held), {**own, "calls": list(own["calls"])}, self.variable.get(),
            dict(vars(self.thread)), dict(vars(self.own_thread)), repr(self.count), self.generator.gi_frame.f_lineno,  # type: ignore[attr-defined]
            self.random.getstate(), random.getstate(), Lazy.remembered.cache_info().currsize, Meta.writes, Settings.scale,
            (error.args, getattr(error, "__notes__", None), error.__traceback__, error.__context__, error.__cause__),
            list(Hooked.asked), issubclass(Key, Open), "made_by_hand" in sys.modules, list(vars(Settings)),
        )  # fmt: skip


_MODULE: Final = """
calls = []
def __getattr__(name):
    calls.append(name)
    if name == "gone":
        raise AttributeError(name)
    globals()[name] = len(calls) * 10
    return globals()[name]
"""


def weak_key(w: World) -> Any:
    w.by_key[w.keys[1]] = 7
    del w.by_key[w.keys[0]]
    return w.by_key[w.keys[1]] * 10 + len(w.by_key) + sum(key.number for key in w.by_key)


def weak_value(w: World) -> Any:
    w.by_name["b"] = w.keys[1]
    return w.by_name["b"].number + len(w.by_name)


def weak_set(w: World) -> Any:
    w.weak_set.add(w.keys[1])
    return len(w.weak_set) * 10 + (w.keys[1] in w.weak_set)


def weak_key_of_forward(w: World) -> Any:
    key = Key(9)
    w.by_key[key] = 3
    return w.by_key[key]


def descriptor(w: World) -> Any:
    w.lazy.counted = 20
    return w.lazy.counted * 100 + w.lazy.counted


def module_attributes(w: World) -> Any:
    return w.module.alpha + w.module.alpha + hasattr(w.module, "gone") + len(w.module.calls)


def loaded_modules(w: World) -> Any:
    sys.modules["made_by_hand"] = w.module
    import made_by_hand  # type: ignore[import-not-found]

    return len(made_by_hand.calls) + 1


def cached_property(w: World) -> Any:
    return w.lazy.computed * 100 + w.lazy.computed


def cached_method(w: World) -> Any:
    return w.lazy.remembered(2) + w.lazy.remembered(2)


def metaclass(w: World) -> Any:
    Settings.scale = 5
    Settings.offset = 2
    return Settings.scale * Meta.writes


def context_variable(w: World) -> Any:
    token = w.variable.set(5)
    first = w.variable.get()
    w.variable.reset(token)
    w.variable.set(w.variable.get() + 1)
    return first * 10 + w.variable.get()


def thread_local(w: World) -> Any:
    w.thread.level += 1
    w.thread.other = 2
    w.own_thread.level += w.thread.other
    return w.thread.level * 10 + w.own_thread.level


def exception(w: World) -> Any:
    try:
        raise w.error
    except ValueError as error:
        error.args = (5,)
        error.add_note("seen")
        return error.args[0] + len(error.__notes__)


def abstract_class(w: World) -> Any:
    return isinstance(w.keys[0], Hooked) * 10 + isinstance(w.keys[0], Hooked) + len(Hooked.asked)


def registered(w: World) -> Any:
    Open.register(Key)
    return isinstance(w.keys[0], Open)


ATTACKS: Final[tuple[Callable[[World], Any], ...]] = (
    weak_key, weak_value, weak_set, weak_key_of_forward, descriptor, module_attributes, loaded_modules, cached_property,
    cached_method, metaclass, context_variable, thread_local, exception, abstract_class, registered,
    lambda w: next(w.count), lambda w: len(list(zip(w.count, [1], strict=False))), lambda w: next(w.generator),
    lambda w: sum(w.generator), lambda w: w.generator.send(None), lambda w: w.generator.close(),  # type: ignore[attr-defined]
    lambda w: random.random(), lambda w: random.seed(1), lambda w: random.setstate(random.getstate()),
    lambda w: w.random.choice([1, 2]), lambda w: random.Random(3).random(),
)  # fmt: skip
# what cannot be put back, by what the error says
REFUSED: Final[dict[int, str]] = {
    ATTACKS.index(weak_key_of_forward): "weak reference", ATTACKS.index(registered): "registers a class",
    **dict.fromkeys(range(15, 21), "iterator"), **dict.fromkeys(range(21, 26), "random"),
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=lambda n: f"{n}-{ATTACKS[n].__name__}")
def test_right_or_refused(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "made_by_hand", sys)  # so that it is taken away at the end
    del sys.modules["made_by_hand"]
    world, attack, x = World(), ATTACKS[number], torch.ones(2)
    model: Any = type("Model", (nn.Module,), {"forward": lambda self, x: x * attack(world)})()
    before = world.state()
    if number in REFUSED:
        with pytest.raises(dl.UnsupportedError, match=REFUSED[number]):
            dl.export(model, (x,), strict=True)
        assert world.state() == before
        return
    program = dl.export(model, (x,), strict=True)
    assert world.state() == before
    assert program.module()(x).tolist() == model(x).tolist()


def _checks() -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Checks against abstract classes whose hook counts, and what their caches hold."""
    asked: list[tuple[str, str]] = []

    class First(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other: type) -> Any:
            asked.append((cls.__name__, other.__name__))
            answer = {"T": True, "F": False}.get(other.__name__[0], NotImplemented)
            return answer if len(asked) % 5 else NotImplemented

    class Second(First):
        pass

    classes = [type(name, (), {}) for name in ("True1", "False1", "Neither", "Registered")]
    classes.append(type("Child", (First,), {}))
    Second.register(classes[3])

    def run() -> Any:
        found: list[Any] = []
        for turn in range(4):
            if turn == 3:
                Second.register(classes[2])
            found += [
                (issubclass(each, cls), isinstance(each(), cls))
                for cls in (First, Second)
                for each in classes
            ]
        return found, list(asked)

    def caches() -> Any:
        dumps = [_abc._get_dump(cls)[:3] for cls in (First, Second)]
        return (
            [sorted(each().__name__ for each in held) for dump in dumps for held in dump],
            list(vars(First)),
            list(vars(Second)),
        )

    return run, caches


def test_caches_of_abstract_classes_are_as_cpython_leaves_them() -> None:
    run, caches = _checks()
    expected = run()
    interpreted, caches_after = _checks()
    assert dl.interpret(interpreted)() == expected
    assert caches_after() == caches()


def test_caches_of_abstract_classes_are_left_by_an_export() -> None:
    run, _ = _checks()
    expected = run()
    run, caches = _checks()
    before = caches()
    model: Any = type("Model", (nn.Module,), {"forward": lambda self, x: (x, run())})()
    with pytest.raises(dl.UnsupportedError, match="registers a class"):
        dl.export(model, (torch.ones(2),), strict=True)
    assert caches() == before
    assert run() == expected
