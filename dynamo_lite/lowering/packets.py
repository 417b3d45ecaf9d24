"""Lowering by packet: the arguments choose the overload, ``dispatch`` does the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import access_of, meta_of
from dynamo_lite.lowering.as_numbers import resolve_reading
from dynamo_lite.lowering.errors import MISSING_OPERATOR, OUT_OF_ANOTHER_KIND, where
from dynamo_lite.lowering.leaf import Lower, TensorFunction, leaf
from dynamo_lite.lowering.return_types import result_class
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import PACKETS, Packet, is_tensor

# Names that PyTorch offers twice; both are operators there, and one is enough where the table lacks the other.
SYNONYMS: Final[Mapping[str, str]] = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "concat": "cat", "concatenate": "cat", "divide": "div",
    "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim",
    "multiply": "mul", "negative": "neg", "not_equal": "ne", "subtract": "sub", "swapaxes": "transpose",
    "swapdims": "transpose", "true_divide": "div", "row_stack": "vstack", "view_as": "view", "special_expit": "sigmoid",
    "linalg_matmul": "matmul", "orgqr": "linalg_householder_product", "special_digamma": "digamma", "special_erf": "erf", "special_erfc": "erfc",
    "special_erfinv": "erfinv", "special_exp2": "exp2", "special_expm1": "expm1",
    "special_gammaln": "lgamma", "special_i0": "i0", "special_log1p": "log1p", "special_log_softmax": "log_softmax", "special_logit": "logit",
    "special_logsumexp": "logsumexp", "special_psi": "digamma", "special_round": "round", "special_sinc": "sinc",
    "special_softmax": "softmax", "special_xlogy": "xlogy",
}  # fmt: skip


LENDERS: Final[list[Callable[[str], object]]] = []
"""Asked for operators that the table lacks, while a program is recorded: they enter what they lend in the table."""


def packet(name: str) -> Packet:
    """The overloads called ``name``. Raises ``missing-operator``."""
    found = PACKETS.get(f"aten::{name}")
    if found is None and name.endswith("_") and name[:-1] in SYNONYMS:
        found = PACKETS.get(f"aten::{SYNONYMS[name[:-1]]}_")
    elif found is None and name in SYNONYMS:
        found = PACKETS.get(f"aten::{SYNONYMS[name]}")
    if found is None and dispatch.recorder() is not None and any(lend(name) for lend in LENDERS):
        found = PACKETS.get(f"aten::{name}")
    if found is None:
        raise MISSING_OPERATOR(function=name, packet=f"aten::{name}", location=where())
    return found


_FOUND: Final[dict[str, Packet]] = {}


def apply(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Calls the operator ``aten::name`` on these arguments."""
    found = _FOUND.get(name)
    if found is None:
        found = _FOUND[name] = packet(name)
    return dispatch.call(*found.resolve(args, kwargs))


def item(tensor: Any) -> Any:
    """The number in a tensor of one element: an unbacked one under a trace, a plain one otherwise."""
    from dynamo_lite.lowering.conversion import item as read

    return read(tensor)


def packet_lower(name: str) -> Lower:
    """Lowers to the overloads called ``name``; ``out=`` copies into the given tensor."""
    found = packet(name)
    resolve = found.resolve
    call = dispatch.call

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if "out" in kwargs:
            return into_out(name, lower, args, kwargs)
        try:
            op, bound, keywords = resolve(args, kwargs)
        except TypeError:
            op, bound, keywords = resolve_reading(found, args, kwargs, item)
        result = call(op, bound, keywords)
        kind = type(result)
        if kind is tuple or kind is list:
            cls = result_class(op)
            return tuple(result) if cls is tuple else cls(*result)
        return result

    return lower


def factory_lower(name: str) -> Lower:
    """As :func:`packet_lower` for what makes tensors: takes ``requires_grad`` and no ``out``."""
    inner = packet_lower(name)

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if "requires_grad" not in kwargs:
            return inner(args, kwargs)
        rest = dict(kwargs)
        wanted = rest.pop("requires_grad")
        made = inner(args, rest)
        return made.requires_grad_() if wanted else made

    return lower


def into_out(name: str, lower: Lower, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Computes without ``out`` and copies the result, or each of several, into the tensors given.

    An empty one that forward has made itself takes the result's shape. Raises ``out-of-another-kind`` for any other tensor of another
    shape or dtype.
    """
    rest = dict(kwargs)
    out = rest.pop("out")
    if out is None:
        return lower(args, rest)
    recorder: Any = dispatch.recorder()
    if hasattr(recorder, "check_out"):
        recorder.check_out(name, (out,) if is_tensor(out) else tuple(out), args, rest)
    with dispatch.preparing(None):  # autocast leaves a call with ``out`` alone
        result = lower(args, rest)
    targets = (out,) if is_tensor(out) else tuple(out)
    results = (result,) if is_tensor(result) else tuple(result)
    if len(targets) != len(results):
        raise TypeError(f"expected {len(results)} tensors for out, got {len(targets)}")
    for target, value in zip(targets, results, strict=True):
        given, made = _meta(target), _meta(value)
        if any(type(size) is int and size == 0 for size in given.shape) and _filled(target, value):
            continue
        if given.dtype is not made.dtype or given.shape != made.shape:
            raise OUT_OF_ANOTHER_KIND(function=name, given=given, result=made, location=where())
        apply("copy_", target, value)
    return out


def _filled(target: Any, value: Any) -> bool:
    """Whether an empty tensor could be made to hold a new value of any size, as eager does to what is given as ``out``."""
    recorder: Any = dispatch.recorder()
    if recorder is None:
        if meta_of(target).dtype is not meta_of(value).dtype:
            return False
        access_of(target).setters["data"](target, value)  # type: ignore[index]
        return True
    writes = getattr(recorder, "writes", None)
    return writes is not None and bool(writes.become(target, value))


def _meta(tensor: Any) -> TensorMeta:
    recorder = dispatch.recorder()
    fake_of = getattr(recorder, "fake_of", None)
    return meta_of(tensor if fake_of is None else fake_of(tensor))


def lazy(qualname: str, name: str, *, factory: bool = False) -> TensorFunction:
    """The tensor function ``qualname`` over packet ``name``, looked up at the first call."""

    def first(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        made.lower = factory_lower(name) if factory else packet_lower(name)
        return made.lower(args, kwargs)

    made = leaf(qualname, first, f"See ``torch``: lowers to ``aten::{name}``.")
    return made


def python_lower(function: Any) -> Lower:
    """Lowers to a Python function of ours with the public signature."""

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return function(*args, **kwargs)

    return lower


def special(qualname: str, function: Any) -> TensorFunction:
    """The tensor function ``qualname`` whose lowering is the Python function ``function``."""
    return leaf(qualname, python_lower(function), function.__doc__)
