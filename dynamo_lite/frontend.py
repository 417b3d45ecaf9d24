"""What a front end hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_lite.strict.policy.code import Code
from dynamo_lite.strict.policy.live_check import LiveCheck
from dynamo_lite.trace.again import Stray, Written
from fx_ir.provenance import Assumption, Effect
from fx_ir.pytree import TreeSpec


@dataclass(slots=True)
class Run:
    """The model's result over fakes, what each buffer's name held at the end, what happened and what was taken for granted.

    The result is ``leaves`` and ``spec``: taken apart before writes are rolled back, since it may be one of the objects written.
    ``strays`` are places outside that would keep a tensor of the trace; where there are any, ``written`` holds what was written
    outside, or is None if not all of that is dicts and lists.
    ``live`` tells for a module what no longer holds of what was taken for granted (None: nothing to tell);
    ``code`` makes the check that the code which ran is as it was.
    """

    leaves: Sequence[Any]
    spec: TreeSpec
    buffers: Mapping[str, Any]
    effects: Sequence[Effect]
    assumptions: Sequence[Assumption]
    live: LiveCheck | None = None
    code: Callable[[], Code] | None = None
    strays: Sequence[Stray] = ()
    written: Sequence[Written] | None = ()
