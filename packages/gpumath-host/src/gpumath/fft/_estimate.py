"""Estimates the size of a transform's workspace, without a plan or an operand."""

from __future__ import annotations

from typing import Literal

from gpumath._host.execution import ExecutionCPU
from gpumath.bindings import core
from gpumath.fft._key import FFTKey

__all__ = ["estimate_workspace_size"]

# By the element types of operand and result: the name in cufftType (None for half precision, which
# has none), and the cudaDataTypes of input, output and computation.
_TYPES = {
    ("complex64", "complex64"): ("C2C", 4, 4, 4),
    ("float32", "complex64"): ("R2C", 0, 4, 4),
    ("complex64", "float32"): ("C2R", 4, 0, 4),
    ("complex128", "complex128"): ("Z2Z", 5, 5, 5),
    ("float64", "complex128"): ("D2Z", 1, 5, 5),
    ("complex128", "float64"): ("Z2D", 5, 1, 5),
    ("complex32", "complex32"): (None, 6, 6, 6),
    ("float16", "complex32"): (None, 2, 6, 6),
    ("complex32", "float16"): (None, 6, 2, 6),
}


def estimate_workspace_size(
    key: FFTKey,
    *,
    technique: Literal["default", "refined"] = "default",
    handle: int | None = None,
) -> int:
    """Estimate the size of a transform's workspace in device memory, without making a plan.

    Parameters
    ----------
    key : FFTKey
        A key from `FFT.create_key`, `FFT.create_key_from_metadata` or `FFT.get_key`.
    technique : {'default', 'refined'}, default: 'default'
        ``'default'`` calls ``cufftEstimateMany``. ``'refined'`` calls ``cufftXtGetSizeMany``, which
        respects the settings of ``handle``, and also supports half precision and layouts of 2**31
        elements and more.
    handle : int, optional
        Needed for ``'refined'``: a handle from `gpumath.bindings.cufft.create`, on the key's
        device, for which no plan has been made yet.

    Returns
    -------
    int
        Bytes that the transform needs besides operand and result; 0 on the CPU.

    Raises
    ------
    ValueError
        ``key`` is not a key, ``technique`` is not an allowed value, ``handle`` is missing, or
        ``'default'`` does not support the transform.
    UnsupportedLayoutError
        Callbacks do not take the operand's strides.
    gpumath.bindings.errors.cuFFTError
        cuFFT reported an error, for example because there is no GPU.

    Notes
    -----
    A layout may need several cuFFT plans. They run one after the other in the same memory, so the
    largest of their estimates counts. The copies that gpumath itself keeps in the workspace are
    counted exactly: that of a C2R operand, and that of an operand which is not aligned as cuFFT
    needs. Callbacks are not taken into account, as in cuFFT's own estimates.

    Examples
    --------
    >>> from gpumath import fft
    >>> key = fft.FFT.create_key_from_metadata((512, 512), "complex64", "cpu")
    >>> fft.estimate_workspace_size(key)
    0
    """
    if technique not in ("default", "refined"):
        msg = f"technique is {technique!r}; 'default' and 'refined' are allowed"
        raise ValueError(msg)
    given: object = key
    if not isinstance(given, FFTKey):
        msg = (
            f"key is a {type(key).__name__}; one from FFT.create_key(), "
            "FFT.create_key_from_metadata() or FFT.get_key() is needed"
        )
        raise ValueError(msg)
    if isinstance(key.execution, ExecutionCPU):
        return 0
    device_id = key.execution.device_id
    if technique == "refined" and handle is None:
        msg = "technique='refined' needs a handle, from gpumath.bindings.cufft.create()"
        raise ValueError(msg)
    real, complex_ = key.problem.input_dtype, key.problem.output_dtype
    if key.problem.kind == "C2R":
        real, complex_ = complex_, real
    needed = [
        _estimate(one, _TYPES[_sides(one.kind, real, complex_)], technique, handle)
        for one in key.problem.passes(device_id=device_id)
    ]
    return key.problem.workspace_size(max(needed, default=0), device_id=device_id)


def _sides(kind: str, real: str, complex_: str) -> tuple[str, str]:
    return {"C2C": (complex_, complex_), "R2C": (real, complex_), "C2R": (complex_, real)}[kind]


def _estimate(
    one: core.FftPass,
    types: tuple[str | None, int, int, int],
    technique: str,
    handle: int | None,
) -> int:
    # Imported here, because its enums take a while to import.
    from gpumath.bindings import cufft

    name, input_type, output_type, execution_type = types
    if technique == "refined" and handle is not None:
        return cufft.xt_get_size_many(
            handle,
            len(one.extents),
            one.extents,
            one.input_embed,
            one.input_stride,
            one.input_distance,
            input_type,
            one.output_embed,
            one.output_stride,
            one.output_distance,
            output_type,
            one.batch,
            execution_type,
        )
    numbers = (
        *(*one.extents, *one.input_embed, one.input_stride, one.input_distance),
        *(*one.output_embed, one.output_stride, one.output_distance, one.batch),
    )
    if name is None or max(numbers) >= 2**31:
        reason = "half precision" if name is None else "layouts of 2**31 elements and more"
        msg = f"technique='default' has no {reason}; use technique='refined'"
        raise ValueError(msg)
    return cufft.estimate_many(
        len(one.extents),
        one.extents,
        one.input_embed,
        one.input_stride,
        one.input_distance,
        one.output_embed,
        one.output_stride,
        one.output_distance,
        cufft.Type[name],
        one.batch,
    )
