"""Threads and processes of a program, each with transforms of its own."""

import multiprocessing
import multiprocessing.dummy
from functools import partial

import numpy as np
import nvmath


def transform(argument):
    values, device = argument
    execution = {"name": "cuda", "device_id": device}
    return nvmath.fft.fft(values, axes=(0, 1), execution=execution)


if __name__ == "__main__":
    rng = np.random.default_rng()
    operands = [rng.standard_normal((32, 48, 4)) + 0j for _ in range(2)]
    arguments = [(a, 0) for a in operands]
    expected = [np.fft.fft2(a, axes=(0, 1)) for a in operands]
    with multiprocessing.dummy.Pool(2) as pool:
        threads = pool.map(transform, arguments, chunksize=1)
        partials = pool.map(partial(nvmath.fft.fft, axes=(0, 1), execution="cuda"), operands)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        processes = pool.map(transform, arguments, chunksize=1)
    for results in (threads, partials, processes):
        for result, wanted in zip(results, expected, strict=True):
            assert np.allclose(result, wanted)
