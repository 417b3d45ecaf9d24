"""What PyTorch's Python and C functions answer while a module is captured, where that is not an operator.

``ANSWERS`` is by identity, as the table of leaves is. An answer takes the arguments of the function that it stands for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NoReturn

import torch

from dynamo_lite import dispatch
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.packets import apply
from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES, to_torch
from dynamo_lite.torch_bridge.errors import ENCODER_PACKS
from dynamo_lite.trace import control
from dynamo_lite.trace.tracer import Tracer
from dynamo_lite.ways_out import _check
from fx_ir.dtypes import result_type
from solver import sym
from solver.sym import SymBool

PATCHED: Final[list[tuple[Any, str, Callable[..., Any]]]] = []
"""``(module, name, answer)`` of functions that are Python: what non-strict mode puts in their place while it runs."""

ANSWERS: Final[dict[int, Callable[..., Any]]] = {}
_KEPT: Final[list[Any]] = []


def answers(*callables: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the answer of these callables."""

    def declare(answer: Callable[..., Any]) -> Callable[..., Any]:
        for callable_ in callables:
            _KEPT.append(callable_)
            ANSWERS[id(callable_)] = answer
            name = getattr(callable_, "__name__", "")
            if type(callable_) is FunctionType and getattr(torch, name, None) is callable_:
                PATCHED.append((torch, name, answer))
        return answer

    return declare


# --- modes


@answers(torch.is_grad_enabled)
def _is_grad_enabled() -> bool:
    return modes.grad_enabled()


@answers(torch._C._set_grad_enabled)
def set_grad_enabled(enabled: bool) -> None:
    """The model sets the gradient mode."""
    recorder = dispatch.recorder()
    if recorder is not None:
        recorder.looked("switch")
    modes.set_grad_enabled(enabled)


@answers(torch.is_inference_mode_enabled)
def _is_inference_mode_enabled() -> bool:
    return modes.inference_enabled()


# --- what says that a capture runs: true of the capture alone, so that no program depends on it


@answers(torch.compiler.is_exporting)
def _is_exporting() -> bool:
    return True


@answers(torch.compiler.is_compiling)
def _is_compiling() -> bool:
    """False for an encoder that asks whether it may pack padded rows: eager does so, and leaves zeros where the padding is."""
    recorder: Any = dispatch.recorder()
    running = recorder.modules_now() if isinstance(recorder, Tracer) else ()
    return not running or running[-1][1] not in _encoders()


def _encoders() -> set[str]:
    found = [torch.nn.TransformerEncoder]
    for cls in found:
        found += cls.__subclasses__()
    return {cls.__name__ for cls in found}


PATCHED.append((torch.compiler, "is_compiling", _is_compiling))


@answers(torch._nested_tensor_from_mask_left_aligned)
def _is_left_aligned(src: Any, mask: Any) -> bool:
    """Said of every mask: should the encoder go on to pack by it, that is refused, whatever its values."""
    return True


@answers(torch._nested_tensor_from_mask)
def _pack(*args: Any, **kwargs: Any) -> NoReturn:
    raise ENCODER_PACKS(location=where())


# --- checks


def _with(kind: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Any = None) -> None:
        if isinstance(cond, SymBool):
            _check(cond, message)
        elif not cond:
            text = message() if callable(message) else message
            raise kind(text or "Expected cond to be True, but got False")

    return check


answers(torch._check)(_check)
for _name, _kind in (
    ("_check_value", ValueError), ("_check_index", IndexError), ("_check_type", TypeError),
    ("_check_not_implemented", NotImplementedError),
):  # fmt: skip
    answers(getattr(torch, _name))(_with(_kind))


@answers(torch._check_with)
def _check_with(error_type: type[Exception], cond: Any, message: Any) -> None:
    _with(error_type)(cond, message)


@answers(torch._check_is_size)
def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


@answers(torch._check_tensor_all)
def _check_tensor_all(cond: Any, message: Any = None) -> None:
    text = message() if callable(message) else message
    apply("_assert_async", apply("all", cond), text or "Expected cond to be True, but got False")


@answers(torch._assert)
def _assert(condition: Any, message: str) -> None:
    if is_tensor(condition):
        _check_tensor_all(condition, message)
    elif isinstance(condition, SymBool):
        _check(condition, message)
    elif not condition:
        raise AssertionError(message)


# --- symbolic numbers

for _name in ("sym_int", "sym_float", "sym_max", "sym_min", "sym_not", "sym_ite"):
    answers(getattr(torch, _name))(getattr(sym, _name))
answers(torch.sym_sqrt, torch._sym_sqrt)(sym.sym_sqrt)


@answers(torch.sym_sum)
def _sym_sum(args: Any) -> Any:
    total: Any = 0
    for arg in args:
        total = total + arg
    return total


def _expect_true(condition: Any, skip: int = 0) -> bool:
    if isinstance(condition, SymBool):
        _check(condition)
        return True
    return bool(condition)


def _or(default: bool) -> Callable[[Any], bool]:
    """``guard_or_false`` and its kin: what is known, else the example's answer as a guard, else ``default``."""

    def decide(condition: Any) -> bool:
        if not isinstance(condition, SymBool):
            return bool(condition)
        known = sym.statically_known(condition)
        if known is None:
            return default if condition.hint is None else bool(condition)
        return known

    return decide


def _known(expected: bool) -> Callable[[Any], bool]:
    def decide(condition: Any) -> bool:
        return (
            sym.statically_known(condition) is expected
            if isinstance(condition, SymBool)
            else bool(condition) is expected
        )

    return decide


_SHAPES: Final[dict[str, Callable[..., Any]]] = {
    "expect_true": _expect_true, "guard_or_false": _or(False), "guard_or_true": _or(True),
    "guard_size_oblivious": _or(False), "guard_bool": bool, "guard_int": int, "guard_float": float,
    "statically_known_true": _known(True), "statically_known_false": _known(False), "is_nested_int": lambda value: False,
    "sym_and": sym.sym_and, "sym_or": sym.sym_or, "is_symbolic": lambda value: isinstance(value, sym.SymNumber),
}  # fmt: skip


def answer_shapes() -> list[Any]:
    """Declares the answers of PyTorch's symbolic-shape helpers, if the process has loaded them (they bring sympy)."""
    module = sys.modules.get("torch.fx.experimental.symbolic_shapes")
    found = [] if module is None else [getattr(module, name) for name in _SHAPES if hasattr(module, name)]
    new = [function for function in found if id(function) not in ANSWERS]
    for function in new:
        answers(function)(_SHAPES[function.__name__])
    return new


# --- metadata


@answers(torch.result_type)
def _result_type(*operands: Any) -> torch.dtype:
    return TORCH_DTYPES[
        result_type(*[meta_of(operand) if is_tensor(operand) else operand for operand in operands])
    ]


@answers(torch.broadcast_shapes)
def _broadcast_shapes(*shapes: Any) -> Any:
    return to_torch(FUNCTIONS["broadcast_shapes"](*shapes))


@answers(torch.is_tensor)
def _is_tensor(obj: Any) -> bool:
    return is_tensor(obj)


# --- control flow

answers(torch.cond)(control.cond)
