"""The four functions, in both precisions, along all axes and along some."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    for width in (4, 8):
        a = env.complex(5, 8, 12, dtype=f"c{2 * width}")
        r = env.real(5, 8, 12, dtype=f"f{width}")
        for axes in (None, [0], [2], [1, 2], [0, 1, 2], [-1]):
            name = f"{width}.{axes}"
            keywords = {"axes": axes, **env.where}
            points = np.prod([a.shape[axis] for axis in axes or range(3)])
            wide, wide_r = a.astype("c16"), r.astype("f8")
            result = env.fft.fft(env.array(a), **keywords)
            yield f"fft.{name}", env.numpy(result), np.fft.fftn(wide, axes=axes)
            result = env.fft.ifft(env.array(a), **keywords)
            yield f"ifft.{name}", env.numpy(result), points * np.fft.ifftn(wide, axes=axes)
            # cuFFT's R2C and C2R need the last one of the axes to be the fastest in memory.
            if axes not in ([0],):
                half = np.fft.rfftn(wide_r, axes=axes)
                result = env.fft.rfft(env.array(r), **keywords)
                yield f"rfft.{name}", env.numpy(result), half
                result = env.fft.irfft(env.array(half.astype(a.dtype)), **keywords)
                yield f"irfft.{name}", env.numpy(result), points * wide_r


if __name__ == "__main__":
    main(run)
