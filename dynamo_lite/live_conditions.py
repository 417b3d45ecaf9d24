"""What must be as it was at export for a program to stand for a live module, besides its inputs and its state.

What was burned in (``LiveCheck``), hooks of submodules (``Hooks``), and the library's global state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.library import TensorLibrary
from dynamo_lite.live_hooks import Hooks
from dynamo_lite.strict.policy.code import Code
from dynamo_lite.strict.policy.live_check import LiveCheck
from dynamo_lite.trace.settings import Setting
from fx_ir.provenance import GRADIENT_MODE


class Conditions:
    """The conditions of one capture. ``settings`` of the process are what the program asked for, ``mode`` is the gradient mode if it asked for that.

    ``forwards``: whether each module's own ``forward`` is a condition, since no trace saw it being looked up.
    """

    __slots__ = ("_ambient", "_code", "_hooks", "_library", "_live", "_mode", "_settings")

    def __init__(
        self,
        library: TensorLibrary,
        module: Any,
        live: LiveCheck | None,
        code: Code | None,
        forwards: bool,
        mode: bool | None,
        settings: Sequence[Setting] = (),
    ) -> None:
        self._library = library
        self._live = live
        self._code = code
        self._hooks = Hooks(module, library.hooks_everywhere(), forwards=forwards)
        self._ambient = library.ambient()
        self._mode = mode
        self._settings = tuple(settings)

    def problem(self, module: Any) -> str | None:
        """The name of the first thing that is not as it was; None if all is."""
        if self._library.ambient() != self._ambient:
            return "the global state around the call (default dtype, autocast, function modes)"
        if self._mode is not None and self._library.grad_enabled() is not self._mode:
            return f"{GRADIENT_MODE} around the call"
        for setting in self._settings:
            if not setting.holds():
                return setting.path
        burned = None if self._live is None else self._live.problem(module)
        problem = burned or self._hooks.problem(module)
        return problem if problem or self._code is None else self._code.problem()

    def bind(self, module: Any) -> Callable[[], bool]:
        """A fast check over the objects that ``module`` consists of now; False means: ask :meth:`problem`."""
        burned = None if self._live is None else self._live.bind(module)
        hooks = self._hooks.bind(module)
        ambient, expected, mode, grad_enabled = (
            self._library.ambient,
            self._ambient,
            self._mode,
            self._library.grad_enabled,
        )

        settings = self._settings
        code = None if self._code is None else self._code.holds

        def holds() -> bool:
            return (
                ambient() == expected
                and all(map(Setting.holds, settings))
                and (mode is None or grad_enabled() is mode)
                and hooks()
                and (burned is None or burned())
                and (code is None or code())
            )

        return holds
