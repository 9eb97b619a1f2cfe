"""A prolog and an epilog in Python; on a GPU only."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    if not env.is_on_gpu or env.library == "numpy":
        return
    a, factors = env.complex(8, 128), env.complex(8, 128)
    weights = env.array(factors)
    address = weights.data.ptr if env.library == "cupy" else weights.data_ptr()

    def multiply(data_in, offset, weights, reserved):
        return data_in[offset] * weights[offset]

    def divide(data_out, offset, data, weights, reserved):
        data_out[offset] = data / weights[offset]

    before = env.fft.compile_prolog(multiply, "complex64", "complex64")
    after = env.fft.compile_epilog(divide, "complex64", "complex64")
    prolog = env.fft.DeviceCallable(ltoir=before, data=address)
    epilog = {"ltoir": after, "data": address}
    wide, wide_factors = a.astype("c16"), factors.astype("c16")
    expected = np.fft.fft(wide * wide_factors)
    result = env.fft.fft(env.array(a), axes=[1], prolog=prolog)
    yield "prolog", env.numpy(result), expected
    result = env.fft.fft(env.array(a), axes=[1], prolog=prolog, epilog=epilog)
    yield "both", env.numpy(result), expected / wide_factors
    with env.fft.FFT(env.array(a), axes=[1]) as transform:
        transform.plan(epilog=epilog)
        yield "epilog", env.numpy(transform.execute()), np.fft.fft(wide) / wide_factors
        key = env.fft.FFT.create_key(env.array(a), axes=[1], epilog=epilog)
        yield "key", transform.get_key(epilog=epilog) == key, None
        yield "other key", transform.get_key() == key, None


if __name__ == "__main__":
    main(run)
