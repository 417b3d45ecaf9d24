"""A program over a live module: it reads the module's parameters and buffers at each call and writes buffer updates back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dynamo_lite.errors import LIVE_STATE_CHANGED
from fx_ir.program import ExportedProgram
from fx_ir.runner import make_plan
from solver.errors import GuardError

Problem = str | None
LiveCheck = Callable[[Any], Problem]


class _Paths:
    """Source text that walks a module tree once: every module on the way gets a local name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names = {"": "module"}

    def module(self, path: str) -> str:
        """The local name of the submodule at ``path``."""
        found = self._names.get(path)
        if found is None:
            parent, _, child = path.rpartition(".")
            owner = self.module(parent)
            found = self._names[path] = f"m{len(self._names)}"
            self.lines.append(f"{found} = {owner}._modules[{child!r}]")
        return found

    def slot(self, name: str, registry: str) -> tuple[str, str]:
        """The registry and the key of a tensor."""
        path, _, leaf = name.rpartition(".")
        return f"{self.module(path)}.{registry}", repr(leaf)


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
        "_assign",
        "_backend",
        "_check",
        "_defaults",
        "_flatten",
        "_gather",
        "_live",
        "_plan",
        "_run",
        "program",
    )

    def __init__(
        self,
        program: ExportedProgram,
        assigned: frozenset[str],
        training: dict[str, bool],
        live: LiveCheck | None,
        defaults: dict[str, Any],
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
        self._gather = self._write_gather(training)
        self._assign = self._write_assign(assigned)
        self._live = live

    def _write_gather(self, training: dict[str, bool]) -> Callable[[Any], list[Any]]:
        """``gather(module)``: natives of the state. Raises KeyError-like problems as GuardError by :meth:`call`."""
        program, backend = self.program, self._backend
        signature = program.graph_signature
        parameters, constants = set(signature.parameters), set(signature.lifted_tensor_constants)
        paths, names = _Paths(), []
        values: dict[str, Any] = {
            "unwrap": backend.unwrap,
            "describe": backend.describe,
            "wrong": self._wrong,
        }
        body: list[str] = []
        for path, mode in training.items():
            body.append(
                f"if {paths.module(path)}.training is not {mode}: wrong({path + '.training'!r}, {mode!r})"
            )
        for index, name in enumerate(self._plan.state):
            native = f"t{index}"
            names.append(native)
            if name in constants:
                values[f"c{index}"] = program.tensor(name)
                body.append(f"{native} = unwrap(c{index})")
                continue
            registry, key = paths.slot(name, "_parameters" if name in parameters else "_buffers")
            meta = backend.describe(program.tensor(name))
            values[f"d{index}"] = meta.dtype
            body += [
                f"{native} = {registry}[{key}]",
                f"meta = describe({native})",
                f"if meta.dtype is not d{index} or tuple(meta.shape) != {tuple(meta.shape)!r}: wrong({name!r}, {meta!r})",
                f"{native} = unwrap({native})",
            ]
        text = ["def gather(module):", *paths.lines, *body, f"return [{', '.join(names)}]"]
        source = [text[0], *[f"    {line}" for line in text[1:]]]
        gather: Callable[[Any], list[Any]] = _compile(source, "gather", values)
        return gather

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

    @staticmethod
    def _wrong(name: str, expected: Any) -> None:
        raise LIVE_STATE_CHANGED(name=name, expected=expected)

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
        if self._live is not None:
            problem = self._live(module)
            if problem is not None:
                raise LIVE_STATE_CHANGED(name=problem, expected="what it was at export")
        try:
            return leaves, self._gather(module)
        except (KeyError, AttributeError) as error:
            raise LIVE_STATE_CHANGED(name=str(error), expected="present") from None

    def run(self, module: Any, leaves: Sequence[Any], natives: list[Any]) -> Any:
        """Runs the program on what :meth:`prepare` returned."""
        plan, unwrap = self._plan, self._backend.unwrap
        given = list(leaves)
        for index in plan.tensors:
            given[index] = unwrap(given[index])
        results = self._run(*natives, *given)
        if plan.updates:
            self._update(module, results, leaves, [*natives, *given])
        shown: Any = _Shown(self, module)
        outputs = results[len(plan.updates) :]
        return plan.rebuild(
            [show(shown, leaves, value) for show, value in zip(plan.outputs, outputs, strict=True)]
        )

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
        for registry in (owner._parameters, owner._buffers):
            if leaf in registry:
                return registry[leaf]
        return self._program.tensor(name)


def _walk(module: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        module = module._modules[name]
    return module


Miss = GuardError
