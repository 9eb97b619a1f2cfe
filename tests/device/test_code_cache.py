"""Code of libmathdx is compiled once, at once, and found by later processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx
from tests.helpers.cuda_wheels import in_fresh_process

SIZE = int(np.random.default_rng().integers(4, 30))


@pytest.fixture(autouse=True)
def libmathdx() -> None:
    try:
        mathdx.get_version_ex()
    except errors.LibraryNotFoundError:
        pytest.skip("libmathdx is not installed")


def test_other_processes_find_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path / "cache"))
    for solver in _solvers():
        assert solver.block_size > 0  # keeps the traits, too
    first = in_fresh_process("device_cache.digests", SIZE, True)
    *again, one, other = in_fresh_process("device_cache.without_libmathdx_s_compiler", SIZE)
    assert again == first
    assert [one, other] == [solver.block_size for solver in _solvers()]
    # Threads and the cache change nothing.
    monkeypatch.setenv("GPUMATH_CACHE_DIR", "off")
    assert in_fresh_process("device_cache.digests", SIZE, False) == first
    assert first[0] != first[1]


def _solvers() -> list[device.Solver]:
    return [
        device.Solver(name, (SIZE, SIZE), np.float32, "Block", sm=90)
        for name in ("getrf_no_pivot", "geqrf")
    ]


def test_precompile_refuses() -> None:
    with pytest.raises(TypeError, match="'text' is no FFT, Matmul, Solver"):
        device.precompile("text")
    solver = device.Solver("geqrf", (4, 4), np.float32, "Block", sm=90)
    with pytest.raises(TypeError, match="is no FFT, Matmul, Solver"):
        device.precompile((solver, "runtime_leading_dim", 3))
    with pytest.raises(ValueError, match="how execute is called is 'fast'"):
        device.precompile((solver, "fast"))
    device.precompile()
