"""State of the process that forward reads, mostly in C: changed between decorated calls the result is eager's, or the call raises."""

from __future__ import annotations

import array
import codecs
import collections
import contextvars
import copy
import csv
import datetime
import decimal
import logging
import operator
import os
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn

Read = Callable[[Any], Any]
Change = Callable[[Any], Any]
LOGGER: Final = logging.getLogger("tests.ambient")
NAME: Final = "DYNAMO_LITE_AMBIENT"
OTHER: Final[Any] = types.ModuleType("other_module_of_ambient")
LIST, OBJECT, UNSET = (contextvars.ContextVar[Any](name) for name in ("LIST", "OBJECT", "UNSET"))


class Slotted:
    __slots__ = ("m", "n")


class Whole(int):
    """A number of a class of its own."""


class Holder:
    """What the model reads of."""

    def __init__(self) -> None:
        self.n = 3
        self.ranges, self.range = [range(1, 4)], range(1, 4)
        self.slices, self.slice = [slice(0, 2)], slice(0, 2)
        self.slotted = Slotted()
        self.number, self.numbers = Decimal(3), [Decimal(3)]
        self.arithmetic = decimal.Context(prec=10)
        self.bytes = bytearray([3, 4])
        self.view = memoryview(self.bytes)
        self.array = array.array("d", [3, 4])
        self.default: Any = collections.defaultdict(lambda: 8, a=3)
        self.queue = collections.deque([types.SimpleNamespace(n=3)])
        self.ordered = collections.OrderedDict(a=types.SimpleNamespace(n=3))
        self.nested = collections.OrderedDict(a={"n": 3}, b=[3], c={3})
        self.members = {threading.Event()}
        for each in self.members:
            each.n = 3  # type: ignore[attr-defined]
        self.whole: Any = Whole(3)
        self.match: Any = re.match("a*", "aaa")
        self.zone = ZoneInfo("America/New_York")
        self.dots: Any = ...
        self.context = contextvars.copy_context()
        self.day = datetime.date(2000, 1, 1)
        self.spaces = [types.SimpleNamespace(n=3)]
        self.errors = [ValueError("a")]
        self.pick: Any = operator.itemgetter(0)
        self.local = threading.local()


def third() -> Decimal:
    return Decimal(1) / Decimal(3)


def precision(held: Any) -> None:
    decimal.getcontext().prec = 3


def rounding(held: Any) -> None:
    decimal.getcontext().rounding = decimal.ROUND_UP


def locally() -> Decimal:
    with decimal.localcontext() as context:
        context.prec = 5
        return Decimal("1.00005") + 0


def quotient() -> float:
    try:
        return float(min(5.0, np.float64(1.0) / np.float64(0.0)))
    except FloatingPointError:
        return -1.0


def quotients() -> float:
    try:
        return float(min(5.0, np.divide(np.ones(1), np.zeros(1))[0]))
    except FloatingPointError:
        return -1.0


def digits() -> float:
    try:
        return float(len(str(10**5000)))
    except ValueError:
        return -1.0


def warned() -> float:
    try:
        warnings.warn("ambient", FutureWarning, stacklevel=1)
    except FutureWarning:
        return 2.0
    return 1.0


def unset(obj: Any) -> float:
    try:
        return float(obj.m)
    except AttributeError:
        return 7.0


def imported() -> float:
    try:
        from other_module_of_ambient import m  # type: ignore[import-not-found]

        return float(m)
    except ImportError:
        return 7.0


def zone(held: Any) -> None:
    os.environ["TZ"] = "Asia/Kathmandu"
    time.tzset()


def new_global(held: Any) -> None:
    globals()["MADE_LATER"] = 515


def other_attribute(held: Any) -> None:
    OTHER.m = 1


def variable(held: Any) -> None:
    os.environ[NAME] = "1"


ROWS: Final[dict[str, tuple[Read, Change]]] = {
    "decimal": (lambda held: third(), precision),
    "decimal_rounding": (lambda held: Decimal("1.25").quantize(Decimal("0.1")), rounding),
    "decimal_text": (lambda held: format(Decimal("1.25"), ".1f"), rounding),
    "decimal_locally": (lambda held: locally(), rounding),
    "decimal_sum": (lambda held: sum(held.numbers, Decimal("1.123456789")), precision),
    "decimal_told": (lambda held: decimal.getcontext().prec, precision),
    "decimal_other_context": (
        lambda held: third(),
        lambda held: decimal.setcontext(decimal.Context(prec=3)),
    ),
    "decimal_held": (lambda held: held.number, lambda held: setattr(held, "number", Decimal(5))),
    "decimal_in_list": (lambda held: held.numbers[0], lambda held: held.numbers.append(held.numbers.pop() + 2)),
    "decimal_context_held": (
        lambda held: held.arithmetic.divide(Decimal(1), Decimal(3)),
        lambda held: setattr(held.arithmetic, "prec", 2),
    ),
    "numpy_errors": (lambda held: len(np.geterr()["divide"]), lambda held: np.seterr(divide="ignore")),
    "numpy_raises": (lambda held: quotient(), lambda held: np.seterr(divide="raise")),
    "numpy_ufunc_raises": (lambda held: quotients(), lambda held: np.seterr(divide="raise")),
    "numpy_buffer": (lambda held: np.getbufsize(), lambda held: np.setbufsize(4096)),
    "numpy_text": (lambda held: len(str(np.float64(1 / 3))), lambda held: np.set_printoptions(legacy="1.13")),
    "recursion": (lambda held: sys.getrecursionlimit(), lambda held: sys.setrecursionlimit(5000)),
    "digits": (lambda held: sys.get_int_max_str_digits(), lambda held: sys.set_int_max_str_digits(5000)),
    "digits_used": (lambda held: digits(), lambda held: sys.set_int_max_str_digits(6000)),
    "grad": (lambda held: 1.0 + torch.is_grad_enabled(), lambda held: torch.set_grad_enabled(False)),
    "level": (lambda held: LOGGER.getEffectiveLevel(), lambda held: LOGGER.setLevel(10)),
    "level_of_parent": (lambda held: LOGGER.getEffectiveLevel(), lambda held: logging.root.setLevel(10)),
    "enabled": (lambda held: 1.0 + LOGGER.isEnabledFor(10), lambda held: LOGGER.setLevel(10)),
    "disabled": (lambda held: 1.0 + LOGGER.isEnabledFor(40), lambda held: logging.disable(50)),
    "logger_found": (
        lambda held: logging.getLogger("tests.ambient").level + 1,
        lambda held: LOGGER.setLevel(10),
    ),
    "warning": (lambda held: warned(), lambda held: warnings.simplefilter("error", FutureWarning)),
    "globals_length": (lambda held: len(globals()), new_global),
    "globals_contain": (lambda held: 1.0 + ("MADE_LATER" in globals()), new_global),
    "globals_get": (lambda held: globals().get("MADE_LATER", 7), new_global),
    "globals_loop": (lambda held: sum(1 for _ in globals()), new_global),
    "globals_values": (lambda held: 1.0 + (515 in globals().values()), new_global),
    "module_dir": (lambda held: len(dir(OTHER)), other_attribute),
    "module_vars": (lambda held: len(vars(OTHER)), other_attribute),
    "module_hasattr": (lambda held: 1.0 + hasattr(OTHER, "m"), other_attribute),
    "module_getattr": (lambda held: getattr(OTHER, "m", 7), other_attribute),
    "module_attribute": (lambda held: unset(OTHER), other_attribute),
    "module_import": (lambda held: imported(), other_attribute),
    "slot_hasattr": (
        lambda held: 1.0 + hasattr(held.slotted, "m"),
        lambda held: setattr(held.slotted, "m", 1),
    ),
    "slot_attribute": (lambda held: unset(held.slotted), lambda held: setattr(held.slotted, "m", 1)),
    "environment_length": (lambda held: len(os.environ), variable),
    "environment_loop": (lambda held: 1.0 + sum(name == NAME for name in os.environ), variable),
    "environment_items": (lambda held: 1.0 + len([1 for key, _ in os.environ.items() if key == NAME]), variable),
    "environment_copy": (lambda held: os.environ.copy().get(NAME, 7), variable),
    "environment_text": (lambda held: len(repr(os.environ)), variable),
    "environment_bytes": (lambda held: os.environb.get(NAME.encode(), b"7"), variable),
    "range_in_list": (
        lambda held: held.ranges[0][1],
        lambda held: held.ranges.insert(0, range(5, 9)),
    ),
    "range": (lambda held: sum(held.range), lambda held: setattr(held, "range", range(5, 9))),
    "range_length": (lambda held: len(held.range), lambda held: setattr(held, "range", range(9))),
    "slice_in_list": (
        lambda held: sum([1, 2, 3][held.slices[0]]),
        lambda held: held.slices.insert(0, slice(0, 3)),
    ),
    "slice": (lambda held: sum([1, 2, 3][held.slice]), lambda held: setattr(held, "slice", slice(0, 3))),
    "variable_item": (lambda held: LIST.get()[0], lambda held: LIST.get().insert(0, 5)),
    "variable_attribute": (lambda held: OBJECT.get().n, lambda held: setattr(OBJECT.get(), "n", 5)),
    "context_get": (lambda held: held.context.get(LIST, [7])[0], lambda held: held.context.run(LIST.set, [5])),
    "context_run": (lambda held: held.context.run(LIST.get)[0], lambda held: held.context.run(LIST.set, [5])),
    "context_length": (lambda held: len(contextvars.copy_context()), lambda held: UNSET.set(1)),
    "zone_timestamp": (lambda held: datetime.datetime(2020, 1, 1).timestamp(), zone),
    "zone_text": (lambda held: len(time.strftime("%Z", (2020, 1, 1, 0, 0, 0, 0, 1, 0))), zone),
    "view_bytes": (lambda held: held.view.tobytes()[0], lambda held: held.bytes.__setitem__(0, 5)),
    "view_list": (lambda held: sum(held.view.tolist()), lambda held: held.bytes.__setitem__(0, 5)),
    "array": (lambda held: sum(held.array), lambda held: held.array.append(5)),
    "factory": (
        lambda held: copy.copy(held.default)["b"],
        lambda held: setattr(held.default, "default_factory", lambda: 9),
    ),
    "queue_item": (lambda held: sum([each.n for each in held.queue]), lambda held: setattr(held.queue[0], "n", 5)),
    "ordered_values": (
        lambda held: next(iter(held.ordered.values())).n,
        lambda held: setattr(held.ordered["a"], "n", 5),
    ),
    "members": (
        lambda held: sum([each.n for each in held.members]),
        lambda held: [vars(each).update(n=5) for each in held.members],
    ),
    "nested_dict": (
        lambda held: sum(next(iter(held.nested.values())).values()),
        lambda held: held.nested["a"].update(n=5),
    ),
    "nested_dict_loop": (
        lambda held: sum([len(each) for each in held.nested.values()]),
        lambda held: held.nested["a"].update(m=5),
    ),
    "nested_list": (
        lambda held: sum([*held.nested.values()][1]),
        lambda held: held.nested["b"].append(5),
    ),
    "nested_set": (lambda held: len(held.nested["c"]), lambda held: held.nested["c"].add(5)),
    "nested_text": (lambda held: len(repr(held.nested)), lambda held: held.nested["a"].update(m=5)),
    "number_of_a_class": (lambda held: held.whole + 1, lambda held: setattr(held, "whole", Whole(5))),
    "match": (lambda held: held.match.end(), lambda held: setattr(held, "match", re.match("a", "a"))),
    "zone_held": (
        lambda held: len(str(datetime.datetime(2020, 1, 1, tzinfo=held.zone).tzname())),
        lambda held: setattr(held, "zone", ZoneInfo("Asia/Kathmandu")),
    ),
    "dots": (lambda held: 1.0 + (held.dots is ...), lambda held: setattr(held, "dots", NotImplemented)),
    "day": (lambda held: len(held.day.strftime("%B")), lambda held: setattr(held, "day", datetime.date(2000, 9, 1))),
    "text_of_spaces": (lambda held: len(f"{held.spaces!r}"), lambda held: setattr(held.spaces[0], "n", 12345)),
    "text_of_errors": (lambda held: len(repr(held.errors)), lambda held: setattr(held.errors[0], "args", (12345,))),
    "getter": (lambda held: held.pick([3, 4]), lambda held: setattr(held, "pick", operator.itemgetter(1))),
    "dialects": (lambda held: len(csv.list_dialects()), lambda held: csv.register_dialect("ambient")),
    "codec": (
        lambda held: len("ä".encode("ascii", "ambient")),
        lambda held: codecs.register_error("ambient", lambda error: ("yyy", 1)),
    ),
    "local": (lambda held: 1.0 + hasattr(held.local, "m"), lambda held: setattr(held.local, "m", 1)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def surroundings() -> Iterator[None]:
    """The process as it was, whatever a test changes of it."""
    context, errors, text, buffer = (
        decimal.getcontext().copy(),
        np.geterr(),
        np.get_printoptions(),
        np.getbufsize(),
    )
    recursion, longest, environment = sys.getrecursionlimit(), sys.get_int_max_str_digits(), dict(os.environ)
    root = logging.root.level
    sys.modules["other_module_of_ambient"] = OTHER
    codecs.register_error("ambient", lambda error: ("y", 1))
    with warnings.catch_warnings():
        yield
    decimal.setcontext(context)
    np.seterr(**errors)
    np.set_printoptions(**text)
    np.setbufsize(buffer)
    sys.setrecursionlimit(recursion)
    sys.set_int_max_str_digits(longest)
    torch.set_grad_enabled(True)
    logging.disable(logging.NOTSET)
    logging.root.setLevel(root)
    LOGGER.setLevel(logging.NOTSET)
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
    time.tzset()
    globals().pop("MADE_LATER", None)
    vars(OTHER).pop("m", None)
    del sys.modules["other_module_of_ambient"]
    if "ambient" in csv.list_dialects():
        csv.unregister_dialect("ambient")


def model_with(read: Read, held: Any, strict: bool = True) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = held

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * float(read(self.held))

    return Model()


def outcome(model: Any, x: Any) -> Any:
    """What eager gives: a list, or the type of what it raises."""
    try:
        return type(model).forward.function(model, x).tolist()
    except (OSError, ValueError, ArithmeticError) as error:
        return type(error)


@pytest.mark.parametrize("strict", [True, False])
def test_inference_mode_is_a_condition(strict: bool) -> None:
    model = model_with(lambda held: 1.0 + torch.is_inference_mode_enabled(), None, strict)
    x = torch.ones(2)
    with torch.no_grad():
        assert model(x).tolist() == [1.0, 1.0]
        with torch.inference_mode(), pytest.raises(dl.GuardError):
            model(x)
        assert model(x).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("strict", [True, False])
def test_a_program_runs_in_the_gradient_mode_that_it_asked_for(strict: bool) -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if torch.is_grad_enabled() else x * 3

    program = dl.export(Model(), (torch.ones(2),), strict=strict)
    assert program.module()(torch.ones(2)).tolist() == [2.0, 2.0]
    with torch.no_grad(), pytest.raises(dl.GuardError, match="gradient-mode-around"):
        program.module()(torch.ones(2))


@pytest.mark.parametrize("name", ROWS)
def test_a_state_of_the_process_is_a_condition(name: str) -> None:
    read, change = ROWS[name]

    def scene() -> None:
        LIST.set([3])
        OBJECT.set(types.SimpleNamespace(n=3))
        model, x = model_with(read, Holder()), torch.ones(2)
        before = outcome(model, x)
        try:
            found = model(x).tolist()
        except dl.ExportError as refused:
            assert not isinstance(refused, dl.GuardError), refused
            assert refused.location is not None
            return
        assert found == before
        assert model(x).tolist() == before
        change(model.held)
        assert outcome(model, x) != before
        with pytest.raises(dl.GuardError):
            model(x)

    contextvars.copy_context().run(scene)
