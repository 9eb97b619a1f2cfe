"""Unmodified programs that import nvmath, run by `python -m gpumath.compat.nvmath`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpumath.bindings import core
from tests.helpers.callbacks import require_numba
from tests.helpers.repository import ROOT

PROGRAMS = ROOT / "tests" / "compat" / "programs"


def run(
    *arguments: str, folder: Path | None = None, safe_path: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpumath.compat.nvmath", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONSAFEPATH": safe_path},
    )  # fmt: skip


@pytest.mark.parametrize("program", sorted(path.name for path in PROGRAMS.glob("cpu_*.py")))
def test_programs_on_the_cpu(program: str) -> None:
    done = run("--report", str(PROGRAMS / program))
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("gpumath answered ")


@pytest.mark.gpu
@pytest.mark.parametrize("program", sorted(path.name for path in PROGRAMS.glob("gpu_*.py")))
def test_programs_on_the_gpu(program: str) -> None:
    source = (PROGRAMS / program).read_text()
    for library in re.findall(r"^(?:import|from) (cupy|torch|numba|cuda\.core)\b", source, re.M):
        pytest.importorskip(library, reason=f"{library} is not installed")
    for area in re.findall(r"nvmath\.(device|linalg\.advanced)", source):
        pytest.importorskip(f"gpumath.{area}", reason=f"there is no gpumath.{area}")
    if "numba" in source:
        require_numba()
    if "nvmath.device" in source and not core.has("mathdx.get_version"):
        pytest.skip("libmathdx is not installed")
    done = run("--report", str(PROGRAMS / program))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^CUDA libraries that are open .*^  cu\w+ \d", done.stderr, re.M | re.S)


PROGRAM = """\
import sys, pickle, helper
import numpy as np
import nvmath

class Own:
    pass

def transform():
    a = np.ones(4, complex)
    for _ in range(3):
        nvmath.fft.fft(a)
    with nvmath.fft.FFT(a) as t:
        assert isinstance(t, nvmath.fft.FFT)
        t.plan()
        t.execute()
        t.execute(direction="inverse")
        key = t.get_key()
    assert key == nvmath.fft.FFT.create_key(a)

transform()
assert type(pickle.loads(pickle.dumps(Own()))) is Own
print(__name__, sys.argv[1:], helper.VALUE)
if sys.argv[1:] == ["--fail"]:
    nvmath.tensor.contract("ij,jk", a, a)  # line 24
if sys.argv[1:] == ["exit"]:
    sys.exit(5)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("VALUE = 'beside'\n")
    return tmp_path


@pytest.mark.parametrize("how", [("program.py",), ("-m", "program")])
def test_a_program_runs_as_by_the_interpreter(folder: Path, how: tuple[str, ...]) -> None:
    done = run(*how, "-m", "--report", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "__main__ ['-m', '--report'] beside\n"
    assert run(*how, "exit", folder=folder).returncode == 5


SPAWNING = """\
import multiprocessing
import numpy as np
import nvmath

def transform(a):
    return nvmath.fft.fft(a), __name__

if __name__ == "__main__":
    a = np.arange(8.0) + 0j
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            (result, name), = pool.map(transform, [a])
        assert np.allclose(result, np.fft.fft(a))
        print(method, name)
"""


PICKLING = """\
import importlib.util, multiprocessing, pickle
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import nvmath
import gpumath.compat.nvmath as same

def use(made, function, a):
    with made(a) as transform:
        transform.plan()
        return transform.execute(), function(a)

if __name__ == "__main__":
    FFT, fft, linalg = nvmath.fft.FFT, nvmath.fft.fft, nvmath.linalg
    assert (same.fft.FFT, same.fft.fft) == (FFT, fft)
    assert linalg.Matmul is linalg.generic.Matmul
    for one in (FFT, FFT.create_key, FFT.execute, FFT.reset_operand, fft, linalg.Matmul):
        assert pickle.loads(pickle.dumps(one)) is one, one
    a = np.arange(8.0) + 0j
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        for found in pool.submit(use, FFT, fft, a).result():
            assert np.allclose(found, np.fft.fft(a))
        assert pool.submit(FFT.create_key, a).result() == FFT.create_key(a)
    assert importlib.util.find_spec("nvmath.nosuch") is None
    print("done")
"""


@pytest.mark.parametrize("how", [("pickling.py",), ("-m", "pickling")])
def test_what_is_counted_can_be_pickled(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "pickling.py").write_text(PICKLING)
    for options in ((), ("--report",)):
        done = run(*options, *how, folder=tmp_path)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "missing, asked for 1 times: nvmath.nosuch" in done.stderr


MAPPING = """\
import multiprocessing
import numpy as np
import nvmath

if __name__ == "__main__":
    a = np.arange(8.0) + 0j
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            for function in (nvmath.fft.fft, nvmath.linalg.generic.matmul):
                pool.starmap(function, [(a,)] if function is nvmath.fft.fft else [(a, a)])
    print("done")
"""


def test_counted_functions_are_sent_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "mapping.py").write_text(MAPPING)
    done = run("--report", "mapping.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_program_finds_its_folder_from_anywhere(tmp_path: Path) -> None:
    """Also through a link, and after it has gone to another folder."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "helper.py").write_text("VALUE = 'beside'\n")
    (tmp_path / "own" / "program.py").write_text(
        "import os, helper\nos.chdir('/')\nprint(helper.VALUE, os.path.exists(__file__))\n"
    )
    (tmp_path / "link.py").symlink_to(tmp_path / "own" / "program.py")
    for name in ("own/program.py", "link.py"):
        done = run(name, folder=tmp_path)
        assert (done.stdout, done.stderr) == ("beside True\n", "")


@pytest.mark.parametrize("how", [("program.py",), ("-m", "program")])
def test_an_interrupted_program_ends_by_the_signal(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "program.py").write_text("import nvmath\nraise KeyboardInterrupt\n")
    done = run("--report", *how, folder=tmp_path)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.count("Traceback") == 1
    assert "gpumath answered 0 calls" in done.stderr
    assert "_runner.py" not in done.stderr


@pytest.mark.parametrize("how", [("spawning.py",), ("-m", "spawning"), ("-m", "package.spawning")])
def test_processes_of_a_program(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "spawning.py").write_text(SPAWNING)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "helper.py").write_text("import nvmath\n")
    (tmp_path / "package" / "spawning.py").write_text(f"from . import helper\n{SPAWNING}")
    done = run(*how, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    names = ["spawn __mp_main__", "forkserver __mp_main__", "fork __main__"]
    assert done.stdout.splitlines() == names


PACKAGE = """\
import multiprocessing
import numpy as np
from package.work import transform

# Without a guard: the interpreter does not import this again in other processes.
a = np.arange(8.0) + 0j
with multiprocessing.get_context("spawn").Pool(1) as pool:
    (result,) = pool.map(transform, [a])
print(np.allclose(result, np.fft.fft(a)), __package__)
"""


def test_processes_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(PACKAGE)
    (tmp_path / "package" / "work.py").write_text(
        "import nvmath\n\ndef transform(a):\n    return nvmath.fft.fft(a)\n"
    )
    done = run("-m", "package", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True package\n", "")


def test_modules_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("import nosuch\n")
    for name, text in (
        ("nosuch", "python: no Python module nosuch\n"),
        ("package.nosuch", "python: no Python module package.nosuch\n"),
        ("nosuch.module", "python: no Python module nosuch.module\n"),
        ("math", "python: no Python module math\n"),
        ("package", "python: package has no module __main__\n"),
    ):
        done = run("-m", name, folder=tmp_path)
        assert (done.returncode, done.stderr) == (1, text)
    done = run("-m", "broken.module", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'nosuch'\n")


def test_the_report_counts_what_the_program_called(folder: Path) -> None:
    done = run("--report", "program.py", folder=folder)
    assert done.returncode == 0
    found = {
        name: (int(count), by)
        for count, name, by in re.findall(r"(\d+) calls .* each  (\S+) +by (\S+)", done.stderr)
    }
    assert found == {
        "nvmath.fft.fft": (3, "gpumath.fft.fft"),
        "nvmath.fft.FFT": (1, "gpumath.fft.FFT"),
        "nvmath.fft.FFT.plan": (1, "gpumath.fft.FFT.plan"),
        "nvmath.fft.FFT.execute": (2, "gpumath.fft.FFT.execute"),
        "nvmath.fft.FFT.get_key": (1, "gpumath.fft.FFT.get_key"),
        "nvmath.fft.FFT.create_key": (1, "gpumath.fft.FFT.create_key"),
        "nvmath.fft.FFT.free": (1, "gpumath.fft.FFT.free"),
    }
    lines = done.stderr.splitlines()
    assert lines[0].startswith("gpumath answered 10 calls of nvmath in this process")
    assert lines[-1] == "no CUDA library was opened: the CPU computed all answered calls"
    for absent in ("missing", "raised", "multiprocessing"):
        assert absent not in done.stderr


FAILING = """\
import numpy as np
import nvmath

for operand in (np.ones(4), "text", np.ones(4, complex)):
    try:
        nvmath.fft.fft(operand)
    except (TypeError, ValueError):
        pass
for _ in range(2):
    try:
        nvmath.fft.FFT(np.ones(4, complex), axes=[1])
    except ValueError:
        pass
"""


def test_calls_that_raise_are_not_answered(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    lines = run("--report", "failing.py", folder=tmp_path).stderr.splitlines()
    assert lines[0].startswith("gpumath answered 1 calls of nvmath in this process")
    assert re.match(r" +1 calls .* nvmath\.fft\.fft +by gpumath\.fft\.fft$", lines[1])
    assert lines[2:] == [
        "2 calls raised an error: nvmath.fft.fft",
        "2 calls raised an error: nvmath.fft.FFT",
        "no CUDA library was opened: the CPU computed all answered calls",
    ]
    (tmp_path / "failing.py").write_text("import nvmath\nnvmath.fft.fft('text')\n")
    lines = run("--report", "failing.py", folder=tmp_path).stderr.splitlines()
    assert lines[-2:] == ["1 calls raised an error: nvmath.fft.fft", "no CUDA library was opened"]


CHILDREN = """\
import multiprocessing, os, sys
import numpy as np
import nvmath

a = np.ones(4, complex)

def work(count):
    for _ in range(count):
        nvmath.fft.fft(a)

if __name__ == "__main__":
    work(2)
    if sys.argv[1] == "fork":
        child = os.fork()
        if child == 0:
            work(1)
            sys.exit()  # which ends a child as it ends a program
        os.waitpid(child, 0)
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
            pool.map(work, [3])
"""


def test_calls_of_other_processes_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "children.py").write_text(CHILDREN)
    for method in ("spawn", "forkserver"):
        lines = run("--report", "children.py", method, folder=tmp_path).stderr.splitlines()
        assert lines[0].startswith("gpumath answered 2 calls of nvmath in this process")
        assert "calls in the processes that multiprocessing started are not counted" in lines
    reports = run("--report", "children.py", "fork", folder=tmp_path).stderr
    assert re.findall(r"answered (\d) calls of nvmath in this process", reports) == ["1", "2"]


BESIDE = """\
import gpumath.fft, nvmath
import numpy as np

class Own(nvmath.fft.FFT):
    pass

a = np.ones((4, 4), complex)
with gpumath.fft.FFT(a) as own, nvmath.fft.FFT(a) as counted, Own(a) as derived:
    for one in (own, counted, derived):
        assert isinstance(one, nvmath.fft.FFT)
        assert isinstance(one, gpumath.fft.FFT)
    assert not isinstance(a, nvmath.fft.FFT)
    assert isinstance(derived, Own)
    assert not isinstance(own, Own)
    assert not isinstance(counted, Own)
assert issubclass(gpumath.fft.FFT, nvmath.fft.FFT)
assert not issubclass(gpumath.fft.FFT, nvmath.linalg.Matmul)
assert not issubclass(nvmath.fft.FFT, Own)
print("done")
"""


def test_objects_of_gpumath_are_instances_of_counted_classes(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(BESIDE)
    for options in ((), ("--report",)):
        done = run(*options, "beside.py", folder=tmp_path)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


ARCHIVED = """\
import multiprocessing, os, sys
import numpy as np
import helper, nvmath

# Without a guard: the interpreter does not import this again in other processes.
with multiprocessing.get_context("spawn").Pool(1) as pool:
    (result,) = pool.map(helper.transform, [np.ones(4, complex)])
print(__name__, repr(__package__), os.path.basename(__file__), sys.argv, result[0].real)
print(sys.path[0] == os.path.dirname(__file__), sys.argv[1:] == ["-m"])
"""
HELPER = "import nvmath\n\ndef transform(a):\n    return nvmath.fft.fft(a)\n"


@pytest.mark.parametrize("safe_path", ["", "1"])
@pytest.mark.parametrize("program", ["application", "application.pyz"])
def test_a_folder_or_a_zip_file_runs_as_by_the_interpreter(
    tmp_path: Path, program: str, safe_path: str
) -> None:
    files = {"__main__.py": ARCHIVED, "helper.py": HELPER}
    (tmp_path / "application").mkdir()
    with zipfile.ZipFile(tmp_path / "application.pyz", "w") as archive:
        for name, text in files.items():
            (tmp_path / "application" / name).write_text(text)
            archive.writestr(name, text)
    done = run(program, "-m", folder=tmp_path, safe_path=safe_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"__main__ '' __main__.py ['{program}', '-m'] 4.0",
        "True True",
    ]


def test_a_folder_or_a_zip_file_without_a_program(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("other.py", "")
    for name in ("folder", "empty.zip"):
        done = run(name, folder=tmp_path)
        place = str(tmp_path / name)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"python: can't find '__main__' module in {place!r}\n"


LATE = """\
import atexit, threading, time
import numpy as np
import nvmath

def transform():
    time.sleep(0.2)
    nvmath.fft.fft(np.ones(4, complex))

threading.Thread(target=transform).start()
atexit.register(transform)
"""


def test_the_report_waits_for_the_program_to_end(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    assert "2 calls" in run("--report", "late.py", folder=tmp_path).stderr
    for ending in ("sys.stdout.close(), sys.stderr.close()", "setattr(sys, 'stderr', None)"):
        (tmp_path / "closing.py").write_text(f"import sys, nvmath\n{ending}\n")
        done = run("--report", "closing.py", folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", [("program.py",), ("-m", "program")])
def test_a_traceback_begins_with_the_program(folder: Path, how: tuple[str, ...]) -> None:
    done = run("--report", *how, "--fail", folder=folder)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert re.match(r'  File ".*program\.py", line 24, in <module>', lines[1])
    assert lines[2].strip().startswith("nvmath.tensor.contract(")
    assert any(line.startswith("AttributeError: nvmath.tensor is not in gpumath") for line in lines)
    assert "missing, asked for 1 times: nvmath.tensor" in lines
    assert "_runner.py" not in done.stderr


def test_wrong_command_lines(folder: Path) -> None:
    assert run("-h").stdout.startswith("usage: python -m gpumath.compat.nvmath ")
    for arguments, text in (
        ((), "usage:"),
        (("--fast", "program.py"), "'--fast' is no option"),
        (("absent.py",), "can't open file 'absent.py': No such file"),
    ):
        done = run(*arguments, folder=folder)
        assert done.returncode == 2
        assert text in done.stderr
    (folder / "wrong.py").write_text("import nvmath\nif\n")
    done = run("wrong.py", folder=folder)
    assert done.returncode == 1
    assert re.search(r'File "/.*wrong\.py", line 2', done.stderr)
    assert "SyntaxError" in done.stderr
