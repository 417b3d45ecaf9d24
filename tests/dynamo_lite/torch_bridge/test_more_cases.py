"""More small programs that go wrong elsewhere, with PyTorch's tensors: programs taken apart, effects, Python inside forward."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import logging
import math
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import pytest
import torch

import dynamo_lite as dl
from dynamo_lite import Dim
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, export_both, module

LIBRARY = torch.library.Library("dynamo_lite_cases", "FRAGMENT")
LIBRARY.define("shift(Tensor x, Tensor(a!) total) -> Tensor")
LIBRARY.impl("shift", lambda x, total: total.add_(x).sum() + x, "CPU")
torch.library.register_fake("dynamo_lite_cases::shift", lambda x, total: torch.empty_like(x), lib=LIBRARY)


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


# --- programs taken apart


@both_modes
def test_an_unflattened_program_is_exported_again(strict: bool) -> None:
    model = module(lambda self, x, y: {"sum": self.lin(x["a"]) + y, "all": [x["b"], y * 2]})
    args = ({"a": numbers(2, 4), "b": numbers(3)}, torch.ones(4))
    first = dl.export(model, args, strict=strict)
    second = dl.export(dl.unflatten(first), args, strict=strict)
    assert_same(model(*args), second.module()(*args))


@both_modes
def test_a_module_called_twice_is_one_call_when_unflattened(strict: bool) -> None:
    model = module(lambda self, x: self.lin(self.lin(x)))
    apart = dl.unflatten(dl.export(model, (numbers(2, 4),), strict=strict))
    assert_same(model(numbers(2, 4)), apart(numbers(2, 4)))
    assert_same(model.lin(numbers(2, 4)), apart.lin(numbers(2, 4)))


def of_an_input(self: Any, x: Any, total: Any) -> Any:
    return torch.ops.dynamo_lite_cases.shift(x, total)


def of_a_local(self: Any, x: Any, total: Any) -> Any:
    return torch.ops.dynamo_lite_cases.shift(x, total * 1)


@both_modes
@pytest.mark.parametrize(("forward", "outputs"), [(of_an_input, 2), (of_a_local, 1)])
def test_decomposing_keeps_outputs(forward: Any, outputs: int, strict: bool) -> None:
    program = dl.export(module(forward), (torch.ones(3), numbers(3)), strict=strict)
    for each in (program, program.run_decompositions()):
        assert len(each.graph_signature.output_specs) == outputs
        x, ours, eager = torch.ones(3), numbers(3), numbers(3)
        assert_same(module(forward)(x, eager), each.module()(x, ours))
        assert torch.equal(ours, eager)


@both_modes
def test_a_program_is_no_file(strict: bool) -> None:
    program = dl.export(module(lambda self, x: x + 1), (numbers(3),), strict=strict)
    with pytest.raises(dl.InputError):
        dl.load(program)  # type: ignore[arg-type]


@both_modes
def test_strings_with_quotes(strict: bool) -> None:
    model = module(lambda self, x, how: x * 2 if how == 'it\'s "so"\n' else x)
    program = dl.export(model, (numbers(3), 'it\'s "so"\n'), strict=strict).module()
    assert_same(numbers(3) * 2, program(numbers(3), 'it\'s "so"\n'))
    with pytest.raises(dl.GuardError):
        program(numbers(3), "its so")


# --- effects


@both_modes
def test_what_is_said_on_the_way(strict: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def forward(self: Any, x: Any) -> Any:
        print("seen", x.shape)
        warnings.warn("careful", stacklevel=1)
        logging.getLogger("cases").warning("noted")
        return self.lin(x)

    model = module(forward)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = dl.export(model, (numbers(2, 4),), strict=strict)
        capsys.readouterr()
        assert_same(model.lin(numbers(2, 4)), program.module()(numbers(2, 4)))
    assert capsys.readouterr().out == ""
    assert program.effects


# --- Python inside forward


def delegated(self: Any, x: Any) -> Any:
    def inner() -> Generator[Any, None, int]:
        yield x
        return 7

    def outer() -> Iterator[Any]:
        result = yield from inner()
        yield x * result

    return list(outer())


class Key:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def hashed(self: Any, x: Any) -> Any:
    return x * len({Key(1), Key(1)}) + {Key(2): 3}[Key(2)]


class Kinds(type):
    def __call__(cls, *args: Any) -> Any:
        return super().__call__(*args, 2)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, int)


class Failed(Exception):
    def __str__(self) -> str:
        return "3.5"


def shown(self: Any, x: Any) -> Any:
    class Scaled(metaclass=Kinds):
        def __init__(self, first: int, second: int) -> None:
            self.by = first * second

    made = Scaled(3)  # type: ignore[call-arg]
    try:
        raise Failed("hidden")
    except Failed as error:
        text = str(error)
    return x * made.by + float(format(3.14159, ".2f")) + float(text) + isinstance(5, Scaled)


def classes(self: Any, x: Any) -> Any:
    @dataclasses.dataclass(order=True)
    class Point:
        a: int
        b: Any = dataclasses.field(default=None, compare=False)

    class Colour(enum.Enum):
        RED = 2
        BLUE = enum.auto()

    class Pair(NamedTuple):
        left: Any
        right: int = 4

    class Base(abc.ABC):
        @abc.abstractmethod
        def scale(self, value: Any) -> Any: ...

    class Doubling(Base):
        def scale(self, value: Any) -> Any:
            return value * 2

    pair = Pair(x)
    point = max(Point(1, x), Point(2, x + 1))
    try:
        Base()  # type: ignore[abstract]
    except TypeError:
        extra = 1
    return (
        Doubling().scale(pair.left) * pair.right + point.b * Colour["RED"].value + Colour.BLUE.value + extra
    )


def groups(self: Any, x: Any) -> Any:
    found = 0
    try:
        raise ExceptionGroup("several", [ValueError(1), KeyError(2), ValueError(3)])
    except* ValueError as some:
        found += len(some.exceptions)
    except* KeyError as others:
        found += 10 * len(others.exceptions)
    error = ValueError("a")
    error.add_note("b")
    match {"kind": "scale", "by": 3, "rest": [1, 2]}:
        case {"kind": "scale", "by": int(by), "rest": [int(first), *_]}:
            found += by + first
    match Key(5):
        case Key(value=5):
            found += 100
    return x * found + len(error.__notes__)


def driven(self: Any, x: Any) -> Any:
    async def values() -> Any:
        for step in range(3):
            yield x * step

    async def total() -> Any:
        result = x * 0
        async for value in values():
            result = result + value
        return result

    running = total()
    try:
        running.send(None)
    except StopIteration as end:
        return end.value


PYTHON: list[Callable[..., Any]] = [delegated, hashed, shown, classes, groups, driven]


@pytest.mark.parametrize("forward", PYTHON, ids=lambda forward: str(forward.__name__))
def test_python_inside_forward(forward: Any) -> None:
    model = module(forward)
    program = export_both(model, (numbers(2, 3),), dynamic_shapes={"x": {0: Dim("n", max=9)}})
    for size in (2, 5):
        assert_same(model(numbers(size, 3)), program.module()(numbers(size, 3)))


# --- numbers of sizes


@both_modes
@pytest.mark.parametrize(
    "bound",
    [lambda n: math.ceil(n / 3), lambda n: round(n / 2), lambda n: math.floor(n / 3) + 1],
    ids=["ceil", "round", "floor"],
)
def test_rounded_sizes_stay_symbolic(bound: Any, strict: bool) -> None:
    model = module(lambda self, x: x[: bound(x.shape[0])])
    program = dl.export(model, (numbers(7),), dynamic_shapes=[{0: Dim("n", min=3, max=40)}], strict=strict)
    for size in (3, 5, 6, 8, 40):
        assert_same(model(numbers(size)), program.module()(numbers(size)))


@both_modes
def test_int_of_a_part_of_a_size(strict: bool) -> None:
    model = module(lambda self, x: x[: int(0.5 * x.shape[0])])
    spec = [{0: Dim("n", min=2, max=40)}]
    if not strict:  # CPython asks for the value
        with pytest.raises(dl.ConstraintViolationError):
            dl.export(model, (numbers(7),), dynamic_shapes=spec, strict=False)
        return
    program = dl.export(model, (numbers(7),), dynamic_shapes=spec, strict=True)
    for size in (2, 5, 40):
        assert_same(model(numbers(size)), program.module()(numbers(size)))


def found_at_most(self: Any, x: Any) -> Any:
    found = torch.nonzero(x)
    return found * 2 if found.shape[0] <= x.shape[0] else found


def odd(self: Any, x: Any) -> Any:
    u, v = x[0].item(), x[1].item()
    torch._check(v == 2 * u + 1)
    return x * 2 if v % 2 == 1 else x


def part_of_the_whole(self: Any, x: Any) -> Any:
    u, v = x[0].item(), x[1].item()
    torch._check(u >= 0)
    torch._check(v >= 0)
    torch._check(u + v == x.shape[0])
    return x[:u] if u <= x.shape[0] else x


@both_modes
@pytest.mark.parametrize(
    ("forward", "inputs"),
    [
        (found_at_most, [[0, 3, 0], [1, 2, 3, 4]]),
        (odd, [[1, 3, 0], [4, 9, 1, 1]]),
        (part_of_the_whole, [[1, 2, 5], [0, 4, 1, 1]]),
    ],
    ids=["nonzero", "parity", "sum"],
)
def test_facts_about_data_discharge_questions(forward: Any, inputs: Any, strict: bool) -> None:
    model, examples = module(forward), [torch.tensor(values) for values in inputs]
    spec = [{0: Dim("n", min=2, max=9)}]
    program = dl.export(model, (examples[0],), dynamic_shapes=spec, strict=strict).module()
    for example in examples:
        assert_same(model(example), program(example))


def handed_on(forward: Any) -> Any:
    @functools.wraps(forward)
    def wrapper(*given: Any, **named: Any) -> Any:
        return forward(*given, **named)

    return wrapper


def given_more(forward: Any) -> Any:
    @functools.wraps(forward)
    def wrapper(self: Any, *given: Any, **named: Any) -> Any:
        return forward(self, 3, *given, **named)

    return wrapper


@both_modes
@pytest.mark.parametrize("wrap", [torch.no_grad(), torch.inference_mode(), handed_on])
def test_arguments_of_a_wrapped_forward_have_their_names(wrap: Any, strict: bool) -> None:
    """In specifications, in the contract and in errors; what a wrapper adds to a call is not counted in."""

    def forward(self: Any, rows: Any, factor: int = 2) -> Any:
        return rows * factor

    model = module(wrap(forward))
    program = dl.export(
        model, (torch.ones(3, 4), 2), dynamic_shapes={"rows": {0: dl.Dim("n")}, "factor": None}, strict=strict
    )
    assert torch.equal(program.module()(rows=torch.ones(5, 4), factor=2), torch.full((5, 4), 2.0))
    with pytest.raises(dl.GuardError, match=r"rows.shape\[1\]"):
        program.module()(torch.ones(5, 3), 2)
    with pytest.raises(dl.InputError, match="'row', and forward was given rows, factor") as caught:
        dl.export(model, (torch.ones(3, 4), 2), dynamic_shapes={"row": None}, strict=strict)
    assert caught.value.location is not None and caught.value.location.file == __file__

    more = module(given_more(lambda self, factor, rows: rows * factor))
    assert dl.export(
        more, (torch.ones(3),), dynamic_shapes=({0: dl.Dim("n")},), strict=strict
    ).range_constraints
