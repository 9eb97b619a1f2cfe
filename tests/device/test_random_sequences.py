"""The source of `gpumath.device.random`, compiled for the CPU, against cuRAND's host generators."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from gpumath.bindings import curand
from gpumath.bindings.errors import LibraryNotFoundError
from gpumath.device import _random_code
from gpumath.device._random_states import STATES
from tests.helpers.repository import ROOT

Array = npt.NDArray[Any]
C_TYPES = {
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "void": None,
}
# The host's generators deal their numbers out to so many subsequences, so many at a time.
PSEUDO = {
    "XORWOW": ("PSEUDO_XORWOW", 4096, 1),
    "MRG32k3a": ("PSEUDO_MRG32K3A", 81920, 1),
    "Philox4_32_10": ("PSEUDO_PHILOX4_32_10", 65536, 4),
}
SOBOL = {
    "Sobol32": "QUASI_SOBOL32",
    "ScrambledSobol32": "QUASI_SCRAMBLED_SOBOL32",
    "Sobol64": "QUASI_SOBOL64",
    "ScrambledSobol64": "QUASI_SCRAMBLED_SOBOL64",
}


class Generator:
    """The functions of one generator, and a state."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.library, self.name = library, name
        self.state = np.zeros(1, STATES[name].dtype)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function and return a number, or a list of several."""
        function = _random_code.FUNCTIONS[name]
        c_function = getattr(self.library, _random_code.symbol(name, self.name))
        given: list[Any] = []
        for kind, argument in zip(function.parameters, arguments, strict=True):
            if kind.endswith("*"):
                given.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                given.append(C_TYPES[_random_code.c_type(kind, self.name)](argument))
        result: Any = C_TYPES[_random_code.c_type(function.result, self.name)]
        state = ctypes.c_void_p(self.state.ctypes.data)
        if function.width == 1:
            c_function.restype = result
            return c_function(*given, state)
        out = (result * function.width)()
        c_function.restype = None
        c_function(*given, out, state)
        return list(out)

    def calls(self, count: int, name: str, *arguments: Any) -> Array:
        """Call a function so many times."""
        result = _random_code.c_type(_random_code.FUNCTIONS[name].result, self.name)
        dtype = None if result == "void" else C_TYPES[result]
        return np.array([self.call(name, *arguments) for _ in range(count)], dtype)


def seeded(library: ctypes.CDLL, name: str, seed: int, *place: int) -> Generator:
    subsequence, offset = (*place, 0, 0)[:2]
    generator = Generator(library, name)
    generator.call("init", seed, subsequence, offset)
    return generator


@contextmanager
def host_generator(name: str, offset: int = 0) -> Iterator[int]:
    """A generator of cuRAND's that computes on the CPU."""
    try:
        handle = curand.create_generator_host(curand.RngType[name])
    except LibraryNotFoundError:
        pytest.skip("cuRAND is not installed")
    try:
        curand.set_generator_offset(handle, offset)
        yield handle
    finally:
        curand.destroy_generator(handle)


def host_bits(name: str, seed: int, count: int, offset: int = 0) -> Array:
    numbers = np.empty(count, np.uint32)
    with host_generator(name, offset) as handle:
        curand.set_pseudo_random_generator_seed(handle, seed)
        curand.generate(handle, numbers.ctypes.data, count)
    return numbers


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The source, compiled for the CPU."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("random")
    header = ROOT / "tests" / "helpers" / "random_on_cpu.h"
    source = folder / "random.cpp"
    source.write_text(f'#include "{header}"\n{_random_code.source(*STATES)}')
    built = folder / "random.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source], check=True)
    return ctypes.CDLL(str(built))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


def random_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 1 << 63)) * 2 + 1


@pytest.mark.parametrize("name", PSEUDO)
def test_numbers_of_subsequences(library: ctypes.CDLL, rng: np.random.Generator, name: str) -> None:
    host_name, streams, together = PSEUDO[name]
    seed, rounds = random_seed(rng), 3
    dealt = host_bits(host_name, seed, rounds * streams * together)
    by_stream = dealt.reshape(rounds, streams, together).swapaxes(0, 1).reshape(streams, -1)
    for subsequence in (0, 1, *map(int, rng.integers(2, streams, 4))):
        wanted = by_stream[subsequence]
        drawn = seeded(library, name, seed, subsequence).calls(len(wanted), "rand")
        np.testing.assert_array_equal(drawn, wanted)
        offset = int(rng.integers(1, len(wanted)))
        drawn = seeded(library, name, seed, subsequence, offset).calls(len(wanted) - offset, "rand")
        np.testing.assert_array_equal(drawn, wanted[offset:])


@pytest.mark.parametrize("name", PSEUDO)
def test_uniform_numbers(library: ctypes.CDLL, rng: np.random.Generator, name: str) -> None:
    host_name, streams, together = PSEUDO[name]
    seed, subsequence = random_seed(rng), int(rng.integers(streams))
    wanted = np.empty(streams * together, np.float32)
    with host_generator(host_name) as handle:
        curand.set_pseudo_random_generator_seed(handle, seed)
        curand.generate_uniform(handle, wanted.ctypes.data, len(wanted))
    drawn = seeded(library, name, seed, subsequence).calls(together, "uniform")
    first = subsequence * together
    np.testing.assert_array_equal(drawn.astype(np.float32), wanted[first : first + together])


@pytest.mark.parametrize("name", SOBOL)
def test_points_of_sobol(library: ctypes.CDLL, rng: np.random.Generator, name: str) -> None:
    bits = name[-2:]
    dtype = np.uint32 if bits == "32" else np.uint64
    dimensions, count, offset = 50, 100, int(rng.integers(1 << 20))
    prefix = "SCRAMBLED_" if name.startswith("Scrambled") else ""
    chosen = curand.DirectionVectorSet[f"{prefix}DIRECTION_VECTORS_{bits}_JOEKUO6"]
    vectors = getattr(curand, f"get_direction_vectors{bits}")(chosen, dimensions)
    constants = getattr(curand, f"get_scramble_constants{bits}")(dimensions)

    wanted = np.empty((dimensions, count), dtype)
    normal = np.empty((dimensions, count))
    generate = curand.generate if bits == "32" else curand.generate_long_long
    with host_generator(SOBOL[name], offset) as handle:
        curand.set_quasi_random_generator_dimensions(handle, dimensions)
        generate(handle, wanted.ctypes.data, wanted.size)
    with host_generator(SOBOL[name], offset) as handle:
        curand.set_quasi_random_generator_dimensions(handle, dimensions)
        curand.generate_normal_double(handle, normal.ctypes.data, normal.size, 0, 1)

    for dimension in (0, 1, *map(int, rng.integers(2, dimensions, 3))):
        row = np.ascontiguousarray(vectors[dimension])
        for function, wanted_row in (("rand", wanted), ("normal_double", normal)):
            generator = Generator(library, name)
            if prefix:
                generator.call("init_scrambled", row, constants[dimension], offset)
            else:
                generator.call("init_points", row, offset)
            drawn = generator.calls(count, function)
            np.testing.assert_allclose(drawn, wanted_row[dimension], rtol=1e-13, atol=1e-15)
            if function == "rand":
                np.testing.assert_array_equal(drawn.astype(dtype), wanted_row[dimension])
        before, after = Generator(library, name), Generator(library, name)
        before.state[:] = after.state[:] = generator.state
        skipped = int(rng.integers(1, 1000))
        before.calls(skipped, "rand")
        after.call("skipahead", skipped)
        np.testing.assert_array_equal(before.state, after.state)


@pytest.mark.parametrize("name", PSEUDO)
def test_skipping(library: ctypes.CDLL, rng: np.random.Generator, name: str) -> None:
    seed = random_seed(rng)

    def place(*steps: tuple[str, int]) -> Array:
        generator = seeded(library, name, seed)
        for function, count in steps:
            generator.call(function, count)
        return generator.state

    near, first, second = (int(n) for n in rng.integers(1, (1000, 1 << 62, 1 << 62)))
    drawn = seeded(library, name, seed)
    drawn.calls(near, "rand")
    np.testing.assert_array_equal(drawn.state, place(("skipahead", near)))
    np.testing.assert_array_equal(
        place(("skipahead", first + second)), place(("skipahead", first), ("skipahead", second))
    )
    np.testing.assert_array_equal(
        seeded(library, name, seed, first, second).state,
        place(("skipahead", second), ("skipahead_subsequence", first)),
    )
    # A subsequence is 2^67, 2^76 or 2^66 numbers.
    exponent = {"XORWOW": 67, "MRG32k3a": 76, "Philox4_32_10": 66}[name]
    steps = [("skipahead", 1 << 63)] * (1 << (exponent - 63))
    np.testing.assert_array_equal(place(*steps), place(("skipahead_subsequence", 1)))
    # A sequence of MRG32k3a is 2^127 numbers, or 2^51 subsequences.
    subsequences = 1 << 51 if name == "MRG32k3a" else 1
    np.testing.assert_array_equal(
        place(("skipahead_sequence", 1)), place(("skipahead_subsequence", subsequences))
    )


def test_vectors_are_numbers_of_the_same_sequence(
    library: ctypes.CDLL, rng: np.random.Generator
) -> None:
    seed = random_seed(rng)
    pairs = [
        *(("rand4", "rand"), ("uniform4", "uniform"), ("normal4", "normal")),
        *(("normal2", "normal"), ("normal2_double", "normal_double"), ("poisson4", "poisson")),
        *(("log_normal4", "log_normal"), ("log_normal2_double", "log_normal_double")),
    ]
    for vector, scalar in pairs:
        arguments = [1.5] if "poisson" in vector else [0.5, 0.25] if "log" in vector else []
        for before in range(4):
            one, other = (seeded(library, "Philox4_32_10", seed, 3) for _ in range(2))
            one.calls(before, "rand")
            other.calls(before, "rand")
            together = one.calls(3, vector, *arguments).ravel()
            alone = other.calls(len(together), scalar, *arguments)
            np.testing.assert_array_equal(together, alone)


COUNT = 20_000
# The largest distance of an empirical distribution function, at less than 1e-9 chance of error.
FARTHEST = 3.3 / np.sqrt(COUNT)


@pytest.mark.parametrize("name", PSEUDO)
@pytest.mark.parametrize(
    ("function", "arguments", "distribution"),
    [
        ("uniform_double", (), stats.uniform),
        ("normal", (), stats.norm),
        ("normal_double", (), stats.norm),
        ("log_normal", (0.5, 0.25), stats.lognorm(0.25, scale=np.exp(0.5))),
        ("log_normal_double", (-1.0, 2.0), stats.lognorm(2.0, scale=np.exp(-1.0))),
    ],
)
def test_distributions(
    library: ctypes.CDLL,
    rng: np.random.Generator,
    name: str,
    function: str,
    arguments: tuple[float, ...],
    distribution: Any,
) -> None:
    drawn = seeded(library, name, random_seed(rng)).calls(COUNT, function, *arguments)
    assert stats.kstest(drawn, distribution.cdf).statistic < FARTHEST
    # Numbers that follow each other are independent, also the two of a pair.
    ranks = distribution.cdf(drawn)
    for distance in (1, 2):
        correlation = np.corrcoef(ranks[:-distance], ranks[distance:])[0, 1]
        assert abs(correlation) < 6 / np.sqrt(COUNT)


@pytest.mark.parametrize("name", ["XORWOW", "Philox4_32_10", "Sobol32", "ScrambledSobol64"])
@pytest.mark.parametrize("mean", [0.05, 3.0, 9.99, 10.0, 64.0, 3000.0, 2e6])
def test_poisson(library: ctypes.CDLL, rng: np.random.Generator, name: str, mean: float) -> None:
    count = COUNT if mean < 1000 else 2000
    if name in PSEUDO:
        generator = seeded(library, name, random_seed(rng))
    else:
        generator = Generator(library, name)
        bits = int(name[-2:])
        # The first dimension: its points are the numbers with the bits in reverse.
        row = np.array([1 << (bits - 1 - k) for k in range(bits)], f"uint{bits}")
        if "Scrambled" in name:
            generator.call("init_scrambled", row, int(rng.integers(1 << 62)), 0)
        else:
            generator.call("init_points", row, 1)
    drawn = np.sort(generator.calls(count, "poisson", mean))
    values, last = np.unique(drawn, return_index=True)
    wanted = stats.poisson(mean).cdf(values)
    empirical = np.append(last[1:], count) / count
    assert np.abs(empirical - wanted).max() < 3.3 / np.sqrt(count)
    assert abs(drawn.mean() - mean) < 6 * np.sqrt(mean / count)


@pytest.mark.parametrize("mean", [0.0, -1.0, np.nan])
def test_poisson_of_no_mean_is_0(library: ctypes.CDLL, mean: float) -> None:
    assert seeded(library, "MRG32k3a", 1).call("poisson", mean) == 0
