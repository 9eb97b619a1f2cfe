"""gpumath.compat.nvmath against nvmath-python itself: names, defaults, enums, results on the CPU.

GPUMATH_TEST_NVMATH names the folder that nvmath-python 1.0.0 and MKL are installed into.
"""

from __future__ import annotations

import os
import secrets
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compat.compare import check, is_refused
from tests.helpers.processes import result_of, start
from tests.helpers.repository import ROOT
from tests.programs.nvmath_compared import LIBRARIES, random_calls, real_length

CALLS = 400

# The modules that are compared, and a name that gpumath has once it has the area. nvmath.device
# is not among them: nvmath-python cannot import it without CUDA's driver.
AREAS = {
    "nvmath": "MemoryPointer",
    "nvmath.fft": "FFT",
    "nvmath.linalg": "Matmul",
    "nvmath.linalg.advanced": "Matmul",
    "nvmath.linalg.advanced.helpers.matmul": "BlockScalingFormat",
    "nvmath.memory": "MemoryPointer",
    **{f"nvmath.bindings.{library}": "check_status" for library in LIBRARIES},
}
# Names of nvmath-python that gpumath has not, and why; what is below them is not there either.
ABSENT = {
    "nvmath.linalg.DirectSolver": "no dense solver yet",
    "nvmath.linalg.DirectSolverOptions": "no dense solver yet",
    "nvmath.linalg.InvalidDirectSolverState": "no dense solver yet",
    "nvmath.linalg.direct_solver": "no dense solver yet",
}
# Parameters that nvmath-python shows but that are not for users.
INTERNAL = {"check_dtype", "phase"}
# Callables, or single parameters of them, that differ on purpose.
DIFFERENT = {
    "nvmath.fft.ExecutionCUDA(device_id)": "the default is 0, but None if device_ids is given",
    "nvmath.fft.FFT.execute(release_workspace)": "None stands for False",
    "nvmath.fft.fft(direction)": "None stands for the function's own direction",
    "nvmath.fft.ifft(direction)": "None stands for the function's own direction",
    "nvmath.linalg.ExecutionCUDA(device_id)": "as that of nvmath.fft",
    "nvmath.linalg.MatmulOptions(logger)": "None stands for the root logger",
    "nvmath.linalg.MatrixQualifier": "no NumPy record, but a class",
    "nvmath.linalg.advanced.Algorithm": "plan() makes them; nobody else does",
    "nvmath.linalg.advanced.MatmulEpilogPreferences": "keywords only",
    "nvmath.linalg.advanced.MatmulPlanPreferences": "keywords only",
    "nvmath.linalg.advanced.MatmulQuantizationScales": "keywords only",
}
# Those that programs catch; others, such as AssertionError, are ValueError here.
EXCEPTIONS = ("ValueError", "TypeError", "RuntimeError")
# nvmath-python's types are wrong: cublasLt itself says so, which another test asks.
OTHER_DTYPES = {
    "cublasLt.MatmulDescAttribute.EMULATION_DESCRIPTOR",
    "cublasLt.MatmulDescAttribute.ATOMIC_SYNC_IN_COUNTERS_POINTER",
    "cublasLt.MatmulDescAttribute.ATOMIC_SYNC_OUT_COUNTERS_POINTER",
    "cublasLt.MatmulPreferenceAttribute.GROUPED_DESC_D_AVERAGE_ROWS",
    "cublasLt.MatmulPreferenceAttribute.GROUPED_DESC_D_AVERAGE_COLS",
    "cublasLt.MatmulPreferenceAttribute.GROUPED_AVERAGE_REDUCTION_DIM",
}


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("GPUMATH_TEST_NVMATH")
    if not named or not (Path(named) / "nvmath").is_dir():
        pytest.skip("nvmath-python is not in the test environment (GPUMATH_TEST_NVMATH)")
    if not [*Path(named).glob("lib/libmkl_rt.so.*")]:
        pytest.skip("MKL, which only x86-64 has, is not in the test environment")
    return Path(named)


@pytest.fixture
def both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a function of the program with nvmath-python, and with gpumath in its place."""

    def call(function: str, *arguments: Any) -> list[Any]:
        target = f"nvmath_compared.{function}"
        ours = result_of(start(target, "gpumath", *arguments))
        library = next((folder / "lib").glob("libmkl_rt.so.*"))
        monkeypatch.setenv("NVMATH_FFT_CPU_LIBRARY", str(library))
        monkeypatch.setenv("MKL_THREADING_LAYER", "SEQUENTIAL")
        monkeypatch.setenv("PYTHONPATH", str(folder))
        return [result_of(start(target, "nvmath", *arguments)), ours]

    return call


def test_names_parameters_defaults_and_enums(both: Any) -> None:
    theirs, ours = both("names", [*AREAS])
    wrong = []
    compared = 0
    for module, names in theirs.items():
        if AREAS[module] not in ours[module]:
            continue  # gpumath has not got the area yet
        compared += len(names)
        for name, their in names.items():
            place = f"{module}.{name}"
            our = ours[module].get(name)
            if our is None:
                if not any(f"{place}.".startswith(f"{absent}.") for absent in ABSENT):
                    wrong.append(f"{place} is absent")
                continue
            for member, value in their.get("members", {}).items():
                if our["members"].get(member) != value:
                    wrong.append(f"{place}.{member} is not {value}")
            wrong += parameter_differences(place, their, our)
    assert not wrong, "\n".join(wrong)
    assert compared > 1500


def parameter_differences(place: str, their: Any, our: Any) -> list[str]:
    """Compare parameters: ours may be more, behind theirs or by keyword, and have defaults."""
    if place in DIFFERENT:
        return []
    expected = [one for one in their.get("parameters", []) if one[0] not in INTERNAL]
    found = {one[0]: one for one in our.get("parameters", [])}
    positional = [one[0] for one in our.get("parameters", []) if one[1] != "KEYWORD_ONLY"]
    by_place = [one[0] for one in expected if one[1] != "KEYWORD_ONLY"]
    wrong = []
    if positional[: len(by_place)] != by_place:
        wrong.append(f"{place} has the positional parameters {positional}, not {by_place}")
    for parameter, kind, default in expected:
        if f"{place}({parameter})" in DIFFERENT:
            continue
        other = found.get(parameter)
        if other is not None and default == "":
            default = other[2]
        if other is None or ("?" not in (kind, other[1]) and other[1:] != [kind, default]):
            wrong.append(f"{place}({parameter}): {other}, not {[kind, default]}")
    return wrong


def test_types_of_attributes(both: Any) -> None:
    theirs, ours = both("attribute_dtypes")
    assert len(theirs) > 100
    different = {name for name, dtype in theirs.items() if ours.get(name) != dtype}
    assert different - {name for name, dtype in theirs.items() if dtype == "none"} <= OTHER_DTYPES


def test_random_transforms(both: Any, tmp_path: Path) -> None:
    seed = int(os.environ.get("GPUMATH_TEST_SEED", secrets.randbits(32)))
    file = tmp_path / "results"
    theirs, ours = both("transforms", seed, CALLS, str(file))
    arrays = {package: np.load(f"{file}.{package}.npz") for package in ("nvmath", "gpumath")}
    wrong = []
    for number, call in enumerate(random_calls(seed, CALLS)):
        their, our = theirs[number], ours[number]
        name, operand, keywords, _ = call
        told = (
            f"seed {seed}, call {number}: {name} of {operand.shape} {operand.strides}, {keywords}"
        )
        if their.startswith("raises"):
            # Layouts that nvmath-python refuses are transformed here.
            if our.startswith("raises"):
                if their.removeprefix("raises ") in EXCEPTIONS and our != their:
                    wrong.append(f"{told}: {our}, nvmath-python {their}")
                continue
        elif our != their:
            wrong.append(f"{told}: {our}, nvmath-python {their}")
            continue
        result = arrays["gpumath"][str(number)]
        expected = reference(name, operand, keywords)
        peers = [] if their.startswith("raises") else [arrays["nvmath"][str(number)]]
        for other in (expected, *peers):
            error = np.linalg.norm((result - other).ravel())
            if error > 100 * np.finfo(result.dtype).eps * np.linalg.norm(other.ravel()):
                wrong.append(f"{told}: off by {error:.1e}")
    assert not wrong, "\n".join(wrong)
    assert sum(not outcome.startswith("raises") for outcome in theirs) > CALLS // 3


def reference(name: str, operand: np.ndarray, keywords: dict[str, Any]) -> np.ndarray:
    """Transform in double precision by NumPy, without scaling."""
    axes = keywords["axes"] or list(range(operand.ndim))
    wide = operand.astype("c16" if operand.dtype.kind == "c" else "f8")
    lengths = [operand.shape[axis] for axis in axes]
    if name == "irfft":
        lengths[-1] = real_length(lengths[-1], keywords["options"])
        return np.fft.irfftn(wide, lengths, axes, norm="forward")
    if name == "ifft":
        return np.fft.ifftn(wide, axes=axes, norm="forward")
    return (np.fft.fftn if name == "fft" else np.fft.rfftn)(wide, axes=axes)


def test_random_products(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvmath-python computes them by MKL, and gpumath by its own engine."""
    seed = int(os.environ.get("GPUMATH_TEST_SEED", secrets.randbits(32)))
    library = next((folder / "lib").glob("libmkl_rt.so.*"))
    monkeypatch.setenv("NVMATH_BLAS_CPU_LIBRARY", str(library))
    monkeypatch.setenv("GPUMATH_BLAS_CPU_LIBRARY", "embedded")
    monkeypatch.setenv("MKL_THREADING_LAYER", "SEQUENTIAL")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    chosen = Namespace(packages=["nvmath", "gpumath"], library="numpy", execution="cpu", seed=seed)
    script = ROOT / "tests" / "compat" / "random_products.py"
    problems, _ = check(script, tmp_path, chosen)
    assert not problems, "\n".join([f"seed {seed}", *problems])
    with np.load(tmp_path / f"{script.stem}-nvmath.npz") as results:
        names = [name for name in results if not name.endswith(".expected")]
        computed = sum(not is_refused(results[name]) for name in names)
    assert len(names) > 100
    assert computed > len(names) // 3
