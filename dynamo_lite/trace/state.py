"""State of the module under capture: real tensors met while tracing become placeholders, by identity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from dynamo_lite import collector
from dynamo_lite.fake import FakeTensor, is_fake
from dynamo_lite.trace.errors import ATTRIBUTE_WRITTEN, OUTER_WRITTEN, PARAMETER_WRITTEN, UNINITIALIZED
from fx_ir import functionalize
from fx_ir.names import sanitize
from fx_ir.node import Node

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

Kind = Literal["parameter", "buffer", "constant"]
_PREFIX: Final = {"parameter": "p_", "buffer": "b_", "constant": "c_"}


@dataclass(slots=True)
class Lifted:
    """A tensor of the module (or any other real tensor met), its placeholder and the fake that stands for it."""

    kind: Kind
    target: str
    tensor: Any
    fake: FakeTensor
    placeholder: Node
    persistent: bool | None = None
    new: bool = False  # a constant that forward makes, or may have made


class LiftedState:
    """Entries in the order of their placeholders within each kind; user inputs come after all of them."""

    __slots__ = (
        "_attributes",
        "_by_id",
        "_by_node",
        "_constants",
        "_module",
        "_names",
        "_tracer",
        "buffers",
        "entries",
        "first_input",
        "made",
    )

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._by_id: dict[int, FakeTensor] = {}
        self._by_node: dict[Node, Lifted] = {}
        self._constants = 0
        self._names: set[str] = set()
        self.entries: list[Lifted] = []
        self.buffers: list[tuple[str, Any, bool]] = []  # under every name, as they were
        self.first_input: Node | None = None
        # constants that forward makes of numbers, and those numbers where they are a few integers; the entries keep them alive
        self.made: dict[int, Any] = {}
        self._module: Any = None
        self._attributes: dict[int, str] | None = None

    def add_module(self, module: Any) -> None:
        """Lifts every parameter and buffer, each once however many names it has."""
        library = self._tracer.library
        self._module = module
        for name, tensor in library.named_parameters(module):
            if id(tensor) not in self._by_id:
                self._lift("parameter", name, tensor, None)
        self.buffers = list(library.named_buffers(module))
        for name, tensor, persistent in self.buffers:
            if id(tensor) not in self._by_id:
                self._lift("buffer", name, tensor, persistent)

    def bind(self, tensor: Any, fake: FakeTensor) -> None:
        """Says that ``fake`` stands for a real tensor that is an input."""
        self._by_id[id(tensor)] = fake

    def known(self, tensor: Any) -> FakeTensor | None:
        """The fake of a tensor that was lifted already."""
        return self._by_id.get(id(tensor))

    def entry_of(self, placeholder: Node) -> Lifted | None:
        """What a placeholder holds; None for an input."""
        return self._by_node.get(placeholder)

    def fake_of(self, tensor: Any) -> FakeTensor:
        """The fake of any real tensor; a new one is a constant of the program."""
        found = self._by_id.get(id(tensor))
        if found is None:
            name = self._attribute_names().get(id(tensor))
            held = name is not None
            if name is None or name in self._names:
                name = f"lifted_tensor_{self._constants}"
            found = self._lift("constant", name, tensor, None)
            self.entries[-1].new = id(tensor) in self.made or not (held or collector.is_old(tensor))
        return found

    def places(self) -> dict[int, str | None]:
        """Where a live program finds each tensor in the module tree, by the tensor's identity; None for one that lies elsewhere."""
        named = self._attributes or {}
        return {
            id(entry.tensor): f"self.{entry.target}"
            if entry.kind != "constant" or named.get(id(entry.tensor)) == entry.target
            else None
            for entry in self.entries
        }

    def meet(self, results: Iterable[Any]) -> None:
        """Lifts the real tensors among the results while the capture still knows what is new."""
        for value in results:
            if not is_fake(value) and self._tracer.library.is_tensor(value):
                self.fake_of(value)

    def _attribute_names(self) -> dict[int, str]:
        """Tensors that the module tree holds as plain attributes, or in containers there, by identity."""
        if self._attributes is None:
            self._attributes = {}
            for path, child in self._tracer.library.named_modules(self._module):
                prefix = f"{path}." if path else ""
                for name, value in vars(child).items():
                    if not name.startswith("_"):
                        self._name_tensors(f"{prefix}{name}", value, 3)
        return self._attributes

    def _name_tensors(self, name: str, value: Any, depth: int) -> None:
        assert self._attributes is not None
        if self._tracer.library.is_tensor(value):
            self._attributes.setdefault(id(value), name)
        elif depth and type(value) in (list, tuple):
            for index, item in enumerate(value):
                self._name_tensors(f"{name}[{index}]", item, depth - 1)
        elif depth and type(value) is dict:
            for key, item in value.items():
                self._name_tensors(f"{name}[{key!r}]", item, depth - 1)

    def _lift(self, kind: Kind, target: str, tensor: Any, persistent: bool | None) -> FakeTensor:
        tracer = self._tracer
        try:
            meta = tracer.library.describe(tensor)
        except ValueError as error:  # what a library raises for a lazy parameter that has no shape yet
            raise UNINITIALIZED(kind=kind, name=target, problem=str(error).partition(". ")[0]) from None
        graph = tracer.top.graph
        name = _PREFIX[kind] + sanitize(target)
        node_meta = {"val": meta, "nn_module_stack": (), "location": None}
        if self.first_input is None:
            node = graph.placeholder(name, meta=node_meta)
        else:
            with graph.inserting_before(self.first_input):
                node = graph.placeholder(name, meta=node_meta)
        fake = tracer.library.fake_class(tracer, meta, node, kind, target)
        # The entry keeps the tensor alive, so that its id cannot be given to another.
        entry = Lifted(kind, target, tensor, fake, node, persistent)
        self.entries.append(entry)
        self._by_node[node] = entry
        self._constants += kind == "constant"
        self._names.add(target)
        self._by_id[id(tensor)] = fake
        return fake

    def refuse_write(self, fake: FakeTensor) -> None:
        """Raises for a write to what an exported program cannot update."""
        root: Any = functionalize.root_of(fake)
        where = self._tracer.locate()
        if root.kind == "parameter":
            raise PARAMETER_WRITTEN(name=root.origin, location=where)
        if root.kind == "constant":
            raise ATTRIBUTE_WRITTEN(name=root.origin, location=where)
        if root.node.graph is not self._tracer.level.graph:
            raise OUTER_WRITTEN(name=root.origin or root.node.name, location=where)
