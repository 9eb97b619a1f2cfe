"""Scales of MXFP8 and NVFP4 operands, and FP4 elements, for products with block scaling.

The functions take PyTorch tensors. Those for scales take NumPy arrays too, with ``ml_dtypes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any, Literal

import numpy as np

from gpumath._host import packed_fp4
from gpumath._host.narrow_arrays import NarrowArrays, narrow_arrays_of
from gpumath.linalg.advanced.helpers._block_scales import (
    BlockScalingFormat,
    blocks_of,
    resolve_format,
    tiled,
    untiled,
)

__all__ = [
    "BlockScalingFormat",
    "apply_mxfp8_scale",
    "create_mxfp8_scale",
    "expand_block_scale",
    "get_block_scale_offset",
    "invert_mxfp8_scale",
    "quantize_to_fp4",
    "to_block_scale",
    "unpack_fp4",
]

_MXFP8, _NVFP4 = BlockScalingFormat.MXFP8, BlockScalingFormat.NVFP4
_BIAS = 127
"""A scale of MXFP8 is the byte e for ``2 ** (e - 127)``."""
_NOT_A_NUMBER = 255
"""The byte that stands for no number in UE8M0."""


def create_mxfp8_scale(x: Any, exponent: int, stream: Any = None) -> Any:
    """Make the block scales of an MXFP8 operand, all with the same value.

    Parameters
    ----------
    x : torch.Tensor or numpy.ndarray
        Operand, of a multiple of 32 elements.
    exponent : int
        From -127 to 127; the scale is ``2 ** exponent``.
    stream : int or stream object, optional
        CUDA stream to make them on; by default PyTorch's current one.

    Returns
    -------
    torch.Tensor or numpy.ndarray
        Vector of uint8 with one scale for each block, in cuBLASLt's order.

    Raises
    ------
    ValueError
        ``exponent`` is out of range, or the number of elements is no multiple of 32.
    TypeError
        ``exponent`` is not an integer.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> helpers.create_mxfp8_scale(np.zeros((1, 64), np.uint8), -3)
    array([124, 124], dtype=uint8)
    """
    arrays = narrow_arrays_of(x)
    if not -_BIAS <= as_index(exponent) <= _BIAS:
        msg = (
            f"exponent is {exponent}, but an integer from -127 to 127 is needed: the byte for 128 "
            "stands for no number"
        )
        raise ValueError(msg)
    blocks, rest = divmod(x.size if isinstance(x.size, int) else x.numel(), 32)
    if rest:
        msg = f"x has the shape {tuple(x.shape)}, but a multiple of 32 elements is needed"
        raise ValueError(msg)
    return arrays.filled(x, blocks, as_index(exponent) + _BIAS, stream)


def invert_mxfp8_scale(mx_scales: Any) -> Any:
    """Compute the reciprocals of MXFP8 block scales.

    Parameters
    ----------
    mx_scales : torch.Tensor or numpy.ndarray
        Scales of type uint8.

    Returns
    -------
    torch.Tensor or numpy.ndarray
        Array of the same shape. What is no number stays so.

    Raises
    ------
    ValueError
        The elements are not uint8.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> helpers.invert_mxfp8_scale(np.array([127, 130, 255], np.uint8))
    array([127, 124, 255], dtype=uint8)
    """
    _check_dtype("mx_scales", mx_scales, ("uint8",), ValueError)
    inverted = 2 * _BIAS - mx_scales
    inverted[mx_scales == _NOT_A_NUMBER] = _NOT_A_NUMBER
    return inverted


def apply_mxfp8_scale(x: Any, scales_1d: Any, output_dtype: Any = "smallest") -> Any:
    """Multiply a matrix by its MXFP8 block scales, to look at its values.

    Parameters
    ----------
    x : torch.Tensor or numpy.ndarray
        Matrix, or batch of matrices, of a floating-point type. Its blocks are along the axis with
        stride 1, in multiples of 128 elements.
    scales_1d : torch.Tensor or numpy.ndarray
        Vector of uint8 with one scale for each block, in cuBLASLt's order.
    output_dtype : {'smallest'} or dtype, default: 'smallest'
        float16, float32 or float64, or the first of these that has all values.

    Returns
    -------
    torch.Tensor or numpy.ndarray
        Array of the shape of ``x``.

    Raises
    ------
    ValueError
        The shapes do not fit, or a value overflows or underflows ``output_dtype``.
    TypeError
        ``scales_1d`` or ``output_dtype`` has a type that is not allowed.

    Notes
    -----
    It computes in float64, and needs the memory for that. A product with ``result_type`` gives
    values of a wider type at no such cost.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> x = np.ones((128, 128), np.float32)
    >>> helpers.apply_mxfp8_scale(x, helpers.create_mxfp8_scale(x, 3))[0, 0]
    np.float16(8.0)
    """
    arrays = narrow_arrays_of(x)
    shape, strides = tuple(x.shape), x.stride() if hasattr(x, "numel") else x.strides
    axis: Literal[-1, -2] = -2 if len(shape) > 1 and strides[-2] < strides[-1] else -1
    scales = _expanded(scales_1d, shape, _MXFP8, axis)
    values = arrays.convert(x, "float64") * _powers(arrays, scales)
    return _in_dtype(arrays, values, output_dtype, ("float16", "float32", "float64"))


def quantize_to_fp4(x: Any, axis: Literal[-1, -2]) -> Any:
    """Round float32 values to FP4 (E2M1) and pack two of them into each byte.

    Values are rounded to the nearest of 0, ±0.5, ±1, ±1.5, ±2, ±3, ±4 and ±6. Halves go to the even
    code, as in the hardware's conversion. What is larger becomes ±6, and so does what is no number,
    because FP4 has nothing else for it.

    Parameters
    ----------
    x : torch.Tensor
        Tensor of float32, of an even extent along ``axis``.
    axis : {-1, -2}
        Axis along which neighbours share a byte.

    Returns
    -------
    torch.Tensor
        Tensor of ``float4_e2m1fn_x2``, of half the extent along ``axis``, where its stride is 1.

    Raises
    ------
    ValueError
        ``x`` is no tensor of float32, ``axis`` is not allowed, or the extent is odd.

    Examples
    --------
    >>> import torch
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> helpers.unpack_fp4(helpers.quantize_to_fp4(torch.tensor([0.6, -9.0]), -1), -1)
    tensor([ 0.5000, -6.0000])
    """
    return packed_fp4.quantized(x, axis)


def unpack_fp4(fp4_tensor: Any, axis: Literal[-1, -2]) -> Any:
    """Convert packed FP4 values to float32.

    Parameters
    ----------
    fp4_tensor : torch.Tensor
        Tensor of ``float4_e2m1fn_x2``.
    axis : {-1, -2}
        Axis along which neighbours share a byte.

    Returns
    -------
    torch.Tensor
        Tensor of float32 with twice the extent along ``axis``, where its stride is 1.

    Raises
    ------
    ValueError
        ``fp4_tensor`` is of another type, or ``axis`` is not allowed.

    Examples
    --------
    >>> import torch
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> helpers.unpack_fp4(helpers.quantize_to_fp4(torch.tensor([[3.0, 4.0]]), -1), -1)
    tensor([[3., 4.]])
    """
    return packed_fp4.unpacked(fp4_tensor, axis)


def get_block_scale_offset(
    index: tuple[Any, ...],
    operand_or_shape: Any,
    block_scaling_format: BlockScalingFormat,
    *,
    axis: Literal[-1, -2] | None = None,
) -> Any:
    """Compute where the scale of a block is, in the vector of scales in cuBLASLt's order.

    Parameters
    ----------
    index : tuple of int or of integer arrays
        Index of the block: that of one of its elements, but divided by the block's size, 32 or 16,
        along ``axis``.
    operand_or_shape : torch.Tensor, numpy.ndarray or sequence of int
        Operand, or its shape in elements.
    block_scaling_format : BlockScalingFormat
        MXFP8 or NVFP4.
    axis : {-1, -2}, optional
        Axis along which the blocks are: -1 for the first operand of a product, -2 for the second.
        By default that along which the operand has the stride 1.

    Returns
    -------
    int or array
        Offset of the scale, or the offsets of the scales.

    Raises
    ------
    ValueError
        The shape, the format or ``axis`` is not allowed, or do not fit each other, or ``index``
        has the wrong length.
    IndexError
        An integer in ``index`` is out of range.

    Examples
    --------
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> mxfp8 = helpers.BlockScalingFormat.MXFP8
    >>> helpers.get_block_scale_offset((33, 5), (128, 256), mxfp8, axis=-1)
    533
    """
    blocks = blocks_of(operand_or_shape, resolve_format(block_scaling_format), axis)
    shape = blocks.scale_shape
    if len(index) != len(shape):
        msg = f"index has {len(index)} numbers, but the operand has {len(shape)} dimensions"
        raise ValueError(msg)
    for number, extent in zip(index, shape, strict=True):
        if isinstance(number, int) and not 0 <= number < extent:
            msg = f"index is {index}, but the operand has {shape} blocks"
            raise IndexError(msg)
    *batch, row, block = index if blocks.axis == -1 else (*index[:-2], index[-1], index[-2])
    matrix: Any = 0
    for number, extent in zip(batch, shape, strict=False):
        matrix = matrix * extent + number
    rows = shape[-2] if blocks.axis == -1 else shape[-1]
    columns = shape[-2] * shape[-1] // rows
    tile = row // 128 * (columns // 4) + block // 4
    inside = row % 32 * 16 + row % 128 // 32 * 4 + block % 4
    return matrix * (rows * columns) + tile * 512 + inside


def to_block_scale(
    scale_tensor: Any,
    operand_or_shape: Any,
    block_scaling_format: BlockScalingFormat,
    *,
    axis: Literal[-1, -2] | None = None,
    out: Any = None,
) -> Any:
    """Bring scales into cuBLASLt's order.

    Parameters
    ----------
    scale_tensor : torch.Tensor or numpy.ndarray
        One scale for each block: of the operand's shape, but divided by the block's size, 32 or 16,
        along ``axis``. Of type uint8 for MXFP8; float8_e4m3fn, or uint8 with its bits, for NVFP4.
    operand_or_shape, block_scaling_format, axis
        As for `get_block_scale_offset`.
    out : torch.Tensor or numpy.ndarray, optional
        Vector of the same type to write the scales to. By default a new one.

    Returns
    -------
    torch.Tensor or numpy.ndarray
        ``out``, or a new vector.

    Raises
    ------
    ValueError
        Shapes, the format or ``axis`` are not allowed, or do not fit each other.
    TypeError
        ``scale_tensor`` has a type that the format does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> scales = np.arange(512, dtype=np.uint16).astype(np.uint8).reshape(128, 4)
    >>> mxfp8 = helpers.BlockScalingFormat.MXFP8
    >>> helpers.to_block_scale(scales, (128, 128), mxfp8, axis=-1)[:8]
    array([  0,   1,   2,   3, 128, 129, 130, 131], dtype=uint8)
    """
    chosen = resolve_format(block_scaling_format)
    blocks = blocks_of(operand_or_shape, chosen, axis)
    _check_dtype("scale_tensor", scale_tensor, _scale_dtypes(chosen))
    if tuple(scale_tensor.shape) != blocks.scale_shape:
        msg = (
            f"scale_tensor has the shape {tuple(scale_tensor.shape)}, but an operand of the shape "
            f"{blocks.shape} with blocks along axis {blocks.axis} has {blocks.scale_shape} scales"
        )
        raise ValueError(msg)
    vector = tiled(scale_tensor, blocks)
    if out is None:
        return vector
    if tuple(out.shape) != tuple(vector.shape) or out.dtype != vector.dtype:
        msg = (
            f"out is {out.dtype} of the shape {tuple(out.shape)}, but {vector.dtype} of the shape "
            f"{tuple(vector.shape)} is needed"
        )
        raise ValueError(msg)
    out[:] = vector
    return out


def expand_block_scale(
    scales_1d: Any,
    operand_or_shape: Any,
    block_scaling_format: BlockScalingFormat,
    *,
    axis: Literal[-1, -2] | None = None,
    output_dtype: Any = "smallest",
    device: Literal["cuda", "cpu"] | None = None,
) -> Any:
    """Repeat scales in cuBLASLt's order, so that there is one for each element of the operand.

    Parameters
    ----------
    scales_1d : torch.Tensor or numpy.ndarray
        Vector with one scale for each block: of type uint8 for MXFP8; float8_e4m3fn, or uint8 with
        its bits, for NVFP4.
    operand_or_shape, block_scaling_format, axis
        As for `get_block_scale_offset`.
    output_dtype : {'smallest'} or dtype, default: 'smallest'
        float16, float32 or float64 for values; uint8 for the bytes of MXFP8; float8_e4m3fn for
        NVFP4. The last two are the smallest.
    device : {'cuda', 'cpu'}, optional
        Where the result is; by default where the scales are.

    Returns
    -------
    torch.Tensor or numpy.ndarray
        Array of the operand's shape in elements.

    Raises
    ------
    ValueError
        Shapes, the format, ``axis`` or ``device`` are not allowed, or do not fit each other; or a
        scale overflows or underflows ``output_dtype``.
    TypeError
        ``scales_1d`` or ``output_dtype`` has a type that is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg.advanced.helpers import matmul as helpers
    >>> scales = np.full(512, 130, np.uint8)
    >>> mxfp8 = helpers.BlockScalingFormat.MXFP8
    >>> helpers.expand_block_scale(scales, (128, 128), mxfp8, axis=-1, output_dtype="float32")[0, 0]
    np.float32(8.0)
    """
    chosen = resolve_format(block_scaling_format)
    if device not in (None, "cuda", "cpu"):
        msg = f"device is {device!r}; allowed are 'cuda', 'cpu' and None"
        raise ValueError(msg)
    arrays = narrow_arrays_of(scales_1d)
    scales = _expanded(scales_1d, operand_or_shape, chosen, axis)
    own = "uint8" if chosen is _MXFP8 else "float8_e4m3fn"
    wide = ("float16", "float32", "float64")
    if output_dtype == "smallest" or _name_of(output_dtype) == own:
        # NVFP4 ignores the sign of a scale.
        result = scales if chosen is _MXFP8 else arrays.reinterpret(_unsigned(arrays, scales), own)
    elif chosen is _MXFP8:
        result = _in_dtype(arrays, _powers(arrays, scales), output_dtype, wide, own)
    else:
        values = arrays.reinterpret(_unsigned(arrays, scales), own)
        values = arrays.convert(values, "float64")
        result = _in_dtype(arrays, values, output_dtype, wide, own)
    return result if device is None else arrays.moved(result, device)


def _expanded(
    scales_1d: Any, operand_or_shape: Any, chosen: BlockScalingFormat, axis: int | None
) -> Any:
    """Return the bytes of the scales, one for each element."""
    blocks = blocks_of(operand_or_shape, chosen, axis)
    _check_dtype("scales_1d", scales_1d, _scale_dtypes(chosen))
    if tuple(scales_1d.shape) != (blocks.number,):
        msg = (
            f"scales_1d has the shape {tuple(scales_1d.shape)}, but an operand of the shape "
            f"{blocks.shape} has {blocks.number} scales, one for {blocks.size} elements"
        )
        raise ValueError(msg)
    arrays = narrow_arrays_of(scales_1d)
    scales = untiled(arrays.reinterpret(scales_1d, "uint8"), blocks)
    return arrays.repeat(scales, blocks.size, blocks.axis)


def _powers(arrays: NarrowArrays, scales: Any) -> Any:
    """Return the values of the bytes of MXFP8 scales, as float64."""
    # The exponent of a float64 is stored with the bias 1023.
    bits = (arrays.convert(scales, "int64") + (1023 - _BIAS)) << 52
    values = arrays.reinterpret(bits, "float64")
    values[scales == _NOT_A_NUMBER] = float("nan")
    return values


def _unsigned(arrays: NarrowArrays, scales: Any) -> Any:
    return arrays.reinterpret(scales, "uint8") & 0x7F


def _scale_dtypes(chosen: BlockScalingFormat) -> tuple[str, ...]:
    return ("uint8",) if chosen is _MXFP8 else ("float8_e4m3fn", "uint8")


def _check_dtype(
    name: str, array: Any, allowed: Sequence[str], error: type[Exception] = TypeError
) -> None:
    dtype = narrow_arrays_of(array).dtype(array)
    if dtype not in allowed:
        msg = f"{name} has the element type {dtype}, but {' or '.join(allowed)} is needed"
        raise error(msg)


def _name_of(dtype: Any) -> str:
    """Return the name of an element type of NumPy or PyTorch, or of its name."""
    text = getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    return str(text).removeprefix("torch.")


def _in_dtype(
    arrays: NarrowArrays, values: Any, dtype: Any, allowed: tuple[str, ...], *others: str
) -> Any:
    """Convert float64 values to ``dtype``, or to the first that has them all."""
    name = _name_of(dtype)
    if name != "smallest" and name not in allowed:
        choices = ", ".join((*others, *allowed))
        msg = f"output_dtype is {dtype}; allowed are 'smallest', {choices}"
        raise TypeError(msg)
    # float64 has them all.
    needed = next(one for one in allowed if one == "float64" or _has_all(values, one))
    if name != "smallest" and allowed.index(name) < allowed.index(needed):
        msg = f"output_dtype is {dtype}, but a value overflows or underflows; {needed} is needed"
        raise ValueError(msg)
    return arrays.convert(values, needed if name == "smallest" else name)


def _has_all(values: Any, dtype: str) -> bool:
    """Whether no value is too large for an element type, or so small that digits are lost."""
    limits = np.finfo(dtype)
    sizes = abs(values)
    is_lost = ((sizes > float(limits.max)) & (sizes < float("inf"))) | (
        (sizes > 0) & (sizes < float(limits.tiny))
    )
    return not bool(is_lost.any())
