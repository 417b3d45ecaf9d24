"""``torch.fft``: what there are operators for."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.packets import lazy

fft = lazy("fft.fft", "fft_fft")
ifft = lazy("fft.ifft", "fft_ifft")
rfft = lazy("fft.rfft", "fft_rfft")
irfft = lazy("fft.irfft", "fft_irfft")
fft2 = lazy("fft.fft2", "fft_fft2")
ifft2 = lazy("fft.ifft2", "fft_ifft2")
fftn = lazy("fft.fftn", "fft_fftn")
ifftn = lazy("fft.ifftn", "fft_ifftn")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.fft.{name}")
