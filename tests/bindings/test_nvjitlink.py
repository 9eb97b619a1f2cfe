"""`gpumath.bindings.nvjitlink` with the real nvJitLink and NVRTC, which need no GPU."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

from gpumath.bindings import core, errors, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType, Result, nvJitLinkError
from tests.helpers.compiler import SAXPY, compiled, kernels, linked, linker
from tests.helpers.cuda_wheels import in_fresh_process

LTO = ("-arch=compute_90", "-dlto")
DOUBLE = 'extern "C" __device__ float twice(float x) { return x + x; }'
CALLER = """
extern "C" __device__ float twice(float x);
extern "C" __global__ void doubled(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
"""


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    try:
        nvjitlink.version()
        nvrtc.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")


def test_version_is_that_of_the_library() -> None:
    path = next(library.path for library in core.libraries() if library.name == "nvjitlink")
    assert list(nvjitlink.version()) == in_fresh_process(
        "nvjitlink.version_is_that_of_the_library", path
    )


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_two_pieces_of_lto_ir_become_machine_code(kind: type[bytes]) -> None:
    pieces = [
        (InputType.LTOIR, kind(compiled(source, *LTO, kind="ltoir"))) for source in (DOUBLE, CALLER)
    ]
    assert kernels(linked(pieces, "-arch=sm_90", "-lto")) == {"doubled"}


def test_ptx_becomes_machine_code() -> None:
    ptx = compiled(SAXPY, "-arch=compute_90")
    assert kernels(linked([(InputType.PTX, ptx)], "-arch=sm_90")) == {"saxpy"}
    assert kernels(linked([(InputType.ANY, ptx)], "-arch=sm_90")) == {"saxpy"}


def test_machine_code_is_linked_with_ptx() -> None:
    options = ("-rdc=true",)
    cubin = compiled(DOUBLE, "-arch=sm_90", *options, kind="cubin")
    ptx = compiled(CALLER, "-arch=compute_90", *options)
    inputs = [(InputType.CUBIN, cubin), (InputType.PTX, ptx)]
    assert "doubled" in kernels(linked(inputs, "-arch=sm_90"))


def test_files_are_linked(tmp_path: Path) -> None:
    path = tmp_path / "größe.ptx"
    path.write_bytes(compiled(SAXPY, "-arch=compute_90"))
    with linker("-arch=sm_90") as handle:
        nvjitlink.add_file(handle, InputType.PTX, str(path))
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
    assert kernels(bytes(cubin)) == {"saxpy"}
    with linker("-arch=sm_90") as handle, pytest.raises(nvJitLinkError, match=r"absent\.ptx"):
        nvjitlink.add_file(handle, InputType.PTX, str(tmp_path / "absent.ptx"))


def test_lto_ir_becomes_ptx() -> None:
    ltoir = compiled(SAXPY, *LTO, kind="ltoir")
    with linker("-arch=sm_90", b"-lto", "-ptx") as handle:
        nvjitlink.add_data(handle, InputType.LTOIR, ltoir, len(ltoir), "saxpy")
        nvjitlink.complete(handle)
        size = nvjitlink.get_linked_ptx_size(handle)
        ptx = np.zeros(size, np.uint8)
        nvjitlink.get_linked_ptx(handle, ptx)
        with pytest.raises(ValueError, match=f"{size - 1} bytes, but the call writes {size}"):
            nvjitlink.get_linked_ptx(handle, bytearray(size - 1))
    assert b".entry saxpy(" in ptx.tobytes()


def test_an_absent_function_is_named() -> None:
    ltoir = compiled(CALLER, *LTO, kind="ltoir")
    with pytest.raises(nvJitLinkError, match="twice") as caught:
        linked([(InputType.LTOIR, ltoir)], "-arch=sm_90", "-lto")
    error = caught.value
    assert error.function == "nvJitLinkComplete"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (nvJitLinkError, str(error))


@pytest.mark.parametrize("kind", [kind for kind in InputType if kind not in (0, 7)])
def test_junk_is_refused_with_the_log(kind: InputType) -> None:
    junk = np.random.default_rng().bytes(200)
    with linker("-arch=sm_90", "-lto") as handle:
        with pytest.raises(nvJitLinkError) as caught:
            nvjitlink.add_data(handle, kind, junk, len(junk), "the junk")
        size = nvjitlink.get_error_log_size(handle)
        log = bytearray(size)
        nvjitlink.get_error_log(handle, log)
    assert "the junk" in str(caught.value)
    assert log.partition(b"\0")[0].decode().strip() in str(caught.value)


def test_ptx_that_does_not_compile_raises_with_the_log() -> None:
    ptx = b".version 8.0\n.target sm_75\n.address_size 64\n.nonsense\n\0"
    with pytest.raises(nvJitLinkError, match="nonsense") as caught:
        linked([(InputType.PTX, ptx)], "-arch=sm_90")
    assert caught.value.status == Result.ERROR_PTX_COMPILE


def test_what_is_read_is_checked_before_the_call() -> None:
    with linker("-arch=sm_90") as handle:
        with pytest.raises(ValueError, match="has 4 bytes, but the call reads 5"):
            nvjitlink.add_data(handle, InputType.PTX, b"1234", 5, "short")
        for wrong in ("text", None, 1.5, ["1"]):
            with pytest.raises(TypeError, match="data"):
                nvjitlink.add_data(
                    *(handle, InputType.PTX),
                    wrong,  # type: ignore[arg-type]  # what is tested
                    *(1, "wrong"),
                )
        with pytest.raises(TypeError, match="missing"):
            nvjitlink.add_data(handle)  # type: ignore[call-arg]  # what is tested


WRONG = [
    *("-arch=sm_7", "-arch=lto_7", "-arch=", "-arch=sm_", "-arch=90", "-arch=sm90"),
    *("-arch=SM_90", "-arch=sm_090", "-arch=sm_ 90", "-arch=sm_90 ", "-arch=sm_90,sm_80"),
    *("-arch=native", "-arch=sm_٩٠", b"-arch=sm_7f", b"-arch=\xff", "-arch=sm_90\n"),
]


@pytest.mark.parametrize("option", WRONG)
def test_architectures_that_are_none_are_refused_before_the_call(option: str | bytes) -> None:
    for options in (["-lto", option], (option, "-arch=sm_90"), np.array([option])):
        with pytest.raises(ValueError, match="names no architecture: sm_90"):
            nvjitlink.create(len(options), options)


def test_no_architecture_ends_the_process() -> None:
    path = next(library.path for library in core.libraries() if library.name == "nvjitlink")
    outcomes = in_fresh_process(
        "nvjitlink.no_architecture_ends_the_process", settings={"GPUMATH_NVJITLINK_PATH": path}
    )
    # Of one digit and of more than three, or none that CUDA 12 has.
    refused = 10 + 3 if nvjitlink.version()[0] > 12 else 132 + 5 - 19
    assert outcomes["ValueError"] == 3 * refused * 4
    assert outcomes["created"] > 10
    assert outcomes["nvJitLinkError"] > 10


@pytest.mark.parametrize(
    ("options", "statuses"),
    [
        ([], {Result.ERROR_MISSING_ARCH}),
        (["-lto"], {Result.ERROR_MISSING_ARCH}),
        (["-arch=sm_90", "-frobnicate"], {Result.ERROR_UNRECOGNIZED_OPTION}),
    ],
)
def test_wrong_options_are_statuses(options: list[str], statuses: set[Result]) -> None:
    with pytest.raises(nvJitLinkError) as caught:
        nvjitlink.create(len(options), options)
    assert caught.value.status in statuses
    assert caught.value.function == "nvJitLinkCreate"


@pytest.mark.parametrize("architecture", ["sm_30", "sm_999", "lto_130"])
def test_architectures_of_no_release_are_refused(architecture: str) -> None:
    of_cuda_13 = {Result.ERROR_UNRECOGNIZED_ARCH, Result.ERROR_UNSUPPORTED_ARCH}
    for _ in range(3):
        with pytest.raises((ValueError, nvJitLinkError)) as caught:
            nvjitlink.create(1, [f"-arch={architecture}"])
        if isinstance(caught.value, ValueError):
            assert architecture in str(caught.value)
            assert nvjitlink.version()[0] == 12
        else:
            assert caught.value.status in of_cuda_13


def test_options_are_checked_before_the_call() -> None:
    with pytest.raises(ValueError, match="has 1 elements, but the call reads 2"):
        nvjitlink.create(2, ["-arch=sm_90"])
    with pytest.raises(ValueError, match="NUL"):
        nvjitlink.create(1, ["-lto\0"])
    for wrong in ("-arch=sm_90", None, [None], {1: 2}, iter(["-arch=sm_90"])):
        with pytest.raises(TypeError, match="options"):
            nvjitlink.create(1, wrong)  # type: ignore[arg-type]  # what is tested


def test_no_linker_is_a_status() -> None:
    no_linker = {Result.ERROR_INVALID_INPUT, Result.ERROR_NULL_INPUT}
    for call in (
        lambda: nvjitlink.complete(0),
        lambda: nvjitlink.add_data(0, InputType.PTX, b"ptx", 3, "name"),
        lambda: nvjitlink.get_linked_cubin(0, bytearray(9)),
        lambda: nvjitlink.get_info_log_size(0),
        lambda: nvjitlink.destroy(0),
    ):
        with pytest.raises(nvJitLinkError) as caught:
            call()
        assert caught.value.status in no_linker


def test_messages_that_are_no_errors_are_in_the_other_log() -> None:
    ltoir = compiled(SAXPY, *LTO, kind="ltoir")
    with linker("-arch=sm_90", "-lto", "-verbose") as handle:
        nvjitlink.add_data(handle, InputType.LTOIR, ltoir, len(ltoir), "saxpy")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    assert b"saxpy" in log


def test_signatures() -> None:
    names = ["handle", "input_type", "data", "size", "name"]
    assert list(inspect.signature(nvjitlink.add_data).parameters) == names
    assert nvjitlink.add_data.__name__ == "add_data"
    assert "nvJitLinkAddData" in str(nvjitlink.add_data.__doc__)
    with pytest.raises(nvJitLinkError, match="MISSING_ARCH"):
        nvjitlink.check_status(2)
