"""Spectra of overlapping frames of a signal, and back; frequencies of a transform's bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import CPU, Category, Device, DType, get_default_dtype
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.registry import register


def _frame_options(n_fft: int, hop: int | None, length: int | None) -> tuple[int, int]:
    return (n_fft // 4 if hop is None else hop), (n_fft if length is None else length)


def _check_frames(name: str, n_fft: int, hop: int, length: int, window: Any) -> None:
    if n_fft <= 0 or hop <= 0 or not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}: expected n_fft > 0, hop_length > 0 and 0 < win_length <= n_fft, "
            f"but got n_fft={n_fft}, hop_length={hop}, win_length={length}"
        )
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, "
            f"but got window with size {list(window.shape)}"
        )


def _whole_window(window: Array | None, n_fft: int, length: int, dtype: Any) -> Array:
    """The window, in the middle of ``n_fft`` elements."""
    given = np.ones(length, dtype) if window is None else window
    left = (n_fft - length) // 2
    return np.pad(given, (left, n_fft - length - left))


def fake_stft(
    self: TensorMeta,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorMeta | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> TensorMeta:
    """Frames lie one after another in memory; the bins come before them in shape."""
    hop, length = _frame_options(n_fft, hop_length, win_length)
    is_complex = self.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True in a future PyTorch release.")  # fmt: skip
    if self.dtype.category < Category.FLOAT or self.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor of floating point or complex values, but got {self.dtype}{list(self.shape)}")  # fmt: skip
    _check_frames("stft", n_fft, hop, length, window)
    count = self.shape[-1]
    if count < n_fft:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {count}, but got n_fft={n_fft}")
    bins = n_fft // 2 + 1 if (not is_complex if onesided is None else onesided) else n_fft
    frames: Size = 1 + (count - n_fft) // hop
    lead = self.shape[:-1]
    whole: tuple[Size, ...] = (*[frames * bins for _ in lead], 1, bins)
    if return_complex is not False:
        return TensorMeta((*lead, bins, frames), self.dtype.to_complex(), self.device, lambda: whole)
    real: Callable[[], Any] = lambda: (*[2 * stride for stride in whole], 1)  # noqa: E731
    return TensorMeta((*lead, bins, frames, 2), self.dtype.to_real(), self.device, real)


def stft(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    hop, length = _frame_options(n_fft, hop_length, win_length)
    is_complex = self.dtype.kind == "c" or (window is not None and window.dtype.kind == "c")
    frames = np.lib.stride_tricks.sliding_window_view(self, n_fft, axis=-1)[..., ::hop, :]
    frames = frames * _whole_window(window, n_fft, length, self.dtype)
    one = not is_complex if onesided is None else onesided
    spectrum = np.fft.rfft(frames) if one else np.fft.fft(frames)
    if normalized:
        spectrum = spectrum / np.sqrt(n_fft)
    double = self.dtype in (np.dtype(np.float64), np.dtype(np.complex128))
    found = np.ascontiguousarray(spectrum.astype(np.complex128 if double else np.complex64))
    if return_complex is not False:
        return found.swapaxes(-1, -2)
    pairs = found.view(np.float64 if double else np.float32).reshape(*found.shape, 2)
    return pairs.swapaxes(-2, -3)


def fake_istft(
    self: TensorMeta,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: TensorMeta | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Size | None = None,
    return_complex: bool = False,
) -> TensorMeta:
    hop, size = _frame_options(n_fft, hop_length, win_length)
    if not self.dtype.is_complex or self.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a complex tensor with 2 or 3 dimensions, but got {self.dtype}{list(self.shape)}")  # fmt: skip
    _check_frames("istft", n_fft, hop, size, window)
    bins = n_fft if onesided is False or return_complex else n_fft // 2 + 1
    if self.shape[-2] != bins:
        raise RuntimeError(f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft={n_fft}, but got {self.shape[-2]}")  # fmt: skip
    whole: Size = n_fft + hop * (self.shape[-1] - 1)
    if length is None:
        length = whole - 2 * (n_fft // 2) if center else whole
    dtype = self.dtype if return_complex else self.dtype.to_real()
    return TensorMeta((*self.shape[:-2], length), dtype, self.device)


def istft(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    """Frames are added where they overlap and divided by the sum of the squared windows (Griffin and Lim, 1984)."""
    hop, size = _frame_options(n_fft, hop_length, win_length)
    real = np.dtype(np.float64 if self.dtype == np.complex128 else np.float32)
    taper = _whole_window(window, n_fft, size, real)
    spectrum = self.swapaxes(-1, -2) * (np.sqrt(n_fft) if normalized else 1)
    full = onesided is False or return_complex
    frames = np.fft.ifft(spectrum) if full else np.fft.irfft(spectrum, n_fft)
    frames = frames if return_complex else frames.real
    count = frames.shape[-2]
    total = np.zeros((*frames.shape[:-2], n_fft + hop * (count - 1)), frames.dtype)
    weight = np.zeros(total.shape[-1])
    for frame in range(count):
        place = slice(frame * hop, frame * hop + n_fft)
        total[..., place] += frames[..., frame, :] * taper
        weight[place] += taper * taper
    start = n_fft // 2 if center else 0
    end = total.shape[-1] - start if length is None else start + length
    total, weight = total[..., start:end], weight[start:end]
    if weight.size and np.abs(weight).min() <= 1e-11:
        raise RuntimeError("window overlap add min: 1")
    short = 0 if length is None else length - total.shape[-1]
    found = np.pad(total / weight, [(0, 0)] * (total.ndim - 1) + [(0, short)])
    return as_array(found.astype(self.dtype if return_complex else real))


def _of_frequencies(find: Callable[[int, float], Any], half: bool) -> tuple[Any, Any]:
    """Fake rule and kernel of the bins' frequencies."""

    def fake(
        n: Size, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None, **_: Any
    ) -> TensorMeta:
        return TensorMeta((n // 2 + 1 if half else n,), dtype or get_default_dtype(), device or CPU)

    def kernel(n: int, d: float = 1.0, *, dtype: DType | None = None, **_: Any) -> Array:
        return as_array(find(n, d)).astype((dtype or get_default_dtype()).numpy)

    return fake, kernel


def _declare() -> None:
    head = "int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None,"
    register(
        f"aten::stft(Tensor self, {head} bool normalized=False, bool? onesided=None, bool? return_complex=None, "
        "bool? align_to_window=None) -> Tensor",
        fake=fake_stft,
        kernel=stft,
    )
    register(
        f"aten::istft(Tensor self, {head} bool center=True, bool normalized=False, bool? onesided=None, "
        "int? length=None, bool return_complex=False) -> Tensor",
        fake=fake_istft,
        kernel=istft,
    )
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    for name, find in (("fft_fftfreq", np.fft.fftfreq), ("fft_rfftfreq", np.fft.rfftfreq)):
        fake, kernel = _of_frequencies(find, name == "fft_rfftfreq")
        register(f"aten::{name}(int n, float d=1., *, {options}) -> Tensor", fake=fake, kernel=kernel)


_declare()
