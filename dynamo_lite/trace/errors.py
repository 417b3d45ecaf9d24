"""Errors of tracing."""

from __future__ import annotations

from typing import Final

from solver.errors import InputError, StateError, UnsupportedError, declare

FOREIGN_FAKE: Final = declare(
    "tensor-of-another-export",
    UnsupportedError,
    "a tensor of an export that has ended is used",
    hint="do not keep tensors made in forward outside the model; return them instead",
    about="A value of one capture is met in another.",
)
IN_PLACE_RESIZES: Final = declare(
    "in-place-changes-shape",
    UnsupportedError,
    "an in-place operator would change a tensor of {held} to {given}",
    hint="use the operator without the trailing underscore, which makes a new tensor",
    about="The result of an in-place operator does not fit its target.",
)
OUTPUT_READ: Final = declare(
    "output-read",
    UnsupportedError,
    "{name} writes to an object of forward's own, and output is skipped while tracing",
    hint="build the text without it, or do it outside forward",
    about="What is printed, logged or warned of is dropped while tracing; a program that reads it back would read nothing.",
)
PARAMETER_WRITTEN: Final = declare(
    "parameter-written",
    StateError,
    "the parameter {name} is updated in forward",
    hint="update parameters outside forward, in an optimiser step under no_grad, or register the tensor as a buffer",
    about="Parameters are read-only for an exported program; buffers carry state.",
)
ATTRIBUTE_WRITTEN: Final = declare(
    "tensor-attribute-written",
    StateError,
    "the tensor {name} is updated in forward, and it is neither a parameter nor a buffer",
    hint="register it with register_buffer; then the program carries its value from call to call",
    about="A plain tensor attribute, global or closure variable is updated.",
)
OUTER_WRITTEN: Final = declare(
    "outer-tensor-written-in-branch",
    UnsupportedError,
    "the tensor {name} of the enclosing function is updated inside a branch or a loop body",
    hint="return the new value from the branch and update the tensor outside",
    about="Branches of cond, bodies of map and of loops must be free of effects on tensors from outside.",
)
GRADIENT_WRITTEN: Final = declare(
    "gradient-written",
    UnsupportedError,
    "{name} that may require gradients is updated behind autograd's back",
    hint="use the operator without the trailing underscore, update a detached clone, or export under torch.no_grad()",
    about="An update under no_grad, through detach() or .data, or of an input that requires gradients: its history stays, its value changes.",
)
OUTPUT_TYPE: Final = declare(
    "output-type",
    InputError,
    "the model returns an object of class {type} at {path}, which a program cannot return",
    hint="return tensors, numbers and containers of them, or register the class with register_dataclass or register_pytree_node",
    about="Outputs are pytrees of tensors and plain values.",
)
FAKE_BUFFER_LOST: Final = declare(
    "buffer-replaced",
    StateError,
    "the buffer {name} is replaced by an object of class {type}",
    hint="assign tensors to buffers; keep other values in plain attributes",
    about="A buffer must stay a tensor.",
)
TIED_BUFFER_REPLACED: Final = declare(
    "tied-buffer-replaced",
    StateError,
    "{name} and {other} are one buffer, and forward gives one of the names another tensor",
    hint="update the buffer in place, or register two buffers",
    about="A program keeps one value for a buffer with several names.",
)
BUFFER_CHANGES_KIND: Final = declare(
    "buffer-changes-kind",
    StateError,
    "the buffer {name} is {before} and is replaced by {after}",
    hint="keep shape and dtype of a buffer: allocate it at its final size, or convert the new value with .to(dtype)",
    about="Buffers have a static shape and dtype in a program.",
)
TENSOR_LEFT_OUTSIDE: Final = declare(
    "tensor-left-outside",
    StateError,
    "forward stores a tensor in {where}, which is not a buffer",
    hint="register it with register_buffer if it is state, or return it if it is a result",
    about="A plain attribute or an outside container would hold a tensor of the export.",
)
INPUT_CHANGED: Final = declare(
    "input-changed",
    StateError,
    "forward changes the {type} {path} that it was given, and a program cannot change its caller's",
    hint="change a copy of it (dict(…), list(…)), and return what the caller needs",
    about="An item of a list or dict among the inputs is set, added or removed. Writing into its tensors is allowed.",
)
IN_PLACE_VIEW: Final = declare(
    "in-place-view",
    UnsupportedError,
    "{op} changes the shape of a tensor that others view, or that comes from outside",
    hint="use the operator without the trailing underscore and assign its result",
    about="An in-place operator that changes shape or strides (`t_`, `unsqueeze_`, ...).",
)
WRITE_THROUGH_EXPAND: Final = declare(
    "write-through-expand",
    UnsupportedError,
    "a part of what {op} made is updated in place; one element of it stands for several",
    hint="update the tensor before it is expanded, or clone it after",
    about="An in-place operator on a view of an expanded tensor.",
)
PREDICATE_KIND: Final = declare(
    "predicate-kind",
    InputError,
    "the predicate of cond is {given}",
    hint="pass a bool, a comparison of sizes, or a tensor with one element (use .any() or .all())",
    about="cond decides on one boolean.",
)
BRANCHES_DIFFER: Final = declare(
    "branches-differ",
    UnsupportedError,
    "the branches of cond return different things: {first} and {second}",
    hint="return the same structure from both branches, with tensors of equal dtype and rank",
    about="A value that comes out of cond has one description.",
)
BRANCH_OUTPUT: Final = declare(
    "branch-output",
    UnsupportedError,
    "{what} returns an object of class {type}",
    hint="return tensors and sizes, nested in containers",
    about="Only tensors and numbers come out of a recorded branch.",
)
LOOP_OPERANDS: Final = declare(
    "loop-operands",
    InputError,
    "{what}: {problem}",
    hint="pass tensors that agree in the dimension that is looped over, and functions that return what the operator documents",
    about="The operands of a loop operator do not fit it.",
)
LOOP_STATE_CHANGES: Final = declare(
    "loop-state-changes",
    InputError,
    "{what}: a step is given {held} and returns {given}",
    hint="let each step return as many values, of the same dtypes and sizes, as it was given",
    about="A loop carries a value whose kind changes from step to step.",
)
LOOP_WRITES: Final = declare(
    "loop-writes-operand",
    UnsupportedError,
    "{what} updates a tensor that it is given",
    hint="return the new value instead of writing in place",
    about="The body of a loop or of map writes to its operand, which eager execution shows outside and a program would lose.",
)
UNINITIALIZED: Final = declare(
    "uninitialized-state",
    StateError,
    "the {kind} {name} is not initialised ({problem})",
    hint="call the module once with an example before export, so that lazy parameters get their shapes",
    about="All state must be initialised before export.",
)
PRESERVED_UNKNOWN: Final = declare(
    "preserved-module-unknown",
    InputError,
    "preserve_module_call_signature names {name!r}, which is no submodule (there are: {known})",
    hint="give qualified names as named_modules() does",
    about="A module whose calling convention should be kept does not exist.",
)
PRESERVED_WRITES: Final = declare(
    "preserved-module-writes-input",
    UnsupportedError,
    "{name} updates an argument of its own, so that its results alone do not say what a call of it does",
    hint="leave it out of preserve_module_call_signature, or let it return the new value",
    about="A module whose calling convention should be kept writes to what it is given.",
)
PRESERVED_VALUE: Final = declare(
    "preserved-module-value",
    UnsupportedError,
    "{name} takes or returns a {type}, which is no tensor, no number and no registered container",
    hint="leave it out of preserve_module_call_signature, or register the class with register_dataclass or register_pytree_node",
    about="A module whose calling convention should be kept takes or returns an object that a program cannot hold.",
)
RESULT_SHARED: Final = declare(
    "result-may-share-memory",
    UnsupportedError,
    "{what} may be the very memory of a tensor that went in, depending on the data, and one of the two is updated in place",
    hint="let the branch or the step return a clone(), or use the operator without the trailing underscore",
    about="A branch of cond, or a loop of no steps, gives back its operand itself. Whether a write shows there is known only when the program runs.",
)
LAYOUT_VARIES: Final = declare(
    "layout-depends-on-data",
    UnsupportedError,
    "{what}: its strides or its offset depend on the branch taken or on the number of steps, and the program asks for them",
    hint="return the value with .contiguous() from the branches or the step, and give it so to the loop; use reshape instead of view",
    about="The layout of a tensor that comes out of cond or a loop is known only when the program runs.",
)
LOOP_RESULT: Final = declare(
    "loop-result",
    UnsupportedError,
    "{what}: a step returns a {type}, which cannot be stacked",
    hint="return tensors, nested in containers",
    about="The results of the steps of map and scan are stacked.",
)
NOT_PYTHON: Final = declare(
    "not-python",
    UnsupportedError,
    "{what} runs no Python code that could be captured",
    hint="give the module that it was made from (before torch.jit.script or torch.jit.trace)",
    about="A module that PyTorch has compiled to its own language, or a forward written in C.",
)
