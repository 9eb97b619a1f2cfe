/*
 * The C ABI of gpumath-bindings: addresses of functions in the CUDA libraries that gpumath found
 * and loaded, for C, C++, Cython and Rust.
 *
 * A gpumath_api is a table of C functions. Any thread may call them, with or without Python's
 * interpreter lock. A call that has to search for a library takes that lock for a moment: do not
 * hold it while waiting for another thread that may make the first call to a library.
 *
 * Rule of versions. `abi_version` changes when an entry changes its meaning or goes, which is a
 * last resort. New entries come at the end and make `size` larger. So a program built with an
 * older header of the same abi_version always runs; gpumath_import() refuses every other case.
 *
 * Names are "module.function": the Python name ("cufft.exec_c2c"), the C name
 * ("cufft.cufftExecC2C") or the exported symbol ("driver.cuMemAlloc_v2"). A name that stands for
 * different functions in different CUDA releases has no one address: it is refused, and the message
 * lists the names to choose from. The caller casts the address to the type in NVIDIA's header.
 */
#ifndef GPUMATH_H
#define GPUMATH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUMATH_ABI_VERSION 1

/* What the functions below return. There may be more of them one day: all but 0 are failures. */
enum gpumath_status {
    GPUMATH_OK = 0,
    GPUMATH_INVALID_ARGUMENT = 1,   /* NULL, or a name that gpumath does not know */
    GPUMATH_LIBRARY_NOT_FOUND = 2,  /* the message says where it was looked for, and the fix */
    GPUMATH_FUNCTION_NOT_FOUND = 3, /* the library is there, in a version without the function */
    GPUMATH_FAILED = 4              /* anything else */
};

typedef struct gpumath_api {
    uint32_t abi_version;
    uint32_t size; /* of the table, in bytes */

    /* Give the address of a function, NULL on failure. The first call for a library loads it; it
       is never unloaded. Keep the address instead of asking again. */
    int (*function)(const char *name, void **address);

    /* Say (1 or 0) whether a library ("cufft") or function ("cufft.exec_c2c") can be used here. */
    int (*has)(const char *name, int *found);

    /* Give the file of a library, loading it first if need be. The text stays for good. */
    int (*library_path)(const char *module, const char **path);

    /* Give major, minor and patch of a library; -1 for each that it does not report. */
    int (*library_version)(const char *module, int version[3]);

    /* The message of the last failure on this thread. It stays until the next failure there. */
    const char *(*last_error)(void);
} gpumath_api;

#ifdef Py_PYTHON_H /* <Python.h> was included before */

/* Return the table, or NULL with an exception set. Needs the interpreter lock; call it once. */
static inline const gpumath_api *gpumath_import(void)
{
    const gpumath_api *api;
    PyObject *capsule;
    PyObject *module = PyImport_ImportModule("gpumath.bindings.core");
    if (module == NULL)
        return NULL;
    capsule = PyObject_GetAttrString(module, "_C_API");
    Py_DECREF(module);
    if (capsule == NULL)
        return NULL;
    api = (const gpumath_api *)PyCapsule_GetPointer(capsule, "gpumath.bindings.core._C_API");
    Py_DECREF(capsule); /* the table is static */
    if (api == NULL)
        return NULL;
    if (api->abi_version != GPUMATH_ABI_VERSION) {
        PyErr_Format(PyExc_ImportError,
                     "built for version %d of gpumath's C ABI, but the installed gpumath-bindings "
                     "has version %u; build it again with the installed gpumath.h",
                     GPUMATH_ABI_VERSION, (unsigned int)api->abi_version);
        return NULL;
    }
    if (api->size < sizeof(gpumath_api)) {
        PyErr_SetString(PyExc_ImportError,
                        "built with a newer gpumath.h than the installed gpumath-bindings has; "
                        "run pip install --upgrade gpumath-bindings");
        return NULL;
    }
    return api;
}

#endif /* Py_PYTHON_H */

#ifdef __cplusplus
}
#endif

#endif /* GPUMATH_H */
