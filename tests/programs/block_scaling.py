"""Products of MXFP8 and NVFP4, by a cuBLASLt that scales blocks as the real one documents it."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from gpumath.bindings import core
from gpumath.linalg import advanced
from gpumath.linalg.advanced.helpers import matmul as helpers
from tests.programs.support.entry import main
from tests.programs.support.ordering import driver

MXFP8, NVFP4 = helpers.BlockScalingFormat.MXFP8, helpers.BlockScalingFormat.NVFP4
FP8, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
BLOCK = {MXFP8: 32, NVFP4: 16}
RNG = np.random.default_rng()


def scaled(shape: tuple[int, ...], axis: Any, chosen: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return random elements, their values with scales, and the scales in cuBLASLt's order."""
    elements = RNG.standard_normal(shape).astype(FP4 if chosen is NVFP4 else FP8)
    scale_shape = list(shape)
    scale_shape[axis] //= BLOCK[chosen]
    if chosen is MXFP8:
        codes = RNG.integers(122, 133, scale_shape, np.uint8)
        values = 2.0 ** (codes.astype(float) - 127)
    else:
        codes = RNG.uniform(0.1, 4, scale_shape).astype(FP8)
        values = codes.astype(float)
    vector = helpers.to_block_scale(codes, shape, chosen, axis=axis)
    return elements, elements.astype(float) * np.repeat(values, BLOCK[chosen], axis), vector


def memory_of(array: Any) -> np.ndarray:
    """Return the bytes of an array in host memory."""
    size = int(np.prod(array.shape))
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(array.ptr))


def packed(elements: np.ndarray, axis: int) -> Any:
    """Return FP4 elements as an array with two in a byte, along an axis that has the stride 1."""
    codes = elements.view(np.uint8) if axis == -1 else elements.view(np.uint8).swapaxes(-1, -2)
    pairs = np.ascontiguousarray(codes[..., ::2] | codes[..., 1::2] << 4)
    rows, columns = pairs.shape[-2:]
    shape, strides = list(pairs.shape), [columns, 1]
    if axis == -2:
        shape[-2:], strides = [columns, rows], [1, columns]
    if len(shape) > 2:
        strides = [rows * columns, *strides]
    array = core.Array(shape, "float4_e2m1fn_x2", kind="host", strides=strides)
    memory_of(array)[:] = pairs.reshape(-1)
    return array


def unpacked(array: Any) -> np.ndarray:
    """Return the values of an FP4 result in C order."""
    pairs = memory_of(array).reshape(array.shape)
    codes = np.stack([pairs & 15, pairs >> 4], -1).reshape(*array.shape[:-1], -1)
    return codes.astype(np.uint8).view(FP4).astype(float)


def borrowed(vector: np.ndarray, dtype: str) -> Any:
    """Return a vector as an array of gpumath's."""
    array = core.Array(vector.shape, dtype, kind="host")
    memory_of(array)[:] = vector.view(np.uint8)
    return array


def products() -> list[int]:
    """Check products of all kinds; return how many of either format cuBLASLt computed."""
    driver.lt_set_capability(10)
    counts = []
    for chosen in (MXFP8, NVFP4):
        before = driver.lt_products()
        for batch, (rows, columns, depth) in [((), (128, 256, 128)), ((2,), (128, 128, 256))]:
            left = scaled((*batch, rows, depth), -1, chosen)
            right = scaled((*batch, depth, columns), -2, chosen)
            expected = 2 * left[1] @ right[1]
            for result_type in ("float32", None):
                check(chosen, left, right, result_type, expected)
        counts.append(int(driver.lt_products()) - before)
    return counts


def check(chosen: Any, left: Any, right: Any, result_type: str | None, expected: Any) -> None:
    if chosen is MXFP8:
        # One operand as cuBLASLt takes it, and one that has to be turned.
        a, b = left[0], np.ascontiguousarray(right[0].swapaxes(-1, -2)).swapaxes(-1, -2)
        pairs = [(a, b), (np.asfortranarray(a) if a.ndim == 2 else a, right[0])]
        scales: dict[str, Any] = {"a": left[2], "b": right[2]}
    else:
        pairs = [(packed(left[0], -1), packed(right[0], -2))]
        scales = {
            "a": borrowed(left[2], "float8_e4m3fn"),
            "b": borrowed(right[2], "float8_e4m3fn"),
        }
        if result_type is None:
            most = core.Array((1,), "float32", kind="host")
            np.asarray(most)[:] = 6 * 448 / abs(expected).max()
            scales["d"] = most
            expected = expected * float(np.asarray(most)[0])
    for a, b in pairs:
        options = {"block_scaling": True, "result_type": result_type}
        found = advanced.matmul(a, b, alpha=2, quantization_scales=scales, options=options)
        if result_type is not None:
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-3)
            continue
        result, others = found
        (name,) = others
        assert name == "d_out_scale"
        if chosen is MXFP8:
            values = helpers.apply_mxfp8_scale(result, others[name], "float64")
        else:
            vector = memory_of(others[name]).view(FP8)
            shape = (*result.shape[:-1], 2 * result.shape[-1])
            each = helpers.expand_block_scale(vector, shape, NVFP4, axis=-1, output_dtype="float64")
            values = unpacked(result) * each
        # In units of the largest number of its block, a result is off by half of its last bit, and
        # by the rounding of the scale.
        blocks = values.reshape(*values.shape[:-1], -1, BLOCK[chosen])
        largest = abs(expected).reshape(blocks.shape).max(-1, keepdims=True)
        error = abs(blocks - expected.reshape(blocks.shape)) / largest
        assert error.max() < (0.07 if chosen is MXFP8 else 0.25), error.max()
        assert error.max() > 1e-4


def refusals() -> list[str]:
    """Return what is said of hardware without block scaling, and of operands that do not fit."""
    ones = np.ones((128, 128), FP8)
    scales = np.full(512, 127, np.uint8)
    fp4 = packed(np.ones((128, 128), FP4), -1)
    found = []
    for capability, a, b, given, options in [
        (9, ones, ones, {"a": scales, "b": scales}, {}),
        (10, ones[:127], ones, {"a": scales, "b": scales}, {}),
        (10, ones, ones, {"a": scales[1:], "b": scales}, {}),
        (10, ones, ones, {"a": scales, "b": scales.astype("f4")}, {}),
        (10, ones, ones, {"a": 1.0, "b": scales}, {}),
        (10, ones, ones, {"a": scales, "b": scales, "d": 1.0}, {}),
        (10, ones, ones[None], {"a": scales, "b": scales}, {}),
        (10, ones, ones, {"a": scales, "b": scales}, {"result_amax": True}),
        (10, ones.astype("f4"), ones.astype("f4"), {}, {}),
        (10, fp4, fp4, {"a": borrowed(scales, "uint8"), "b": borrowed(scales, "uint8")}, {}),
        (10, fp4, fp4, {"a": fp4, "b": fp4}, {"block_scaling": False}),
    ]:
        driver.lt_set_capability(capability)
        try:
            advanced.matmul(
                a, b, quantization_scales=given, options={"block_scaling": True, **options}
            )
        except ValueError as error:
            found.append(str(error))
    return found


if __name__ == "__main__":
    main(globals())
