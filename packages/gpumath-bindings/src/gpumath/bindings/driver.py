"""The CUDA driver, one to one: devices, contexts, memory, streams, modules, launches and graphs.

Handles, streams and addresses are ints, and 0 is NULL. An address is used as it is: a wrong one
ends the process. What C writes to a scalar is returned; arrays that C writes are buffers or
addresses. Arrays that C only reads may be Python sequences. A status other than success raises
`CUDAError`. The driver is loaded by the first call; `init` comes before most others.

Structs are classes such as `Memcpy2D`, and an object of such a class is accepted where C wants the
struct's address. Members of a union are fields of their own: ``desc.res_array_h_array``.

Where the driver calls a function, as in `launch_host_func`, pass the address of a C function. That
of a ctypes callback is ``ctypes.cast(callback, ctypes.c_void_p).value``. Keep the callback alive as
long as it may be called, and call no CUDA function from a host function.

A function whose parameters changed has its newest form under the plain name and older forms with
their version, such as `mem_advise_v1`; each works with every driver that exports it. `mem_advise`
and `mem_advise_v2` are the same C function.

Examples
--------
>>> from gpumath.bindings import driver
>>> driver.Result.OUT_OF_MEMORY
<Result.OUT_OF_MEMORY: 2>
>>> copy = driver.Memcpy2D()
>>> copy.width_in_bytes, copy.height = 256, 16
>>> copy.dst_memory_type = driver.MemoryType.DEVICE
"""

from gpumath.bindings._core.driver import *
from gpumath.bindings._generated.driver import *
from gpumath.bindings._generated.driver_structs import *
from gpumath.bindings.errors import CUDAError as CUDAError

check_status = CUDAError.check
