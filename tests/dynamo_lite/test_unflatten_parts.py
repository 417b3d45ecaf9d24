"""The modules inside an unflattened program: replaced, hooked, called alone, and what they return."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from tests.exporting import arrays, both_modes, numbers


class Parts(nn.Module):
    """Tied weights, a module that does nothing in this mode, one that a branch calls, one that returns its argument."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.inner = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.idle = nn.Identity()

    def forward(self, x: Any) -> Any:
        y = self.b(self.a(self.idle(x)))
        return dl.cond(y.sum() > 0, lambda y: self.inner(y), lambda y: y * 1, (y,))


@both_modes
def test_replaced_modules(strict: bool) -> None:
    """M34: the others keep their state, and a replacement that nothing would call is refused."""
    model, x = Parts(), numbers(2, 4)
    program = dl.export(model, (x,), strict=strict)
    for name in ("a", "b"):
        back, eager = dl.unflatten(program), copy.deepcopy(model)
        new = nn.Linear(4, 4)
        setattr(back, name, new)
        setattr(eager, name, new)
        assert arrays(back(x)) == arrays(eager(x))
    for name in ("idle", "inner"):
        back = dl.unflatten(program)
        setattr(back, name, nn.ReLU())
        with pytest.raises(dl.UnsupportedError, match=f"{name} was replaced"):
            back(x)


@both_modes
def test_hooks_that_nothing_would_see(strict: bool) -> None:
    """M34: a hook may change a result that the graph takes from the module, and no other."""

    class Same(nn.Module):
        def forward(self, x: Any, n: int) -> Any:
            return x, x * n, n

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = Same()

        def forward(self, x: Any) -> Any:
            same, more, n = self.m(x, 3)
            return same + more * n

    model, x = Holder(), numbers(2, 4)
    program = dl.export(model, (x,), strict=strict, preserve_module_call_signature=("m",))
    back = dl.unflatten(program)
    hook = back.m.register_forward_hook(lambda module, args, result: (result[0], result[1] * 2, result[2]))
    model.m.register_forward_hook(lambda module, args, result: (result[0], result[1] * 2, result[2]))
    assert arrays(back(x)) == arrays(model(x))
    hook.remove()
    for changed in (lambda r: (r[0] * 2, r[1], r[2]), lambda r: (r[0], r[1], 4), lambda r: r[1]):
        back = dl.unflatten(program)
        back.m.register_forward_hook(lambda module, args, result, changed=changed: changed(result))
        with pytest.raises(dl.UnsupportedError, match="from the module m"):
            back(x)


@both_modes
def test_mode_is_burned_in(strict: bool) -> None:
    """M34: only the mode that the program was exported in can be set."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), numbers(2, 4)
    back = dl.unflatten(dl.export(model.eval(), (x,), strict=strict)).eval()
    assert arrays(back(x)) == arrays(model(x)) and not back.get_submodule("1").training
    with pytest.raises(dl.UnsupportedError, match="burned in"):
        back.train()
    back = dl.unflatten(dl.export(model.train(), (x,), strict=strict)).train()
    with pytest.raises(dl.UnsupportedError, match="burned in"):
        back.eval()


@both_modes
def test_parts_hold_what_was_burned_in(strict: bool) -> None:
    """M34: a part that is called alone with another constant, another size or two objects for one is refused."""

    class Pair(nn.Module):
        def forward(self, a: Any, b: Any, k: int) -> Any:
            return torch.maximum(a, b) * k * a.shape[0]

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = Pair()

        def forward(self, x: Any) -> Any:
            return self.m(x, x, 2)

    x = numbers(2, 4)
    back = dl.unflatten(dl.export(Holder(), (x,), strict=strict, preserve_module_call_signature=("m",)))
    assert arrays(back.m(x, x, 2)) == arrays(Pair()(x, x, 2))
    y = numbers(3, 4)
    for args in ((x, x + 1, 2), (x, x, 3), (x, x, 2.0), (y, y, 2), (x.double(), x.double(), 2)):
        with pytest.raises(dl.InputError, match="m takes"):
            back.m(*args)


@both_modes
def test_loops_lie_in_their_module(strict: bool) -> None:
    """M17, M34: control flow after other operators of the same call."""

    class Loops(nn.Module):
        def forward(self, x: Any) -> Any:
            y = dl.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x * 2,))
            return dl.scan(lambda c, r: (c + r, c * r), torch.zeros(4), y + 1)[1]

    model, x = nn.Sequential(Loops(), nn.Linear(4, 4)), numbers(2, 4)
    program = dl.export(model, (x,), strict=strict)
    for back in (dl.unflatten(program), dl.unflatten(program.run_decompositions())):
        assert arrays(back(x)) == arrays(model(x))
        assert arrays(back.get_submodule("0")(x)) == arrays(model[0](x))


@both_modes
def test_sizes_that_are_returned(strict: bool) -> None:
    """M34: a kept module may return a size of a tensor that it uses for nothing else."""

    class Sized(nn.Module):
        def forward(self, x: Any) -> Any:
            return x, x.shape[0]

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = Sized()

        def forward(self, x: Any) -> Any:
            y, n = self.m(x + 1)
            return y.relu() * n, n

    model, x = Holder(), numbers(2, 4)
    shapes = {"x": {0: Dim("b", min=1, max=9)}}
    kept = dl.export(model, (x,), dynamic_shapes=shapes, strict=strict, preserve_module_call_signature=("m",))
    back = dl.unflatten(kept)
    for given in (x, numbers(5, 4)):
        assert arrays(back(given)) == arrays(model(given))
        assert arrays(back.m(given)) == arrays(model.m(given))


@both_modes
def test_results_that_a_module_inside_computes(strict: bool) -> None:
    """M34: what a kept module returns comes from a module inside it, and nothing else uses it."""

    class Inside(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            return y, y + 1

    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inside()

        def forward(self, x: Any) -> Any:
            a, b = self.inner(x)
            return a, b

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.m = Kept()

        def forward(self, x: Any) -> Any:
            return self.m(x)[1] * 3

    model, x = Holder(), numbers(2, 4)
    back = dl.unflatten(dl.export(model, (x,), strict=strict, preserve_module_call_signature=("m",)))
    assert arrays(back(x)) == arrays(model(x))
    assert arrays(back.m(x)) == arrays(model.m(x))
