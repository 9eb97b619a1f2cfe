"""How kernels that call functions of gpumath are linked, without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx, nvjitlink, nvrtc
from tests.helpers.callbacks import require_numba
from tests.helpers.compiler import kernels

FOREIGN = "__device__ int only_the_host_uses_it = 7;"


@pytest.fixture(scope="module", autouse=True)
def _compilers() -> None:
    require_numba()
    try:
        mathdx.get_version(), nvrtc.version(), nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")


def compiled() -> list[Any]:
    """Return what Numba links for a kernel with a transform."""
    from numba import cuda
    from numba.cuda import types

    fft = device.FFT(64, np.float32, "c2c", "Thread", direction="forward", sm=90)

    def kernel(out: Any) -> None:
        data = cuda.local.array(shape=fft.storage_size, dtype=fft.value_type)
        for i in range(64):
            data[i] = out[i]
        fft.execute(data)
        for i in range(64):
            out[i] = data[i]

    signature = types.void(types.complex64[::1])
    options: dict[str, Any] = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ltoir"}
    codes, _ = cuda.compile_all(kernel, signature, **options)
    return list(codes)


def linker_of(codes: list[Any]) -> Any:
    from numba.cuda.cudadrv import driver

    linker = driver._Linker(cc=(9, 0), lto=True)
    for code in codes:
        if isinstance(code, bytes):
            linker.add_ltoir(code)
        else:
            linker.add_file_guess_ext(code)
    return linker


def test_unused_tables_are_left_out_and_the_result_is_kept() -> None:
    codes = compiled()
    first, second = linker_of(codes), linker_of(codes[:1] + codes[:0:-1])
    cubin = first.complete().code
    assert sum(len(getattr(code, "data", code)) for code in codes) > 1_000_000
    assert len(cubin) < 100_000
    assert len(kernels(cubin)) == 1
    assert second.complete().code == cubin
    assert first.linker is not None
    assert second.linker is None
    assert second.info_log == ""


def test_variables_of_others_stay() -> None:
    from numba import cuda

    options = ["-arch=compute_90", "-rdc=true", "-dlto"]
    program = nvrtc.create_program(FOREIGN, "foreign.cu", 0, [], [])
    nvrtc.compile_program(program, len(options), options)
    code = bytearray(nvrtc.get_ltoir_size(program))
    nvrtc.get_ltoir(program, code)
    nvrtc.destroy_program(program)
    linker = linker_of([*compiled(), cuda.LTOIR(bytes(code))])
    assert b"only_the_host_uses_it" in linker.complete().code
    assert linker.linker is not None
