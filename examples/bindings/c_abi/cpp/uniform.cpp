// Uniform random numbers from cuRAND, in C++: a Python module that calls the library itself.
//
// Build it with one command (or: python examples/bindings/c_abi/run.py cpp):
//
//   c++ -std=c++17 -O2 -shared -fPIC uniform.cpp -o uniform.so
//       $(python3-config --includes)
//       -I$(python3 -c 'from gpumath.bindings import core; print(core.get_include())')
#define Py_LIMITED_API 0x030B0000  // Python 3.11
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gpumath.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace {

const gpumath_api *api;

// The types are written out, so that this needs no CUDA toolkit.
// With curand.h: decltype(&curandCreateGeneratorHost).
using Generator = void *;
using CreateGeneratorHost = int (*)(Generator *, int);
using SetSeed = int (*)(Generator, unsigned long long);
using GenerateUniformDouble = int (*)(Generator, double *, std::size_t);
using DestroyGenerator = int (*)(Generator);
constexpr int CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161;

template <typename F> F function(const char *name) {
    void *address;
    if (api->function(name, &address) != GPUMATH_OK)
        throw std::runtime_error(api->last_error());
    return reinterpret_cast<F>(address);
}

void check(int status) {
    if (status != 0)
        throw std::runtime_error("cuRAND returned status " + std::to_string(status));
}

// Fills `values` with random numbers. It needs no interpreter lock.
void fill(unsigned long long seed, double *values, std::size_t count) {
    // The addresses are looked up once, at the first call.
    static const auto create = function<CreateGeneratorHost>("curand.curandCreateGeneratorHost");
    static const auto set_seed = function<SetSeed>("curand.curandSetPseudoRandomGeneratorSeed");
    static const auto generate =
        function<GenerateUniformDouble>("curand.curandGenerateUniformDouble");
    static const auto destroy = function<DestroyGenerator>("curand.curandDestroyGenerator");

    Generator generator;
    check(create(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
    int status = set_seed(generator, seed);
    if (status == 0)
        status = generate(generator, values, count);
    destroy(generator);
    check(status);
}

PyObject *py_fill(PyObject *, PyObject *arguments) {
    unsigned long long seed;
    PyObject *array;
    Py_buffer buffer;
    if (!PyArg_ParseTuple(arguments, "KO:fill", &seed, &array))
        return nullptr;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0)
        return nullptr;
    std::string error;
    Py_BEGIN_ALLOW_THREADS
    try {
        fill(seed, static_cast<double *>(buffer.buf), buffer.len / sizeof(double));
    } catch (const std::exception &exception) {
        error = exception.what();
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    if (!error.empty()) {
        PyErr_SetString(PyExc_RuntimeError, error.c_str());
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"fill", py_fill, METH_VARARGS, "fill(seed, array): fill an array of doubles."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "uniform", nullptr, -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_uniform() {
    api = gpumath_import();
    return api == nullptr ? nullptr : PyModule_Create(&definition);
}
