"""A program over a live module: it reads the module's parameters and buffers at each call and writes buffer updates back."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dynamo_lite.errors import LIVE_STATE_CHANGED
from dynamo_lite.live_conditions import Conditions
from fx_ir.meta import TensorMeta
from fx_ir.program import ExportedProgram
from fx_ir.runner import make_plan

# What a program may look at of a tensor of the state besides dtype and shape.
_FACTS: Final[dict[str, Callable[[TensorMeta], Any]]] = {
    "layout": lambda meta: tuple(meta.strides),
    "offset": lambda meta: meta.offset,
    "grad": lambda meta: meta.requires_grad,
    "state": lambda meta: meta.requires_grad,
}


@dataclass(frozen=True, slots=True)
class _Bound:
    """What is known of one live module: whether its assumptions still hold, and its state as natives."""

    module: Any
    holds: Callable[[], bool]
    gather: Callable[[], list[Any]]


def _compile(text: Iterable[str], name: str, values: dict[str, Any]) -> Any:
    exec(compile("\n".join(text), f"<live: {name}>", "exec"), values)
    return values[name]


class LiveProgram:
    """Calls ``program`` with the state of a module that is given at each call.

    ``assigned`` names the buffers that forward replaces (the others it updates in place); ``defaults`` are the values of
    arguments that a call may leave out, since the original takes them so.
    """

    __slots__ = (
        "_arity",
        "_asked",
        "_assign",
        "_backend",
        "_bound",
        "_check",
        "_conditions",
        "_defaults",
        "_flatten",
        "_plan",
        "_run",
        "program",
    )

    def __init__(
        self,
        program: ExportedProgram,
        assigned: frozenset[str],
        defaults: dict[str, Any],
        conditions: Conditions,
        asked: Collection[str],
    ) -> None:
        from fx_ir.executor import compile_graph

        self.program = program
        call_args, call_kwargs = program.example_inputs or ((), {})
        self._arity = len(call_args) + len(call_kwargs)
        self._defaults = defaults
        self._backend = program.backend
        self._plan = make_plan(program)
        compiled = program.contract.compiled()
        self._flatten = compiled.flatten
        self._check = compiled.checker(self._backend)
        self._run = compile_graph(program.graph_module, self._backend).run
        self._bound: _Bound | None = None
        self._assign = self._write_assign(assigned)
        self._conditions = conditions
        self._asked = asked

    def _bind(self, module: Any) -> _Bound:
        """Walks the module as it is now. Raises GuardError where what was burned in no longer holds."""
        problem = self._conditions.problem(module)
        if problem is not None:
            raise LIVE_STATE_CHANGED(name=problem, expected="what it was at export")
        try:
            holds = self._conditions.bind(module)
            bound = self._bound = _Bound(module, holds, self._write_gather(module))
        except (KeyError, AttributeError) as error:
            raise LIVE_STATE_CHANGED(name=str(error), expected="present") from None
        return bound

    def _write_gather(self, module: Any) -> Callable[[], list[Any]]:
        """``gather()``: natives of the state. Raises GuardError where a tensor has changed its kind.

        An array that was seen at the last call is not looked at again: it cannot have changed its dtype or shape.
        """
        program, unwrap = self.program, self._backend.unwrap
        signature = program.graph_signature
        parameters, constants = set(signature.parameters), set(signature.lifted_tensor_constants)
        body: list[str] = []
        attribute = getattr(self._backend, "native_attribute", None)
        native = "unwrap(held)" if attribute is None else f"held.{attribute}"
        # A tensor that is its own native value may have changed under the same identity.
        again = " or t{0} is held" if attribute is None else ""
        values: dict[str, Any] = {"unwrap": unwrap, "seen": [None] * len(self._plan.state)}
        for index, name in enumerate(self._plan.state):
            if name in constants:
                place = _attribute(module, name)
                if place is None:
                    values[f"c{index}"] = program.tensor(name)
                    body.append(f"t{index} = unwrap(c{index})")
                    continue
                values[f"r{index}"], where = place
            else:
                path, _, leaf = name.rpartition(".")
                owner = _walk(module, path)
                values[f"r{index}"] = vars(owner)
                registry = "_parameters" if name in parameters else "_buffers"
                where = f"[{registry!r}][{leaf!r}]"
            values[f"check{index}"] = self._check_of(name)
            body += [
                f"held = r{index}{where}",
                f"t{index} = {native}",
                f"if t{index} is not seen[{index}]{again.format(index)}: check{index}(held); seen[{index}] = t{index}",
            ]
        names = [f"t{index}" for index in range(len(self._plan.state))]
        lines = [*body, f"return [{', '.join(names)}]"]
        gather: Callable[[], list[Any]] = _compile(
            ["def gather():", *[f"    {line}" for line in lines]], "gather", values
        )
        return gather

    def _check_of(self, name: str) -> Callable[[Any], None]:
        """A check that a tensor of the live module is of the kind that the program was made for."""
        describe, is_tensor = self._backend.describe, self._backend.is_tensor
        expected = describe(self.program.tensor(name))
        dtype, shape = expected.dtype, tuple(expected.shape)
        more = [facts for what, facts in _FACTS.items() if what in self._asked]

        def check(tensor: Any) -> None:
            found = describe(tensor) if is_tensor(tensor) else None
            if (
                found is None
                or found.dtype is not dtype
                or tuple(found.shape) != shape
                or any(facts(found) != facts(expected) for facts in more)
            ):
                raise LIVE_STATE_CHANGED(name=name, expected=repr(expected))

        return check

    def _write_assign(self, assigned: frozenset[str]) -> dict[str, Callable[[Any, Any], None]]:
        backend = self._backend

        def replacing(path: str, leaf: str) -> Callable[[Any, Any], None]:
            def assign(module: Any, tensor: Any) -> None:
                _walk(module, path)._buffers[leaf] = tensor

            return assign

        def writing(path: str, leaf: str) -> Callable[[Any, Any], None]:
            def assign(module: Any, tensor: Any) -> None:
                backend.assign(_walk(module, path)._buffers[leaf], backend.unwrap(tensor))

            return assign

        found: dict[str, Callable[[Any, Any], None]] = {}
        for update in self._plan.updates:
            if isinstance(update.target, str):
                path, _, leaf = update.target.rpartition(".")
                make = replacing if update.target in assigned else writing
                found[update.target] = make(path, leaf)
        return found

    def prepare(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], list[Any]]:
        """Checks inputs, assumptions and state. Raises GuardError where this program does not apply."""
        if len(args) + len(kwargs) < self._arity and self._defaults:
            given = self.program.contract.arg_names[: len(args)]
            kwargs = {
                **{name: value for name, value in self._defaults.items() if name not in given},
                **kwargs,
            }
        leaves = self._flatten(args, kwargs)
        self._check(leaves)
        bound = self._bound
        if bound is None or bound.module is not module or not bound.holds():
            bound = self._bind(module)
        try:
            return leaves, bound.gather()
        except (LookupError, AttributeError, TypeError) as error:
            raise LIVE_STATE_CHANGED(name=str(error), expected="present") from None

    def run(self, module: Any, leaves: Sequence[Any], natives: list[Any]) -> Any:
        """Runs the program on what :meth:`prepare` returned."""
        plan, unwrap = self._plan, self._backend.unwrap
        given = list(leaves)
        for index in plan.tensors:
            given[index] = unwrap(given[index])
        if plan.updates:
            plan.check_apart(self._backend, natives, given)
            natives, given = plan.kept(self._backend, natives, given)
        results = self._run(*natives, *given)
        if plan.updates:
            self._update(module, results, leaves, [*natives, *given])
        shown: Any = _Shown(self, module)
        return plan.shown(shown, leaves, results)

    def _update(
        self, module: Any, results: Sequence[Any], leaves: Sequence[Any], inputs: Sequence[Any]
    ) -> None:
        backend = self._backend
        pending: list[tuple[Any, Any]] = []
        for update, native in zip(self._plan.updates, results, strict=False):
            tensor = backend.wrap(native, None)
            shares = update.copies or any(native is value for value in inputs)
            pending.append((update.target, backend.snapshot(tensor) if shares else tensor))
        for target, tensor in pending:
            if isinstance(target, int):
                backend.assign(leaves[target], backend.unwrap(tensor))
            else:
                self._assign[target](module, tensor)


class _Shown:
    """What the plan's outputs look at: the backend, and the state of the live module by name."""

    __slots__ = ("_backend", "_state")

    def __init__(self, live: LiveProgram, module: Any) -> None:
        self._backend = live._backend
        self._state = _State(live.program, module)


class _State:
    __slots__ = ("_module", "_program")

    def __init__(self, program: ExportedProgram, module: Any) -> None:
        self._program = program
        self._module = module

    def __getitem__(self, name: str) -> Any:
        path, _, leaf = name.rpartition(".")
        try:
            owner = _walk(self._module, path)
        except (KeyError, AttributeError):
            return self._program.tensor(name)
        for registry in (owner._parameters, owner._buffers, vars(owner)):
            if leaf in registry:
                return registry[leaf]
        return self._program.tensor(name)


def _walk(module: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        module = module._modules[name]
    return module


def _attribute(module: Any, name: str) -> tuple[dict[str, Any], str] | None:
    """Where a plain attribute of the module tree, or a container in one, holds a constant: a namespace and subscripts of it.

    None for a constant of another origin: it cannot change.
    """
    found = _ATTRIBUTE.fullmatch(name)
    if found is None:
        return None
    path, leaf, inner = found.groups()
    try:
        owner = _walk(module, path.rstrip("."))
        tree = ast.parse(f"_{inner}", mode="eval")
    except (LookupError, AttributeError, SyntaxError):
        return None
    if leaf not in vars(owner) or not all(isinstance(node, _SUBSCRIPTS) for node in ast.walk(tree)):
        return None
    return vars(owner), f"[{leaf!r}]{inner}"


_ATTRIBUTE: Final = re.compile(r"((?:\w+\.)*)(\w+)((?:\[.+\])?)", re.DOTALL)
_SUBSCRIPTS: Final = (
    ast.Expression, ast.Subscript, ast.Name, ast.Constant, ast.Tuple, ast.expr_context, ast.UnaryOp, ast.USub,
)  # fmt: skip
