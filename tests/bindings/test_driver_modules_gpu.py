"""Modules, libraries, linking, kernels and launches by the raw driver on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpumath.bindings import driver
from tests.helpers.gpu_driver import CALLED_PTX, CALLER_PTX, PTX, Gpu, address_of, fetched, handles

pytestmark = pytest.mark.gpu

KERNELS = {"saxpy", "scaled", "reverse", "sample", "store", "cluster"}


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    gpu = Gpu()
    yield gpu
    gpu.close()


@pytest.fixture
def vector() -> np.ndarray:
    return np.random.default_rng().standard_normal(1000).astype(np.float32)


def scaled(gpu: Gpu, kernel: int, vector: np.ndarray) -> np.ndarray:
    """Run the kernel that multiplies by the module's variable."""
    y, n = gpu.copied(vector), vector.size
    arguments = (y, n), (ctypes.c_void_p, ctypes.c_uint)
    driver.launch_kernel(kernel, (n + 127) // 128, 1, 1, 128, 1, 1, 0, 0, arguments)
    driver.ctx_synchronize()
    return fetched(y, n, np.float32)


def test_a_module_has_kernels_and_variables(gpu: Gpu, vector: np.ndarray) -> None:
    module = driver.module_load_data(PTX)
    try:
        kernel = driver.module_get_function(module, "scaled")
        np.testing.assert_array_equal(scaled(gpu, kernel, vector), 2 * vector)
        address, size = driver.module_get_global(module, "factor")
        assert size == 4
        driver.memset_d32(address, int(np.float32(-3).view(np.uint32)), 1)
        driver.ctx_synchronize()
        np.testing.assert_array_equal(scaled(gpu, kernel, vector), -3 * vector)
        assert driver.func_get_module(kernel) == module
        with pytest.raises(driver.CUDAError) as caught:
            driver.module_get_function(module, "absent")
        assert caught.value.status is driver.Result.NOT_FOUND
        assert driver.module_get_loading_mode() in list(driver.ModuleLoadingMode)
    finally:
        driver.module_unload(module)


def test_what_newer_drivers_say_about_kernels(gpu: Gpu) -> None:
    if driver.driver_get_version() < 12040:
        pytest.skip("the driver is older than CUDA 12.4")
    module = driver.module_load_data(PTX)
    try:
        count = driver.module_get_function_count(module)
        assert count == len(KERNELS)
        found = handles(count)
        driver.module_enumerate_functions(found, count, module)
        assert {driver.func_get_name(kernel) for kernel in found} == KERNELS
        kernel = driver.module_get_function(module, "saxpy")
        places = [driver.func_get_param_info(kernel, index) for index in range(4)]
        assert places == [(0, 4), (8, 8), (16, 8), (24, 4)]
        driver.func_load(kernel)
        assert driver.func_is_loaded(kernel) == driver.FunctionLoadingState.LOADED
    finally:
        driver.module_unload(module)


def test_options_of_the_compiler_and_its_log(gpu: Gpu) -> None:
    log, option = ctypes.create_string_buffer(4096), driver.JitOption
    options = [option.ERROR_LOG_BUFFER, option.ERROR_LOG_BUFFER_SIZE_BYTES, option.MAX_REGISTERS]
    values = [ctypes.addressof(log), len(log), 32]
    module = driver.module_load_data_ex(PTX, 3, options, values)
    kernel = driver.module_get_function(module, "reverse")
    registers = driver.func_get_attribute(driver.FunctionAttribute.NUM_REGS, kernel)
    driver.module_unload(module)
    assert 0 < registers <= 32
    with pytest.raises(driver.CUDAError) as caught:
        driver.module_load_data_ex(PTX.replace(b"fma.rn", b"fmb.rn"), 3, options, values)
    assert caught.value.status is driver.Result.INVALID_PTX
    assert b"fmb" in log.value
    with pytest.raises(ValueError, match="2 elements, but the call reads 3"):
        driver.module_load_data_ex(PTX, 3, options, values[:2])


def test_modules_and_libraries_are_loaded_from_files(
    gpu: Gpu, vector: np.ndarray, tmp_path: Path
) -> None:
    file = tmp_path / "kernels.ptx"
    file.write_bytes(PTX)
    module = driver.module_load(str(file))
    kernel = driver.module_get_function(module, "scaled")
    np.testing.assert_array_equal(scaled(gpu, kernel, vector), 2 * vector)
    driver.module_unload(module)
    library = driver.library_load_from_file(str(file), [], [], 0, [], [], 0)
    kernel = driver.kernel_get_function(driver.library_get_kernel(library, "scaled"))
    np.testing.assert_array_equal(scaled(gpu, kernel, vector), 2 * vector)
    driver.library_unload(library)
    with pytest.raises(driver.CUDAError) as caught:
        driver.module_load(str(tmp_path / "absent"))
    assert caught.value.status is driver.Result.FILE_NOT_FOUND


def test_a_library_has_kernels_and_variables(gpu: Gpu, vector: np.ndarray) -> None:
    library = driver.library_load_data(PTX, 0, 0, 0, 0, 0, 0)
    try:
        kernel = driver.library_get_kernel(library, "scaled")
        address, size = driver.library_get_global(library, "factor")
        assert (fetched(address, 1, np.float32)[0], size) == (2, 4)
        # A kernel is launched as it is, in whatever context is current.
        np.testing.assert_array_equal(scaled(gpu, kernel, vector), 2 * vector)
        threads = driver.kernel_get_attribute(
            driver.FunctionAttribute.MAX_THREADS_PER_BLOCK, kernel, gpu.device
        )
        assert threads == gpu.attribute("MAX_THREADS_PER_BLOCK")
        dynamic = driver.FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.kernel_set_attribute(dynamic, 65536, kernel, gpu.device)
        assert driver.kernel_get_attribute(dynamic, kernel, gpu.device) == 65536
        driver.kernel_set_cache_config(kernel, driver.FuncCache.PREFER_L1, gpu.device)
        assert driver.library_get_module(library) == driver.func_get_module(
            driver.kernel_get_function(kernel)
        )
        if driver.driver_get_version() >= 12040:
            assert driver.kernel_get_name(kernel) == "scaled"
            count = driver.library_get_kernel_count(library)
            found = handles(count)
            driver.library_enumerate_kernels(found, count, library)
            assert {driver.kernel_get_name(one) for one in found} == KERNELS
            assert driver.kernel_get_param_info(kernel, 1) == (8, 4)
    finally:
        driver.library_unload(library)


def test_two_modules_are_linked(gpu: Gpu, tmp_path: Path) -> None:
    values = np.random.default_rng().standard_normal(64).astype(np.float32)
    file = tmp_path / "called.ptx"
    file.write_bytes(CALLED_PTX)
    state = driver.link_create(0, [], 0)
    try:
        data = CALLER_PTX + b"\0"
        kind = driver.JitInputType.PTX
        driver.link_add_data(state, kind, data, len(data), "caller", 0, [], [])
        driver.link_add_file(state, kind, str(file), 0, [], [])
        cubin, size = driver.link_complete(state)
        assert ctypes.string_at(cubin, 4) == b"\x7fELF"
        image = ctypes.string_at(cubin, size)
    finally:
        driver.link_destroy(state)
    module = driver.module_load_data(image)
    y = gpu.copied(values)
    kernel = driver.module_get_function(module, "calling")
    driver.launch_kernel(kernel, 1, 1, 1, 64, 1, 1, 0, 0, ((y,), (ctypes.c_void_p,)))
    driver.ctx_synchronize()
    driver.module_unload(module)
    np.testing.assert_array_equal(fetched(y, 64, np.float32), 2 * values)


def test_a_link_that_lacks_a_function_fails(gpu: Gpu) -> None:
    state = driver.link_create(0, [], 0)
    try:
        data = CALLER_PTX + b"\0"
        kind = driver.JitInputType.PTX
        driver.link_add_data(state, kind, data, len(data), "caller", 0, [], [])
        with pytest.raises(driver.CUDAError, match="cuLinkComplete"):
            driver.link_complete(state)
        with pytest.raises(ValueError, match="bytes"):
            driver.link_add_data(state, 1, data, len(data) + 1, "caller", 0, [], [])
    finally:
        driver.link_destroy(state)


def test_attributes_of_a_function(gpu: Gpu) -> None:
    kernel, attribute = gpu.kernel("reverse"), driver.FunctionAttribute
    assert driver.func_get_attribute(attribute.PTX_VERSION, kernel) == 90
    assert driver.func_get_attribute(attribute.SHARED_SIZE_BYTES, kernel) == 0
    driver.func_set_attribute(kernel, attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 100_000)
    assert driver.func_get_attribute(attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel) == 100_000
    driver.func_set_cache_config(kernel, driver.FuncCache.PREFER_SHARED)
    with pytest.raises(driver.CUDAError):
        driver.func_set_attribute(kernel, attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 30)


def test_occupancy(gpu: Gpu) -> None:
    kernel, shared = gpu.kernel("reverse"), 40 * 1024
    blocks = driver.occupancy_max_active_blocks_per_multiprocessor(kernel, 256, 0)
    assert 256 * blocks == gpu.attribute("MAX_THREADS_PER_MULTIPROCESSOR")
    fewer = driver.occupancy_max_active_blocks_per_multiprocessor_with_flags(
        kernel, 256, shared, driver.OccupancyFlags.DEFAULT
    )
    limit = gpu.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")
    assert 0 < fewer <= limit // shared < blocks
    free = driver.occupancy_available_dynamic_smem_per_block(kernel, fewer, 256)
    assert free >= shared
    grid, block = driver.occupancy_max_potential_block_size(kernel, 0, 0, 0)
    assert grid >= gpu.attribute("MULTIPROCESSOR_COUNT")
    assert block % 32 == 0
    asked: list[int] = []

    @ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
    def needed(block_size: int) -> int:
        asked.append(block_size)
        return 4 * block_size

    _, limited = driver.occupancy_max_potential_block_size_with_flags(
        kernel, address_of(needed), 0, 128, driver.OccupancyFlags.DEFAULT
    )
    assert limited <= 128
    assert limited in asked


def test_blocks_reverse_in_dynamic_shared_memory(gpu: Gpu) -> None:
    values = np.random.default_rng().integers(0, 1 << 30, 512, np.int32)
    y, stream = gpu.copied(values), gpu.stream()
    kernel, types = gpu.kernel("reverse"), (ctypes.c_void_p,)
    driver.launch_cooperative_kernel(kernel, 4, 1, 1, 128, 1, 1, 512, stream, ((y,), types))
    driver.stream_synchronize(stream)
    expected = values.reshape(4, 128)[:, ::-1].ravel()
    np.testing.assert_array_equal(fetched(y, 512, np.int32), expected)
    too_many = 100 * gpu.attribute("MULTIPROCESSOR_COUNT")
    with pytest.raises(driver.CUDAError) as caught:
        driver.launch_cooperative_kernel(
            kernel, too_many, 1, 1, 1024, 1, 1, 512, stream, ((y,), types)
        )
    assert caught.value.status is driver.Result.COOPERATIVE_LAUNCH_TOO_LARGE


def test_a_launch_in_clusters(gpu: Gpu) -> None:
    kernel, stream = gpu.kernel("cluster"), gpu.stream()
    out = gpu.copied(np.zeros(8, np.uint32))
    attribute = driver.LaunchAttribute()
    attribute.id = driver.LaunchAttributeID.CLUSTER_DIMENSION
    size = attribute.value
    size.cluster_dim_x, size.cluster_dim_y, size.cluster_dim_z = 4, 1, 1
    config = driver.LaunchConfig()
    config.grid_dim_x, config.grid_dim_y, config.grid_dim_z = 8, 1, 1
    config.block_dim_x, config.block_dim_y, config.block_dim_z = 32, 1, 1
    config.h_stream, config.attrs, config.num_attrs = stream, attribute.ptr, 1
    driver.launch_kernel_ex(config, kernel, ((out,), (ctypes.c_void_p,)), 0)
    driver.stream_synchronize(stream)
    assert fetched(out, 8, np.uint32).tolist() == [4] * 8
    assert driver.occupancy_max_active_clusters(kernel, config) > 0
    assert driver.occupancy_max_potential_cluster_size(kernel, config) >= 4
