"""`gpumath.device.random` in kernels on the GPU, against cuRAND's host generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from gpumath.bindings import curand
from gpumath.device import random, random_helpers
from tests.helpers.callbacks import require_numba

pytestmark = [
    pytest.mark.gpu,
    # Numba's advice on speed.
    pytest.mark.filterwarnings("ignore:.*Host array used in CUDA kernel"),
    pytest.mark.filterwarnings("ignore:.*under-utilization due to low occupancy"),
]

THREADS, BLOCKS = 64, 64
COUNT = THREADS * BLOCKS
DRAWS = 16
# The largest distance of an empirical distribution function, at less than 1e-9 chance of error.
FARTHEST = 3.3 / np.sqrt(COUNT * DRAWS)


@pytest.fixture(scope="module")
def cuda() -> Any:
    require_numba()
    from numba import cuda

    return cuda


@pytest.fixture
def seed() -> int:
    return int(np.random.default_rng().integers(1, 1 << 62))


def host(name: str, function: Any, dtype: Any, count: int, seed: int | None, *rest: Any) -> Any:
    """Numbers of one of cuRAND's host generators."""
    handle = curand.create_generator_host(curand.RngType[name])
    try:
        if seed is not None:
            curand.set_pseudo_random_generator_seed(handle, seed)
        numbers = np.empty(count, dtype)
        function(handle, numbers.ctypes.data, count, *rest)
        return numbers
    finally:
        curand.destroy_generator(handle)


def seeded(cuda: Any, kind: Any, seed: int) -> Any:
    @cuda.jit
    def initialize(states: Any, seed: int) -> None:
        i = cuda.grid(1)
        random.init(seed, i, 0, states[i])

    states = kind(COUNT)
    initialize[BLOCKS, THREADS](states, seed)
    return states


def test_xorwow_draws_the_numbers_of_curand(cuda: Any, seed: int) -> None:
    @cuda.jit
    def draw(states: Any, bits: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        bits[0, i] = random.rand(states[i])
        bits[1, i] = random.rand(states[i])
        numbers[i] = random.uniform(states[i])

    states = seeded(cuda, random.StatesXORWOW, seed)
    bits, numbers = np.empty((2, COUNT), np.uint32), np.empty(COUNT, np.float32)
    draw[BLOCKS, THREADS](states, bits, numbers)
    wanted = host("PSEUDO_XORWOW", curand.generate, np.uint32, 2 * COUNT, seed)
    np.testing.assert_array_equal(bits.ravel(), wanted)
    uniform = host("PSEUDO_XORWOW", curand.generate_uniform, np.float32, 3 * COUNT, seed)
    np.testing.assert_array_equal(numbers, uniform[2 * COUNT :])


def test_philox_draws_four_at_a_time(cuda: Any, seed: int) -> None:
    @cuda.jit
    def draw(states: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        four = random.uniform4(states[i])
        numbers[i, 0] = four.x
        numbers[i, 1] = four.y
        numbers[i, 2] = four.z
        numbers[i, 3] = four.w

    states = seeded(cuda, random.StatesPhilox4_32_10, seed)
    numbers = np.empty((COUNT, 4), np.float32)
    draw[BLOCKS, THREADS](states, numbers)
    wanted = host("PSEUDO_PHILOX4_32_10", curand.generate_uniform, np.float32, 4 * COUNT, seed)
    np.testing.assert_array_equal(numbers.ravel(), wanted)


def test_states_of_one_thread_skip(cuda: Any, seed: int) -> None:
    dtype = random.StatesMRG32k3a.dtype

    @cuda.jit
    def draw(seed: int, bits: Any) -> None:
        i = cuda.grid(1)
        state = cuda.local.array(1, dtype)
        random.init(seed, 0, 0, state[0])
        random.skipahead_subsequence(i, state[0])
        bits[i] = random.rand(state[0])

    bits = np.empty(COUNT, np.uint32)
    draw[BLOCKS, THREADS](seed, bits)
    wanted = host("PSEUDO_MRG32K3A", curand.generate, np.uint32, COUNT, seed)
    np.testing.assert_array_equal(bits, wanted)


def test_scrambled_points(cuda: Any) -> None:
    @cuda.jit
    def draw(vectors: Any, constants: Any, offset: int, states: Any, points: Any) -> None:
        i = cuda.grid(1)
        random.init(vectors[i], constants[i], offset, states[i])
        points[i] = random.normal_double(states[i])

    chosen = random_helpers.DirectionVectorSet.SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6
    vectors = random_helpers.get_direction_vectors64(chosen, COUNT)
    constants = random_helpers.get_scramble_constants64(COUNT)
    points = np.empty(COUNT)
    draw[BLOCKS, THREADS](vectors, constants, 0, random.StatesScrambledSobol64(COUNT), points)
    handle = curand.create_generator_host(curand.RngType.QUASI_SCRAMBLED_SOBOL64)
    curand.set_quasi_random_generator_dimensions(handle, COUNT)
    wanted = np.empty(COUNT)
    curand.generate_normal_double(handle, wanted.ctypes.data, COUNT, 0, 1)
    curand.destroy_generator(handle)
    np.testing.assert_allclose(points, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "kind", [random.StatesXORWOW, random.StatesMRG32k3a, random.StatesPhilox4_32_10]
)
def test_distributions(cuda: Any, kind: Any, seed: int) -> None:
    @cuda.jit
    def draw(states: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        for k in range(numbers.shape[1]):
            numbers[0, k, i] = random.normal(states[i])
            numbers[1, k, i] = random.normal_double(states[i])
            numbers[2, k, i] = random.log_normal(states[i], 0.5, 0.25)
            numbers[3, k, i] = random.uniform_double(states[i])
            numbers[4, k, i] = random.poisson(states[i], 7.5)
            numbers[5, k, i] = random.poisson(states[i], 750.0)

    numbers = np.empty((6, DRAWS, COUNT))
    draw[BLOCKS, THREADS](seeded(cuda, kind, seed), numbers)
    continuous = (stats.norm, stats.norm, stats.lognorm(0.25, scale=np.exp(0.5)), stats.uniform)
    for drawn, distribution in zip(numbers, continuous, strict=False):
        assert stats.kstest(drawn.ravel(), distribution.cdf).statistic < FARTHEST
    for drawn, mean in zip(numbers[4:], (7.5, 750.0), strict=True):
        values, last = np.unique(np.sort(drawn.ravel()), return_index=True)
        empirical = np.append(last[1:], drawn.size) / drawn.size
        assert np.abs(empirical - stats.poisson(mean).cdf(values)).max() < FARTHEST


def test_kernels_written_for_nvmath_python(cuda: Any, seed: int) -> None:
    compiled = random.Compile(cc=None)

    @cuda.jit(link=compiled.files, extensions=compiled.extension)
    def setup(states: Any, seed: int) -> None:
        i = cuda.grid(1)
        random.init(seed, i, 0, states[i])

    @cuda.jit(link=compiled.files, extensions=compiled.extension)
    def count(states: Any, result: Any) -> None:
        i = cuda.grid(1)
        result[i] = random.rand(states[i]) & 1

    states = random.StatesXORWOW(COUNT)
    setup[BLOCKS, THREADS](states, seed)
    result = np.zeros(COUNT, np.int32)
    count[BLOCKS, THREADS](states, result)
    wanted = host("PSEUDO_XORWOW", curand.generate, np.uint32, COUNT, seed) & 1
    np.testing.assert_array_equal(result, wanted)
