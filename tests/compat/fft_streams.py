"""Streams of the operand's library, as objects and as handles; on a GPU only."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    if env.library == "numpy":
        return
    a = env.complex(64, 4099)
    expected = np.fft.fft(a.astype("c16"))
    if env.library == "cupy":
        import cupy

        stream = cupy.cuda.Stream(non_blocking=True)
        handle = stream.ptr
    else:
        import torch

        stream = torch.cuda.Stream()
        handle = stream.cuda_stream
    for name, given in (("object", stream), ("handle", handle), ("none", None)):
        result = env.fft.fft(env.array(a), axes=[1], stream=given)
        stream.synchronize()
        yield f"function {name}", env.numpy(result), expected
        with env.fft.FFT(env.array(a), axes=[1], stream=given) as transform:
            transform.plan(stream=given)
            result = transform.execute(stream=given)
            stream.synchronize()
            yield f"class {name}", env.numpy(result), expected


if __name__ == "__main__":
    main(run)
