"""FFTs inside kernels on a GPU, against NumPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import mathdx
from tests.helpers.callbacks import require_numba

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
TOLERANCES = {np.float16: 6e-3, np.float32: 2e-6, np.float64: 3e-15}
KINDS = [("c2c", "forward"), ("c2c", "inverse"), ("r2c", "forward"), ("c2r", "inverse")]


@pytest.fixture(scope="module", autouse=True)
def _numba() -> None:
    require_numba()


def rows(fft: Any, count: int) -> np.ndarray:
    """Return random input for ``count`` transforms."""
    x = RNG.uniform(-1, 1, (count, fft.size)) / np.sqrt(fft.size)
    if fft.fft_type == "r2c":
        return x
    if fft.fft_type == "c2r":
        return np.fft.rfft(x)
    return x + 1j * RNG.uniform(-1, 1, x.shape) / np.sqrt(fft.size)


def reference(fft: Any, x: np.ndarray) -> np.ndarray:
    n = fft.size
    if fft.fft_type == "c2r":
        return np.fft.irfft(x, n) * n
    if fft.fft_type == "r2c":
        return np.fft.rfft(x)
    return np.fft.fft(x) if fft.direction == "forward" else np.fft.ifft(x) * n


def check(fft: Any, batches: int = 3, **options: Any) -> None:
    from tests.helpers.device_fft import transform_on_gpu

    count = fft.implicit_type_batching if fft.execution == "Thread" else fft.ffts_per_block
    x = rows(fft, batches * count)
    if fft.precision is np.float16:  # what half precision can hold
        x = _rounded(x)
    wanted = reference(fft, x)
    got = transform_on_gpu(fft, x, **options)
    error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
    assert error < TOLERANCES[fft.precision], f"{fft}: {error}"


def _rounded(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return x.astype(np.float16).astype(np.float64)
    return _rounded(x.real) + 1j * _rounded(x.imag)


# Each kind in each precision, and each size: the compilation of one takes seconds.
@pytest.mark.parametrize(
    ("size", "precision", "kind"),
    [
        (size, precision, KINDS[(row + column) % 4])
        for row, size in enumerate([8, 81, 1000, 8192])
        for column, precision in enumerate(TOLERANCES)
    ],
)
def test_blocks(size: int, precision: Any, kind: Any) -> None:
    check(device.FFT(size, precision, kind[0], "Block", direction=kind[1]))


@pytest.mark.parametrize(
    ("size", "precision", "kind"),
    [
        (size, precision, KINDS[(2 * row + column) % 4])
        for row, size in enumerate([3, 16])
        for column, precision in enumerate(TOLERANCES)
    ],
)
def test_threads(size: int, precision: Any, kind: Any) -> None:
    check(device.FFT(size, precision, kind[0], "Thread", direction=kind[1]))


@pytest.mark.parametrize(
    ("size", "precision", "kind"),
    [
        (size, precision, KINDS[(row + column) % 4])
        for row, size in enumerate([67, 127, 1009, 8191])
        for column, precision in enumerate(TOLERANCES)
        # What 8191 points are computed by is too large for half precision.
        if (size, precision) != (8191, np.float16)
    ],
)
def test_prime_sizes(size: int, precision: Any, kind: Any) -> None:
    if mathdx.get_version() < 402:
        pytest.skip("libmathdx has transforms of these sizes from 0.4.2 on")
    fft = device.FFT(size, precision, kind[0], "Block", direction=kind[1])
    check(fft)
    if kind[0] == "c2c" and precision is not np.float16:
        check(fft, in_shared_memory=True)


@pytest.mark.parametrize("precision", [np.float16, np.float32])
def test_several_transforms_a_block(precision: Any) -> None:
    options: Any = {"direction": "forward", "ffts_per_block": 4, "elements_per_thread": 4}
    check(device.FFT(64, precision, "c2c", "Block", **options))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_points_in_shared_memory(precision: Any) -> None:
    fft = device.FFT(128, precision, "c2c", "Block", direction="forward", ffts_per_block=2)
    check(fft, in_shared_memory=True)


def test_suggested_knobs() -> None:
    knobs: Any = {"ffts_per_block": "suggested", "elements_per_thread": "suggested"}
    fft = device.FFT(256, np.float32, "c2c", "Block", direction="inverse", **knobs)
    assert fft.ffts_per_block is not None
    assert fft.ffts_per_block > 1
    check(fft)


def test_the_older_form_convolves() -> None:
    from numba import cuda

    size, batch = 128, 7
    operators: Any = {
        "fft_type": "c2c",
        "size": size,
        "precision": np.float32,
        "execution": "Block",
        "ffts_per_block": 1,
        "elements_per_thread": 2,
        "compiler": "numba",
    }
    forward: Any = device.fft(direction="forward", **operators)
    inverse: Any = device.fft(direction="inverse", **operators)
    value_type, storage_size = forward.value_type, forward.storage_size
    stride, count = forward.stride, forward.elements_per_thread

    @cuda.jit(link=forward.files + inverse.files)
    def convolve(data: Any, weights: Any) -> None:
        thread_data = cuda.local.array(shape=(storage_size,), dtype=value_type)
        shared_mem = cuda.shared.array(shape=(0,), dtype=value_type)
        row = cuda.blockIdx.x
        for i in range(count):
            thread_data[i] = data[row, cuda.threadIdx.x + i * stride]
        forward(thread_data, shared_mem)
        for i in range(count):
            thread_data[i] = thread_data[i] * weights[cuda.threadIdx.x + i * stride] / size
        inverse(thread_data, shared_mem)
        for i in range(count):
            data[row, cuda.threadIdx.x + i * stride] = thread_data[i]

    x = (RNG.normal(size=(batch, size)) + 1j * RNG.normal(size=(batch, size))).astype(np.complex64)
    weights = RNG.normal(size=size).astype(np.float32)
    data = cuda.to_device(x)
    convolve[batch, forward.block_dim, 0, forward.shared_memory_size](data, weights)
    wanted = np.fft.ifft(np.fft.fft(x.astype(complex)) * weights)
    error = np.linalg.norm(data.copy_to_host() - wanted) / np.linalg.norm(wanted)
    assert error < 1e-5


def test_a_view_of_a_threads_array() -> None:
    from numba import cuda

    fft = device.FFT(8, np.float32, "r2c", "Thread")

    @cuda.jit
    def kernel(x: Any, y: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=fft.value_type)
        real = data.view(np.float32)
        for i in range(fft.size):
            real[i] = x[i]
        fft.execute(data)
        if fft.fft_type == "r2c":
            for i in range(fft.output_length):
                y[i] = data[i]

    x, y = RNG.normal(size=8).astype(np.float32), np.zeros(5, np.complex64)
    kernel[1, 1](x, y)
    np.testing.assert_allclose(y, np.fft.rfft(x), rtol=1e-5, atol=1e-5)
