"""Writing and reading the archive itself: a zip that is put in place whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from fx_ir import plain
from fx_ir.archive import limits, weights
from fx_ir.archive.container import Container, write_entry
from fx_ir.archive.decode import Decoder, reading
from fx_ir.archive.encode import Encoder
from fx_ir.archive.tensors import Tensors, example_leaves, restore
from fx_ir.backend import Backend, get_backend, known_backends
from fx_ir.errors import ARCHIVE_ARGUMENT, ARCHIVE_BAD, ARCHIVE_FOREIGN, ARCHIVE_VERSION, ARCHIVE_WRITE
from fx_ir.program import ExportedProgram
from fx_ir.pytree import tree_unflatten
from fx_ir.treespec_io import spec_from_json
from solver.errors import ExportError
from solver.problem import Problem

File = str | os.PathLike[str] | IO[bytes]


def save(program: ExportedProgram, file: File) -> None:
    """Writes a program to a ``.dlp`` file or a binary stream.

    A file is written beside its place and moved there when it is complete: a failed save leaves an older one as it was.
    Raises ``archive-argument``, ``archive-write``, ``archive-unsupported``, ``pytree-not-serializable``.
    """
    if not isinstance(program, ExportedProgram):
        raise ARCHIVE_ARGUMENT(function="save", wanted="an ExportedProgram and a file", given=_kind(program))
    if hasattr(file, "write"):
        _write(program, file)
        return
    if not isinstance(file, (str, os.PathLike)):
        raise ARCHIVE_ARGUMENT(function="save", wanted="a path or a binary stream", given=_kind(file))
    path = Path(file)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            _write(program, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except OSError as error:
        raise ARCHIVE_WRITE(file=str(path), problem=error.strerror or str(error)) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _kind(value: object) -> str:
    return f"an object of class {type(value).__name__}"


def _write(program: ExportedProgram, stream: Any) -> None:
    tensors = Tensors(program)
    examples, example_arrays = example_leaves(program)
    body = Encoder(program).program_json(tensors.table, examples)
    problem = program.problem if program.problem is not None else Problem()
    with zipfile.ZipFile(stream, "w") as archive:
        write_entry(
            archive, limits.PROGRAM, [json.dumps(body, separators=(",", ":"), allow_nan=False).encode()]
        )
        write_entry(archive, limits.OBLIGATIONS, [json.dumps(problem.to_dict(), allow_nan=False).encode()])
        write_entry(archive, limits.WEIGHTS, weights.chunks(tensors.arrays), stored=True)
        if example_arrays:
            write_entry(archive, limits.EXAMPLES, weights.chunks(example_arrays), stored=True)


def load(file: File, *, backend: str | None = None) -> ExportedProgram:
    """The program in a ``.dlp`` file or binary stream; its weights are mapped, not read, where the file allows it.

    ``backend`` names the tensor library to load for (default: the one it was saved from, where that is here, otherwise
    the newest that is, with a note). Nothing in the file is executed.
    Raises InputError: ``archive-missing``, ``archive-foreign``, ``archive-version``, ``archive-bad``,
    ``archive-unknown-operator``, ``pytree-unknown-class``, ``archive-argument``, ``backend-unknown``.
    """
    if not isinstance(file, (str, os.PathLike)) and not (hasattr(file, "read") and hasattr(file, "seek")):
        raise ARCHIVE_ARGUMENT(
            function="load", wanted="the path of a .dlp file or a binary stream", given=_kind(file)
        )
    container = Container.open(file)
    name = container.name
    data = _json(container, limits.PROGRAM)
    if not isinstance(data, dict) or data.get("format") != limits.FORMAT:
        raise ARCHIVE_FOREIGN(file=name, problem=f"{limits.PROGRAM} is not of the format {limits.FORMAT}")
    version = data.get("version")
    if type(version) is not int or not 1 <= version <= limits.VERSION:
        raise ARCHIVE_VERSION(file=name, given=version, known=limits.VERSION)
    problem = Problem.from_dict(_json(container, limits.OBLIGATIONS))
    with reading(name, limits.PROGRAM):
        return _decode(container, data, problem, backend)


def _json(container: Container, entry: str) -> Any:
    try:
        return json.loads(container.read(entry, limits.MAX_JSON_BYTES))
    except (ValueError, RecursionError) as error:
        raise ARCHIVE_BAD(file=container.name, problem=f"{entry} is not JSON: {error}") from None


def _decode(
    container: Container, data: Mapping[str, Any], problem: Problem, backend: str | None
) -> ExportedProgram:
    library, note = _library(str(data["backend"]), backend)
    decoder = Decoder(container.name, data, problem)
    arrays = weights.read(container.map(limits.WEIGHTS), container.name)
    tensors = restore(data["tensors"], arrays, library, container.name)
    contract = decoder.contract()
    program = ExportedProgram(
        graph_module=decoder.module(data["graph"]),
        graph_signature=decoder.graph_signature(),
        contract=contract,
        out_spec=spec_from_json(data["out_spec"]),
        backend=library.name,
        state_dict={str(name): tensors[name] for name in data["state_dict"]},
        constants={str(name): tensors[name] for name in data["constants"]},
        guards=[decoder.guard(item) for item in data["guards"]],
        problem=problem,
        assumptions=[decoder.assumption(item) for item in data["assumptions"]],
        effects=[decoder.effect(item) for item in data["effects"]],
        example_inputs=_examples(container, data, decoder, library),
        module_call_graph=[decoder.module_call(item) for item in data["modules"]],
        notes=[*(str(text) for text in data["notes"]), *note],
    )
    from fx_ir.check_signature import check_signature

    try:
        check_signature(program)
    except ExportError as error:
        raise ARCHIVE_BAD(file=container.name, problem=error.message) from None
    contract.compiled()
    return program


def _library(saved: str, wanted: str | None) -> tuple[Backend, list[str]]:
    """The tensor library to load for, with a note where it is not the one that the program came from."""
    known = [backend.name for backend in known_backends()]
    if wanted is not None or saved in known or not known:
        return get_backend(wanted or saved), []
    note = f"saved from the tensor library {saved!r}, which is not here; loaded for {known[0]!r}"
    return get_backend(known[0]), [note]


def _examples(container: Container, data: Mapping[str, Any], decoder: Decoder, library: Any) -> Any:
    """The example inputs, where they were saved."""
    if data["examples"] is None:
        return None
    arrays = (
        weights.read(container.map(limits.EXAMPLES), container.name)
        if limits.EXAMPLES in container.entries
        else {}
    )
    tensors = restore(dict(data["examples"]["tensors"]), arrays, library, container.name)

    def leaf(kind: str, content: Any) -> Any:
        if kind != "example":
            raise plain.NotJson(f"unknown kind of value {kind!r}")
        return tensors[content]

    leaves = [plain.decode(item, leaf) for item in data["examples"]["leaves"]]
    args, kwargs = tree_unflatten(leaves, spec_from_json(data["contract"]["in_spec"]))
    return args, kwargs
