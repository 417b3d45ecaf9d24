"""More tiny real models: architectures of transformers that ``models`` lacks, one a kind of computation."""

from __future__ import annotations

from typing import Final

from tests.zoo.building import Maker
from tests.zoo.image_kinds import IMAGE_KINDS
from tests.zoo.other_kinds import OTHER_KINDS
from tests.zoo.text_kinds import TEXT_KINDS

KINDS: Final[dict[str, Maker]] = {**TEXT_KINDS, **IMAGE_KINDS, **OTHER_KINDS}
