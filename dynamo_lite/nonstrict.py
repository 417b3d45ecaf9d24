"""The non-strict front end: CPython runs the model over fakes; what it wrote is put back afterwards.

Seen and restored: attributes and registries of the module tree, and the lists, dicts, sets, deques and bytearrays held by
modules or reached from closures and globals of forward and of the user's functions that it mentions. Other writes are invisible to this mode.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType, FunctionType
from typing import Any, Final, NamedTuple

from dynamo_lite import collector, dispatch, places
from dynamo_lite.frontend import Run
from dynamo_lite.library import TensorLibrary
from dynamo_lite.native_truth import asked_about
from dynamo_lite.native_watch import Watch, user_variables, watching
from dynamo_lite.strict.outcomes import outcome
from dynamo_lite.strict.policy.code import Code, code_of
from dynamo_lite.strict.policy.live_check import LiveCheck
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.roots import assume_named, assume_visible, mentions, place_module
from dynamo_lite.strict.policy.visible import visible_code
from dynamo_lite.trace.again import Stray, Written
from dynamo_lite.trace.calls import ModuleCalls
from dynamo_lite.trace.constants import held_tensors, stray_tensor
from dynamo_lite.trace.inputs import location_of
from dynamo_lite.trace.naming import no_variables
from dynamo_lite.trace.tracer import Tracer
from fx_ir import fake_context
from fx_ir.provenance import Effect
from fx_ir.pytree import tree_flatten
from solver.errors import DataDependentError, Location, StateError, UnsupportedError, watch

_REFUSALS: Final = (UnsupportedError, DataDependentError, StateError)
_CONTAINERS: Final = frozenset({list, dict, set, deque, bytearray, OrderedDict, defaultdict, Counter})
_REACHED: Final = _CONTAINERS | {FunctionType}


@dataclass(slots=True)
class _Saved:
    """A container (or an object's ``__dict__``) and what it held."""

    owner: str
    container: Any
    content: Any


class _Change(NamedTuple):
    """What a place holds now (None: nothing), the container that it is in, and its key there (None: not known)."""

    where: str
    value: Any
    container: Any
    key: Any


class Snapshot:
    """What the model can reach, as it was; :meth:`restore` puts it back and tells what had changed."""

    __slots__ = ("_saved", "_seen")

    def __init__(self, modules: Iterable[tuple[str, Any]], functions: Iterable[FunctionType]) -> None:
        self._saved: list[_Saved] = []
        self._seen: set[int] = set()
        for name, child in modules:
            self._save_module(f"self.{name}" if name else "self", child)
        for function in functions:
            self._save_function(function)

    def _save(self, owner: str, container: Any) -> bool:
        if id(container) in self._seen:
            return False
        self._seen.add(id(container))
        content: Any = ()  # most are empty: the registries of hooks that a module has
        if isinstance(container, bytearray):
            content = bytes(container)
        elif container:
            content = container.copy()
        self._saved.append(_Saved(owner, container, content))
        return True

    def _save_module(self, name: str, module: Any) -> None:
        state = vars(module)
        self._save(name, state)
        for attribute, value in state.items():
            if type(value) in _REACHED:
                self._save_reached(f"{name}.{attribute}", value)

    def _save_reached(self, name: str, value: Any) -> None:
        if type(value) in _CONTAINERS:
            self._save_tree(name, value)
        elif type(value) is FunctionType and _is_users(value):
            self._save_function(value)

    def _save_tree(self, name: str, container: Any) -> None:
        if not self._save(name, container) or not container:
            return
        items: Iterable[tuple[Any, Any]] = ()
        if isinstance(container, dict):
            items = container.items()
        elif isinstance(container, (list, deque)):
            items = enumerate(container)
        for key, value in items:
            if type(value) in _CONTAINERS:
                self._save_tree(f"{name}[{key!r}]", value)

    def _save_function(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._save_reached(name, value)
        namespace = function.__globals__
        for name in mentions(code).names:
            value = namespace.get(name)
            if type(value) in _REACHED:
                self._save_reached(name, value)

    def restore(self) -> tuple[list[_Change], list[Written] | None]:
        """Puts everything back; the changes found, and what the dicts and lists among the containers held (None: others were changed)."""
        changed: list[_Change] = []
        written: list[Written] | None = []
        for saved in self._saved:
            now, before = saved.container, saved.content
            if not now and not before:
                continue
            if isinstance(now, dict):
                found = _changed_items(saved.owner, now, before)
            else:
                found = (
                    [] if _same(now, before) else [_Change(saved.owner, _newcomers(now, before), now, None)]
                )
            if found:
                changed += found
                plain = isinstance(now, (dict, list))
                written = [*written, Written(now, now.copy())] if plain and written is not None else None
                _refill(now, before)
        return changed, written


def _changed_items(owner: str, now: dict[Any, Any], before: dict[Any, Any]) -> list[_Change]:
    changed: list[_Change] = []
    for key, value in now.items():
        if key not in before or before[key] is not value:
            changed.append(_Change(_item(owner, key), value, now, key))
    changed += [_Change(_item(owner, key), None, now, key) for key in before if key not in now]
    return changed


def _item(owner: str, key: Any) -> str:
    if isinstance(key, str) and key.isidentifier() and owner.startswith("self"):
        return f"{owner}.{key}".replace("._buffers.", ".")
    return f"{owner}[{key!r}]"


def _same(now: Any, before: Any) -> bool:
    if isinstance(now, bytearray):
        return bool(bytes(now) == before)
    if len(now) != len(before):
        return False
    if isinstance(now, set):
        return {id(value) for value in now} == {id(value) for value in before}
    return all(a is b for a, b in zip(now, before, strict=True))


def _newcomers(now: Any, before: Any) -> list[Any]:
    known = {id(value) for value in before} if not isinstance(before, bytes) else set()
    return [value for value in now if id(value) not in known]


def _refill(container: Any, content: Any) -> None:
    if isinstance(container, bytearray):
        container[:] = content
        return
    container.clear()
    if isinstance(container, (dict, set)):
        container.update(content)
    else:
        container.extend(content)


def _functions_of(forward: Callable[..., Any], classes: Iterable[type]) -> Iterator[FunctionType]:
    plain = getattr(forward, "__func__", forward)
    if isinstance(plain, FunctionType):
        yield plain
    for base in dict.fromkeys(base for cls in classes for base in cls.__mro__):
        for value in vars(base).values():
            # a library's functions write to the module at most, and that is saved
            if type(value) is FunctionType and not places.is_library_file(value.__code__.co_filename):
                yield value


def _is_users(function: FunctionType) -> bool:
    return not places.is_library_file(function.__code__.co_filename)


def run(tracer: Tracer, module: Any, forward: Callable[..., Any], call: Callable[[], Any]) -> Run:
    """Runs ``call`` (the model on its fakes) natively and reports what happened.

    Raises what the model raises, and a refusal of ours also where the model has swallowed it.
    """
    try:
        collector.hold(tracer)
        return _run(tracer, module, forward, call)
    finally:
        try:
            collector.release(tracer)
        except BaseException:  # an interrupt came in between: once more
            collector.release(tracer)
            raise


def _run(tracer: Tracer, module: Any, forward: Callable[..., Any], call: Callable[[], Any]) -> Run:
    tracer.locate = places.native_location
    tracer.naming.variables = user_variables
    modules = list(tracer.library.named_modules(module))
    paths = {id(child): (name, type(child).__name__) for name, child in modules}
    tracer.modules_now = lambda: _module_stack(tracer.calls, paths)
    origins = Origins(lambda: None)
    place_module(tracer.library, origins, module)
    functions = list(_functions_of(forward, dict.fromkeys(type(child) for _, child in modules)))
    assume_visible(tracer.library, origins, module, functions)
    snapshot = Snapshot(modules, functions)
    changed: list[_Change] = []
    try:
        with (
            dispatch.recording(tracer),
            fake_context.activate(tracer),
            watch() as refusals,
            watching(tracer) as seen,
        ):
            tracer.outcome = lambda: outcome(places.native_places(), asked_about(seen.compared))
            leaves, spec = tree_flatten(call())
            tracer.state.meet(leaves)
        bare = tracer.library.bare
        buffers = {name: bare(held) for name, held, _ in tracer.library.named_buffers(module)}
    finally:
        try:
            changed, written = snapshot.restore()
        except BaseException:  # an interrupt came in between: once more
            snapshot.restore()
            raise
        tracer.naming.variables = no_variables
    swallowed = next((error for error in refusals if isinstance(error, _REFUSALS)), None)
    if swallowed is not None:
        raise swallowed
    tracer.given.check(location_of(forward))
    _assume_looks(origins, modules, seen)
    known = {f"self.{name}" for name, _, _ in tracer.library.named_buffers(module)}  # as restored
    with dispatch.recording(tracer), fake_context.activate(tracer):
        effects, strays = _effects(tracer, changed, known, _write_places(modules, seen))
    effects += [*seen.effects.values(), *tracer.given.effects(location_of(forward))]
    assumptions = origins.assumptions()
    live = LiveCheck(origins, module, tracer.library.is_tensor, tracer.state.places())
    code = partial(_code, tracer.library, origins, module, functions)
    return Run(leaves, spec, buffers, effects, assumptions, live, code, strays, written)


def _code(library: TensorLibrary, origins: Origins, module: Any, functions: list[FunctionType]) -> Code:
    """What code is taken for granted, and what values besides; asked for by who calls a live module."""
    assume_named(library, origins, module, functions)
    children = [child for _, child in library.named_modules(module)]
    return code_of(visible_code(origins, children, functions), origins)


def _assume_looks(origins: Origins, named: list[tuple[str, Any]], seen: Watch) -> None:
    """What was asked of a module that it does not have: another branch runs once it has. So it is where all was listed."""
    modules = {id(child): child for _, child in named}
    for key, name in seen.looked_up:
        child = modules.get(key)
        origin = origins.of(child)
        if child is not None and origin is not None and not _has(vars(child), name):
            origins.absent(origin, name)
    for child in modules.values():
        for registry in ("__dict__", "_parameters", "_buffers"):
            held = vars(child) if registry == "__dict__" else vars(child).get(registry)
            origin = origins.of(child)
            if origin is not None and held is not None and id(held) in seen.listed:
                origins.place(held, origin, "attr", registry)
                origins.listed(held)


def _has(state: dict[str, Any], name: str) -> bool:
    registries = (state, *[state.get(each, {}) for each in ("_parameters", "_buffers", "_modules")])
    return any(name in registry for registry in registries)


def _module_stack(calls: ModuleCalls, paths: dict[int, tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The modules whose ``forward`` is running, outermost first."""
    found: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "forward" and code.co_argcount:
            if not found:
                before = calls.stack_at(frame)
                if before is not None:
                    return before
            known = paths.get(id(frame.f_locals.get(code.co_varnames[0])))
            if known is not None:
                found += known, frame
        frame = frame.f_back
    return calls.stack(found)


def _write_places(modules: list[tuple[str, Any]], seen: Watch) -> dict[str, Location | None]:
    """Where each attribute of the module tree was written."""
    owners = {id(child): f"self.{name}" if name else "self" for name, child in modules}
    written = ((owners.get(owner), attribute, where) for (owner, attribute), where in seen.writes.items())
    return {f"{owner}.{attribute}": where for owner, attribute, where in written if owner is not None}


def _effects(
    tracer: Tracer,
    changed: list[_Change],
    buffers: set[str],
    written: dict[str, Location | None],
) -> tuple[list[Effect], list[Stray]]:
    effects: list[Effect] = []
    strays: list[Stray] = []
    for where, value, container, key in changed:
        held = next(held_tensors(tracer, value), None)
        location = written.get(where) or (None if held is None else held.node.meta.get("location"))
        if where in buffers:
            effects.append(Effect("buffer", where, location, "buffer update"))
            continue
        if held is not None and stray_tensor(tracer, value) is not None:
            strays.append(Stray(where, location, container, key, tuple(held_tensors(tracer, value))))
        effects.append(Effect("attribute", where, location, "rolled back"))
    return effects, strays
