"""The table of C functions behind gpumath.h, called as C calls it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpumath.bindings import core
from tests.helpers.c_abi import OPEN_TABLE, build_probe, open_probe, require_compiler
from tests.helpers.cuda_wheels import (
    cufft_file,
    cufft_version,
    in_fresh_process,
    package_folder,
    run_python,
)

OK, INVALID_ARGUMENT, LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND = range(4)
MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_probe(tmp_path_factory.mktemp("probe"))


@MAJORS
def test_the_address_is_that_in_the_loaded_library(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    code = f"""
names = b"cufft.get_version", b"cufft.cufftGetVersion", b"cufft.exec_c2c", b"cufft.cufftExecC2C"
addresses = [ctypes.c_void_p() for _ in names]
assert not any(call("function", *pair) for pair in zip(names, addresses))
raw = ctypes.CDLL({str(file)!r})
symbols = (raw.cufftGetVersion, raw.cufftExecC2C)
expected = [ctypes.cast(symbol, ctypes.c_void_p).value for symbol in symbols]
version = ctypes.c_int()
get_version = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(addresses[0].value)
assert get_version(ctypes.byref(version)) == 0
result = [[address.value for address in addresses], expected, version.value]
"""
    found, expected, version = in_fresh_process(
        code, {"GPUMATH_CUFFT_PATH": file}, first=OPEN_TABLE
    )
    assert found == [expected[0], expected[0], expected[1], expected[1]]
    major, minor, patch = map(int, cufft_version(file).split("."))
    assert version == 1000 * major + 100 * minor + patch


@MAJORS
def test_path_and_version(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    code = """
path, version = Text(), (ctypes.c_int * 3)()
assert call("library_path", b"cufft", path) == 0
assert call("library_version", b"cufft", version) == 0
again = Text()
assert call("library_path", b"cufft", again) == 0
address = lambda text: ctypes.cast(text, ctypes.c_void_p).value
result = [path.value.decode(), ".".join(map(str, version)), address(path) == address(again)]
"""
    settings = {"GPUMATH_CUFFT_PATH": file}
    expected = [str(file), cufft_version(file), True]
    assert in_fresh_process(code, settings, first=OPEN_TABLE) == expected


def test_has_agrees_with_python() -> None:
    names = ["cufft", "cufft.exec_c2c", "cufft.cufftExecC2C", "driver", "driver.init"]
    code = f"""
found = ctypes.c_int()
result = []
for name in {names!r}:
    assert call("has", name.encode(), found) == 0
    result.append([found.value, core.has(name)])
"""
    for folders in ([], [package_folder(13)]):
        answers = in_fresh_process(code, folders=folders, first=OPEN_TABLE)
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
    code = f"""
address = ctypes.c_void_p(1)
result = [call("function", {name!r}, address), address.value, api.last_error().decode()]
"""
    status, address, text = in_fresh_process(code, first=OPEN_TABLE)
    assert (status, address) == (INVALID_ARGUMENT, None)
    assert message in text


@pytest.mark.parametrize("entry", ["function", "has", "library_path", "library_version"])
def test_null_is_refused(entry: str) -> None:
    code = f"""
before = api.last_error()
statuses = [call({entry!r}, name, None) for name in (b"cufft", b"cufft.exec_c2c", None)]
result = [before.decode(), statuses, api.last_error().decode()]
"""
    before, statuses, text = in_fresh_process(code, first=OPEN_TABLE)
    assert before == ""
    assert statuses == [INVALID_ARGUMENT] * 3
    assert text == "the address for the result is NULL"


def test_an_absent_library_is_reported_with_the_fix() -> None:
    code = """
address, path, version = ctypes.c_void_p(1), Text(b"x"), (ctypes.c_int * 3)()
statuses = [
    call("function", b"cufft.exec_c2c", address),
    call("library_path", b"cufft", path),
    call("library_version", b"cufft", version),
]
result = [statuses, address.value, path.value, list(version), api.last_error().decode()]
"""
    if in_fresh_process("result = core.has('cufft')", folders=[]):
        pytest.skip("the system's own search finds a cuFFT")
    statuses, address, path, version, text = in_fresh_process(code, folders=[], first=OPEN_TABLE)
    assert statuses == [LIBRARY_NOT_FOUND] * 3
    assert (address, path, version) == (None, None, [-1, -1, -1])
    assert "library cufft was not found" in text
    assert "\nTo fix it: pip install " in text


def test_a_function_that_this_version_lacks_is_reported() -> None:
    code = """
address = ctypes.c_void_p(1)
status = call("function", b"cufft.cufftXtSetJITCallback", address)
result = [status, address.value, api.last_error().decode()]
"""
    file = cufft_file(12)
    settings = {"GPUMATH_CUFFT_PATH": file}
    status, address, text = in_fresh_process(code, settings, first=OPEN_TABLE)
    assert (status, address) == (FUNCTION_NOT_FOUND, None)
    assert str(file) in text
    assert "CUDA 13.0" in text


def test_an_error_stays_until_the_next_one_on_its_thread() -> None:
    code = """
found = ctypes.c_int()
assert call("has", b"nothing", found) == 1
mine = api.last_error()
others = []
def other():
    others.append(api.last_error().decode())
    call("has", b"something", found)
    others.append(api.last_error().decode())
thread = threading.Thread(target=other)
thread.start()
thread.join()
assert call("has", b"cufft", found) == 0
result = [others, api.last_error() == mine]
"""
    (before, after), unchanged = in_fresh_process(code, folders=[], first=OPEN_TABLE)
    assert before == ""
    assert "unknown library 'something'" in after
    assert unchanged


def test_threads_without_the_interpreter_lock_find_the_same(probe: Path) -> None:
    names = ["cufft.exec_c2c", "cufft.cufftGetVersion", "cufft.no_a", "cufft.no_b", "nofft.c"]
    code = f"""
# Python asks at the same time, with the lock where the search needs it.
asking = [threading.Thread(target=core.has, args=("cufft.plan1d",)) for _ in range(4)]
for thread in asking:
    thread.start()
answers = probe.look_up({names!r}, 8)
for thread in asking:
    thread.join()
address = ctypes.c_void_p()
assert call("function", b"cufft.exec_c2c", address) == 0
result = [answers, address.value]
"""
    first = OPEN_TABLE + open_probe(probe)
    answers, address = in_fresh_process(code, folders=[package_folder(13)], first=first)
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
    code = f"from gpumath.bindings import core\n{open_probe(probe)}\nprobe.at_exit('cufft')"
    by_setting = run_python(["-c", code], {"GPUMATH_CUFFT_PATH": library})
    assert (by_setting.returncode, by_setting.stdout) == (0, "status 0, found 1\n")
    # Without Python there is no sys.path to search.
    by_search = run_python(["-c", code])
    assert by_search.returncode == 0, by_search.stderr
    assert by_search.stdout.startswith("status 0, found ")


def imported(probe: Path, fake: str) -> str:
    """Import the probe where the capsule is another one; return what is raised."""
    code = f"""
{fake}
try:
    exec({open_probe(probe)!r})
    result = "nothing"
except (ImportError, AttributeError, ValueError) as error:
    result = f"{{type(error).__name__}}: {{error}}"
"""
    return str(in_fresh_process(code, first=OPEN_TABLE))


FAKE = "fake = Table.from_buffer_copy(api)\nfake.{} = {}\ncore._C_API = capsule_of(fake)"


def test_import_refuses_another_version(probe: Path) -> None:
    text = imported(probe, FAKE.format("abi_version", 2))
    assert text.startswith("ImportError: built for version 1 of gpumath's C ABI")
    assert "has version 2" in text
    assert "build it again" in text


def test_import_refuses_a_smaller_table_and_takes_a_larger_one(probe: Path) -> None:
    text = imported(probe, FAKE.format("size", "api.size - 8"))
    assert text.startswith("ImportError: built with a newer gpumath.h")
    assert "pip install --upgrade gpumath-bindings" in text
    assert imported(probe, FAKE.format("size", "api.size + 64")) == "nothing"


def test_import_refuses_another_capsule(probe: Path) -> None:
    assert imported(probe, "core._C_API = capsule_of(api, b'other')").startswith("ValueError")
    assert imported(probe, "del core._C_API").startswith("AttributeError")


def test_header_and_table_agree(probe: Path) -> None:
    code = "result = [api.abi_version, api.size, ctypes.sizeof(Table), probe.size_of_table()]"
    result = in_fresh_process(code, first=OPEN_TABLE + open_probe(probe))
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
