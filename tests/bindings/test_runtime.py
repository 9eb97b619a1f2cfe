"""`gpumath.bindings.runtime` with the real CUDA runtime, without a GPU."""

from __future__ import annotations

import inspect
import pickle
import struct
from typing import Any

import pytest

from gpumath.bindings import core, errors, runtime
from gpumath.bindings.runtime import CUDARuntimeError, Error
from tests.helpers.cuda_wheels import in_fresh_process

# The functions whose parameters CUDA 13 changed, and what CUDA 12 has under the same symbol.
CHANGED = [
    ("graph_add_dependencies", "graph_add_dependencies_v1"),
    ("graph_add_node", "graph_add_node_v1"),
    ("graph_get_edges", "graph_get_edges_v1"),
    ("graph_node_get_dependencies", "graph_node_get_dependencies_v1"),
    ("graph_node_get_dependent_nodes", "graph_node_get_dependent_nodes_v1"),
    ("graph_remove_dependencies", "graph_remove_dependencies_v1"),
    ("mem_advise", "mem_advise_v1"),
    ("mem_prefetch_async", "mem_prefetch_async_v1"),
    ("memcpy3d_batch_async", "memcpy3d_batch_async_v1"),
    ("memcpy_batch_async", "memcpy_batch_async_v1"),
    ("stream_update_capture_dependencies", "stream_update_capture_dependencies_v1"),
    # The plain names have another meaning, or an older struct, in CUDA 12's library.
    ("get_device_properties", "get_device_properties_v2"),
    ("stream_get_capture_info", "stream_get_capture_info_v2"),
    ("signal_external_semaphores_async", "signal_external_semaphores_async_v2"),
    ("wait_external_semaphores_async", "wait_external_semaphores_async_v2"),
]
NO_DEVICE = {Error.INSUFFICIENT_DRIVER, Error.NO_DEVICE, Error.STUB_LIBRARY}


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    try:
        runtime.runtime_get_version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"no CUDA runtime in the test environment: {str(error).splitlines()[0]}")


def runtime_file() -> str:
    return next(library.path for library in core.libraries() if library.name == "runtime")


def without_gpu(target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns in a process that sees no device."""
    settings = {"GPUMATH_RUNTIME_PATH": runtime_file(), "CUDA_VISIBLE_DEVICES": "-1"}
    return in_fresh_process(target, *arguments, settings=settings)


def test_versions_are_those_of_the_library() -> None:
    assert [runtime.runtime_get_version(), runtime.driver_get_version()] == in_fresh_process(
        "runtime.versions_are_those_of_the_library", runtime_file()
    )


def test_statuses_have_the_names_of_the_library() -> None:
    unknown = runtime.get_error_string(2**31 - 1)
    known = [status for status in Error if runtime.get_error_string(status) != unknown]
    assert len(known) > 100
    for status in known:
        name = runtime.get_error_name(status).removeprefix("cudaError").removeprefix("cuda")
        assert name.lower() == status.name.replace("_", "").lower()


def test_no_device_is_a_status() -> None:
    *failures, last = without_gpu("runtime.no_device_is_a_status")
    assert len(failures) == 7
    assert {status for status, _ in failures} <= NO_DEVICE
    assert failures[0][1].startswith("cudaGetDeviceCount: ")
    assert last == [failures[0][0]] * 2


def test_no_device_is_an_exception_that_can_be_pickled() -> None:
    error = CUDARuntimeError(35, "cudaMalloc")
    again = pickle.loads(pickle.dumps(error))
    assert again.status is Error.INSUFFICIENT_DRIVER
    assert str(again) == str(error)
    text = "cudaMalloc: cudaErrorInsufficientDriver (35): the CUDA driver is absent"
    assert str(error).startswith(text)
    assert CUDARuntimeError(123456).status == 123456
    with pytest.raises(CUDARuntimeError, match="cudaErrorInvalidValue"):
        runtime.check_status(1)
    runtime.check_status(0)


def test_what_has_other_parameters_is_refused() -> None:
    names = [name for pair in CHANGED for name in pair]
    outcomes = without_gpu("runtime.what_has_other_parameters_is_refused", names)
    of_cuda_13 = runtime.runtime_get_version() >= 13000
    for newer, older in CHANGED:
        here, absent = (newer, older) if of_cuda_13 else (older, newer)
        assert outcomes[absent] == f"absent from {runtime_file()}", absent
        assert outcomes[here] in NO_DEVICE, here


def test_arguments_are_checked_before_the_call() -> None:
    with pytest.raises(ValueError, match="but the C struct has 32"):
        runtime.memset3d(bytes(31), 0, runtime.Extent())
    with pytest.raises(TypeError, match="grid_dim"):
        runtime.launch_kernel(
            0,
            None,  # type: ignore[arg-type]  # what is tested
            *(bytes(12), [], 0, 0),
        )
    with pytest.raises(ValueError, match="has 1 elements, but the call reads 3"):
        runtime.graph_add_empty_node(0, [1], 3)
    with pytest.raises(ValueError, match="has 12 bytes, but the call writes 13"):
        runtime.device_get_pci_bus_id(bytearray(12), 13, 0)
    with pytest.raises(ValueError, match="has 8 bytes, but the call writes 9"):
        runtime.mem_range_get_attribute(bytearray(8), 9, 1, 0, 0)
    with pytest.raises(OverflowError, match="out of range"):
        runtime.set_device(2**31)
    with pytest.raises(TypeError, match="pci_bus_id"):
        runtime.device_get_by_pci_bus_id(None)  # type: ignore[arg-type]  # too


def test_structs_have_the_layout_of_the_headers() -> None:
    copy = runtime.Memcpy3DParms()
    copy.src_ptr.ptr_, copy.src_ptr.pitch = 0x1234, 512
    copy.dst_pos.y = 7
    copy.extent.width, copy.extent.height, copy.extent.depth = 64, 32, 16
    copy.kind = runtime.MemcpyKind.HOST_TO_DEVICE
    expected = struct.pack(
        "Q3Q4QQ3Q4Q3Qi4x",
        *(0, 0, 0, 0, 0x1234, 512, 0, 0),
        *(0, 0, 7, 0, 0, 0, 0, 0),
        *(64, 32, 16, 1),
    )
    assert bytes(copy) == expected
    channels = runtime.create_channel_desc(8, 16, 24, 32, runtime.ChannelFormatKind.UNSIGNED)
    assert bytes(channels) == struct.pack("5i", 8, 16, 24, 32, 1)
    config = runtime.LaunchConfig()
    config.block_dim_x, config.dynamic_smem_bytes, config.num_attrs = 128, 4096, 3
    assert bytes(config) == struct.pack("6IQQQI4x", 0, 0, 0, 128, 0, 0, 4096, 0, 0, 3)
    assert (runtime.DeviceProp().itemsize, runtime.DevicePropV2().itemsize) == (1008, 1032)
    assert runtime.PointerAttributes().itemsize == 88


def test_signatures() -> None:
    for function, parameters in (
        (runtime.malloc, ["size"]),
        (runtime.malloc_pitch, ["width", "height"]),
        (runtime.memcpy2d, ["dst", "dpitch", "src", "spitch", "width", "height", "kind"]),
        (runtime.event_elapsed_time, ["start", "end"]),
        (runtime.create_texture_object, ["p_res_desc", "p_tex_desc", "p_res_view_desc"]),
        (runtime.device_get_p2p_attribute, ["attr", "src_device", "dst_device"]),
        (runtime.get_last_error, []),
    ):
        assert list(inspect.signature(function).parameters) == parameters
