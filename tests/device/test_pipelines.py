"""Pipelines of matrix products without a GPU: sizes, refusals, a kernel for a given GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from tests.helpers.callbacks import require_numba
from tests.helpers.compiler import kernels, linked

OPTIONS: dict[str, Any] = {
    "size": (64, 64, 32),
    "precision": device.Precision(np.float16, np.float16, np.float32),
    "data_type": "real",
    "sm": device.ComputeCapability(9, 0, "a"),
    "arrangement": ("row_major", "col_major", "row_major"),
    "alignment": (16, 16, 16),
    "block_dim": (128, 1, 1),
    "with_pipeline": True,
    "enable_input_streaming": True,
}


@pytest.fixture(scope="module")
def compiler() -> None:
    """Skip unless libmathdx and an NVRTC that it works with are there."""
    try:
        versions = mathdx.get_version(), nvrtc.version()
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    last = (13, 4) if versions[0] < 402 else versions[1]
    if versions[0] < 400 or not (13, 0) <= versions[1] <= last:
        pytest.skip("libmathdx 0.4.2, or 0.4 with NVRTC 13.0 to 13.4, is not there")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"with_pipeline": False}, "with_pipeline=True is needed"),
        (
            {"arrangement": None, "transpose_mode": ("transposed", "transposed")},
            "arrangement and execution='Block' are needed",
        ),
        ({"sm": 70}, r"7.5 or newer; .* is for 7.0"),
    ],
)
def test_refusals_of_products(changes: dict[str, Any], message: str) -> None:
    matmul = device.Matmul(**OPTIONS | changes)
    with pytest.raises(ValueError, match=message):
        matmul.suggest_device_pipeline(2, None, None)


@pytest.mark.usefixtures("compiler")
def test_refusals_of_arguments() -> None:
    matmul = device.Matmul(**OPTIONS)
    a = np.zeros((128, 64), np.float16)
    for depth in (-1, 1.5, True, False):
        with pytest.raises(ValueError, match=r"pipeline_depth is .*; a positive integer"):
            matmul.suggest_device_pipeline(depth, a, a)  # type: ignore[arg-type]
    unknown: Any = "most"
    with pytest.raises(ValueError, match="one of 'fixed', 'heuristic' is needed"):
        matmul.suggest_device_pipeline(2, a, a, block_size_strategy=unknown)
    with pytest.raises(ValueError, match="a is in the memory of the CPU"):
        matmul.suggest_device_pipeline(2, a, a)
    with pytest.raises(TypeError, match="the operand is a int"):
        matmul.suggest_device_pipeline(2, 1, 2)


@pytest.mark.usefixtures("compiler")
def test_old_libraries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, sm, needed in (((12, 9), 90, "CUDA 13.0"), ((13, 0), 100, "CUDA 13.1")):
        monkeypatch.setattr(nvrtc, "version", lambda version=version: version)
        matmul = device.Matmul(**OPTIONS | {"sm": sm})
        with pytest.raises(RuntimeError, match=f"need {needed}, and NVRTC is of"):
            matmul.suggest_device_pipeline(2, None, None)
    monkeypatch.setattr(mathdx, "get_version_ex", lambda: (0, 3, 2))
    with pytest.raises(RuntimeError, match=r"need libmathdx 0.4, and 0.3.2 is"):
        matmul.suggest_device_pipeline(2, None, None)


def test_what_kernels_call_refuses_outside_of_kernels() -> None:
    for function, arguments in (
        (device.DevicePipeline.get_tile, (None,) * 4),
        (device.DevicePipeline.reset_tile, (None,) * 4),
        (device.TilePipeline.execute, (None,) * 2),
    ):
        with pytest.raises(RuntimeError, match="is called inside kernels"):
            function(*arguments)  # type: ignore[operator]


@pytest.mark.usefixtures("compiler")
def test_kernels_for_blackwell() -> None:
    if nvrtc.version() < (13, 1):
        pytest.skip("an NVRTC of CUDA 13.1 is not there")
    from gpumath.device._pipeline_code import PipelineCode

    for sm in (device.ComputeCapability(10, 0, "a"), device.ComputeCapability(12, 0)):
        code = PipelineCode(device.Matmul(**OPTIONS | {"sm": sm}), 2, "fixed", 2)
        assert kernels(code.kernels()) == {"create", "destroy"}


@pytest.mark.usefixtures("compiler")
def test_a_kernel_without_a_gpu() -> None:
    require_numba()
    from numba import cuda
    from numba.core.errors import NumbaError
    from numba.cuda import types

    from gpumath.device import make_tensor
    from gpumath.device._numba._pipelines import DevicePipelineType
    from gpumath.device._pipeline_code import PipelineCode

    m, n, k = OPTIONS["size"]
    matmul = device.Matmul(**OPTIONS)
    code = PipelineCode(matmul, 3, "heuristic", 2)
    # A tile of a and one of b at each of three places, and barriers; more threads that only copy.
    assert 0 <= code.buffer_size - 3 * 2 * (m * k + k * n) < 1024
    assert code.block_dim == (128 + 128, 1, 1)
    assert code.buffer_alignment % 16 == code.storage_alignment % 8 == 0
    assert kernels(code.kernels()) == {"create", "destroy"}

    def kernel(c: Any, ld: Any, pipeline: Any) -> None:
        shared = cuda.shared.array(0, np.byte, alignment=pipeline.buffer_alignment)
        tile = pipeline.get_tile(shared, cuda.blockIdx.x, cuda.blockIdx.y)
        accumulator = matmul.suggest_accumulator()
        tile.execute(accumulator)
        c_tile = c[cuda.blockIdx.x * m :, cuda.blockIdx.y * n :]
        tensor = make_tensor(c_tile, matmul.get_layout_gmem_c(ld))
        if accumulator.is_thread_active():
            fragment = accumulator.make_partition_and_copy(tensor)
            results = accumulator.get_results()
            for i in range(accumulator.size()):
                results[i] += fragment[i]
            accumulator.partition_and_copy(results, tensor)
        accumulator.partition_and_store(tensor)
        c[0, 0] = pipeline.block_dim.x + pipeline.storage_bytes + tile.storage_alignment
        tile._del()

    def wrong_position(c: Any, ld: Any, pipeline: Any) -> None:
        pipeline.get_tile(c, (ld, ld), 0)

    def read_too_early(c: Any, ld: Any, pipeline: Any) -> None:
        c[0, 0] = matmul.suggest_accumulator().is_thread_active()

    def wrong_accumulator(c: Any, ld: Any, pipeline: Any) -> None:
        matmul.get_accumulator()

    signature = types.void(types.float32[:, ::1], types.int64, DevicePipelineType(code))
    (extension,) = device.pipeline_extensions
    pipeline = object.__new__(device.DevicePipeline)
    pipeline._address = 2**40 + 64
    passed, address = extension.prepare_args(signature.args[2], pipeline, None, [])
    assert isinstance(passed, types.CPointer)  # what Numba passes as an address
    assert address == 2**40 + 64
    options: dict[str, Any] = {"device": False, "abi": "numba", "output": "ltoir"}
    options |= {"cc": (9, 0, "a"), "launch_bounds": 256}
    codes, _ = cuda.compile_all(kernel, signature, **options)
    data = [one if isinstance(one, bytes) else one.data for one in codes]
    assert len(data) == 2
    cubin = linked([(InputType.LTOIR, one) for one in data], "-arch=sm_90a", "-lto")
    # All functions are inlined: the kernel alone is left.
    assert len(kernels(cubin)) == 1
    for wrong, message in (
        (wrong_position, "gets .* as a position; an integer is needed"),
        (read_too_early, "before TilePipeline.execute"),
        (wrong_accumulator, r"suggest_accumulator\(\) is needed"),
    ):
        with pytest.raises(NumbaError, match=message):
            cuda.compile_all(wrong, signature, **options)
