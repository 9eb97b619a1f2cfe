"""Wrong uses: which of Python's exceptions they are."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    fft, where = env.fft, env.where
    a, r = env.array(env.complex(4, 6)), env.array(env.real(4, 6))
    uses = {
        "real for fft": lambda: fft.fft(r, **where),
        "complex for rfft": lambda: fft.rfft(a, **where),
        "axis too large": lambda: fft.fft(a, axes=[2], **where),
        "axis twice": lambda: fft.fft(a, axes=[1, 1], **where),
        "integers": lambda: fft.rfft(env.array(np.arange(8)), **where),
        "scalar": lambda: fft.fft(env.array(np.ones((), "c8")), **where),
        "list": lambda: fft.fft([1j, 2], **where),
        "no space": lambda: fft.fft(a, execution="tpu"),
        "no name": lambda: fft.fft(a, execution={"num_threads": 1}),
        "inplace R2C": lambda: fft.rfft(r, options={"inplace": True}, **where),
    }
    for name, use in uses.items():
        yield name, raised(use), None
    yield "members", [fft.FFTDirection.FORWARD.value, fft.FFTDirection.INVERSE.value], None


if __name__ == "__main__":
    main(run)
