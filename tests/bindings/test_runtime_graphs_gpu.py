"""`gpumath.bindings.runtime` on a GPU: graphs, arrays, textures and surfaces."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import runtime
from gpumath.bindings.runtime import Error, GraphNodeType, MemcpyKind
from tests.helpers.compiler import compiled

pytestmark = pytest.mark.gpu

RNG = np.random.default_rng()
TO_DEVICE, TO_HOST = MemcpyKind.HOST_TO_DEVICE, MemcpyKind.DEVICE_TO_HOST
SAMPLING = """
extern "C" __global__ void sample(cudaTextureObject_t image, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) out[y * width + x] = tex2D<float>(image, x + 1.0f, y + 1.0f);
}
extern "C" __global__ void square(cudaSurfaceObject_t image, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x >= width || y >= height) return;
    float value;
    surf2Dread(&value, image, 4 * x, y);
    surf2Dwrite(value * value, image, 4 * x, y);
}
"""


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    runtime.set_device(0)
    yield
    runtime.device_synchronize()
    assert runtime.get_last_error() == Error.SUCCESS


@pytest.fixture
def stream() -> Iterator[int]:
    handle = runtime.stream_create()
    yield handle
    runtime.stream_destroy(handle)


@contextmanager
def memory(size: int) -> Iterator[int]:
    address = runtime.malloc(size)
    yield address
    runtime.free(address)


@contextmanager
def kernel(source: str, name: str) -> Iterator[int]:
    major = runtime.device_get_attribute(runtime.DeviceAttr.COMPUTE_CAPABILITY_MAJOR, 0)
    minor = runtime.device_get_attribute(runtime.DeviceAttr.COMPUTE_CAPABILITY_MINOR, 0)
    code = compiled(source, f"-arch=sm_{major}{minor}", kind="cubin")
    library = runtime.library_load_data(code, [], [], 0, [], [], 0)
    yield runtime.library_get_kernel(library, name)
    runtime.library_unload(library)


def launch(
    function: int,
    blocks: int,
    threads: int,
    values: Sequence[ctypes._SimpleCData[Any]],
) -> None:
    addresses = [ctypes.addressof(value) for value in values]
    grid, block = struct.pack("3I", blocks, 1, 1), struct.pack("3I", threads, 1, 1)
    runtime.launch_kernel(function, grid, block, addresses, 0, 0)


def nodes(graph: int) -> list[int]:
    count = array("Q", [0])
    runtime.graph_get_nodes(graph, 0, count)
    found = array("Q", [0] * count[0])
    runtime.graph_get_nodes(graph, found, count)
    return list(found)


def run(graph: int, stream: int) -> None:
    executable = runtime.graph_instantiate(graph, 0)
    runtime.graph_upload(executable, stream)
    runtime.graph_launch(executable, stream)
    runtime.stream_synchronize(stream)
    assert runtime.graph_exec_get_flags(executable) == 0
    runtime.graph_exec_destroy(executable)


def test_a_graph_is_built_of_nodes(stream: int) -> None:
    data = RNG.integers(0, 256, 4096, np.uint8)
    back = np.zeros_like(data)
    with memory(data.nbytes) as first, memory(data.nbytes) as second:
        graph = runtime.graph_create(0)
        start = runtime.graph_add_empty_node(graph, [], 0)
        fill = runtime.MemsetParams()
        fill.dst, fill.value, fill.element_size, fill.width, fill.height = second, 9, 1, 64, 1
        up = runtime.graph_add_memcpy_node1d(
            graph, [start], 1, first, data.ctypes.data, data.nbytes, TO_DEVICE
        )
        across = runtime.graph_add_memcpy_node1d(
            graph, [up], 1, second, first, data.nbytes, MemcpyKind.DEVICE_TO_DEVICE
        )
        filled = runtime.graph_add_memset_node(graph, (across,), 1, fill)
        down = runtime.graph_add_memcpy_node1d(
            graph, 0, 0, back.ctypes.data, second, data.nbytes, TO_HOST
        )
        if runtime.runtime_get_version() >= 13000:
            runtime.graph_add_dependencies(graph, [filled], [down], 0, 1)
        else:
            runtime.graph_add_dependencies_v1(graph, [filled], [down], 1)
        assert {*nodes(graph)} == {start, up, across, filled, down}
        kinds = [runtime.graph_node_get_type(node) for node in (start, up, filled)]
        assert kinds == [GraphNodeType.EMPTY, GraphNodeType.MEMCPY, GraphNodeType.MEMSET]
        roots, count = array("Q", [0] * 4), array("Q", [4])
        runtime.graph_get_root_nodes(graph, roots, count)
        assert list(roots[: count[0]]) == [start]
        written = runtime.MemsetParams()
        runtime.graph_memset_node_get_params(filled, written)
        assert bytes(written) == bytes(fill)
        clone = runtime.graph_clone(graph)
        assert runtime.graph_node_find_in_clone(filled, clone) in nodes(clone)
        run(clone, stream)
        runtime.graph_destroy(clone)
        runtime.graph_destroy_node(down)
        assert len(nodes(graph)) == 4
        runtime.graph_destroy(graph)
    assert (back[:64] == 9).all()
    np.testing.assert_array_equal(back[64:], data[64:])


def test_edges_are_read_back() -> None:
    graph = runtime.graph_create(0)
    first = runtime.graph_add_empty_node(graph, [], 0)
    second = runtime.graph_add_empty_node(graph, [first], 1)
    third = runtime.graph_add_empty_node(graph, [first, second], 2)
    sources, targets, count = array("Q", [0] * 9), array("Q", [0] * 9), array("Q", [9])
    if runtime.runtime_get_version() >= 13000:
        edges = runtime.GraphEdgeData(9)
        runtime.graph_get_edges(graph, sources, targets, edges, count)
        found, number = array("Q", [0] * 4), array("Q", [4])
        runtime.graph_node_get_dependencies(third, found, runtime.GraphEdgeData(4), number)
    else:
        runtime.graph_get_edges_v1(graph, sources, targets, count)
        found, number = array("Q", [0] * 4), array("Q", [4])
        runtime.graph_node_get_dependencies_v1(third, found, number)
    pairs = {*zip(sources[: count[0]], targets[: count[0]], strict=True)}
    assert pairs == {(first, second), (first, third), (second, third)}
    assert {*found[: number[0]]} == {first, second}
    runtime.graph_destroy(graph)


def test_a_node_of_any_kind_is_added(stream: int) -> None:
    with memory(256) as address:
        graph = runtime.graph_create(0)
        params = runtime.GraphNodeParams()
        params.type = GraphNodeType.MEMSET
        fill = params.memset
        fill.dst, fill.value, fill.element_size, fill.width, fill.height = address, 77, 1, 256, 1
        if runtime.runtime_get_version() >= 13000:
            node = runtime.graph_add_node(graph, [], 0, 0, params)
        else:
            node = runtime.graph_add_node_v1(graph, [], 0, params)
        assert nodes(graph) == [node]
        run(graph, stream)
        back = np.zeros(256, np.uint8)
        runtime.memcpy(back.ctypes.data, address, 256, TO_HOST)
        runtime.graph_destroy(graph)
    assert (back == 77).all()


def test_a_stream_is_captured(stream: int) -> None:
    data, back = RNG.random(512), np.zeros(512)
    with memory(data.nbytes) as address:
        runtime.stream_begin_capture(stream, runtime.StreamCaptureMode.THREAD_LOCAL)
        runtime.memcpy_async(address, data.ctypes.data, data.nbytes, TO_DEVICE, stream)
        assert runtime.stream_is_capturing(stream) == runtime.StreamCaptureStatus.ACTIVE
        if runtime.runtime_get_version() >= 13000:
            status, number, graph, waits, _edges, count = runtime.stream_get_capture_info(stream)
        else:
            status, number, graph, waits, count = runtime.stream_get_capture_info_v2(stream)
        assert status == runtime.StreamCaptureStatus.ACTIVE
        assert number > 0
        assert ctypes.c_void_p.from_address(waits).value == nodes(graph)[0]
        assert count == 1
        runtime.memcpy_async(back.ctypes.data, address, data.nbytes, TO_HOST, stream)
        captured = runtime.stream_end_capture(stream)
        assert captured == graph
        assert len(nodes(captured)) == 2
        assert not back.any()
        executable = runtime.graph_instantiate_with_flags(captured, 0)
        for _ in range(2):
            data[:] = RNG.random(512)
            runtime.graph_launch(executable, stream)
            runtime.stream_synchronize(stream)
            np.testing.assert_array_equal(back, data)
        info = runtime.GraphExecUpdateResultInfo()
        runtime.graph_exec_update(executable, captured, info)
        assert info.result == runtime.GraphExecUpdateResult.SUCCESS
        runtime.graph_exec_destroy(executable)
        runtime.graph_destroy(captured)


def image(data: np.ndarray) -> int:
    """Return an array with a picture of floats."""
    height, width = data.shape
    channels = runtime.create_channel_desc(32, 0, 0, 0, runtime.ChannelFormatKind.FLOAT)
    # With surfaces: cudaArraySurfaceLoadStore.
    handle = runtime.malloc_array(channels, width, height, 2)
    runtime.memcpy2d_to_array(
        handle, 0, 0, data.ctypes.data, 4 * width, 4 * width, height, TO_DEVICE
    )
    return handle


def test_arrays_are_described_and_copied() -> None:
    data = RNG.random((9, 13), np.float32)
    handle = image(data)
    channels, extent = runtime.ChannelFormatDesc(), runtime.Extent()
    flags = runtime.array_get_info(channels, extent, handle)
    assert (extent.width, extent.height, extent.depth, flags) == (13, 9, 0, 2)
    assert (channels.x, channels.y, channels.f) == (32, 0, runtime.ChannelFormatKind.FLOAT)
    again = runtime.ChannelFormatDesc()
    runtime.get_channel_desc(again, handle)
    assert bytes(again) == bytes(channels)
    back = np.zeros_like(data)
    runtime.memcpy2d_from_array(back.ctypes.data, 52, handle, 0, 0, 52, 9, TO_HOST)
    np.testing.assert_array_equal(back, data)
    runtime.free_array(handle)


def test_a_texture_interpolates() -> None:
    height, width = 17, 23
    data = RNG.random((height, width), np.float32)
    handle = image(data)
    resource = runtime.ResourceDesc()
    resource.res_type, resource.res_array_array = runtime.ResourceType.ARRAY, handle
    sampling = runtime.TextureDesc()
    sampling.address_mode = [runtime.TextureAddressMode.CLAMP] * 3
    sampling.filter_mode = runtime.TextureFilterMode.LINEAR
    sampling.read_mode = runtime.TextureReadMode.ELEMENT_TYPE
    texture = runtime.create_texture_object(resource, sampling, 0)
    written = runtime.TextureDesc()
    runtime.get_texture_object_texture_desc(written, texture)
    assert written.filter_mode == runtime.TextureFilterMode.LINEAR
    read = runtime.ResourceDesc()
    runtime.get_texture_object_resource_desc(read, texture)
    assert read.res_array_array == handle
    out = np.zeros_like(data)
    with kernel(SAMPLING, "sample") as function, memory(out.nbytes) as address:
        values = [
            ctypes.c_ulonglong(texture),
            ctypes.c_void_p(address),
            ctypes.c_int(width),
            ctypes.c_int(height),
        ]
        launch(function, height, 32, values)
        runtime.memcpy(out.ctypes.data, address, out.nbytes, TO_HOST)
    runtime.destroy_texture_object(texture)
    runtime.free_array(handle)
    # Between the centres of four elements, the border repeated.
    padded = np.pad(data.astype(np.float64), ((0, 1), (0, 1)), "edge")
    expected = (padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]) / 4
    # The hardware's weights have 8 bits.
    np.testing.assert_allclose(out, expected, atol=2**-7)


def test_a_surface_is_written() -> None:
    height, width = 8, 30
    data = RNG.random((height, width), np.float32)
    handle = image(data)
    resource = runtime.ResourceDesc()
    resource.res_type, resource.res_array_array = runtime.ResourceType.ARRAY, handle
    surface = runtime.create_surface_object(resource)
    read = runtime.ResourceDesc()
    runtime.get_surface_object_resource_desc(read, surface)
    assert read.res_array_array == handle
    with kernel(SAMPLING, "square") as function:
        values = [ctypes.c_ulonglong(surface), ctypes.c_int(width), ctypes.c_int(height)]
        launch(function, height, 32, values)
    back = np.zeros_like(data)
    runtime.memcpy2d_from_array(
        back.ctypes.data, 4 * width, handle, 0, 0, 4 * width, height, TO_HOST
    )
    runtime.destroy_surface_object(surface)
    runtime.free_array(handle)
    np.testing.assert_allclose(back, data.astype(np.float64) ** 2, rtol=1e-6)


def test_arrays_of_three_dimensions_and_levels() -> None:
    channels = runtime.create_channel_desc(8, 8, 8, 8, runtime.ChannelFormatKind.UNSIGNED)
    extent = runtime.Extent()
    extent.width, extent.height, extent.depth = 16, 8, 4
    handle = runtime.malloc3d_array(channels, extent, 0)
    data = RNG.integers(0, 256, (4, 8, 16, 4), np.uint8)
    host = runtime.PitchedPtr()
    host.ptr_, host.pitch, host.xsize, host.ysize = data.ctypes.data, 64, 16, 8
    copy = runtime.Memcpy3DParms()
    copy.src_ptr, copy.dst_array, copy.extent, copy.kind = host, handle, extent, TO_DEVICE
    runtime.memcpy3d(copy)
    back = np.zeros_like(data)
    host.ptr_ = back.ctypes.data
    other = runtime.Memcpy3DParms()
    other.src_array, other.dst_ptr, other.extent, other.kind = handle, host, extent, TO_HOST
    runtime.memcpy3d(other)
    np.testing.assert_array_equal(back, data)
    runtime.free_array(handle)
    mipmap = runtime.malloc_mipmapped_array(channels, extent, 3, 0)
    level = runtime.get_mipmapped_array_level(mipmap, 1)
    found = runtime.Extent()
    runtime.array_get_info(channels, found, level)
    assert (found.width, found.height, found.depth) == (8, 4, 2)
    runtime.free_mipmapped_array(mipmap)
