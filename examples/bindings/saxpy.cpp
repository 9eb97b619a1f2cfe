// The program 03_saxpy.py in C++, with the same calls of NVRTC and the CUDA driver.
//
//   c++ -O2 -std=c++17 saxpy.cpp -o saxpy -I$CUDA_HOME/include -L$CUDA_HOME/lib64 -lnvrtc -lcuda
//   ./saxpy

#include <cuda.h>
#include <nvrtc.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

static const char *const SOURCE = R"(
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, size_t n)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
)";
static const unsigned THREADS = 512, BLOCKS = 32768;
static const size_t COUNT = size_t(THREADS) * BLOCKS;
static const int LAUNCHES = 20;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int status = (call);                                                                       \
        if (status != 0) {                                                                         \
            std::fprintf(stderr, "%s: status %d\n", #call, status);                                \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

static std::vector<char> compile_cubin(int architecture)
{
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, SOURCE, "kernel.cu", 0, nullptr, nullptr));
    std::string option = "-arch=sm_" + std::to_string(architecture);
    const char *options[] = {option.c_str()};
    CHECK(nvrtcCompileProgram(program, 1, options));
    size_t size;
    CHECK(nvrtcGetCUBINSize(program, &size));
    std::vector<char> code(size);
    CHECK(nvrtcGetCUBIN(program, code.data()));
    CHECK(nvrtcDestroyProgram(&program));
    return code;
}

int main()
{
    std::mt19937 generator{std::random_device{}()};
    std::uniform_real_distribution<float> uniform(0, 1);
    std::vector<float> x(COUNT), y(COUNT), out(COUNT);
    for (size_t i = 0; i < COUNT; ++i) {
        x[i] = uniform(generator);
        y[i] = uniform(generator);
    }
    float a = 2.5f;

    auto started = std::chrono::steady_clock::now();
    CHECK(cuInit(0));
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0));
    int major, minor;
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxPushCurrent(context));

    std::vector<char> code = compile_cubin(10 * major + minor);
    CUmodule module;
    CHECK(cuModuleLoadData(&module, code.data()));
    CUfunction saxpy;
    CHECK(cuModuleGetFunction(&saxpy, module, "saxpy"));
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUevent start, end;
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    size_t bytes = COUNT * sizeof(float);
    CUdeviceptr device_x, device_y, device_out;
    CHECK(cuMemAlloc(&device_x, bytes));
    CHECK(cuMemAlloc(&device_y, bytes));
    CHECK(cuMemAlloc(&device_out, bytes));
    CHECK(cuMemcpyHtoDAsync(device_x, x.data(), bytes, stream));
    CHECK(cuMemcpyHtoDAsync(device_y, y.data(), bytes, stream));

    size_t count = COUNT;
    void *arguments[] = {&a, &device_x, &device_y, &device_out, &count};
    for (int number = 0; number < 1 + LAUNCHES; ++number) {
        if (number == 1) // the first launch also loads the kernel
            CHECK(cuEventRecord(start, stream));
        CHECK(cuLaunchKernel(saxpy, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, arguments, nullptr));
    }
    CHECK(cuEventRecord(end, stream));

    CHECK(cuMemcpyDtoHAsync(out.data(), device_out, bytes, stream));
    CHECK(cuStreamSynchronize(stream));
    float kernel;
    CHECK(cuEventElapsedTime(&kernel, start, end));
    kernel /= LAUNCHES;
    for (CUdeviceptr address : {device_x, device_y, device_out})
        CHECK(cuMemFree(address));
    CHECK(cuEventDestroy(start));
    CHECK(cuEventDestroy(end));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    CUcontext popped;
    CHECK(cuCtxPopCurrent(&popped));
    CHECK(cuDevicePrimaryCtxRelease(device));
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;

    double error = 0;
    for (size_t i = 0; i < COUNT; ++i)
        error = std::fmax(error, std::fabs(out[i] - (double(a) * x[i] + y[i])));
    std::printf("largest error: %.1e\n", error);
    std::printf("kernel:      %8.1f µs\n", kernel * 1e3);
    std::printf("application: %8.1f ms\n", elapsed.count() * 1e3);
    return error < 1e-6 ? 0 : 1;
}
