"""Code that a program was made from is replaced after the first call: a decorated call notices, or gives what eager gives."""

from __future__ import annotations

import abc
import builtins
import copy
import functools
import pickle
import types
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.strict.decode import layout
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.live_model import eager
from tests.exporting import arrays, numbers

SOURCE: Final = """
import abc, functools

class Meta(type):
    def scale(cls):
        return 2

class Shape(abc.ABC):
    pass

class Base:
    def inherited(self):
        return 2

class Config(Base, metaclass=Meta):
    kinds = {"a": 2}
    counter = 0
    def __init__(self):
        self.step = 2
    def method(self):
        return 2
    def default(self, by=2, *, more=2):
        return by * more
    @classmethod
    def of_class(cls):
        return 2
    @staticmethod
    def static():
        return 2
    @property
    def prop(self):
        return 2
    @functools.cached_property
    def cached(self):
        return 2
    def __len__(self):
        return 2
    class Inner:
        value = 2
        def method(self):
            return 2

class Other(Config):
    def method(self):
        return 3

class Answering:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda: 2

class Callback:
    def __call__(self):
        return 2

class OtherCallback:
    def __call__(self):
        return 3

def function(by=2, *, more=2):
    return by * more

def mutable(by=[2]):
    return len(by) + by[0]

def of_object(config=Config()):
    return config.step

def wrapped(function):
    count = 2
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * count
    def set_count(value):
        nonlocal count
        count = value
    wrapper.set_count = set_count
    return wrapper

class Wrapped:
    @wrapped
    def method(self):
        return 2

@functools.singledispatch
def dispatched(value):
    return 2

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.answering = Answering()
        self.call = Callback()
        self.partial = functools.partial(function, 2, more=2)
        self.wrapped = Wrapped()
        self.lin = nn.Linear(3, 3)
        self.key = Config()
        self.table = {self.key: 2}

    def helper(self):
        return 2

    def forward(self, x):
        return x * BODY
"""


def build(body: str, strict: bool = True) -> tuple[Any, types.SimpleNamespace]:
    """A decorated module whose forward multiplies by ``body``, and all the names of its source, made for it alone."""
    names: dict[str, Any] = {"nn": nn, "torch": torch, "__name__": "program_under_test"}
    exec(compile(SOURCE.replace("BODY", body), "program_under_test.py", "exec"), names)
    model = dl.exported(strict=strict)(names["Net"])()
    names["globals"] = names
    return model, types.SimpleNamespace(**names)


def other_code(by: int = 2, *, more: int = 2) -> int:
    return by + more + 1


def of_method(self: Any) -> int:
    return 3


class Three:
    def __get__(self, obj: Any, owner: Any) -> Any:
        return lambda: 3


def clear(namespace: dict[str, Any]) -> None:
    namespace.clear()
    namespace["step"] = 5


Change = Callable[[Any, Any], Any]
CHANGES: Final[dict[str, tuple[str, Change]]] = {
    "method on the instance": ("self.config.method()", lambda m, n: setattr(m.config, "method", lambda: 3)),
    "method of the class": ("self.config.method()", lambda m, n: setattr(n.Config, "method", of_method)),
    "method of a base": ("self.config.inherited()", lambda m, n: setattr(n.Base, "inherited", of_method)),
    "method added below": ("self.config.inherited()", lambda m, n: setattr(n.Config, "inherited", of_method)),
    "descriptor over a method": ("self.config.method()", lambda m, n: setattr(n.Config, "method", Three())),
    "property": ("self.config.prop", lambda m, n: setattr(n.Config, "prop", property(of_method))),
    "property over a plain attribute": (
        "self.config.step", lambda m, n: setattr(n.Config, "step", property(of_method))
    ),
    "cached property filled": (
        "self.config.cached", lambda m, n: m.config.__dict__.__setitem__("cached", 3)
    ),
    "function of a cached property": (
        "self.config.cached", lambda m, n: setattr(n.Config.__dict__["cached"], "func", of_method)
    ),
    "class method": ("self.config.of_class()", lambda m, n: setattr(n.Config, "of_class", classmethod(of_method))),
    "class method by class": ("Config.of_class()", lambda m, n: setattr(n.Config, "of_class", classmethod(of_method))),
    "static method": ("self.config.static()", lambda m, n: setattr(n.Config, "static", staticmethod(lambda: 3))),
    "method of the metaclass": ("Config.scale()", lambda m, n: setattr(n.Meta, "scale", of_method)),
    "metaclass": ("Config.scale()", lambda m, n: setattr(
        n.Config, "__class__", type("Meta2", (n.Meta,), {"scale": of_method})
    )),
    "special method": ("len(self.config)", lambda m, n: setattr(n.Config, "__len__", of_method)),
    "special method added": (
        "(2 if self.config else 3)", lambda m, n: setattr(n.Config, "__bool__", lambda self: False)
    ),
    "special method of a key": (
        "self.table[self.key]", lambda m, n: setattr(n.Config, "__hash__", lambda self: 0)
    ),
    "equality added": (
        "(2 if self.config == self.key else 3)", lambda m, n: setattr(n.Config, "__eq__", lambda a, b: True)
    ),
    "getattr added": (
        "getattr(self.config, 'extra', 2)", lambda m, n: setattr(n.Config, "__getattr__", lambda self, name: 3)
    ),
    "getattribute added": (
        "self.config.step",
        lambda m, n: setattr(n.Config, "__getattribute__", lambda self, name: object.__getattribute__(self, name) + 1),
    ),
    "attribute after getattr": (
        "self.answering.extra()", lambda m, n: setattr(m.answering, "extra", lambda: 3)
    ),
    "class of an object": ("self.config.method()", lambda m, n: setattr(m.config, "__class__", n.Other)),
    "another object": ("self.call()", lambda m, n: setattr(m, "call", n.OtherCallback())),
    "namespace of an object": (
        "self.config.step", lambda m, n: setattr(m.config, "__dict__", {"step": 5})
    ),
    "bases": ("self.config.inherited()", lambda m, n: setattr(
        n.Config, "__bases__", (type("Base2", (), {"inherited": of_method}),)
    )),
    "inner class": ("self.config.Inner().method()", lambda m, n: setattr(n.Config.Inner, "method", of_method)),
    "inner class replaced": ("self.config.Inner.value", lambda m, n: setattr(
        n.Config, "Inner", type("Inner", (), {"value": 3})
    )),
    "code of a function": ("function()", lambda m, n: setattr(n.function, "__code__", other_code.__code__)),
    "code of a method": ("self.config.method()", lambda m, n: setattr(n.Config.method, "__code__", of_method.__code__)),
    "code of a helper": ("self.helper()", lambda m, n: setattr(n.Net.helper, "__code__", of_method.__code__)),
    "code of a property": (
        "self.config.prop", lambda m, n: setattr(n.Config.prop.fget, "__code__", of_method.__code__)
    ),
    "defaults of a function": ("function()", lambda m, n: setattr(n.function, "__defaults__", (3,))),
    "defaults of a method": ("self.config.default()", lambda m, n: setattr(n.Config.default, "__defaults__", (3,))),
    "equal defaults of another type": (
        "(1 if type(function(more=1)) is int else 2)", lambda m, n: setattr(n.function, "__defaults__", (2.0,))
    ),
    "keyword defaults": ("function()", lambda m, n: setattr(n.function, "__kwdefaults__", {"more": 3})),
    "a keyword default": ("function()", lambda m, n: n.function.__kwdefaults__.update(more=3)),
    "a keyword default of a method": (
        "self.config.default()", lambda m, n: n.Config.default.__kwdefaults__.update(more=3)
    ),
    "mutable default": ("mutable()", lambda m, n: n.mutable.__defaults__[0].append(1)),
    "item of a mutable default": ("mutable()", lambda m, n: n.mutable.__defaults__[0].__setitem__(0, 3)),
    "object for a default": ("of_object()", lambda m, n: setattr(n.of_object.__defaults__[0], "step", 3)),
    "function": ("function()", lambda m, n: n.globals.__setitem__("function", other_code)),
    "closure of a decorated method": ("self.wrapped.method()", lambda m, n: n.Wrapped.method.set_count(3)),
    "wrapped function": (
        "self.wrapped.method()", lambda m, n: setattr(n.Wrapped.method.__wrapped__, "__code__", of_method.__code__)
    ),
    "dispatch": ("dispatched(1)", lambda m, n: n.dispatched.register(int, of_method)),
    "state of a partial": (
        "self.partial()", lambda m, n: m.partial.__setstate__((n.function, (3,), {"more": 3}, {}))
    ),
    "function of a partial": (
        "self.partial()", lambda m, n: m.partial.__setstate__((other_code, (2,), {"more": 2}, {}))
    ),
    "keyword of a partial": ("self.partial()", lambda m, n: m.partial.keywords.update(more=3)),
    "registration": ("(3 if isinstance(self.config, Shape) else 2)", lambda m, n: n.Shape.register(n.Config)),
    "registration of a builtin class": (
        "(3 if issubclass(list, Shape) else 2)", lambda m, n: n.Shape.register(list)
    ),
    "registration of a tensor's class": (
        "(3 if isinstance(x, Shape) else 2)", lambda m, n: n.Shape.register(torch.Tensor)
    ),
    "global that hides a builtin": ("len([1, 2])", lambda m, n: n.globals.__setitem__("len", lambda value: 3)),
    "method of a library's module": (
        "self.lin(x)", lambda m, n: setattr(m.lin, "forward", lambda value: value * 3)
    ),
    "method through the namespace": (
        "self.helper()", lambda m, n: m.__dict__.__setitem__("helper", lambda: 3)
    ),
}  # fmt: skip


def run(target: Callable[..., Any], *args: Any) -> Any:
    try:
        return arrays([target(*args)])
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", CHANGES)
def test_changed_code_is_a_miss(name: str) -> None:
    """What eager would now do otherwise is not done as before."""
    body, change = CHANGES[name]
    model, names = build(body)
    x = numbers(4, 3)
    before = run(model, x)
    twin, _ = build(body)
    twin.load_state_dict(model.state_dict())
    assert before == run(eager, twin, x)
    assert run(model, x) == before
    change(model, names)
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert caught.value.id == "live-state-changed"
    assert run(eager, model, x) != before


SEEN_BY_NAME: Final = (
    "code of a function", "defaults of a function", "keyword defaults", "a keyword default", "function", "code of a helper",
    "global that hides a builtin", "method through the namespace", "method of a library's module", "method of the class",
    "property", "class of an object", "bases",
)  # fmt: skip


@pytest.mark.parametrize("name", SEEN_BY_NAME)
def test_changed_code_is_a_miss_of_nonstrict_mode(name: str) -> None:
    """Without seeing reads: classes of modules and of objects that they hold, and what the user's functions name."""
    body, change = CHANGES[name]
    model, names = build(body, strict=False)
    x = numbers(4, 3)
    before = run(model, x)
    for _ in range(2):
        quiet(model, names)
        assert run(model, x) == before
    change(model, names)
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert caught.value.id == "live-state-changed"
    assert run(eager, model, x) != before


@pytest.mark.parametrize("name", CHANGES)
def test_changed_code_is_captured_anew(name: str) -> None:
    """With ``"reexport"`` the changed code gives another program."""
    body, change = CHANGES[name]
    model, names = build(body)
    type(model).forward = dl.exported(strict=True, on_mismatch="reexport")(type(model).forward.function)
    x = numbers(4, 3)
    model(x)
    change(model, names)
    expected = run(eager, model, x)
    if expected is not KeyError:
        assert run(model, x) == expected
        assert run(model, x) == expected
        assert len(model.forward.exported_programs(model)) == 2


def test_patched_builtin_is_a_miss() -> None:
    """A builtin function is replaced, and put back."""
    model, _ = build("len([1, 2])")
    x = numbers(4, 3)
    before = run(model, x)
    with unittest.mock.patch.object(builtins, "len", lambda value: 3), pytest.raises(dl.GuardError):
        model(x)
    assert run(model, x) == before


def test_changed_library_code_is_a_miss() -> None:
    """Methods of the library's own modules, by class and by code."""
    model, _ = build("self.lin(x)")
    x = numbers(4, 3)
    before = run(model, x)
    with (
        unittest.mock.patch.object(nn.Linear, "forward", lambda self, value: value),
        pytest.raises(dl.GuardError),
    ):
        model(x)
    assert run(model, x) == before
    function: Any = nn.Linear.forward
    code = function.__code__
    function.__code__ = (lambda self, input: input).__code__
    try:
        with pytest.raises(dl.GuardError) as caught:
            model(x)
    finally:
        function.__code__ = code
    assert "Linear.forward" in str(caught.value)
    assert run(model, x) == before


class Counting(type):
    made = 0

    def __call__(cls, *args: Any) -> Any:
        Counting.made += 1
        return super().__call__(*args)


def quiet(m: Any, n: Any) -> None:
    """What leaves all code as it is."""
    n.Config.counter += 1
    n.Config.table = {"new": []}
    n.Config.__doc__ = "another text"
    type("Later", (n.Config, n.Base), {"method": of_method})()
    type("LaterNet", (type(m),), {"helper": of_method})()
    with (
        unittest.mock.patch.object(n.Config, "method", of_method),
        unittest.mock.patch.object(n.Other, "inherited", 1),
    ):
        pass
    with unittest.mock.patch.dict(n.globals, {"len": of_method}):
        pass

    class Unrelated(abc.ABC):  # noqa: B024
        pass

    Unrelated.register(n.Config)
    Sequence.register(type("Row", (), {}))
    isinstance(m.config, n.Shape)
    copy.deepcopy(m)
    copy.copy(m.config)
    m.config.method(), m.helper(), m.config.cached, m.config.prop, n.dispatched(1.5)
    m.config.unread = 3
    m.unread = 3
    m.lin.weight.requires_grad_(False)
    repr(m), dir(m), vars(m.config)
    m.config.method.__func__.attribute = 1


FILLS_A_CACHE: Final = {
    "self.config.cached",
    "dispatched(1)",
}  # eager does, where a program that reads it cannot
BODIES: Final = sorted({body for body, _ in CHANGES.values()} - FILLS_A_CACHE)


@pytest.mark.parametrize("body", BODIES)
def test_ordinary_use_is_no_miss(body: str) -> None:
    """Counters of classes, new subclasses, registrations elsewhere, patches that are undone: the program goes on."""
    model, names = build(body)
    x = numbers(4, 3)
    before = run(model, x)
    for _ in range(3):
        quiet(model, names)
        assert run(model, x) == before
    assert len(model.forward.exported_programs(model)) == 1


def test_bumped_class_attribute_that_was_read_is_a_miss() -> None:
    """A plain attribute of a class is a read like any other."""
    model, names = build("self.config.counter")
    x = numbers(4, 3)
    model(x)
    names.Config.counter = 1
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert "self.config.counter" in str(caught.value)


def test_miss_names_what_changed() -> None:
    """The error says which member of which class, and which function."""
    for name, said in (
        ("method of a base", "program_under_test.Base.inherited"),
        ("bases", "the bases of program_under_test.Config"),
        ("code of a function", "program_under_test.function"),
        ("registration", "whether program_under_test.Config is a subclass of program_under_test.Shape"),
        ("global that hides a builtin", "the global len"),
        ("class of an object", "self.config"),
        ("method on the instance", "self.config.method"),
    ):
        body, change = CHANGES[name]
        model, names = build(body)
        x = numbers(4, 3)
        model(x)
        change(model, names)
        with pytest.raises(dl.GuardError) as caught:
            model(x)
        assert said in str(caught.value)


@pytest.mark.parametrize(
    "name", ["method of the class", "code of a function", "special method added", "bases"]
)
def test_marks_of_cpython_are_not_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CPython's marks are not found, members are compared at each call."""
    for mark in ("_TAG", "_CODE", "_CLASS"):
        monkeypatch.setattr(layout, mark, None)
    test_ordinary_use_is_no_miss(CHANGES[name][0])
    test_changed_code_is_a_miss(name)


def test_marks_of_cpython_move() -> None:
    """A type's mark moves with every change of it or of a base, a function's with its code and defaults; nothing else moves them."""

    class A:
        pass

    class B(A):
        pass

    tag = layout.type_mark(B)
    assert tag is not None
    seen = set()
    changes: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: setattr(A, "x", 1),
        lambda: setattr(B, "y", 1),
        lambda: delattr(A, "x"),
        lambda: setattr(B, "__bases__", (type("C", (A,), {}),)),
    )
    for change in changes:
        change()
        layout.settle(B)
        seen.add(bytes(tag))
        B().z = 1  # type: ignore[attr-defined]
        type("D", (B,), {})
        layout.settle(B)
        assert bytes(tag) in seen
    assert len(seen) == 5 and bytes(4) not in seen

    def function(a: int = 1) -> None: ...

    mark = layout.function_mark(function)
    assert mark is not None
    first = bytes(mark)
    function(2)
    function.attribute = 1  # type: ignore[attr-defined]
    assert bytes(mark) == first
    function.__defaults__ = (3,)
    assert bytes(mark) != first


def test_programs_do_not_carry_code() -> None:
    """What is checked of code is the live decorator's business: the program and its file list none of it."""
    model, _ = build("self.config.method()")
    model(numbers(4, 3))
    program = model.forward.exported_program(model)
    assert not any("method" in assumption.path for assumption in program.assumptions)
    assert pickle.dumps(len(program.assumptions))
    assert functools.reduce(lambda total, each: total + len(str(each)), program.assumptions, 0) < 2000
