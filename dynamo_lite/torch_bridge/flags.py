"""Settings of the process that a model may ask PyTorch for: what the answer was is a condition of a live program."""

from __future__ import annotations

from collections.abc import Callable
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
