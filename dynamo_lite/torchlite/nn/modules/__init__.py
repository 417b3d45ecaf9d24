"""``torch.nn.modules``: an older path."""

from __future__ import annotations

from dynamo_lite.torchlite.nn.modules import module as module
