"""What an import loads, and from where."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import json, sys
import {module} as module
maps = open("/proc/self/maps").read()
libraries = ("libcuda", "libcudart", "libcufft", "libnvJitLink", "libmkl", "libfftw3")
print(json.dumps({{
    "file": module.__file__,
    "loaded": [name for name in libraries if name in maps],
    "modules": [name for name in ("cupy", "torch", "scipy", "numpy") if name in sys.modules],
}}))
"""


def probe(module: str) -> dict[str, object]:
    import json

    command = [sys.executable, "-P", "-W", "error", "-c", PROBE.format(module=module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("gpumath.bindings", []),
        ("gpumath.bindings.core", []),
        ("gpumath.bindings.cufft", []),
        ("gpumath.bindings.driver", []),
        ("gpumath.fft", ["numpy"]),
        ("gpumath.device", []),
    ],
)
def test_import_loads_no_cuda_library_and_no_array_library(module: str, others: list[str]) -> None:
    result = probe(module)
    assert result["loaded"] == []
    assert result["modules"] == others


@pytest.mark.parametrize("module", ["gpumath.bindings", "gpumath.fft", "gpumath.device"])
def test_the_installed_package_is_tested(module: str) -> None:
    assert "site-packages" in str(probe(module)["file"])


def test_the_namespace_has_no_owner() -> None:
    import gpumath

    assert getattr(gpumath, "__file__", None) is None
