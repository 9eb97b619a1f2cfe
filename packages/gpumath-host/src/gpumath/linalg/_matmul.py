"""Products of matrices, in one call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from gpumath._host.arguments import checked_factor
from gpumath._host.execution import Execution, ExecutionCPU, resolve_execution
from gpumath._host.operation import logged_execution, logger_of, warn_of_ignored
from gpumath._host.options import resolve_options
from gpumath.bindings import core
from gpumath.linalg._options import MatmulOptions
from gpumath.linalg._product import Product, make_plan, run_plan, warn_of_beta
from gpumath.linalg._qualifiers import Qualifiers, pair_for_all

__all__ = ["matmul"]

_multiply = core.StructuredMatmulPlan.multiply
_ROOT_LOGGER = logging.getLogger()
_INFO = logging.INFO


def matmul(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: Any = None,
    beta: Any = None,
    qualifiers: Qualifiers = None,
    out: Any = None,
    options: MatmulOptions | Mapping[str, Any] | None = None,
    execution: Execution = None,
    stream: Any = None,
) -> Any:
    """Compute ``alpha * a @ b + beta * c``.

    Parameters
    ----------
    a, b : array, or list or tuple of array
        Matrices of shapes (…, m, k) and (…, k, n), with elements of type float32, float64,
        complex64 or complex128, the same for all operands: NumPy arrays, CuPy arrays, PyTorch
        tensors, or any arrays with ``__dlpack__``, ``__cuda_array_interface__`` or the buffer
        protocol, of any strides. All operands are of the same library and in the same memory. The
        dimensions before the last two are a batch; they are stretched as in `numpy.matmul`, and so
        are vectors. Lists of arrays stand for as many products, of any shapes; a list of one array
        stands for the same one in all products.
    c : array, or list or tuple of array, optional
        What is added to each product, and of its shape; ``beta`` is needed with it. Its batch
        dimensions, if it has any, are broadcast together with those of ``a`` and ``b``.
    alpha : complex, or sequence of complex, optional
        What the product is multiplied by, 1 by default. For lists, a sequence has one for each.
    beta : complex, or sequence of complex, optional
        What ``c`` is multiplied by. If it is 0, ``c`` is not read. Without ``c`` it is ignored, and
        a warning is logged.
    qualifiers : numpy.ndarray or sequence, optional
        What is known of ``a`` and ``b``: an array of type `matrix_qualifiers_dtype` with an element
        for each, and perhaps one for ``c``. For lists of operands, a sequence may have one such
        array for each product. By default general matrices. A diagonal matrix is given by the
        vector of its diagonal, of shape (…, k).
    out : array, or list or tuple of array, optional
        Array to write the result to: of the operands' library, on their device, with the shape and
        element type of the result, of any strides. It must not overlap the operands. By default a
        new array is allocated.
    options : MatmulOptions or dict, optional
        Memory manager, logger, working in place and more; see `MatmulOptions`.
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute. By default the product is computed where the operands are. With
        ``'cuda'``, operands in host memory are copied to the GPU, and the result is copied back;
        with ``'cpu'``, the same happens to operands on the GPU in the other direction.
    stream : int or stream object, optional
        CUDA stream to work on: a ``cudaStream_t`` as an int, a stream of CuPy, PyTorch or Numba, or
        an object with ``__cuda_stream__()``. The stream waits for the work that writes the
        operands. By default it is the current stream of CuPy or PyTorch, or the default stream for
        other operands. It is ignored if no GPU takes part.

    Returns
    -------
    array or list of array
        ``out`` if it is given, or ``c`` with the option ``inplace``. Otherwise a new array of shape
        (…, m, n) in C order, on the operands' device: a NumPy array, CuPy array or PyTorch tensor
        if the operands are, else a `gpumath.memory.Array`. For lists of operands, a list of them.

    Raises
    ------
    ValueError
        An operand is not of an accepted library, type or shape; the operands do not fit each other;
        ``out`` does not fit; ``c`` is given without ``beta``; a qualifier, a number or
        ``execution`` is not an allowed value.
    TypeError
        ``options``, ``stream`` or a number has a wrong type.
    gpumath.bindings.errors.NoDeviceError
        ``execution`` asks for a GPU, but there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import linalg
    >>> a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> linalg.matmul(a, a.T)
    array([[14., 32.],
           [32., 77.]])

    The upper triangle of a symmetric matrix is enough:

    >>> qualifiers = np.full(2, linalg.GeneralMatrixQualifier.create())
    >>> qualifiers[0] = linalg.SymmetricMatrixQualifier.create(uplo=linalg.FillMode.UPPER)
    >>> upper = np.array([[1.0, 2.0], [np.nan, 3.0]])
    >>> linalg.matmul(upper, np.eye(2), np.ones((2, 2)), beta=10, qualifiers=qualifiers)
    array([[11., 12.],
           [12., 13.]])
    """
    if alpha is not None or beta is not None:
        alpha, beta = checked_factor("alpha", alpha), checked_factor("beta", beta)
    pair = None if qualifiers is None else pair_for_all(qualifiers)
    if (
        options is None
        and (qualifiers is None or pair is not None)
        and stream is None
        and (c is None) == (beta is None)
        and not _ROOT_LOGGER.isEnabledFor(_INFO)
    ):
        # The short way: what the long one does for defaults.
        result = None
        if execution is None or (isinstance(execution, str) and execution == "cuda"):
            result = _multiply(a, b, c, alpha, beta, out, execution, None, pair)
        else:
            asked = resolve_execution(execution, lambda: core.TensorView(a).device_id)
            if isinstance(asked, ExecutionCPU):
                result = _multiply(a, b, c, alpha, beta, out, "cpu", asked.num_threads, pair)
        if result is not None:
            return result
    chosen = resolve_options(MatmulOptions, options)
    product = Product.of(a, b, c, alpha, beta, qualifiers)
    where = resolve_execution(execution, lambda: core.TensorView(product.first).device_id)
    plan = make_plan(product, chosen, where, out, stream)
    device_id = core.TensorView(product.first).device_id
    logger = logger_of(chosen)
    warn_of_beta(logger, c, beta)
    warn_of_ignored(logger, plan, device_id, chosen, where, stream)
    logger.info("specified: %r, with a workspace of %d bytes", plan, plan.workspace_size)
    workspace = core.Workspace(chosen.allocator)
    blocking = chosen.blocking is True
    with logged_execution(logger, "matmul", plan, device_id):
        result = run_plan(plan, product, out, stream, workspace, blocking)
    workspace.release()
    return result
