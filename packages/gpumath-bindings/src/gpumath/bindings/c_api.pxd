"""``include/gpumath.h`` for Cython. Compile with ``gpumath.bindings.core.get_include()``."""

from libc.stdint cimport uint32_t

# gpumath.h declares gpumath_import only where Python.h comes first, as Cython has it.
cdef extern from "gpumath.h":
    const int GPUMATH_ABI_VERSION

    enum:
        GPUMATH_OK
        GPUMATH_INVALID_ARGUMENT
        GPUMATH_LIBRARY_NOT_FOUND
        GPUMATH_FUNCTION_NOT_FOUND
        GPUMATH_FAILED

    ctypedef struct gpumath_api:
        uint32_t abi_version
        uint32_t size
        int (*function)(const char *name, void **address) noexcept nogil
        int (*has)(const char *name, int *found) noexcept nogil
        int (*library_path)(const char *module, const char **path) noexcept nogil
        int (*library_version)(const char *module, int *version) noexcept nogil
        const char *(*last_error)() noexcept nogil

    const gpumath_api *gpumath_import() except NULL
