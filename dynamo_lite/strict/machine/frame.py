"""Frames: what the run loop runs. A frame can be suspended at any instruction; its iterator is its program counter.

``it`` iterates over ``(handler, argument)`` pairs. Advancing it is the loop's own work, a jump is ``it.__setstate__``, and
the current index can be read back from ``it.__length_hint__``; so a step allocates nothing and stores nothing.

``stack`` holds the local slots (variables, cells, free variables, as in CPython) below the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, Final, Protocol

from dynamo_lite.strict.decode.record import Decoded, Handler
from dynamo_lite.strict.machine.limit import LIMIT, STEP
from solver.errors import Location

if TYPE_CHECKING:
    from dynamo_lite.strict.machine.policy import Policy


# The empty slot: an unbound variable, or the missing half of a method pair. A plain object, which the collector does not
# track: programs that walk over all objects must not meet it.
NULL: Final = object()
Globals = dict[str, Any]
Op = tuple[Callable[["Frame", list[Any], Any], "Frame | None"], Any]


class Position(Protocol):
    """The part of a tuple iterator's interface that a frame lives by."""

    def __iter__(self) -> Iterator[Op]: ...
    def __next__(self) -> Op: ...
    def __setstate__(self, index: int, /) -> None: ...
    def __length_hint__(self) -> int: ...


class Code:
    """A code object ready to run: instructions bound to handlers, and what calling needs to know."""

    __slots__ = (
        "argcount", "blank", "code", "count", "decoded", "flags", "handlers", "kwonly", "locations", "name", "opaque",
        "ops", "padding", "planned", "plans", "posonly", "shadows", "simple", "slots", "suspendable",
    )  # fmt: skip

    def __init__(self, decoded: Decoded, ops: tuple[Op, ...], opaque: bool) -> None:
        code = decoded.code
        self.code: CodeType = code
        self.decoded = decoded
        self.ops = ops
        self.count = len(ops)
        self.handlers: tuple[Handler | None, ...] = decoded.handlers
        self.slots = len(decoded.slot_names)
        self.blank = [NULL] * self.slots
        self.padding = [NULL] * (self.slots - code.co_argcount)
        self.flags = code.co_flags
        self.argcount = code.co_argcount
        self.posonly = code.co_posonlyargcount
        self.kwonly = code.co_kwonlyargcount
        self.name = code.co_name
        self.suspendable = bool(self.flags & 0x2A0)
        # positional parameters alone, optimised, not a generator: the fast way to call
        self.simple = self.kwonly == 0 and (self.flags & 0x2AF) == 3
        # keyword arguments can be bound by a plan made once: no *args, no **kwargs
        self.planned = (self.flags & 0x0F) == 3
        self.plans: dict[tuple[int, tuple[str, ...]], tuple[list[int] | None, list[tuple[int, str]]]] = {}
        self.opaque = opaque
        self.shadows: dict[int, CodeType] = {}
        self.locations: dict[int, Location] = {}


class Handled:
    """What exception is being handled: a link of CPython's exc_info stack, one for each suspendable frame."""

    __slots__ = ("previous", "value")

    def __init__(self, previous: Handled | None = None) -> None:
        self.value: BaseException | None = None
        self.previous = previous

    def current(self) -> BaseException | None:
        """The innermost exception now handled."""
        link: Handled | None = self
        while link is not None:
            if link.value is not None:
                return link.value
            link = link.previous
        return None


class Frame:
    """An activation. ``code`` is None in frames of our own: routines, and the exits where a run ends."""

    __slots__ = (
        "asked", "back", "code", "deliver", "depth", "extra", "function", "globals", "handled", "it", "locals",
        "machine", "policy", "snapshot", "stack",
    )  # fmt: skip

    stack: list[Any]
    it: Position
    code: Code | None
    function: Any
    globals: Globals
    locals: Any
    back: Frame | None
    handled: Handled
    machine: Machine
    policy: Policy | None
    depth: int
    # where the returned value goes when it is not simply pushed on the caller's stack
    deliver: Callable[[Frame, Any], Frame | None] | None
    extra: Any
    # the object and the name whose value the frame computes; set only where there are such
    asked: tuple[Any, str]
    # what locals() gave, where it is to give the same dict again
    snapshot: dict[str, Any]

    def index(self) -> int:
        """The index of the instruction being executed (or executed last)."""
        assert self.code is not None
        return self.code.count - self.it.__length_hint__() - 1

    def line(self) -> int:
        """The line being executed."""
        assert self.code is not None
        return self.code.decoded.line(max(self.index(), 0))

    def location(self) -> Location:
        """The place being executed."""
        code = self.code
        assert code is not None
        index = max(self.index(), 0)
        found = code.locations.get(index)
        if found is None:
            found = Location(code.code.co_filename, code.decoded.line(index), code.code.co_qualname)
            code.locations[index] = found
        return found


class GeneratorFrame(Frame):
    """The frame behind a generator, a coroutine or an asynchronous generator."""

    __slots__ = (
        "__weakref__", "async_yield", "done", "failed", "object", "primed", "priming", "running", "started", "thrown",
    )  # fmt: skip

    running: bool
    started: bool
    done: bool
    primed: bool  # the native driver has been brought to its yield
    priming: bool
    async_yield: bool
    object: Any  # weak reference to the real generator
    failed: BaseException  # what closing its delegate raised, where that is done for it
    thrown: tuple[Any, ...]  # what the program's throw was given, on its way to a delegate


class Machine:
    """The state of interpretation in one thread: the running frame, the policy and the recursion limit."""

    __slots__ = (
        "answers",
        "base",
        "doomed",
        "dropping",
        "entered",
        "frame",
        "granted",
        "limit",
        "policy",
        "runs",
    )

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy
        self.limit = 1000
        self.runs = 0  # one beneath the other, with C code in between
        self.granted = STEP  # how many of them the host's limit allows for
        self.dropping = 0  # how many ends of generators now drop what their frames held
        self.doomed: list[list[Any]] = []  # what those further in held, for the innermost of these to drop
        self.answers: dict[
            tuple[int, int], tuple[bool, object, Any, Any]
        ] = {}  # of abstract classes, under a policy
        self.entered: set[int] = set()  # identities of the functions that the policy was told of
        self.base: Frame = self.exit_frame(None)
        self.frame: Frame = self.base

    def begin_run(self) -> Frame:
        """The exit frame of a run on top of the current frame."""
        self.runs += 1
        if self.runs > self.granted:
            self.granted += STEP
            LIMIT.grant(self.granted, self.policy is not None)
        return self.exit_frame(self.frame)

    def end_run(self) -> None:
        """The innermost run has ended."""
        self.runs -= 1
        if self.runs + 2 * STEP < self.granted:
            self.granted -= STEP
            LIMIT.grant(self.granted, self.policy is not None)

    def begin(self, limit: int, below: Machine | None = None) -> None:
        """The outermost run begins, on top of another machine's if there is one below.

        (An interrupt may have kept an earlier run from ending as it should.)
        """
        self.limit = limit
        self.runs, self.granted = (0, STEP) if below is None else (below.runs, below.granted)

    def exit_frame(self, back: Frame | None) -> Frame:
        """A frame without instructions: reaching it ends the innermost run."""
        frame = Frame()
        frame.stack = []
        frame.it = iter(())  # type: ignore[assignment]
        frame.code = None
        frame.function = None
        frame.globals = {} if back is None else back.globals
        frame.locals = None
        frame.back = back
        frame.machine = self
        frame.policy = self.policy
        frame.deliver = None
        frame.extra = EXIT
        if back is None:
            frame.depth = 0
            frame.handled = Handled()
        else:
            frame.depth = back.depth
            frame.handled = back.handled
        return frame


EXIT: Final = object()


_new: Final = object.__new__


def new_frame(code: Code, stack: list[Any], namespace: Globals, back: Frame) -> Frame:
    """A frame for ``code`` below which ``back`` waits. ``stack`` has all the slots."""
    frame: Frame = _new(GeneratorFrame if code.suspendable else Frame)
    frame.stack = stack
    frame.it = iter(code.ops)  # type: ignore[assignment]
    frame.code = code
    frame.function = None
    frame.globals = namespace
    frame.locals = None
    frame.back = back
    frame.handled = back.handled
    frame.machine = machine = back.machine
    frame.policy = back.policy
    frame.deliver = None
    frame.extra = None
    frame.depth = depth = back.depth + 1
    if depth > machine.limit:
        raise RecursionError("maximum recursion depth exceeded")
    return frame


def explain(error: AttributeError, asked: tuple[Any, str]) -> None:
    """Says which attribute of which object was asked for, where the exception itself says neither."""
    if error.name is None and error.obj is None:
        error.obj, error.name = asked


def cell_value(cell: CellType) -> Any:
    """The content of a cell, or NULL."""
    try:
        return cell.cell_contents
    except ValueError:
        return NULL
