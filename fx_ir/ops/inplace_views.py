"""Operators that make a tensor view its own memory otherwise (``t_``, ``unsqueeze_`` …)."""

from __future__ import annotations

from fx_ir.ops.registry import register_inplace

for _name, _arguments in (
    ("t", ""), ("transpose", "int dim0, int dim1"), ("unsqueeze", "int dim"), ("squeeze", ""), ("squeeze.dim", "int dim"),
    ("squeeze.dims", "int[] dim"),
):  # fmt: skip
    _packet, _, _overload = _name.partition(".")
    _functional = "aten::transpose.int" if _name == "transpose" else f"aten::{_name}"
    _head = f"aten::{_packet}_{'.' + _overload if _overload else ''}(Tensor(a!) self"
    register_inplace(f"{_head}{', ' + _arguments if _arguments else ''}) -> Tensor(a!)", _functional)
