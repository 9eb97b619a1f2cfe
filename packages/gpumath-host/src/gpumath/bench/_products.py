"""Products of matrices, as the libraries compute them: plain, with a structure, with an epilog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np

from gpumath import linalg
from gpumath.bench._rows import Epilog, Product, Structured
from gpumath.linalg import advanced

__all__ = ["gpumath_product", "numpy_product", "nvmath_product", "scipy_product"]


def gpumath_product(row: Product, operands: Sequence[Any], execution: Any) -> Callable[[], object]:
    """Return a call of gpumath."""
    if isinstance(row, Epilog):
        return _planned(row, operands, advanced)
    qualifiers = _qualifiers(row, linalg) if isinstance(row, Structured) else None
    return lambda: linalg.matmul(*operands, qualifiers=qualifiers, execution=execution)


def nvmath_product(row: Product, operands: Sequence[Any], library: Any) -> Callable[[], object]:
    """Return a call of nvmath-python, whose ``linalg`` is given."""
    if not isinstance(row, Structured):
        return _planned(row, operands, library.advanced)
    product = library.Matmul(*operands, qualifiers=_qualifiers(row, library))
    product.plan()
    return lambda: product.execute()


def numpy_product(row: Product, operands: Sequence[Any], module: Any) -> Callable[[], object]:
    """Return a call of NumPy's functions, which CuPy and PyTorch have too.

    They multiply whole matrices whatever the structure, except diagonal ones, and compute an epilog
    after the product.
    """
    if isinstance(row, Structured) and row.structure == "diagonal":
        diagonal, other = operands
        return lambda: diagonal[:, None] * other
    if not isinstance(row, Epilog):
        return lambda: module.matmul(*operands)
    a, b, bias = operands
    activation = _activation(row, module)

    def call() -> object:
        result = module.matmul(a, b)
        result += bias
        return activation(result)

    return call


def scipy_product(row: Product, operands: Sequence[Any]) -> Callable[[], object]:
    """Return a call of SciPy's functions of BLAS for matrices with a structure."""
    if not isinstance(row, Structured) or row.structure == "diagonal":
        raise NotImplementedError("SciPy leaves these products to NumPy")
    from scipy.linalg import get_blas_funcs

    a, b = operands
    function = get_blas_funcs("trmm" if row.structure == "triangular" else "symm", (a, b))
    # BLAS computes in Fortran order, so it gets the transposed matrices, and copies none.
    return lambda: function(1, a.T, b.T, side=1, lower=0).T


def _planned(row: Product, operands: Sequence[Any], module: Any) -> Callable[[], object]:
    """Return a call of a planned product, as gpumath and nvmath-python have them."""
    a, b, *bias = operands
    product = module.Matmul(a, b)
    if isinstance(row, Epilog):
        product.plan(epilog=module.MatmulEpilog[row.epilog], epilog_inputs={"bias": bias[0]})
    else:
        product.plan()
    return lambda: product.execute()


def _qualifiers(row: Structured, module: Any) -> Any:
    """Return the qualifiers of both matrices, as gpumath and nvmath-python take them."""
    qualifiers = np.full(2, module.GeneralMatrixQualifier.create())
    create = getattr(module, f"{row.structure.capitalize()}MatrixQualifier").create
    is_diagonal = row.structure == "diagonal"
    qualifiers[0] = create() if is_diagonal else create(uplo=module.FillMode.LOWER)
    return qualifiers


def _activation(row: Epilog, module: Any) -> Callable[[Any], Any]:
    """Return the function that an epilog applies after it has added the bias."""
    is_relu = row.epilog == "RELU_BIAS"
    if module.__name__ == "torch":
        gelu = partial(module.nn.functional.gelu, approximate="tanh")
        return module.relu if is_relu else gelu
    if is_relu:
        return lambda x: module.maximum(x, 0)
    factor = sqrt(2 / pi)
    return lambda x: 0.5 * x * (1 + module.tanh(factor * (x + 0.044715 * x * x * x)))
