"""What a program archive may hold."""

from __future__ import annotations

from typing import Final

FORMAT: Final = "dynamo-lite/program"
VERSION: Final = 1
PROGRAM: Final = "program.json"
WEIGHTS: Final = "weights.safetensors"
EXAMPLES: Final = "examples.safetensors"
OBLIGATIONS: Final = "shapeproof.json"
REQUIRED: Final = (PROGRAM, WEIGHTS, OBLIGATIONS)
MAX_ENTRIES: Final = 64
MAX_JSON_BYTES: Final = 256 << 20
MAX_NODES: Final = 5_000_000
MAX_DEPTH: Final = 100
# Deflate cannot do better than about 1:1032; text of ours reaches 1:40.
MAX_RATIO: Final = 500
# Larger weights are mapped without reading them through to compare their checksum.
MAX_CHECKED_BYTES: Final = 1 << 30
ALIGNMENT: Final = 64
