"""
A blurred photograph, sharpened
===============================

On a GPU, the filter is an epilog, which runs in the transform.

Run it with::

    python examples/host/fft/03_deblurring.py [FOLDER FOR THE PLOT]
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from _report import (
    DATA,
    Execution,
    choose_execution,
    print_comparison,
    print_machine,
    save_plot,
)

from gpumath import fft, memory
from gpumath.bindings import core

Picture = npt.NDArray[np.float64]

# cuFFT calls this function to store each element of the spectrum, so the filter needs no pass over
# memory of its own.
FILTER = """
__device__ void epilog(double2 *spectrum, unsigned long long i, double2 x, const double2 *wiener,
                       void *)
{
    double2 w = wiener[i];
    spectrum[i] = make_double2(w.x * x.x - w.y * x.y, w.x * x.y + w.y * x.x);
}
"""

raw = (DATA / "grace_hopper.pgm").read_bytes()
_, size, _, pixels = raw.split(b"\n", 3)
width, height = map(int, size.split())
image: Picture = np.frombuffer(pixels, np.uint8).reshape(height, width) / 255

# The camera moved 13 pixels to the right and 5 down while it took the picture, and its sensor is
# noisy.
motion = np.zeros_like(image)
for step in np.linspace(0, 1, 200):
    motion[round(5 * step), round(13 * step)] += 1 / 200
blur = np.fft.rfft2(motion)
noise = 0.004 * np.random.default_rng(1).standard_normal(image.shape)
blurred: Picture = np.fft.irfft2(np.fft.rfft2(image) * blur) + noise

# The Wiener filter divides by the blur where the picture is stronger than the noise. It also
# divides by the number of pixels, because transforms are not scaled.
wiener = np.conj(blur) / (np.abs(blur) ** 2 + 0.002) / image.size

execution: Execution = choose_execution()
print_machine(execution, image)


def sharpen_on_gpu(picture: Picture) -> Picture:
    """Filter in the epilog of the forward transform."""
    spectrum = fft.rfft(picture, execution="cuda", epilog=epilog)
    return fft.irfft(spectrum, execution="cuda")


def sharpen_on_cpu(picture: Picture) -> Picture:
    """Filter between the transforms."""
    return fft.irfft(fft.rfft(picture, execution="cpu") * wiener, execution="cpu")


if execution == "cuda" and core.has("nvrtc") and core.has("nvjitlink"):
    # In unified memory, NumPy can write the filter and the GPU can read it.
    on_gpu = memory.empty(wiener.shape, "complex128", kind="managed")
    np.asarray(on_gpu)[...] = wiener
    code = fft.compile_epilog(FILTER, "complex128", "complex128")
    epilog = fft.DeviceCallable(code, data=core.TensorView(on_gpu).ptr)
    sharpen = sharpen_on_gpu
    print(f"filter   : an epilog of {len(code)} bytes of LTO-IR")
else:
    sharpen = sharpen_on_cpu
    print("filter   : by NumPy, between the transforms")

print_comparison(
    f"filter of {height}x{width} pixels",
    lambda: sharpen(blurred),
    lambda: np.fft.irfft2(np.fft.rfft2(blurred) * wiener * image.size),
)


def signal_to_noise(picture: Picture) -> float:
    """Return the peak signal-to-noise ratio against the true picture, in decibels."""
    return float(-10 * np.log10(np.mean((picture - image) ** 2)))


sharp = sharpen(blurred)
before, after = signal_to_noise(blurred), signal_to_noise(sharp)
print(f"signal to noise: {before:.1f} dB blurred, {after:.1f} dB sharpened")

pictures = [
    ("Photograph", image),
    (f"Blurred ({before:.1f} dB)", blurred),
    (f"Sharpened ({after:.1f} dB)", sharp),
]
figure, places = plt.subplots(1, 3, figsize=(13, 5.5), layout="constrained")
for place, (title, picture) in zip(places, pictures, strict=True):
    place.imshow(picture, cmap="gray", vmin=0, vmax=1)
    place.set(title=title, xticks=[], yticks=[])
save_plot(figure, "deblurring.png")

if after < before + 5:
    raise SystemExit("the picture is not sharper than before")
