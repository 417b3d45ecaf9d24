"""The strict front end's policy for PyTorch: C functions of PyTorch are met by identity, and real tensors' data by nobody."""

from __future__ import annotations

import builtins
import functools
import operator
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import torch
import torch.overrides
from torch._ops import OpOverload, OpOverloadPacket
from torch.nn.utils import parametrize

from dynamo_lite import dispatch, places
from dynamo_lite.fake import is_fake
from dynamo_lite.strict import traced
from dynamo_lite.strict.machine.attributes import VIRTUAL
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.items import _setitem as set_item
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.reads import user_location
from dynamo_lite.strict.policy.tracing import TracePolicy
from dynamo_lite.strict.transaction import Transaction
from dynamo_lite.torch_bridge import legacy, numbers
from dynamo_lite.torch_bridge.answers import _KEPT as _ANSWERED
from dynamo_lite.torch_bridge.answers import ANSWERS, answer_shapes
from dynamo_lite.torch_bridge.errors import C_FUNCTION_REFUSED
from dynamo_lite.torch_bridge.flags import FLAGS
from dynamo_lite.torch_bridge.flow import refuse_seeding
from dynamo_lite.torch_bridge.leaves import _KEPT, BY_ATTRIBUTE, LEAVES
from dynamo_lite.trace.errors import NOT_PYTHON
from dynamo_lite.trace.tracer import Tracer
from solver.sym import SymNumber

_OPAQUE: Final = {id(found.__code__) for found in (*_KEPT, *_ANSWERED) if type(found) is FunctionType}
# Machinery that looks operators up: called natively, and never with a tensor.
_NATIVE_FILES: Final = ("/torch/_ops.py",)
# Wrappers that keep TorchDynamo away from a function: the function itself is what is interpreted.
_WRAPPER_FILES: Final = ("/torch/_compile.py", "/torch/_dynamo/eval_frame.py")
_NO_OVERRIDES: Final = frozenset(
    id(getattr(torch._C, name))
    for name in ("_has_torch_function", "_has_torch_function_unary", "_has_torch_function_variadic")
)
# Calls of operators by their names in ``torch.ops``.
_OPERATOR_CALLS: Final = frozenset({id(OpOverload.__call__), id(OpOverloadPacket.__call__)})
# What keeps identities and reads no data, of the functions that are no methods of containers.
_BY_IDENTITY: Final = frozenset(
    {
        builtins.isinstance, builtins.issubclass, builtins.id, builtins.callable, builtins.getattr, builtins.hasattr,
        builtins.setattr, builtins.delattr, builtins.print, builtins.vars, builtins.dir, builtins.iter, builtins.next,
        builtins.all, builtins.any, builtins.sorted,
    }
)  # fmt: skip
# Static methods of PyTorch's classes, which know neither their module nor their class.
_STATIC: Final = frozenset(
    id(found.__func__)
    for cls in vars(torch._C).values()
    if isinstance(cls, type)
    for found in vars(cls).values()
    if type(found) is staticmethod
)
_MODE_READERS: Final = (torch.is_grad_enabled, torch.is_inference_mode_enabled)
_SCRIPTED: Final = frozenset({torch._C.ScriptMethod, torch._C.ScriptFunction})
_TELLS: Final = ("get_", "_get_", "is_", "_is_", "are_", "_are_", "has_", "_has_")
"""How the names of C functions begin that tell a state of the process, if they are given and give plain values."""
_OF_TRACING: Final = (torch._C._get_tracing_state, torch._C._is_tracing)  # then the original runs
_RESEEDS: Final = frozenset({"manual_seed", "seed", "set_state"})
_VALUES: Final = frozenset({int, float, bool, complex, str, bytes, range, slice})
# Attributes of a real tensor that compute: a view of a parameter is an operator of the program.
# Containers that find tensors by identity: what is stored in them must stay what it is.
_BY_HASH: Final[tuple[type, ...]] = (
    set,
    frozenset,
    dict,
    MappingProxyType,
    type({}.keys()),
    type({}.items()),
)
_SEQUENCES: Final[tuple[type, ...]] = (list, tuple, type({}.values()))
_COMPUTED: Final = ("T", "mT", "mH", "H", "data", "real", "imag")


class TorchPolicy(TracePolicy):
    """One capture's policy."""

    trusted_slots = frozenset({torch.Tensor.__hash__.__code__})

    def __init__(self, tracer: Tracer, transaction: Transaction, origins: Origins) -> None:
        super().__init__(tracer, transaction, origins)
        transaction.made(parametrize._cache)
        _OPAQUE.update(id(function.__code__) for function in answer_shapes())
        self.tensors = frozenset(tracer.library.tensor_types())
        symbolic = (numbers.TorchSymInt, numbers.TorchSymFloat, numbers.TorchSymBool)
        self.special_ids = frozenset({*self.special_ids, *map(id, symbolic)})

    def opaque(self, code: CodeType) -> bool:
        return (
            id(code) in _OPAQUE
            or code.co_filename.endswith(_NATIVE_FILES + _WRAPPER_FILES)
            or super().opaque(code)
        )

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        identity = id(fn)
        leaf = LEAVES.get(identity)
        if leaf is not None:
            return self.lower(leaf, args, kwargs)
        answer = ANSWERS.get(identity)
        if answer is not None:
            if fn in _MODE_READERS and not places.is_library_file(_file_of(frame)):
                self.tracer.looked("mode")
                if fn is torch.is_inference_mode_enabled:
                    self.tracer.looked("inference")
            if identity in _OPERATOR_CALLS:
                return self._with(functools.partial(answer, args[0]), args[1:], kwargs)
            return self._with(answer, args, kwargs)
        if identity in _NO_OVERRIDES:
            return False
        if identity in FLAGS:
            return self.tracer.read_setting(fn)
        if fn is isinstance and legacy.asks_legacy(args[1]) and is_fake(args[0]):
            return legacy.is_instance(*args)
        kind = type(fn)
        if fn is set_item:
            key = args[1] if isinstance(args[0], _BY_HASH) else self._lifted(args[1])
            args = (self._lifted(args[0]), key, args[2])
        elif kind is BuiltinFunctionType:
            owner = fn.__self__
            if type(owner) in self.tensors:
                return self._method(fn, type(owner), args, kwargs)
            if type(owner) is torch.Generator and fn.__name__ in _RESEEDS:
                refuse_seeding(f"torch.Generator.{fn.__name__}")
            module = "torch._C" if identity in _STATIC else _module_of(fn)
            if args and type(args[0]) in _SCRIPTED:
                raise NOT_PYTHON(what=f"the scripted {args[0].name}", location=user_location())
            if module.startswith("torch"):
                self._refuse_tensors(fn, module, args, kwargs)
                if fn.__name__.startswith(_TELLS) and fn not in _OF_TRACING:
                    result = super().call_native(fn, args, kwargs, frame)
                    self.ambient.told(fn, args, kwargs, result)
                    return result
            elif (
                (owner is None or type(owner) is ModuleType)
                and fn not in _BY_IDENTITY
                and not (args and isinstance(args[0], _BY_HASH))
            ):
                args = self._without_data(args)
        elif kind is MethodDescriptorType or kind is WrapperDescriptorType:
            if fn.__objclass__.__module__.startswith("torch"):
                self._refuse_tensors(fn, fn.__objclass__.__module__, args, kwargs)
        elif fn in _VALUES if kind is type else False:
            args = self._without_data(args)
        elif kind is FunctionType and fn.__code__.co_filename.endswith(_WRAPPER_FILES):
            return self._unwrapped(fn, args, kwargs, frame)
        elif kind is FunctionType and fn.__code__.co_filename.endswith(_NATIVE_FILES):
            self._refuse_tensors(fn, fn.__module__, args, kwargs)
        elif issubclass(kind, type) and (fn.__module__ or "").startswith("torch"):
            self._refuse_tensors(fn, fn.__module__, args, kwargs)
            if issubclass(fn, torch.Tensor):
                raise C_FUNCTION_REFUSED(name=f"{fn.__module__}.{fn.__name__}()", location=user_location())
        return super().call_native(fn, args, kwargs, frame)

    def _unwrapped(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        inner = getattr(fn, "_torchdynamo_orig_callable", None) or getattr(fn, "__wrapped__", None)
        if inner is None:
            raise C_FUNCTION_REFUSED(name=f"{fn.__module__}.{fn.__qualname__}", location=user_location())
        if id(inner) in LEAVES or id(inner) in ANSWERS:
            return self.call_native(inner, args, kwargs, frame)
        return self.tracer.invoke(functools.partial(inner, **kwargs) if kwargs else inner, args)

    def _method(self, fn: Any, owner: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A C method bound to a real tensor: the method of its class, found as attribute look-up finds it."""
        for base in owner.__mro__:
            found = vars(base).get(fn.__name__)
            if found is not None:
                leaf = LEAVES.get(id(found))
                if leaf is not None:
                    return leaf.lower((fn.__self__, *args), kwargs)
                break
        raise C_FUNCTION_REFUSED(name=f"torch.Tensor.{fn.__name__}", location=user_location())

    def _refuse_tensors(self, fn: Any, module: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if any(self._is_special(value) for value in (*args, *kwargs.values())):
            raise C_FUNCTION_REFUSED(name=f"{module}.{fn.__name__}", location=user_location())

    def _is_special(self, value: Any) -> bool:
        kind = type(value)
        if kind in (list, tuple):
            return any(self._is_special(item) for item in value)
        return kind in self.tensors or is_fake(value) or issubclass(kind, SymNumber)

    def _without_data(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Real tensors replaced by their fakes, whose every slot is ours: what would read data is recorded or refused."""
        tensors = self.tensors
        for value in args:
            if type(value) in tensors:
                return tuple([self._lifted(value) for value in args])
        return args

    def _lifted(self, value: Any) -> Any:
        return self.tracer.fake_of(value) if type(value) in self.tensors else value

    # --- operators of Python on real tensors

    def truth(self, value: Any) -> bool:
        return super().truth(self._lifted(value))

    def iterate(self, value: Any) -> Any:
        return super().iterate(self._lifted(value))

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        return super().binary(symbol, self._lifted(left), self._lifted(right))

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        return super().compare(symbol, self._lifted(left), self._lifted(right))

    def unary(self, symbol: str, value: Any) -> Any:
        return super().unary(symbol, self._lifted(value))

    def contains(self, container: Any, value: Any) -> bool:
        if isinstance(container, _BY_HASH):
            found: bool = self.operate(operator.contains, container, value)
            return found
        if type(container) in _SEQUENCES:
            return any(item is value or self._equal(item, value) for item in container)
        return super().contains(self._lifted(container), self._lifted(value))

    def _equal(self, item: Any, value: Any) -> bool:
        """``item == value`` as C asks it of the items of a sequence, where a tensor takes part."""
        special = self.special_ids
        if id(type(item)) in special or id(type(value)) in special:
            return self.truth(self.compare("==", item, value))
        return bool(self.operate(operator.eq, item, value))

    def subscript(self, container: Any, key: Any) -> Any:
        if isinstance(container, _BY_HASH):
            return self.operate(operator.getitem, container, key)
        return super().subscript(self._lifted(container), self._lifted(key))

    def format(self, value: Any, conversion: str | None, spec: str) -> str:
        return super().format(self._lifted(value), conversion, spec)


def _file_of(frame: Frame) -> str:
    return "" if frame.code is None else frame.code.code.co_filename


def _module_of(fn: Any) -> str:
    """The module of a C function, or of the class whose method it is."""
    if fn.__module__ is not None:  # functions of pybind have a capsule for their owner
        return str(fn.__module__)
    owner = fn.__self__
    if owner is None or type(owner) is ModuleType:
        return ""
    cls = owner if issubclass(type(owner), type) else type(owner)
    return next((base.__module__ for base in cls.__mro__ if fn.__name__ in vars(base)), "")


def _computed(name: str) -> Any:
    getter = BY_ATTRIBUTE[name]

    def compute(frame: Frame, tensor: Any) -> Any:
        return getattr(tensor, name) if dispatch.recorder() is None else getter.lower((tensor,), {})

    return compute


for _name in _COMPUTED:
    for _class in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        VIRTUAL[id(_class), _name] = _computed(_name)
assert traced
