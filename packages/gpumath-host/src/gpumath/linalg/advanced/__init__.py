"""Products of matrices with all that cuBLASLt has: epilogs, narrow types, algorithms, autotuning.

The function `matmul` makes a plan, executes it, and caches it for the next call with such operands.
The class `Matmul` plans once, can measure algorithms, and computes many times.

Examples
--------
>>> import numpy as np
>>> from gpumath.linalg import advanced
>>> a = np.array([[1.0, -2.0], [3.0, 4.0]])
>>> with advanced.Matmul(a, a) as product:
...     algorithms = product.plan()
...     product.autotune()
...     product.execute()
array([[ -5., -10.],
       [ 15.,  10.]])
"""

from gpumath.bindings.errors import UnsupportedLayoutError
from gpumath.linalg._errors import InvalidMatmulState
from gpumath.linalg.advanced import helpers, tuning
from gpumath.linalg.advanced._algorithm import Algorithm, AlgorithmCapabilities
from gpumath.linalg.advanced._matmul import matmul
from gpumath.linalg.advanced._matmul_class import Matmul
from gpumath.linalg.advanced._numerical import MatmulNumericalImplFlags
from gpumath.linalg.advanced._options import (
    MatmulEpilogPreferences,
    MatmulOptions,
    MatmulPlanPreferences,
    MatmulQuantizationScales,
)
from gpumath.linalg.advanced._types import (
    MatmulComputeType,
    MatmulEpilog,
    MatmulInnerShape,
    MatmulReductionScheme,
    matrix_qualifiers_dtype,
)

__all__ = [
    "Algorithm",
    "AlgorithmCapabilities",
    "InvalidMatmulState",
    "Matmul",
    "MatmulComputeType",
    "MatmulEpilog",
    "MatmulEpilogPreferences",
    "MatmulInnerShape",
    "MatmulNumericalImplFlags",
    "MatmulOptions",
    "MatmulPlanPreferences",
    "MatmulQuantizationScales",
    "MatmulReductionScheme",
    "UnsupportedLayoutError",
    "helpers",
    "matmul",
    "matrix_qualifiers_dtype",
    "tuning",
]
