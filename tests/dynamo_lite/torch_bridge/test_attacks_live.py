"""Changes of a live module that no value read at export shows: what was absent, listed, or held by an array of NumPy's."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes

Change = Callable[[Any], Any]


def asked(self: Any, x: Any) -> Any:
    return x * 2 if hasattr(self, "extra") else x * 3


def defaulted(self: Any, x: Any) -> Any:
    return x * getattr(self.lin, "extra", 3)


def tried(self: Any, x: Any) -> Any:
    try:
        return x * self.extra
    except AttributeError:
        return x * 3


def of_an_object(self: Any, x: Any) -> Any:
    return x * getattr(self.config, "extra", 3)


def in_a_namespace(self: Any, x: Any) -> Any:
    return x * 2 if "extra" in vars(self) else x * self.__dict__.get("extra", 3)


def counted(self: Any, x: Any) -> Any:
    return x * len(list(self.buffers())) + len(list(self.children()))


def summed(self: Any, x: Any) -> Any:
    return x + sum(each.sum() for name, each in self.named_parameters() if "weight" in name)


def array(self: Any, x: Any) -> Any:
    return x * float(self.array[0]) + torch.from_numpy(self.array)


def number(self: Any, x: Any) -> Any:
    return x * float(self.number)


def add_buffer(m: Any) -> None:
    m.lin.register_buffer("extra", torch.ones(1))


def add_parameter(m: Any) -> None:
    m.weight = nn.Parameter(torch.ones(3))


def write(m: Any) -> None:
    m.array[0] = 5


# What forward does, and changes that matter to it.
CHANGES: Final[list[tuple[Callable[..., Any], Change]]] = [
    (asked, lambda m: setattr(m, "extra", 1)),
    (asked, lambda m: m.register_buffer("extra", torch.ones(1))),
    (asked, lambda m: m.add_module("extra", nn.Identity())),
    (asked, lambda m: setattr(type(m), "extra", 1)),
    (defaulted, lambda m: setattr(m.lin, "extra", 1)),
    (tried, lambda m: setattr(m, "extra", 1)),
    (of_an_object, lambda m: setattr(m.config, "extra", 1)),
    (in_a_namespace, lambda m: setattr(m, "extra", 1)),
    (counted, add_buffer),
    (counted, lambda m: m.add_module("extra", nn.Identity())),
    (summed, add_parameter),
    (array, write),
    (array, lambda m: setattr(m, "array", np.zeros(4, np.float32))),
    (array, lambda m: setattr(m, "array", np.ones(4))),
    (number, lambda m: setattr(m, "number", np.float32(3))),
]


def make(forward: Callable[..., Any]) -> Any:
    def init(self: Any) -> None:
        nn.Module.__init__(self)
        self.lin = nn.Linear(4, 4)
        self.register_buffer("buf", torch.ones(4))
        self.config = types.SimpleNamespace(width=4)
        self.array, self.number = np.ones(4, np.float32), np.float32(2)
        with torch.no_grad():
            self.lin.weight.fill_(0.5)

    return type("Live", (nn.Module,), {"__init__": init, "forward": forward})()


@both_modes
@pytest.mark.parametrize("on_mismatch", ["error", "reexport"])
@pytest.mark.parametrize(("forward", "change"), CHANGES)
def test_a_change_that_matters_is_seen(
    forward: Callable[..., Any], change: Change, on_mismatch: str, strict: bool
) -> None:
    eager, live = make(forward), make(dl.exported(strict=strict, on_mismatch=on_mismatch)(forward))
    x = torch.arange(8.0).reshape(2, 4)
    for _ in range(2):
        assert_same(eager(x), live(x))
    change(eager)
    change(live)
    expected = eager(x)
    if on_mismatch == "error":
        with pytest.raises(dl.GuardError, match="live-state-changed"):
            live(x)
    else:
        assert_same(expected, live(x))
        assert len(live.forward.exported_programs(live)) == 2


@both_modes
@pytest.mark.parametrize("forward", dict.fromkeys(row[0] for row in CHANGES if row[0] is not in_a_namespace))
def test_a_change_that_does_not_matter_is_none(forward: Callable[..., Any], strict: bool) -> None:
    live = make(dl.exported(strict=strict)(forward))
    x = torch.arange(8.0).reshape(2, 4)
    expected = live(x)
    live.lin.other = live.config.other = 1
    live.array = live.array.copy()
    assert_same(live(x), expected)


@both_modes
def test_absence_is_an_assumption(strict: bool) -> None:
    model = make(asked)
    program = dl.export(model, (torch.ones(2, 4),), strict=strict)
    assert "self.extra does not exist" in " ".join(map(str, program.assumptions))
    assert not program.check_assumptions(model)
    model.extra = 1
    assert [each for each in program.check_assumptions(model) if "extra" in str(each)]


def algorithms(self: Any, x: Any) -> Any:
    return x * 2 if torch.are_deterministic_algorithms_enabled() else x * 3


def precision(self: Any, x: Any) -> Any:
    return x * 2 if torch.get_float32_matmul_precision() == "highest" else x * 3


def kernels(self: Any, x: Any) -> Any:
    return x * 2 if torch.backends.mkldnn.enabled else x * 3


def threads(self: Any, x: Any) -> Any:
    return x * torch.get_num_threads()


SETTINGS: Final[dict[str, tuple[Callable[..., Any], Callable[[], Any], Callable[[Any], Any], Any]]] = {
    "algorithms": (
        algorithms,
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
        True,
    ),
    "precision": (
        precision,
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        "high",
    ),
    "kernels": (
        kernels,
        torch._C._get_mkldnn_enabled,
        torch._C._set_mkldnn_enabled,
        False,
    ),
    "threads": (threads, torch.get_num_threads, torch.set_num_threads, 3),
}


@both_modes
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_the_process_that_was_asked_for(name: str, strict: bool) -> None:
    forward, tell, change, other = SETTINGS[name]
    eager, live = make(forward), make(dl.exported(strict=strict)(forward))
    x, before = torch.ones(2, 4), tell()
    assert_same(eager(x), live(x))
    change(other)
    try:
        with pytest.raises(dl.GuardError, match="the setting that torch"):
            live(x)
        unasked = make(dl.exported(strict=strict)(lambda self, x: x * 2))
        assert_same(unasked(x), x * 2)
    finally:
        change(before)
    assert_same(unasked(x), x * 2)
    assert_same(eager(x), live(x))


@both_modes
@pytest.mark.parametrize("exported_under", [True, False])
def test_whether_a_result_requires_gradients_depends_on_the_mode(exported_under: bool, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = self.lin(x)
        return x * 2 if y.requires_grad else x * 3

    eager, live = make(forward), make(dl.exported(strict=strict, on_mismatch="reexport")(forward))
    held = make(dl.exported(strict=strict)(forward))
    x = torch.ones(2, 4)
    for mode in (exported_under, not exported_under, exported_under):
        with torch.set_grad_enabled(mode):
            assert_same(eager(x), live(x))
            if mode is exported_under:
                assert_same(eager(x), held(x))
            else:
                with pytest.raises(dl.GuardError, match="gradient mode"):
                    held(x)
