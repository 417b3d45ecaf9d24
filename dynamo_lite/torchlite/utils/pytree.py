"""``torch.utils.pytree``: the same functions as ``_pytree``."""

from __future__ import annotations

from dynamo_lite.torchlite.utils._pytree import *  # noqa: F403
from dynamo_lite.torchlite.utils._pytree import __all__ as __all__
