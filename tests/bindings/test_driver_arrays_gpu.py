"""Arrays, copies of rectangles and boxes, textures and surfaces by the raw driver on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from gpumath.bindings import driver
from tests.helpers.gpu_driver import Gpu, fetched

pytestmark = pytest.mark.gpu

HOST, DEVICE, ARRAY = (driver.MemoryType[name] for name in ("HOST", "DEVICE", "ARRAY"))


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    gpu = Gpu()
    yield gpu
    gpu.close()


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng().standard_normal((24, 32)).astype(np.float32)


@pytest.fixture
def array(gpu: Gpu, image: np.ndarray) -> Iterator[int]:
    """A 2-D array that holds the image; surfaces may write to it."""
    descriptor = driver.Array3DDescriptor()
    descriptor.width, descriptor.height = image.shape[1], image.shape[0]
    descriptor.format, descriptor.num_channels = driver.ArrayFormat.FLOAT, 1
    descriptor.flags = 2  # surfaces
    array = driver.array3d_create(descriptor)
    driver.memcpy2d(whole(image, array))
    yield array
    driver.array_destroy(array)


def whole(image: np.ndarray, array: int) -> driver.Memcpy2D:
    """Describe the copy of a whole image to an array."""
    copy = driver.Memcpy2D()
    copy.src_memory_type, copy.src_host = HOST, image.ctypes.data
    copy.src_pitch = copy.width_in_bytes = image.strides[0]
    copy.dst_memory_type, copy.dst_array = ARRAY, array
    copy.height = image.shape[0]
    return copy


def contents(array: int, shape: tuple[int, int]) -> np.ndarray:
    """Return what a 2-D array of floats holds."""
    found = np.empty(shape, np.float32)
    copy = driver.Memcpy2D()
    copy.src_memory_type, copy.src_array = ARRAY, array
    copy.dst_memory_type, copy.dst_host = HOST, found.ctypes.data
    copy.dst_pitch = copy.width_in_bytes = found.strides[0]
    copy.height = shape[0]
    driver.memcpy2d(copy)
    return found


@pytest.mark.parametrize("how", ["plain", "unaligned", "async"])
def test_rectangles_are_copied(gpu: Gpu, image: np.ndarray, how: str) -> None:
    rows, columns = image.shape
    target, stream = gpu.copied(np.zeros_like(image)), gpu.stream()
    copy = driver.Memcpy2D()
    copy.src_memory_type, copy.src_host = HOST, image.ctypes.data
    copy.src_pitch = copy.dst_pitch = image.strides[0]
    copy.src_x_in_bytes, copy.src_y = 4 * 5, 3
    copy.dst_memory_type, copy.dst_device = DEVICE, target
    copy.dst_x_in_bytes, copy.dst_y = 4 * 8, 10
    copy.width_in_bytes, copy.height = 4 * 11, 7
    if how == "async":
        driver.memcpy2d_async(copy, stream)
        driver.stream_synchronize(stream)
    else:
        {"plain": driver.memcpy2d, "unaligned": driver.memcpy2d_unaligned}[how](copy)
    expected = np.zeros_like(image)
    expected[10:17, 8:19] = image[3:10, 5:16]
    np.testing.assert_array_equal(fetched(target, (rows, columns), np.float32), expected)
    copy.dst_pitch = 4  # less than a row
    with pytest.raises(driver.CUDAError) as caught:
        driver.memcpy2d(copy)
    assert caught.value.status is driver.Result.INVALID_VALUE


def test_boxes_are_copied(gpu: Gpu) -> None:
    box = np.random.default_rng().integers(0, 1 << 30, (5, 6, 8), np.int32)
    target, stream = gpu.copied(np.zeros_like(box)), gpu.stream()
    copy = driver.Memcpy3D()
    copy.src_memory_type, copy.src_host = HOST, box.ctypes.data
    copy.dst_memory_type, copy.dst_device = DEVICE, target
    copy.src_pitch = copy.dst_pitch = box.strides[1]
    copy.src_height = copy.dst_height = box.shape[1]
    copy.src_x_in_bytes, copy.src_y, copy.src_z = 4, 2, 1
    copy.dst_x_in_bytes, copy.dst_y, copy.dst_z = 8, 0, 2
    copy.width_in_bytes, copy.height, copy.depth = 20, 3, 2
    driver.memcpy3d(copy)
    expected = np.zeros_like(box)
    expected[2:4, 0:3, 2:7] = box[1:3, 2:5, 1:6]
    np.testing.assert_array_equal(fetched(target, box.shape, np.int32), expected)

    copy.src_z, copy.dst_z, copy.depth = 3, 0, 1
    driver.memcpy3d_async(copy, stream)
    driver.stream_synchronize(stream)
    expected[0, 0:3, 2:7] = box[3, 2:5, 1:6]
    np.testing.assert_array_equal(fetched(target, box.shape, np.int32), expected)

    peer = driver.Memcpy3DPeer.from_buffer(bytearray(bytes(copy)))
    peer.src_memory_type, peer.src_device = DEVICE, gpu.copied(box)
    peer.src_context = peer.dst_context = gpu.context
    peer.src_z, peer.dst_z = 4, 4
    driver.memcpy3d_peer(peer)
    driver.ctx_synchronize()
    expected[4, 0:3, 2:7] = box[4, 2:5, 1:6]
    np.testing.assert_array_equal(fetched(target, box.shape, np.int32), expected)


def test_a_box_goes_to_an_array_and_back(gpu: Gpu) -> None:
    box = np.random.default_rng().standard_normal((4, 6, 8)).astype(np.float32)
    descriptor = driver.Array3DDescriptor()
    descriptor.depth, descriptor.height, descriptor.width = box.shape
    descriptor.format, descriptor.num_channels = driver.ArrayFormat.FLOAT, 1
    array = driver.array3d_create(descriptor)
    try:
        found = driver.Array3DDescriptor()
        driver.array3d_get_descriptor(found, array)
        assert (found.depth, found.height, found.width) == box.shape
        assert (found.format, found.num_channels) == (driver.ArrayFormat.FLOAT, 1)
        result = np.zeros_like(box)
        copy = driver.Memcpy3D(2)
        copy[0].src_memory_type, copy[0].src_host = HOST, box.ctypes.data
        copy[0].dst_memory_type, copy[0].dst_array = ARRAY, array
        copy[1].src_memory_type, copy[1].src_array = ARRAY, array
        copy[1].dst_memory_type, copy[1].dst_host = HOST, result.ctypes.data
        for one in (copy[0], copy[1]):
            one.src_pitch = one.dst_pitch = one.width_in_bytes = box.strides[1]
            one.src_height = one.dst_height = one.height = box.shape[1]
            one.depth = box.shape[0]
            driver.memcpy3d(one)
        np.testing.assert_array_equal(result, box)
    finally:
        driver.array_destroy(array)


def test_lines_go_to_arrays_and_back(gpu: Gpu) -> None:
    line = np.random.default_rng().integers(0, 256, 64, np.uint8)
    turned = line[::-1].copy()
    stream = gpu.stream()
    descriptor = driver.ArrayDescriptor()
    descriptor.width = line.size
    descriptor.format, descriptor.num_channels = driver.ArrayFormat.UNSIGNED_INT8, 1
    first, second = driver.array_create(descriptor), driver.array_create(descriptor)
    try:
        found = driver.ArrayDescriptor()
        driver.array_get_descriptor(found, first)
        assert (found.width, found.format) == (64, driver.ArrayFormat.UNSIGNED_INT8)
        result, memory = np.zeros_like(line), gpu.copied(line)
        driver.memcpy_htoa(first, 0, line.ctypes.data, 32)
        driver.memcpy_dtoa(first, 32, memory + 32, 32)
        driver.memcpy_atoa(second, 0, first, 0, 64)
        driver.ctx_synchronize()  # the call above may return before the copy is done
        driver.memcpy_htoa_async(second, 0, turned.ctypes.data, 8, stream)
        driver.stream_synchronize(stream)
        driver.memcpy_atod(memory, second, 0, 64)
        driver.memcpy_atoh(result.ctypes.data, first, 0, 64)
        np.testing.assert_array_equal(result, line)
        driver.memcpy_atoh_async(result.ctypes.data, second, 0, 64, stream)
        driver.stream_synchronize(stream)
        np.testing.assert_array_equal(result[8:], line[8:])
        np.testing.assert_array_equal(result[:8], turned[:8])
        np.testing.assert_array_equal(fetched(memory, 64, np.uint8), result)
    finally:
        driver.array_destroy(first)
        driver.array_destroy(second)


def sampled(gpu: Gpu, texture: int, shape: tuple[int, int], dx: float, dy: float) -> np.ndarray:
    rows, columns = shape
    out = gpu.alloc(4 * rows * columns)
    arguments = (texture, out, dx, dy), (
        ctypes.c_uint64, ctypes.c_void_p, ctypes.c_float, ctypes.c_float,
    )  # fmt: skip
    driver.launch_kernel(gpu.kernel("sample"), rows, 1, 1, columns, 1, 1, 0, 0, arguments)
    driver.ctx_synchronize()
    return fetched(out, shape, np.float32)


def test_a_texture_interpolates_an_array(gpu: Gpu, image: np.ndarray, array: int) -> None:
    resource, texture = driver.ResourceDesc(), driver.TextureDesc()
    resource.res_type, resource.res_array_h_array = driver.ResourceType.ARRAY, array
    texture.address_mode = (driver.AddressMode.CLAMP,) * 3
    texture.filter_mode = driver.FilterMode.LINEAR
    handle = driver.tex_object_create(resource, texture, 0)
    try:
        np.testing.assert_array_equal(sampled(gpu, handle, image.shape, 0.5, 0.5), image)
        # Half way between two texels the weights are exact.
        exact = image.astype(np.float64)
        beside = np.concatenate([exact[:, 1:], exact[:, -1:]], axis=1)
        below = np.concatenate([exact[1:], exact[-1:]])
        found = sampled(gpu, handle, image.shape, 1.0, 0.5)
        np.testing.assert_allclose(found, (exact + beside) / 2, atol=1e-6)
        found = sampled(gpu, handle, image.shape, 0.5, 1.0)
        np.testing.assert_allclose(found, (exact + below) / 2, atol=1e-6)

        same_resource, same_texture = driver.ResourceDesc(), driver.TextureDesc()
        driver.tex_object_get_resource_desc(same_resource, handle)
        driver.tex_object_get_texture_desc(same_texture, handle)
        assert same_resource.res_array_h_array == array
        assert same_texture.filter_mode == driver.FilterMode.LINEAR
        assert same_texture.address_mode[:2] == (driver.AddressMode.CLAMP,) * 2
    finally:
        driver.tex_object_destroy(handle)
    texture.filter_mode = 77
    with pytest.raises(driver.CUDAError):
        driver.tex_object_create(resource, texture, 0)


def test_a_texture_reads_rows_of_memory(gpu: Gpu, image: np.ndarray) -> None:
    rows, columns = image.shape
    memory, pitch = driver.mem_alloc_pitch(4 * columns, rows, 4)
    try:
        copy = driver.Memcpy2D()
        copy.src_memory_type, copy.src_host, copy.src_pitch = HOST, image.ctypes.data, 4 * columns
        copy.dst_memory_type, copy.dst_device, copy.dst_pitch = DEVICE, memory, pitch
        copy.width_in_bytes, copy.height = 4 * columns, rows
        driver.memcpy2d(copy)
        resource, texture = driver.ResourceDesc(), driver.TextureDesc()
        resource.res_type, resource.res_pitch2d_dev_ptr = driver.ResourceType.PITCH2D, memory
        resource.res_pitch2d_format = driver.ArrayFormat.FLOAT
        resource.res_pitch2d_num_channels = 1
        resource.res_pitch2d_width, resource.res_pitch2d_height = columns, rows
        resource.res_pitch2d_pitch_in_bytes = pitch
        texture.address_mode = (driver.AddressMode.BORDER,) * 3
        handle = driver.tex_object_create(resource, texture, 0)
        try:
            found = sampled(gpu, handle, image.shape, 1.5, 2.5)
        finally:
            driver.tex_object_destroy(handle)
    finally:
        driver.mem_free(memory)
    expected = np.zeros_like(image)
    expected[:-2, :-1] = image[2:, 1:]
    np.testing.assert_array_equal(found, expected)


def test_a_surface_writes_an_array(gpu: Gpu, image: np.ndarray, array: int) -> None:
    rows, columns = image.shape
    resource, same = driver.ResourceDesc(), driver.ResourceDesc()
    resource.res_type, resource.res_array_h_array = driver.ResourceType.ARRAY, array
    surface = driver.surf_object_create(resource)
    try:
        driver.surf_object_get_resource_desc(same, surface)
        assert same.res_array_h_array == array
        arguments = (surface,), (ctypes.c_uint64,)
        driver.launch_kernel(gpu.kernel("store"), rows, 1, 1, columns // 2, 1, 1, 0, 0, arguments)
        driver.ctx_synchronize()
    finally:
        driver.surf_object_destroy(surface)
    expected = image.copy()
    y, x = np.mgrid[:rows, : columns // 2]
    expected[:, : columns // 2] = 100 * y + x
    np.testing.assert_array_equal(contents(array, image.shape), expected)


def test_levels_of_a_mipmapped_array(gpu: Gpu) -> None:
    descriptor = driver.Array3DDescriptor()
    descriptor.width, descriptor.height = 64, 32
    descriptor.format, descriptor.num_channels = driver.ArrayFormat.HALF, 2
    mipmap = driver.mipmapped_array_create(descriptor, 4)
    try:
        for level in range(4):
            found = driver.Array3DDescriptor()
            driver.array3d_get_descriptor(found, driver.mipmapped_array_get_level(mipmap, level))
            assert (found.width, found.height) == (64 >> level, 32 >> level)
            assert (found.format, found.num_channels) == (driver.ArrayFormat.HALF, 2)
        with pytest.raises(driver.CUDAError):
            driver.mipmapped_array_get_level(mipmap, 40)
    finally:
        driver.mipmapped_array_destroy(mipmap)


def test_a_tensor_map_is_encoded(gpu: Gpu) -> None:
    memory, tensor_map = gpu.alloc(4 * 64 * 256), driver.TensorMap()

    def encode(columns: int, address: int) -> bytes:
        driver.tensor_map_encode_tiled(
            tensor_map, driver.TensorMapDataType.FLOAT32, 2, address, [columns, 64], [4 * 256],
            [32, 8], (1, 1), driver.TensorMapInterleave.NONE, driver.TensorMapSwizzle.NONE,
            driver.TensorMapL2promotion.NONE, driver.TensorMapFloatOOBfill.NONE,
        )  # fmt: skip
        return bytes(tensor_map)

    whole, half = encode(256, memory), encode(128, memory)
    assert bytes(128) != whole != half
    later = encode(256, memory + 1024)
    driver.tensor_map_replace_address(tensor_map, memory)
    assert bytes(tensor_map) == whole != later
    with pytest.raises(ValueError, match="'global_dim' has 1 elements, but the call reads 2"):
        driver.tensor_map_encode_tiled(
            tensor_map, 7, 2, memory, [1], [4], [1, 1], [1, 1], 0, 0, 0, 0
        )
