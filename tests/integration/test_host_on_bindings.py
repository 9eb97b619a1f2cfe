"""The host library and the bindings tell the same story."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core, errors


def test_host_plans_are_the_bindings_plans() -> None:
    """A function call leaves its plan in the cache that the bindings report."""
    core.plan_cache_clear()
    a = np.random.default_rng().standard_normal((5, 77)) + 0j
    first = core.plan_cache_info()
    fft.fft(a, axes=[1])
    planned = core.plan_cache_info()
    fft.fft(a, axes=[1])
    reused = core.plan_cache_info()
    assert (planned.misses - first.misses, reused.misses - planned.misses) == (1, 0)
    assert reused.hits - planned.hits == 1


def test_report_agrees_with_the_library_list() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gpumath.bindings", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    report = json.loads(done.stdout)
    listed = {(library.name, library.path) for library in core.libraries()}
    assert {(item["name"], item["path"]) for item in report["libraries"]} >= listed


def test_cuda_without_a_device_is_a_clear_error() -> None:
    if core.Device.count() > 0:
        pytest.skip("there is a CUDA device")
    a = np.ones(8, dtype=np.complex64)
    with pytest.raises((errors.NoDeviceError, errors.LibraryNotFoundError)) as caught:
        fft.fft(a, execution="cuda")
    assert "cpu" in str(caught.value).lower() or "driver" in str(caught.value).lower()
