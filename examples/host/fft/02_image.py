"""
A filter for a photograph
=========================

Keep only the low frequencies: a 2-D transform, a filter, the inverse transform.

Run it with::

    python examples/host/fft/02_image.py [FOLDER FOR THE PLOT]
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _report import (
    DATA,
    Execution,
    choose_execution,
    print_comparison,
    print_machine,
    save_plot,
)

from gpumath import fft

# A binary PGM file has a header of three lines, then one byte per pixel.
raw = (DATA / "grace_hopper.pgm").read_bytes()
magic, size, depth, pixels = raw.split(b"\n", 3)
width, height = map(int, size.split())
image = np.frombuffer(pixels, np.uint8).reshape(height, width) / 255

execution: Execution = choose_execution()
print_machine(execution, image)
print_comparison(
    f"rfft of {height}x{width} pixels",
    lambda: fft.rfft(image, execution=execution),
    lambda: np.fft.rfft2(image),
)

spectrum = fft.rfft(image, execution=execution)
rows = np.abs(np.fft.fftfreq(height))[:, None]
columns = np.fft.rfftfreq(width)[None, :]
low = np.hypot(rows, columns) < 0.12  # cycles per pixel

# Transforms are not scaled, so divide the inverse transform by the number of pixels.
again = fft.irfft(spectrum, execution=execution) / image.size
smooth = fft.irfft(spectrum * low, execution=execution) / image.size
lost = np.abs(again - image).max()
energy = np.linalg.norm(smooth) ** 2 / np.linalg.norm(image) ** 2
print(f"transform and inverse: largest difference {lost:.1e}")
print(f"{low.mean():.1%} of the coefficients hold {energy:.1%} of the image's energy")

full = fft.fft(image.astype(np.complex128), execution=execution)
brightness = np.log(np.abs(np.fft.fftshift(full)))
brightness -= np.percentile(brightness, 1)
brightness /= brightness.max()

pictures = [
    ("Photograph", image),
    ("Spectrum (logarithm)", brightness),
    (f"From {low.mean():.1%} of it", smooth),
]
figure, places = plt.subplots(1, 3, figsize=(13, 5.5), layout="constrained")
for place, (title, picture) in zip(places, pictures, strict=True):
    place.imshow(picture, cmap="gray", vmin=0, vmax=1)
    place.set(title=title, xticks=[], yticks=[])
save_plot(figure, "image.png")

if lost > 1e-13:
    raise SystemExit("the inverse transform does not restore the image")
