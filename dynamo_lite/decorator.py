"""``@exported``: a forward that captures itself at the first call and runs as a program from then on."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

from dynamo_lite import dispatch, places
from dynamo_lite.capture import Capture, library_for
from dynamo_lite.errors import BAD_MISMATCH, NOT_EXPORTED_YET
from dynamo_lite.live import LiveProgram
from dynamo_lite.live_conditions import Conditions
from dynamo_lite.strict.machine.calls import STANDS_FOR
from dynamo_lite.strict.policy.origins import OURS
from fx_ir.program import ExportedProgram
from solver.errors import GuardError

ON_MISMATCH: Final = ("error", "reexport", "eager")


def _compilers() -> list[Callable[[], Any]]:
    """Whether a compiler or a tracer of PyTorch's reads what runs now: it gets the forward as it was written.

    Dynamo, a mode that sees operators (``make_fx``, ``torch.export``, fake tensors), ``torch.jit.trace``, ``torch.fx``, ``torch.func``. A process whose modules are not
    PyTorch's does not import it for this.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    return [
        torch.compiler.is_dynamo_compiling,
        torch._C._len_torch_dispatch_stack,
        torch._C._get_tracing_state,
        torch.fx._symbolic_trace.is_fx_symbolic_tracing,
        torch._C._functorch.peek_interpreter_stack,
    ]


def exported(
    dynamic_shapes: Any = None, strict: bool = True, on_mismatch: str = "error"
) -> Callable[[Any], Any]:
    """Decorates a ``forward``, or a module class (its ``forward`` is then meant).

    The first call captures, proves and keeps the program; later calls run it where the input contract and the
    burned-in assumptions hold. Otherwise ``on_mismatch`` decides: ``"error"`` raises :class:`GuardError`, ``"reexport"`` captures another variant,
    ``"eager"`` runs the original. ``model.forward.exported_program(model)`` hands out the newest program.
    """
    if callable(dynamic_shapes) and not isinstance(dynamic_shapes, dict):  # used without parentheses
        return exported()(dynamic_shapes)  # type: ignore[no-any-return]
    if on_mismatch not in ON_MISMATCH:
        raise BAD_MISMATCH(given=repr(on_mismatch))

    def decorate(target: Any) -> Any:
        if isinstance(target, type):
            target.forward = decorate(target.forward)  # type: ignore[attr-defined]
            return target
        return _forward_of(ExportedForward(target, dynamic_shapes, strict, on_mismatch))

    return decorate


def _forward_of(exported: ExportedForward) -> Callable[..., Any]:
    """The function that takes the place of ``forward``.

    It has the original's globals: PyTorch's compiler of source text reads the original's, and looks its names up here.
    """
    original, compilers, only_user_frames = exported.function, exported.compilers, places.only_user_frames

    def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        for compiles in compilers:
            if compiles():
                return original(self, *args, **kwargs)
        try:
            return exported.call(self, args, kwargs)
        except BaseException as error:
            only_user_frames(error)
            raise

    names = getattr(original, "__globals__", forward.__globals__)
    made: Any = FunctionType(forward.__code__, names, forward.__name__, None, forward.__closure__)
    functools.update_wrapper(made, original)
    made.function, made.strict = original, exported.strict
    made.exported_program, made.exported_programs = exported.exported_program, exported.exported_programs
    STANDS_FOR[made] = original
    return made  # type: ignore[no-any-return]


class _Programs(dict["ExportedForward", "list[LiveProgram]"]):
    """The programs of one module, kept by the module itself, so that they go with it. Copies of the module begin anew."""

    def __copy__(self) -> _Programs:
        return _Programs()

    def __deepcopy__(self, memo: Any) -> _Programs:
        return _Programs()

    def __reduce__(self) -> Any:
        return _Programs, ()


def _programs_of(module: Any) -> _Programs:
    namespace: dict[str, Any] = vars(module)
    held: _Programs = namespace.setdefault(OURS, _Programs())
    return held


Prepared = tuple[LiveProgram, Sequence[Any], list[Any]]


def _applicable(
    programs: Sequence[LiveProgram], module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Prepared | None, GuardError | None]:
    """The newest program that this call fits, ready to run; otherwise why the newest does not."""
    miss: GuardError | None = None
    for live in reversed(programs):
        try:
            leaves, natives = live.prepare(module, args, kwargs)
        except GuardError as error:
            miss = miss or error
            continue
        return (live, leaves, natives), None
    return None, miss


class ExportedForward:
    """What is behind a decorated ``forward``: how it is captured, and the programs of each module."""

    def __init__(
        self, function: Callable[..., Any], dynamic_shapes: Any, strict: bool, on_mismatch: str
    ) -> None:
        self.function = function
        self.dynamic_shapes = dynamic_shapes
        self.strict = strict
        self.on_mismatch = on_mismatch
        self._lock = threading.RLock()
        self.compilers = _compilers()

    def _kept(self, module: Any) -> list[LiveProgram]:
        held = vars(module).get(OURS)
        return held.get(self, []) if held is not None else []

    def exported_program(self, module: Any) -> ExportedProgram:
        """The newest program of ``module``. Raises ``not-exported-yet`` before the first call."""
        kept = self._kept(module)
        if not kept:
            raise NOT_EXPORTED_YET(type=type(module).__name__)
        return kept[-1].program

    def exported_programs(self, module: Any) -> list[ExportedProgram]:
        """All programs of ``module``, oldest first."""
        return [live.program for live in self._kept(module)]

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the newest program that applies; captures one if there is none."""
        if dispatch.recorder() is not None:
            return self.function(module, *args, **kwargs)
        kept = self._kept(module)
        found, miss = _applicable(kept, module, args, kwargs)
        if found is not None:
            live, leaves, natives = found
            return live.run(module, leaves, natives)
        if miss is None or self.on_mismatch == "reexport":
            return self._capture_and_run(module, args, kwargs, len(kept))
        if self.on_mismatch == "eager":
            return self.function(module, *args, **kwargs)
        raise miss

    def _capture_and_run(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tried: int) -> Any:
        with self._lock:
            made_since = self._kept(module)[tried:]  # by another thread, while this one waited
            found, _ = _applicable(made_since, module, args, kwargs)
            if found is None:
                live = self._capture(module, args, kwargs)
                _programs_of(module).setdefault(self, []).append(live)
                found = (live, *live.prepare(module, args, kwargs))
        live, leaves, natives = found
        return live.run(module, leaves, natives)

    def _capture(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> LiveProgram:
        forward = self.function.__get__(module)
        library = library_for(module)
        capture = Capture(library, module, forward, forward, self.strict)
        program = capture.program(args, kwargs, self.dynamic_shapes)
        return LiveProgram(
            program,
            capture.assigned,
            capture.defaults,
            Conditions(
                library,
                module,
                capture.live,
                capture.code and capture.code(),
                forwards=not self.strict,
                mode=capture.mode,
                settings=capture.settings,
            ),
            capture.asked,
        )
