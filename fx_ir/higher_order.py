"""Operators that take graphs: their first arguments are ``get_attr`` nodes of branch graphs, as in PyTorch.

=================================================================  ====================================================
call                                                               value
=================================================================  ====================================================
``cond(pred, true_graph, false_graph, operands)``                  the tuple that the chosen graph returns
``map_impl(graph, xs, pos_args)``                                  tuple; ``graph(*x_slices, *pos_args)`` stacked over dimension 0
``while_loop(cond_graph, body_graph, carried, additional)``        tuple of the carried values after the loop
``scan(graph, init, xs, additional)``                              ``(*carry, *stacked ys)``; ``graph(*carry, *x_slices, *additional)``
``associative_scan(graph, xs, additional)``                        inclusive scan; ``graph(*left, *right, *additional)``
=================================================================  ====================================================
"""

from __future__ import annotations

from typing import Any, Final


class HigherOrderOperator:
    """A control-flow operator; there is one instance each. ``graph_args`` are the positions of its branch graphs."""

    __slots__ = ("graph_args", "name")

    def __init__(self, name: str, graph_args: tuple[int, ...]) -> None:
        self.name = name
        self.graph_args = graph_args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{self} is a target of graph nodes; call dynamo_lite.{self.name.removesuffix('_impl')} instead"
        )

    def __str__(self) -> str:
        return f"higher_order.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (by_name, (self.name,))


cond: Final = HigherOrderOperator("cond", (1, 2))
map_impl: Final = HigherOrderOperator("map_impl", (0,))
while_loop: Final = HigherOrderOperator("while_loop", (0, 1))
scan: Final = HigherOrderOperator("scan", (0,))
associative_scan: Final = HigherOrderOperator("associative_scan", (0,))

HIGHER_ORDER: Final = {op.name: op for op in (cond, map_impl, while_loop, scan, associative_scan)}


def by_name(name: str) -> HigherOrderOperator:
    """The higher-order operator of that name; KeyError if there is none."""
    return HIGHER_ORDER[name]
