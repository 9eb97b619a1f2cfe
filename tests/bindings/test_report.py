"""The report on NVIDIA's real libraries, against the table in the documents and the raw C calls."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gpumath.bindings
from gpumath.bindings.__main__ import collect, render, verdict
from tests.helpers.cuda_wheels import in_fresh_process, package_folder
from tests.helpers.repository import ROOT

# C functions that tell versions: a call for each number, or one call for all of them.
VERSIONS = {
    "cublas": "cublasGetProperty",
    "cublasLt": "cublasLtGetProperty",
    "cufft": "cufftGetProperty",
    "curand": "curandGetProperty",
    "cusolver": "cusolverGetProperty",
    "cusparse": "cusparseGetProperty",
    "mathdx": "mathdxGetVersionEx",
    "nvjitlink": "nvJitLinkVersion",
    "nvrtc": "nvrtcVersion",
    "runtime": "cudaRuntimeGetVersion",
}


@dataclass(frozen=True)
class Row:
    """A library, the modules that bind it, and by CUDA major its package and file."""

    modules: tuple[str, ...]
    packages: dict[int, str]
    files: dict[int, str]

    @property
    def name(self) -> str:
        return self.modules[0]


def documented() -> list[Row]:
    text = (ROOT / "docs" / "libraries.md").read_text()
    pattern = r"\| (`.+`) \| `(\S+)`: `(\S+)` \| `(\S+)`: `(\S+)` \|"
    return [
        Row(tuple(re.findall(r"\w+", modules)), {12: p12, 13: p13}, {12: f12, 13: f13})
        for modules, p12, f12, p13, f13 in re.findall(pattern, text)
    ]


ROWS = documented()
MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])


def wheel_files(folder: Path, cuda_major: int) -> dict[str, Path]:
    """Find the libraries of a CUDA major in a package folder."""
    found = {}
    for row in ROWS:
        for place in ("*/lib", f"cu{cuda_major}/lib"):
            for file in (folder / "nvidia").glob(f"{place}/{row.files[cuda_major]}"):
                if not re.search(rf"/cu(?!{cuda_major})\d+/", str(file)):
                    found[row.name] = file
    return found


def report(*, settings: dict[str, Path | str] | None = None, folders: list[Path]) -> Any:
    return in_fresh_process("report.report", settings=settings, folders=folders)


def test_every_module_is_in_the_table() -> None:
    modules = [module for row in ROWS for module in row.modules]
    assert len(modules) == len(set(modules))
    folder = Path(gpumath.bindings.__file__).parent
    generated = {path.stem for path in (folder / "_generated").glob("[a-z]*.py")}
    bound = {name for name in generated if not name.endswith(("_structs", "_lazy"))} - {"driver"}
    assert bound
    assert bound <= set(modules)


@MAJORS
def test_every_library_of_the_wheels_is_reported(cuda_major: int) -> None:
    folder = package_folder(cuda_major)
    files = wheel_files(folder, cuda_major)
    assert "cufft" in files
    found = report(settings={"GPUMATH_CUDA_PATH": folder}, folders=[])
    reported = {library["name"]: library for library in found["libraries"]}
    for name, file in files.items():
        library = reported[name]
        assert (Path(library["path"]), library["cuda_major"]) == (file, cuda_major), name
        assert library["origin"] == "explicit"
    assert found["cuda_major"] == cuda_major


@MAJORS
def test_reported_versions_are_what_the_libraries_tell(cuda_major: int) -> None:
    folder = package_folder(cuda_major)
    found = report(settings={"GPUMATH_CUDA_PATH": folder}, folders=[])
    libraries = [lib for lib in found["libraries"] if str(folder) in lib["path"]]
    assert {"cufft"} <= {library["name"] for library in libraries}
    paths = [(lib["name"], lib["path"]) for lib in libraries]
    told = in_fresh_process("report.versions", paths, VERSIONS)
    assert {lib["name"]: lib["version"] for lib in libraries} == told


@MAJORS
def test_the_fix_names_the_package(cuda_major: int, tmp_path: Path) -> None:
    file = wheel_files(package_folder(cuda_major), cuda_major)["cufft"]
    (tmp_path / file.name).symlink_to(file)
    found = report(settings={"GPUMATH_CUDA_PATH": tmp_path}, folders=[])
    fixes = {library["name"]: library["fix"] for library in found["missing"]}
    assert "cufft" not in fixes
    expected = {row.name: f"pip install {row.packages[cuda_major]}" for row in ROWS}
    there = {library["name"] for library in found["libraries"]}
    assert fixes.keys() - {"driver"} <= expected.keys() - there
    assert {name: fix for name, fix in fixes.items() if name != "driver"} == {
        name: expected[name] for name in fixes if name != "driver"
    }


def lacking(name: str, reason: str, fix: str) -> dict[str, Any]:
    return {"name": name, "reason": reason, "fix": fix, "tried": []}


GPU = {"id": 0, "name": "NVIDIA H200", "compute_capability": "9.0", "total_memory": 2**37}
SOLVERS = [
    lacking("cusolver", "absent", "pip install nvidia-cusolver"),
    lacking("cusparse", "absent", "pip install nvidia-cusparse"),
]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            {"devices": [GPU, GPU], "missing": []},
            "ready: 2 GPUs (NVIDIA H200), CUDA 13, all libraries found",
        ),
        (
            {"devices": [GPU], "missing": SOLVERS},
            "ready but for cusolver, cusparse: 1 GPU (NVIDIA H200), CUDA 13; "
            "to fix it: pip install nvidia-cusolver nvidia-cusparse",
        ),
        (
            {"devices": [GPU], "missing": SOLVERS, "cuda_major": None},
            "not ready for the GPU: 1 GPU (NVIDIA H200), but no CUDA library; "
            "to fix it: pip install nvidia-cusolver nvidia-cusparse",
        ),
        (
            {"missing": [lacking("driver", "absent", "install the driver")]},
            "ready for the CPU only: there is no NVIDIA driver; for a GPU, install the driver",
        ),
        ({"device_error": "no\nluck"}, "ready for the CPU only: no luck"),
        ({}, "ready for the CPU only: there is no CUDA device"),
    ],
)
def test_verdict(found: dict[str, Any], expected: str) -> None:
    nothing = {"devices": [], "device_error": None, "missing": [], "cuda_major": 13}
    assert verdict({**nothing, **found}) == expected


def test_the_report_begins_with_the_verdict() -> None:
    found = collect()
    assert found["verdict"] == verdict(found)
    assert render(found).splitlines()[0] == found["verdict"]


def test_text_gives_one_command_for_all_that_is_missing() -> None:
    found = {
        **collect(),
        "missing": [
            lacking("driver", "no driver", "install the NVIDIA driver"),
            lacking("cublasLt", "absent", "pip install nvidia-cublas"),
            lacking("cublas", "absent", "pip install nvidia-cublas"),
            lacking("nvrtc", "absent", "pip install nvidia-cuda-nvrtc"),
            lacking("cufft", "damaged", "pip install --force-reinstall nvidia-cufft"),
        ],
    }
    text = render(found)
    assert text.split("\nMissing\n")[1].split("\n\n")[0].splitlines() == [
        "  driver: no driver",
        "    to fix it: install the NVIDIA driver",
        "  cublasLt, cublas, nvrtc: absent",
        "    to fix it: pip install nvidia-cublas nvidia-cuda-nvrtc",
        "  cufft: damaged",
        "    to fix it: pip install --force-reinstall nvidia-cufft",
    ]
