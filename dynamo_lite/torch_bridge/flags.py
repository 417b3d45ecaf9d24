"""Settings of the process that a model may ask PyTorch for: what the answer was is a condition of a live program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

_NAMES: Final = (
    "_get_deterministic_algorithms", "_get_deterministic_algorithms_warn_only", "_get_deterministic_fill_uninitialized_memory",
    "_get_float32_matmul_precision", "_get_cublas_allow_tf32", "_get_cublas_allow_fp16_accumulation",
    "_get_cublas_allow_fp16_reduced_precision_reduction", "_get_cublas_allow_bf16_reduced_precision_reduction",
    "_get_cudnn_allow_tf32", "_get_cudnn_benchmark", "_get_cudnn_deterministic", "_get_cudnn_enabled",
    "_get_mkldnn_deterministic", "_get_mkldnn_enabled", "_get_onednn_allow_tf32", "_get_nnpack_enabled", "_get_qengine",
    "_get_flash_sdp_enabled", "_get_math_sdp_enabled", "_get_mem_efficient_sdp_enabled", "_get_cudnn_sdp_enabled",
    "_get_warnAlways", "get_num_threads", "get_num_interop_threads", "is_anomaly_enabled", "is_anomaly_check_nan_enabled",
    "is_autocast_cache_enabled", "_is_multithreading_enabled", "_is_view_replay_enabled",
)  # fmt: skip

FLAGS: Final[dict[int, Callable[[], Any]]] = {
    id(function): function for name in _NAMES if (function := getattr(torch._C, name, None)) is not None
}
"""The C functions without arguments that tell them, by identity."""

_PAIRS: Final = (
    ("get_num_threads", "set_num_threads"),
    *((f"_get_{name}", f"_set_{name}") for name in (
        "warnAlways", "cudnn_enabled", "cudnn_benchmark", "cudnn_deterministic", "mkldnn_enabled",
        "mkldnn_deterministic", "nnpack_enabled", "float32_matmul_precision",
    )),
    *((f"_get_{kind}_sdp_enabled", f"_set_sdp_use_{kind}") for kind in ("flash", "math", "mem_efficient", "cudnn")),
)  # fmt: skip
_C: Final[Any] = torch._C
_SWITCHES: Final[tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...]] = (
    *((getattr(_C, read), getattr(_C, write)) for read, write in _PAIRS if hasattr(_C, write)),
    (
        lambda: (_C._get_deterministic_algorithms(), _C._get_deterministic_algorithms_warn_only()),
        lambda held: _C._set_deterministic_algorithms(held[0], warn_only=held[1]),
    ),
    (
        lambda: (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()),
        lambda held: _C.set_anomaly_enabled(*held),
    ),
    (lambda: _C.is_autocast_enabled("cuda"), lambda held: _C.set_autocast_enabled("cuda", held)),
    (torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled),
)


@contextmanager
def switches_kept() -> Iterator[None]:
    """At the end of the block the switches of PyTorch's process-wide state stand as before it."""
    before = [read() for read, _ in _SWITCHES]
    try:
        yield
    finally:
        for (read, write), value in zip(_SWITCHES, before, strict=True):
            if read() != value:
                write(value)
