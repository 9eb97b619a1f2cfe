"""The benchmark that is installed: all libraries compute the same, and the figures are complete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from gpumath.bench import _report
from gpumath.bench.__main__ import main
from gpumath.bench._measure import host_ms
from gpumath.bench._rows import (
    CPU_ROWS,
    GPU_ROWS,
    Convolution,
    Cosine,
    Epilog,
    Fft,
    HostTime,
    Matmul,
    Row,
    Structured,
)
from gpumath.bench._subjects import cpu_subjects, gpu_subjects
from gpumath.bindings import core
from tests.helpers.repository import ROOT

COMMAND = [sys.executable, "-P", "-m", "gpumath.bench", "--execution", "cpu", "--rounds", "1"]
ROWS: tuple[Row, ...] = (
    Fft((6, 35, 4), (1,)),
    Fft((5, 8, 9), (0, 2), "C2C", "complex128"),
    Fft((30, 7), (0,), "R2C", "float32"),
    Fft((4, 6, 9), (1, 2), "R2C", "float64"),
    Fft((3, 17, 5), (1,), "C2R", "complex64"),
    Matmul(7, 30, 5),
    Matmul(16, 3, 20, "float64"),
    Cosine((7, 12), 1),
    Cosine((9, 5), 0, 3, "dst", "float64"),
    Convolution((40,), (7,)),
    Convolution((9, 30), (4, 5), "complex128"),
    Structured("symmetric", 20, 7),
    Structured("symmetric", 9, 33, "float64"),
    Structured("triangular", 13, 40),
    Structured("diagonal", 30, 6, "float64"),
    Epilog("RELU_BIAS", 16, 40, 24),
    Epilog("GELU_BIAS", 24, 16, 8),
    HostTime("fft", ((64,),), "complex64"),
    HostTime("matmul", ((8, 8), (8, 8)), "float32"),
)
GPU_ONLY: tuple[Row, ...] = (
    Fft((8, 16), (1,), view="slice"),
    Fft((16, 32, 4), (1,), "C2C", "complex32"),
    Fft((32, 16), (1,), "R2C", "float16"),
    Epilog("GELU_BIAS", 64, 32, 16, "float16"),
)


def on_host(value: Any) -> np.ndarray:
    """Return the values of a result of any library as complex or real double precision."""
    for convert in ("resolve_conj", "cpu", "get"):
        if hasattr(value, convert):
            value = getattr(value, convert)()
    if str(getattr(value, "dtype", "")) == "torch.complex32":
        value = value.to(__import__("torch").complex64)
    value = np.asarray(value)
    return value.astype(np.complex128 if np.iscomplexobj(value) else np.float64)


def agree(results: dict[str, np.ndarray], dtype: str) -> None:
    half, single = dtype in ("float16", "complex32"), dtype in ("float32", "complex64")
    tolerance = 0.02 if half else 1e-5 if single else 1e-13
    first = next(iter(results.values()))
    for name, other in results.items():
        assert other.shape == first.shape, name
        assert np.linalg.norm(other - first) <= tolerance * np.linalg.norm(first), name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_libraries_compute_the_same_on_the_cpu(row: Row) -> None:
    results = {}
    for name, make in cpu_subjects(core.usable_cores()).items():
        try:
            results[name] = on_host(make(row)())
        except NotImplementedError:
            if isinstance(row, Epilog) and core.Device.count():
                pytest.skip("where there is a GPU, epilogs are computed on it")
            assert name != "gpumath"
    has_numpy = not isinstance(row, Cosine | Convolution)
    assert {"gpumath", "NumPy" if has_numpy else "SciPy"} <= set(results)
    if isinstance(row, Structured) and row.structure != "diagonal":
        assert "SciPy" in results
    agree(results, row.dtype)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:ComplexHalf support")
@pytest.mark.parametrize("row", ROWS + GPU_ONLY, ids=lambda row: row.name)
def test_libraries_compute_the_same_on_the_gpu(row: Row) -> None:
    results = {}
    for name, make in gpu_subjects().items():
        try:
            results[name] = on_host(make(row)())
        except Exception:
            # What another library refuses, and how, is its own affair.
            if name == "gpumath":
                raise
    assert "gpumath" in results
    agree(results, row.dtype)


@pytest.mark.parametrize("on_gpu", [False, pytest.param(True, marks=pytest.mark.gpu)])
def test_host_time_is_that_of_one_call(on_gpu: bool) -> None:
    calls: list[float] = []
    begin = perf_counter()
    milliseconds = host_ms(lambda: calls.append(0.0), on_gpu=on_gpu)
    elapsed = 1e3 * (perf_counter() - begin)
    assert len(calls) % 200 == 0
    assert 0 < milliseconds * len(calls) < 2 * elapsed


def test_host_times_are_measured_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--execution", "cpu", "--rounds", "1", "--rows", "host time"]
    assert main(options) == 0
    lines = capsys.readouterr().out.splitlines()[-2:]
    names = [line.split(" | ")[0] for line in lines]
    assert names == ["| host time of fft 64 complex64", "| host time of matmul 8×8 · 8×8 float32"]
    for line in lines:
        assert float(line.split(" | ")[1]) > 0


def test_names_of_rows_are_unique() -> None:
    for rows in (CPU_ROWS, GPU_ROWS):
        assert len({row.name for row in rows}) == len(rows)


def test_figures_table_and_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    figures, picture = tmp_path / "figures.json", tmp_path / "plot.png"
    options = ["--execution", "cpu", "--rows", "4×7×9", "--rounds", "1", "--threads", "1"]
    assert main([*options, "--json", str(figures), "--plot", str(picture)]) == 0
    found = json.loads(figures.read_text())
    (row,) = found["rows"]
    assert row["name"] == "4×7×9×11, (1, 2)"
    assert row["times"]["gpumath"] > 0
    assert row["times"]["NumPy"] > 0
    assert found["machine"].endswith(", 1 thread")
    assert found["command"].startswith("python -m gpumath.bench --execution cpu --rows 4×7×9")
    assert found["versions"]["NumPy"] == np.__version__
    table = capsys.readouterr().out.splitlines()
    assert table[-1].startswith("| 4×7×9×11, (1, 2) | ")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_rows_are_named_with_an_x_too(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--execution", "cpu", "--rounds", "1", "--threads", "1", "--rows"]
    for text, name in (
        ("4x7×9", "4×7×9×11, (1, 2)"),
        ("2048x1024 complex", "2048×1024 complex128"),
    ):
        assert main([*options, text]) == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(f"| {name}")


def test_figures_that_cannot_be_written(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    full = "could not be written: No space left on device\n"
    for name, text in ((str(figures), f"the table {full}"), ("/dev/full", f"/dev/full {full}")):
        with open("/dev/full" if name != "/dev/full" else os.devnull, "w") as stdout:
            done = subprocess.run(
                [*COMMAND, "--rows", "4×7×9", "--json", name],
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert (done.returncode, done.stderr) == (1, text)
    assert json.loads(figures.read_text())["rows"]


def test_ratio_is_to_the_fastest_other() -> None:
    times = {"gpumath": 2.0, "gpumath, natural": 0.5, "CuPy": 8.0, "PyTorch": 4.0, "x": None}
    assert _report.ratio(times) == 0.5
    assert _report.ratio({"gpumath": 2.0, "CuPy": None}) is None


def test_no_such_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--execution", "cpu", "--rows", "no such row"]) == 2
    assert "no row has 'no such row' in its name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rounds", "0"], "--rounds: '0' is no number of at least 1"),
        (["--threads", "-1"], "--threads: '-1' is no number of at least 1"),
        (["--json", "/nowhere/figures.json"], "'/nowhere/figures.json' cannot be written"),
        (["--json", "/"], "'/' cannot be written"),
        (["--plot", "figures.txt"], r"'figures.txt' ends neither in .png nor in .svg or .pdf"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_measured(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--execution", "cpu", *arguments])
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


def test_a_terminal_that_cannot_show_every_character() -> None:
    done = subprocess.run(
        [*COMMAND, "--rows", "4×7×9"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert rb"| 4\xd77\xd79\xd711, (1, 2) | " in done.stdout


def test_products_of_others_have_as_many_threads(tmp_path: Path) -> None:
    threads, found = str(core.usable_cores() + 1), tmp_path / "found"
    at_exit = f"atexit.register(lambda: open({str(found)!r}, 'w').write(repr(limits)))"
    (tmp_path / "sitecustomize.py").write_text(
        f"import atexit, os\nlimits = os.environ.get('OPENBLAS_NUM_THREADS')\n{at_exit}\n"
    )
    subprocess.run(
        [*COMMAND, "--rows", "4×7×9", "--threads", threads],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    assert found.read_text() == repr(threads)


@pytest.mark.parametrize(
    "rows",
    [
        [("a row", {"gpumath": 0.5, "CuPy": 1.0, "x": None}), ("another", {"gpumath": 2000.0})],
        [("a call", {"host time": 12.5}), ("another", {"host time": 3.0})],
        [("a transform", {"1 GPUs": 10.0, "2 GPUs": 5.5})],
    ],
    ids=["beside others", "one subject", "without gpumath"],
)
def test_figures_of_every_form_have_a_table_and_a_plot(
    rows: list[tuple[str, dict[str, float | None]]], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    found = _report.figures(rows, title="Rows", unit="µs", gpu=False, threads=3, command="measure")
    _report.save(tmp_path / "figures.json", found)
    again = json.loads((tmp_path / "figures.json").read_text())
    assert again == found
    assert [(row["name"], row["times"]) for row in again["rows"]] == rows
    lines = _report.table(again).splitlines()
    heads = [cell.strip() for cell in lines[3].strip("|").split("|")]
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert len(heads) == len(cells)
    for name, time in rows[-1][1].items():
        assert float(cells[heads.index(name)]) == pytest.approx(time, rel=1e-3)
    _report.plot(again, tmp_path / "plot.svg")
    assert "another" in (tmp_path / "plot.svg").read_text() or len(rows) == 1


def test_a_script_writes_its_figures(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    script = ROOT / "benchmarks" / "host" / "import_time.py"
    command = [sys.executable, "-P", str(script), "--json", str(target), "--rounds", "1"]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads(target.read_text())
    assert found["command"] == "python -P benchmarks/host/import_time.py --rounds 1"
    assert found["unit"] == "ms"
    assert {row["name"] for row in found["rows"]} >= {"numpy", "gpumath.fft"}
    assert all(time > 0 for row in found["rows"] for time in row["times"].values())
