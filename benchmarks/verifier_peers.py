"""Other deciders of conditions on sizes, each asked what it can state: raw z3, jax's symbolic dimensions, and PyTorch's two.

A peer takes a problem and one of its guards and answers ``proved``, ``refuted`` or ``open``; None where it cannot state the
question. What a peer can state is judged with the specification: one that cannot be told the facts is not asked. A zero divisor
refutes a guard here; jax and the validator take divisors as nonzero.
"""

from __future__ import annotations

import ast
import importlib.util
import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, Final

from solver.expr import BoolExpr
from solver.problem import Condition, Problem
from solver.prove.engine import Engine
from solver.prove.world import World
from solver.smt2 import obligation

Peer = Callable[[Problem, Condition], "str | None"]
LIMIT_MS: Final = 500
PATIENCE: Final = 1.5


def facts(problem: Problem) -> list[Condition]:
    return [*problem.spec, *problem.facts]


def z3_alone(problem: Problem, guard: Condition) -> str | None:
    """z3 on the guard as SMT-LIB text, half a second of time at most."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", LIMIT_MS)
    text = obligation(World(problem), guard, "unknown").partition("(check-sat)")[0]
    solver.from_string(text)
    answer = {"unsat": "proved", "sat": "refuted"}.get(str(solver.check()), "open")
    return (
        "open" if answer == "refuted" and "left open" in text else answer
    )  # floats are open constants there


# -- jax -----------------------------------------------------------------------------------------------------------


def jax_dims(problem: Problem, guard: Condition) -> str | None:
    """jax: a comparison of symbolic dimensions under constraints. An equality that it cannot decide is False to it."""
    names = _jax_symbols(problem)
    tree = ast.parse(guard.text, mode="eval").body
    if names is None or not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or _beyond_jax(tree):
        return None
    try:
        answer = bool(eval(guard.text, {"__builtins__": {}}, names))
    except Exception:  # an inconclusive comparison raises
        return "open"
    if isinstance(tree.ops[0], ast.Eq | ast.NotEq):
        surely = answer is isinstance(tree.ops[0], ast.Eq)
        return ("proved" if answer else "refuted") if surely else "open"
    return "proved" if answer else "refuted"


@lru_cache(maxsize=1)
def _jax_named(key: tuple[tuple[str, ...], tuple[str, ...]]) -> dict[str, Any] | None:
    from jax import export

    symbols, constraints = key
    try:
        dims = export.symbolic_shape(", ".join(symbols), constraints=list(constraints))
    except Exception:  # constraints that it does not take
        return None
    return dict(zip(symbols, dims, strict=True))


def _jax_symbols(problem: Problem) -> dict[str, Any] | None:
    constraints: list[str] = []
    for name, (low, high) in problem.ranges.items():
        constraints += [] if low is None else [f"{name} >= {low}"]
        constraints += [] if high is None else [f"{name} <= {high}"]
    for fact in facts(problem):
        tree = ast.parse(fact.text, mode="eval").body
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or _beyond_jax(tree):
            return None
        if not isinstance(tree.ops[0], ast.Eq | ast.GtE | ast.LtE):
            return None
        constraints.append(_jax_text(tree))
    return _jax_named((tuple(problem.symbols), tuple(constraints)))


class _Calls(ast.NodeTransformer):
    """jax spells division and remainder as functions in its constraints."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.FloorDiv: "floordiv", ast.Mod: "mod"}.get(type(node.op))
        return node if name is None else ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])


def _jax_text(tree: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(_Calls().visit(tree)))


def _beyond_jax(tree: ast.expr) -> bool:
    allowed = (
        ast.Compare,
        ast.cmpop,
        ast.BinOp,
        ast.operator,
        ast.UnaryOp,
        ast.USub,
        ast.Name,
        ast.Constant,
        ast.Load,
    )
    return any(
        not isinstance(node, allowed) or isinstance(node, ast.Div | ast.In | ast.Pow)
        for node in ast.walk(tree)
    )


# -- PyTorch -------------------------------------------------------------------------------------------------------


class _Size:
    """An integer of sympy with PyTorch's own floor division and remainder."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> _Size:
        return _Size(self.value + _plain(other))

    def __sub__(self, other: Any) -> _Size:
        return _Size(self.value - _plain(other))

    def __rsub__(self, other: Any) -> _Size:
        return _Size(_plain(other) - self.value)

    def __mul__(self, other: Any) -> _Size:
        return _Size(self.value * _plain(other))

    def __pow__(self, other: int) -> _Size:
        return _Size(self.value**other)

    def __neg__(self) -> _Size:
        return _Size(-self.value)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: Any) -> _Size:
        from torch.utils._sympy.functions import FloorDiv

        return _Size(FloorDiv(self.value, _plain(other)))

    def __mod__(self, other: Any) -> _Size:
        from torch.utils._sympy.functions import PythonMod

        return _Size(PythonMod(self.value, _plain(other)))


def _plain(value: Any) -> Any:
    import sympy

    return value.value if isinstance(value, _Size) else sympy.Integer(value)


def _sympy(text: str, names: dict[str, _Size]) -> Any:
    """One comparison as sympy has it; None for anything else."""
    import sympy

    tree = ast.parse(text, mode="eval").body
    if (
        not isinstance(tree, ast.Compare)
        or len(tree.ops) != 1
        or any(isinstance(n, ast.Call | ast.IfExp | ast.BoolOp | ast.Div | ast.Set) for n in ast.walk(tree))
    ):
        return None
    make = {
        ast.Eq: sympy.Eq,
        ast.NotEq: sympy.Ne,
        ast.Lt: sympy.Lt,
        ast.LtE: sympy.Le,
        ast.Gt: sympy.Gt,
        ast.GtE: sympy.Ge,
    }
    scope = {"__builtins__": {}, **names}
    sides = [_plain(eval(ast.unparse(side), scope)) for side in (tree.left, tree.comparators[0])]
    return make[type(tree.ops[0])](*sides)


def _told(problem: Problem, names: dict[str, _Size]) -> list[Any] | None:
    """Ranges and facts of the specification; None where one cannot be stated."""
    import sympy

    told: list[Any] = []
    for name, (low, high) in problem.ranges.items():
        told += [] if low is None else [sympy.Ge(names[name].value, low)]
        told += [] if high is None else [sympy.Le(names[name].value, high)]
    for fact in facts(problem):
        stated = _sympy(fact.text, names)
        if stated is None:
            return None
        told.append(stated)
    return [fact for fact in told if fact is not sympy.true]


@dataclass(frozen=True)
class _Question:
    """A guard and what is known, as sympy's conditions over sympy's symbols."""

    names: dict[str, _Size]
    told: list[Any]
    goal: Any


def _sizes(problem: Problem) -> dict[str, _Size]:
    import sympy

    return {name: _Size(sympy.Symbol(name, integer=True)) for name in problem.symbols}


@contextmanager
def _warnings(name: str) -> Iterator[list[str]]:
    """The messages that a logger gives; none is printed."""
    found: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _over_sympy(decide: Callable[[Problem, Condition, _Question], str | None]) -> Peer:
    """A peer that takes sympy's conditions: what these cannot state it is not asked, nor what sympy settles by itself."""

    def peer(problem: Problem, guard: Condition) -> str | None:
        import sympy

        names = _sizes(problem)
        told, goal = _told(problem, names), _sympy(guard.text, names)
        if told is None or goal is None:
            return None
        if goal in (sympy.true, sympy.false):
            return "proved" if goal is sympy.true else "refuted"
        return decide(problem, guard, _Question(names, told, goal))

    return peer


@_over_sympy
def torch_validator(problem: Problem, guard: Condition, asked: _Question) -> str | None:
    """PyTorch's translation validator: z3 on whether the target expressions imply the source expressions."""
    import torch.fx.experimental._config as config
    from torch.fx.experimental.validator import TranslationValidator, ValidationException

    config.translation_validation_timeout = LIMIT_MS
    validator = TranslationValidator()
    for size in asked.names.values():
        validator.add_var(size.value, int)
    for fact in asked.told:
        validator.add_target_expr(fact)
    validator.add_source_expr(validator.to_z3_boolean_expr(asked.goal))
    with _warnings("torch.fx.experimental.validator") as said:
        try:
            validator.validate()
        except ValidationException:
            return "refuted"
    return "open" if said or not asked.told else "proved"


@_over_sympy
def dim_constraints(problem: Problem, guard: Condition, asked: _Question) -> str | None:
    """PyTorch's DimConstraints: the guard follows where what it finds for the sizes is the same without it."""
    import sympy

    told, goal = asked.told, asked.goal
    if any(isinstance(fact, sympy.Ne) for fact in [goal, *told]):
        return None  # it drops these
    example = _example(problem, guard.expr)
    if example is None:
        return None
    values = {size.value: sympy.Integer(example[name]) for name, size in asked.names.items()}
    if goal.xreplace(values) == sympy.false:
        return "refuted"
    try:
        return "proved" if _reduced(values, told) == _reduced(values, [*told, goal]) else "open"
    except Exception:  # what it cannot reduce
        return "open"


def _reduced(values: dict[Any, Any], conditions: list[Any]) -> tuple[frozenset[str], ...]:
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimConstraints

    sources = {symbol: [ConstantSource(str(symbol))] for symbol in values}
    found = DimConstraints(sources, values, set(), {})
    for condition in conditions:
        found.add(condition)
    found.solve()
    if found._multivariate_inequalities:
        raise ValueError("it records conditions on several sizes and leaves them")
    return frozenset(found._dynamic_results), frozenset(found._static_results)


def _example(problem: Problem, guard: BoolExpr) -> dict[str, int] | None:
    """Sizes that meet the specification; where there are such, ones at which the guard holds too."""
    world = World(problem)
    sampler = Engine(world).sampler(frozenset(map(world.group_of, problem.symbols)))
    points = list(sampler)
    point = next((p for p in points if p.holds(guard)), points[0] if points else None)
    return None if point is None else {name: int(value) for name, value in point.assignment.items()}


_TORCH: Final = ("torch", "sympy", "torch.fx.experimental.validator", "torch._dynamo.source")
PEERS: Final[dict[str, tuple[tuple[str, ...], Peer]]] = {
    "z3 alone": (("z3",), z3_alone),
    "jax's dimensions": (("jax", "jax.export"), jax_dims),
    "PyTorch's validator": (_TORCH, torch_validator),
    "DimConstraints": (_TORCH, dim_constraints),
}


def answers(peer: Peer, questions: Sequence[tuple[Problem, Condition]]) -> Iterator[str | None]:
    """The peer's answers, ``open`` where it takes longer than ``PATIENCE`` seconds or ends its process.

    It runs in a child process, since nothing else stops a solver, or the writing of a long text, at any time.
    """
    fork = multiprocessing.get_context("fork")
    done = 0
    while done < len(questions):
        ours, theirs = fork.Pipe()
        child = fork.Process(target=_work, args=(peer, questions[done:], theirs), daemon=True)
        child.start()
        theirs.close()
        late = False
        while done < len(questions) and not late:
            try:
                late = not ours.poll(PATIENCE)
                yield "open" if late else ours.recv()
            except EOFError:
                late = True
                yield "open"
            done += 1
        child.kill()
        child.join()
        ours.close()


def _work(peer: Peer, questions: Sequence[tuple[Problem, Condition]], out: Connection) -> None:
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # what libraries log
        for problem, guard in questions:
            out.send(peer(problem, guard))


def missing(modules: tuple[str, ...]) -> bool:
    """Whether a peer is not installed; imports it where it is, so that no time limit ends an import."""
    if importlib.util.find_spec(modules[0]) is None:
        return True
    for module in modules:
        importlib.import_module(module)
    return False
