"""Obligations of a ``.pt2`` archive that PyTorch wrote, read without PyTorch and without evaluating anything in it.

An archive holds, for each model, symbols with ranges, the sizes of inputs, the guards its loader checks
(``guards_code``) and runtime assertions in the graph. It leaves three things unsaid, which become obligations here:

* ``implicit-01``: a dimension declared from 0 or 1 was traced as at least 2;
* ``derived-root``: a dimension declared as ``2*d`` must give an integer ``d`` (the loader accepts any size);
* ``root-range``: the hidden root of a derived dimension was traced in a range of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from solver.expr import FALSE
from solver.problem import FORMAT, Condition, Problem
from solver.readers.archive import Archive
from solver.readers.arguments import Step, read_arguments
from solver.readers.asserts import Assertion, assertions
from solver.readers.errors import ARCHIVE_VERSION, BAD_ARCHIVE
from solver.readers.place import Place

SCHEMA_MAJOR: Final = 8
NOT_ENFORCED: Final = "the archive's loader does not check it"
_MODEL: Final = re.compile(r"(?:[^/]+/)?models/([^/]+)\.json\Z")
_FLAT: Final = (
    "serialized_exported_program.json"  # the layout of 8.x archives before there was a folder of models
)
_NO_GUARDS: Final = "the archive stores no guards (schema {version}): only what it leaves unsaid is checked"
_BITS: Final = re.compile(r"[&|^~]|<<|>>")
_NO_BITS: Final = "bit operators are not part of the grammar of expressions"
_KEY: Final = r"""\['[^'\\]*'\]|\["[^"\\]*"\]|\[\d{1,6}\]|\.(?!size\(|item\()[A-Za-z_]\w*"""
_REFERENCE: Final = re.compile(rf"""\bL((?:{_KEY})+)(?:\.size\(\)\[(\d{{1,6}})\])?""")
_STEP: Final = re.compile(_KEY)
_SYMBOL: Final = re.compile(r"Symbol\('(?P<stored>[A-Za-z_]\w*)'(?P<traits>.*)\)\Z|(?P<plain>[A-Za-z_]\w*)\Z")
_CALLS: Final = (
    ("torch.sym_float(", "float("),
    ("torch._sym_sqrt(", "math.sqrt("),
    ("torch.sym_int(", "int("),
)


def read_pt2(path: Path, stream: IO[bytes] | None = None) -> list[Problem]:
    """The problems of an archive, one a model. ``stream`` is read in place of the file at ``path``. Raises InputError."""
    with Archive(path, stream) as archive:
        models = [name for name in archive.entries if _MODEL.match(name) or name == _FLAT]
        if not models:
            raise BAD_ARCHIVE(
                file=path.name, path="models/", what="no model: this is no archive of torch.export.save"
            )
        return [_Model(archive, name).problem() for name in models]


def _version(value: object) -> str:
    if isinstance(value, dict):
        return f"{value.get('major')}.{value.get('minor')}"[:40]
    return f"{value}"[:40] if value is not None else "before 8 (no version given)"


class _Model(Place):
    """One model of an archive."""

    def __init__(self, archive: Archive, entry: str) -> None:
        super().__init__(archive.path.name, entry)
        self.top = self.mapping(archive.json(entry), "$")
        self.check_version()
        module = self.mapping(self.get(self.top, "graph_module", "$"), "graph_module")
        self.graph = self.mapping(self.get(module, "graph", "graph_module"), "graph_module.graph")
        self.signature = self.mapping(self.get(module, "signature", "graph_module"), "graph_module.signature")
        self.symbols: dict[str, dict[str, Any]] = {}
        self.spec: list[dict[str, Any]] = []
        self.guards: list[dict[str, Any]] = []
        self.sizes: dict[tuple[str, int | None], str] = {}
        self.derived: dict[str, str] = {}
        self.positive: set[str] = set()
        self.unsaid: list[tuple[int, Condition]] = []  # guards that the grammar cannot say, with their places
        self.inputs: list[
            str | None
        ] = []  # every argument in order; None for one that is no tensor and no size
        self.arguments = read_arguments(module)

    def check_version(self) -> None:
        version = self.top.get("schema_version")
        major = version.get("major") if isinstance(version, dict) else None
        if major != SCHEMA_MAJOR:
            raise ARCHIVE_VERSION(
                file=self.file, version=f"schema {_version(version)}", known=f"schema {SCHEMA_MAJOR}.x"
            )

    # -- the problem ---------------------------------------------------------------------------------------------

    def problem(self) -> Problem:
        self.read_inputs()
        self.read_ranges()
        self.state_unsaid()
        guards = self.read_guards()
        facts = self.read_assertions()
        data = {
            "format": FORMAT,
            "name": f"{self.file}:{Path(self.entry).stem}"
            if not self.entry.endswith(("/model.json", _FLAT))
            else self.file,
            "symbols": self.symbols,
            "spec": self.spec,
            "facts": facts,
            "guards": [*guards, *self.guards],
        }
        if "guards_code" not in self.top:
            data["note"] = _NO_GUARDS.format(version=_version(self.top["schema_version"]))
        problem = Problem.from_dict(data, f"{self.file}: {self.entry}")
        for place, guard in self.unsaid:
            problem.guards.insert(place, guard)
        return problem

    def user_inputs(self) -> Iterator[tuple[str, str | None]]:
        """``(kind, name)`` of every argument that the caller gives, constants too."""
        specs = self.sequence(self.get(self.signature, "input_specs", "signature"), "signature.input_specs")
        for i, spec in enumerate(specs):
            where = f"signature.input_specs[{i}]"
            entry = self.mapping(spec, where)
            if "constant_input" in entry:
                yield "constant", None
            if "user_input" not in entry:
                continue
            arg = self.mapping(self.get(self.mapping(entry["user_input"], where), "arg", where), where)
            kind = next((kind for kind in ("as_tensor", "as_sym_int") if kind in arg), "constant")
            inner = self.mapping(arg[kind], where) if kind in arg else {}
            name = inner.get("name", inner.get("as_name"))
            yield (kind, name) if isinstance(name, str) else ("constant", None)

    def read_inputs(self) -> None:
        tensors = self.mapping(self.get(self.graph, "tensor_values", "graph"), "graph.tensor_values")
        numbers = self.mapping(self.graph.get("sym_int_values", {}), "graph.sym_int_values")
        for kind, name in self.user_inputs():
            self.inputs.append(name)
            if name is None:
                continue
            source = self.arguments.texts.get(len(self.inputs) - 1, name)
            if kind == "as_sym_int":
                self.read_size(name, None, self.get(numbers, name, "graph.sym_int_values"), source)
                continue
            where = f"graph.tensor_values.{name}"
            tensor = self.mapping(self.get(tensors, name, "graph.tensor_values"), where)
            sizes = self.sequence(self.get(tensor, "sizes", where), f"{where}.sizes")
            for i, size in enumerate(sizes):
                self.read_size(name, i, size, f"{source}.shape[{i}]")
            fixed = {i: self.sizes[name, i] for i in range(len(sizes)) if self.sizes[name, i].isdecimal()}
            if len(fixed) < len(sizes):
                for i, text in fixed.items():
                    self.fix_size(name, i, int(text), f"{source}.shape[{i}]")

    def fix_size(self, name: str, dim: int, size: int, source: str) -> None:
        """A static size beside dynamic ones: a symbol of one value, so that counterexamples are whole shapes."""
        own = self.fresh(f"{name}_{dim}")
        self.symbols[own] = {"kind": "input", "min": size, "max": size, "source": source, "hint": size}

    def fresh(self, text: str) -> str:
        own = re.sub(r"\W", "_", text)
        while own in self.symbols or not re.match(r"[A-Za-z_]", own):
            own = f"_{own}"
        return own

    def read_size(self, name: str, dim: int | None, value: object, source: str) -> None:
        where = f"size of {source}"
        text = self.expression(value, where)
        stored = self.mapping(value, where).get("as_expr")
        if stored is None:
            self.sizes[name, dim] = text
            return
        hint = self.hint(stored)
        symbol = _SYMBOL.match(stored["expr_str"])
        if symbol is not None and text in (symbol["stored"], symbol["plain"]):
            if dim is not None and (symbol["plain"] or "positive=True" in symbol["traits"]):
                self.positive.add(text)
            known = self.symbols.setdefault(text, {"kind": "input", "min": None, "max": None})
            if "source" not in known:
                known.update(kind="input", source=source, **({} if hint is None else {"hint": hint}))
            self.sizes[name, dim] = text
            return
        self.read_derived(name, dim, text, source, hint)

    def read_derived(self, name: str, dim: int | None, text: str, source: str, hint: int | None) -> None:
        """A derived size gets a symbol of its own, tied to its root by the specification."""
        own = self.fresh(f"{name}_{dim}" if dim is not None else name)
        self.symbols[own] = {"kind": "input", "min": 0, "max": None, "source": source}
        if hint is not None:
            self.symbols[own]["hint"] = hint
        for root in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)):
            if re.fullmatch(r"[a-z]+\d+", root):
                self.symbols.setdefault(root, {"kind": "phantom", "min": None, "max": None})
        self.spec.append({"id": f"derived:{source}", "expr": f"{own} == {text}"})
        self.derived[own] = text
        self.sizes[name, dim] = own

    def hint(self, stored: object) -> int | None:
        given = stored.get("hint") if isinstance(stored, dict) else None
        value = given.get("as_int") if isinstance(given, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def read_ranges(self) -> None:
        ranges = self.mapping(self.get(self.top, "range_constraints", "$"), "range_constraints")
        for i, (key, value) in enumerate(ranges.items()):
            where = f"range_constraints[{key[:60]!r}]"
            entry = self.mapping(value, where)
            low, high = (
                None if entry.get(k) is None else self.integer(entry[k], where)
                for k in ("min_val", "max_val")
            )
            if re.fullmatch(r"[A-Za-z_]\w*", key):
                kind = "unbacked" if key.startswith("u") else "phantom"
                known = self.symbols.setdefault(key, {"kind": kind, "min": None, "max": None})
                known.update(min=low, max=high)
                continue
            if low is not None:
                self.spec.append({"id": f"range:{i}:min", "expr": f"{key} >= {low}"})
            if high is not None:
                self.spec.append({"id": f"range:{i}:max", "expr": f"{key} <= {high}"})

    def state_unsaid(self) -> None:
        """The obligations that the archive leaves unsaid; see the module."""
        for name, symbol in self.symbols.items():
            if name in self.positive and (symbol["min"] is None or symbol["min"] < 2):
                self.oblige(f"implicit-01:{name}", f"{name} >= 2", "traced as at least 2")
        for own, text in self.derived.items():
            source = self.symbols[own]["source"]
            step = re.fullmatch(
                r"\((?:\((\d+)\*([a-z]+\d+)\)|(\d+)\*([a-z]+\d+))(?: \+ (\(?-?\d+\)?))?\)", text
            )
            if step is not None:
                scale, offset = step[1] or step[3], step[5] or "0"
                self.oblige(
                    f"derived-root:{source}",
                    f"({own} - {offset}) % {scale} == 0",
                    "the root must be an integer",
                )
        for name, symbol in self.symbols.items():
            if symbol["kind"] == "phantom":
                self.state_root(name, symbol)

    def state_root(self, name: str, symbol: dict[str, Any]) -> None:
        """What tracing took for granted of a hidden root is to be implied by what is declared of its dimensions."""
        low, high = symbol["min"], symbol["max"]
        symbol.update(min=None, max=None)
        if low is not None:
            kind = "implicit-01" if low == 2 else "root-range"
            self.oblige(f"{kind}:{name}", f"{name} >= {low}", f"the root was traced as at least {low}")
        if high is not None:
            self.oblige(
                f"root-range:{name}:max", f"{name} <= {high}", f"the root was traced as at most {high}"
            )

    def oblige(self, id: str, expr: str, why: str) -> None:
        self.guards.append(
            {"id": id, "expr": expr, "origin": id.partition(":")[0], "note": f"{why}; {NOT_ENFORCED}"}
        )

    def read_guards(self) -> list[dict[str, Any]]:
        codes = self.sequence(self.top.get("guards_code", []), "guards_code")
        found = []
        for i, code in enumerate(codes):
            where = f"guards_code[{i}]"
            id, expr = f"G{i + 1}", self.guard(self.text(code, where), where)
            if _BITS.search(expr):
                self.unsaid.append(
                    (i, Condition(id, FALSE, text=expr, origin="guards_code", unsaid=_NO_BITS))
                )
                continue
            found.append({"id": id, "expr": expr, "origin": "guards_code"})
        return found

    def guard(self, code: str, where: str) -> str:
        """A guard with each ``L['x'].size()[0]`` replaced by the symbol of that size."""

        def replaced(match: re.Match[str]) -> str:
            found = self.size_of(match[1], match[2])
            if found is None:
                raise self.fail(where, f"{match[0][:80]} is no input of the model")
            return found

        code = _REFERENCE.sub(replaced, code)
        for theirs, ours in _CALLS:
            code = code.replace(theirs, ours)
        return code

    def size_of(self, path: str, dim: str | None) -> str | None:
        """The symbol of a size (of an integer input where ``dim`` is None) that is reached by ``path``."""
        steps = tuple(_step(text) for text in _STEP.findall(path))
        at = self.arguments.places.get(steps)
        if steps[0] == "flat_args" and len(steps) == 2 and isinstance(steps[1], int):
            at = steps[1]
        if (
            at is None and not self.arguments.places
        ):  # the archive has no tree of arguments: names are all there is
            joined = "_".join(map(str, steps))
            at = next((i for i, known in enumerate(self.inputs) if known == joined), None)
        name = self.inputs[at] if at is not None and at < len(self.inputs) else None
        return None if name is None else self.sizes.get((name, None if dim is None else int(dim)))

    def read_assertions(self) -> list[dict[str, Any]]:
        numbers = self.mapping(self.graph.get("sym_int_values", {}), "graph.sym_int_values")
        texts = {
            name: self.expression(value, f"graph.sym_int_values.{name}")
            for name, value in numbers.items()
            if isinstance(value, dict) and ("as_int" in value or "as_expr" in value)
        }
        nodes = self.sequence(self.graph.get("nodes", []), "graph.nodes")
        known = set(self.symbols)
        found: list[dict[str, Any]] = []
        for i, assertion in enumerate(assertions(nodes, texts)):
            if _names(assertion) <= known:
                fact = {"id": f"A{i + 1}", "expr": assertion.expr, "origin": "runtime assertion"}
                found.append(fact | ({"at": assertion.at} if assertion.at else {}))
        return found


def _step(text: str) -> Step:
    """``['a']``, ``[0]`` or ``.field`` as a step of a path."""
    inner = text[1:] if text[0] == "." else text[1:-1]
    return int(inner) if inner.isdecimal() else inner.strip(inner[0]) if inner[0] in "'\"" else inner


def _names(assertion: Assertion) -> set[str]:
    words = set(re.findall(r"[A-Za-z_][\w.]*", assertion.expr))
    return (
        words
        - {"and", "or", "not", "if", "else", "max", "min", "abs", "int", "float", "round", "True", "False"}
        - {word for word in words if word.startswith("math.")}
    )
