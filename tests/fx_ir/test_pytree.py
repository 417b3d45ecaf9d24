"""Flattening, structures and their text, against their laws and against PyTorch's pytrees."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_ir import pytree
from fx_ir.pytree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from fx_ir.treespec_io import treespec_dumps, treespec_loads
from solver.errors import InputError


class Point(NamedTuple):
    x: Any
    y: Any


def trees() -> st.SearchStrategy[Any]:
    """Nests of all builtin containers over small integers and None."""
    keys = st.one_of(st.text(max_size=3), st.integers(-3, 3))

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        mapping = st.dictionaries(keys, inner, max_size=3)
        return st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            mapping,
            mapping.map(OrderedDict),
            mapping.map(lambda items: defaultdict(list, items)),
            st.lists(inner, max_size=3).map(lambda items: deque(items, maxlen=5)),
            st.tuples(inner, inner).map(lambda pair: Point(*pair)),
        )

    return st.recursive(st.one_of(st.integers(), st.none()), grow, max_leaves=12)


@pytest.fixture
def registry() -> Iterator[None]:
    """Registrations made by a test are taken back."""
    nodes, names = dict(pytree.REGISTRY), dict(pytree.BY_SERIALIZED_NAME)
    yield
    pytree.REGISTRY.clear()
    pytree.REGISTRY.update(nodes)
    pytree.BY_SERIALIZED_NAME.clear()
    pytree.BY_SERIALIZED_NAME.update(names)


@given(trees())
def test_unflatten_inverts_flatten(tree: Any) -> None:
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert tree_flatten(again)[1] == spec


@given(trees())
def test_paths_lead_to_their_leaves(tree: Any) -> None:
    pairs, _ = tree_flatten_with_path(tree)
    assert [leaf for _, leaf in pairs] == tree_flatten(tree)[0]
    for path, leaf in pairs:
        assert pytree.key_get(list(tree) if isinstance(tree, deque) else tree, path) == leaf


@given(trees())
def test_spec_paths_agree_with_tree_paths(tree: Any) -> None:
    pairs, spec = tree_flatten_with_path(tree)
    assert [keystr(path) for path in pytree.spec_paths(spec)] == [keystr(path) for path, _ in pairs]


@given(trees())
def test_structures_survive_their_text(tree: Any) -> None:
    spec = tree_structure(tree)
    assert treespec_loads(treespec_dumps(spec)) == spec


@given(trees(), trees())
def test_specs_are_equal_exactly_when_trees_have_one_shape(a: Any, b: Any) -> None:
    blank_a, blank_b = tree_map(lambda _: 0, a), tree_map(lambda _: 0, b)
    same = repr(blank_a) == repr(blank_b)  # repr tells list from tuple and shows the order of keys
    assert (tree_structure(a) == tree_structure(b)) == same
    if same:
        assert hash(tree_structure(a)) == hash(tree_structure(b))


def test_none_is_a_leaf_and_order_of_keys_is_structure() -> None:
    assert tree_flatten({"b": 1, "a": None})[0] == [1, None]
    assert tree_structure({"a": 1, "b": 2}) != tree_structure({"b": 2, "a": 1})


def test_paths_are_written_as_python_would() -> None:
    pairs, _ = tree_flatten_with_path({"ids": [1, Point(2, 3)]})
    assert [keystr(path) for path, _ in pairs] == ["['ids'][0]", "['ids'][1].x", "['ids'][1].y"]


def test_tree_map_over_several_trees_names_the_place_of_a_misfit() -> None:
    assert tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)]) == [11, (22,)]
    with pytest.raises(InputError, match=r"the tree\[1\]: expected tuple, given int") as caught:
        tree_map(lambda a, b: a, [1, (2,)], [1, 2])
    assert caught.value.id == "pytree-mismatch"


def test_unflatten_counts_its_leaves() -> None:
    with pytest.raises(InputError, match="expected 2 leaves, given 1"):
        tree_unflatten([1], tree_structure((0, 0)))


@pytest.mark.usefixtures("registry")
class TestRegistration:
    def test_a_dataclass_keeps_its_fields_and_treats_none_as_structure(self) -> None:
        @dataclasses.dataclass
        class Batch:
            f: Any
            p: Any = None
            tag: str = "x"

        pytree.register_dataclass(Batch, drop_field_names=["tag"])
        leaves, spec = tree_flatten(Batch(1, 2))
        assert leaves == [1, 2] and tree_unflatten([3, 4], spec) == Batch(3, 4)
        assert tree_flatten(Batch(1))[0] == [1] and tree_flatten(Batch(1))[1] != spec
        assert [keystr(path) for path, _ in tree_flatten_with_path(Batch(1, 2))[0]] == [".f", ".p"]
        assert treespec_loads(treespec_dumps(spec)) == spec

    def test_what_does_not_fit_a_registration_is_said(self) -> None:
        @dataclasses.dataclass
        class Strict:
            a: int
            b: int

        class Plain:
            pass

        for cls, options, problem in [
            (Plain, {}, "it is not a dataclass"),
            (Strict, {"field_names": ["a"]}, "field 'b' is left out but has no default"),
            (Strict, {"field_names": ["a", "c"]}, "it has no field 'c'"),
            (
                Strict,
                {"field_names": ["a", "b"], "drop_field_names": ["b"]},
                "field 'b' is both kept and dropped",
            ),
        ]:
            with pytest.raises(InputError, match=problem) as caught:
                pytree.register_dataclass(cls, **options)  # type: ignore[arg-type]
            assert caught.value.id == "pytree-bad-class"
        pytree.register_dataclass(Strict)
        with pytest.raises(InputError, match="Strict is registered as a pytree already"):
            pytree.register_dataclass(Strict)

    def test_a_constant_is_compared_as_structure(self) -> None:
        @dataclasses.dataclass(frozen=True)
        class Mode:
            name: str

        pytree.register_constant(Mode)
        assert tree_flatten([Mode("a"), 1])[0] == [1]
        assert tree_structure(Mode("a")) != tree_structure(Mode("b"))
        with pytest.raises(InputError, match="no serialized_type_name"):
            treespec_dumps(tree_structure(Mode("a")))

    def test_a_class_with_its_own_context_goes_through_files(self) -> None:
        class Ragged:
            def __init__(self, parts: list[Any], names: tuple[str, ...]) -> None:
                self.parts, self.names = parts, names

        pytree.register_pytree_node(
            Ragged,
            lambda r: (r.parts, r.names),
            lambda parts, names: Ragged(list(parts), names),
            serialized_type_name="tests.Ragged",
            to_dumpable_context=list,
            from_dumpable_context=tuple,
        )
        spec = tree_structure([Ragged([1, 2], ("a", "b"))])
        text = treespec_dumps(spec)
        assert treespec_loads(text) == spec
        del pytree.REGISTRY[Ragged], pytree.BY_SERIALIZED_NAME["tests.Ragged"]
        with pytest.raises(InputError, match=r"the class tests\.Ragged, which is not registered") as caught:
            treespec_loads(text)
        assert caught.value.id == "pytree-unknown-class"

    def test_local_named_tuples_register_themselves(self) -> None:
        local = namedtuple("local", "a b")
        leaves, spec = tree_flatten(local(1, [2]))
        assert leaves == [1, 2] and tree_unflatten(leaves, spec) == local(1, [2])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[2, {}]",
        '[1, {"type": "builtins.dict", "context": ["a"], "children_spec": []}]',
        '[1, {"type": "builtins.list", "context": {"code": 1}, "children_spec": []}]',
        '[1, {"type": "builtins.list"}]',
        "[1, " + '{"type":"builtins.list","context":null,"children_spec":[' * 300 + "]}" * 300 + "]",
    ],
)
def test_malformed_structures_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        treespec_loads(text)
    assert caught.value.id == "archive-bad"


def test_classes_named_in_a_file_are_never_imported() -> None:
    with pytest.raises(InputError, match=r"os\.system"):
        treespec_loads('[1, {"type": "os.system", "context": null, "children_spec": []}]')


@pytest.mark.torch
@given(trees())
def test_leaves_paths_and_structure_are_those_of_pytorch(tree: Any) -> None:
    theirs = pytest.importorskip("torch.utils._pytree")
    leaves, spec = theirs.tree_flatten(tree)
    assert tree_flatten(tree)[0] == leaves
    assert tree_structure(tree).num_nodes == spec.num_nodes
    if "deque" not in repr(tree):  # PyTorch gives a deque's children no keys
        assert [keystr(p) for p, _ in tree_flatten_with_path(tree)[0]] == [
            theirs.keystr(p) for p, _ in theirs.tree_flatten_with_path(tree)[0]
        ]
