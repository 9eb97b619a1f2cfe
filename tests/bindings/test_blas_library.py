"""Which library multiplies on the CPU, as the environment variable chooses."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.cuda_wheels import in_fresh_process

VARIABLE = "GPUMATH_BLAS_CPU_LIBRARY"


def bundled(package: str) -> str:
    """Return the OpenBLAS of a wheel: NumPy's has integers of 64 bits, SciPy's of 32."""
    spec = find_spec(package)
    origin = Path(spec.origin).parent if spec and spec.origin else Path()
    files = [*origin.with_name(f"{package}.libs").glob("libscipy_openblas*")]
    if not files:
        pytest.skip(f"{package} is not installed from a wheel with OpenBLAS")
    return str(files[0])


@pytest.mark.parametrize("package", ["numpy", "scipy"])
def test_openblas(package: str) -> None:
    settings = {VARIABLE: bundled(package), "OPENBLAS_NUM_THREADS": "2"}
    assert in_fresh_process("blas_library.products", settings=settings) == "openblas"
    assert in_fresh_process("blas_library.nan_times_zero", settings=settings) == 0
    before, after = in_fresh_process("blas_library.threads", settings=settings)
    assert before == after


def test_mkl() -> None:
    if not [*Path(sys.prefix).glob("lib/libmkl_rt.so.*")]:
        pytest.skip("MKL is not in this environment")
    settings = {VARIABLE: "mkl"}
    assert in_fresh_process("blas_library.products", settings=settings) == "mkl"
    assert in_fresh_process("blas_library.nan_times_zero", settings=settings) == 0


def test_the_embedded_engine_can_be_asked_for() -> None:
    settings = {VARIABLE: "embedded", "NVMATH_BLAS_CPU_LIBRARY": "/no/such.so"}
    assert in_fresh_process("blas_library.products", settings=settings) == "embedded"
    assert in_fresh_process("blas_library.nan_times_zero", settings=settings) == 0


@pytest.mark.parametrize("asked", ["/no/such/libopenblas.so.0", "no-such-library", "libm.so.6"])
@pytest.mark.parametrize("variable", [VARIABLE, "NVMATH_BLAS_CPU_LIBRARY"])
def test_a_library_that_cannot_be_used_is_an_error_that_helps(variable: str, asked: str) -> None:
    name, text = in_fresh_process("blas_library.refusal", settings={variable: asked})
    assert name == "LibraryNotFoundError"
    assert asked in text
    assert f"{VARIABLE}=embedded" in text
    small = in_fresh_process("blas_library.small_refusal", settings={variable: asked})
    assert small == "LibraryNotFoundError"
