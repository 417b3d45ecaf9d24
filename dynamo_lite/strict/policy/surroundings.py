"""What a policy does where forward reads the process around it: logging, warnings, the environment, whole namespaces."""

from __future__ import annotations

import _pickle
import json
import operator
import os
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.policy import impure, modules, tables, whole
from dynamo_lite.strict.policy.ambient import AGAIN, LOGGING_ASKED, Ambient
from dynamo_lite.strict.policy.errors import CALL_REFUSED
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.reads import Reads, is_users, user_location
from dynamo_lite.strict.policy.roots import globals_root
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.trace.outlets import Outlets
from dynamo_lite.trace.settings import WHOLE, Settings

_ENVIRON: Final = type(os.environ)
_ENCODER: Final = getattr(json.encoder, "c_make_encoder", None)
_COMPARING: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, sorted)
_THROUGHOUT: Final = frozenset(map(id, (str, repr, ascii, format, operator.mod, _pickle.dumps, *_COMPARING)))
"""What C reads through and through."""


class Surroundings(Reads):
    """The part of a policy that looks after state of the process."""

    def __init__(
        self, transaction: Transaction, origins: Origins, module_class: type, settings: Settings
    ) -> None:
        super().__init__(transaction, origins, module_class, settings)
        self.ambient = Ambient(settings, user_location, origins.root)
        self.outlets = Outlets()
        origins.met = self.ambient.met

    def met_whole(self, fn: Any, values: Iterable[Any]) -> None:
        """C reads whole what it is given; what stands for a state of the process is told."""
        wholes, waiting = self.ambient.wholes, self.origins.waiting
        for value in values:
            if id(value) in wholes:
                wholes[id(value)]()
            elif id(value) in waiting:
                self.origins.read_whole(value)
        if waiting and (id(fn) in _THROUGHOUT or type(fn) is _ENCODER):
            for origin in list(waiting.values()):
                self.origins.read_whole(origin.value)
        if self.origins.tellers:
            whole.tell(self.load_attr, self.origins.tellers, values)

    def of_whole(self, fn: Any, args: tuple[Any, ...]) -> None:
        """A method of something that stands for a state of the process: what asks for one item reads that alone."""
        if id(fn.__self__) in self.origins.waiting:
            self.origins.read_whole(fn.__self__)
        told = self.ambient.wholes.get(id(fn.__self__))
        if told is None or fn.__name__ == "run":
            return
        if fn.__name__ == "get" and type(fn.__self__) is dict and args[0] in fn.__self__:
            self.load_item(fn.__self__, args[0], fn.__self__[args[0]])
        elif fn.__name__ != "get" or type(fn.__self__) is dict:
            told()

    def answered(self, fn: Any, value: Any) -> None:
        if fn is not globals:
            self.ambient.after(AGAIN, fn, (), {}, value)
        elif is_users(peek()):
            origin = globals_root(self.origins, value)
            self.ambient.wholes[id(value)] = lambda: self.origins.assume_contents(origin)

    # --- functions of files that are called natively

    def _library_function(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A Python function of a file that is called natively."""
        module, name = fn.__module__, fn.__name__
        if args and type(args[0]) is _ENVIRON:
            return self._environ(fn, args, kwargs)
        if module == "logging":
            if name in tables.LOGGING_SKIPPED:
                self.transaction.note("output", f"logging.{name}", "dropped")
                return None
            if name not in LOGGING_ASKED:
                why = modules.STATE
                raise CALL_REFUSED(
                    name=f"logging.{fn.__qualname__}",
                    reason=why[0],
                    hint_text=why[1],
                    location=traced.location(),
                )
            result = fn(*args, **kwargs)
            self.ambient.logger(fn, args, kwargs, result)
            return result
        if f"{module}.{name}" in tables.SKIPPED:
            return self._skipped(f"{module}.{name}", fn, args, kwargs)
        refusal = impure.module_reason(module)
        if (
            refusal is not None
            and not name.startswith("__")
            and name not in ("local", "get_ident", "current_thread")
        ):
            raise CALL_REFUSED(
                name=f"{module}.{fn.__qualname__}",
                reason=refusal[0],
                hint_text=refusal[1],
                location=traced.location(),
            )
        return fn(*args, **kwargs)

    def _environ(self, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if fn.__name__ in ("__getitem__", "get", "__contains__") and len(args) > 1:
            self.read_environment(args[1])
            return fn(*args, **kwargs)
        if fn.__name__ in WHOLE:
            self.settings.environment(user_location)
        if fn.__name__ in ("__setitem__", "__delitem__", "setdefault", "pop", "putenv"):
            raise CALL_REFUSED(
                name=f"os.environ.{fn.__name__}",
                reason="changes the environment of the process",
                hint_text="do it outside forward",
                location=traced.location(),
            )
        return fn(*args, **kwargs)

    def _skipped(self, name: str, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Output is noted instead of made; a warning that is an error is raised."""
        if name.endswith(".warn") and self.ambient.warning(args, kwargs):
            return fn(*args, **kwargs)
        self.outlets.check(name, kwargs, user_location())
        self.transaction.note("output", name, "dropped")
        return None
