// Shows what only C can show of gpumath.h: threads that do not hold the interpreter lock, and the
// time after Python has ended.
#include <Python.h>

#include <gpumath.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

const gpumath_api *api;
std::string late_name;

// The address as a number, or the message.
std::string ask(const std::string &name) {
    void *address;
    if (api->function(name.c_str(), &address) != GPUMATH_OK)
        return api->last_error();
    return std::to_string(reinterpret_cast<std::uintptr_t>(address));
}

// look_up(names, threads): what each thread got for each name, each starting at another name.
PyObject *look_up(PyObject *, PyObject *arguments) {
    PyObject *list;
    int threads;
    if (!PyArg_ParseTuple(arguments, "O!i", &PyList_Type, &list, &threads))
        return nullptr;
    std::vector<std::string> names;
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i)
        names.emplace_back(PyUnicode_AsUTF8(PyList_GetItem(list, i)));
    std::vector<std::vector<std::string>> answers(threads, std::vector<std::string>(names.size()));
    Py_BEGIN_ALLOW_THREADS
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&names, &own = answers[t], t] {
            for (std::size_t i = 0; i < names.size(); ++i) {
                std::size_t k = (i + t) % names.size();
                own[k] = ask(names[k]);
            }
        });
    for (std::thread &thread : running)
        thread.join();
    Py_END_ALLOW_THREADS
    PyObject *result = PyList_New(0);
    for (const auto &row : answers) {
        PyObject *texts = PyList_New(0);
        for (const std::string &text : row) {
            PyObject *item = PyUnicode_FromString(text.c_str());
            PyList_Append(texts, item);
            Py_DECREF(item);
        }
        PyList_Append(result, texts);
        Py_DECREF(texts);
    }
    return result;
}

// Asks for the first time when Python is gone.
void ask_late() {
    int found = -1;
    int status = api->has(late_name.c_str(), &found);
    std::printf("status %d, found %d\n", status, found);
    std::fflush(stdout);
}

PyObject *at_exit(PyObject *, PyObject *name) {
    late_name = PyUnicode_AsUTF8(name);
    std::atexit(ask_late);
    Py_RETURN_NONE;
}

PyObject *size_of_table(PyObject *, PyObject *) {
    return PyLong_FromSize_t(sizeof(gpumath_api));
}

PyMethodDef methods[] = {
    {"look_up", look_up, METH_VARARGS, nullptr},
    {"at_exit", at_exit, METH_O, nullptr},
    {"size_of_table", size_of_table, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "c_abi_probe", nullptr, -1, methods,
                          nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_c_abi_probe() {
    api = gpumath_import();
    return api == nullptr ? nullptr : PyModule_Create(&definition);
}
