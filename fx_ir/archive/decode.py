"""A program from JSON. What the file names is looked up among what is registered here; nothing is imported or run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, get_args

from fx_ir import dtypes, plain, signature
from fx_ir.archive.limits import MAX_NODES
from fx_ir.contract import (
    Condition,
    ConditionKind,
    ConstLeaf,
    Distinct,
    InputContract,
    InputLeaf,
    IntLeaf,
    TensorLeaf,
)
from fx_ir.errors import ARCHIVE_BAD, ARCHIVE_OPERATOR
from fx_ir.graph import Graph, GraphModule
from fx_ir.higher_order import HIGHER_ORDER
from fx_ir.meta import TensorMeta
from fx_ir.node import OPS as NODE_OPS
from fx_ir.node import Node
from fx_ir.number_ops import BY_NAME
from fx_ir.ops.registry import look_up
from fx_ir.provenance import Assumption, AssumptionKind, Became, Effect, EffectKind
from fx_ir.signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    ModuleCallEntry,
    ModuleCallSignature,
    OutputKind,
    OutputSpec,
)
from fx_ir.symbols import detached_env
from fx_ir.treespec_io import spec_from_json
from solver.errors import Location
from solver.expr import BoolExpr, FloatExpr, IntExpr, Sort
from solver.parse import ExpressionError, is_symbol_name, parse, parse_bool
from solver.problem import Kind, Problem, SymbolDecl
from solver.records import Guard, GuardKind
from solver.sym import SymBool, SymFloat, SymInt

Json = Any
_ARGUMENTS: Final = {
    cls.__name__: cls
    for cls in (
        signature.TensorArgument,
        signature.SymIntArgument,
        signature.SymFloatArgument,
        signature.SymBoolArgument,
    )
}


class Shown(str):
    """The text of something that a file cannot hold; it prints as it was shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@contextmanager
def reading(file: str, part: str) -> Iterator[None]:
    """Malformed JSON in the block becomes ``archive-bad`` naming the part."""
    try:
        yield
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        RecursionError,
        RuntimeError,
    ) as error:
        detail = str(error) or type(error).__name__
        raise ARCHIVE_BAD(
            file=file, problem=f"{part} is malformed ({type(error).__name__}: {detail})"
        ) from None


class Decoder:
    """Decodes one program; its symbolic values live in ``env``."""

    def __init__(self, file: str, data: Mapping[str, Json], problem: Problem) -> None:
        self.file = file
        self.data = data
        self.count = 0
        symbols = {str(name): self.symbol(str(name), item) for name, item in data["symbols"].items()}
        self.sorts: dict[str, Sort] = {name: item.sort for name, item in symbols.items()} | problem.sorts
        self.env = detached_env(problem, symbols)
        with reading(file, "the table of lines"):
            self.places = [
                (Location(str(name), int(line), str(function)), str(source))
                for name, line, function, source in data["locations"]
            ]

    def symbol(self, name: str, data: Mapping[str, Json]) -> SymbolDecl:
        if not is_symbol_name(name):
            raise self.bad(f"a symbol called {name!r}")
        low, high, hint = _bound(data["min"]), _bound(data["max"]), _bound(data["hint"])
        return SymbolDecl(
            self.one_of(Kind, data["kind"]), low, high, None, hint, self.one_of(Sort, data["sort"])
        )

    def bad(self, problem: str) -> Exception:
        return ARCHIVE_BAD(file=self.file, problem=problem)

    def place(self, data: Mapping[str, Json]) -> Location | None:
        at = data.get("at")
        return None if at is None else self.places[at][0]

    # --- values ------------------------------------------------------------------------------------------------------

    def expression(self, text: str) -> Any:
        try:
            return parse(text, self.sorts)
        except ExpressionError as error:
            raise self.bad(f"the expression {text[:80]!r}: {error}") from None

    def condition_expr(self, text: str) -> BoolExpr:
        try:
            return parse_bool(text, self.sorts)
        except ExpressionError as error:
            raise self.bad(f"the condition {text[:80]!r}: {error}") from None

    def dimension(self, data: Json) -> int | IntExpr:
        """A size of the contract."""
        if type(data) is int and data >= 0:
            return data
        expr = self.expression(data) if isinstance(data, str) else None
        if not isinstance(expr, IntExpr):
            raise self.bad(f"{data!r} is not a size")
        return expr

    def size(self, data: Json) -> Any:
        """A size of a value's description."""
        expr = data if type(data) is int else self.dimension(data)
        return expr if isinstance(expr, int) else self.env.wrap(expr)

    def tensor(self, data: Mapping[str, Json]) -> TensorMeta:
        strides = data.get("strides")
        return TensorMeta(
            tuple(self.size(size) for size in data["shape"]),
            dtypes.by_name(data["dtype"]),
            dtypes.Device.parse(data["device"]),
            _open_layout if strides == "open" else _sizes(strides, self.size),
            data.get("requires_grad", False) is True,
            self.size(data.get("offset", 0)),
        )

    def value_leaf(self, kind: str, content: Json) -> Any:
        if kind == "tensor":
            return self.tensor(content)
        wanted = {"int": (IntExpr, SymInt), "real": (FloatExpr, SymFloat), "truth": (BoolExpr, SymBool)}.get(
            kind
        )
        if wanted is None:
            raise plain.NotJson(f"unknown kind of value {kind!r}")
        expr = self.condition_expr(content) if kind == "truth" else self.expression(content)
        if not isinstance(expr, wanted[0]):
            raise plain.NotJson(f"{content!r} is no {kind}")
        return wanted[1](self.env, expr)

    # --- graphs ------------------------------------------------------------------------------------------------------

    def module(self, data: Mapping[str, Json], depth: int = 0) -> GraphModule:
        if depth > 50:
            raise self.bad("branch graphs are nested deeper than 50")
        branches = {str(name): self.module(branch, depth + 1) for name, branch in data["branches"].items()}
        graph = Graph()
        module = GraphModule(graph, branches)
        nodes: dict[str, Node] = {}
        for item in data["nodes"]:
            self.count += 1
            if self.count > MAX_NODES:
                raise self.bad(f"more than {MAX_NODES} nodes")
            self.node(graph, item, nodes)
        graph.lint()
        return module

    def node(self, graph: Graph, data: Mapping[str, Json], nodes: dict[str, Node]) -> None:
        op, name = data["op"], data["name"]
        if op not in NODE_OPS or not isinstance(name, str) or not name.isidentifier():
            raise self.bad(f"a node of op {op!r} named {name!r}")

        def leaf(kind: str, content: Json) -> Any:
            if kind != "node" or content not in nodes:
                raise plain.NotJson(f"{name} uses {content!r}, which is not computed before it")
            return nodes[content]

        args = tuple(plain.decode(value, leaf) for value in data.get("args", ()))
        kwargs = {str(key): plain.decode(value, leaf) for key, value in data.get("kwargs", {}).items()}
        meta: dict[str, Any] = {}
        if "val" in data:
            meta["val"] = plain.decode(data["val"], self.value_leaf)
        meta["nn_module_stack"] = tuple((str(path), str(cls)) for path, cls in data.get("stack", ()))
        meta["location"] = None
        if data.get("at") is not None:
            meta["location"], meta["source"] = self.places[data["at"]]
        node = graph.create_node(op, self.target(op, data["target"]), args, kwargs, name, meta)
        if node.name != name:
            raise self.bad(f"the name {name} is used twice or reserved")
        nodes[name] = node

    def target(self, op: str, name: str) -> Any:
        if op != "call_function":
            return str(name)
        if name.startswith("higher_order."):
            found: Any = HIGHER_ORDER.get(name.removeprefix("higher_order."))
        elif name in BY_NAME:
            return BY_NAME[name].function
        else:
            found = look_up(name)
        if found is None:
            raise ARCHIVE_OPERATOR(name=name)
        return found

    # --- signature and contract --------------------------------------------------------------------------------------

    def spec_argument(self, data: Mapping[str, Json]) -> signature.ArgumentSpec:
        if data["kind"] == "ConstantArgument":
            return ConstantArgument(str(data["name"]), plain.decode(data["value"]))
        made: signature.ArgumentSpec = _ARGUMENTS[data["kind"]](str(data["name"]))
        return made

    def graph_signature(self) -> signature.ExportGraphSignature:
        data = self.data["signature"]
        inputs = [
            InputSpec(InputKind[i["kind"]], self.spec_argument(i["arg"]), i["target"], i["persistent"])
            for i in data["inputs"]
        ]
        outputs = [
            OutputSpec(OutputKind[o["kind"]], self.spec_argument(o["arg"]), o["target"])
            for o in data["outputs"]
        ]
        return signature.ExportGraphSignature(inputs, outputs)

    def contract(self) -> InputContract:
        data = self.data["contract"]
        in_spec = spec_from_json(data["in_spec"])
        leaves = tuple(self.leaf(leaf) for leaf in data["leaves"])
        if in_spec.num_children != 2 or in_spec.num_leaves != len(leaves):
            raise self.bad("the structure of the inputs does not fit their number")
        ranges = {str(symbol): (_bound(low), _bound(high)) for symbol, (low, high) in data["ranges"].items()}
        return InputContract(
            in_spec,
            leaves,
            tuple(str(name) for name in data["arg_names"]),
            ranges,
            tuple(self.condition(item) for item in data["conditions"]),
            tuple(
                Distinct(
                    self.index(i["first"], leaves),
                    self.index(i["second"], leaves),
                    self.place(i),
                    i.get("apart") is True,
                )
                for i in data["distinct"]
            ),
        )

    def index(self, value: Json, leaves: tuple[InputLeaf, ...]) -> int:
        if type(value) is not int or not 0 <= value < len(leaves):
            raise self.bad(f"there is no input number {value!r}")
        return value

    def leaf(self, data: Mapping[str, Json]) -> InputLeaf:
        name, path, kind = str(data["name"]), str(data["path"]), data["kind"]
        if kind == "const":
            return ConstLeaf(name, path, plain.decode(data["value"]), self.place(data))
        if kind == "int":
            return IntLeaf(name, path, self.dimension(data["expr"]))
        if kind != "tensor":
            raise self.bad(f"an input of kind {kind!r}")
        strides = data["strides"]
        return TensorLeaf(
            name,
            path,
            dtypes.by_name(data["dtype"]),
            dtypes.Device.parse(data["device"]),
            tuple(self.dimension(size) for size in data["dims"]),
            _flag(data["requires_grad"]),
            _flag(data["contiguous"]),
            None if strides is None else tuple(self.dimension(size) for size in strides),
            data["alias_of"],
            self.place(data),
            data.get("offset"),
            data.get("class"),
        )

    def condition(self, data: Mapping[str, Json]) -> Condition:
        kind = self.one_of(ConditionKind, data["kind"])
        return Condition(self.condition_expr(data["expr"]), str(data["text"]), kind, self.place(data))

    def guard(self, data: Mapping[str, Json]) -> Guard:
        expr, kind = self.condition_expr(data["expr"]), self.one_of(GuardKind, data["kind"])
        verdict = None if data["verdict"] is None else str(data["verdict"])
        message = None if data["message"] is None else str(data["message"])
        adopted = data["adopted"] is True
        return Guard(
            str(data["id"]), expr, self.place(data), str(data["origin"]), kind, adopted, message, verdict
        )

    # --- provenance --------------------------------------------------------------------------------------------------

    def assumption(self, data: Mapping[str, Json]) -> Assumption:
        def shown(kind: str, content: Json) -> Any:
            if kind != "shown":
                raise plain.NotJson(f"unknown kind of value {kind!r}")
            return Shown(content)

        expected = plain.decode(data["expected"], shown)
        return Assumption(
            str(data["path"]), expected, self.one_of(AssumptionKind, data["kind"]), self.place(data)
        )

    def effect(self, data: Mapping[str, Json]) -> Effect:
        kind, became = self.one_of(EffectKind, data["kind"]), self.one_of(Became, data["became"])
        return Effect(kind, str(data["what"]), self.place(data), became)

    def one_of(self, literal: Any, word: Json) -> Any:
        if word not in get_args(literal):
            raise self.bad(f"{word!r} is none of {', '.join(get_args(literal))}")
        return word

    def module_call(self, data: Mapping[str, Json]) -> ModuleCallEntry:
        if "in_spec" not in data:
            return ModuleCallEntry(str(data["fqn"]))
        kept = ModuleCallSignature(
            [self.spec_argument(arg) for arg in data["inputs"]],
            [self.spec_argument(arg) for arg in data["outputs"]],
            spec_from_json(data["in_spec"]),
            spec_from_json(data["out_spec"]),
            data["arg_names"],
        )
        return ModuleCallEntry(str(data["fqn"]), kept)


def _bound(value: Json) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError(f"the bound {value!r} is not an int")
    return value


def _flag(value: Json) -> bool | None:
    if value is not None and type(value) is not bool:
        raise TypeError(f"{value!r} is not a truth value")
    return value


def _open_layout() -> None:
    """The layout of a value that nobody had asked for: contiguous, if somebody asks now."""


def _sizes(strides: Any, size: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    return None if strides is None else tuple(map(size, strides))
