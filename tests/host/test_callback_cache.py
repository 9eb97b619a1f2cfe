"""Compiled callbacks on disk: what is found again, and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import code_cache
from gpumath.bindings.code_cache import cached_code
from tests.helpers.callbacks import require_compilers, require_numba
from tests.helpers.cuda_wheels import in_fresh_process, run_python
from tests.helpers.processes import arguments_of, with_tests

SOURCE = """__device__ float prolog(const float *x, unsigned long long i, const float *info, void *)
{ return *info * x[i]; }"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's cache."""
    require_compilers()
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def compiled(function: Any = SOURCE, element: str = "float32", **keywords: Any) -> bytes:
    keywords = {"user_info_dtype": "float32", "compute_capability": "90", **keywords}
    return fft.compile_prolog(function, element, **keywords)


def scaling(factor: Any) -> Any:
    return lambda data, offset, info, _: factor * data[offset]


# In a process of its own: whether Numba was needed, and the code's digest.
COMPILED = "callback_cache.compiled"


def test_another_process_does_not_compile_again(folder: Path) -> None:
    require_numba()
    first_compiled, first = in_fresh_process(COMPILED, 2.5)
    again_compiled, again = in_fresh_process(COMPILED, 2.5)
    assert (first_compiled, again_compiled) == (True, False)
    assert first == again
    assert in_fresh_process(COMPILED, 3.5)[0]
    assert len(files(folder)) == 2


def test_processes_at_once(folder: Path) -> None:
    require_numba()
    command = [sys.executable, "-P", *arguments_of(COMPILED, 4.5)]
    environment = with_tests(os.environ)
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)
    ]
    digests = {json.loads(process.communicate(timeout=120)[0])[1] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(digests) == 1
    (file,) = files(folder)
    assert file.suffix == ".code"
    assert not in_fresh_process(COMPILED, 4.5)[0]


def test_a_version_of_the_compiler_counts(folder: Path, tmp_path: Path) -> None:
    require_numba()
    newer = tmp_path / "numba_cuda-99.0.dist-info"
    newer.mkdir()
    (newer / "METADATA").write_text("Metadata-Version: 2.1\nName: numba-cuda\nVersion: 99.0\n")
    in_fresh_process(COMPILED, 5.5)
    assert in_fresh_process(COMPILED, 5.5, str(tmp_path))[0]
    assert len(files(folder)) == 2


def test_everything_that_the_code_depends_on_counts(folder: Path) -> None:
    untyped = SOURCE.replace("const float *info", "void *").replace("*info * ", "")
    variants: list[dict[str, Any]] = [
        {},
        {"compute_capability": "80"},
        {"representation": "ptx"},
        {"function": untyped},
        {"function": untyped, "user_info_dtype": None},
        {"function": untyped, "user_info_dtype": "int32"},
        {"function": untyped.replace("prolog", "other"), "name": "other"},
        {"function": untyped.replace("float", "double"), "element": "float64"},
    ]
    for number, variant in enumerate(variants, 1):
        first, again = compiled(**variant), compiled(**variant)
        assert first == again
        assert len(files(folder)) == number


def test_what_a_function_uses_counts(folder: Path) -> None:
    require_numba()
    window = np.arange(4, dtype=np.float32)
    other = window + 1
    functions = [scaling(2), scaling(2.0), scaling(3.0), scaling(window[1]), scaling(window[2])]
    functions += [closure(window), closure(other)]
    for number, function in enumerate(functions, 1):
        compiled(function)
        assert len(files(folder)) == number
    compiled(scaling(2))
    compiled(closure(window.copy()))
    compiled(scaling(2), "float64")
    assert len(files(folder)) == len(functions) + 1


def closure(array: Any) -> Any:
    return lambda data, offset, info, _: data[offset] * array[offset % 4]


@pytest.mark.parametrize("damage", ["empty", "truncated", "changed", "longer", "other"])
def test_a_damaged_file_is_made_again(folder: Path, damage: str) -> None:
    first = compiled()
    (file,) = files(folder)
    whole = file.read_bytes()
    position = int(np.random.default_rng().integers(len(whole)))
    changed = bytearray(whole)
    changed[position] ^= 1
    damaged = {
        "empty": b"",
        "truncated": whole[:position],
        "changed": bytes(changed),
        "longer": whole + b"\0",
        "other": b"something else",
    }
    file.write_bytes(damaged[damage])
    assert compiled() == first
    assert file.read_bytes() == whole


def test_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUMATH_CACHE_DIR", "off")
    monkeypatch.chdir(tmp_path)
    assert compiled()
    assert files(folder) == []
    assert list(tmp_path.iterdir()) == []


def test_the_user_s_folder_for_caches(tmp_path: Path) -> None:
    here = str(tmp_path)
    wanted = str(tmp_path / "gpumath")
    assert in_fresh_process("callback_cache.folder_for", {"XDG_CACHE_HOME": here}) == wanted
    home = str(tmp_path / ".cache" / "gpumath")
    for other in ("", "relative"):
        settings = {"HOME": here, "XDG_CACHE_HOME": other}
        assert in_fresh_process("callback_cache.folder_for", settings) == home


def test_a_folder_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert compiled() == compiled()


def test_a_failure_is_not_kept(folder: Path) -> None:
    def fail() -> bytes:
        raise ValueError

    with pytest.raises(ValueError):
        cached_code("key", fail)
    assert cached_code("key", lambda: b"code") == b"code"
    assert cached_code("key", fail) == b"code"
    assert cached_code(None, lambda: b"other") == b"other"
    assert len(files(folder)) == 1


def test_the_oldest_files_go(folder: Path) -> None:
    for number in range(1001):
        cached_code(str(number), lambda: b"code")
    assert len(files(folder)) == 750
    with pytest.raises(ZeroDivisionError):
        cached_code("0", lambda: bytes([1 // 0]))
    assert cached_code("1000", lambda: bytes([1 // 0])) == b"code"


def test_large_code_counts_by_its_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "_MAX_BYTES", 1 << 20)
    for number in range(10):
        cached_code(str(number), lambda: bytes(100_000))
        # Reading it keeps the first one.
        assert cached_code("0", lambda: bytes([1 // 0])) == bytes(100_000)
    cached_code("10", lambda: bytes(100_000))
    assert sum(file.stat().st_size for file in files(folder)) < 3 << 18
    assert cached_code("0", lambda: bytes([1 // 0])) == bytes(100_000)


def test_threads_that_need_the_same_code_make_it_once(folder: Path) -> None:
    made: list[int] = []
    together = threading.Barrier(4)

    def make() -> bytes:
        made.append(threading.get_ident())
        time.sleep(0.1)
        return b"code"

    def ask(_: int) -> bytes:
        together.wait(10)
        return cached_code("key", make)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == [b"code"] * 4
    assert len(made) == 1
    assert len(files(folder)) == 1


def test_what_killed_processes_leave_is_removed(folder: Path) -> None:
    cached_code("key", lambda: b"code")
    old, new = folder / "old.lock", folder / "new.part"
    for file in (old, new):
        file.touch()
    os.utime(old, (0, 0))
    cached_code("other", lambda: b"code")
    assert not old.exists()
    assert new.exists()


def test_a_hit_needs_no_numba(folder: Path) -> None:
    require_numba()
    in_fresh_process(COMPILED, 6.5)
    assert in_fresh_process("callback_cache.compiled_without_numba", 6.5)
    process = run_python([*arguments_of("callback_cache.compiled_without_numba", 7.5)])
    assert "there is no module numba" in process.stderr
