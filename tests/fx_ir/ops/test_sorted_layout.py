"""Sorting a tensor whose elements overlap in memory gives a contiguous one, as in PyTorch."""

from __future__ import annotations

import dynamo_lite.torchlite as torch


def test_sorting_an_expanded_view_gives_a_contiguous_tensor() -> None:
    x = torch.arange(15).reshape(3, 5).float()
    values, order = x.expand(2, 3, 5).view(2, -1).sort(0)
    assert values.stride() == order.stride() == (15, 1)
    values.reshape(-1).mul_(2)  # a view of the sorted values, so they change
    assert values.tolist() == [[2.0 * n for n in range(15)]] * 2
