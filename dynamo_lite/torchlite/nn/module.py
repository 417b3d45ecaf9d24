"""``nn.Module``: parameters, buffers, submodules, hooks; interpreted in strict mode, so calls and look-ups stay short."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dynamo_lite.torchlite._tensor import Tensor
from dynamo_lite.torchlite.nn import hooks
from dynamo_lite.torchlite.nn.hooks import GLOBAL_FORWARD, GLOBAL_FORWARD_PRE, Hook, RemovableHandle
from dynamo_lite.torchlite.nn.state import State
from dynamo_lite.torchlite.nn.tree import Tree
from dynamo_lite.torchlite.parameter import Buffer, Parameter

Self = TypeVar("Self", bound="Module")

_HOOK_TABLES = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module(Tree, State):
    """Base of all modules, with PyTorch's meaning.

    A subclass calls ``super().__init__()`` before it assigns parameters or submodules, and defines ``forward``.
    """

    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            wrong = f"takes 1 positional argument but {len(args) + 1} were given"
            if kwargs:
                wrong = f"got an unexpected keyword argument '{next(iter(kwargs))}'"
            raise TypeError(f"{type(self).__name__}.__init__() {wrong}")
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        for table in _HOOK_TABLES:
            own[table] = OrderedDict()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or GLOBAL_FORWARD or GLOBAL_FORWARD_PRE:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = hooks.run_pre(self, args, kwargs)
        try:
            result = self.forward(*args, **kwargs)
            return hooks.run_post(self, args, kwargs, result)
        except Exception:
            hooks.run_always(self, args, kwargs)
            raise

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in own and name in own[table]:
                return own[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            _ready(own, "_parameters", "cannot assign parameters before Module.__init__() call")
            _forget(own, name, "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            own["_parameters"][name] = None
        elif isinstance(value, Module):
            _ready(own, "_modules", "cannot assign module before Module.__init__() call")
            _forget(own, name, "_modules")
            own["_modules"][name] = value
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            own["_modules"][name] = None
        elif isinstance(value, Buffer) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            super().__setattr__(name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        own = self.__dict__
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        _ready(own, "_buffers", "cannot assign buffer before Module.__init__() call")
        if name in own["_buffers"]:
            own["_buffers"][name] = value
        else:
            _forget(own, name, "_buffers")
            self.register_buffer(name, value, getattr(value, "persistent", True))

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        own = self.__dict__
        names = {*dir(type(self)), *own, *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    # --- registration ---

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; raises ``TypeError`` for what is none, ``KeyError`` for a name that cannot be one."""
        _ready(self.__dict__, "_parameters", "cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a buffer, part of ``state_dict`` if ``persistent``."""
        _ready(self.__dict__, "_buffers", "cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under ``name``."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, kind: str, name: str, table: Mapping[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    # --- hooks ---

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls ``hook(module, args)`` (or with ``kwargs`` too) before ``forward``; what it returns replaces them."""
        return hooks.add(self._forward_pre_hooks, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls ``hook(module, args, output)`` (or with ``kwargs`` too) after ``forward``; may replace the output."""
        return hooks.add(self._forward_hooks, Hook(hook, with_kwargs, always_call), prepend)

    # --- modes and conversions ---

    def train(self: Self, mode: bool = True) -> Self:
        """Sets ``training`` on the whole tree."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Leaves training mode on the whole tree."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Sets ``requires_grad`` of every parameter (metadata here: there is no autograd)."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears what was stored in ``grad``."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        if recurse:
            for child in self.children():
                child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = fn(parameter.data)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Converts parameters and buffers; a dtype touches floating-point ones alone, as in PyTorch."""
        device, dtype = _device_and_dtype(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            return tensor.to(device=device, dtype=wanted)  # type: ignore[no-any-return]

        return self._apply(convert)

    def float(self: Self) -> Self:
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self: Self) -> Self:
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self: Self) -> Self:
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self: Self) -> Self:
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def type(self: Self, dst_type: Any) -> Self:
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self: Self) -> Self:
        return self._apply(lambda tensor: tensor.cpu())

    def share_memory(self: Self) -> Self:
        return self

    # --- text ---

    def extra_repr(self) -> str:
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        head = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        lines = head + children
        if not lines:
            return f"{self._get_name()}()"
        if len(head) == 1 and not children:
            return f"{self._get_name()}({head[0]})"
        body = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {body}\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())


def _ready(own: dict[str, Any], table: str, complaint: str) -> None:
    if table not in own:
        raise AttributeError(complaint)


def _forget(own: dict[str, Any], name: str, kept: str) -> None:
    """Takes ``name`` out of every table but the one that it is to be entered in, where it keeps its place."""
    own.pop(name, None)
    for table in ("_parameters", "_buffers", "_modules"):
        if table != kept:
            own[table].pop(name, None)
    own["_non_persistent_buffers_set"].discard(name)


def _typename(value: Any) -> str:
    if isinstance(value, Tensor):
        return (
            "torch.FloatTensor" if str(value.dtype) == "torch.float32" else f"torch.Tensor of {value.dtype}"
        )
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _device_and_dtype(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    from dynamo_lite.torchlite.types import device as device_type
    from dynamo_lite.torchlite.types import dtype as dtype_type

    device = kwargs.get("device")
    dtype = kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, dtype_type):
            dtype = arg
        elif isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, (str, device_type)):
            device = arg
    return device, dtype


def _indented(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return first + newline + "\n".join("  " + line for line in rest.split("\n")) if newline else first
