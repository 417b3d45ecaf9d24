"""Schema strings: what they say, and what is no schema."""

from __future__ import annotations

import pytest

from fx_ir.dtypes import MemoryFormat, int64
from fx_ir.schema import ArgType, SchemaError, parse, split_name


def test_the_parts_of_a_schema() -> None:
    text = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    schema = parse(text)
    assert (schema.namespace, schema.name, schema.overload) == ("aten", "sum", "dim_IntList")
    assert schema.qualified == "aten::sum.dim_IntList" and str(schema) == text
    assert [argument.name for argument in schema.positional] == ["self", "dim", "keepdim"]
    assert [argument.name for argument in schema.keyword_only] == ["dtype"]
    assert schema.arguments[1].type == ArgType("int", is_list=True, size=1, optional=True)
    assert not schema.arguments[1].has_default and schema.arguments[2].default is False
    assert not schema.is_mutable
    assert parse(text) is schema


def test_aliases() -> None:
    schema = parse("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    assert schema.is_mutable and schema.arguments[0].is_mutated and not schema.arguments[1].is_mutated
    assert schema.returns[0].alias is not None and schema.returns[0].alias.sets == ("a",)
    pieces = parse("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
    assert pieces.arguments[0].alias is not None and pieces.arguments[0].alias.wildcard
    assert pieces.returns[0].type == ArgType("Tensor", is_list=True)


def test_types() -> None:
    schema = parse(
        "ns::f(Tensor?[] a, SymInt[2] b, Scalar? c, bool[3] d, str e, Tensor(a!)? f) -> (Tensor x, int, Tensor[])"
    )
    types = [argument.type for argument in schema.arguments]
    assert types[0] == ArgType("Tensor", is_list=True, optional_items=True)
    assert types[1] == ArgType("SymInt", is_list=True, size=2)
    assert types[2] == ArgType("Scalar", optional=True)
    assert types[3] == ArgType("bool", is_list=True, size=3)
    assert types[5] == ArgType("Tensor", optional=True) and schema.arguments[5].is_mutated
    assert [result.name for result in schema.returns] == ["x", None, None]
    assert parse("ns::g() -> ()").returns == ()


def test_defaults() -> None:
    schema = parse(
        'ns::f(float a=1.0000000000000001e-05, int b=-100, str c="none", int[2] d=0, int[] e=[], SymInt[2] f=[1, 2], '
        "Scalar? g=None, float h=10., MemoryFormat i=0, ScalarType? j=4, Scalar k=0.5, float l=inf) -> ()"
    )
    values = [argument.default for argument in schema.arguments]
    assert values[:7] == [1e-05, -100, "none", [0, 0], [], [1, 2], None]
    assert values[7:] == [10.0, MemoryFormat.contiguous_format, int64, 0.5, float("inf")]


@pytest.mark.parametrize(
    "text",
    ["", "aten", "aten::f", "aten::f(", "aten::f(Tensor) -> Tensor", "aten::f(Tensor x -> Tensor", "aten::f(Tensor x) -> Tensor x y", "aten::f(Tensor x)", "a::f(Tensor {x}) -> ()"],
)  # fmt: skip
def test_what_is_no_schema_is_an_error(text: str) -> None:
    with pytest.raises(SchemaError):
        parse(text)


def test_names_without_parsing() -> None:
    assert split_name("aten::add.Tensor(Tensor self) -> Tensor") == ("aten", "add", "Tensor")
    assert split_name("mylib::sin") == ("mylib", "sin", "")
    with pytest.raises(SchemaError):
        split_name("sin")
