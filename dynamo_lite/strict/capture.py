"""The strict front end: the model's bytecode interpreted under the tracing policy, inside a transaction."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from types import CellType
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.frontend import Run
from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.machine.frame import cell_value
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.machine.slots import plain_dict
from dynamo_lite.strict.policy.code import code_of
from dynamo_lite.strict.policy.live_check import LiveCheck
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.reads import user_location
from dynamo_lite.strict.policy.roots import place_closure, place_module
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.trace.again import Stray, Written
from dynamo_lite.trace.calls import ModuleCalls
from dynamo_lite.trace.constants import CONTAINERS_READ, held_tensors, stray_tensor
from dynamo_lite.trace.errors import TENSOR_LEFT_OUTSIDE
from dynamo_lite.trace.given import CONTAINERS
from dynamo_lite.trace.inputs import location_of
from dynamo_lite.trace.tracer import Tracer
from fx_ir import fake_context
from fx_ir.provenance import Effect
from fx_ir.pytree import tree_flatten, tree_map
from solver.errors import Location

BUILTIN: Final = CONTAINERS | {set, int, float, bool, str, type(None)}


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
    paths = place_module(tracer.library, origins, module)
    place_closure(origins, forward)
    tracer.locate = user_location
    tracer.outcome = traced.outcome_here
    tracer.modules_now = lambda: module_stack(tracer.calls, paths)
    tracer.naming.variables = traced.user_variables
    tracer.invoke = _invoke
    with closing(Transaction(user_location)) as transaction, transaction:
        policy = tracer.library.strict_policy()(tracer, transaction, origins)
        with (
            dispatch.recording(tracer),
            fake_context.activate(tracer),
            policy.seen.watching(),
            policy.outlets.kept(),
        ):
            args, kwargs = _own(args), _own(dict(kwargs))
            tracer.given.watch(args, kwargs)
            leaves, spec = tree_flatten(traced.run_traced(policy, target, args, dict(kwargs)))
            tracer.state.meet(leaves)
        buffers = {name: held for name, held, _ in tracer.library.named_buffers(module)}
        effects, strays = _effects(tracer, module, transaction, origins, location_of(forward))
        written = _written_containers(transaction) if strays else ()
    assumptions = origins.assumptions()
    live = LiveCheck(origins, module, tracer.library.is_tensor, tracer.state.places())
    code = partial(code_of, policy.seen, origins)
    return Run(leaves, spec, buffers, effects, assumptions, live, code, strays, written)


def _own(values: Any) -> Any:
    """The inputs with instances of registered classes (caches, dataclasses) rebuilt inside the transaction.

    They were rebuilt over fakes already and belong to nobody else: writing to them leaves nothing outside.
    """
    items = values.items() if type(values) is dict else enumerate(values)
    made = {key: value if type(value) in BUILTIN else tree_map(_itself, value) for key, value in items}
    return made if type(values) is dict else tuple(made.values())


def _itself(leaf: Any) -> Any:
    return leaf


def _invoke(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Runs a function that a control-flow operator was given: interpreted, on the machine that is running."""
    machine = peek()
    assert machine is not None
    return execute(machine, function, args, None)


def module_stack(calls: ModuleCalls, paths: dict[int, tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The modules whose ``forward`` is running, outermost first."""
    machine = peek()
    frame = None if machine is None else machine.frame
    found: list[Any] = []
    while frame is not None:
        code = frame.code
        if code is not None and code.name == "forward" and code.argcount and frame.stack:
            first = frame.stack[0]
            if type(first) is CellType:  # a function inside closes over the module
                first = cell_value(first)
            known = paths.get(id(first))
            if known is not None:
                found += known, frame
        frame = frame.back
    return calls.stack(found)


def _effects(
    tracer: Tracer, module: Any, transaction: Transaction, origins: Origins, where: Location | None
) -> tuple[list[Effect], list[Stray]]:
    """The ledger as data, and the outside places that would keep a tensor of the trace. Raises ``tensor-left-outside`` for new buffers."""
    writes = transaction.outside_writes()
    modules = tracer.library.named_modules(module) if writes else ()
    buffers = {id(owner._buffers): name for name, owner in modules}
    known = {entry.target for entry in tracer.state.entries if entry.kind == "buffer"}
    effects: list[Effect] = []
    strays: list[Stray] = []
    for obj, kind, key, effect in writes:
        if obj in tracer.given:
            tracer.given.check(effect.location, obj)
            continue
        owner = buffers.get(id(obj))
        if owner is not None:
            prefix = f"{owner}." if owner else ""
            stray = [key for key, value in obj.items() if is_fake(value) and f"{prefix}{key}" not in known]
            if stray:
                raise TENSOR_LEFT_OUTSIDE(where=f"self.{prefix}{stray[0]}", location=effect.location)
            effects.append(Effect("buffer", f"self.{prefix}*", effect.location, "buffer update"))
            continue
        origin = origins.of(obj)
        if origin is not None:
            effect = replace(effect, what=f"{origin.path()}.{key}" if kind == "attr" else origin.path())
        held = _written(obj, kind, key)
        if stray_tensor(tracer, held) is not None:
            tensors = tuple(held_tensors(tracer, held))
            strays.append(Stray(effect.what, effect.location, *_place(obj, kind, key), tensors))
        effects.append(effect)
    return [*effects, *tracer.given.effects(where), *transaction.notes()], strays


def _place(obj: Any, kind: str, key: Any) -> tuple[Any, Any]:
    """The dict or list in which a write landed and its key there, as far as they are known."""
    return (plain_dict(obj), key) if kind == "attr" else (obj, None)


def _written_containers(transaction: Transaction) -> list[Written] | None:
    """What the outside dicts and lists hold that were written; None where something else was."""
    found: dict[int, Written] = {}
    for obj, kind, key, _ in transaction.outside_writes():
        container, _ = _place(obj, kind, key)
        base = next((each for each in (dict, list) if issubclass(type(container), each)), None)
        if kind in ("global", "deref") or base is None:
            return None
        found[id(container)] = Written(container, base.copy(container))
    return list(found.values())


def _written(obj: Any, kind: str, key: Any) -> Any:
    """What an outside object holds where it was written. Reads containers and namespaces only, and asks no object for its class."""
    if kind == "global":
        return (obj.get(key),)
    if issubclass(type(obj), CONTAINERS_READ):
        return obj
    try:
        if kind == "deref":
            return (obj.cell_contents,)
    except ValueError:
        return ()
    return ((plain_dict(obj) or {}).get(key),)
