"""The names of nvmath-python, answered by gpumath: imports, attributes, and what is missing."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpumath.compat.nvmath
from gpumath import device, fft, memory
from gpumath.bindings import cublasLt, cufft, errors

HERE = "gpumath.compat.nvmath"


@pytest.fixture
def nvmath() -> Iterator[Any]:
    """The module that `import nvmath` finds while gpumath answers for it."""
    gpumath.compat.nvmath.install()
    try:
        import nvmath

        yield nvmath
    finally:
        gpumath.compat.nvmath.uninstall()


@pytest.mark.parametrize("prefix", [HERE, "nvmath"])
def test_every_form_of_import(prefix: str) -> None:
    names: dict[str, Any] = {}
    gpumath.compat.nvmath.install()
    try:
        for statement in (
            f"import {prefix} as n",
            f"import {prefix}.fft",
            f"import {prefix}.bindings.cufft as c",
            f"from {prefix} import fft",
            f"from {prefix}.bindings import cufft, cublasLt as lt",
            f"from {prefix}.fft import FFT, UnsupportedLayoutError, irfft",
            f"from {prefix}.memory import MemoryPointer, BaseCUDAMemoryManager",
            f"from {prefix}.linalg.generic import matmul",
            f"from {prefix}.bindings._internal.utils import FunctionNotFoundError as F",
            f"from {prefix}.device.common import axpby, copy_wait, make_tensor",
            f"from {prefix}.device.common_cuda import Dim3, get_current_device_cc",
            f"from {prefix}.device.cublasdx import DevicePipeline, SharedStorageCalc",
            f"from {prefix}.device.cublasdx_backend import MAX_ALIGNMENT",
            f"from {prefix}.device.cufftdx import FFT as device_FFT",
            f"from {prefix}.device.cusolverdx import Solver, _SolverProperties as solvers",
            f"from {prefix}.device.types import complex64",
            f"import {prefix}.device as d; helpers = d.random.random_helpers.DirectionVectorSet",
            f"from {prefix}._utils import get_nvrtc_version",
        ):
            exec(statement, names)
        star: dict[str, Any] = {}
        generic: dict[str, Any] = {}
        exec(f"from {prefix}.fft import *", star)
        exec(f"from {prefix}.linalg.generic import *", generic)
        exec(f"from {prefix}.bindings._internal import *", {})
    finally:
        gpumath.compat.nvmath.uninstall()
    assert star.keys() >= {"FFT", "fft", "ifft", "rfft", "irfft", "FFTOptions", "compile_prolog"}
    assert generic.keys() >= {"Matmul", "matmul"}
    assert "advanced" not in generic
    assert names["n"].fft is names["fft"]
    assert names["c"] is names["cufft"] is names["n"].bindings.cufft
    assert names["FFT"] is fft.FFT
    assert names["irfft"] is names["n"].fft.irfft is fft.irfft
    assert names["UnsupportedLayoutError"] is errors.UnsupportedLayoutError
    assert names["MemoryPointer"] is names["n"].MemoryPointer is memory.MemoryPointer
    assert names["F"] is errors.FunctionNotFoundError
    assert names["DevicePipeline"] is device.DevicePipeline
    assert names["get_current_device_cc"] is device.current_device_sm
    assert names["MAX_ALIGNMENT"] == (16, 16, 16)
    assert names["device_FFT"] is device.FFT
    assert issubclass(device.CholeskySolver, names["solvers"])
    with suppress(errors.LibraryNotFoundError):  # NVRTC
        assert names["get_nvrtc_version"]()[:2] >= (12, 0)
    assert names["lt"].Epilogue is cublasLt.Epilogue
    assert names["n"].__version__ == "1.0.0"


@pytest.mark.parametrize(
    ("statement", "feature", "lack"),
    [
        ("import {}.tensor", "nvmath.tensor", "there is no gpumath.tensor"),
        ("from {} import distributed", "nvmath.distributed", "there is no gpumath.distributed"),
        ("from {}.tensor import contract", "nvmath.tensor", "there is no gpumath.tensor"),
        ("from {}.fft import dct9", "nvmath.fft.dct9", "gpumath.fft has no dct9"),
        ("from {}.bindings import cudss", "nvmath.bindings.cudss", "gpumath.bindings has no cudss"),
        ("import {}.bindings.nvpl.fft", "nvmath.bindings.nvpl", "gpumath.bindings has no nvpl"),
    ],
)
@pytest.mark.parametrize("prefix", [HERE, "nvmath"])
def test_a_missing_module_is_named(prefix: str, statement: str, feature: str, lack: str) -> None:
    gpumath.compat.nvmath.install()
    try:
        with pytest.raises(ImportError) as caught:
            exec(statement.format(prefix), {})
    finally:
        gpumath.compat.nvmath.uninstall()
    assert str(caught.value).startswith(f"{feature} is not in gpumath: {lack}. ")
    # As the interpreter: the module that is imported from, or the one that is not found.
    is_attribute = statement.startswith("from") and feature.endswith(statement.split()[-1])
    name = feature.rpartition(".")[0] if is_attribute else feature
    assert caught.value.name == name.replace("nvmath", prefix, 1)


@pytest.mark.parametrize(
    ("statement", "place", "names"),
    [
        ("from {}.fft.fft import FFT", "fft", "nvmath.fft.FFT and nvmath.fft.fft"),
        ("import {}.linalg.generic.matmul", "linalg.generic", "nvmath.linalg.generic.Matmul and "),
        ("import {}.MemoryPointer", "", "nvmath.MemoryPointer"),
    ],
)
@pytest.mark.parametrize("prefix", [HERE, "nvmath"])
def test_a_name_that_is_imported_as_a_module(
    prefix: str, statement: str, place: str, names: str
) -> None:
    gpumath.compat.nvmath.install()
    try:
        with pytest.raises(ModuleNotFoundError) as caught:
            exec(statement.format(prefix), {})
    finally:
        gpumath.compat.nvmath.uninstall()
    imported = statement.format("nvmath").split()[1]
    area = f"nvmath.{place}" if place else "nvmath"
    assert str(caught.value).startswith(
        f"{imported} is not a module in gpumath: import the public names from {area}, "
        f"such as {names}"
    )
    assert caught.value.name == imported.replace("nvmath", prefix, 1)


@pytest.mark.parametrize("prefix", [HERE, "nvmath"])
def test_whether_there_is_a_module_can_be_asked(prefix: str) -> None:
    gpumath.compat.nvmath.install()
    try:
        for name in ("sparse", "nosuch", "fft.nosuch", "fft.fft", "bindings.cudss"):
            assert importlib.util.find_spec(f"{prefix}.{name}") is None
        for name in ("fft", "bindings.cufft", "linalg.generic"):
            spec = importlib.util.find_spec(f"{prefix}.{name}")
            assert spec is not None
            assert spec.name == f"{prefix}.{name}"
    finally:
        gpumath.compat.nvmath.uninstall()


def test_modules_have_files(nvmath: Any) -> None:
    for module in (nvmath, nvmath.fft, nvmath.bindings.cufft, nvmath.linalg.generic):
        assert os.path.isfile(module.__file__)
    assert nvmath.fft.__file__ == fft.__file__


def test_a_missing_attribute_is_named(nvmath: Any) -> None:
    for use in (lambda: nvmath.tensor, lambda: nvmath.fft.dct9, lambda: nvmath.bindings.cudss):
        with pytest.raises(AttributeError, match=r"^nvmath\.\S+ is not in gpumath: "):
            use()
    assert not hasattr(nvmath, "tensor")
    assert hasattr(nvmath, "fft")


def test_what_is_shown(nvmath: Any) -> None:
    shown = {"bindings", "fft", "linalg", "memory", "MemoryPointer", "CudaDataType", "__version__"}
    assert {*dir(nvmath)} >= shown
    assert {*dir(nvmath.fft)} >= {*fft.__all__}
    assert {*dir(nvmath.bindings)} >= {"cublas", "cufft", "cusparse"}
    assert "tensor" not in dir(nvmath)
    assert {*dir(gpumath.compat.nvmath)} >= shown


def test_nvmath_itself_comes_back() -> None:
    finders = list(sys.meta_path)
    gpumath.compat.nvmath.install()
    gpumath.compat.nvmath.install()
    import nvmath
    import nvmath.fft

    gpumath.compat.nvmath.uninstall()
    gpumath.compat.nvmath.uninstall()
    assert sys.meta_path == finders
    assert not any(name.partition(".")[0] == "nvmath" for name in sys.modules)
    sys.modules["nvmath"] = ModuleType("nvmath")
    try:
        with pytest.raises(RuntimeError, match="nvmath is imported already"):
            gpumath.compat.nvmath.install()
    finally:
        del sys.modules["nvmath"]
    assert nvmath.fft.fft is fft.fft  # a program that has the module can go on


def test_the_ipython_extension() -> None:
    gpumath.compat.nvmath.load_ipython_extension(None)
    import nvmath

    assert nvmath.fft.fft is fft.fft
    gpumath.compat.nvmath.unload_ipython_extension(None)
    assert "nvmath" not in sys.modules


def test_a_logger_adapter_logs(caplog: pytest.LogCaptureFixture) -> None:
    class Numbered(logging.LoggerAdapter[Any]):
        def process(self, msg: Any, kwargs: Any) -> tuple[str, Any]:
            return f"7: {msg}", kwargs

    a = np.ones(8, np.complex64)
    with caplog.at_level(logging.INFO):
        options = fft.FFTOptions(logger=Numbered(logging.getLogger("program")))
        fft.fft(a, options=options)
        with fft.FFT(a, options=options) as transform:
            transform.plan()
            transform.execute()
    assert len(caplog.messages) > 3
    assert all(message.startswith("7: ") for message in caplog.messages)
    with pytest.raises(TypeError, match=r"a logging\.Logger, a logging\.LoggerAdapter or None"):
        fft.FFTOptions(logger=print)  # type: ignore[arg-type]  # that is the test


def test_reset_operand_takes_another_shape_of_the_batch() -> None:
    rng = np.random.default_rng()
    first = rng.standard_normal((8, 6, 5)) + 0j
    with fft.FFT(first, axes=[0]) as transform:
        for ready in (False, True):
            if ready:
                transform.plan()
            for shape in ((8, 30), (8, 5, 6), (8, 2, 3, 5), (8, 6, 5)):
                operand = rng.standard_normal(shape) + 0j
                transform.reset_operand(operand)
                assert transform.get_output_layout()[0] == shape
                assert transform.get_key() == fft.FFT.create_key(operand, axes=[0])
                if ready:
                    np.testing.assert_allclose(transform.execute(), np.fft.fft(operand, axis=0))
        for shape in ((8, 31), (4, 60), (30, 8)):
            with pytest.raises(ValueError, match="this FFT object was made for"):
                transform.reset_operand(rng.standard_normal(shape) + 0j)
        with pytest.raises(ValueError, match="this FFT object was made for"):
            transform.reset_operand(rng.standard_normal((30, 8)).T + 0j)


def test_the_kind_in_the_options_of_functions() -> None:
    rng = np.random.default_rng()
    signal = rng.standard_normal(20)
    half = np.fft.rfft(signal)
    for kind in (None, "C2C", "R2C", "C2R"):
        options = fft.FFTOptions(fft_type=kind)  # type: ignore[arg-type]  # one of the allowed
        np.testing.assert_allclose(fft.irfft(half, options=options) / 20, signal, atol=1e-12)
        np.testing.assert_allclose(fft.rfft(signal, options=options), half, atol=1e-12)
        assert options.fft_type == kind
    np.testing.assert_allclose(fft.ifft(half, options={"fft_type": "C2R"}) / 20, signal, atol=1e-12)
    with pytest.raises(ValueError, match="fft_type is 'R2C', and this function does C2C"):
        fft.ifft(half, options={"fft_type": "R2C"})


def test_attributes_of_a_transform() -> None:
    a = np.ones((4, 6), np.float32)
    options = fft.FFTOptions(result_layout="natural")
    with fft.FFT(a, axes=[-1], options=options, execution={"name": "cpu", "num_threads": 2}) as t:
        assert t.axes == (1,)
        assert t.operand is a
        assert t.options is options
        assert t.logger is logging.getLogger()
        assert t.execution_options == fft.ExecutionCPU(num_threads=2)
        assert (t.execution_space, t.memory_space, t.device_id) == ("cpu", "cpu", "cpu")
        assert (t.operand_data_type, t.result_data_type) == ("float32", "complex64")
        assert (t.fft_abstract_type, t.inplace, t.package, t.operand_dim) == (
            "R2C",
            False,
            "numpy",
            2,
        )
        with pytest.raises(AttributeError):
            t.axes = (0,)  # type: ignore[misc]  # that is the test
        t.release_operand()
        assert t.operand is None
    assert t.axes == (1,)
    assert t.execution_options == fft.ExecutionCPU(num_threads=2)
    assert (t.execution_space, t.memory_space, t.device_id) == ("cpu", "cpu", "cpu")
    assert (t.operand_data_type, t.result_data_type) == ("float32", "complex64")
    assert (t.fft_abstract_type, t.operand_dim, t.operand) == ("R2C", 2, None)
    assert t.logger is logging.getLogger()
    for method in (t.plan, t.execute, t.get_key, t.get_input_layout, t.release_operand):
        with pytest.raises(fft.InvalidFFTState, match="freed"):
            method()


def test_a_block_without_finalizer_is_freed_any_number_of_times() -> None:
    pointer = memory.MemoryPointer(4096, 16, None)
    pointer.free()
    pointer.free()


def test_the_message_of_an_unsupported_layout() -> None:
    error = errors.UnsupportedLayoutError("copy it", (1, 0), (1,))
    assert (error.message, error.permutation, error.axes) == ("copy it", (1, 0), (1,))


def test_default_formats_are_refused_by_name_where_cufft_lacks_them() -> None:
    try:
        cufft.get_version()
    except errors.LibraryNotFoundError:
        pytest.skip("there is no cuFFT")
    with pytest.raises(errors.FunctionNotFoundError, match="only cuFFTMp has it") as caught:
        cufft.xt_set_subformat_default(1, cufft.XtSubFormat.FORMAT_INPLACE, 0)
    assert caught.value.symbol == "cufftXtSetSubformatDefault"


def test_what_gpumath_imports_itself_is_not_served(nvmath: Any) -> None:
    assert nvmath.bindings.core.Device.__name__ == "Device"
    assert not hasattr(nvmath.bindings.core, "os")
    assert not hasattr(nvmath.bindings.cublasLt, "_rows")
