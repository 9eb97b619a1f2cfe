"""`gpumath.bindings.curand` with real cuRAND: host generators, which need no GPU."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

from gpumath.bindings import curand, errors
from gpumath.bindings.curand import DirectionVectorSet, RngType, Status
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
from tests.helpers.cuda_wheels import in_fresh_process, library_file

COUNT = 50_000


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    try:
        curand.get_version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"cuRAND is not in the test environment: {str(error).splitlines()[0]}")


class Host:
    """A host generator with a seed of its own, or for so many dimensions."""

    def __init__(self, kind: int, seed: int | None = None, dimensions: int = 1) -> None:
        self.generator = curand.create_generator_host(kind)
        self.seed = int(np.random.default_rng().integers(1, 2**63)) if seed is None else seed
        if kind in (*PSEUDO, RngType.PSEUDO_DEFAULT):
            curand.set_pseudo_random_generator_seed(self.generator, self.seed)
        elif dimensions > 1:
            curand.set_quasi_random_generator_dimensions(self.generator, dimensions)

    def numbers(self, distribution: str, count: int) -> np.ndarray:
        case = DISTRIBUTIONS[distribution]
        numbers = np.empty(count, case.dtype)
        case.function(self.generator, numbers.ctypes.data, count, *case.parameters)
        return numbers

    def __del__(self) -> None:
        curand.destroy_generator(self.generator)


@pytest.fixture(scope="module")
def hosts() -> dict[int, Host]:
    """One generator a type for the module: the first numbers of MT19937 take seconds."""
    return {}


def host(hosts: dict[int, Host], kind: int) -> Host:
    if kind not in hosts:
        hosts[kind] = Host(kind)
    return hosts[kind]


def test_mt19937_is_numpys(hosts: dict[int, Host]) -> None:
    seed = int(np.random.default_rng().integers(1, 2**32))
    hosts[RngType.PSEUDO_MT19937] = Host(RngType.PSEUDO_MT19937, seed)
    numbers = hosts[RngType.PSEUDO_MT19937].numbers("bits", 2**19)
    expected = np.frombuffer(np.random.RandomState(seed).bytes(160), "<u4")
    assert numbers[0] == expected[0]
    # cuRAND computes blocks of the stream at once and stores them in another order.
    assert np.isin(expected, numbers).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", [*PSEUDO, *QUASI, *DEFAULT], ids=lambda kind: kind.name)
def test_moments(hosts: dict[int, Host], kind: RngType, distribution: str) -> None:
    if not has(kind, distribution):
        with pytest.raises(errors.cuRANDError) as caught:
            host(hosts, kind).numbers(distribution, COUNT)
        assert caught.value.status is Status.TYPE_ERROR
        return
    if distribution == "Poisson by method" and curand.get_version() < 10400:
        pytest.skip("host generators choose a method only since cuRAND 10.4")
    DISTRIBUTIONS[distribution].assert_fits(host(hosts, kind).numbers(distribution, COUNT))


def test_philox_is_that_of_its_paper() -> None:
    host = Host(RngType.PSEUDO_PHILOX4_32_10)
    count = 4 * 65536 + 1000
    assert np.array_equal(host.numbers("bits", count), philox4x32(host.seed, count))


@pytest.mark.parametrize("dimensions", [1, 20000])
def test_sobol_is_scipys(dimensions: int) -> None:
    if dimensions == 1:
        dimensions = int(np.random.default_rng().integers(1, 500))
    points = 32
    numbers = Host(RngType.QUASI_SOBOL32, dimensions=dimensions).numbers(
        "bits", dimensions * points
    )
    reference = qmc.Sobol(dimensions, scramble=False, bits=32).random(points).T
    assert np.array_equal(numbers.reshape(dimensions, points), reference * 2.0**32)


@pytest.mark.parametrize("kind", QUASI, ids=lambda kind: kind.name)
def test_direction_vectors_and_constants_give_the_sequence(kind: RngType) -> None:
    bits = 64 if kind in OF_64_BITS else 32
    scrambled = "SCRAMBLED" in kind.name
    dimensions, points = int(np.random.default_rng().integers(2, 300)), 100
    name = f"{'SCRAMBLED_' if scrambled else ''}DIRECTION_VECTORS_{bits}_JOEKUO6"
    get_vectors = curand.get_direction_vectors64 if bits == 64 else curand.get_direction_vectors32
    vectors = get_vectors(DirectionVectorSet[name], dimensions)
    assert (vectors.shape, vectors.dtype) == ((dimensions, bits), np.dtype(f"u{bits // 8}"))
    constants = np.zeros(dimensions, vectors.dtype)
    if scrambled:
        get = curand.get_scramble_constants64 if bits == 64 else curand.get_scramble_constants32
        constants = get(dimensions)
    assert (constants.shape, constants.dtype) == ((dimensions,), vectors.dtype)
    host = Host(kind, dimensions=dimensions)
    numbers = host.numbers("long bits" if bits == 64 else "bits", dimensions * points)
    assert np.array_equal(numbers.reshape(dimensions, points), sobol(vectors, points, constants))


@pytest.mark.parametrize("bits", [32, 64])
def test_direction_vectors_of_every_dimension(bits: int) -> None:
    get = curand.get_direction_vectors64 if bits == 64 else curand.get_direction_vectors32
    vectors = get(DirectionVectorSet[f"DIRECTION_VECTORS_{bits}_JOEKUO6"], 20000)
    # The k-th vector is an odd number below 2**(k+1), moved to the upper end of the word.
    shifts = np.arange(bits - 1, -1, -1, dtype=vectors.dtype)
    assert ((vectors >> shifts) & 1).all()
    assert not (vectors & ((np.ones(1, vectors.dtype) << shifts) - np.ones(1, vectors.dtype))).any()
    assert len(np.unique(vectors, axis=0)) == 20000
    vectors[0, 0] = 0  # a copy, ours to write
    assert get(101 if bits == 32 else 103, 1)[0, 0] == 1 << (bits - 1)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "text"),
    [
        (curand.get_direction_vectors32, (101, 20001), ValueError, "20001; .* 0 to 20000"),
        (curand.get_direction_vectors64, (103, -1), ValueError, "-1; "),
        (curand.get_scramble_constants32, (2**70,), ValueError, "0 to 20000"),
        (curand.get_scramble_constants64, ("3",), TypeError, "str"),
        (curand.get_direction_vectors32, (103, 1), errors.cuRANDError, "OUT_OF_RANGE"),
        (curand.get_direction_vectors64, (101, 1), errors.cuRANDError, "OUT_OF_RANGE"),
        (curand.create_generator_host, (7,), errors.cuRANDError, "TYPE_ERROR"),
        (curand.create_generator_host, (2**40,), OverflowError, "int"),
        (curand.create_generator_host, (None,), TypeError, "int"),
        (curand.set_generator_offset, (0, -1), OverflowError, "int"),
        (curand.generate_uniform, (0, 8, 1), errors.cuRANDError, "NOT_INITIALIZED"),
        (curand.generate_binomial, (0, 8, 1, 2, 0.5), errors.FunctionNotFoundError, "Binomial"),
    ],
)
def test_bad_arguments(function: Any, arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        function(*arguments)


@pytest.mark.parametrize("kind", [*PSEUDO, *QUASI], ids=lambda kind: kind.name)
def test_seeds_offsets_and_pieces(hosts: dict[int, Host], kind: RngType) -> None:
    if kind == RngType.PSEUDO_MT19937:
        with pytest.raises(errors.cuRANDError, match="TYPE_ERROR"):
            curand.set_generator_offset(host(hosts, kind).generator, 1)
        return
    integers = "long bits" if kind in OF_64_BITS else "bits"
    whole = Host(kind, seed=5).numbers(integers, 1000)
    again = Host(kind, seed=5)
    curand.generate_seeds(again.generator)
    pieces = [again.numbers(integers, count) for count in (4, 100, 12, 884)]
    assert np.array_equal(np.concatenate(pieces), whole)
    if kind in PSEUDO:
        assert not np.isin(Host(kind, seed=6).numbers(integers, 1000), whole).all()
    if kind == RngType.PSEUDO_MTGP32:
        with pytest.raises(errors.cuRANDError, match="TYPE_ERROR"):
            curand.set_generator_offset(again.generator, 1)
        return
    offset = int(np.random.default_rng().integers(1, 900))
    curand.set_generator_offset(generator=again.generator, offset=np.int64(offset))
    assert np.array_equal(again.numbers(integers, 100), whole[offset : offset + 100])


def test_uniform_numbers_are_the_bits_in_the_unit_interval() -> None:
    for kind in (RngType.PSEUDO_XORWOW, RngType.PSEUDO_PHILOX4_32_10, RngType.QUASI_SOBOL32):
        bits = Host(kind, seed=9).numbers("bits", 1000)
        uniform = Host(kind, seed=9).numbers("uniform", 1000)
        assert np.allclose(uniform, (bits + 0.5) * 2.0**-32, rtol=2**-22, atol=0)
        assert 0 < uniform.min() <= uniform.max() <= 1


def test_orderings() -> None:
    host = Host(RngType.PSEUDO_XORWOW, seed=3)
    for ordering in (curand.Ordering.PSEUDO_BEST, curand.Ordering.PSEUDO_LEGACY):
        curand.set_generator_ordering(host.generator, ordering)
    with pytest.raises(errors.cuRANDError) as caught:
        curand.set_generator_ordering(host.generator, curand.Ordering.QUASI_DEFAULT)
    assert caught.value.status is Status.OUT_OF_RANGE
    curand.set_generator_ordering(host.generator, curand.Ordering.PSEUDO_SEEDED)
    seeded = host.numbers("bits", 100)
    assert not np.array_equal(seeded, Host(RngType.PSEUDO_XORWOW, seed=3).numbers("bits", 100))


def test_statuses() -> None:
    quasi = Host(RngType.QUASI_SOBOL32, dimensions=3)
    with pytest.raises(errors.cuRANDError) as caught:
        quasi.numbers("uniform", 100)  # no multiple of 3
    assert caught.value.status is Status.LENGTH_NOT_MULTIPLE
    assert caught.value.function == "curandGenerateUniform"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.status) == (str(caught.value), Status.LENGTH_NOT_MULTIPLE)
    for dimensions in (0, 20001):
        with pytest.raises(errors.cuRANDError, match="OUT_OF_RANGE"):
            curand.set_quasi_random_generator_dimensions(quasi.generator, dimensions)
    with pytest.raises(errors.cuRANDError, match="TYPE_ERROR"):
        curand.set_pseudo_random_generator_seed(quasi.generator, 1)
    with pytest.raises(errors.cuRANDError) as caught:
        curand.check_status(12345)
    assert caught.value.status == 12345
    assert curand.check_status(Status.SUCCESS) is None


@pytest.mark.parametrize("cuda_major", [12, 13])
def test_version_and_what_needs_a_gpu(cuda_major: int) -> None:
    file = library_file("curand", cuda_major)
    settings = {"GPUMATH_CURAND_PATH": file, "CUDA_VISIBLE_DEVICES": "-1"}
    version, raw, (major, minor, patch), *statuses = in_fresh_process(
        "curand.version_and_what_needs_a_gpu", str(file), settings=settings
    )
    assert version == raw == major * 1000 + minor * 100 + patch
    assert statuses == ["INITIALIZATION_FAILED", "PREEXISTING_FAILURE"]


def test_an_object_with_an_index_is_an_address() -> None:
    """Such as memory of a device, which has no buffer."""

    class Memory:
        def __init__(self, array: np.ndarray) -> None:
            self.address = array.ctypes.data

        def __index__(self) -> int:
            return self.address

    by_address, by_buffer = np.zeros((2, 100), np.float32)
    for memory in (Memory(by_address), by_buffer):
        generator = curand.create_generator_host(RngType.PSEUDO_PHILOX4_32_10)
        try:
            curand.set_pseudo_random_generator_seed(generator, 7)
            curand.generate_uniform(generator, memory, 100)
        finally:
            curand.destroy_generator(generator)
    assert np.array_equal(by_address, by_buffer)
    assert by_address.any()
