"""``state_dict`` and ``load_state_dict``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dynamo_lite.torchlite._tensor import Tensor
from dynamo_lite.torchlite.grad_mode import no_grad
from dynamo_lite.torchlite.nn.hooks import Hooks, RemovableHandle, add
from dynamo_lite.torchlite.parameter import Parameter

if TYPE_CHECKING:
    from dynamo_lite.torchlite.nn.module import Module

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateDict(OrderedDict[str, Any]):
    """An ordered dictionary that also carries the modules' versions in ``_metadata``."""

    _metadata: dict[str, dict[str, Any]]


class State:
    """Reading and writing a module's state by dotted names."""

    _modules: dict[str, Module | None]
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks
    _version: int = 1

    def get_extra_state(self) -> Any:
        raise RuntimeError(
            "implement get_extra_state() to save state that is neither a parameter nor a buffer"
        )

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError(
            "implement set_extra_state() to load state that is neither a parameter nor a buffer"
        )

    def state_dict(
        self,
        *,
        destination: MutableMapping[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Parameters and persistent buffers of the tree by name; they share memory with the module."""
        if destination is None:
            destination = StateDict()
            destination._metadata = {}
        metadata = getattr(destination, "_metadata", None)
        if metadata is not None:
            metadata[prefix[:-1]] = {"version": self._version}
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, {"version": self._version})
            destination = destination if changed is None else changed
        return destination

    def _save_to_state_dict(
        self, destination: MutableMapping[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        """This module's own parameters and persistent buffers."""
        own: dict[str, Tensor] = {name: held for name, held in self._parameters.items() if held is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        return own

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies (or assigns) the given tensors into the tree.

        Raises ``RuntimeError`` that lists every missing and unexpected key (when ``strict``) and every wrong shape.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading = StateDict(state_dict)
        loading._metadata = dict(getattr(state_dict, "_metadata", None) or {})
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        self._load(loading, "", strict, assign, missing, unexpected, errors)
        result = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            hook(self, result)
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return result

    def _load(
        self,
        state: StateDict,
        prefix: str,
        strict: bool,
        assign: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        metadata = {**state._metadata.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
        self._load_from_state_dict(state, prefix, metadata, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                child._load(state, f"{prefix}{name}.", strict, assign, missing, unexpected, errors)

    def _load_from_state_dict(
        self,
        state_dict: MutableMapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own entries; a module that must read an older layout overrides this."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, present in own.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            problem = self._load_one(name, key, present, state_dict[key], assign)
            if problem is not None:
                error_msgs.append(problem)
        self._load_extra(state_dict, prefix, missing_keys, unexpected_keys)
        for key in state_dict:
            if key.startswith(prefix) and key != prefix + EXTRA_STATE:
                head, dot, _ = key[len(prefix) :].partition(".")
                known = head in self._modules if dot else head in own
                if not known:
                    unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, present: Tensor, given: Any, assign: bool) -> str | None:
        """Loads one entry; the text of what is wrong with it, or None."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(given)}"
            )
        if given.shape != present.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
                f"the shape in current model is {present.shape}."
            )
        with no_grad():
            if not assign:
                present.copy_(given)
            elif isinstance(present, Parameter) and not isinstance(given, Parameter):
                setattr(self, name, Parameter(given, requires_grad=present.requires_grad))
            else:
                setattr(self, name, given)
        return None

    def _load_extra(
        self, state_dict: Mapping[str, Any], prefix: str, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            else:
                missing_keys.append(key)
        elif key in state_dict:
            unexpected_keys.append(key)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``."""
        return add(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before ``state_dict``."""
        return add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add(
            self._load_state_dict_pre_hooks, (lambda *given: hook(self, *given)) if with_module else hook
        )

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, …)`` before this module loads its entries."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, incompatible_keys)`` after loading."""
        return add(self._load_state_dict_post_hooks, hook)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
