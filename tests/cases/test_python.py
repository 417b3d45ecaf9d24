"""Python inside forward: what strict mode interprets must mean what CPython means (M3, M4, M14)."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from tests.exporting import agree, arrays, both, export, guards, numbers, refused, text


def _half_consumed(x: Any) -> Any:
    g = (x * i for i in range(4))
    first = next(g)
    return torch.stack(list(g)) + first


def _zipped(x: Any) -> Any:
    g = iter([x, x + 1, x + 2])
    pairs = list(zip(g, g, strict=False))
    return pairs[0][0] * pairs[0][1] + next(g, x * 10)


def _mapped(x: Any) -> Any:
    return sum(map(lambda i: x * i, range(3)), x)  # noqa: C417


def _delegating(x: Any) -> Any:
    def inner() -> Any:
        yield x
        yield x + 1
        return 7

    def outer() -> Any:
        r = yield from inner()
        yield x * r

    return torch.stack(list(outer()))


def _sends(x: Any) -> Any:
    def accumulate() -> Any:
        total = x
        while True:
            given = yield total
            total = total + given

    g = accumulate()
    next(g)
    g.send(1)
    return g.send(2)


@pytest.mark.parametrize("forward", [_half_consumed, _zipped, _mapped, _delegating, _sends])
def test_generators(forward: Any) -> None:
    """17, 27: order and content as eager; the value of ``yield from``."""
    for program in both(forward, (numbers(3),)):
        agree(program, forward, [(numbers(3, seed=seed),) for seed in range(2)])


def test_set_of_user_objects() -> None:
    """28: a user's ``__eq__`` and ``__hash__`` count."""

    class O:  # noqa: E742
        def __init__(self, n: int) -> None:
            self.n = n

        def __eq__(self, other: object) -> bool:
            return isinstance(other, O) and self.n == other.n

        def __hash__(self) -> int:
            return hash(self.n)

    def forward(x: Any) -> Any:
        table = {O(1): 3}
        table[O(1)] = 5
        return x + len({O(1), O(1), O(2)}) + 10 * table[O(1)] + 100 * (O(1) in [O(1)])

    for program in both(forward, (numbers(3),)):
        assert text(program)[0] == "add = aten.add.Tensor(x, 2)"
        agree(program, forward, [(numbers(3),)])


def test_formatting_and_metaclasses() -> None:
    """29: ``format``, ``str`` with a user's ``__str__``, a metaclass's ``__call__`` and ``__instancecheck__``."""

    class Meta(type):
        def __call__(cls, *args: Any) -> Any:
            return ("made", *args)

        def __instancecheck__(cls, value: object) -> bool:
            return value == 42

    class Made(metaclass=Meta):
        pass

    class Shown:
        def __str__(self) -> str:
            return "seven77"

        def __format__(self, spec: str) -> str:
            return spec * 2

    def forward(x: Any) -> Any:
        assert format(3.14159, ".2f") == "3.14"
        assert f"{3.14159:>8.3f}|{'ab':^6}|{255:#x}" == "   3.142|  ab  |0xff"
        assert str(Shown()) == "seven77"
        assert f"{Shown():xy}" == "xyxy"
        assert Made(1, 2) == ("made", 1, 2)  # type: ignore[call-arg, comparison-overlap]
        assert isinstance(42, Made)
        assert not isinstance(41, Made)
        return x + len(str(Shown()))

    for program in both(forward, (numbers(3),)):
        assert text(program) == ["add = aten.add.Tensor(x, 7)"]


def test_classes_defined_in_forward() -> None:
    """30: dataclass, Enum, NamedTuple, metaclass, ABC."""

    def forward(x: Any) -> Any:
        from abc import ABC, abstractmethod
        from dataclasses import dataclass, field
        from enum import Enum
        from typing import NamedTuple

        @dataclass
        class Pair:
            a: Any
            b: int = 2
            c: list[int] = field(default_factory=list)

        class Colour(Enum):
            RED = 1
            BLUE = 5

        class Point(NamedTuple):
            u: Any
            v: int = 3

        class Base(ABC):
            @abstractmethod
            def scale(self) -> int: ...

        class Derived(Base):
            def scale(self) -> int:
                return 11

        pair, point = Pair(x), Point(x)
        pair.c.append(7)
        assert Colour(5) is Colour.BLUE
        assert Pair(1, 2, [7]) == Pair(1, 2, [7])
        assert (pair.b, pair.c) == (2, [7])
        return pair.a * pair.b + point.u * point.v + Colour.BLUE.value + Derived().scale() + pair.c[0]

    for program in both(forward, (numbers(3),)):
        agree(program, forward, [(numbers(3, seed=seed),) for seed in range(2)])


def test_exceptions_and_matching() -> None:
    """31: ``except*``, ExceptionGroup, ``add_note``, ``match`` with classes, async generators driven by hand."""

    class Point:
        __match_args__ = ("u", "v")

        def __init__(self, u: int, v: int) -> None:
            self.u, self.v = u, v

    def forward(x: Any) -> Any:
        found = []
        try:
            raise ExceptionGroup("both", [ValueError(1), TypeError(2)])
        except* ValueError as group:
            found.append(len(group.exceptions))
        except* TypeError:
            found.append(10)
        error = KeyError("k")
        error.add_note("note")
        match Point(3, 4):
            case Point(3, v):
                found.append(100 * v)
            case _:
                found.append(-1)

        async def ticks() -> Any:
            yield 1000
            yield 2000

        async def drive() -> None:
            async for tick in ticks():
                found.append(tick)

        driver = drive()
        try:
            driver.send(None)
        except StopIteration:
            found.append(len(error.__notes__))
        return x + sum(found)

    for program in both(forward, (numbers(3),)):
        assert text(program) == ["add = aten.add.Tensor(x, 3412)"]


ROUNDED: list[Any] = [
    pytest.param(lambda x: x[: math.ceil(x.shape[0] / 3)], id="ceil(n/3)"),
    pytest.param(lambda x: x[: math.floor(x.shape[0] / 3)], id="floor(n/3)"),
    pytest.param(lambda x: x[: round(x.shape[0] / 2)], id="round(n/2)"),
    pytest.param(lambda x: x[: x.shape[0] // 3 + 1], id="n//3+1"),
    pytest.param(lambda x: x[: math.trunc(x.shape[0] / 2)], id="trunc(n/2)"),
    pytest.param(lambda x: x[: -(-x.shape[0] // 2)], id="ceiling by hand"),
]


@pytest.mark.parametrize("forward", ROUNDED)
def test_rounding_of_sizes(forward: Any) -> None:
    """33: symbolic slice bounds with exact integer meaning, in both modes."""
    for program in both(forward, (numbers(9),), dynamic_shapes={"x": {0: Dim("n", min=1, max=50)}}):
        assert guards(program) == []
        agree(program, forward, [(numbers(n),) for n in (1, 2, 3, 4, 5, 7, 12, 49, 50)])


@pytest.mark.parametrize(
    ("forward", "needed"),
    [
        pytest.param(lambda x: x[: max(x.shape[0] - 3, 1)], "n >= 4", id="max"),
        pytest.param(lambda x: x[: min(x.shape[0], 5)], "n >= 6", id="min"),
    ],
)
def test_max_and_min_are_branches(forward: Any, needed: str) -> None:
    """M15, M23: ``max`` and ``min`` decide as Python does, by one comparison: a guard, proved or refused."""
    for program in both(forward, (numbers(9),), dynamic_shapes={"x": {0: Dim("n", min=6, max=50)}}):
        assert guards(program) == []
        agree(program, forward, [(numbers(n),) for n in (6, 7, 50)])
    for strict in (False, True):
        shapes = {"x": {0: Dim("n", min=1, max=50)}}
        error = refused(forward, (numbers(9),), dynamic_shapes=shapes, strict=strict)
        assert [guard.expr for guard in error.report.guards] == [needed]


def test_int_of_a_float_size() -> None:
    """33: ``int(0.5*n)``: strict keeps it symbolic; non-strict takes the plain value, with its guard."""

    def forward(x: Any) -> Any:
        return x[: int(0.5 * x.shape[0])]

    shapes = {"x": {0: Dim("n", min=1, max=50)}}
    program = export(forward, (numbers(9),), dynamic_shapes=shapes, strict=True)
    assert guards(program) == []
    agree(program, forward, [(numbers(n),) for n in (1, 2, 3, 10, 49, 50)])
    error = refused(forward, (numbers(9),), dynamic_shapes=shapes, strict=False)
    assert isinstance(error, dl.ConstraintViolationError)


def test_loop_over_a_dynamic_size() -> None:
    """M14: ``for i in range(n)`` specialises; a wider specification is refused, and the hint names scan and map."""

    def forward(x: Any) -> Any:
        total = x[0]
        for i in range(x.shape[0]):
            total = total + x[i]
        return total

    for strict in (False, True):
        error = refused(
            forward, (numbers(3, 2),), dynamic_shapes={"x": {0: Dim("n", min=2, max=9)}}, strict=strict
        )
        assert isinstance(error, dl.ConstraintViolationError)
        assert [guard.expr for guard in error.report.guards] == ["n == 3"]
        assert "map" in error.hint
        assert "scan" in error.hint
    for program in both(forward, (numbers(3, 2),)):
        agree(program, forward, [(numbers(3, 2),)])


def test_loops_and_branches_on_static_values_unroll() -> None:
    """M6, M14: loops over static lengths and branches on static shapes leave no trace."""

    def forward(x: Any, y: Any) -> Any:
        for i in range(x.shape[1]):
            x = x + i if i % 2 else x * 2
        while y.dim() < 3:
            y = y.unsqueeze(0)
        return x, y

    shapes = {"x": {0: Dim("n", max=9)}, "y": None}
    for program in both(forward, (numbers(4, 3), numbers(2)), dynamic_shapes=shapes):
        assert guards(program) == []
        agree(program, forward, [(numbers(n, 3), numbers(2)) for n in (0, 1, 9)])


def test_inlined_functions_and_closures() -> None:
    """M3, M14: decorators, closures over tensors and numbers, default arguments, recursion."""

    def twice(function: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(function(*args, **kwargs), **kwargs)

        return wrapper

    scale = 3

    @twice
    def step(x: Any, *, by: int = scale) -> Any:
        return x * by

    def power(x: Any, n: int) -> Any:
        return x if n == 0 else power(x * 2, n - 1)

    def forward(x: Any) -> Any:
        return step(x, by=2) + step(x) + power(x, 3)

    for program in both(forward, (numbers(3),)):
        agree(program, forward, [(numbers(3, seed=seed),) for seed in range(2)])


def test_modules_called_twice_and_nested() -> None:
    """M35: submodules called more than once; each node carries module stack and line, the same in both modes."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.l(self.l(x)).relu()

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.stack = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

        def forward(self, x: Any) -> Any:
            return self.stack(self.inner(x)) + 1

    model = Outer()
    native, strict = both(model, (numbers(2, 3),), dynamic_shapes={"x": {0: Dim("n", min=0, max=9)}})
    pairs = list(zip(native.graph.nodes, strict.graph.nodes, strict=True))
    for a, b in pairs:
        assert a.meta.get("nn_module_stack") == b.meta.get("nn_module_stack"), a.name
        assert a.meta.get("location") == b.meta.get("location"), a.name
    first = next(node for node in strict.graph.nodes if node.op == "call_function")
    assert first.meta["nn_module_stack"] == (("", "Outer"), ("inner", "Inner"), ("inner.l", "Linear"))
    last = [node for node in strict.graph.nodes if node.op == "call_function"][-1]
    assert last.meta["nn_module_stack"] == (("", "Outer"),)
    assert last.meta["location"].file == __file__
    for program in (native, strict):
        agree(program, model, [(numbers(n, 3),) for n in (0, 1, 9)])


def test_random_operators_draw_in_program_order() -> None:
    """M6: after one ``manual_seed`` the program equals eager."""

    def forward(x: Any) -> Any:
        return torch.rand(3) + torch.randn_like(x) + torch.nn.functional.dropout(x, 0.5, True)

    for program in both(forward, (numbers(3),)):
        run = program.module()
        torch.manual_seed(7)
        ours = run(numbers(3)), run(numbers(3))
        torch.manual_seed(7)
        theirs = forward(numbers(3)), forward(numbers(3))
        assert arrays(ours) == arrays(theirs)


def test_map_keeps_its_body() -> None:
    """M17: ``map`` loops over the first dimension, closes over tensors, and stays one call."""

    def forward(xs: Any, y: Any) -> Any:
        return torch.map(lambda x, z: x * z + y, xs, y)

    shapes = {"xs": {0: Dim("n", min=1, max=9)}, "y": None}
    for program in both(forward, (numbers(4, 3), numbers(3, seed=1)), dynamic_shapes=shapes):
        assert [node.target.name for node in program.graph.nodes if hasattr(node.target, "graph_args")] == [
            "map_impl"
        ]
        agree(program, forward, [(numbers(n, 3), numbers(3, seed=1)) for n in (1, 2, 9)])


def test_scalars_read_from_tensors() -> None:
    """M16: ``item()`` gives an unbacked number: an operator's argument is fine, a decision is the error."""

    def passes(x: Any, t: Any) -> Any:
        return x * t.item() + t.tolist()

    for program in both(passes, (numbers(3), torch.tensor(2.0))):
        agree(program, passes, [(numbers(3), torch.tensor(v)) for v in (2.0, -1.5, 0.0)])

    def converted(x: Any, t: Any) -> Any:
        return x * float(t) + x

    program = export(converted, (numbers(3), torch.tensor(2.0)), strict=True)
    agree(program, converted, [(numbers(3), torch.tensor(v)) for v in (2.0, -1.5, 0.0)])
    error = refused(converted, (numbers(3), torch.tensor(2.0)), strict=False, error=dl.DataDependentError)
    assert error.id == "data-dependent-value"

    def decides(x: Any, t: Any) -> Any:
        return x + 1 if t.item() > 0 else x

    for strict in (False, True):
        error = refused(decides, (numbers(3), torch.tensor(2.0)), strict=strict, error=dl.DataDependentError)
        assert error.location.line == decides.__code__.co_firstlineno + 1
