"""Build a program in another language that calls cuRAND through gpumath's C ABI, and run it.

python examples/bindings/c_abi/run.py cpp|cython|rust [FOLDER]

It needs gpumath-bindings, cuRAND and a compiler for the language, but no CUDA toolkit.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from array import array
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from gpumath.bindings import core

HERE = Path(__file__).parent
Fill = Callable[[int, "array[float]"], None]


def build(language: str, folder: Path) -> Path:
    """Compile the example into a folder and return the library."""
    target = folder / "uniform.so"
    source = next((HERE / language).glob("uniform.*"))
    includes = [f"-I{core.get_include()}", f"-I{sysconfig.get_path('include')}"]
    flags = ["-O2", "-shared", "-fPIC", "-o", str(target)]
    if language == "cpp":
        run("c++", "-std=c++17", "-Wall", *includes, *flags, str(source))
    elif language == "cython":
        translated = folder / "uniform.c"
        run(sys.executable, "-m", "cython", "-o", str(translated), str(source))
        run("cc", *includes, *flags, str(translated))
    else:
        run("rustc", "--edition=2024", "-O", "--crate-type=cdylib", "-o", str(target), str(source))
    return target


def run(*command: str) -> None:
    """Run a command, and fail if the command fails."""
    print("$", *command)
    subprocess.run(command, check=True)


def load(language: str, library: Path) -> Fill:
    """Return the function that fills an array of doubles."""
    if language == "rust":
        return load_rust(library)
    spec = importlib.util.spec_from_file_location("uniform", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fill: Fill = module.fill
    return fill


def load_rust(library: Path) -> Fill:
    """Load a library that is no Python module. ctypes releases the interpreter lock in `fill`."""
    ctypes.PyDLL(str(library)).uniform_import()  # PyDLL keeps the lock and raises its exception
    uniform = ctypes.CDLL(str(library))

    def fill(seed: int, values: array[float]) -> None:
        message = ctypes.create_string_buffer(4096)
        address, count = values.buffer_info()
        uniform.uniform_fill(
            ctypes.c_uint64(seed),
            ctypes.c_void_p(address),
            ctypes.c_size_t(count),
            message,
            ctypes.c_size_t(len(message)),
        )
        if message.value:
            raise RuntimeError(message.value.decode())

    return fill


def main(language: str, folder: str | None = None) -> None:
    """Build the program, draw random numbers with it, and print their mean."""
    with tempfile.TemporaryDirectory() as temporary:
        fill = load(language, build(language, Path(folder or temporary)))
        values = array("d", bytes(8 * 1_000_000))
        fill(2026, values)
        print(f"{len(values)} numbers by cuRAND: mean {fmean(values):.4f}, first {values[0]:.6f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
