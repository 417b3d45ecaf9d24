"""Answers of methods of ``torch.nn``: conversions of whole modules, and checks that read a size from a tensor."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.packets import item
from dynamo_lite.torch_bridge.answers import PATCHED, answers
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES, to_torch
from dynamo_lite.torch_bridge.errors import MODULE_CONVERTED


@answers(torch._C._nn._parse_to)
def _parse_to(*args: Any, **kwargs: Any) -> Any:
    """What ``Module.to`` makes of its arguments: device, dtype, ``non_blocking``, memory format."""
    like = args[0] if args else kwargs.get("tensor")
    if not is_tensor(like):
        return torch._C._nn._parse_to(*args, **kwargs)
    meta = meta_of(like)
    options = {name: value for name, value in kwargs.items() if name != "tensor"}
    _, _, non_blocking, memory_format = torch._C._nn._parse_to(
        torch.device("cpu"), None, *args[1:], **options
    )
    return to_torch(meta.device), TORCH_DTYPES[meta.dtype], non_blocking, memory_format


@answers(torch.nn.Module._apply)
def _apply(self: Any, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
    """Eager assigns what ``fn`` makes of each tensor to it, which is nothing where that is the tensor itself.

    Raises ``module-converted`` for any other: eager's module would be another from then on.
    """
    tracer: Any = dispatch.recorder()
    library = tracer.library
    bare = library.bare
    held = [*library.named_parameters(self), *(found[:2] for found in library.named_buffers(self))]
    for name, tensor in held:
        if "." in name and not recurse:
            continue
        made = bare(tracer.invoke(fn, (tensor,)))
        if made is not tensor and tracer.fake_of(made) is not tracer.fake_of(bare(tensor)):
            raise MODULE_CONVERTED(name=name, type=type(self).__name__, location=where())
    return self


PATCHED.append((torch.nn.Module, "_apply", _apply))


# --- recurrent layers ask int() for the rows of a packed sequence: in non-strict mode CPython would want their value


def _number(value: Any) -> Any:
    return item(value) if is_tensor(value) else int(value)


for _class, _name in (
    (torch.nn.RNNBase, "get_expected_hidden_size"),
    (torch.nn.LSTM, "get_expected_cell_size"),
):
    _theirs = vars(_class)[_name]
    _ours = FunctionType(_theirs.__code__, {**_theirs.__globals__, "int": _number}, _name)
    PATCHED.append((_class, _name, _ours))
