"""The examples of the C ABI, built and called in processes of their own."""

from __future__ import annotations

import ctypes
import runpy
from array import array
from pathlib import Path
from typing import Any

from gpumath.bindings import core
from tests.programs.support.entry import main

RUN = Path(__file__).resolve().parents[2] / "examples" / "bindings" / "c_abi" / "run.py"


def build(language: str, folder: str) -> None:
    runpy.run_path(str(RUN))["build"](language, Path(folder))


def libraries() -> Any:
    """Return the files of the CUDA runtime and of cuRAND that gpumath finds."""
    files = {library.name: library.path for library in core.libraries()}
    return files.get("runtime"), files.get("curand")


def numbers_of_curand(files: list[str], seed: int, count: int) -> Any:
    curand = [ctypes.CDLL(file, ctypes.RTLD_GLOBAL) for file in files][1]
    generator, numbers = ctypes.c_void_p(), (ctypes.c_double * count)()
    assert curand.curandCreateGeneratorHost(ctypes.byref(generator), 161) == 0
    assert curand.curandSetPseudoRandomGeneratorSeed(generator, ctypes.c_ulonglong(seed)) == 0
    assert curand.curandGenerateUniformDouble(generator, numbers, ctypes.c_size_t(count)) == 0
    return list(numbers)


def numbers_of_the_example(language: str, library: str, seed: int, count: int) -> Any:
    fill = runpy.run_path(str(RUN))["load"](language, Path(library))
    numbers = array("d", bytes(8 * count))
    fill(seed, numbers)
    return list(numbers)


def raised(language: str, library: str) -> Any:
    """Return class and text of what loading the example and calling it raises."""
    load = runpy.run_path(str(RUN))["load"]
    try:
        load(language, Path(library))(1, array("d", [0.0]))
    except Exception as error:
        return type(error).__name__, str(error)


def raised_with_another_version(language: str, library: str) -> Any:
    """Do the same where the table says that it has another version."""
    from tests.programs.support.c_abi_table import Table, api, capsule_of

    fake = Table.from_buffer_copy(api)
    fake.abi_version = 2
    core._C_API = capsule_of(fake)
    return raised(language, library)


if __name__ == "__main__":
    main(globals())
