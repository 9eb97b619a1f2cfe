"""Which library computes on the CPU, as the environment variable chooses."""

from __future__ import annotations

import ctypes

import pytest

from tests.helpers.cuda_wheels import in_fresh_process

VARIABLE = "GPUMATH_FFT_CPU_LIBRARY"


def test_the_embedded_engine_can_be_asked_for() -> None:
    engine, error = in_fresh_process("cpu_library.transform", settings={VARIABLE: "embedded"})
    assert engine == "embedded"
    assert error < 1e-14


def test_fftw_can_be_asked_for() -> None:
    try:
        ctypes.CDLL("libfftw3.so.3")
    except OSError:
        pytest.skip("libfftw3.so.3 is not on this machine")
    engine, error = in_fresh_process("cpu_library.transform", settings={VARIABLE: "fftw"})
    assert engine == "fftw"
    assert error < 1e-14


def test_the_variable_of_nvmath_counts_where_the_own_one_is_not_set() -> None:
    peer = "NVMATH_FFT_CPU_LIBRARY"
    name, text = in_fresh_process("cpu_library.refusal", settings={peer: "/no/such/libfftw3.so.3"})
    assert name == "LibraryNotFoundError"
    assert "/no/such/libfftw3.so.3" in text
    for own in ("embedded", ""):
        settings = {VARIABLE: own, peer: "/no/such.so" if own else "embedded"}
        assert in_fresh_process("cpu_library.transform", settings=settings)[0] == "embedded"


@pytest.mark.parametrize("asked", ["/no/such/libfftw3.so.3", "no-such-library"])
def test_an_absent_library_is_an_error_that_helps(asked: str) -> None:
    name, text = in_fresh_process("cpu_library.refusal", settings={VARIABLE: asked})
    assert name == "LibraryNotFoundError"
    assert asked in text
    assert f"{VARIABLE}=embedded" in text
