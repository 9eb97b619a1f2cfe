"""What an import loads, and from where."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.repository import ROOT

# The modules of the CUDA libraries.
MODULES = sorted(
    path.stem for path in (ROOT / "codegen" / "rules").glob("*.toml")
)  # none where only tests and wheels were taken along
PROBE = """
import json, sys
import {module} as module
maps = open("/proc/self/maps").read()
libraries = ("libcuda", "libcu", "libnv", "libmathdx", "libmkl", "libfftw3")
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
        *((f"gpumath.bindings.{module}", []) for module in MODULES),
        ("gpumath.fft", ["numpy"]),
        ("gpumath.device", []),
    ],
)
def test_import_loads_no_cuda_library_and_no_array_library(module: str, others: list[str]) -> None:
    result = probe(module)
    assert result["loaded"] == []
    assert result["modules"] == others


@pytest.mark.parametrize("module", MODULES)
def test_a_module_loads_no_enums_of_others(module: str) -> None:
    generated = "gpumath.bindings._generated"
    code = f"""
import sys
import gpumath.bindings.{module}
print(*(name for name in sys.modules if name.startswith("{generated}.")))
"""
    command = [sys.executable, "-P", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    allowed = {f"{generated}.{module}", f"{generated}.{module}_structs"}
    assert {*done.stdout.split()} <= allowed


@pytest.mark.parametrize("module", ["gpumath.bindings", "gpumath.fft", "gpumath.device"])
def test_the_installed_package_is_tested(module: str) -> None:
    assert "site-packages" in str(probe(module)["file"])


def test_the_namespace_has_no_owner() -> None:
    import gpumath

    assert getattr(gpumath, "__file__", None) is None
