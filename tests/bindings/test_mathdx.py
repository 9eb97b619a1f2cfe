"""`gpumath.bindings.mathdx` with the real libmathdx, which needs no GPU."""

from __future__ import annotations

import ctypes
import pickle
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from gpumath.bindings import core, errors, mathdx, nvjitlink, nvrtc
from gpumath.bindings.mathdx import (
    CommondxExecution,
    CommondxOption,
    CommondxPrecision,
    CommondxStatusType,
    CommondxValueType,
    CublasdxOperatorType,
    CublasdxTraitType,
    CufftdxOperatorType,
    CufftdxTraitType,
    CusolverdxOperatorType,
    CusolverdxTraitType,
    LibMathDxError,
)
from gpumath.bindings.nvjitlink import InputType, nvJitLinkError
from tests.helpers.compiler import compiled, kernels, linked
from tests.helpers.cuda_wheels import in_fresh_process

RNG = np.random.default_rng()
LTO = ("-arch=compute_90", "-dlto")


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    try:
        mathdx.get_version()
        nvrtc.version()
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")


@contextmanager
def descriptor(
    library: str, operators: dict[int, int], lists: dict[int, list[int]] | None = None
) -> Iterator[int]:
    """Create a descriptor with these operators, and destroy it at the end."""
    handle = getattr(mathdx, f"{library}_create_descriptor")()
    try:
        for operator, value in operators.items():
            getattr(mathdx, f"{library}_set_operator_int64")(handle, operator, value)
        for operator, values in (lists or {}).items():
            set_operator = getattr(mathdx, f"{library}_set_operator_int64s")
            set_operator(handle, operator, len(values), values)
        yield handle
    finally:
        getattr(mathdx, f"{library}_destroy_descriptor")(handle)


def fft(**changes: int) -> dict[int, int]:
    operators = {
        "API": mathdx.CufftdxApi.LMEM,
        "SIZE": 8,
        "DIRECTION": mathdx.CufftdxDirection.FORWARD,
        "TYPE": mathdx.CufftdxType.C2C,
        "PRECISION": CommondxPrecision.F32,
        "SM": 900,
        "EXECUTION": CommondxExecution.THREAD,
    }
    return {CufftdxOperatorType[name]: value for name, value in (operators | changes).items()}


def numbers(read: Callable[..., None], handle: int, trait: int, count: int) -> list[int]:
    values = array("q", [-1] * count)
    read(handle, trait, count, values)
    return list(values)


def symbol(library: str, handle: int, trait: int) -> str:
    size = getattr(mathdx, f"{library}_get_trait_str_size")(handle, trait)
    text = bytearray(size)
    getattr(mathdx, f"{library}_get_trait_str")(handle, trait, size, text)
    assert text.endswith(b"\0")
    return text[:-1].decode()


def code_of(finalize: Callable[[int, int], None], handle: int) -> bytes:
    """Return the LTO-IR of a descriptor, for sm_90."""
    code = mathdx.commondx_create_code()
    try:
        mathdx.commondx_set_code_option_int64(code, CommondxOption.TARGET_SM, 900)
        finalize(code, handle)
        size = mathdx.commondx_get_code_ltoir_size(code)
        ltoir = bytearray(size)
        mathdx.commondx_get_code_ltoir(code, size, ltoir)
        with pytest.raises(ValueError, match=f"{size - 1} bytes, but the call writes {size}"):
            mathdx.commondx_get_code_ltoir(code, size, bytearray(size - 1))
        assert mathdx.commondx_get_code_num_ltoirs(code) == 1
        major, minor = nvrtc.version()
        isa = mathdx.commondx_get_code_option_int64(code, CommondxOption.CODE_ISA)
        assert isa == 1000 * major + 10 * minor
        sizes = array("Q", [0])
        mathdx.commondx_get_code_ltoir_sizes(code, 1, sizes)
        assert list(sizes) == [size]
        again = np.zeros(size, np.uint8)
        mathdx.commondx_get_code_ltoirs(code, 1, [again.ctypes.data])
        assert again.tobytes() == ltoir
    finally:
        mathdx.commondx_destroy_code(code)
    return bytes(ltoir)


def test_versions_are_those_of_the_library() -> None:
    paths = {library.name: library.path for library in core.libraries()}
    version, commit, *triples = in_fresh_process(
        "mathdx.versions_are_those_of_the_library", paths["nvrtc"], paths["mathdx"]
    )
    assert mathdx.get_version() == version
    assert mathdx.mathdx_get_commit() == commit
    readers = (mathdx.get_version_ex, mathdx.mathdx_get_package_version, mathdx.cufftdx_get_version)
    assert [list(read()) for read in readers] == triples


def test_a_transform_of_a_block_has_its_traits() -> None:
    operators = fft(EXECUTION=CommondxExecution.BLOCK, SIZE=64, FFTS_PER_BLOCK=2)
    operators[CufftdxOperatorType.ELEMENTS_PER_THREAD] = 8
    with descriptor("cufftdx", operators) as handle:
        read = mathdx.cufftdx_get_trait_int64
        # 64 elements, 8 a thread: 8 threads a transform, and a block of two of them.
        assert numbers(mathdx.cufftdx_get_trait_int64s, handle, CufftdxTraitType.BLOCK_DIM, 3) == [
            *(8, 2, 1)
        ]
        # From libmathdx 0.4.2 on, real and imaginary parts may be exchanged one after the other.
        assert 2 * 64 * 4 <= read(handle, CufftdxTraitType.SHARED_MEMORY_SIZE) <= 2 * 64 * 8
        assert read(handle, CufftdxTraitType.ELEMENTS_PER_THREAD) == 8
        kind = mathdx.cufftdx_get_trait_commondx_data_type(handle, CufftdxTraitType.VALUE_TYPE)
        assert kind == CommondxValueType.C_32F
        supported = ctypes.c_int(-1)
        mathdx.cufftdx_is_supported(handle, ctypes.addressof(supported))
        assert supported.value == 1
        knobs = [mathdx.CufftdxKnobType.ELEMENTS_PER_THREAD]
        count = mathdx.cufftdx_get_knob_int64size(handle, len(knobs), knobs)
        values = array("q", [0] * count)
        mathdx.cufftdx_get_knob_int64s(handle, len(knobs), knobs, count, values)
        assert 8 in values


def test_a_transform_is_linked_with_a_kernel() -> None:
    name = f"transform_{RNG.integers(10**9)}"
    with descriptor("cufftdx", fft()) as handle:
        mathdx.cufftdx_set_option_str(handle, CommondxOption.SYMBOL_NAME, name)
        assert symbol("cufftdx", handle, CufftdxTraitType.SYMBOL_NAME) == name
        ltoir = code_of(mathdx.cufftdx_finalize_code, handle)
    source = f"""
extern "C" __device__ void {name}(float2 *);
extern "C" __global__ void caller(float2 *data) {{
    float2 own[8];
    for (int i = 0; i < 8; ++i) own[i] = data[i];
    {name}(own);
    for (int i = 0; i < 8; ++i) data[i] = own[i];
}}
"""
    caller = (InputType.LTOIR, compiled(source, *LTO, kind="ltoir"))
    cubin = linked([(InputType.LTOIR, ltoir), caller], "-arch=sm_90", "-lto")
    assert kernels(cubin) == {"caller"}
    with pytest.raises(nvJitLinkError, match=name):
        linked([caller], "-arch=sm_90", "-lto")


def test_several_transforms_are_compiled_together() -> None:
    if mathdx.get_version() < 402:
        pytest.skip("libmathdx compiles several descriptors at once from 0.4.2 on")
    with descriptor("cufftdx", fft()) as first, descriptor("cufftdx", fft(SIZE=7)) as second:
        handles = [first, second]
        one, two = (symbol("cufftdx", handle, CufftdxTraitType.SYMBOL_NAME) for handle in handles)
        ltoir = code_of(lambda code, _: mathdx.cufftdx_finalize_codes(code, 2, handles), first)
    source = f"""
extern "C" __device__ void {one}(float2 *);
extern "C" __device__ void {two}(float2 *);
extern "C" __global__ void caller(float2 *data) {{
    float2 own[8];
    for (int i = 0; i < 8; ++i) own[i] = data[i];
    {one}(own);
    {two}(own);
    for (int i = 0; i < 8; ++i) data[i] = own[i];
}}
"""
    caller = (InputType.LTOIR, compiled(source, *LTO, kind="ltoir"))
    cubin = linked([(InputType.LTOIR, ltoir), caller], "-arch=sm_90", "-lto")
    assert kernels(cubin) == {"caller"}


def test_a_product_has_its_traits_and_code() -> None:
    one = {
        "API": mathdx.CublasdxApi.SMEM,
        "FUNCTION": mathdx.CublasdxFunction.MM,
        "EXECUTION": CommondxExecution.BLOCK,
        "TYPE": mathdx.CublasdxType.REAL,
        "SM": 900,
    }
    lists = {
        "SIZE": [16, 24, 32],
        "PRECISION": [CommondxPrecision.F32] * 3,
        "BLOCK_DIM": [128, 1, 1],
        "ARRANGEMENT": [mathdx.CublasdxArrangement.COL_MAJOR] * 3,
    }
    with descriptor(
        "cublasdx",
        {CublasdxOperatorType[name]: value for name, value in one.items()},
        {CublasdxOperatorType[name]: values for name, values in lists.items()},
    ) as handle:
        read = mathdx.cublasdx_get_trait_int64s
        try:
            sizes = numbers(read, handle, CublasdxTraitType.SIZE, 3)
        except LibMathDxError as error:
            versions = mathdx.get_version(), nvrtc.version()
            if versions[0] < 400 or versions[1] < (13, 1):
                raise
            pytest.skip(f"libmathdx {versions[0]} and NVRTC {versions[1]} do not fit: {error}")
        assert sizes == [16, 24, 32]
        # Columns of A (16 x 32), B (32 x 24) and C (16 x 24).
        assert numbers(read, handle, CublasdxTraitType.LEADING_DIMENSION, 3) == [16, 32, 16]
        types = array("i", [-1] * 3)
        with pytest.raises(ValueError, match="11 bytes, but the call writes 12"):
            mathdx.cublasdx_get_trait_commondx_data_types(
                handle, CublasdxTraitType.VALUE_TYPE, 3, bytearray(11)
            )
        mathdx.cublasdx_get_trait_commondx_data_types(
            handle, CublasdxTraitType.VALUE_TYPE, 3, types
        )
        assert list(types) == [CommondxValueType.R_32F] * 3
        assert len(code_of(mathdx.cublasdx_finalize_code, handle)) > 1000


def test_a_factorization_has_its_traits_and_code() -> None:
    one = {
        "API": mathdx.CusolverdxApi.SMEM,
        "FUNCTION": mathdx.CusolverdxFunction.POTRF,
        "PRECISION": CommondxPrecision.F32,
        "EXECUTION": CommondxExecution.BLOCK,
        "TYPE": mathdx.CusolverdxType.REAL,
        "SM": 900,
        "FILL_MODE": mathdx.CusolverdxFillMode.LOWER,
    }
    lists = {"SIZE": [16, 16, 1], "BLOCK_DIM": [32, 1, 1]}
    with descriptor(
        "cusolverdx",
        {CusolverdxOperatorType[name]: value for name, value in one.items()},
        {CusolverdxOperatorType[name]: values for name, values in lists.items()},
    ) as handle:
        read = mathdx.cusolverdx_get_trait_int64s
        assert numbers(read, handle, CusolverdxTraitType.BLOCK_DIM, 3) == [32, 1, 1]
        name = symbol("cusolverdx", handle, CusolverdxTraitType.SYMBOL_NAME)
        assert name.startswith("cusolverdx_execute")
        assert len(code_of(mathdx.cusolverdx_finalize_code, handle)) > 1000
        size = mathdx.cusolverdx_get_universal_fatbin_size(handle)
        fatbin = bytearray(size)
        mathdx.cusolverdx_get_universal_fatbin(handle, size, fatbin)
        assert any(fatbin)


def test_options_of_code() -> None:
    code = mathdx.commondx_create_code()
    targets = [900, mathdx.CommondxArchModifier.ARCH_SPECIFIC]
    mathdx.commondx_set_code_option_int64s(code, CommondxOption.TARGET_SM, 2, targets)
    mathdx.commondx_set_code_option_str(code, CommondxOption.EXTRA_NVRTC_ARGS, "-lineinfo")
    mathdx.commondx_set_code_option_strs(
        code, CommondxOption.EXTRA_NVRTC_ARGS, 2, ["-lineinfo", b"-G"]
    )
    with pytest.raises(ValueError, match="has 1 elements, but the call reads 2"):
        mathdx.commondx_set_code_option_strs(code, CommondxOption.EXTRA_NVRTC_ARGS, 2, ["-G"])
    with pytest.raises(LibMathDxError, match="commondxSetCodeOptionInt64"):
        mathdx.commondx_set_code_option_int64(code, CommondxOption.CODE_ISA, 1)
    mathdx.commondx_destroy_code(code)


@pytest.mark.parametrize("library", ["cufftdx", "cublasdx", "curanddx", "cusolverdx"])
def test_what_is_no_descriptor_is_a_status(library: str) -> None:
    for call in (
        lambda: getattr(mathdx, f"{library}_destroy_descriptor")(-1),
        lambda: getattr(mathdx, f"{library}_set_operator_int64")(10**9, 0, 1),
        lambda: getattr(mathdx, f"{library}_get_trait_str_size")(2**62, 0),
    ):
        with pytest.raises(LibMathDxError) as caught:
            call()
        assert caught.value.status == CommondxStatusType.INVALID_VALUE
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (LibMathDxError, str(caught.value))


def test_an_incomplete_descriptor_does_not_compile() -> None:
    with descriptor("cufftdx", {CufftdxOperatorType.SIZE: 8}) as handle:
        code = mathdx.commondx_create_code()
        with pytest.raises(LibMathDxError, match="cufftdxFinalizeCode") as caught:
            mathdx.cufftdx_finalize_code(code, handle)
        assert isinstance(caught.value.status, CommondxStatusType)
        mathdx.commondx_destroy_code(code)


def test_lists_are_checked_before_the_call() -> None:
    with descriptor("cublasdx", {}) as handle:
        set_list = mathdx.cublasdx_set_operator_int64s
        with pytest.raises(ValueError, match="has 2 elements, but the call reads 3"):
            set_list(handle, CublasdxOperatorType.SIZE, 3, [32, 32])
        with pytest.raises(OverflowError, match="out of range"):
            set_list(handle, CublasdxOperatorType.SIZE, 1, [2**63])
        with pytest.raises(TypeError, match="array"):
            set_list(
                *(handle, CublasdxOperatorType.SIZE, 1),
                None,  # type: ignore[arg-type]  # what is tested
            )


def test_names_of_members() -> None:
    assert "ompilation" in mathdx.commondx_status_to_str(CommondxStatusType.COMPILATION_ERROR)
    size, direction = CufftdxOperatorType.SIZE, CufftdxOperatorType.DIRECTION
    assert mathdx.cufftdx_operator_type_to_str(size) != mathdx.cufftdx_operator_type_to_str(
        direction
    )
    with pytest.raises(LibMathDxError, match="INTERNAL_ERROR"):
        mathdx.check_status(2)


def test_arrays_that_are_not_there_are_refused() -> None:
    for call in (
        lambda: mathdx.cublasdx_finalize_tensors(2, 0),
        lambda: mathdx.cublasdx_finalize(1, 0, 0, 0),
    ):
        with pytest.raises(ValueError, match="0"):
            call()
    mathdx.cublasdx_finalize(0, 0, 0, [])


def test_other_libraries_do_not_disturb_it() -> None:
    # All of them are opened, libmathdx last.
    settings = {
        f"GPUMATH_{library.name.upper()}_PATH": library.path
        for library in core.libraries()
        if library.name != "driver"
    }
    others, values = in_fresh_process("mathdx.other_libraries_do_not_disturb_it", settings=settings)
    assert others[-1] == "mathdx"
    assert values == [32, 1, 1]
