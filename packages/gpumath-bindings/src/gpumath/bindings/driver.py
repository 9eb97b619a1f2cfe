"""The CUDA driver, one to one, as far as gpumath needs it.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. What C writes to a scalar is returned. A status other than success raises
`CUDAError`. The driver is loaded by the first call; `init` comes before most others.

Examples
--------
>>> from gpumath.bindings import driver
>>> driver.Result.OUT_OF_MEMORY
<Result.OUT_OF_MEMORY: 2>
"""

from gpumath.bindings._core.driver import *
from gpumath.bindings._generated.driver import *
from gpumath.bindings.errors import CUDAError as CUDAError

check_status = CUDAError.check
