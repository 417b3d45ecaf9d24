"""The documented examples about control flow on data (M16-M18, M23, M26)."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from fx_ir.guard_errors import ASSERTION
from tests.exporting import (
    agree,
    both,
    both_modes,
    calls,
    guards,
    line_of,
    numbers,
    refused,
    text,
)


def branch_on_data(x: Any) -> Any:
    if x.sum() > 0:  # decides on data
        return x.sin()
    return x.cos()


@both_modes
def test_branch_on_data_is_refused(strict: bool) -> None:
    """M16: an error at export that shows the user's line and names ``cond``."""
    error = refused(branch_on_data, (torch.randn(3),), strict=strict, error=dl.DataDependentError)
    assert (error.location.file, error.location.line) == (__file__, line_of("decides on data", __file__))
    assert error.location.function == "branch_on_data"
    assert "cond(pred, true_fn, false_fn, operands)" in error.hint


def branch_by_cond(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


def test_cond_keeps_both_branches() -> None:
    """M17: both branches are in the program, and no guard is added."""
    for program in both(branch_by_cond, (torch.randn(3),)):
        assert calls(program)[:3] == [
            "torch.ops.aten.sum.default",
            "torch.ops.aten.gt.Scalar",
            "torch.ops.higher_order.cond",
        ]
        branches = program.graph_module.submodules
        assert text(branches["true_graph_0"].graph) == ["sin = aten.sin.default(x)"]
        assert text(branches["false_graph_0"].graph) == ["cos = aten.cos.default(x)"]
        assert guards(program) == []
        agree(program, branch_by_cond, [(torch.ones(3),), (-torch.ones(3),)])


def test_cond_on_sizes_adds_no_guard() -> None:
    """M17: a predicate about sizes keeps both branches and needs no specification but its own range."""

    def forward(x: Any) -> Any:
        return torch.cond(x.shape[0] > 3, lambda x: x + 1, lambda x: x - 1, (x,))

    for program in both(forward, (numbers(4),), dynamic_shapes={"x": {0: dl.Dim("n", max=9)}}):
        assert guards(program) == []
        agree(program, forward, [(numbers(n),) for n in (0, 3, 4, 9)])


def test_cond_with_a_constant_takes_its_branch() -> None:
    """M17: a constant predicate takes its branch, and no ``cond`` is left."""

    def forward(x: Any) -> Any:
        return torch.cond(x.shape[0] == 3, lambda x: x + 1, lambda x: x - 1, (x,))

    for program in both(forward, (numbers(3),)):
        assert text(program) == ["add = aten.add.Tensor(x, 1)"]


def nonzero_unchecked(x: Any) -> Any:
    nz = x.nonzero()
    if nz.shape[0] > 0:  # decides on a count
        return x.sin()
    return x.cos()


@both_modes
def test_unbacked_branch_proposes_the_check(strict: bool) -> None:
    """M16, M18, M21: the error proposes the very call, in the user's own names."""
    error = refused(nonzero_unchecked, (torch.randn(3),), strict=strict, error=dl.DataDependentError)
    assert error.location.line == line_of("decides on a count", __file__)
    assert "_check(nz.shape[0] > 0)" in error.hint


def nonzero_checked(x: Any) -> Any:
    nz = x.nonzero()
    torch._check(nz.shape[0] > 0)
    if nz.shape[0] > 0:
        return x.sin()
    return x.cos()


def test_check_settles_the_branch() -> None:
    """M18, M26: ``sin`` alone, and an inline assertion right after the nonzero."""
    for program in both(nonzero_checked, (torch.randn(3),)):
        assert calls(program) == [
            "torch.ops.aten.nonzero.default",
            "torch.ops.aten.sym_size.int",
            "operator.ge",
            "torch.ops.aten._assert_scalar.default",
            "torch.ops.aten.sin.default",
        ]
        agree(program, nonzero_checked, [(torch.ones(3),)])
        with pytest.raises(dl.GuardError) as caught:
            program.module()(torch.zeros(3))
        assert caught.value.id == ASSERTION.id


def test_proposed_check_works_when_copied() -> None:
    """M18: what the hint proposes, copied into the code before the line, makes the model exportable."""
    error = refused(nonzero_unchecked, (torch.randn(3),), strict=True)
    proposal = error.hint.split("with ")[1].split(" or ")[0]
    source = (
        "def forward(x):\n"
        "    nz = x.nonzero()\n"
        f"    {proposal}\n"
        "    if nz.shape[0] > 0:\n        return x.sin()\n    return x.cos()\n"
    )
    namespace: dict[str, Any] = {"_check": dl.check}
    exec(compile(source, __file__, "exec"), namespace)
    for program in both(namespace["forward"], (torch.ones(3),)):
        assert calls(program)[-1] == "torch.ops.aten.sin.default"


def test_messages_of_checks() -> None:
    """M18, M26: a message may be a function that shows sizes: no guard, and its text is what the run-time error says."""

    def forward(x: Any) -> Any:
        nz = x.nonzero()
        torch._check(nz.shape[0] >= 2, lambda: f"at least two of {x.shape[0]}")
        return nz * 2

    for program in both(forward, (torch.ones(3),), dynamic_shapes={"x": {0: dl.Dim("n", min=1)}}):
        assert guards(program) == []
        agree(program, forward, [(torch.ones(2),), (torch.ones(7),)])
        with pytest.raises(dl.GuardError, match="at least two of n"):
            program.module()(torch.zeros(3))


@both_modes
def test_check_about_a_backed_size_is_a_guard(strict: bool) -> None:
    """M18, M24: about a backed size a check is a guard, proved like any other; false at the example it is refused."""

    def forward(x: Any) -> Any:
        torch._check(x.shape[0] > 2, lambda: "three rows")
        return x * 2

    wide, narrow = dl.Dim("n", min=1, max=9), dl.Dim("n", min=3, max=9)
    error = refused(
        forward,
        (numbers(4),),
        dynamic_shapes={"x": {0: wide}},
        strict=strict,
        error=dl.ConstraintViolationError,
    )
    assert error.location.line == forward.__code__.co_firstlineno + 1
    error = refused(forward, (numbers(2),), dynamic_shapes={"x": {0: wide}}, strict=strict)
    assert error.id == "check-failed"
    assert "three rows" in error.message
    for program in both(forward, (numbers(4),), dynamic_shapes={"x": {0: narrow}}):
        agree(program, forward, [(numbers(n),) for n in (3, 9)])
