"""The option memory_limit: its forms, and what happens to a transform that needs more."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath._host.memory_limit import memory_limit_bytes
from gpumath.bindings import core, errors
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

GB = 10**9
GIB = 2**30

FORMS = [
    (1, 1),
    (4096, 4096),
    (200 * GB, 200 * GB),
    (np.int64(4096), 4096),
    (50e6, 50_000_000),
    (1.0, 80 * GB),
    (0.25, 20 * GB),
    (np.float32(0.5), 40 * GB),
    (Fraction(1, 8), 10 * GB),
    ("80%", 64 * GB),
    ("80 %", 64 * GB),
    ("12.5%", 10 * GB),
    ("100%", 80 * GB),
    ("1e1%", 8 * GB),
    ("1024 B", 1024),
    ("1024b", 1024),
    ("2 kB", 2000),
    ("2 KB", 2000),
    ("2kib", 2048),
    ("2 KiB", 2048),
    ("512 MB", 512 * 10**6),
    ("512 mb", 512 * 10**6),
    ("512 MiB", 512 * 2**20),
    ("3GB", 3 * GB),
    ("0.5 GiB", GIB // 2),
    (".5GiB", GIB // 2),
    ("+1.5e-1 gib", int(GIB * 3 / 20)),
    ("1 TB", 10**12),
    ("1. TiB", 2**40),
    ("  7 B ", 7),
]


@pytest.mark.parametrize(("limit", "expected"), FORMS)
def test_forms(limit: Any, expected: int) -> None:
    assert memory_limit_bytes(limit, 80 * GB) == expected
    assert fft.FFTOptions(memory_limit=limit).memory_limit is limit


def test_fractions_round_down_and_are_exact() -> None:
    rng = np.random.default_rng()
    for _ in range(100):
        total, hundredths = int(rng.integers(1, 2**60)), int(rng.integers(1, 10_001))
        expected = hundredths * total // 10_000
        assert memory_limit_bytes(f"{hundredths / 100:.2f}%", total) == expected
        share = float(rng.uniform(1e-9, 1))
        numerator, denominator = share.as_integer_ratio()
        assert memory_limit_bytes(share, total) == numerator * total // denominator


BAD_VALUES = [
    0,
    -1,
    True,
    False,
    0.0,
    -0.5,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "80",
    "0.8",
    "%",
    "GB",
    "0%",
    "-5%",
    "100.01%",
    "101 %",
    "0 B",
    "-1 GB",
    "0.5 B",
    "1 PB",
    "1 G",
    "1 bytes",
    "1,5 GB",
    "1 GB free",
    "nan%",
    "inf GB",
    "1e999999999 B",
    "0x10 B",
    "\uff11 GB",  # a digit, but not an ASCII one
    "1 G B",
]


@pytest.mark.parametrize("limit", BAD_VALUES)
def test_values_that_cannot_be(limit: Any) -> None:
    """The error names the value and every allowed form."""
    for use in (lambda: memory_limit_bytes(limit, 80 * GB), lambda: options_of(limit)):
        with pytest.raises(ValueError, match="memory_limit is") as caught:
            use()
        text = str(caught.value)
        assert f"memory_limit is {limit!r}; allowed are" in text
        for form in ("bytes", "fraction", "'80%'", "'0.5 GiB'", "MB", "TiB"):
            assert form in text


@pytest.mark.parametrize("limit", [1j, b"80%", ["80%"], (1, "GB"), object])
def test_types_that_cannot_be(limit: Any) -> None:
    for use in (lambda: memory_limit_bytes(limit, 80 * GB), lambda: options_of(limit)):
        with pytest.raises(TypeError, match=rf"memory_limit is a {type(limit).__name__}; allowed"):
            use()


def options_of(limit: Any) -> fft.FFTOptions:
    return fft.FFTOptions(memory_limit=limit)


def test_by_default_there_is_no_limit() -> None:
    assert fft.FFTOptions().memory_limit is None


def test_an_assigned_limit_is_checked_when_it_is_used() -> None:
    options = fft.FFTOptions()
    options.memory_limit = "all"
    with pytest.raises(ValueError, match="memory_limit is 'all'"):
        fft.fft(np.ones(4, np.complex64), options=options)


def test_the_cpu_needs_no_device_memory() -> None:
    values = random_values((8,), np.complex128)
    assert_close(fft.fft(values, options={"memory_limit": 1}), values, "C2C", (0,))


# A prime length, for which cuFFT needs a workspace.
LENGTH = 4099


class Refusing:
    """A memory manager that must not be asked."""

    def memalloc(self, size: int) -> memory.MemoryPointer:
        pytest.fail(f"{size} bytes were asked for")


def skip_unless_on_gpu(space: Space) -> None:
    if space.execution == "cpu":
        pytest.skip("a transform on the CPU needs no device memory")


def workspace_of(operand: Any) -> int:
    size = core.FftPlan(operand, axes=[1], execution="cuda").workspace_size
    if size == 0:
        pytest.fail(f"this cuFFT needs no workspace for length {LENGTH}: choose another length")
    return size


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["bytes", "text", "fraction"])
def test_a_transform_that_needs_more_is_refused(space: Space, form: str) -> None:
    skip_unless_on_gpu(space)
    values = random_values((3, LENGTH), np.complex64)
    operand = space.array(values)
    size = workspace_of(operand)
    limit: Any = {"bytes": size - 1, "text": f"{size - 1} B", "fraction": 1e-9}[form]
    options = {"memory_limit": limit, "allocator": Refusing()}
    for use in (fft.FFT, fft.fft):
        with pytest.raises(errors.OutOfMemoryError) as caught:
            use(operand, axes=[1], execution="cuda", options=options)
        allowed = memory_limit_bytes(limit, core.Device(0).total_memory)
        assert str(size) in str(caught.value)
        assert str(allowed) in str(caught.value)
        assert repr(limit) in str(caught.value)
    np.testing.assert_array_equal(space.numpy(operand), values)


@pytest.mark.gpu
@pytest.mark.parametrize("form", ["bytes", "text", "fraction"])
def test_a_transform_within_the_limit_runs(space: Space, form: str) -> None:
    skip_unless_on_gpu(space)
    values = random_values((3, LENGTH), np.complex64)
    operand = space.array(values)
    size = workspace_of(operand)
    limit: Any = {"bytes": size, "text": f"{size} b", "fraction": 0.5}[form]
    options = {"memory_limit": limit}
    result = fft.fft(operand, axes=[1], execution="cuda", options=options)
    assert_close(space.numpy(result), values, "C2C", (1,))
    with fft.FFT(operand, axes=[1], execution="cuda", options=options) as transform:
        transform.plan()
        for _ in range(2):
            assert_close(space.numpy(transform.execute()), values, "C2C", (1,))
