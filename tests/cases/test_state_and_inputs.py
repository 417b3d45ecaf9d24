"""State, inputs and side effects (M8-M13, M28-M32)."""

from __future__ import annotations

import copy
import logging
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from dynamo_lite.trace.tracer import Tracer
from fx_ir.signature import InputKind, OutputKind
from tests.exporting import (
    MODES,
    agree,
    arrays,
    blamed,
    both,
    both_modes,
    export,
    module,
    numbers,
    placeholders,
    refused,
    state,
    text,
)


def test_one_tensor_given_twice() -> None:
    """6: two inputs, right result, also when one object stood for both in the example."""

    def forward(a: Any, b: Any) -> Any:
        return a - 2 * b

    t = torch.ones(2)
    for program in both(forward, (t, t)):
        assert placeholders(program) == ["a", "b"]
        agree(program, forward, [(numbers(2), numbers(2, seed=1))])

    def nested(pair: Any) -> Any:
        return pair[0] - 2 * pair[1]

    for program in both(nested, ([t, t],)):
        agree(program, nested, [([numbers(2), numbers(2, seed=1)],)])


@both_modes
def test_one_tensor_given_twice_and_written(strict: bool) -> None:
    """6, M32: where an input is updated, another input that is the same object would see it: refused, with the way out."""

    def forward(a: Any, b: Any) -> Any:
        a.add_(1)
        return a - 2 * b

    t = torch.ones(2)
    error = refused(forward, (t, t), strict=strict, error=dl.InputError)
    assert "a" in error.message
    assert "b" in error.message
    assert "clone" in error.hint
    program = export(forward, (torch.ones(2), torch.ones(2)), strict=strict)
    agree(program, forward, [(numbers(2), numbers(2, seed=1))])
    with pytest.raises(dl.GuardError) as caught:
        program.module()(t, t)
    assert caught.value.id == "input-alias"
    assert arrays(t) == arrays(torch.ones(2))
    base = torch.ones(3)
    with pytest.raises(dl.GuardError) as caught:
        program.module()(base[:2], base[1:])
    assert caught.value.id == "input-alias"
    pair = torch.ones(2, 2)
    assert arrays(program.module()(pair[0], pair[1])) == arrays(torch.zeros(2))
    refused(forward, (base[:2], base[1:]), strict=strict, error=dl.InputError)


def test_check_in_a_branch_stays_there() -> None:
    """7, M17: what a branch of ``cond`` checks does not leak out of it."""

    def forward(x: Any) -> Any:
        def large(x: Any) -> Any:
            dl.check(x.shape[0] > 5)
            return x + 1

        return dl.cond(x.sum() > 0, large, lambda x: x - 1, (x,))

    for program in both(forward, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}}):
        agree(program, forward, [(torch.ones(6),), (-torch.ones(2),)])

    def after(x: Any) -> Any:
        def large(x: Any) -> Any:
            dl.check(x.shape[0] > 5)
            return x + 1

        y = dl.cond(x.sum() > 0, large, lambda x: x - 1, (x,))
        return y * 2 if x.shape[0] > 5 else y

    for strict in MODES:
        error = refused(
            after, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}}, strict=strict
        )
        assert isinstance(error, dl.ConstraintViolationError)


OUTSIDE: list[Any] = []
TABLE: dict[str, Any] = {}


def _append(x: Any) -> Any:
    OUTSIDE.append(x * 2)
    return x


def _item(x: Any) -> Any:
    TABLE["last"] = x * 2
    return x


def _extend(x: Any) -> Any:
    OUTSIDE.extend([x, x + 1])
    return x


def _setdefault(x: Any) -> Any:
    TABLE.setdefault("first", x)
    return x


@both_modes
@pytest.mark.parametrize("forward", [_append, _item, _extend, _setdefault])
def test_outside_container_would_hold_a_tensor(forward: Any, strict: bool) -> None:
    """8: state restored and the write refused, with its line in strict mode."""
    error = refused(forward, (numbers(3),), strict=strict, error=dl.StateError)
    assert error.id == "tensor-left-outside"
    assert OUTSIDE == []
    assert TABLE == {}
    if strict:
        assert error.location.line == forward.__code__.co_firstlineno + 1


def test_closure_list() -> None:
    """8: the same for a list in the closure."""
    bank: list[Any] = []

    def forward(x: Any) -> Any:
        bank.append(x * 2)
        return x

    for strict in MODES:
        error = refused(forward, (numbers(3),), strict=strict)
        assert error.id == "tensor-left-outside"
        assert bank == []


def test_outside_container_of_plain_values() -> None:
    """8, M29: plain values written to outside containers are rolled back, with an entry in the ledger."""
    seen: list[int] = []

    def forward(x: Any) -> Any:
        seen.append(3)
        return x + len(seen)

    for program in both(forward, (numbers(3),)):
        assert seen == []
        assert text(program) == ["add = aten.add.Tensor(x, 1)"]
        assert any(effect.became == "rolled back" for effect in program.effects)


class CachesNew(nn.Module):
    def forward(self, x: Any) -> Any:
        self.cache = x * 2
        return self.cache + 1


@both_modes
def test_new_tensor_attribute(strict: bool) -> None:
    """9, M30: an attribute that did not exist would hold a tensor: refused, the model untouched."""
    model = CachesNew()
    error = refused(model, (numbers(3),), strict=strict, error=dl.StateError)
    assert "self.cache" in error.message
    assert not hasattr(model, "cache")


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("count", torch.tensor(0), persistent=False)
        self.child = nn.Module()
        self.child.register_buffer("last", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.total = self.total + x
        self.count += 1
        self.child.last.copy_(x)
        view = self.total[1:]
        view.mul_(2)
        return self.total / self.count


def test_buffers_are_carried() -> None:
    """10, M31, M32: assigned, updated in place, in a submodule, and through a view: the second call sees all of it."""
    model = Running()
    for program in both(model, (numbers(3),)):
        targets = [
            spec.target
            for spec in program.graph_signature.output_specs
            if spec.kind is OutputKind.BUFFER_MUTATION
        ]
        assert sorted(map(str, targets)) == ["child.last", "count", "total"]
        run, eager = program.module(), Running()
        for seed in range(3):
            assert arrays(run(numbers(3, seed=seed))) == arrays(eager(numbers(3, seed=seed)))
        assert arrays(run.child.last) == arrays(eager.child.last)


def test_copy_of_an_input() -> None:
    """14: ``copy.copy(x) + 1`` works; so do the ways of copying."""

    def forward(x: Any) -> Any:
        return copy.copy(x) + 1, copy.deepcopy(x) * 2, x.clone() - 1

    for program in both(forward, (numbers(3),)):
        agree(program, forward, [(numbers(3, seed=seed),) for seed in range(2)])


@pytest.mark.parametrize("wrong", ["program", 3, None, ["file"]])
def test_load_what_is_no_file(wrong: Any) -> None:
    """15: an InputError that says what it wants."""
    if wrong == "program":
        wrong = dl.export(module(lambda x: x + 1), (numbers(3),))
    with pytest.raises(dl.InputError) as caught:
        dl.load(wrong)
    assert "path" in f"{caught.value.message} {caught.value.hint}"


def test_keyword_order() -> None:
    """18: keyword arguments in another order than the signature are bound by name."""

    def forward(a: Any, *, b: Any, c: Any = None) -> Any:
        return a - 2 * b + 3 * c

    kwargs = {"c": numbers(3, seed=2), "b": numbers(3, seed=1)}
    for program in both(forward, (numbers(3),), kwargs):
        run = program.module()
        expected = arrays(forward(numbers(3), **kwargs))
        assert arrays(run(numbers(3), **kwargs)) == expected
        assert arrays(run(numbers(3), b=kwargs["b"], c=kwargs["c"])) == expected
    for program in both(lambda a, b: a - 2 * b, (), {"b": numbers(3, seed=1), "a": numbers(3)}):
        result = program.module()(a=numbers(3), b=numbers(3, seed=1))
        assert arrays(result) == arrays(numbers(3) - 2 * numbers(3, seed=1))


def test_none_and_tensors() -> None:
    """19, M12, M13: ``None`` at export, a tensor at run time, and the other way round, nested too: GuardError."""

    def forward(x: Any, y: Any = None) -> Any:
        return x if y is None else x + y

    def nested(pair: Any) -> Any:
        return pair["a"] if pair["b"] is None else pair["a"] + pair["b"]

    for program in both(forward, (numbers(3), None)):
        with pytest.raises(dl.GuardError, match="None"):
            program.module()(numbers(3), numbers(3))
    for program in both(forward, (numbers(3), numbers(3))):
        with pytest.raises(dl.GuardError, match="expected a tensor"):
            program.module()(numbers(3), None)
    for program in both(nested, ({"a": numbers(3), "b": None},)):
        with pytest.raises(dl.GuardError):
            program.module()({"a": numbers(3), "b": numbers(3)})


CONTRACTS: list[Any] = [
    pytest.param(
        lambda x: x + 1 if x.dtype is torch.float32 else x - 1,
        numbers(3, 2),
        torch.tensor(np.ones((3, 2))),
        "dtype",
        id="dtype",
    ),
    pytest.param(
        lambda x: x + 1 if x.is_contiguous() else x - 1,
        numbers(3, 2),
        numbers(2, 3).t(),
        "input-layout",
        id="is_contiguous",
    ),
    pytest.param(
        lambda x: x + 1 if x.stride()[0] == 2 else x - 1,
        numbers(3, 2),
        numbers(2, 3).t(),
        "input-layout",
        id="stride",
    ),
    pytest.param(
        lambda x: x + 1 if x.is_contiguous() else x - 1,
        numbers(2, 3).t(),
        numbers(3, 2),
        "input-layout",
        id="not contiguous",
    ),
    pytest.param(
        lambda x: x + 1 if x.requires_grad else x - 1,
        numbers(3, 2),
        nn.Parameter(numbers(3, 2)),
        "requires-grad",
        id="requires_grad",
    ),
    pytest.param(
        lambda x: x + 1 if x.dim() == 2 else x - 1, numbers(3, 2), numbers(3), "input-rank", id="dim"
    ),
]


@pytest.mark.parametrize(("forward", "example", "other", "kind"), CONTRACTS)
def test_metadata_that_decides_is_in_the_contract(forward: Any, example: Any, other: Any, kind: str) -> None:
    """20, M8: a branch on metadata; an input that would take the other way is a GuardError."""
    for program in both(forward, (example,)):
        agree(program, forward, [(example,)])
        with pytest.raises(dl.GuardError) as caught:
            program.module()(other)
        assert kind in caught.value.id


def test_metadata_that_is_not_asked_for_is_not_in_the_contract() -> None:
    """20: without such a question another layout or ``requires_grad`` is accepted, and the result is right."""

    def forward(x: Any) -> Any:
        return (x * 2).sum(0)

    for program in both(forward, (numbers(3, 2),)):
        for other in (numbers(2, 3).t(), nn.Parameter(numbers(3, 2))):
            assert arrays(program.module()(other)) == arrays(forward(other))


def test_views_by_layout() -> None:
    """20: whether ``reshape`` shares memory is a question of strides once somebody writes."""

    def forward(x: Any) -> Any:
        y = x.reshape(-1)
        y.add_(1)
        return x + 0

    for program in both(forward, (numbers(3, 2),)):
        agree(program, forward, [(numbers(3, 2),)])
        with pytest.raises(dl.GuardError) as caught:
            program.module()(numbers(2, 3).t())
        assert caught.value.id == "input-layout"


def test_identity_of_inputs() -> None:
    """20: ``x is y`` in strict mode, both answers, in the contract."""

    def forward(x: Any, y: Any) -> Any:
        return x + 1 if x is y else x - y

    t = numbers(3)
    program = export(forward, (numbers(3), numbers(3, seed=1)), strict=True)
    agree(program, forward, [(numbers(3), numbers(3, seed=1))])
    with pytest.raises(dl.GuardError) as caught:
        program.module()(t, t)
    assert caught.value.id == "input-alias"
    program = export(forward, (t, t), strict=True)
    assert text(program) == ["add = aten.add.Tensor(x, 1)"]
    assert arrays(program.module()(t, t)) == arrays(t + 1)
    with pytest.raises(dl.GuardError) as caught:
        program.module()(numbers(3), numbers(3))
    assert caught.value.id == "input-alias"


def test_class_of_a_tensor() -> None:
    """20: ``type(x) is Tensor`` and ``isinstance`` in strict mode."""

    def forward(x: Any) -> Any:
        assert isinstance(x, torch.Tensor)
        assert type(x.shape[0]) is int
        return x + 1 if type(x) is torch.Tensor else x - 1

    program = export(forward, (numbers(3),), dynamic_shapes={"x": {0: Dim("n")}}, strict=True)
    assert text(program) == ["add = aten.add.Tensor(x, 1)"]


@pytest.mark.parametrize("value", ["it's", 'say "hi"', "back\\slash", "new\nline", "{braces}", "ü", ""])
def test_string_inputs(value: str) -> None:
    """21, M9, M12: a string input with any character works, and is checked."""

    def forward(x: Any, name: str) -> Any:
        return x + len(name)

    for program in both(forward, (numbers(3), value)):
        agree(program, forward, [(numbers(3), value)])
        with pytest.raises(dl.GuardError):
            program.module()(numbers(3), value + "x")


SPECIALISING: list[Any] = [
    pytest.param(lambda x: x + 1 if int(x.shape[0]) > 5 else x - 1, "n > 5", id="int() > 5"),
    pytest.param(lambda x: x + len(str(x.shape[0])), None, id="len(str())"),
    pytest.param(lambda x: x + 1 if f"{x.shape[0]}" == "8" else x - 1, "n == 8", id="f-string"),
    pytest.param(lambda x: x + {8: 1}[x.shape[0]], "n == 8", id="dict key"),
]


@both_modes
@pytest.mark.parametrize(("forward", "exact"), SPECIALISING)
def test_plain_values_of_sizes(forward: Any, exact: str | None, strict: bool) -> None:
    """24: never burned in without a guard: strict the exact condition where there is one, non-strict ``s == 8``."""
    shapes = {"x": {0: Dim("n", min=1, max=64)}}
    error = refused(forward, (numbers(8),), dynamic_shapes=shapes, strict=strict)
    assert isinstance(error, dl.ConstraintViolationError)
    (guard,) = (guard.expr for guard in error.report.guards)
    expected = {"n > 5": "n >= 6", "n == 8": "n == 8", None: "n == 8"}[exact] if strict else "n == 8"
    assert guard == expected


def test_identity_of_a_size() -> None:
    """24: ``n is 8`` in strict mode is the exact condition."""
    source = "def forward(x):\n    return x + 1 if x.shape[0] is EIGHT else x - 1\n"
    namespace: dict[str, Any] = {"EIGHT": 8}
    exec(compile(source, __file__, "exec"), namespace)
    forward = namespace["forward"]
    error = refused(forward, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", max=64)}}, strict=True)
    assert [guard.expr for guard in error.report.guards] == ["n == 8"]


def _uses_random(x: Any) -> Any:
    return x + random.random()


def _uses_randint(x: Any) -> Any:
    return x + random.randint(0, 3)


def _uses_numpy_random(x: Any) -> Any:
    return x + float(np.random.rand())


def _uses_clock(x: Any) -> Any:
    return x + time.time()


def _uses_counter(x: Any) -> Any:
    return x + time.perf_counter_ns() % 3


def _uses_id(x: Any) -> Any:
    return x + id(x) % 3


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        (_uses_random, "random"),
        (_uses_randint, "random"),
        (_uses_numpy_random, "random"),
        (_uses_clock, "clock"),
        (_uses_counter, "clock"),
        (_uses_id, "other"),
    ],
)
def test_what_differs_from_run_to_run(forward: Any, kind: str) -> None:
    """25, M3: strict refuses with the reason, the line and the way out; non-strict notes it in ``effects``."""
    error = refused(forward, (numbers(3),), strict=True, error=dl.UnsupportedError)
    assert error.location.line == forward.__code__.co_firstlineno + 1
    assert error.hint
    program = export(forward, (numbers(3),), strict=False)
    (effect,) = (effect for effect in program.effects if effect.kind == kind)
    assert effect.became == "noted"
    if forward is _uses_numpy_random:
        return  # seen by what it leaves behind, not where it was called
    assert effect.location is not None
    assert effect.location.line == forward.__code__.co_firstlineno + 1


def test_environment() -> None:
    """25: the environment is an assumption, with its value and line."""
    os.environ["DYNAMO_LITE_TEST"] = "5"

    def forward(x: Any) -> Any:
        return x + int(os.environ["DYNAMO_LITE_TEST"])

    try:
        for program in both(forward, (numbers(3),)):
            (assumption,) = (a for a in program.assumptions if a.path == "environment DYNAMO_LITE_TEST")
            assert assumption.expected == "5"
            assert program.check_assumptions(module(forward)) == []
            os.environ["DYNAMO_LITE_TEST"] = "6"
            assert "DYNAMO_LITE_TEST" in program.check_assumptions(module(forward))[0]
            os.environ["DYNAMO_LITE_TEST"] = "5"
    finally:
        del os.environ["DYNAMO_LITE_TEST"]


def _prints(x: Any) -> Any:
    print("shape", x.shape[0])
    return x + 1


def _warns(x: Any) -> Any:
    warnings.warn("careful", stacklevel=2)
    return x + 1


def _logs(x: Any) -> Any:
    logging.getLogger("model").warning("size %s", x.shape[0])
    return x + 1


@pytest.mark.parametrize("forward", [_prints, _warns, _logs])
def test_output_is_skipped(forward: Any, capsys: Any, caplog: Any, recwarn: Any) -> None:
    """26: skipped, with an entry in the ledger; a symbolic size that is shown adds no guard."""
    for program in both(forward, (numbers(3),), dynamic_shapes={"x": {0: Dim("n", min=1)}}):
        assert program.guards == ()
        (effect,) = program.effects
        assert (effect.kind, effect.became) == ("output", "dropped")
        assert effect.location is not None
        assert effect.location.line == forward.__code__.co_firstlineno + 1
    assert capsys.readouterr().out == ""
    assert caplog.records == []
    assert len(recwarn) == 0


@both_modes
def test_typo_is_the_models_own_error(strict: bool) -> None:
    """37: the AttributeError at the user's line alone."""

    def forward(x: Any) -> Any:
        return x.to_bytess()

    with pytest.raises(AttributeError) as caught:
        dl.export(module(forward), (numbers(3),), strict=strict)
    assert set(blamed(caught.value)) == {__file__}
    assert "to_bytess" in str(caught.value)


class Interrupted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.count = 1
        self.seen: list[int] = []
        self.interrupt: Callable[[], None] | None = None

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.seen.append(self.count)
        self.total = self.total + x
        self.total.add_(1)
        if self.interrupt is not None:
            self.interrupt()
        self.extra = 5
        return x + self.total


def _interrupt() -> None:
    raise KeyboardInterrupt


@both_modes
def test_interrupted_at_every_operator(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """38: wherever the interrupt comes, the model is as before, and the next export is right."""
    model = Interrupted()
    before = state(model)
    original = Tracer.call
    for when in range(20):
        left = [when]

        def call(self: Any, *args: Any, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return original(self, *args)

        monkeypatch.setattr(Tracer, "call", call)
        try:
            dl.export(model, (numbers(3),), strict=strict)
        except KeyboardInterrupt:
            assert state(model) == before
        else:
            break
    assert 0 < when < 19
    assert state(model) == before


@both_modes
@pytest.mark.parametrize("wrapped", [False, True])
def test_interrupted_export(strict: bool, wrapped: bool) -> None:
    """38: Ctrl-C in the middle leaves the model as before; so does a failure."""
    model = Interrupted()
    model.interrupt = dl.allow_call(_interrupt) if wrapped else _interrupt
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        dl.export(model, (numbers(3),), strict=strict)
    assert state(model) == before
    model.interrupt = None
    before = state(model)
    program = dl.export(model, (numbers(3),), strict=strict)
    assert state(model) == before
    fresh = Interrupted()
    assert arrays(program.module()(numbers(3))) == arrays(fresh(numbers(3)))


def test_grad_mode_around_a_part() -> None:
    """39: ``no_grad`` around a part of forward; values as eager, ``requires_grad`` as eager."""

    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(numbers(3))

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                a = x * self.weight
                frozen = a.requires_grad
            b = x + self.weight
            return a + b if not frozen and b.requires_grad else a - b

    model = Partly()
    for program in both(model, (numbers(3),)):
        agree(program, model, [(numbers(3, seed=seed),) for seed in range(2)])


def test_state_kinds_in_the_signature() -> None:
    """M32: parameters, buffers and constants are lifted; the program is self-contained."""

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(numbers(3))
            self.register_buffer("mean", numbers(3, seed=1))
            self.plain = numbers(3, seed=2)
            self.listed = [numbers(3, seed=3)]

        def forward(self, x: Any) -> Any:
            return x * self.weight + self.mean + self.plain + self.listed[0] + torch.tensor([1.0, 2.0, 3.0])

    model = Holder()
    for program in both(model, (numbers(3),)):
        kinds = [(spec.kind, spec.target) for spec in program.graph_signature.input_specs]
        assert kinds[:4] == [
            (InputKind.PARAMETER, "weight"),
            (InputKind.BUFFER, "mean"),
            (InputKind.CONSTANT_TENSOR, "plain"),
            (InputKind.CONSTANT_TENSOR, "listed[0]"),
        ]
        agree(program, model, [(numbers(3, seed=seed),) for seed in range(2)])


def test_literal_tensors_are_fresh_at_each_run() -> None:
    """M6, M32: ``torch.tensor([...])`` made in forward may be written; each run starts from the literal."""

    def forward(x: Any) -> Any:
        t = torch.tensor([1.0, 2.0, 3.0])
        t += x
        t[0] = 7.0
        return t

    for program in both(forward, (numbers(3),)):
        run = program.module()
        for seed in (0, 1, 0):
            assert arrays(run(numbers(3, seed=seed))) == arrays(forward(numbers(3, seed=seed)))


@both_modes
def test_swallowed_refusal_still_fails(strict: bool) -> None:
    """M3, M16: a refusal that the model catches with ``except Exception`` still fails the export."""

    def forward(x: Any) -> Any:
        try:
            if x.sum() > 0:
                return x + 1
        except Exception:
            pass
        return x - 1

    error = refused(forward, (numbers(3),), strict=strict, error=dl.DataDependentError)
    assert error.location.line == forward.__code__.co_firstlineno + 2
