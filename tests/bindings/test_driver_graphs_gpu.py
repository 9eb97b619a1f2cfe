"""Graphs by the raw driver on a GPU: nodes, edges, captures, updates, and what graphs own."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import driver
from tests.helpers.gpu_driver import Gpu, address_of, fetched, handles

pytestmark = pytest.mark.gpu

NODE = driver.GraphNodeType


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    gpu = Gpu()
    yield gpu
    gpu.close()


@pytest.fixture
def graph(gpu: Gpu) -> Iterator[int]:
    graph = driver.graph_create(0)
    yield graph
    driver.graph_destroy(graph)


class Saxpy:
    """Parameters of the launch of y += a x, and the memory that they point to."""

    def __init__(self, gpu: Gpu, a: float, x: int, y: int, n: int) -> None:
        self.values = ctypes.c_float(a), ctypes.c_uint64(x), ctypes.c_uint64(y), ctypes.c_uint(n)
        self.addresses = (ctypes.c_void_p * 4)(*map(ctypes.addressof, self.values))
        self.params = driver.KernelNodeParams()
        self.params.func = gpu.kernel("saxpy")
        for axis, blocks, threads in [("x", (n + 63) // 64, 64), ("y", 1, 1), ("z", 1, 1)]:
            setattr(self.params, f"grid_dim_{axis}", blocks)
            setattr(self.params, f"block_dim_{axis}", threads)
        self.params.kernel_params = ctypes.addressof(self.addresses)


def fill(address: int, value: int, count: int) -> driver.MemsetNodeParams:
    """Describe the filling of 32-bit numbers."""
    params = driver.MemsetNodeParams()
    params.dst, params.value, params.element_size = address, value, 4
    params.width, params.height, params.pitch = count, 1, 4 * count
    return params


def line(source: int, target: int, size: int) -> driver.Memcpy3D:
    """Describe the copy of bytes on the device."""
    copy = driver.Memcpy3D()
    copy.src_memory_type = copy.dst_memory_type = driver.MemoryType.DEVICE
    copy.src_device, copy.dst_device = source, target
    copy.src_pitch = copy.dst_pitch = size
    copy.src_height = copy.dst_height = 1
    copy.width_in_bytes, copy.height, copy.depth = size, 1, 1
    return copy


def run(gpu: Gpu, graph: int, flags: int = 0) -> int:
    """Make a graph executable and run it once."""
    executable = driver.graph_instantiate_with_flags(graph, flags)
    stream = gpu.stream()
    driver.graph_upload(executable, stream)
    driver.graph_launch(executable, stream)
    driver.stream_synchronize(stream)
    return executable


def launch(gpu: Gpu, executable: int) -> None:
    """Run an executable graph once more."""
    stream = gpu.stream()
    driver.graph_launch(executable, stream)
    driver.stream_synchronize(stream)


def edges(graph: int) -> set[tuple[int, int]]:
    """Return the edges of a graph."""
    count = ctypes.c_size_t()
    driver.graph_get_edges_v1(graph, 0, 0, count)
    begin, end = handles(count.value), handles(count.value)
    driver.graph_get_edges_v1(graph, begin, end, count)
    return set(zip(begin, end, strict=True))


def nodes(function: Any, handle: int) -> set[int]:
    """Return the handles that one of the functions writes."""
    count = ctypes.c_size_t()
    function(handle, 0, count)
    found = handles(count.value)
    function(handle, found, count)
    return set(found)


def test_nodes_run_in_the_order_of_their_edges(gpu: Gpu, graph: int) -> None:
    x = np.random.default_rng().standard_normal(500).astype(np.float32)
    source, y, copied = gpu.copied(x), gpu.alloc(x.nbytes), gpu.alloc(x.nbytes)
    called: list[int] = []
    host = driver.HostNodeParams()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called.append)
    host.fn, host.user_data = address_of(function), 77
    one = int(np.float32(1).view(np.uint32))
    saxpy = Saxpy(gpu, 2.5, source, y, x.size)

    first = driver.graph_add_memset_node(graph, [], 0, fill(y, one, x.size), gpu.context)
    second = driver.graph_add_kernel_node(graph, [first], 1, saxpy.params)
    third = driver.graph_add_memcpy_node(graph, [second], 1, line(y, copied, x.nbytes), gpu.context)
    fourth = driver.graph_add_host_node(graph, [third], 1, host)
    last = driver.graph_add_empty_node(graph, [second, fourth], 2)
    kinds = [driver.graph_node_get_type(node) for node in (first, second, third, fourth, last)]
    assert kinds == [NODE.MEMSET, NODE.KERNEL, NODE.MEMCPY, NODE.HOST, NODE.EMPTY]
    assert nodes(driver.graph_get_nodes, graph) == {first, second, third, fourth, last}
    assert nodes(driver.graph_get_root_nodes, graph) == {first}
    assert nodes(driver.graph_node_get_dependencies_v1, last) == {second, fourth}
    assert nodes(driver.graph_node_get_dependent_nodes_v1, second) == {third, last}
    assert edges(graph) == {
        (first, second), (second, third), (third, fourth), (second, last), (fourth, last),
    }  # fmt: skip
    found = driver.KernelNodeParams()
    driver.graph_kernel_node_get_params(second, found)
    assert (found.func, found.grid_dim_x, found.block_dim_x) == (saxpy.params.func, 8, 64)
    memset = driver.MemsetNodeParams()
    driver.graph_memset_node_get_params(first, memset)
    assert (memset.dst, memset.value, memset.width) == (y, one, 500)
    same = driver.HostNodeParams()
    driver.graph_host_node_get_params(fourth, same)
    assert (same.fn, same.user_data) == (host.fn, 77)

    executable = run(gpu, graph)
    expected = 2.5 * x.astype(np.float64) + 1
    np.testing.assert_allclose(fetched(copied, 500, np.float32), expected, rtol=1e-6, atol=1e-6)
    assert called == [77]

    changed = Saxpy(gpu, -1, source, y, 100)
    driver.graph_exec_kernel_node_set_params(executable, second, changed.params)
    driver.graph_exec_memset_node_set_params(executable, first, fill(y, 0, x.size), gpu.context)
    launch(gpu, executable)
    expected = np.where(np.arange(500) < 100, -x, 0)
    np.testing.assert_array_equal(fetched(copied, 500, np.float32), expected)

    driver.graph_node_set_enabled(executable, second, 0)
    assert driver.graph_node_get_enabled(executable, second) == 0
    launch(gpu, executable)
    assert not fetched(copied, 500, np.float32).any()
    assert called == [77] * 3
    driver.graph_exec_destroy(executable)


def test_edges_come_and_go(gpu: Gpu, graph: int, tmp_path: Path) -> None:
    a, b, c = (driver.graph_add_empty_node(graph, [], 0) for _ in range(3))
    driver.graph_add_dependencies_v1(graph, [a, b], [b, c], 2)
    assert edges(graph) == {(a, b), (b, c)}
    driver.graph_remove_dependencies_v1(graph, [a], [b], 1)
    assert edges(graph) == {(b, c)}
    if driver.driver_get_version() >= 12030:
        data, count = driver.GraphEdgeData(), ctypes.c_size_t(1)
        driver.graph_add_dependencies(graph, [a], [c], data, 1)
        begin, end, found = handles(2), handles(2), driver.GraphEdgeData(2)
        count.value = 2
        driver.graph_get_edges(graph, begin, end, found, count)
        assert set(zip(begin, end, strict=True)) == {(a, c), (b, c)}
        assert bytes(found) == bytes(16)
        driver.graph_node_get_dependencies(c, begin, found, count)
        assert set(begin) == {a, b}
        driver.graph_remove_dependencies(graph, [a], [c], data, 1)
    clone = driver.graph_clone(graph)
    twin = driver.graph_node_find_in_clone(b, clone)
    assert twin not in (0, a, b, c)
    driver.graph_destroy(clone)
    driver.graph_destroy_node(b)
    assert nodes(driver.graph_get_nodes, graph) == {a, c}
    file = tmp_path / "graph.dot"
    driver.graph_debug_dot_print(graph, str(file), driver.GraphDebugDotFlags.VERBOSE)
    assert file.read_text().startswith("digraph")
    with pytest.raises(ValueError, match="1 elements, but the call reads 2"):
        driver.graph_add_empty_node(graph, [a], 2)


def test_a_stream_is_captured(gpu: Gpu) -> None:
    x = np.random.default_rng().standard_normal(256).astype(np.float32)
    source, y = gpu.copied(x), gpu.alloc(x.nbytes)
    stream, other = gpu.stream(), gpu.stream()
    fork, join = driver.event_create(0), driver.event_create(0)
    types = ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint
    arguments = (3.0, source, y, 256), types
    kernel = gpu.kernel("saxpy")
    # Once before, because a kernel may be loaded at its first launch.
    driver.launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, ((0.0, source, y, 0), types))
    driver.stream_begin_capture(stream, driver.StreamCaptureMode.THREAD_LOCAL)
    driver.memset_d32_async(y, 0, 256, stream)
    driver.event_record(fork, stream)
    driver.stream_wait_event(other, fork, 0)
    driver.launch_kernel(kernel, 4, 1, 1, 64, 1, 1, 0, other, arguments)
    driver.event_record(join, other)
    driver.stream_wait_event(stream, join, 0)
    status, capture, graph, dependencies, count = driver.stream_get_capture_info_v2(stream)
    assert status == driver.StreamCaptureStatus.ACTIVE == driver.stream_is_capturing(other)
    assert capture > 0
    # What the next node would depend on.
    waited = (ctypes.c_void_p * count).from_address(dependencies)
    assert NODE.KERNEL in [driver.graph_node_get_type(node) for node in waited]
    extra = driver.graph_add_empty_node(graph, list(waited), count)
    flags = driver.StreamUpdateCaptureDependenciesFlags.SET_CAPTURE_DEPENDENCIES
    driver.stream_update_capture_dependencies_v1(stream, [extra], 1, flags)
    assert driver.stream_end_capture(stream) == graph
    assert driver.stream_is_capturing(stream) == driver.StreamCaptureStatus.NONE
    kinds = [driver.graph_node_get_type(node) for node in nodes(driver.graph_get_nodes, graph)]
    assert sorted(kinds) == [NODE.KERNEL, NODE.MEMSET, NODE.EMPTY]

    params = driver.GraphInstantiateParams()
    flag = driver.GraphInstantiateFlags
    params.flags, params.h_upload_stream = flag.UPLOAD | flag.AUTO_FREE_ON_LAUNCH, stream
    executable = driver.graph_instantiate_with_params(graph, params)
    assert params.result_out == driver.GraphInstantiateResult.SUCCESS
    # The upload is over, so it is none of the flags any more.
    assert driver.graph_exec_get_flags(executable) == flag.AUTO_FREE_ON_LAUNCH
    for _ in range(2):
        launch(gpu, executable)
    np.testing.assert_allclose(fetched(y, 256, np.float32), 3 * x, rtol=1e-6)
    driver.graph_exec_destroy(executable)
    driver.graph_destroy(graph)
    driver.event_destroy(fork)
    driver.event_destroy(join)


def test_a_capture_can_be_spoiled(gpu: Gpu) -> None:
    stream = gpu.stream()
    driver.stream_begin_capture(stream, driver.StreamCaptureMode.THREAD_LOCAL)
    with pytest.raises(driver.CUDAError) as caught:
        driver.stream_synchronize(stream)
    assert caught.value.status is driver.Result.STREAM_CAPTURE_UNSUPPORTED
    with pytest.raises(driver.CUDAError) as caught:
        driver.stream_end_capture(stream)
    assert caught.value.status is driver.Result.STREAM_CAPTURE_INVALIDATED


def test_an_executable_graph_is_updated(gpu: Gpu, graph: int) -> None:
    x = np.random.default_rng().standard_normal(300).astype(np.float32)
    source, y = gpu.copied(x), gpu.copied(np.zeros_like(x))
    add, subtract = Saxpy(gpu, 2, source, y, 300), Saxpy(gpu, -2, source, y, 300)
    driver.graph_add_kernel_node(graph, [], 0, add.params)
    executable = run(gpu, graph)
    other, different = driver.graph_create(0), driver.graph_create(0)
    driver.graph_add_kernel_node(other, [], 0, subtract.params)
    driver.graph_add_empty_node(different, [], 0)
    info = driver.GraphExecUpdateResultInfo()
    driver.graph_exec_update(executable, other, info)
    assert info.result == driver.GraphExecUpdateResult.SUCCESS
    launch(gpu, executable)
    np.testing.assert_array_equal(fetched(y, 300, np.float32), 0 * x)
    with pytest.raises(driver.CUDAError, match="result struct") as caught:
        driver.graph_exec_update(executable, different, info)
    assert caught.value.status is driver.Result.GRAPH_EXEC_UPDATE_FAILURE
    assert info.result != driver.GraphExecUpdateResult.SUCCESS
    for one in (other, different):
        driver.graph_destroy(one)
    driver.graph_exec_destroy(executable)


def test_a_graph_allocates_and_frees(gpu: Gpu, graph: int) -> None:
    result = gpu.copied(np.zeros(4, np.uint32))
    params = driver.MemAllocNodeParams()
    params.pool_props.alloc_type = driver.MemAllocationType.PINNED
    params.pool_props.location.type = driver.MemLocationType.DEVICE
    params.pool_props.location.id = gpu.device
    params.bytesize = 1 << 20
    allocated = driver.graph_add_mem_alloc_node(graph, [], 0, params)
    address = params.dptr
    assert address > 0
    filled = driver.graph_add_memset_node(
        graph, [allocated], 1, fill(address, 0xABCD, 4), gpu.context
    )
    copied = driver.graph_add_memcpy_node(
        graph, [filled], 1, line(address, result, 16), gpu.context
    )
    freed = driver.graph_add_mem_free_node(graph, [copied], 1, address)
    assert driver.graph_mem_free_node_get_params(freed) == address
    found = driver.MemAllocNodeParams()
    driver.graph_mem_alloc_node_get_params(allocated, found)
    assert (found.dptr, found.bytesize) == (address, 1 << 20)
    executable = run(gpu, graph)
    assert fetched(result, 4, np.uint32).tolist() == [0xABCD] * 4
    used = ctypes.c_uint64()
    driver.device_get_graph_mem_attribute(
        gpu.device, driver.GraphMemAttribute.USED_MEM_HIGH, ctypes.addressof(used)
    )
    assert used.value >= 1 << 20
    driver.graph_exec_destroy(executable)
    driver.device_graph_mem_trim(gpu.device)


def test_nodes_of_any_kind_and_graphs_in_graphs(gpu: Gpu, graph: int) -> None:
    if driver.driver_get_version() < 12030:
        pytest.skip("the driver is older than CUDA 12.3")
    y, event = gpu.copied(np.zeros(8, np.uint32)), driver.event_create(0)
    params = driver.GraphNodeParams()
    params.type = NODE.MEMSET
    memset = params.memset
    memset.dst, memset.value, memset.element_size, memset.width, memset.height = y, 5, 4, 8, 1
    memset.ctx = gpu.context
    inner = driver.graph_create(0)
    node = driver.graph_add_node(inner, [], 0, 0, params)
    assert driver.graph_node_get_type(node) == NODE.MEMSET
    child = driver.graph_add_child_graph_node(graph, [], 0, inner)
    driver.graph_destroy(inner)
    recorded = driver.graph_add_event_record_node(graph, [child], 1, event)
    waited = driver.graph_add_event_wait_node(graph, [recorded], 1, event)
    assert driver.graph_event_record_node_get_event(recorded) == event
    assert driver.graph_event_wait_node_get_event(waited) == event
    copy = driver.graph_child_graph_node_get_graph(child)
    (inside,) = nodes(driver.graph_get_nodes, copy)
    assert inside != node
    executable = run(gpu, graph)
    assert fetched(y, 8, np.uint32).tolist() == [5] * 8
    driver.event_synchronize(event)

    params.memset.value = 6
    driver.graph_node_set_params(inside, params)
    again = run(gpu, graph)
    assert fetched(y, 8, np.uint32).tolist() == [6] * 8
    for one in (executable, again):
        driver.graph_exec_destroy(one)
    driver.event_destroy(event)


def test_a_graph_owns_an_object(gpu: Gpu) -> None:
    destroyed: list[int] = []
    destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroyed.append)
    owned = driver.user_object_create(
        4321, address_of(destroy), 2, driver.UserObjectFlags.NO_DESTRUCTOR_SYNC
    )
    graph = driver.graph_create(0)
    driver.graph_retain_user_object(graph, owned, 1, driver.UserObjectRetainFlags.MOVE)
    driver.user_object_retain(owned, 1)
    driver.user_object_release(owned, 2)
    assert destroyed == []
    driver.graph_destroy(graph)
    end = time.monotonic() + 10
    while not destroyed and time.monotonic() < end:
        time.sleep(0.01)  # the driver calls it on a thread of its own
    assert destroyed == [4321]
