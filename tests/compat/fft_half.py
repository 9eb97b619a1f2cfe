"""Half precision: PyTorch tensors on a GPU, powers of two."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    if env.library != "torch":
        return
    import torch

    values = env.real(4, 64, dtype="f4")
    operand = torch.from_numpy(values).cuda().half()
    rounded = operand.cpu().numpy().astype("f8")
    half = env.fft.rfft(operand, axes=[1])
    yield "half rfft dtype", str(half.dtype), None
    yield "half rfft", half.to(torch.complex64).cpu().numpy().astype("c8"), np.fft.rfft(rounded)
    back = env.fft.irfft(half, axes=[1])
    yield "half irfft dtype", str(back.dtype), None
    yield "half irfft", back.float().cpu().numpy(), 64 * rounded
    # A plan of one operand, again with another.
    complex_ = torch.view_as_complex(torch.stack([operand, operand], -1))
    result = env.fft.fft(complex_, axes=[1])
    wide = np.fft.fft(rounded * (1 + 1j))
    yield "half fft", result.to(torch.complex64).cpu().numpy(), wide


if __name__ == "__main__":
    main(run)
