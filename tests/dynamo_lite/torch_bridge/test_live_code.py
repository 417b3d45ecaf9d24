"""A decorated PyTorch module whose code, or the code of what it uses, is replaced: right or refused; and what is no change."""

from __future__ import annotations

import builtins
import copy
import io
import pickle
import types
import unittest.mock
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import torch
import torch.nn.functional
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same

PROGRAM: Final = compile(Path(__file__).with_name("live_program.py").read_text(), "live_program.py", "exec")
SETUP: Final = """
self.lin = nn.Linear(4, 4)
self.register_buffer("buf", torch.full((4,), 2.0))
self.derived, self.obj, self.objects = Derived(), Object(), [Object(2), Object(3)]
self.nested = [(Object(2),), (Object(3),)]
self.slots, self.missing, self.listed, self.integer = Slots(), Missing(), Listed([1, 2]), Integer(2)
self.described, self.row, self.point = Described(), Row(), Point()
"""

# By what forward multiplies, and what is changed then.
CHANGES: Final[tuple[tuple[str, str], ...]] = (
    ("self.derived.method()", "Base.method = lambda self: 3"),
    ("self.derived.of_class()", "Base.val = 3"),
    ("self.derived.of_class()", "Derived.val = 3"),
    ("self.derived.by_attribute()", "Derived.by_attribute.times = 3"),
    ("self.derived.method()", "m.derived.__class__ = type('D', (Base,), {'method': lambda self: 3})"),
    ("(3 if isinstance(1, Made) else 2)", "Meta.__instancecheck__ = lambda cls, other: True"),
    ("Made().value", "Meta.__call__ = lambda cls: types.SimpleNamespace(value=3)"),
    ("Made().value", "Made.__init__ = lambda self: setattr(self, 'value', 3)"),
    ("Made().value", "Made.__new__ = lambda cls: types.SimpleNamespace(value=3)"),
    ("len(Made)", "Meta.__len__ = lambda cls: 3"),
    ("next(iter(Made))", "Meta.__iter__ = lambda cls: iter([3])"),
    ("Made.prop", "Meta.prop = property(lambda cls: 3)"),
    ("Made.answered", "Meta.__getattr__ = lambda cls, name: 3"),
    ("Made.answered", "Made.answered = 3"),
    ("(2 if Made else 3)", "Meta.__bool__ = lambda cls: False"),
    ("subclass()", "Made.__init_subclass__ = classmethod(lambda cls: setattr(cls, 'sub', 3))"),
    ("self.obj[0]", "Object.__getitem__ = lambda self, index: 3"),
    ("sum(self.obj)", "Object.__iter__ = lambda self: iter([3])"),
    ("(2 if 1 in self.obj else 3)", "Object.__contains__ = lambda self, value: False"),
    ("self.obj()", "Object.__call__ = lambda self: 3"),
    ("float(self.obj)", "Object.__float__ = lambda self: 3.0"),
    ("operator.index(self.obj)", "Object.__index__ = lambda self: 3"),
    ("[1, 2, 3, 4][self.obj]", "Object.__index__ = lambda self: 3"),
    ("len(range(self.obj))", "Object.__index__ = lambda self: 3"),
    ("int(f'{self.obj}')", "Object.__format__ = lambda self, text: '3'"),
    ("int(str(self.obj))", "Object.__repr__ = lambda self: '3'"),
    ("int(str(self.obj))", "Object.__str__ = lambda self: '3'"),
    ("(2 if self.obj == 1 else 3)", "Object.__eq__ = lambda self, other: False"),
    ("len({self.obj, Object()}) + 1", "Object.__eq__ = lambda self, other: self is other"),
    ("TABLE.get(Object(), 3)", "Object.__eq__ = lambda self, other: self is other"),
    ("TABLE.get(Object(), 3)", "Object.__hash__ = object.__hash__"),
    ("(2 if 5 in self.objects else 3)", "Object.__eq__ = lambda self, other: self is other"),
    ("sorted(self.objects)[0].key", "Object.__lt__ = lambda self, other: self.key > other.key"),
    ("min(self.nested)[0].key",
     "Object.__eq__ = lambda self, other: self is other; Object.__lt__ = lambda self, other: self.key > other.key"),
    ("(self.obj + 1)", "Object.__add__ = lambda self, other: 3"),
    ("self.obj.answered", "Object.__getattr__ = lambda self, name: 3"),
    ("self.obj.answered", "m.obj.answered = 3"),
    ("self.obj.answered", "Object.answered = 3"),
    ("(3 if hasattr(self.obj, 'extra') else 2)", "Object.extra = 1"),
    ("(3 if hasattr(Object, 'extra') else 2)", "Object.extra = 1"),
    ("getattr(Object, 'extra', 2)", "Object.extra = 3"),
    ("(3 if 'extra' in dir(Object) else 2)", "Object.extra = 1"),
    ("(3 if 'extra' in dir(self.obj) else 2)", "Object.extra = 1"),
    ("(3 if 'extra' in vars(Object) else 2)", "Object.extra = 1"),
    ("(3 if getattr(self.derived.method, 'flag', None) else 2)", "Derived.method.flag = 1"),
    ("Number.TWO.twice()", "Number.twice = lambda self: 3"),
    ("Number.TWO.value", "Number.TWO._value_ = 3"),
    ("Data().a", "Data.__init__ = lambda self: setattr(self, 'a', 3)"),
    ("Data().a", "Data.__init__.__defaults__ = (3, *Data.__init__.__defaults__[1:])"),
    ("(2 if Data() == Data() else 3)", "Data.__eq__ = lambda self, other: False"),
    ("len(dataclasses.fields(Data))", "del Data.__dataclass_fields__['b']"),
    ("Pair().a", "Pair.a = property(lambda self: 3)"),
    ("Pair().a", "Pair.__new__.__defaults__ = (3, 2)"),
    ("in_block()", "managed.__wrapped__.__code__ = other.__code__"),
    ("next(generated())", "generated.__code__ = other.__code__"),
    ("sorted([2, 3], key=key)[0]", "key.__code__ = (lambda value: value).__code__"),
    ("next(map(key, [2]))", "key.__code__ = (lambda value: value).__code__"),
    ("self.slots.method()", "Slots.method = lambda self: 3"),
    ("self.slots.method()", "m.slots.value = 3"),
    ("self.missing['q']", "Missing.__missing__ = lambda self, key: 3"),
    ("self.missing['q']", "Missing.__getitem__ = lambda self, key: 3"),
    ("len(self.listed)", "Listed.__len__ = lambda self: 3"),
    ("sum(value for value in self.listed)", "Listed.__iter__ = lambda self: iter([9])"),
    ("float(self.integer + 0)", "Integer.__add__ = lambda self, other: 3"),
    ("self.described.attribute", "Described.__dict__['attribute'].value = 3"),
    ("Described.attribute", "Described.__dict__['attribute'].value = 3"),
    ("self.described.attribute", "Descriptor.__get__ = lambda self, obj, owner: 3"),
    ("self.described.held()", "Described.held.key = 3"),
    ("self.described.held()", "Described.held = lambda self: 3"),
    ("self.described.static()", "Described.static.key = 3"),
    ("self.described.part()", "Described.__dict__['part'].args = (3,)"),
    ("marked()", "marked.value = 3"),
    ("cached(2)", "cached.__wrapped__.__code__ = (lambda value: 3).__code__; cached.cache_clear()"),
    ("(3 if isinstance(self.row, Hooked) else 2)", "Hooked.__subclasshook__ = classmethod(lambda cls, other: True); Other.register(int)"),
    ("(3 if isinstance(self.row, Quacking) else 2)", "Row.quack = lambda self: 1"),
    ("matched(self.row)", "collections.abc.Sequence.register(Row)"),
    ("first_of(self.point)", "Point.__match_args__ = ('b', 'a')"),
    ("maybe()", "names['nowhere'] = 3"),
    ("(len([1, 2]) if maybe() else 3)", "names['len'] = lambda value: 3"),
    ("self.lin(x)", "m.lin.forward = lambda value: value * 3"),
    ("self.lin(x)", "m.lin.__class__ = type('L', (nn.Linear,), {'forward': lambda self, value: value * 3})"),
    ("self.lin(x)", "m.lin.__dict__['weight'] = torch.zeros(4, 4)"),
    ("self.lin(x)", "m.__dict__['lin'] = lambda value: value * 3"),
    ("self.lin(x)", "m.lin.__dict__['_parameters'] = {'weight': torch.zeros(4, 4), 'bias': None}"),
    ("self.lin(x)", "m.__dict__['_modules'] = {'lin': nn.Identity()}"),
    ("self.lin(x)", "type(m).lin = property(lambda self: lambda value: value * 3)"),
    ("self.buf", "type(m).buf = 3.0"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def make(body: str) -> tuple[Any, Callable[..., Any], dict[str, Any]]:
    """A decorated module whose forward multiplies by ``body``, that forward, and the names it sees."""
    names: dict[str, Any] = {
        "__name__": __name__, "nn": nn, "torch": torch, "types": types,
    }  # fmt: skip
    exec(PROGRAM, names)
    exec(f"def forward(self, x): return x * {body}", names)

    def init(self: Any) -> None:
        nn.Module.__init__(self)
        exec(SETUP, names, {"self": self})

    forward = names["forward"]
    kind = type("Live", (nn.Module,), {"__init__": init, "forward": dl.exported(strict=True)(forward)})
    return kind(), forward, names


X: Final = torch.arange(8.0).reshape(2, 4)


@pytest.mark.parametrize(("body", "change"), CHANGES)
def test_changed_code_is_a_miss(body: str, change: str) -> None:
    """What eager does otherwise now is refused, and the error does not come without the change."""
    torch.manual_seed(0)
    model, forward, names = make(body)
    before = model(X)
    assert_same(before, model(X))
    exec(change, names, {"m": model, "names": names})
    with pytest.raises(dl.GuardError, match="live-state-changed"):
        model(X)
    try:
        now = forward(model, X)
    except (AttributeError, TypeError, KeyError):
        return
    assert not torch.equal(now, before)


@pytest.mark.parametrize(
    ("body", "owner", "name", "value"),
    [
        ("torch.relu(x)", torch, "relu", lambda value: value * 3),
        ("self.lin(x)", torch.nn.functional, "linear", lambda x, weight, bias: x),
        ("self.lin(x)", nn.Linear, "forward", lambda self, x: x),
        ("self.lin(x)", nn.Linear, "__call__", lambda self, x: x),
        ("self.lin(x)", nn.Linear, "weight", property(lambda self: torch.zeros(4, 4))),
        ("self.lin(x)", nn.Module, "__getattr__", lambda self, name: lambda x: x),
        ("x.relu()", torch.Tensor, "relu", lambda self: self * 3),
        ("(x + 1)", torch.Tensor, "__add__", lambda self, other: self),
        ("(3 if hasattr(x, 'extra') else 2)", torch.Tensor, "extra", 1),
        ("len([1, 2])", builtins, "len", lambda value: 3),
        ("maybe()", builtins, "nowhere", 3),
    ],
)
def test_patched_library_is_a_miss(body: str, owner: Any, name: str, value: Any) -> None:
    """Code of PyTorch's or of Python's is replaced; once it is put back the program goes on."""
    model, forward, _ = make(body)
    before = model(X)
    with unittest.mock.patch.object(owner, name, value, create=True):
        assert not torch.equal(forward(model, X), before)
        with pytest.raises(dl.GuardError, match="live-state-changed"):
            model(X)
    assert_same(before, model(X))
    assert len(model.forward.exported_programs(model)) == 1


def ordinary(model: Any, cls: type) -> None:
    """What happens around a model between two calls, without changing what it does."""
    type("Later", (cls,), {"extra": lambda self: 1})
    type("LaterLinear", (nn.Linear,), {"forward": lambda self, value: value})
    with (
        unittest.mock.patch.object(nn.Linear, "forward", None),
        unittest.mock.patch.object(cls, "forward", None),
    ):
        pass
    nn.Linear.counter = getattr(nn.Linear, "counter", 0) + 1
    nn.Module.note = {"held": []}
    del nn.Linear.counter, nn.Module.note
    copy.deepcopy(model).eval().train()
    pickle.loads(pickle.dumps(nn.Linear(2, 2)))
    torch.save(model.state_dict(), io.BytesIO())
    handle = model.register_forward_hook(lambda *given: None)
    handle.remove()
    model.train(), model.eval()
    model.requires_grad_(False), model.requires_grad_(True)
    torch.set_default_dtype(torch.float64), torch.set_default_dtype(torch.float32)
    torch.compile(nn.Linear(2, 2), backend="eager")
    isinstance(model, (dict, nn.Sequential)), issubclass(cls, nn.Module)
    repr(model), list(model.named_parameters()), dir(model)


LISTS: Final = {"cached(2)", "maybe()"} | {body for body, _ in CHANGES if "'extra' in" in body}
"""What fills a cache that eager fills as well, and what lists all names of a class."""


@pytest.mark.parametrize("body", sorted({body for body, _ in CHANGES} - LISTS))
def test_ordinary_use_is_no_miss(body: str) -> None:
    """Subclasses, patches undone, counters of classes, copies, pickles, modes and hooks: the program goes on."""
    model, forward, names = make(body)
    model.eval()
    before = model(X)
    for _ in range(2):
        ordinary(model, type(model))
        forward(model, X)
        names["Object"].counter = names["Base"].note = [1]
        assert_same(before, model(X))
    assert len(model.forward.exported_programs(model)) == 1


MODELS: Final = ("bert", "t5", "swin", "llama", "nn.lstm", "nn.mha", "resnet")


@pytest.mark.parametrize("name", MODELS)
def test_ordinary_use_of_real_models_is_no_miss(name: str) -> None:
    """Models of transformers and of PyTorch: eager calls, training steps, ordinary use between decorated calls; and a change."""
    pytest.importorskip("transformers")
    from tests.zoo import models as zoo

    torch.manual_seed(0)
    model, args, kwargs, _ = zoo.REG[name]()
    model.eval()
    cls: Any = type(model)
    live = type(
        cls.__name__, (cls,), {"forward": dl.exported(strict=True)(cls.forward), "__module__": cls.__module__}
    )
    model.__class__ = live

    def call(target: Callable[..., Any]) -> Any:
        with torch.no_grad():
            return target(*copy.deepcopy(args), **copy.deepcopy(kwargs))

    eager = cls.forward.__get__(model)
    assert_same(call(eager), call(model))
    for _ in range(3):
        ordinary(model, live)
        loss = sum(parameter.sum() for parameter in model.parameters())
        loss.backward()
        torch.optim.SGD(model.parameters(), lr=1e-3).step()
        model.zero_grad()
        assert_same(call(eager), call(model))
    assert len(model.forward.exported_programs(model)) == 1
    inner = next(
        each for each in model.modules() if each is not model and type(each).forward is not nn.Module.forward
    )
    patched = unittest.mock.patch.object(type(inner), "forward", lambda self, *args, **kwargs: args[0])
    with patched, pytest.raises(dl.GuardError, match="live-state-changed"):
        call(model)
    assert_same(call(eager), call(model))
