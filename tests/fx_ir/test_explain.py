"""Why things are as they are, and whether they still are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir.liveness import check_assumptions
from fx_ir.provenance import Assumption
from solver.errors import Location
from tests.fx_ir.programs import linear_program, rich_program, size_program

SCALE = 3
TABLE = {"a": [1, 2]}
PLACE = Location("model.py", 5, "forward")


class Layer:
    def __init__(self) -> None:
        self.training = True
        self.sizes = [1, 2]
        self.options: dict[Any, Any] = {"k": {"deep": 1.0}, 3: "three"}
        self.act = len


def make_net(local: int) -> Any:
    class Net:
        def __init__(self) -> None:
            self.layers = [Layer(), Layer()]
            self.weight = np.ones((2, 3), np.float32)

        def forward(self) -> int:
            return SCALE + local

    return Net()


ASSUMPTIONS = (
    Assumption("self.layers[0].training", True, "value", PLACE),
    Assumption("self.layers.1.training", True),
    Assumption("self.layers[0].sizes", [1, 2]),
    Assumption("self.layers[0].sizes", 2, "length"),
    Assumption("self.layers[0].options['k']['deep']", 1.0),
    Assumption("self.layers[0].options[3]", "three"),
    Assumption("self.layers[0].options", ["k", 3], "keys"),
    Assumption("self.layers[0]", f"{__name__}.Layer", "type"),
    Assumption("self.layers[0].act", "builtins.len", "identity"),
    Assumption("self.layers[0].cache", None, "absence"),
    Assumption("self.weight", "f32[2, 3]", "metadata"),
    Assumption("global test_explain.py:SCALE", 3),
    Assumption("global test_explain.py:TABLE['a'][1]", 2),
    Assumption("closure local", 7),
    Assumption("environment DYNAMO_LITE_TEST", "yes"),
    Assumption("input x", "f32", "metadata"),
)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("DYNAMO_LITE_TEST", "yes")
    return make_net(7)


def changed(net: Any) -> list[str]:
    return check_assumptions(linear_program(assumptions=ASSUMPTIONS), net)


def test_assumptions_hold_on_the_module_that_they_were_read_from(net: Any) -> None:
    assert changed(net) == []
    assert linear_program(assumptions=ASSUMPTIONS).check_assumptions(net) == []


def test_each_change_is_named(net: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = net.layers[0]
    changes: list[tuple[Any, str]] = [
        (
            lambda: setattr(first, "training", False),
            "self.layers[0].training: is False, at export True (read at model.py:5 in forward)",
        ),
        (
            lambda: setattr(first, "training", 1),
            "self.layers[0].training: is 1, at export True (read at model.py:5 in forward)",
        ),
        (
            lambda: setattr(net.layers[1], "training", False),
            "self.layers.1.training: is False, at export True",
        ),
        (lambda: first.sizes.append(3), "self.layers[0].sizes: has length 3, at export 2"),
        (
            lambda: first.options["k"].update(deep=2.0),
            "self.layers[0].options['k']['deep']: is 2.0, at export 1.0",
        ),
        (
            lambda: first.options.update(new=1),
            "self.layers[0].options: has keys ['k', 3, 'new'], at export ['k', 3]",
        ),
        (lambda: first.options.pop(3), "self.layers[0].options[3]: is gone, it was 'three'"),
        (lambda: setattr(first, "act", max), "self.layers[0].act: is builtins.max, at export builtins.len"),
        (lambda: setattr(first, "cache", 4), "self.layers[0].cache: exists now (4), it did not at export"),
        (
            lambda: setattr(net, "weight", np.ones((2, 4), np.float32)),
            "self.weight: is f32[2, 4], at export f32[2, 3]",
        ),
        (
            lambda: monkeypatch.setenv("DYNAMO_LITE_TEST", "no"),
            "environment DYNAMO_LITE_TEST: is 'no', at export 'yes'",
        ),
        (
            lambda: monkeypatch.setitem(globals(), "SCALE", 4),
            "global test_explain.py:SCALE: is 4, at export 3",
        ),
    ]
    for change, words in changes:
        before = changed(net)
        change()
        new = [text for text in changed(net) if text not in before]
        assert words in new, words
    net.layers[0] = object()
    assert f"self.layers[0]: has type builtins.object, at export {__name__}.Layer" in changed(net)
    assert "closure local: is 8, at export 7" in changed(make_net(8))


def test_a_dimension_is_explained_by_range_conditions_and_guards() -> None:
    text = rich_program().explain("x.shape[0]")
    assert "x.shape[0] = s0: dynamic" in text and "{s0: VR[2, int_oo]}" in text
    assert "checked at each call: s0 % 2 == 0 (assumption)  (at model.py:12 in forward)" in text
    assert "guard: s0 != 1 from aten::add.Tensor: proved  (at model.py:12)" in text
    assert rich_program().explain("x.size(0)") == text


def test_static_dimensions_symbols_values_and_attributes_are_explained() -> None:
    program = rich_program()
    assert "x.shape[1] = 3: static" in program.explain("x.shape[-1]").replace("[-1]", "[1]")
    assert "note: x.shape[1] is static" in program.explain("x.shape[1]")
    assert "there is no x.shape[7]" in program.explain("x.shape[7]")
    assert "x.shape[0] = s0" in program.explain("s0")
    linear = program.explain("mm")
    assert "mm: f32[s0, 4] = torch.ops.aten.mm.default(x, t)" in linear
    assert "model.py:12 in forward, code: return self.lin(x)" in linear and "lin (Linear)" in linear
    assert program.explain("self.training") == program.explain("training")
    assert "self.training == False" in program.explain("training")
    assert "k = k: a dynamic integer" in size_program().explain("k")


def test_everything_is_explained_without_a_question_and_nothing_is_said_plainly() -> None:
    text = rich_program().explain()
    for part in (
        "x: f32[s0, 3] on cpu",
        "assumed: self.training == False",
        "effect: call: print('x') -> dropped",
        "note: ",
    ):
        assert part in text
    assert rich_program().explain("weight_of_moon") == (
        "nothing in the program is called 'weight_of_moon'; inputs and symbols are: x, s0"
    )
