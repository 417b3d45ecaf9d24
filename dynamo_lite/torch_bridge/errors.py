"""Errors of the bridge to PyTorch."""

from __future__ import annotations

from typing import Final

from solver.errors import GuardError, StateError, UnsupportedError, declare

TORCH_VERSION: Final = declare(
    "torch-version",
    UnsupportedError,
    "PyTorch {version} is installed, and the bridge is tested with {tested} alone",
    hint="install the extra: pip install 'dynamo-lite[torch]'",
    about="What is captured is known by the identity of PyTorch's functions, which differ from version to version.",
)
C_FUNCTION_REFUSED: Final = declare(
    "torch-function-unsupported",
    UnsupportedError,
    "{name} was called on a tensor, and it is no tensor operator that can be recorded",
    hint="write it with tensor operators, wrap it with torch.library.custom_op, or mark its caller with dl.allow_call",
    about="A function of PyTorch that reads tensors and is in no table of the bridge.",
)
REACHED_DISPATCHER: Final = declare(
    "reached-dispatcher",
    UnsupportedError,
    "{name} was reached by C++ code of PyTorch that cannot be captured",
    hint="export with strict=True, or call the operator from Python",
    about="Code under PyTorch's Python API computed on a tensor under export (jit, autograd.Function, checkpoint).",
)
TENSOR_KIND: Final = declare(
    "tensor-kind",
    UnsupportedError,
    "{what} cannot be captured",
    hint="convert it to an ordinary strided tensor first (to_dense(), dequantize(), as_subclass(torch.Tensor))",
    about="Sparse, quantised and nested tensors and subclasses compute in their own way.",
)
NO_FAKE_RULE: Final = declare(
    "torch-no-fake-rule",
    UnsupportedError,
    "the custom operator {op} has no fake rule",
    hint='give it one with torch.library.register_fake("{op}"): shapes and dtypes of the results from those of the arguments',
    about="An operator made with torch.library is met while exporting, and nothing says what it returns.",
)
AUTOCAST: Final = declare(
    "autocast-on",
    UnsupportedError,
    "autocast is on {where}, which a program would not know when it runs",
    hint="switch it on inside forward: its casts are then part of the program",
    about="dl.export called under torch.autocast.",
)
AUTOCAST_OPERATOR: Final = declare(
    "autocast-operator",
    UnsupportedError,
    "{op} is called under autocast, and the casts inside it cannot be captured",
    hint="call it with autocast switched off (torch.autocast(..., enabled=False)) on operands cast with .to(dtype)",
    about="Operators made of others that autocast casts (einsum, LSTM), custom operators, operands of unusual dtypes.",
)
AUTOCAST_AROUND: Final = declare(
    "autocast-around",
    GuardError,
    "the program is called under autocast, which was off when it was exported",
    hint="switch it on inside forward before exporting: its casts are then part of the program; or leave the block for this call",
    about="Autocast would cast the operands of single operators, and no longer know which blocks of the model switch it off.",
)
NO_EXAMPLE: Final = declare(
    "no-example",
    UnsupportedError,
    "the program holds no example inputs, and none were found that its contract admits",
    hint="call to_torch() on the program that export returned, before it is saved",
    about="to_torch() of a program that was loaded from a file: PyTorch's exporter needs inputs.",
)
NODE_ASKED: Final = declare(
    "symbol-inside-torch",
    UnsupportedError,
    "PyTorch's C++ code asks for the value of the dynamic size {text}",
    hint="pass it to a tensor operator instead, or specialise it with int()",
    about="A symbolic size reached code of PyTorch that cannot be captured.",
)
GENERATOR: Final = declare(
    "generator-of-its-own",
    UnsupportedError,
    "a random operator is given a torch.Generator, whose state a program could not carry",
    hint="leave out generator=, so that the default generator is drawn from, or pass the random tensor as an input",
    about="generator= of an operator that draws random numbers.",
)
OVERRIDES: Final = declare(
    "torch-function-class",
    UnsupportedError,
    "{function} is given an object of class {name}, which overrides PyTorch's functions by __torch_function__",
    hint="pass the tensor that it holds, and do in forward what the class does",
    about="Classes that take part in PyTorch's override protocol and are no tensors.",
)
TRANSFORM: Final = declare(
    "function-transform",
    UnsupportedError,
    "{name} transforms a function in C++ code of PyTorch that cannot be captured",
    hint="write the batch dimension out with tensor operators, or use dynamo_lite's map; take gradients outside forward",
    about="torch.func.vmap, torch.func.grad and their kin under export; functional_call is captured.",
)
BACKWARD_UNKNOWN: Final = declare(
    "backward-unknown",
    UnsupportedError,
    "a backward pass needs the gradient of {why}",
    hint="register it as torch.library.custom_op with register_autograd; or export with gradients switched on, or compute these gradients outside the program",
    about="A program computes values; what differentiates in its own way (an autograd.Function, modes set under no_grad) is not in it.",
)
BACKWARD_NOT_EXPORTED: Final = declare(
    "backward-not-exported",
    UnsupportedError,
    "PyTorch's exporter cannot be given {why}: it would differentiate the operators inside",
    hint="register it as torch.library.custom_op with register_autograd, or call it under torch.no_grad() where no gradient is wanted",
    about="to_torch() of a program whose gradients are not in its graph.",
)
ENCODER_PACKS: Final = declare(
    "encoder-packs",
    UnsupportedError,
    "the encoder packs padded rows where its mask lets it, and leaves zeros at padded positions, which depends on the mask's values",
    hint="make it with nn.TransformerEncoder(..., enable_nested_tensor=False), which computes all positions, or pass no padding mask",
    about="nn.TransformerEncoder in eval mode without gradients, with src_key_padding_mask: eager computes on nested tensors.",
)
LAYOUT_UNKNOWN: Final = declare(
    "layout-unknown",
    UnsupportedError,
    "this asks how the result of {op} lies in memory, which is known when the program runs",
    hint="call .contiguous() or .clone() on the result first",
    about="Operators that PyTorch lends: its kernels for shapes and for values differ in the strides of their results.",
)
TENSOR_PATCHED: Final = declare(
    "tensor-class-patched",
    UnsupportedError,
    "torch.Tensor.{name} was replaced by a function that is not PyTorch's",
    hint="put PyTorch's own back for the export, and call yours as a function",
    about="A method of torch.Tensor has another's code in its place, which the fakes of a capture would not run.",
)
OUTPUT_DIRTY: Final = declare(
    "autograd-function-writes",
    UnsupportedError,
    "the autograd function {name} writes to an argument that may require gradients",
    hint="let its forward return a new tensor",
    about="ctx.mark_dirty: the history of the tensor that was given is replaced by one that a graph cannot hold.",
)
LOOP_LOOKED_UP: Final = declare(
    "loop-looked-up",
    UnsupportedError,
    "{name} was looked up before the export, and non-strict mode meets it only where forward looks it up",
    hint="write {name}(...) in forward, or export with strict=True",
    about="A name like `from torch._higher_order_ops import scan` at the head of a file.",
)
MODULE_CONVERTED: Final = declare(
    "module-converted",
    StateError,
    "forward converts {name} of a {type} to another dtype, device or function of itself",
    hint="convert the module before export, or the tensor where it is used: F.linear(x, self.weight.to(dtype))",
    about="`module.to(...)`, `module.half()` in forward: eager's module would be another after the first call.",
)
