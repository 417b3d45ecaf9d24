"""The cache of code objects made ready: decoded once, bound to handlers once."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from sys import getrefcount
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.places import INTERPRETED
from dynamo_lite.strict.decode import decode
from dynamo_lite.strict.decode.fuse import fuse
from dynamo_lite.strict.decode.record import Decoded
from dynamo_lite.strict.machine.frame import Code

if TYPE_CHECKING:
    from dynamo_lite.strict.machine.policy import Policy

_ROOT: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_TOP: Final = os.path.dirname(_ROOT)
_OWN: Final = tuple(os.path.join(_TOP, name) + os.sep for name in ("dynamo_lite", "fx_ir", "solver"))
MACHINE_FILES: Final = os.path.join(_ROOT, "strict") + os.sep

# Keyed by identity: hashing a code object hashes all it holds, and equal code objects may differ in their lines. The
# entries keep their code objects alive, so an identity is never reused. What is opaque depends on whether a policy asks.
PLAIN: Final[dict[int, Code]] = {}
TRACED: Final[dict[int, Code]] = {}
HANDLERS: Final[dict[str, Any]] = {}
# instructions whose handler is made for, or chosen by, their argument
MAKERS: Final[dict[str, Callable[[Any], Any]]] = {}


def is_own(code: CodeType) -> bool:
    """Whether code belongs to our packages and is not meant to be interpreted."""
    file = code.co_filename
    return file.startswith(_OWN) and not file.startswith(INTERPRETED)


def code_for(code: CodeType, policy: Policy | None) -> Code:
    """The code object made ready to run, from the cache or decoded now."""
    known = (PLAIN if policy is None else TRACED).get(id(code))
    return prepare(code, policy) if known is None else known


def prepare(code: CodeType, policy: Policy | None) -> Code:
    """Decodes a code object and binds its instructions to handlers."""
    if is_own(code) if policy is None else policy.opaque(code):
        made = Code(Decoded(code, (), array("l"), (), ()), (), True)
    else:
        decoded = fuse(decode(code))
        made = Code(decoded, tuple([_bound(op, arg) for op, arg in decoded.instructions]), False)
    (PLAIN if policy is None else TRACED)[id(code)] = made
    _SWEEPS.after(len(PLAIN) + len(TRACED))
    return made


class _Sweeps:
    """Drops code that nothing but the caches holds, each time they have doubled: programs make code without end."""

    def __init__(self) -> None:
        self.next = 4096

    def after(self, size: int) -> None:
        if size < self.next:
            return
        for key, made in [*PLAIN.items(), *TRACED.items()]:
            holders = (key in PLAIN) + (key in TRACED)
            if holders and getrefcount(made.code) <= 2 * holders + 1:
                PLAIN.pop(key, None)
                TRACED.pop(key, None)
        self.next = max(4096, 2 * (len(PLAIN) + len(TRACED)))


_SWEEPS: Final = _Sweeps()


def _bound(op: str, arg: Any) -> tuple[Any, Any]:
    handler = HANDLERS.get(op)
    return (MAKERS[op](arg), None) if handler is None else (handler, arg)


def forget() -> None:
    """Empties the caches, as after a change of what is opaque."""
    PLAIN.clear()
    TRACED.clear()
