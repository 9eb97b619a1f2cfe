# cython: language_level=3
"""Uniform random numbers from cuRAND, in Cython: a Python module that calls the library itself.

Build it with one command (or: python examples/bindings/c_abi/run.py cython):

    CFLAGS=-I$(python3 -c 'from gpumath.bindings import core; print(core.get_include())')
        cythonize -i uniform.pyx
"""

from gpumath.bindings.c_api cimport GPUMATH_OK, gpumath_api, gpumath_import

cdef const gpumath_api *api = gpumath_import()

# The types are written out, so that this needs no CUDA toolkit.
# With one: `cdef extern from "curand.h"`.
ctypedef int (*CreateGeneratorHost)(void **, int) noexcept nogil
ctypedef int (*SetSeed)(void *, unsigned long long) noexcept nogil
ctypedef int (*GenerateUniformDouble)(void *, double *, size_t) noexcept nogil
ctypedef int (*DestroyGenerator)(void *) noexcept nogil

cdef int CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161


cdef void *function(const char *name) except NULL nogil:
    cdef void *address
    if api.function(name, &address) != GPUMATH_OK:
        with gil:
            raise RuntimeError(api.last_error().decode())
    return address


cdef int check(int status) except -1 nogil:
    if status != 0:
        with gil:
            raise RuntimeError(f"cuRAND returned status {status}")
    return 0


def fill(unsigned long long seed, double[::1] array):
    """Fill an array of doubles, without the interpreter lock."""
    cdef void *generator
    cdef int status
    cdef size_t count = array.shape[0]
    if count == 0:
        return
    cdef double *values = &array[0]
    with nogil:
        # A program that calls them often should keep the addresses.
        create = <CreateGeneratorHost>function("curand.curandCreateGeneratorHost")
        set_seed = <SetSeed>function("curand.curandSetPseudoRandomGeneratorSeed")
        generate = <GenerateUniformDouble>function("curand.curandGenerateUniformDouble")
        destroy = <DestroyGenerator>function("curand.curandDestroyGenerator")
        check(create(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10))
        status = set_seed(generator, seed)
        if status == 0:
            status = generate(generator, values, count)
        destroy(generator)
        check(status)
