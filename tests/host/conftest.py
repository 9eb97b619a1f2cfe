"""Fixtures of the host library's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.spaces import ON_CPU, ON_GPU, TO_CPU, TO_GPU, Space, parameters


@pytest.fixture(params=parameters(ON_CPU, ON_GPU, TO_GPU, TO_CPU))
def space(request: pytest.FixtureRequest) -> Space:
    """Every array library, memory and execution."""
    request.param.skip_if_absent()
    return request.param


@pytest.fixture(params=parameters(ON_CPU, ON_GPU))
def direct_space(request: pytest.FixtureRequest) -> Space:
    """Every array library, where transforms run on the operand itself."""
    request.param.skip_if_absent()
    return request.param


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def execution(request: pytest.FixtureRequest) -> str:
    """Each engine once, for what does not depend on the array library."""
    return request.param


@pytest.fixture(params=parameters(ON_CPU))
def cpu_space(request: pytest.FixtureRequest) -> Space:
    """Every array library with operands in host memory, on the CPU."""
    request.param.skip_if_absent()
    return request.param


@pytest.fixture(params=parameters(ON_GPU))
def gpu_space(request: pytest.FixtureRequest) -> Space:
    """Every array library with operands on the GPU, on the GPU."""
    request.param.skip_if_absent()
    return request.param


@pytest.fixture(scope="session", autouse=True)
def code_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled callbacks out of the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUMATH_CACHE_DIR", str(tmp_path_factory.mktemp("code")))
        yield
