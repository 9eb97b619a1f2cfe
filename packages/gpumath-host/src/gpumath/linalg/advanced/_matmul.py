"""The function `matmul`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from gpumath._host.arguments import checked_factor, checked_integer
from gpumath.bindings import core
from gpumath.linalg.advanced import tuning
from gpumath.linalg.advanced._algorithm import Algorithm
from gpumath.linalg.advanced._matmul_class import Matmul
from gpumath.linalg.advanced._operands import checked_inputs
from gpumath.linalg.advanced._options import (
    MatmulOptions,
    MatmulPlanPreferences,
    MatmulQuantizationScales,
)

__all__ = ["matmul"]

_ROOT_LOGGER = logging.getLogger()
_INFO = logging.INFO
_multiply = core.MatmulPlan.multiply


def matmul(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: Any = None,
    beta: Any = None,
    epilog: int | None = None,
    epilog_inputs: Mapping[str, Any] | None = None,
    qualifiers: Any = None,
    quantization_scales: MatmulQuantizationScales | Mapping[str, Any] | None = None,
    options: MatmulOptions | Mapping[str, Any] | None = None,
    preferences: MatmulPlanPreferences | Mapping[str, Any] | None = None,
    algorithm: Algorithm | None = None,
    stream: Any = None,
) -> Any:
    """Compute ``epilog(alpha * a @ b + beta * c)``.

    The plan is made by the first call with such operands and cached for the next ones.

    Parameters
    ----------
    a, b : array
        Vectors, matrices or batches of matrices, by the rules of `numpy.matmul`: batch dimensions
        are broadcast. NumPy arrays, CuPy arrays, PyTorch tensors, or any arrays with
        ``__dlpack__``, ``__cuda_array_interface__`` or the buffer protocol, of one library and in
        one memory, of any strides. Both are of float16, bfloat16, float32, float64, complex64,
        complex128 or int8, or each is of float8_e4m3fn or float8_e5m2, but not both of the latter.
        A lazy conjugate of PyTorch is not copied. Operands in host memory are multiplied on the GPU
        ``options.device_id``, and on the CPU if there is no GPU.
    c : array, optional
        What is added: of two dimensions or more, each as for the result or 1.
    alpha, beta : number, optional
        What the product and ``c`` are multiplied by; ``alpha`` is 1 by default, and ``beta`` is
        needed with ``c``. If ``beta`` is 0, elements of ``c`` do not matter, NaN included.
    epilog : MatmulEpilog, optional
        What is done with the sum before it is stored, such as ``MatmulEpilog.RELU_BIAS``.
    epilog_inputs : dict, optional
        What the epilog needs: ``bias``, an array of shape (m,) or (..., m, 1), which is added to
        each column; ``relu_aux`` or ``gelu_aux``, which the epilog of the function returned;
        ``aux_quantization_scale``.
    qualifiers : numpy.ndarray, optional
        Array of `matrix_qualifiers_dtype` with an entry for ``a``, ``b`` and ``c``, to conjugate
        ``a`` or ``b``.
    quantization_scales : MatmulQuantizationScales or dict, optional
        Scales of operands and results of 8-bit floating-point types.
    options : MatmulOptions or dict, optional
        Types, working in place, limits and more; see `MatmulOptions`.
    preferences : MatmulPlanPreferences or dict, optional
        What cuBLASLt chooses its algorithm by.
    algorithm : Algorithm, optional
        An algorithm to use instead.
    stream : int or stream object, optional
        CUDA stream to work on: a ``cudaStream_t`` as an int, a stream of CuPy, PyTorch or Numba, or
        an object with ``__cuda_stream__()``. The stream waits for the work that writes the
        operands. By default it is the current stream of CuPy or PyTorch, or the default stream for
        other operands.

    Returns
    -------
    array, or tuple of an array and a dict
        The result, of the operands' library and on their device. If the epilog makes more, a tuple
        of the result and a dictionary: ``relu_aux``, ``gelu_aux``, ``drelu_bgrad``,
        ``dgelu_bgrad``, ``bgrada``, ``bgradb``, ``result_amax``, ``gelu_aux_amax``. A new result is
        in C order, or in the order of ``c``; the matrices of an epilog that tells rows from columns
        are in Fortran order.

    Raises
    ------
    ValueError
        An operand is not of an accepted library, type or shape, or does not fit the others; an
        option is not among the allowed ones; cuBLASLt has no algorithm.
    TypeError
        An argument has a wrong type.
    gpumath.bindings.errors.OutOfMemoryError
        The workspace exceeds ``options.memory_limit``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.linalg import advanced
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> advanced.matmul(a, a, alpha=2)
    array([[14., 20.],
           [30., 44.]])

    A layer of a neural network, with the sum of a product and a bias rectified:

    >>> bias = np.array([-8.0, 1.0])
    >>> epilog = advanced.MatmulEpilog.RELU_BIAS
    >>> advanced.matmul(a, a, epilog=epilog, epilog_inputs={"bias": bias})
    array([[ 0.,  2.],
           [16., 23.]])
    """
    if alpha is not None or beta is not None:
        alpha, beta = checked_factor("alpha", alpha), checked_factor("beta", beta)
    if epilog is not None and not isinstance(epilog, IntEnum):
        epilog = checked_integer("epilog", epilog)
    if (
        options is None
        and qualifiers is None
        and quantization_scales is None
        and preferences is None
        and algorithm is None
        and stream is None
        and (c is None) is (beta is None)
        and not _ROOT_LOGGER.isEnabledFor(_INFO)
    ):
        # The short way: what the long one does for defaults.
        inputs = None if epilog_inputs is None else checked_inputs(epilog_inputs)
        result = _multiply(a, b, c, alpha, beta, None, epilog, inputs, None, False)
        if result is None and core.Device.count() == 0:
            result = _multiply(a, b, c, alpha, beta, None, epilog, inputs, "cpu", True)
        if result is not None:
            return result
    # The short way does not look into the tuning database either.
    with (
        tuning.using(mode="off"),
        Matmul(
            *(a, b, c),
            alpha=alpha,
            beta=beta,
            qualifiers=qualifiers,
            quantization_scales=quantization_scales,
            options=options,
            stream=stream,
        ) as product,
    ):
        product.plan(
            preferences={"limit": 1} if preferences is None else preferences,
            algorithms=None if algorithm is None else [algorithm],
            epilog=epilog,
            epilog_inputs=epilog_inputs,
            stream=stream,
        )
        return product.execute(stream=stream)
