"""Markers and skips. What tests share is in tests/helpers; nothing is imported from here."""

from __future__ import annotations

import pytest


def absent_gpu() -> str | None:
    """Return why there is no usable CUDA device, or None if there is one."""
    from gpumath.bindings import core, errors

    try:
        driver = core.driver_version()
        count = core.Device.count()
    except (errors.GpumathError, RuntimeError) as error:
        return f"no CUDA device: {str(error).splitlines()[0]}"
    return None if count else f"no CUDA device: the driver (CUDA {driver}) reports none"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    reason = absent_gpu()
    if reason:
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason=reason))
