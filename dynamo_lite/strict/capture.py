"""The strict front end: the model's bytecode interpreted under the tracing policy, inside a transaction."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.frontend import Run
from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.policy.origins import Origins, write_live_check
from dynamo_lite.strict.policy.tracing import TracePolicy, user_location
from dynamo_lite.strict.transaction import Effect as Write
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.trace.errors import TENSOR_LEFT_OUTSIDE
from dynamo_lite.trace.tracer import Tracer
from fx_ir import fake_context
from fx_ir.provenance import Effect


def run(
    tracer: Tracer,
    module: Any,
    forward: Callable[..., Any],
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Run:
    """Interprets ``target(*args, **kwargs)`` and reports what happened; nothing outside is changed afterwards."""
    return contextvars.copy_context().run(_run, tracer, module, forward, target, args, kwargs)


def _run(
    tracer: Tracer,
    module: Any,
    forward: Callable[..., Any],
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Run:
    origins = Origins(user_location)
    paths = _place_module(tracer, origins, module)
    _place_closure(origins, forward)
    tracer.locate = user_location
    tracer.modules_now = lambda: module_stack(paths)
    tracer.invoke = _invoke
    tracer.state.name_of = lambda tensor: _constant_name(origins, tensor)
    with Transaction(user_location) as transaction:
        policy = TracePolicy(tracer, transaction, origins)
        with dispatch.recording(tracer), fake_context.activate(tracer):
            result = traced.run_traced(policy, target, args, dict(kwargs))
        buffers = {name: held for name, held, _ in tracer.library.named_buffers(module)}
        effects = _effects(tracer, module, transaction)
    assumptions = [*policy.environment.values(), *origins.assumptions()]
    return Run(result, buffers, effects, assumptions, _live_check(origins, module))


def _live_check(origins: Origins, module: Any) -> Callable[[Any], str | None]:
    """The check of assumptions on a live module, compiled at its first use."""
    compiled: list[Callable[[Any], str | None]] = []

    def check(live: Any) -> str | None:
        if not compiled:
            compiled.append(write_live_check(origins, module))
        return compiled[0](live)

    return check


def _invoke(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Runs a function that a control-flow operator was given: interpreted, on the machine that is running."""
    machine = peek()
    assert machine is not None
    return execute(machine, function, args, None)


def _place_module(tracer: Tracer, origins: Origins, module: Any) -> dict[int, tuple[str, str]]:
    """Gives every submodule its origin; the path and class of each by identity."""
    root = origins.root("self", module)
    placed = {"": root}
    paths = {id(module): ("", type(module).__name__)}
    for name, child in tracer.library.named_modules(module):
        if not name:
            continue
        paths[id(child)] = (name, type(child).__name__)
        parent, _, key = name.rpartition(".")
        owner = placed[parent]
        registry = origins.place(owner.value._modules, owner, "attr", "_modules")
        placed[name] = origins.place(child, registry, "item", key)
    return paths


def _place_closure(origins: Origins, forward: Callable[..., Any]) -> None:
    plain = getattr(forward, "__func__", forward)
    if isinstance(plain, FunctionType):
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
            origins.root(f"closure {name}", cell)


def module_stack(paths: dict[int, tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The modules whose ``forward`` is running, outermost first."""
    machine = peek()
    frame = None if machine is None else machine.frame
    found: list[tuple[str, str]] = []
    while frame is not None:
        code = frame.code
        if code is not None and code.name == "forward" and code.argcount and frame.stack:
            known = paths.get(id(frame.stack[0]))
            if known is not None:
                found.append(known)
        frame = frame.back
    found.reverse()
    return tuple(found)


def _constant_name(origins: Origins, tensor: Any) -> str | None:
    origin = origins.of(tensor)
    if origin is None:
        return None
    path = origin.path()
    return path.removeprefix("self.") if path.startswith("self.") else None


def _effects(tracer: Tracer, module: Any, transaction: Transaction) -> list[Effect]:
    """The ledger as data. Raises ``tensor-left-outside`` where an outside object would keep a tensor of the trace."""
    buffers = {
        id(owner._buffers): (name, set(owner._buffers))
        for name, owner in tracer.library.named_modules(module)
    }
    known = {name for name, _, _ in ((e.target, 0, 0) for e in tracer.state.entries if e.kind == "buffer")}
    effects: list[Effect] = []
    writes = transaction.outside_writes()
    for obj, write in writes:
        owner = buffers.get(id(obj))
        if owner is not None:
            prefix = f"{owner[0]}." if owner[0] else ""
            stray = [key for key, value in obj.items() if is_fake(value) and f"{prefix}{key}" not in known]
            if stray:
                raise TENSOR_LEFT_OUTSIDE(where=f"self.{prefix}{stray[0]}", location=write.where)
            effects.append(Effect("buffer", f"self.{prefix}*", write.where, "buffer update"))
            continue
        if _holds_fake(obj, write):
            raise TENSOR_LEFT_OUTSIDE(where=write.what, location=write.where)
        effects.append(Effect(_kind(write), write.what, write.where, "rolled back"))
    written = {id(write) for _, write in writes}
    for note in transaction.ledger():
        if id(note) not in written:
            effects.append(Effect(_kind(note), note.what, note.where, note.became))  # type: ignore[arg-type]
    return effects


def _kind(write: Write) -> Any:
    return {
        "attr": "attribute",
        "item": "item",
        "global": "global",
        "deref": "cell",
        "content": "container",
    }.get(write.kind, write.kind)


def _holds_fake(obj: Any, write: Write) -> bool:
    """Whether what was written holds a tensor of the trace. Reads containers and namespaces only."""
    values: Iterable[Any] = ()
    if isinstance(obj, dict):
        values = obj.values()
    elif isinstance(obj, (list, tuple, set)) or type(obj).__name__ == "deque":
        values = list(obj)
    elif write.kind == "deref":
        try:
            values = (obj.cell_contents,)
        except ValueError:
            values = ()
    else:
        try:
            values = list(object.__getattribute__(obj, "__dict__").values())
        except AttributeError:
            values = ()
    return any(_is_or_holds(value, 3) for value in values)


def _is_or_holds(value: Any, depth: int) -> bool:
    if is_fake(value):
        return True
    if depth and type(value) in (list, tuple, set, dict):
        inner = value.values() if type(value) is dict else value
        return any(_is_or_holds(item, depth - 1) for item in inner)
    return False
