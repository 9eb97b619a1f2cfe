"""
An image, magnified by a texture
================================

The GPU's texture units interpolate linearly.

Run it with::

    python examples/bindings/05_texture.py
"""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
from _kernels import compile_cubin, target

from gpumath.bindings import driver

SOURCE = r"""
extern "C" __global__ void magnify(cudaTextureObject_t image, float *out, int width, int height,
                                   float scale)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(image, (x + 0.5f) / scale, (y + 0.5f) / scale);
}
"""
HEIGHT, WIDTH, SCALE = 48, 64, 5
# Texture units round the weights to 8 binary places.
RESOLUTION = 1 / 256


def neighbours(size: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return, for each sample along an axis, the texel before it and the distance to that texel."""
    place = np.clip((np.arange(size * SCALE) + 0.5) / SCALE - 0.5, 0, size - 1)
    before = np.minimum(place.astype(np.intp), size - 2)
    return before, place - before


def magnified(image: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Interpolate on the CPU; beyond an edge, the pixels of the edge are repeated."""
    (top, down), (left, right) = neighbours(image.shape[0]), neighbours(image.shape[1])
    lines = image[top] + (image[top + 1] - image[top]) * down[:, None]
    return lines[:, left] + (lines[:, left + 1] - lines[:, left]) * right


def texture_of(array: int) -> int:
    """Return a texture object that interpolates between the elements of an array."""
    resource = driver.ResourceDesc()
    resource.res_type = driver.ResourceType.ARRAY
    resource.res_array_h_array = array
    reading = driver.TextureDesc()
    reading.address_mode = [driver.AddressMode.CLAMP] * 3
    reading.filter_mode = driver.FilterMode.LINEAR
    return driver.tex_object_create(resource, reading, 0)


def main() -> None:
    """Copy an image to an array, create a texture object for it, and sample that in a kernel."""
    image = np.random.default_rng().random((HEIGHT, WIDTH), dtype=np.float32)
    out = np.empty((HEIGHT * SCALE, WIDTH * SCALE), np.float32)
    with target() as where:
        code = compile_cubin(SOURCE, where.architecture)
        if not where.has_gpu:
            return
        module = driver.module_load_data(code)
        magnify = driver.module_get_function(module, "magnify")

        extents = driver.ArrayDescriptor()
        extents.width, extents.height = WIDTH, HEIGHT
        extents.format, extents.num_channels = driver.ArrayFormat.FLOAT, 1
        array = driver.array_create(extents)
        copy = driver.Memcpy2D()
        copy.src_memory_type, copy.src_host = driver.MemoryType.HOST, image.ctypes.data
        copy.src_pitch = image.strides[0]
        copy.dst_memory_type, copy.dst_array = driver.MemoryType.ARRAY, array
        copy.width_in_bytes, copy.height = image.strides[0], HEIGHT
        driver.memcpy2d(copy)

        texture, device_out = texture_of(array), driver.mem_alloc(out.nbytes)
        values = (texture, device_out, out.shape[1], out.shape[0], SCALE)
        number, pointer = ctypes.c_int, ctypes.c_void_p
        types = (ctypes.c_ulonglong, pointer, number, number, ctypes.c_float)
        blocks = -(-out.shape[1] // 16), -(-out.shape[0] // 16)
        driver.launch_kernel(magnify, *blocks, 1, 16, 16, 1, 0, 0, (values, types))
        driver.memcpy_dtoh(out.ctypes.data, device_out, out.nbytes)
        driver.tex_object_destroy(texture)
        driver.array_destroy(array)
        driver.mem_free(device_out)
        driver.module_unload(module)
    error = np.abs(out - magnified(image)).max()
    print(f"{WIDTH}x{HEIGHT} to {out.shape[1]}x{out.shape[0]}, largest error {error:.4f}")
    assert error < 2 * RESOLUTION


if __name__ == "__main__":
    main()
