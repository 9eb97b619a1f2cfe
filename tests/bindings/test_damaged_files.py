"""Files that would end the process, hang it or run foreign code if they were opened."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gpumath.bindings import nvjitlink
from gpumath.bindings._elf import damage
from tests.helpers.callbacks import require_compilers
from tests.helpers.compiler import compiled as compiled_cuda
from tests.helpers.compiler import linker
from tests.helpers.cuda_wheels import in_fresh_process, run_python
from tests.helpers.fake_libraries import compiled, cut_cufft

MODULE = ["-m", "gpumath.bindings"]


def test_the_report_names_a_cut_file(tmp_path: Path) -> None:
    file = cut_cufft(tmp_path / "nvidia" / "cu13" / "lib" / "libcufft.so.12")
    settings = {"GPUMATH_CUFFT_PATH": file}
    process = run_python([*MODULE, "--json"], settings)
    assert process.returncode == 0, process.stderr
    assert "is cut off" in process.stdout
    assert in_fresh_process("loader.has", "cufft", settings=settings) == [False]


def test_a_cut_file_is_passed_over(tmp_path: Path) -> None:
    file = cut_cufft(tmp_path / "nvidia" / "cu13" / "lib" / "libcufft.so.12")
    answer = in_fresh_process("loader.found", "cufft", settings={"GPUMATH_CUDA_PATH": tmp_path})
    assert answer is None or answer[0] != str(file)


def test_a_fifo_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "libcufft.so.12"
    os.mkfifo(file)
    settings = {"GPUMATH_CUFFT_PATH": file}
    assert in_fresh_process("loader.has", "cufft", settings=settings) == [False]
    settings = {"GPUMATH_FFT_CPU_LIBRARY": file}
    name, text = in_fresh_process("cpu_library.refusal", settings=settings)
    assert name == "LibraryNotFoundError"
    assert "is not a regular file" in text


@pytest.mark.parametrize("folder", ["nvidia/cu13/lib", "nvpl/lib"])
def test_nothing_is_opened_from_the_current_directory(folder: str, tmp_path: Path) -> None:
    """Not even with '' in sys.path, where Python itself finds modules."""
    mark = tmp_path / "opened"
    source = f"""#include <stdio.h>
__attribute__((constructor)) void mark(void) {{ fclose(fopen("{mark}", "w")); }}
"""
    for name in ("libcufft.so.12", "libnvpl_fftw.so.0"):
        compiled(tmp_path / folder / name, source)
    engine = in_fresh_process("loader.in_folder", str(tmp_path), ["", ".", "nvidia/.."])
    assert engine == "embedded"
    assert not mark.exists()


@pytest.fixture
def cubin() -> bytes:
    """Machine code that is to be linked."""
    require_compilers()
    source = """
extern "C" __device__ float scaled(float);
extern "C" __global__ void kernel(float *x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
extern "C" __device__ float scaled(float x) { return 2 * x; }
"""
    return bytes(compiled_cuda(source, "-arch=sm_90", "-rdc=true", kind="cubin"))


def test_the_linker_gets_no_damaged_elf_file(cubin: bytes, tmp_path: Path) -> None:
    assert damage(cubin) is None
    file = tmp_path / "code.cubin"
    with linker("-arch=sm_90") as handle:
        kind = nvjitlink.InputType.CUBIN
        for size in range(5, len(cubin) - 1, 41):
            with pytest.raises(ValueError, match="argument 'data' is damaged: it"):
                nvjitlink.add_data(handle, kind, cubin[:size], size, "code")
        file.write_bytes(cubin[: len(cubin) // 2])
        with pytest.raises(ValueError, match="argument 'file_name' is damaged: it is cut off"):
            nvjitlink.add_file(handle, kind, str(file))
        nvjitlink.add_data(handle, kind, cubin, len(cubin), "code")
        nvjitlink.complete(handle)
        assert nvjitlink.get_linked_cubin_size(handle) > 0


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [
        (62, 0xEE, "its section names are missing"),
        (58, 3, "its tables have a wrong size"),
        (52, 3, "its header has a wrong size"),
        (46, 0x7F, "it is cut off"),
    ],
)
def test_wrong_numbers_in_the_header_are_found(
    place: int, value: int, found: str, cubin: bytes
) -> None:
    damaged = bytearray(cubin)
    damaged[place] = value
    assert damage(bytes(damaged)) == found


def test_files_of_this_system_are_whole() -> None:
    file = Path(sys.modules["gpumath.bindings._core"].__file__ or "")
    assert damage(file.read_bytes()) is None
