"""The loader with NVIDIA's real libraries, through the public Python names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cuda_wheels import (
    cufft_file,
    cufft_version,
    driver_cuda_major,
    exported,
    in_fresh_process,
    package_folder,
    run_python,
)

FIND_CUFFT = "loader.found", "cufft"
MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])


def found(file: Path, origin: str, cuda_major: int) -> list[Any]:
    return [str(file), cufft_version(file), origin, cuda_major]


def require_driver_for(cuda_major: int) -> None:
    driver = driver_cuda_major()
    if driver is not None and driver < cuda_major:
        pytest.skip(f"this driver supports CUDA {driver} and no newer one")


def linked(file: Path, folder: Path) -> Path:
    """Put a library into a folder under its own name."""
    folder.mkdir(parents=True)
    link = folder / file.name
    link.symlink_to(file)
    return link


def test_import_opens_no_cuda_library() -> None:
    assert in_fresh_process("loader.import_opens_no_cuda_library") == []


@MAJORS
def test_a_wheel_is_found(cuda_major: int) -> None:
    require_driver_for(cuda_major)
    result = in_fresh_process(*FIND_CUFFT, folders=[package_folder(cuda_major)])
    assert result == found(cufft_file(cuda_major), "wheel", cuda_major)


def test_of_two_majors_the_newest_that_the_driver_supports_is_taken() -> None:
    folders = [package_folder(12), package_folder(13)]
    expected = 12 if driver_cuda_major() == 12 else 13
    result = in_fresh_process(*FIND_CUFFT, folders=folders)
    assert result == found(cufft_file(expected), "wheel", expected)


def test_a_folder_that_only_pythonpath_names_is_found(tmp_path: Path) -> None:
    require_driver_for(13)
    link = linked(cufft_file(13), tmp_path / "a [new] folder" / "nvidia" / "cu13" / "lib")
    result = in_fresh_process(*FIND_CUFFT, settings={"PYTHONPATH": tmp_path / "a [new] folder"})
    assert result == found(link, "wheel", 13)


@MAJORS
def test_the_major_that_the_process_holds_is_kept(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    folders = [package_folder(12), package_folder(13)]
    result = in_fresh_process("loader.found_beside", "cufft", str(file), folders=folders)
    assert result == found(file, "loaded", cuda_major)


@MAJORS
def test_conda_is_found(cuda_major: int, tmp_path: Path) -> None:
    require_driver_for(cuda_major)
    link = linked(cufft_file(cuda_major), tmp_path / "lib")
    result = in_fresh_process(*FIND_CUFFT, settings={"CONDA_PREFIX": tmp_path}, folders=[])
    assert result == found(link, "conda", cuda_major)


@MAJORS
def test_the_system_search_is_asked(cuda_major: int) -> None:
    require_driver_for(cuda_major)
    if cuda_major == 12 and in_fresh_process(*FIND_CUFFT, folders=[]):
        pytest.skip("the system's own search finds another cuFFT")
    file = cufft_file(cuda_major)
    result = in_fresh_process(*FIND_CUFFT, settings={"LD_LIBRARY_PATH": file.parent}, folders=[])
    assert result == found(file, "system", cuda_major)


@MAJORS
def test_a_toolkit_is_found(cuda_major: int, tmp_path: Path) -> None:
    if in_fresh_process(*FIND_CUFFT, folders=[]):
        pytest.skip("the system's own search, which comes first, finds a cuFFT")
    require_driver_for(cuda_major)
    link = linked(cufft_file(cuda_major), tmp_path / "lib64")
    result = in_fresh_process(*FIND_CUFFT, settings={"CUDA_HOME": tmp_path}, folders=[])
    assert result == found(link, "cuda-path", cuda_major)


@MAJORS
def test_an_explicit_folder_wins(cuda_major: int, tmp_path: Path) -> None:
    link = linked(cufft_file(cuda_major), tmp_path / "mine")
    settings = {"GPUMATH_CUDA_PATH": link.parent}
    result = in_fresh_process(*FIND_CUFFT, settings=settings, folders=[package_folder(12)])
    assert result == found(link, "explicit", cuda_major)


@MAJORS
def test_an_explicit_file_wins(cuda_major: int, tmp_path: Path) -> None:
    link = linked(cufft_file(cuda_major), tmp_path / "mine")
    settings = {"GPUMATH_CUFFT_PATH": link, "GPUMATH_CUDA_PATH": package_folder(13)}
    result = in_fresh_process(*FIND_CUFFT, settings=settings)
    assert result == found(link, "explicit", cuda_major)


@MAJORS
def test_has_agrees_with_what_the_library_exports(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    names = ["exec_c2c", "plan1d", "xt_exec", "make_plan_many64"]
    symbols = ("cufftExecC2C", "cufftPlan1d", "cufftXtExec", "cufftMakePlanMany64")
    expected = dict(zip(names, exported(file, symbols), strict=True))
    assert any(expected.values())
    settings = {"GPUMATH_CUFFT_PATH": file}
    asked = [f"cufft.{name}" for name in names]
    *answers, whole = in_fresh_process("loader.has", *asked, "cufft", settings=settings)
    assert dict(zip(names, answers, strict=True)) == expected
    assert whole is True


@MAJORS
def test_a_function_of_cuda_13_is_absent_from_cuda_12_although_its_name_is_there(
    cuda_major: int,
) -> None:
    file = cufft_file(cuda_major)
    assert exported(file, ("cufftXtSetJITCallback",)) == (True,)
    settings = {"GPUMATH_CUFFT_PATH": file}
    name = "cufft._xt_set_jit_callback"
    assert in_fresh_process("loader.has", name, settings=settings) == [cuda_major == 13]


@pytest.mark.parametrize("name", ["cuftt", "cufft.no_such_function", "", "cufft."])
def test_has_refuses_names_that_do_not_exist(name: str) -> None:
    text = in_fresh_process("loader.has_refuses_names_that_do_not_exist", name)
    assert "unknown library" in text or "no function" in text


def test_a_missing_library_is_explained(tmp_path: Path) -> None:
    settings = {"GPUMATH_CUDA_PATH": tmp_path}
    names = ("cufft", "cufft.exec_c2c")
    assert in_fresh_process("loader.has", *names, settings=settings) == [False, False]
    missing = in_fresh_process("loader.missing", settings=settings)
    (cufft,) = [library for library in missing if library["name"] == "cufft"]
    assert str(tmp_path) in cufft["reason"]
    assert cufft["fix"] == "correct GPUMATH_CUDA_PATH or unset it"


def test_a_corrupt_file_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "libcufft.so.12"
    file.write_text("not a library")
    missing = in_fresh_process("loader.missing", settings={"GPUMATH_CUFFT_PATH": file})
    (cufft,) = [library for library in missing if library["name"] == "cufft"]
    assert cufft["tried"] == [["explicit", str(file), "file too short"]]


def test_threads_may_search_at_once() -> None:
    driver, cufft = in_fresh_process(
        "loader.threads_may_search_at_once", settings={"GPUMATH_CUFFT_PATH": cufft_file(13)}
    )
    assert driver == [driver_cuda_major() is not None] * 4
    assert cufft == [True] * 4


@MAJORS
def test_has_knows_functions_that_choose_among_signatures(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    symbol = {12: "__cufftXtSetJITCallback_12_7", 13: "cufftXtSetJITCallback"}[cuda_major]
    (expected,) = exported(file, (symbol,))
    name = "cufft.xt_set_jit_callback"
    settings = {"GPUMATH_CUFFT_PATH": file}
    assert in_fresh_process("loader.has", name, settings=settings) == [expected]


def test_the_command_prints_text() -> None:
    process = run_python(["-m", "gpumath.bindings"])
    assert (process.returncode, process.stderr) == (0, "")
    verdict, _, rest = process.stdout.partition("\n")
    assert verdict.startswith("ready")
    assert rest.lstrip().startswith("gpumath-bindings ")
    for title in ("Libraries", "Devices", "Missing", "Searched"):
        assert f"\n{title}\n" in process.stdout


def test_the_command_prints_json() -> None:
    process = run_python(["-m", "gpumath.bindings", "--json"])
    assert (process.returncode, process.stderr) == (0, "")
    result = json.loads(process.stdout)
    names = {library["name"] for library in result["libraries"]}
    missing = {library["name"]: library for library in result["missing"]}
    assert not names & missing.keys()
    assert {"driver", "cufft"} <= names | missing.keys()
    assert ("driver" in names) == (driver_cuda_major() is not None)
    assert all(library["fix"] for library in missing.values())
    for library in result["libraries"]:
        assert Path(library["path"]).is_file()


def test_the_command_refuses_unknown_options() -> None:
    process = run_python(["-m", "gpumath.bindings", "--yaml"])
    assert process.returncode == 2
    assert "--yaml" in process.stderr
