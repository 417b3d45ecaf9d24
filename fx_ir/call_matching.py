"""From the arguments of a call to the flat leaves: matching by name, and code specialised to the structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fx_ir.contract import InputContract
from fx_ir.guard_errors import (
    ARGUMENT_BY_POSITION,
    ARGUMENT_MISSING,
    ARGUMENT_TWICE,
    ARGUMENT_UNEXPECTED,
    STRUCTURE,
)
from fx_ir.pytree import (
    REGISTRY,
    KeyPath,
    TreeSpec,
    child_keys,
    describe_shape,
    describe_tree,
    is_namedtuple_class,
    keystr,
)

Flatten = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]
Args = tuple[Any, ...]
_SEQUENCES: Final = (list, tuple)


def compile_flatten(contract: InputContract) -> Flatten:
    """A function ``(args, kwargs) -> leaves``. It raises GuardError for arguments or structure that do not fit."""
    return _Writer(contract).compile()


class _Writer:
    """Writes the source: one statement takes one container apart."""

    def __init__(self, contract: InputContract) -> None:
        self.names = contract.arg_names
        self.args_spec, self.kwargs_spec = contract.in_spec.children_specs
        self.keys: list[str] = list(self.kwargs_spec.context or ())
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {}
        self.count = 0
        self.leaves: list[str] = []

    def compile(self) -> Flatten:
        arity = self.args_spec.num_children
        self.namespace["_arrange"] = self.arrange
        self.namespace["_names"] = self.keys
        wrong = f"len(args) != {arity} or " + ("list(kwargs) != _names" if self.keys else "kwargs")
        self.lines += [f"if {wrong}:", "    args, kwargs = _arrange(args, kwargs)"]
        roots = [self.fresh() for _ in range(arity)]
        self.unpack(roots, "args")
        for index, (root, spec) in enumerate(zip(roots, self.args_spec.children_specs, strict=True)):
            self.take_apart(root, spec, self.name_of(index), ())
        keyword_roots = [self.fresh() for _ in self.keys]
        self.unpack(keyword_roots, "kwargs.values()")
        for key, root, spec in zip(self.keys, keyword_roots, self.kwargs_spec.children_specs, strict=True):
            self.take_apart(root, spec, key, ())
        returned = ", ".join(self.leaves)
        self.lines.append(f"return ({returned}{',' if len(self.leaves) == 1 else ''})")
        source = "def flatten(args, kwargs):\n" + "\n".join(f"    {line}" for line in self.lines)
        self.namespace["__name__"] = __name__  # code of these packages, as every frame shows
        exec(compile(source, "<contract: structure>", "exec"), self.namespace)
        function: Flatten = self.namespace["flatten"]
        return function

    def name_of(self, index: int) -> str:
        return self.names[index] if index < len(self.names) else f"args[{index}]"

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def unpack(self, names: Sequence[str], source: str) -> None:
        if names:
            self.lines.append(f"{', '.join(names)}, = {source}")

    def take_apart(self, value: str, spec: TreeSpec, root: str, path: KeyPath) -> None:
        cls = spec.type
        if cls is None:
            self.leaves.append(value)
            return
        fail, kind = f"_fail{self.count}_{len(self.lines)}", f"_type{self.count}_{len(self.lines)}"
        self.namespace[kind] = cls
        self.namespace[fail] = _structure_failure(root + keystr(path), spec)
        children = [self.fresh() for _ in spec.children_specs]
        source = value
        if cls in _SEQUENCES or is_namedtuple_class(cls):
            self.lines.append(
                f"if type({value}) is not {kind} or len({value}) != {len(children)}: {fail}({value})"
            )
        elif cls is dict:
            self.namespace[f"{kind}_keys"] = list(spec.context)
            self.lines.append(
                f"if type({value}) is not dict or list({value}) != {kind}_keys: {fail}({value})"
            )
            source = f"{value}.values()"
        else:
            source = f"{kind}_flatten({value})"
            self.namespace[f"{kind}_flatten"] = _other_flatten(spec, self.namespace[fail])
            self.lines.append(f"if type({value}) is not {kind}: {fail}({value})")
            if not children:
                self.lines.append(source)
        self.unpack(children, source)
        keys = child_keys(REGISTRY[cls], spec.context, len(children))
        for key, name, child in zip(keys, children, spec.children_specs, strict=True):
            self.take_apart(name, child, root, (*path, key))

    def arrange(self, args: Args, kwargs: Mapping[str, Any]) -> tuple[Args, dict[str, Any]]:
        """Puts arguments where they stood at export: by name, in any order."""
        arity = self.args_spec.num_children
        given = dict(kwargs)
        for index, value in enumerate(args[arity:], start=arity):
            name = self.name_of(index)
            if name not in self.keys:
                spare = [key for key in self.keys if key not in given]
                if spare:
                    raise ARGUMENT_BY_POSITION(number=index + 1, names=", ".join(spare), name=spare[0])
                raise ARGUMENT_UNEXPECTED(name=f"number {index + 1}", known=self.known())
            if name in given:
                raise ARGUMENT_TWICE(name=name)
            given[name] = value
        positional = list(args[:arity])
        for name in self.names[: len(positional)]:
            if name in given and name not in self.keys:
                raise ARGUMENT_TWICE(name=name)
        open_names = [self.name_of(index) for index in range(len(positional), arity)]
        for name in given:
            if name not in self.keys and name not in open_names:
                raise ARGUMENT_UNEXPECTED(name=name, known=self.known())
        for name in open_names:
            if name not in given:
                raise ARGUMENT_MISSING(name=name)
            positional.append(given.pop(name))
        for name in self.keys:
            if name not in given:
                raise ARGUMENT_MISSING(name=name)
        return tuple(positional), {name: given[name] for name in self.keys}

    def known(self) -> str:
        names = [self.name_of(index) for index in range(self.args_spec.num_children)] + self.keys
        return ", ".join(names) or "no arguments"


def _structure_failure(path: str, spec: TreeSpec) -> Callable[[Any], None]:
    def fail(value: Any) -> None:
        raise STRUCTURE(path=path, expected=describe_shape(spec), given=describe_tree(value))

    return fail


def _other_flatten(spec: TreeSpec, fail: Callable[[Any], None]) -> Callable[[Any], list[Any]]:
    """The children of a registered class, after its context was compared."""
    definition = REGISTRY[spec.type]
    count = spec.num_children

    def flatten(value: Any) -> list[Any]:
        children, context = definition.flatten(value)
        items = list(children)
        if context != spec.context or len(items) != count:
            fail(value)
        return items

    return flatten
