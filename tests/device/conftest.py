"""Settings of all tests of `gpumath.device`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let kernels take NumPy arrays: Numba warns of the copy, and warnings are errors here."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for text in ("Host array used in CUDA kernel", "Grid size .* GPU under-utilization"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore:.*{text}"))


@pytest.fixture(scope="session", autouse=True)
def code_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled code out of the user's own folder, and of earlier runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUMATH_CACHE_DIR", str(tmp_path_factory.mktemp("code")))
        yield
