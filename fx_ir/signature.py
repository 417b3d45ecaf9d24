"""The signature: what each input and output of the flat graph stands for, with PyTorch's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any


@dataclass(frozen=True, slots=True)
class TensorArgument:
    name: str


@dataclass(frozen=True, slots=True)
class SymIntArgument:
    name: str


@dataclass(frozen=True, slots=True)
class SymFloatArgument:
    name: str


@dataclass(frozen=True, slots=True)
class SymBoolArgument:
    name: str


@dataclass(frozen=True, slots=True)
class ConstantArgument:
    """A plain value: an input that is burned in, or an output that is always the same."""

    name: str
    value: Any


ArgumentSpec = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument


class InputKind(Enum):
    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


@dataclass(frozen=True, slots=True)
class InputSpec:
    """``target`` is the qualified name of a parameter, buffer or constant, None for a user input."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name}: {self.kind.name}"
        if self.target is not None:
            text += f" target={self.target!r}"
        if self.persistent is not None:
            text += f" persistent={self.persistent}"
        if isinstance(self.arg, ConstantArgument):
            text += f" value={self.arg.value!r}"
        return text


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """``target`` is the buffer or user input that the value updates, None for a user output."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name}: {self.kind.name}"
        if self.target is not None:
            text += f" target={self.target!r}"
        if isinstance(self.arg, ConstantArgument):
            text += f" value={self.arg.value!r}"
        return text


_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)


@dataclass(slots=True)
class ExportGraphSignature:
    """Inputs in the order parameters, buffers, constants, user inputs; outputs in the order mutated buffers, mutated
    inputs, user outputs. The properties have PyTorch's names and meanings."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(s.target for s in self.input_specs if s.kind is kind and s.target is not None)

    def _by_name(self, kind: InputKind) -> Mapping[str, str]:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind and s.target is not None}

    def _mutations(self, kind: OutputKind) -> Mapping[str, str]:
        return {s.arg.name: s.target for s in self.output_specs if s.kind is kind and s.target is not None}

    @property
    def parameters(self) -> tuple[str, ...]:
        """Qualified names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Qualified names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """Qualified names of the buffers that ``state_dict`` leaves out."""
        return tuple(
            s.target
            for s in self.input_specs
            if s.kind is InputKind.BUFFER and s.persistent is False and s.target is not None
        )

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """Qualified names of the tensor constants."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """Names of the user's inputs; a burned-in one is represented by its value."""
        return tuple(_shown(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """Names of the user's outputs; a constant one is represented by its value."""
        return tuple(_shown(s.arg) for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Placeholder name to qualified name."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Placeholder name to qualified name."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Placeholder name to qualified name."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        return self._by_name(InputKind.CUSTOM_OBJ)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Output name to the qualified name of the buffer that it updates."""
        return self._mutations(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> Mapping[str, str]:
        return self._mutations(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Output name to the name of the user input that it updates."""
        return self._mutations(OutputKind.USER_INPUT_MUTATION)

    @property
    def assertion_dep_token(self) -> None:
        return None

    @property
    def backward_signature(self) -> None:
        return None

    @property
    def input_tokens(self) -> tuple[str, ...]:
        return ()

    @property
    def output_tokens(self) -> tuple[str, ...]:
        return ()

    def replace_all_uses(self, old: str, new: str) -> None:
        """Renames a value in every output specification."""
        self.output_specs = [
            replace(s, arg=replace(s.arg, name=new)) if s.arg.name == old else s for s in self.output_specs
        ]

    def mutation_count(self) -> int:
        """How many leading outputs are updates of state."""
        return sum(1 for s in self.output_specs if s.kind in _MUTATIONS)

    def __str__(self) -> str:
        lines = [
            "",
            "# inputs",
            *map(str, self.input_specs),
            "",
            "# outputs",
            *map(str, self.output_specs),
            "",
        ]
        return "\n".join(lines)


def _shown(arg: ArgumentSpec) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclass(slots=True)
class ModuleCallSignature:
    """Calling convention of a submodule that ``preserve_module_call_signature`` keeps."""

    inputs: list[ArgumentSpec]
    outputs: list[ArgumentSpec]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None


@dataclass(slots=True)
class ModuleCallEntry:
    """A module of the original hierarchy; ``signature`` only where it was asked to be kept (and for the root)."""

    fqn: str
    signature: ModuleCallSignature | None = None
