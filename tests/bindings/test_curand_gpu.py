"""`gpumath.bindings.curand` on a GPU: numbers in device memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from gpumath.bindings import core, curand, errors
from gpumath.bindings.curand import DirectionVectorSet, Ordering, RngType, Status
from tests.bindings.random_cases import (
    DEFAULT,
    DISTRIBUTIONS,
    OF_64_BITS,
    PSEUDO,
    QUASI,
    has,
    philox4x32,
    sobol,
)
from tests.helpers.device_arrays import DeviceArray

pytestmark = pytest.mark.gpu

COUNT = 200_000
KINDS = pytest.mark.parametrize("kind", [*PSEUDO, *QUASI], ids=lambda kind: kind.name)
# The ordering of these that the host has too.
LEGACY = (RngType.PSEUDO_XORWOW, RngType.PSEUDO_MRG32K3A, RngType.PSEUDO_PHILOX4_32_10)


class Generator:
    """A generator, on the device unless `create` makes another."""

    def __init__(
        self,
        kind: int,
        seed: int = 0,
        dimensions: int = 1,
        create: Callable[[int], int] = curand.create_generator,
    ) -> None:
        self.generator = create(kind)
        self.on_host = create is curand.create_generator_host
        self.seed = seed or int(np.random.default_rng().integers(1, 2**63))
        if kind in (*PSEUDO, RngType.PSEUDO_DEFAULT):
            curand.set_pseudo_random_generator_seed(self.generator, self.seed)
        elif dimensions > 1:
            curand.set_quasi_random_generator_dimensions(self.generator, dimensions)

    def numbers(self, distribution: str, count: int) -> np.ndarray:
        case = DISTRIBUTIONS[distribution]
        numbers = np.zeros(count, case.dtype)
        if self.on_host:
            case.function(self.generator, numbers.ctypes.data, count, *case.parameters)
            return numbers
        memory = DeviceArray(numbers)
        case.function(self.generator, memory, count, *case.parameters)
        return memory.get()

    def __del__(self) -> None:
        curand.destroy_generator(self.generator)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", [*PSEUDO, *QUASI, *DEFAULT], ids=lambda kind: kind.name)
def test_moments(kind: RngType, distribution: str) -> None:
    if (kind, distribution) == (RngType.PSEUDO_MT19937, "Poisson by method"):
        pytest.skip("the device's MT19937 has no method of the device API")
    if not has(kind, distribution):
        with pytest.raises(errors.cuRANDError) as caught:
            Generator(kind).numbers(distribution, COUNT)
        assert caught.value.status is Status.TYPE_ERROR
        return
    DISTRIBUTIONS[distribution].assert_fits(Generator(kind).numbers(distribution, COUNT))


@KINDS
def test_the_host_computes_the_same_numbers(kind: RngType) -> None:
    seed = int(np.random.default_rng().integers(1, 2**32))
    pair = [
        Generator(kind, seed, create=create)
        for create in (curand.create_generator, curand.create_generator_host)
    ]
    for generator in pair:
        if kind in LEGACY:
            curand.set_generator_ordering(generator.generator, Ordering.PSEUDO_LEGACY)
    for distribution, tolerance in (
        ("long bits" if kind in OF_64_BITS else "bits", 0.0),
        ("uniform", 1e-6),
        ("uniform double", 1e-12),
        ("normal", 1e-3),
        ("normal double", 1e-6),
    ):
        device, host = (generator.numbers(distribution, 10_000) for generator in pair)
        assert np.allclose(device, host, rtol=tolerance, atol=tolerance), distribution


def test_philox_is_that_of_its_paper() -> None:
    generator = Generator(RngType.PSEUDO_PHILOX4_32_10)
    curand.set_generator_ordering(generator.generator, Ordering.PSEUDO_LEGACY)
    count = 4 * 65536 + 1000
    assert np.array_equal(generator.numbers("bits", count), philox4x32(generator.seed, count))


@KINDS
def test_seeds_and_offsets(kind: RngType) -> None:
    integers = "long bits" if kind in OF_64_BITS else "bits"
    whole = Generator(kind, seed=5).numbers(integers, 10_000)
    again = Generator(kind, seed=5)
    curand.generate_seeds(again.generator)
    assert np.array_equal(again.numbers(integers, 10_000), whole)
    if kind in PSEUDO:
        assert not np.isin(Generator(kind, seed=6).numbers(integers, 10_000), whole).all()
    offset = int(np.random.default_rng().integers(1, 9000))
    if kind in (RngType.PSEUDO_MT19937, RngType.PSEUDO_MTGP32):
        with pytest.raises(errors.cuRANDError, match="TYPE_ERROR"):
            curand.set_generator_offset(again.generator, offset)
        return
    curand.set_generator_offset(again.generator, offset)
    assert np.array_equal(again.numbers(integers, 1000), whole[offset : offset + 1000])


@KINDS
def test_orderings(kind: RngType) -> None:
    generator = Generator(kind)
    uniform = DISTRIBUTIONS["uniform"]
    wrong = Ordering.QUASI_DEFAULT if kind in PSEUDO else Ordering.PSEUDO_BEST
    with pytest.raises(errors.cuRANDError) as caught:
        curand.set_generator_ordering(generator.generator, wrong)
    assert caught.value.status is Status.OUT_OF_RANGE
    right = [Ordering.QUASI_DEFAULT]
    if kind in PSEUDO:
        right = [Ordering.PSEUDO_BEST, Ordering.PSEUDO_DEFAULT]
    if kind in LEGACY:
        right += [Ordering.PSEUDO_LEGACY, Ordering.PSEUDO_DYNAMIC]
    if kind == RngType.PSEUDO_XORWOW:
        right += [Ordering.PSEUDO_SEEDED]
    for ordering in right:
        # A new one each: cuRAND 10.4.0 keeps the old ordering's memory, and writes beyond it.
        generator = Generator(kind)
        curand.set_generator_ordering(generator.generator, ordering)
        uniform.assert_fits(generator.numbers("uniform", COUNT))


@pytest.mark.parametrize("kind", QUASI, ids=lambda kind: kind.name)
def test_quasirandom_dimensions(kind: RngType) -> None:
    bits = 64 if kind in OF_64_BITS else 32
    scrambled = "SCRAMBLED" in kind.name
    dimensions, points = int(np.random.default_rng().integers(2, 1000)), 128
    name = f"{'SCRAMBLED_' if scrambled else ''}DIRECTION_VECTORS_{bits}_JOEKUO6"
    get_vectors = curand.get_direction_vectors64 if bits == 64 else curand.get_direction_vectors32
    get_constants = (
        curand.get_scramble_constants64 if bits == 64 else curand.get_scramble_constants32
    )
    vectors = get_vectors(DirectionVectorSet[name], dimensions)
    constants = get_constants(dimensions) if scrambled else np.zeros(dimensions, vectors.dtype)
    generator = Generator(kind, dimensions=dimensions)
    numbers = generator.numbers("long bits" if bits == 64 else "bits", dimensions * points)
    numbers = numbers.reshape(dimensions, points)
    assert np.array_equal(numbers, sobol(vectors, points, constants))
    if kind == RngType.QUASI_SOBOL32:
        reference = qmc.Sobol(dimensions, scramble=False, bits=32).random(points).T
        assert np.array_equal(numbers, reference * 2.0**32)
    with pytest.raises(errors.cuRANDError, match="LENGTH_NOT_MULTIPLE"):
        generator.numbers("uniform", dimensions * points + 1)


def test_a_stream_of_ones_own() -> None:
    stream: Any = core.Stream()
    generator = Generator(RngType.PSEUDO_PHILOX4_32_10, seed=8)
    curand.set_stream(generator.generator, stream.handle)
    memory = DeviceArray(np.zeros(COUNT, np.float32))
    curand.generate_uniform(generator.generator, memory, COUNT)
    stream.synchronize()
    expected = Generator(RngType.PSEUDO_PHILOX4_32_10, seed=8).numbers("uniform", COUNT)
    assert np.array_equal(memory.get(), expected)


def test_a_poisson_distribution_is_made_and_freed() -> None:
    cell = array("Q", [0])
    curand.create_poisson_distribution(12.5, cell.buffer_info()[0])
    assert cell[0]
    curand.destroy_distribution(cell[0])
    with pytest.raises(errors.cuRANDError, match="OUT_OF_RANGE"):
        curand.create_poisson_distribution(-1.0, cell.buffer_info()[0])


def test_version() -> None:
    major, minor, patch = (curand.get_property(which) for which in range(3))
    assert curand.get_version() == major * 1000 + minor * 100 + patch
