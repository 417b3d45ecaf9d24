"""``nn.Module`` behaves as PyTorch's: registration, traversal, state, hooks, errors, text."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

from dynamo_lite.torchlite import nn as light_nn
from tests.dynamo_lite.torchlite.twin import Snippet, assert_same, fill, needs_torch

pytestmark = [pytest.mark.torch, needs_torch]


def _net(torch: Any) -> Any:
    nn = torch.nn

    class Net(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))])
            self.scale = nn.Parameter(torch.ones(1))
            self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)
            self.register_parameter("nothing", None)
            self.shared = self.first

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            for block in self.blocks:
                x = block(x)
            return x * self.scale

    return fill(torch, Net())


def assign(owner: Any, name: str, value: Any) -> Any:
    """``setattr`` as an expression."""
    setattr(owner, name, value)
    return owner


def drop(owner: Any, name: str) -> Any:
    """``delattr`` as an expression."""
    delattr(owner, name)
    return owner


def _with_net(body: Any) -> Snippet:
    return lambda torch: body(torch, _net(torch))


def _raises_in_init(torch: Any, assign: Any) -> Any:
    class Broken(torch.nn.Module):
        def __init__(self) -> None:
            assign(self)

    return Broken()


STRUCTURE: dict[str, Snippet] = {
    "forward": _with_net(lambda t, m: m(t.ones(2, 3))),
    "named_parameters": _with_net(lambda t, m: [(n, tuple(p.shape)) for n, p in m.named_parameters()]),
    "duplicates": _with_net(lambda t, m: [n for n, _ in m.named_parameters(remove_duplicate=False)]),
    "no recursion": _with_net(lambda t, m: [n for n, _ in m.named_parameters(recurse=False)]),
    "prefix": _with_net(lambda t, m: [n for n, _ in m.named_parameters(prefix="p")]),
    "named_buffers": _with_net(lambda t, m: [n for n, _ in m.named_buffers()]),
    "named_modules": _with_net(lambda t, m: [(n, type(c).__name__) for n, c in m.named_modules()]),
    "named_children": _with_net(lambda t, m: [n for n, _ in m.named_children()]),
    "modules": _with_net(lambda t, m: len(list(m.modules()))),
    "get_submodule": _with_net(lambda t, m: type(m.get_submodule("blocks.1.0")).__name__),
    "get_submodule missing": _with_net(lambda t, m: m.get_submodule("blocks.7")),
    "get_parameter": _with_net(lambda t, m: m.get_parameter("blocks.0.bias")),
    "get_buffer": _with_net(lambda t, m: m.get_buffer("steps")),
    "state_dict": _with_net(lambda t, m: m.state_dict()),
    "state_dict prefix": _with_net(lambda t, m: list(m.state_dict(prefix="a."))),
    "train and eval": _with_net(
        lambda t, m: (m.eval().training, [c.training for c in m.modules()], m.train().training)
    ),
    "train needs a bool": _with_net(lambda t, m: m.train(1)),
    "apply order": _with_net(lambda t, m: _seen(m)),
    "requires_grad_": _with_net(lambda t, m: [p.requires_grad for p in m.requires_grad_(False).parameters()]),
    "double": _with_net(lambda t, m: [str(p.dtype) for p in [*m.double().parameters(), *m.buffers()]]),
    "to keeps identity": _with_net(lambda t, m: (lambda p: m.to(t.float64).scale is p)(m.scale)),
    "to int": _with_net(lambda t, m: m.to(t.int32)),
    "missing attribute": _with_net(lambda t, m: m.nonsense),
    "repr": _with_net(lambda t, m: repr(m)),
    "dir": _with_net(lambda t, m: [n for n in ("first", "scale", "steps", "forward") if n in dir(m)]),
    "delete": _with_net(lambda t, m: (drop(m, "scale"), hasattr(m, "scale"))[1]),
    "replace by None": _with_net(lambda t, m: (assign(m, "scale", None), m.scale, list(m.state_dict()))[1:]),
    "tensor as parameter": _with_net(lambda t, m: assign(m, "scale", t.ones(1))),
    "int as module": _with_net(lambda t, m: assign(m, "first", 3)),
    "int as buffer": _with_net(lambda t, m: assign(m, "steps", 3)),
    "buffer assigned": _with_net(lambda t, m: (assign(m, "steps", t.ones(1)), m.state_dict()["steps"])[1]),
    "parameter over buffer": _with_net(
        lambda t, m: (assign(m, "steps", t.nn.Parameter(t.ones(1))), list(m._buffers))[1]
    ),
    "attribute becomes module": _with_net(
        lambda t, m: (assign(m, "x", 1), assign(m, "x", t.nn.ReLU()), "x" in m.__dict__)[2]
    ),
    "register twice": _with_net(lambda t, m: m.register_buffer("first", t.ones(1))),
    "register dotted": _with_net(lambda t, m: m.register_buffer("a.b", t.ones(1))),
    "register empty": _with_net(lambda t, m: m.register_parameter("", None)),
    "register number": _with_net(lambda t, m: m.register_buffer("n", 3)),
    "add_module": _with_net(lambda t, m: m.add_module("n", 3)),
    "before init: parameter": lambda t: _raises_in_init(
        t, lambda m: assign(m, "p", t.nn.Parameter(t.ones(1)))
    ),
    "before init: module": lambda t: _raises_in_init(t, lambda m: assign(m, "p", t.nn.ReLU())),
    "no forward": lambda t: t.nn.Module()(1),
    "arguments": lambda t: t.nn.Module(1),
    "zero_grad": _with_net(lambda t, m: (assign(m.scale, "grad", t.ones(1)), m.zero_grad(), m.scale.grad)[2]),
    "deepcopy": _with_net(
        lambda t, m: (lambda c: (c.first is c.shared, c.scale is m.scale, c(t.ones(1, 3))))(copy.deepcopy(m))
    ),
    "Buffer": lambda t: _buffers(t),
}


def _seen(module: Any) -> list[str]:
    names: list[str] = []
    module.apply(lambda child: names.append(type(child).__name__))
    return names


def _buffers(torch: Any) -> Any:
    module = torch.nn.Module()
    module.a = torch.nn.Buffer(torch.ones(1))
    module.b = torch.nn.Buffer(torch.ones(2), persistent=False)
    return list(module.state_dict()), [name for name, _ in module.named_buffers()]


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    assert_same(STRUCTURE[name])


def _loaded(torch: Any, change: Any, **options: Any) -> Any:
    source, target = _net(torch), _net(torch)
    state = source.state_dict()
    for value in state.values():
        value.add_(1)
    change(state)
    kept = target.scale
    result = target.load_state_dict(state, **options)
    return list(result.missing_keys), list(result.unexpected_keys), target.scale is kept, target.state_dict()


LOADING: dict[str, Snippet] = {
    "round trip": lambda t: _loaded(t, lambda s: None),
    "assign": lambda t: _loaded(t, lambda s: None, assign=True)[3],
    "missing": lambda t: _loaded(t, lambda s: s.pop("scale")),
    "unexpected": lambda t: _loaded(t, lambda s: s.update(other=t.ones(1))),
    "nested unexpected": lambda t: _loaded(
        t, lambda s: s.update({"first.other": t.ones(1), "blocks.9.x": t.ones(1)})
    ),
    "both": lambda t: _loaded(t, lambda s: (s.pop("scale"), s.update(other=t.ones(1)))),
    "not strict": lambda t: _loaded(t, lambda s: (s.pop("scale"), s.update(other=t.ones(1))), strict=False),
    "wrong shape": lambda t: _loaded(t, lambda s: s.update(scale=t.ones(2))),
    "no tensor": lambda t: _loaded(t, lambda s: s.update(scale=3)),
    "no mapping": lambda t: _net(t).load_state_dict([1]),
    "result text": lambda t: repr(_net(t).load_state_dict(_net(t).state_dict())),
}


@pytest.mark.parametrize("name", LOADING)
def test_loading(name: str) -> None:
    assert_same(LOADING[name])


def _hooked(torch: Any, register: Any) -> Any:
    module = fill(torch, torch.nn.Linear(2, 2))
    seen: list[Any] = []
    handles = register(module, seen)
    first = module(torch.ones(1, 2))
    for handle in handles if isinstance(handles, list) else [handles]:
        handle.remove()
    return first, module(torch.ones(1, 2)), seen


HOOKS: dict[str, Snippet] = {
    "pre observes": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_pre_hook(lambda mod, args: seen.append(len(args)))
    ),
    "pre replaces one": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_pre_hook(lambda mod, args: args[0] * 2)
    ),
    "pre replaces all": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_pre_hook(lambda mod, args: (args[0] * 3,))
    ),
    "pre with kwargs": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_pre_hook(lambda mod, a, k: ((a[0] + 1,), k), with_kwargs=True)
    ),
    "pre with kwargs, wrong": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True)
    ),
    "post replaces": lambda t: _hooked(
        t, lambda m, seen: m.register_forward_hook(lambda mod, args, out: out * 10)
    ),
    "post with kwargs": lambda t: _hooked(
        t,
        lambda m, seen: m.register_forward_hook(
            lambda mod, a, k, out: seen.append(dict(k)), with_kwargs=True
        ),
    ),
    "order": lambda t: _hooked(
        t,
        lambda m, seen: [
            m.register_forward_hook(lambda *_: seen.append("first")),
            m.register_forward_hook(lambda *_: seen.append("prepended"), prepend=True),
        ],
    ),
    "global": lambda t: _hooked(
        t,
        lambda m, seen: [
            t.nn.modules.module.register_module_forward_hook(
                lambda mod, a, out: seen.append(type(mod).__name__)
            ),
            t.nn.modules.module.register_module_forward_pre_hook(lambda mod, a: seen.append("pre")),
        ],
    ),
    "always": lambda t: _always(t),
}


def _always(torch: Any) -> Any:
    module = torch.nn.Linear(2, 2)
    seen: list[Any] = []
    module.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    try:
        module("no tensor")
    except TypeError as error:
        seen.append(type(error).__name__)
    return seen


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name: str) -> None:
    assert_same(HOOKS[name])


CONTAINERS: dict[str, Snippet] = {
    "sequential index": lambda t: repr(_sequence(t)[1]),
    "sequential slice": lambda t: repr(_sequence(t)[1:]),
    "sequential negative": lambda t: repr(_sequence(t)[-1]),
    "sequential out of range": lambda t: _sequence(t)[5],
    "sequential named": lambda t: list(
        t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh())).state_dict()
    ),
    "sequential set": lambda t: (lambda s: (s.__setitem__(0, t.nn.Tanh()), repr(s))[1])(_sequence(t)),
    "sequential delete": lambda t: (lambda s: (s.__delitem__(0), repr(s))[1])(_sequence(t)),
    "sequential append": lambda t: repr(_sequence(t).append(t.nn.Tanh())),
    "sequential length": lambda t: (len(_sequence(t)), [type(m).__name__ for m in _sequence(t)]),
    "list": lambda t: repr(t.nn.ModuleList([t.nn.ReLU()]).extend([t.nn.Tanh()]).append(t.nn.GELU())),
    "list slice": lambda t: len(t.nn.ModuleList([t.nn.ReLU(), t.nn.Tanh()])[1:]),
    "list insert": lambda t: (lambda m: (m.insert(0, t.nn.Tanh()), list(m._modules), type(m[0]).__name__))(
        t.nn.ModuleList([t.nn.ReLU()])
    )[1:],
    "list delete": lambda t: (lambda m: (m.__delitem__(0), list(m._modules)))(
        t.nn.ModuleList([t.nn.ReLU(), t.nn.Tanh()])
    )[1],
    "list add": lambda t: len(t.nn.ModuleList([t.nn.ReLU()]) + [t.nn.Tanh()]),  # noqa: RUF005
    "list call": lambda t: t.nn.ModuleList([t.nn.ReLU()])(t.ones(1)),
    "dict": lambda t: [list(d.keys()) for d in [t.nn.ModuleDict({"a": t.nn.ReLU(), "b": t.nn.Tanh()})]],
    "dict access": lambda t: (
        lambda d: ("a" in d, len(d), type(d["a"]).__name__, type(d.pop("a")).__name__, len(d))
    )(t.nn.ModuleDict([("a", t.nn.ReLU())])),
    "parameter list": lambda t: (lambda p: (len(p), [n for n, _ in p.named_parameters()], p[-1]))(
        t.nn.ParameterList([t.ones(1), t.nn.Parameter(t.zeros(2))])
    ),
    "parameter dict": lambda t: (lambda p: (list(p), [n for n, _ in p.named_parameters()], p["a"]))(
        t.nn.ParameterDict({"a": t.ones(1)})
    ),
}


def _sequence(torch: Any) -> Any:
    return torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(2, 3), torch.nn.Softmax(dim=-1))


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name: str) -> None:
    assert_same(CONTAINERS[name], message="call" not in name)


def test_a_module_is_pickled_with_its_tensors() -> None:
    import dynamo_lite.torchlite as torch

    module = light_nn.Sequential(light_nn.Linear(2, 2), light_nn.GELU())
    again = pickle.loads(pickle.dumps(module))
    x = torch.ones(1, 2)
    assert torch.equal(again(x), module(x)) and isinstance(again[0].weight, light_nn.Parameter)
    assert again[0].weight is not module[0].weight
