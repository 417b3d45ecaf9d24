"""Errors of the program layer."""

from __future__ import annotations

from typing import Final

from solver.errors import InputError, UnsupportedError, declare

GRAPH_INVALID: Final = declare(
    "graph-invalid",
    UnsupportedError,
    "node {node}: {problem}",
    hint="a pass that changes the graph must keep it in order; run graph.lint() after each step to find the one that did not",
    about="A graph breaks a rule of its own form.",
)
PROGRAM_INVALID: Final = declare(
    "program-invalid",
    UnsupportedError,
    "node {node}: {problem}",
    hint="undo the change of the graph that made it, or capture the program again",
    about="The checker found that a graph or signature contradicts the operators' rules.",
)
PYTREE_MISMATCH: Final = declare(
    "pytree-mismatch",
    InputError,
    "{where}: expected {expected}, given {given}",
    hint="pass the same nesting of containers as in the example inputs",
    about="Two trees that must have one structure differ.",
)
PYTREE_REGISTERED_TWICE: Final = declare(
    "pytree-registered-twice",
    InputError,
    "{name} is registered as a pytree already",
    hint="register a class once, next to its definition",
    about="A pytree registration would replace another.",
)
PYTREE_BAD_DATACLASS: Final = declare(
    "pytree-bad-class",
    InputError,
    "{name} cannot be registered as a pytree: {problem}",
    hint="see register_dataclass and register_pytree_node for what a class must offer",
    about="A class does not fit the registration asked for.",
)
PYTREE_UNKNOWN: Final = declare(
    "pytree-unknown-class",
    InputError,
    "the structure holds the class {name}, which is not registered as a pytree here",
    hint="import the module that registers {name} (register_dataclass, register_pytree_node or register_namedtuple) first",
    about="A file or a structure names a pytree class that this process does not know.",
)
PYTREE_NOT_SERIALIZABLE: Final = declare(
    "pytree-not-serializable",
    InputError,
    "the structure of class {name} cannot be written to a file: {problem}",
    hint="give register_pytree_node a serialized_type_name, and to_dumpable_context and from_dumpable_context if its context is not plain JSON",
    about="A registered class lacks what a file needs.",
)
PROGRAM_CALLED: Final = declare(
    "program-called",
    UnsupportedError,
    "an ExportedProgram is not called itself",
    hint="call program.module()(...) instead",
    about="A program was called as if it were a module.",
)
BACKEND_UNKNOWN: Final = declare(
    "backend-unknown",
    InputError,
    "there is no tensor library {name!r} here (known: {known})",
    hint="import dynamo_lite.torchlite for NumPy, or install the extra 'torch' for PyTorch",
    about="A program asks for a tensor library that is not loaded.",
)
NO_BACKEND: Final = declare(
    "no-backend",
    InputError,
    "no tensor of a known library among the values given ({kinds})",
    hint="pass tensors of dynamo_lite.torchlite or of PyTorch",
    about="A graph was called without a tensor that tells which library runs it.",
)
KERNEL_MISSING: Final = declare(
    "kernel-missing",
    UnsupportedError,
    "{op} has no kernel for {backend}",
    hint="run the program on another backend, decompose the operator with run_decompositions, or register a kernel",
    about="A backend cannot run an operator.",
)
NO_TORCH_BRIDGE: Final = declare(
    "no-torch-bridge",
    UnsupportedError,
    "a torch.export.ExportedProgram can be made only where PyTorch is in use",
    hint="install the extra 'torch' and import dynamo_lite.torch_bridge",
    about="to_torch() was called without PyTorch.",
)
ARCHIVE_BAD: Final = declare(
    "archive-bad",
    InputError,
    "{file} is not a usable program archive: {problem}",
    hint="save the program again; a .dlp file is written by dynamo_lite.save and described in docs/format.md",
    about="A file is truncated, foreign, or says what no program can mean.",
)
CONTRACT_UNBOUND: Final = declare(
    "contract-unbound",
    InputError,
    "the condition {condition} speaks of {symbol}, which no input of the program determines",
    hint="give a dimension of an input that symbol, or state the condition inside the model with check",
    about="An input contract mentions a symbol that its inputs do not bind.",
)
STATE_UNKNOWN: Final = declare(
    "state-unknown",
    InputError,
    "state {name}: {problem}",
    hint="give exactly the names that module.state_dict() lists",
    about="A name is no parameter, buffer or constant of the program, or one is left out.",
)
STATE_MISMATCH: Final = declare(
    "state-mismatch",
    InputError,
    "{name}: expected {expected}, given {given}",
    hint="shapes and dtypes of parameters and buffers are fixed at export; export the model again to change them",
    about="New state does not fit the place that it is for.",
)
TRAINING_FIXED: Final = declare(
    "training-fixed",
    UnsupportedError,
    "train() and eval() have no meaning on an exported program: the mode is burned in",
    hint="set the mode on the original model and export it again",
    about="An exported program's training mode cannot change.",
)
ARCHIVE_UNSUPPORTED: Final = declare(
    "archive-unsupported",
    InputError,
    "the program cannot be saved: {what} is not data that a file can hold",
    hint="keep such objects out of inputs and outputs, or register their class as a pytree",
    about="A program holds an object that no file can describe.",
)
ARCHIVE_MISSING: Final = declare(
    "archive-missing",
    InputError,
    "there is no file {file}: {problem}",
    hint="check the path; programs are written by dynamo_lite.save",
    about="The file to load does not exist or cannot be read.",
)
ARCHIVE_FOREIGN: Final = declare(
    "archive-foreign",
    InputError,
    "{file} is not a program archive: {problem}",
    hint="give a .dlp file written by dynamo_lite.save",
    about="A file of another kind was given.",
)
ARCHIVE_VERSION: Final = declare(
    "archive-version",
    InputError,
    "{file} has version {given} of the program format, this release reads up to {known}",
    hint="load it with the release that wrote it, or a newer one",
    about="A file was written by another version.",
)
ARCHIVE_ARGUMENT: Final = declare(
    "archive-argument",
    InputError,
    "{function} wants {wanted}, given {given}",
    hint="save(program, 'model.dlp') writes, load('model.dlp') reads, unflatten(program) makes modules",
    about="save, load or unflatten was called with the wrong kind of object.",
)
ARCHIVE_OPERATOR: Final = declare(
    "archive-unknown-operator",
    InputError,
    "the program uses the operator {name}, which is not registered here",
    hint="import the module that defines {name} (custom_op) before loading",
    about="A file names an operator that this process does not know.",
)
ARCHIVE_WRITE: Final = declare(
    "archive-write",
    InputError,
    "{file} cannot be written: {problem}",
    hint="check the folder, its permissions and the free space; an older file of that name is untouched",
    about="Saving failed before the file was put in place.",
)
NO_FUNCTION_TRACER: Final = declare(
    "no-function-tracer",
    UnsupportedError,
    "the decomposition {name} cannot be traced: the tensor library {backend} offers no tracing of functions",
    hint="import dynamo_lite, or give an fx_ir.decompose.Rule",
    about="A decomposition is given as a function of tensors where nothing can trace one.",
)
HIERARCHY_SPLIT: Final = declare(
    "hierarchy-split",
    UnsupportedError,
    "operators of one call of the module {name} do not lie together in the graph (see {node})",
    hint="unflatten the program before passes that move operators, or export it again",
    about="A module hierarchy cannot be made of a graph because the operators of a call are spread.",
)
NO_SUCH_CALL: Final = declare(
    "module-not-called",
    InputError,
    "the module {name} computes nothing in this program, so it cannot be called on its own",
    hint="call a module that takes part in the program, or keep this one's calling convention with preserve_module_call_signature",
    about="A module of an unflattened program is called that has no operators in it.",
)
PART_INPUTS: Final = declare(
    "module-inputs",
    InputError,
    "{name} takes {expected} here, and was given {given}",
    hint="pass the tensors that the module uses in this program, or keep its own calling convention with preserve_module_call_signature",
    about="A module of an unflattened program is called with other arguments than its part of the graph takes.",
)
PART_ALONE: Final = declare(
    "module-needs-others",
    UnsupportedError,
    "{name} cannot be called alone: it {problem}",
    hint="call the whole program, or a module around this one",
    about="A part of an unflattened program uses a value that comes from outside of it, or lacks a result.",
)
PART_UNUSED: Final = declare(
    "module-not-replaceable",
    UnsupportedError,
    "{name} was replaced, and the program has no call of it that the replacement could answer",
    hint="replace a module around it; what computes nothing when exported, or is called in a branch or a loop's body, has no place of its own in the graph",
    about="A module of an unflattened program was replaced whose calls the graph does not show.",
)
PART_REPLACED: Final = declare(
    "module-replaced",
    UnsupportedError,
    "the program needs {value} from the module {name}, which its replacement does not give",
    hint="replace a module around it, or one whose results alone are used",
    about="A module of an unflattened program was replaced by one that does not compute all that the rest needs.",
)
RANK_UNKNOWN: Final = declare(
    "rank-depends-on-data",
    UnsupportedError,
    "linalg.lstsq gives residuals with the driver {driver} only where the matrices have full rank, which depends on their values",
    hint="use the driver gels (matrices of full rank) or gelsy (which gives none), or compute the residuals from the solution",
    about="`linalg.lstsq` of tall matrices by singular values.",
)
