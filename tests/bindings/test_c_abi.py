"""The table of C functions behind gpumath.h, called as C calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpumath.bindings import core
from tests.helpers.c_abi import build_probe, require_compiler
from tests.helpers.cuda_wheels import (
    cufft_file,
    cufft_version,
    in_fresh_process,
    package_folder,
    run_python,
)
from tests.helpers.processes import arguments_of

OK, INVALID_ARGUMENT, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = range(4)
MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_probe(tmp_path_factory.mktemp("probe"))


@MAJORS
def test_the_address_is_that_in_the_loaded_library(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    found, expected, version = in_fresh_process(
        "c_abi.the_address_is_that_in_the_loaded_library",
        str(file),
        settings={"GPUMATH_CUFFT_PATH": file},
    )
    assert found == [expected[0], expected[0], expected[1], expected[1]]
    major, minor, patch = map(int, cufft_version(file).split("."))
    assert version == 1000 * major + 100 * minor + patch


@MAJORS
def test_path_and_version(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    settings = {"GPUMATH_CUFFT_PATH": file}
    expected = [str(file), cufft_version(file), True]
    assert in_fresh_process("c_abi.path_and_version", settings=settings) == expected


def test_has_agrees_with_python() -> None:
    names = ["cufft", "cufft.exec_c2c", "cufft.cufftExecC2C", "driver", "driver.init"]
    for folders in ([], [package_folder(13)]):
        answers = in_fresh_process("c_abi.has_agrees_with_python", names, folders=folders)
        assert all(c == int(python) for c, python in answers)
        assert [c for c, _ in answers[:3]] == [int(bool(folders))] * 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (None, "the name is NULL"),
        (b"", "'' names no function"),
        (b"exec_c2c", "'exec_c2c' names no function; write its module first"),
        (b"cufft.exec_c2c_", "cufft has no function 'exec_c2c_'"),
        (b"cufft.", "cufft has no function ''"),
        (b"nofft.exec_c2c", "unknown library 'nofft'; known are driver"),
        (b"cufft.\xff", "is not UTF-8"),
        (
            b"cusparse.cusparseSpMVOp_createDescr",
            "is not the same function in every CUDA release; ask for one of cusparse._sp_mv_op_",
        ),
        (b"cufft.xt_set_jit_callback", "ask for one of cufft._xt_set_jit_callback"),
        (b"x" * 100_000 + b".y", "unknown library 'xxx"),
    ],
)
def test_a_wrong_name_is_refused(name: bytes | None, message: str) -> None:
    status, address, text = in_fresh_process(
        "c_abi.a_wrong_name_is_refused", None if name is None else name.decode("latin-1")
    )
    assert (status, address) == (INVALID_ARGUMENT, None)
    assert message in text


@pytest.mark.parametrize("entry", ["function", "has", "library_path", "library_version"])
def test_null_is_refused(entry: str) -> None:
    before, statuses, text = in_fresh_process("c_abi.null_is_refused", entry)
    assert before == ""
    assert statuses == [INVALID_ARGUMENT] * 3
    assert text == "the address for the result is NULL"


def test_an_absent_library_is_reported_with_the_fix() -> None:
    if in_fresh_process("loader.has", "cufft", folders=[]) == [True]:
        pytest.skip("the system's own search finds a cuFFT")
    statuses, address, path, version, text = in_fresh_process(
        "c_abi.an_absent_library_is_reported_with_the_fix", folders=[]
    )
    assert statuses == [LIBRARY_NOT_FOUND] * 3
    assert (address, path, version) == (None, None, [-1, -1, -1])
    assert "library cufft was not found" in text
    assert "\nTo fix it: pip install " in text


def test_a_function_that_this_version_lacks_is_reported() -> None:
    file = cufft_file(12)
    settings = {"GPUMATH_CUFFT_PATH": file}
    status, address, text = in_fresh_process(
        "c_abi.a_function_that_this_version_lacks_is_reported", settings=settings
    )
    assert (status, address) == (FUNCTION_NOT_FOUND, None)
    assert str(file) in text
    assert "CUDA 13.0" in text


def test_an_error_stays_until_the_next_one_on_its_thread() -> None:
    (before, after), unchanged = in_fresh_process(
        "c_abi.an_error_stays_until_the_next_one_on_its_thread", folders=[]
    )
    assert before == ""
    assert "unknown library 'something'" in after
    assert unchanged


def test_threads_without_the_interpreter_lock_find_the_same(probe: Path) -> None:
    names = ["cufft.exec_c2c", "cufft.cufftGetVersion", "cufft.no_a", "cufft.no_b", "nofft.c"]
    answers, address = in_fresh_process(
        "c_abi.threads_without_the_interpreter_lock_find_the_same",
        str(probe),
        names,
        folders=[package_folder(13)],
    )
    assert len(answers) == 8
    assert all(row == answers[0] for row in answers)
    assert answers[0][0] == str(address)
    assert answers[0][1].isdigit()
    assert [text.split(";")[0] for text in answers[0][2:]] == [
        "cufft has no function 'no_a'",
        "cufft has no function 'no_b'",
        "unknown library 'nofft'",
    ]


def test_the_first_question_may_come_when_python_is_gone(probe: Path) -> None:
    library = cufft_file(13)
    target = "c_abi.the_first_question_may_come_when_python_is_gone"
    arguments = arguments_of(target, str(probe))
    by_setting = run_python([*arguments], {"GPUMATH_CUFFT_PATH": library})
    assert (by_setting.returncode, by_setting.stdout) == (0, "status 0, found 1\n")
    # Without Python there is no sys.path to search.
    by_search = run_python([*arguments])
    assert by_search.returncode == 0, by_search.stderr
    assert by_search.stdout.startswith("status 0, found ")


def imported(probe: Path, how: str, *arguments: str | int) -> str:
    """Import the probe where the capsule is another one; return what is raised."""
    return str(in_fresh_process(f"c_abi.imported_{how}", str(probe), *arguments))


def test_import_refuses_another_version(probe: Path) -> None:
    text = imported(probe, "with_a_changed_table", "abi_version", 1)
    assert text.startswith("ImportError: built for version 1 of gpumath's C ABI")
    assert "has version 2" in text
    assert "build it again" in text


def test_import_refuses_a_smaller_table_and_takes_a_larger_one(probe: Path) -> None:
    text = imported(probe, "with_a_changed_table", "size", -8)
    assert text.startswith("ImportError: built with a newer gpumath.h")
    assert "pip install --upgrade gpumath-bindings" in text
    assert imported(probe, "with_a_changed_table", "size", 64) == "nothing"


def test_import_refuses_another_capsule(probe: Path) -> None:
    assert imported(probe, "with_another_capsule").startswith("ValueError")
    assert imported(probe, "without_a_capsule").startswith("AttributeError")


def test_header_and_table_agree(probe: Path) -> None:
    result = in_fresh_process("c_abi.header_and_table_agree", str(probe))
    assert result == [1, result[1], result[1], result[1]]


@pytest.mark.parametrize("compiler", ["cc -std=c99", "c++ -std=c++11"])
def test_the_header_stands_alone(compiler: str, tmp_path: Path) -> None:
    name, standard = compiler.split()
    source = tmp_path / ("program.c" if name == "cc" else "program.cpp")
    source.write_text(
        "#include <gpumath.h>\n"
        "int main(void) { return sizeof(gpumath_api) == 0 || GPUMATH_ABI_VERSION != 1; }\n"
    )
    program = tmp_path / "program"
    flags = [standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{core.get_include()}"]
    command = [require_compiler(name), *flags, "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    assert subprocess.run([program], check=False).returncode == 0
