"""Prologs and epilogs from Python and from CUDA C++, by the real compilers, linked for real."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from gpumath.bindings.errors import NoDeviceError, NVRTCError
from tests.helpers.c_abi import require_compiler
from tests.helpers.callbacks import (
    C_TYPES,
    ELEMENTS,
    SYMBOLS,
    linked_with_caller,
    literal,
    require_compilers,
    require_numba,
)
from tests.helpers.cuda_wheels import in_fresh_process

COMPILE = {"load": fft.compile_prolog, "store": fft.compile_epilog}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    require_compilers()
    monkeypatch.setenv("GPUMATH_CACHE_DIR", "off")


@pytest.fixture(params=["python", "source"])
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "python":
        require_numba()
    return request.param


def scaling(language: str, phase: str, element: str, factor: float) -> Any:
    """A callback that multiplies each element by a constant and by user_info[0]."""
    if language == "python":
        if phase == "load":
            return lambda data, offset, info, _: data[offset] * info[0] * factor

        def store(data: Any, offset: int, value: Any, info: Any, _: Any) -> None:
            data[offset] = value * info[0] * factor

        return store
    cpp, real = C_TYPES[element], "double" if element in ("float64", "complex128") else "float"
    number = f"({real}){factor!r} * *info *"
    product = f"make_{cpp}({number} x.x, {number} x.y)" if cpp.endswith("2") else f"({number} x)"
    if phase == "load":
        return (
            f"__device__ {cpp} prolog(const {cpp} *data, unsigned long long i, const {real} *info,"
            f" void *)\n{{ {cpp} x = data[i]; return {product}; }}"
        )
    return (
        f"__device__ void epilog({cpp} *data, unsigned long long i, {cpp} x, const {real} *info,"
        f" void *)\n{{ data[i] = {product}; }}"
    )


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("architecture", [75, 90, 100])
def test_callbacks_become_a_part_of_the_kernel(
    language: str, element: str, architecture: int
) -> None:
    info = "float64" if element in ("float64", "complex128") else "float32"
    # Numbers of single precision, so that each is a literal in the code.
    factors = [float(x) for x in np.random.default_rng().uniform(2, 3, 2).astype(np.float32)]
    pieces = {
        phase: compile_(
            scaling(language, phase, element, factor),
            element,
            info,
            compute_capability=str(architecture),
        )
        for (phase, compile_), factor in zip(COMPILE.items(), factors, strict=True)
    }
    ptx = linked_with_caller(element, architecture, **pieces)
    # Inlined without a cast: a call with types of another name would stay a call.
    assert "call" not in ptx
    assert ".func" not in ptx
    # In Python a constant is a float64 number, which the compiler may narrow.
    for factor in factors:
        assert literal(factor, element) in ptx or literal(factor, "float64") in ptx


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("phase", ["load", "store"])
def test_ptx_has_the_symbol_that_cufft_looks_for(language: str, phase: str, element: str) -> None:
    info = "float64" if element in ("float64", "complex128") else "float32"
    function = scaling(language, phase, element, 2.0)
    text = COMPILE[phase](
        function, element, info, representation="ptx", compute_capability="90"
    ).decode()
    visible = [line for line in text.splitlines() if ".visible .func" in line]
    # A C++ function of the source is visible too.
    assert any(SYMBOLS[phase, element] in line for line in visible)
    if language == "python":
        assert len(visible) == 1


def test_symbols_are_those_of_a_cpp_compiler(tmp_path: Path) -> None:
    require_compiler("c++")
    code = "struct float2 {}; struct double2 {};\n"
    for phase, element in SYMBOLS:
        name = SYMBOLS[phase, element].partition("cufft")[2].partition("Pv")[0]
        argument = f"{C_TYPES[element]}, " if phase == "store" else ""
        code += f"void cufft{name}(void *, unsigned long long, {argument}void *, void *) {{}}\n"
    (tmp_path / "names.cpp").write_text(code)
    compiled = tmp_path / "names.o"
    subprocess.run(["c++", "-c", "names.cpp", "-o", str(compiled)], check=True, cwd=tmp_path)
    assert all(symbol.encode() in compiled.read_bytes() for symbol in SYMBOLS.values())


def test_a_name_for_the_result_or_for_the_function_in_the_source() -> None:
    source = scaling("source", "load", "float32", 2.0).replace("prolog", "mine::scaled")
    source = f"namespace mine {{ {source.replace('mine::', '')} }}"
    keywords = {"representation": "ptx", "compute_capability": "90"}
    text = fft.compile_prolog(source, "float32", "float32", name="mine::scaled", **keywords)
    assert SYMBOLS["load", "float32"].encode() in text
    require_numba()
    function = scaling("python", "load", "float32", 2.0)
    text = fft.compile_prolog(function, "float32", "float32", name="my_load", **keywords)
    assert b".func  (.param .b32 func_retval0) my_load(" in text


def test_one_source_for_both() -> None:
    source = """
__device__ const float factor = 2.5f;
__device__ float scaled(float x) { return factor * x; }
__device__ float prolog(const float *x, unsigned long long i, void *, void *)
{ return scaled(x[i]); }
__device__ void epilog(float *x, unsigned long long i, float y, void *, void *)
{ x[i] = scaled(y); }
"""
    pieces = {
        phase: compile_(source, "float32", None, compute_capability="90")
        for phase, compile_ in COMPILE.items()
    }
    ptx = linked_with_caller("float32", 90, **pieces)
    assert "call" not in ptx
    assert ptx.count("mul.f32") == 2


def test_functions_of_any_kind_and_every_user_info() -> None:
    require_numba()
    from numba import cuda, types

    window = np.hanning(16).astype(np.float32)

    def windowed(data: Any, offset: int, info: Any, _: Any) -> Any:
        return data[offset] * window[offset % 16] + info[0]

    for function in (windowed, cuda.jit(device=True)(windowed)):
        for info in ("int8", "uint64", np.complex128, np.dtype("float32"), types.int16):
            assert fft.compile_prolog(function, "complex64", info, compute_capability="90")
    # Results are converted to the element type.
    wide = scaling("python", "load", "float32", 2.0)
    assert fft.compile_prolog(wide, "float32", "float64", compute_capability="90")


def test_code_of_an_older_architecture_links_for_a_newer_gpu(language: str) -> None:
    pieces = {
        phase: compile_(
            scaling(language, phase, "complex64", 2.0),
            "complex64",
            "float32",
            compute_capability="80",
        )
        for phase, compile_ in COMPILE.items()
    }
    assert "call" not in linked_with_caller("complex64", 90, **pieces)


SOURCE = scaling("source", "load", "float32", 2.0)


@pytest.mark.parametrize(
    ("arguments", "keywords", "exception", "message"),
    [
        ((SOURCE, "float16", "float32"), {}, ValueError, "element_dtype is 'float16'; allowed are"),
        ((SOURCE, "float32", "text"), {}, ValueError, "user_info_dtype is 'text'"),
        ((SOURCE, "float32", "float16"), {}, ValueError, "or None for a function"),
        ((SOURCE, "float32", "float32"), {"name": "a b"}, ValueError, "name is 'a b'"),
        ((SOURCE, "float32", "float32"), {"name": "other"}, NVRTCError, '"other" is undefined'),
        (("x", "float32", "float32"), {}, NVRTCError, r"prolog\.cu\(1\): error"),
        (('#include "x.h"', "float32", "float32"), {}, NVRTCError, "could not open"),
        ((SOURCE, "float32", "float32"), {"compute_capability": 90}, ValueError, "such as '90'"),
        ((SOURCE, "float32", "float32"), {"compute_capability": "9"}, ValueError, "such as '90'"),
        ((SOURCE, "float32", "float32"), {"compute_capability": "20"}, ValueError, "and newer"),
        ((SOURCE, "float32", "float32"), {"representation": "cubin"}, ValueError, "'ltoir' and"),
        ((7, "float32", "float32"), {}, TypeError, "the function is a int"),
        ((len, "float32", None), {}, ValueError, "user_info_dtype is None"),
    ],
)
def test_what_cannot_be(
    arguments: Any, keywords: Any, exception: type[Exception], message: str
) -> None:
    with pytest.raises(exception, match=message):
        fft.compile_prolog(*arguments, **{"compute_capability": "90", **keywords})


def test_python_that_cannot_be_compiled() -> None:
    require_numba()
    cases = [
        (lambda data, offset, info, _: data, "90", "No conversion from float32"),
        (lambda data, offset, info, _: undefined(data), "90", "undefined"),  # noqa: F821
        (lambda data, offset, info, _: data[offset], "20", "NVVM cannot compile.*20"),
    ]
    for function, capability, message in cases:
        with pytest.raises(ValueError, match=message):
            fft.compile_prolog(function, "float32", "float32", compute_capability=capability)
    with pytest.raises(ValueError, match="user_info_dtype is 'text'"):
        fft.compile_prolog(lambda *_: 0, "float32", "text", compute_capability="90")
    with pytest.raises(TypeError, match="4 argument types given"):
        fft.compile_prolog(lambda data: data[0], "float32", "float32", compute_capability="90")


def test_without_a_gpu_the_compute_capability_is_needed() -> None:
    if core.Device.count():
        pytest.skip("there is a CUDA device")
    with pytest.raises(NoDeviceError, match="pass compute_capability, such as '90'"):
        fft.compile_prolog(SOURCE, "float32", "float32")


@pytest.mark.parametrize("module", ["numba", "numba_cuda", "gpumath.device"])
def test_what_to_install_for_python_functions(module: str) -> None:
    result = in_fresh_process("callback_compile.compiled_without", module)
    assert "pip install 'gpumath-device[cu13]'" in result
    assert "CUDA C++ is compiled without it" in result


def test_a_cufft_without_callbacks(tmp_path: Path) -> None:
    require_compiler("c++")
    library = tmp_path / "libcufft.so.11"
    (tmp_path / "old.cpp").write_text("""
extern "C" int cufftGetProperty(int which, int *value)
{ const int version[] = {11, 2, 3}; *value = version[which]; return 0; }
extern "C" int cufftGetVersion(int *version) { *version = 11203; return 0; }
""")
    command = ["c++", "-shared", "-fPIC", "old.cpp", "-o", str(library)]
    subprocess.run(command, check=True, cwd=tmp_path)
    settings = {"GPUMATH_CUFFT_PATH": library}
    assert "need cuFFT 11.3 (CUDA 12.6 Update 2) or newer, and this is cuFFT 11.2.3" in (
        in_fresh_process("callback_compile.compiled", settings=settings)
    )


def test_device_callables() -> None:
    assert fft.DeviceCallable(b"code") == fft.DeviceCallable(b"code", 4)
    assert fft.DeviceCallable(0x1000, 10, 0x2000).size == 10
    assert fft.DeviceCallable().ltoir is None
    for arguments, message in [
        ((b"code", 3), "size is 3, and ltoir has 4 bytes"),
        ((0x1000,), "pass size"),
        (("code",), "ltoir is a str"),
        ((0x1000, -1), "size is -1"),
        ((b"code", None, 1.5), "data is 1.5"),
    ]:
        with pytest.raises(ValueError, match=message):
            fft.DeviceCallable(*arguments)
