"""``torch.nn.modules.module``."""

from __future__ import annotations

from dynamo_lite.torchlite.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from dynamo_lite.torchlite.nn.module import Module

__all__ = ["Module", "register_module_forward_hook", "register_module_forward_pre_hook"]
