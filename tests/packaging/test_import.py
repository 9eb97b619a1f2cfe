"""What an import loads, and from where."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.processes import result_of, start
from tests.helpers.repository import ROOT

# The modules of the CUDA libraries.
MODULES = sorted(
    path.stem for path in (ROOT / "codegen" / "rules").glob("*.toml")
)  # none where only tests and wheels were taken along


def told(function: str, module: str) -> Any:
    """Return what tests/programs/imports.py tells of a module; warnings are errors."""
    return result_of(start(f"imports.{function}", module, warnings="error", timeout=60))


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("gpumath.bindings", []),
        ("gpumath.bindings.core", []),
        *((f"gpumath.bindings.{module}", []) for module in MODULES),
        ("gpumath.fft", ["numpy"]),
        ("gpumath.linalg", ["numpy"]),
        ("gpumath.linalg.advanced", ["numpy"]),
        ("gpumath.compat.nvmath", []),
        ("gpumath.device", ["numpy"]),
    ],
)
def test_import_loads_no_cuda_library_and_no_array_library(module: str, others: list[str]) -> None:
    result = told("probe", module)
    assert result["loaded"] == []
    assert result["modules"] == others


@pytest.mark.parametrize("module", MODULES)
def test_a_module_loads_no_enums_of_others(module: str) -> None:
    generated = f"gpumath.bindings._generated.{module}"
    modules = told("generated_modules", f"gpumath.bindings.{module}")
    assert {*modules} <= {generated, f"{generated}_structs"}


def test_the_package_has_every_module() -> None:
    loaded, shown, names, refusal = result_of(start("imports.modules_on_first_use", timeout=60))
    assert loaded == []
    assert {*MODULES, "core", "errors"} <= {*shown}
    assert names == [f"gpumath.bindings.{name}" for name in shown]
    assert refusal == "module 'gpumath.bindings' has no attribute 'nothing'"


@pytest.mark.parametrize("module", ["gpumath.bindings", "gpumath.fft", "gpumath.device"])
def test_the_installed_package_is_tested(module: str) -> None:
    assert "site-packages" in str(told("probe", module)["file"])


def test_the_namespace_has_no_owner() -> None:
    import gpumath

    assert getattr(gpumath, "__file__", None) is None
