"""`gpumath.bindings.nvrtc` with the real NVRTC, which needs no GPU."""

from __future__ import annotations

import ctypes
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gpumath.bindings import core, errors, nvrtc
from gpumath.bindings.nvrtc import NVRTCError, Result
from tests.helpers.compiler import SAXPY, compiled, kernels, output, program
from tests.helpers.cuda_wheels import in_fresh_process

RNG = np.random.default_rng()


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    try:
        nvrtc.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"NVRTC is not in the test environment: {str(error).splitlines()[0]}")


def nvrtc_file() -> str:
    return next(library.path for library in core.libraries() if library.name == "nvrtc")


def fails(handle: int, *options: str | bytes) -> NVRTCError:
    with pytest.raises(NVRTCError) as caught:
        nvrtc.compile_program(handle, len(options), options)
    return caught.value


def test_version_and_architectures_are_those_of_the_library() -> None:
    version, architectures = in_fresh_process(
        "nvrtc.version_and_architectures_are_those_of_the_library", nvrtc_file()
    )
    assert list(nvrtc.version()) == version
    assert list(nvrtc.get_supported_archs()) == architectures == sorted(architectures)
    assert nvrtc.get_num_supported_archs() == len(architectures)
    assert 90 in architectures


def test_builtins_beside_the_library_are_there_before_it_compiles() -> None:
    there, opened = in_fresh_process(
        "nvrtc.builtins_beside_the_library_are_there_before_it_compiles",
        settings={"GPUMATH_NVRTC_PATH": nvrtc_file()},
    )
    if not there:
        pytest.skip("libnvrtc-builtins is not beside NVRTC")
    assert opened


def test_source_becomes_ptx() -> None:
    ptx = compiled(SAXPY, "-arch=compute_90")
    assert ptx.endswith(b"\0")
    assert b".target sm_90" in ptx
    assert b".entry saxpy(" in ptx


def test_source_becomes_machine_code() -> None:
    with program(SAXPY) as handle:
        nvrtc.compile_program(handle, 1, ["-arch=sm_90"])
        assert kernels(output(handle, "cubin")) == {"saxpy"}
        # The PTX that it was made from is there too.
        assert b".entry saxpy(" in output(handle, "ptx")


def test_source_becomes_lto_ir() -> None:
    with program(SAXPY) as handle:
        nvrtc.compile_program(handle, 2, ["-arch=compute_90", "-dlto"])
        assert len(output(handle, "ltoir")) > 500
        assert nvrtc.get_cubin_size(handle) == 0


def test_source_becomes_optix_ir() -> None:
    assert len(compiled(SAXPY, "-arch=compute_90", "--optix-ir", kind="optix_ir")) > 500


@pytest.mark.parametrize("text", [str, str.encode])
def test_headers_are_texts(text: type[str]) -> None:
    scale = int(RNG.integers(2, 10**6))
    header = text(f"#define SCALE {scale}\n")
    source = '#include "deep/scale.h"\nextern "C" __device__ int answer = SCALE;'
    with program(source, headers={"deep/scale.h": header}) as handle:
        nvrtc.compile_program(handle, 1, [b"-arch=compute_90"])
        assert f"answer = {scale};".encode() in output(handle, "ptx")
    with program(source) as handle:
        assert "deep/scale.h" in str(fails(handle))


def test_lowered_names_are_those_in_the_code() -> None:
    source = "template <class T> __global__ void scale(T *x, T a) { x[threadIdx.x] *= a; }"
    names = [f"scale<{kind}>" for kind in ("float", "double", "unsigned long long")]
    with program(source) as handle:
        for name in names:
            nvrtc.add_name_expression(handle, name)
        with pytest.raises(NVRTCError) as caught:
            nvrtc.get_lowered_name(handle, names[0])
        assert caught.value.status == Result.ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION
        nvrtc.compile_program(handle, 1, ["-arch=sm_90"])
        lowered = {nvrtc.get_lowered_name(handle, name) for name in names}
        assert lowered == kernels(output(handle, "cubin"))
        with pytest.raises(NVRTCError) as caught:
            nvrtc.get_lowered_name(handle, "scale<char>")
        assert caught.value.status == Result.ERROR_NAME_EXPRESSION_NOT_VALID
        with pytest.raises(NVRTCError) as caught:
            nvrtc.add_name_expression(handle, "scale<char>")
        assert caught.value.status == Result.ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION


def test_what_does_not_compile_raises_with_the_log() -> None:
    with program("\n\nint broken( {", "wrong.cu") as handle:
        error = fails(handle)
        assert error.status is Result.ERROR_COMPILATION
        assert "nvrtcCompileProgram: NVRTC_ERROR_COMPILATION (6)" in str(error)
        assert "wrong.cu(3): error" in str(error)
        log = output(handle, "log")
        assert log.endswith(b"\0")
        assert log[:-1].decode().strip() in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.status) == (NVRTCError, str(error), error.status)


def test_warnings_are_in_the_log() -> None:
    with program('extern "C" __global__ void k() { int unused; }') as handle:
        nvrtc.compile_program(handle, 0, [])
        assert b'"unused" was declared but never referenced' in output(handle, "log")


def test_texts_are_utf8() -> None:
    name = "Wärmeleitung-Δ.cu"
    with program("// größer\n#error Δ ≠ 0\n", name) as handle:
        error = str(fails(handle))
        assert "Δ ≠ 0" in error
        assert name in error


@pytest.mark.parametrize("option", ["-frobnicate", "-arch=sm_7", "-arch=compute_9000", "--std=c"])
def test_wrong_options_are_named(option: str) -> None:
    with program(SAXPY) as handle:
        error = fails(handle, "-default-device", option)
    assert error.status == Result.ERROR_INVALID_OPTION
    assert option.partition("=")[0].lstrip("-") in str(error)


def test_options_are_checked_before_the_call() -> None:
    with program(SAXPY) as handle:
        with pytest.raises(ValueError, match="has 1 elements, but the call reads 2"):
            nvrtc.compile_program(handle, 2, ["-arch=sm_90"])
        with pytest.raises(ValueError, match="negative"):
            nvrtc.compile_program(handle, -1, [])
        with pytest.raises(ValueError, match="NUL"):
            nvrtc.compile_program(handle, 1, ["-arch=sm_90\0"])
        with pytest.raises(ValueError, match="NUL"):
            nvrtc.compile_program(handle, 1, [b"\0"])
        for wrong in ("-arch=sm_90", [None], [1.5], None, {"-a"}):
            with pytest.raises(TypeError, match="options"):
                nvrtc.compile_program(handle, 1, wrong)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(OverflowError):
            nvrtc.compile_program(handle, 2**31, [])
        with pytest.raises(TypeError, match="str is required"):
            nvrtc.create_program(b"source", "name", 0, [], [])  # type: ignore[arg-type]  # too
        with pytest.raises(ValueError, match="NUL"):
            nvrtc.create_program("int\0", "name", 0, [], [])


def test_buffers_hold_what_is_written() -> None:
    with program(SAXPY) as handle:
        nvrtc.compile_program(handle, 1, ["-arch=sm_90"])
        for kind in ("ptx", "cubin", "program_log"):
            size = getattr(nvrtc, f"get_{kind}_size")(handle)
            read = getattr(nvrtc, f"get_{kind}")
            with pytest.raises(ValueError, match=f"{size - 1} bytes, but the call writes {size}"):
                read(handle, bytearray(size - 1))
            with pytest.raises(TypeError, match="writable"):
                read(handle, bytes(size))
            # By keyword, into a part of a larger buffer, an array, and through an address.
            larger = bytearray(b"\xff" * (size + 8))
            with memoryview(larger) as view:
                read(handle, view[4 : size + 4])
            assert larger[:4] == larger[-4:] == b"\xff" * 4
            array = np.zeros(size, np.int8)
            read(handle, array)
            cells = (ctypes.c_char * size)()
            read(handle, ctypes.addressof(cells))
            assert bytes(larger[4:-4]) == array.tobytes() == bytes(cells)


def test_no_program_is_a_status() -> None:
    for call in (
        lambda: nvrtc.compile_program(0, 0, []),
        lambda: nvrtc.get_ptx(0, bytearray(9)),
        lambda: nvrtc.get_ptx_size(0),
        lambda: nvrtc.add_name_expression(0, "k"),
        lambda: nvrtc.destroy_program(0),
    ):
        with pytest.raises(NVRTCError) as caught:
            call()
        assert caught.value.status == Result.ERROR_INVALID_PROGRAM


def test_programs_compile_side_by_side() -> None:
    def ptx(number: int) -> bool:
        source = f'extern "C" __device__ int answer = {number};'
        return f"answer = {number};".encode() in compiled(source, "-arch=compute_90")

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ptx, RNG.integers(2, 10**6, 12).tolist()))


def test_a_callback_stops_the_compilation() -> None:
    asked = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def stop(payload: int, _: int) -> int:
        asked.append(payload)
        return 1

    with program(SAXPY) as handle:
        address = ctypes.cast(stop, ctypes.c_void_p).value
        try:
            nvrtc.set_flow_callback(handle, address, 1234)
        except errors.FunctionNotFoundError as error:
            pytest.skip(f"this NVRTC has no callback: {error}")
        assert fails(handle, "-arch=compute_90").status == Result.ERROR_CANCELLED
    assert 1234 in asked


def test_functions_of_one_release_say_which() -> None:
    absent = nvrtc.get_nvvm_size if nvrtc.version()[0] > 12 else nvrtc.get_tile_ir_size
    with program(SAXPY) as handle, pytest.raises(errors.FunctionNotFoundError) as caught:
        absent(handle)
    assert caught.value.since in str(caught.value)


def test_the_heap_of_precompiled_headers_has_a_size() -> None:
    size = 2**24 * int(RNG.integers(17, 20))
    try:
        nvrtc.set_pch_heap_size(size)
    except errors.FunctionNotFoundError as error:
        pytest.skip(f"this NVRTC has no precompiled headers: {error}")
    assert nvrtc.get_pch_heap_size() == size


def test_names_of_statuses_and_signatures() -> None:
    assert nvrtc.get_error_string(Result.ERROR_BUILTIN_OPERATION_FAILURE).startswith("NVRTC_ERROR")
    assert list(inspect.signature(nvrtc.get_ltoir).parameters) == ["prog", "ltoir"]
    assert nvrtc.get_ltoir.__name__ == "get_ltoir"
    assert "nvrtcGetLTOIR" in str(nvrtc.get_ltoir.__doc__)
    with pytest.raises(NVRTCError, match="INVALID_PROGRAM"):
        nvrtc.check_status(4)
    nvrtc.check_status(0)
