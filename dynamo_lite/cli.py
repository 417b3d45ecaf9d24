"""The command line: ``dynamo-lite export | run | show | explain | verify | compare | report``.

Exit status: 0 done, 1 the model or its guards were refused, 2 unusable arguments or files; ``verify`` has its own (see ``solver.cli``).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from dynamo_lite.errors import BAD_TARGET, INPUT_FILE
from dynamo_lite.places import only_user_frames
from solver.errors import ExportError, InputError

DONE, REFUSED, UNUSABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    options = _parser().parse_args(argv)
    sys.path.insert(0, "")
    try:
        status: int = options.command_function(options)
        return status
    except ExportError as error:
        if options.debug:
            raise
        _show_error(error, options.json)
        return UNUSABLE if isinstance(error, InputError) else REFUSED
    except BrokenPipeError:
        return DONE
    except Exception as error:
        if getattr(options, "debug", True):  # ``verify`` has not got it
            raise
        only_user_frames(error)
        traceback.print_exception(error)
        return REFUSED


def _show_error(error: ExportError, as_json: bool) -> None:
    if as_json:
        location = None if error.location is None else str(error.location)
        what = {
            "id": error.id,
            "kind": type(error).__name__,
            "message": error.message,
            "at": location,
            "hint": error.hint,
        }
        print(json.dumps({"error": what}))
    print(f"{type(error).__name__} {error}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dynamo-lite", description="Captures modules as graphs and proves their guards."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (function, arguments, text) in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        arguments(command)
        if name != "verify":
            command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument("--debug", action="store_true", help="show a traceback of an error")
        command.set_defaults(command_function=function)
    return parser


def _progress(options: argparse.Namespace, text: str) -> None:
    if sys.stderr.isatty() and not options.json:
        print(f"{text} ...", file=sys.stderr, flush=True)


# --- export and compare: a factory gives the model and its example


def _target_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target", help="package.module:factory, a function that returns (model, args, kwargs, dynamic_shapes)"
    )


def _export_arguments(command: argparse.ArgumentParser) -> None:
    _target_arguments(command)
    command.add_argument("-o", "--output", metavar="FILE", help="write the program there (.dlp)")
    mode = command.add_mutually_exclusive_group()
    mode.add_argument("--strict", action="store_true", help="interpret the bytecode of the model")
    mode.add_argument(
        "--non-strict", action="store_true", help="run the model over fake tensors (the default)"
    )


def _factory(target: str) -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """What the factory named by ``target`` returns. Raises ``bad-target``."""
    name, _, attribute = target.partition(":")
    if not name or not attribute:
        raise BAD_TARGET(target=target, problem="it is not of the form package.module:factory")
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise BAD_TARGET(target=target, problem=f"{name} cannot be imported ({error})") from None
    factory = getattr(module, attribute, None)
    if not callable(factory):
        raise BAD_TARGET(target=target, problem=f"{name} has no function {attribute}")
    made = factory()
    if not isinstance(made, tuple) or len(made) != 4:
        raise BAD_TARGET(target=target, problem="it does not return (model, args, kwargs, dynamic_shapes)")
    model, args, kwargs, shapes = made
    return model, tuple(args or ()), dict(kwargs or {}), shapes


def _export(options: argparse.Namespace) -> int:
    from dynamo_lite.capture import export
    from dynamo_lite.files import save

    model, args, kwargs, shapes = _factory(options.target)
    _progress(options, "capturing and proving")
    program = export(model, args, kwargs, dynamic_shapes=shapes, strict=options.strict)
    if options.output:
        save(program, options.output)
    if options.json:
        print(json.dumps(_summary(program)))
    else:
        print(program)
        print(program.proof)
        if options.output:
            print(f"saved {options.output}")
    return DONE


def _compare(options: argparse.Namespace) -> int:
    from dynamo_lite.comparison import compare

    model, args, kwargs, shapes = _factory(options.target)
    _progress(options, "capturing in each mode")
    found = compare(model, args, kwargs, dynamic_shapes=shapes)
    print(json.dumps(found.to_dict()) if options.json else found)
    return DONE if found.equal else REFUSED


# --- programs in files


def _file_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="a program (.dlp)")


def _run_arguments(command: argparse.ArgumentParser) -> None:
    _file_arguments(command)
    command.add_argument(
        "--inputs", metavar="FILE.npz", help="arrays by input name; without it the example inputs are used"
    )
    command.add_argument("--output", metavar="FILE.npz", help="write the results there")


def _explain_arguments(command: argparse.ArgumentParser) -> None:
    _file_arguments(command)
    command.add_argument(
        "what", nargs="?", default="", help="an input, x.shape[0], a symbol, a value, self.training …"
    )


def _load(options: argparse.Namespace) -> Any:
    from dynamo_lite.files import load

    return load(options.file)


def _show(options: argparse.Namespace) -> int:
    program = _load(options)
    print(json.dumps({**_summary(program), "text": str(program)}) if options.json else program)
    return DONE


def _explain(options: argparse.Namespace) -> int:
    text = _load(options).explain(options.what)
    print(json.dumps({"what": options.what, "explanation": text.splitlines()}) if options.json else text)
    return DONE


def _report(options: argparse.Namespace) -> int:
    program = _load(options)
    if options.json:
        print(json.dumps(_summary(program)))
        return DONE
    summary = _summary(program)
    print(f"{summary['nodes']} nodes, {summary['operators']} operators, {summary['parameters']} parameters")
    for name, (low, high) in summary["ranges"].items():
        print(f"  {name}: {low} .. {'any' if high is None else high}")
    print(program.proof)
    for title in ("adopted", "assumptions", "effects", "notes"):
        if summary[title]:
            print(f"{title}:")
            print("\n".join(f"  {line}" for line in summary[title]))
    return DONE


def _summary(program: Any) -> dict[str, Any]:
    proof = program.proof
    return {
        "nodes": sum(1 for _ in program.graph.nodes),
        "operators": len({str(n.target) for n in program.graph.nodes if n.op == "call_function"}),
        "parameters": len(program.graph_signature.parameters),
        "inputs": [leaf.path for leaf in program.contract.leaves],
        "ranges": {name: list(bounds) for name, bounds in program.range_constraints.items()},
        "status": "proved" if proof is None else proof.status,
        "guards": [] if proof is None else [g.to_dict() for g in proof.guards],
        "adopted": [c.text for c in program.contract.conditions if c.kind == "adopted"],
        "assumptions": [str(item) for item in program.assumptions],
        "effects": [str(item) for item in program.effects],
        "notes": list(program.notes),
    }


def _run(options: argparse.Namespace) -> int:
    import numpy as np

    from dynamo_lite import torchlite
    from fx_ir.pytree import tree_flatten, tree_unflatten

    program = _load(options)
    if options.inputs:
        leaves = _leaves_from(program, options.inputs)
        args, kwargs = tree_unflatten(leaves, program.call_spec.in_spec)
    elif program.example_inputs is not None:
        args, kwargs = program.example_inputs
    else:
        raise INPUT_FILE(file=options.file, problem="it holds no example inputs; give --inputs")
    results, _ = tree_flatten(program.module()(*args, **kwargs))
    arrays = {
        f"output_{index}": value.detach().numpy()
        if isinstance(value, torchlite.Tensor)
        else np.asarray(value)
        for index, value in enumerate(results)
        if value is not None
    }
    if options.output:
        np.savez(options.output, allow_pickle=False, **arrays)
    described = {name: f"{array.dtype}{list(array.shape)}" for name, array in arrays.items()}
    if options.json:
        print(json.dumps(described))
    else:
        for name, array in arrays.items():
            print(f"{name}: {described[name]}")
            print(np.array2string(array, threshold=20, precision=4))
    return DONE


def _leaves_from(program: Any, file: str) -> list[Any]:
    import numpy as np

    from dynamo_lite import torchlite
    from fx_ir.contract import ConstLeaf, IntLeaf

    try:
        with np.load(Path(file), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as error:
        raise INPUT_FILE(file=file, problem=str(error)) from None
    leaves: list[Any] = []
    for leaf in program.contract.leaves:
        if isinstance(leaf, ConstLeaf):
            leaves.append(leaf.value)
            continue
        array = arrays.get(leaf.name, arrays.get(leaf.path))
        if array is None:
            raise INPUT_FILE(file=file, problem=f"it has no array {leaf.name}")
        leaves.append(int(array) if isinstance(leaf, IntLeaf) else torchlite.from_numpy(array))
    return leaves


# --- verify: the solver's own command


def _verify_arguments(command: argparse.ArgumentParser) -> None:
    from solver.cli import add_arguments

    add_arguments(command)


def _verify(options: argparse.Namespace) -> int:
    from solver.cli import run

    return run(options)


_Command = tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None], str]
_COMMANDS: Final[dict[str, _Command]] = {
    "export": (_export, _export_arguments, "capture a model, prove its guards, print and save the program"),
    "run": (_run, _run_arguments, "run a saved program"),
    "show": (_show, _file_arguments, "print a saved program"),
    "explain": (_explain, _explain_arguments, "say why an input, a size or a value of a program is as it is"),
    "verify": (_verify, _verify_arguments, "prove the guards of programs (.dlp, .pt2) and problem files"),
    "compare": (_compare, _target_arguments, "capture in both modes and compare the graphs"),
    "report": (_report, _file_arguments, "what a program rests on: ranges, proofs, assumptions, effects"),
}


if __name__ == "__main__":
    sys.exit(main())
