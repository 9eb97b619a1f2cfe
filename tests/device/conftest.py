"""Settings of all tests of `gpumath.device`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Let kernels take NumPy arrays: Numba warns of the copy, and warnings are errors here."""
    for text in ("Host array used in CUDA kernel", "Grid size .* GPU under-utilization"):
        config.addinivalue_line("filterwarnings", f"ignore:.*{text}")


@pytest.fixture(scope="session", autouse=True)
def code_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled code out of the user's own folder, and of earlier runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUMATH_CACHE_DIR", str(tmp_path_factory.mktemp("code")))
        yield
