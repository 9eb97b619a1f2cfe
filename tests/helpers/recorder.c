/* A library with a few functions of cuFFT and of the CUDA driver, which write down the arguments of
   each call. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char record_[1 << 16];
static volatile int released_;
static int sizes_[1024], size_count_;

/* What the tests call by themselves. */
const char *recorder_text(void) { return record_; }
void recorder_release(void) { released_ = 1; }
/* How many bytes each argument of a kernel has. */
void recorder_kernel(int count, const int *sizes) {
    size_count_ = count;
    memcpy(sizes_, sizes, sizeof(int) * (size_t)count);
}

static void start(const char *name) { strcpy(record_, name); }
static void number(long long value) {
    char digits[32];
    int at = 31, negative = value < 0;
    unsigned long long rest =
        negative ? 0ULL - (unsigned long long)value : (unsigned long long)value;
    digits[31] = 0;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    strcat(record_, negative ? " -" : " ");
    strcat(record_, digits + at);
}
static void bytes(const unsigned char *value, int size) {
    static const char digits[] = "0123456789abcdef";
    char *end = record_ + strlen(record_);
    *end++ = ' ';
    for (int i = 0; i < size; i++) {
        *end++ = digits[value[i] >> 4];
        *end++ = digits[value[i] & 15];
    }
    *end = 0;
}
static void text(const char *value) {
    strcat(record_, " ");
    strcat(record_, value);
}

/* cuFFT. RECORDER_MAJOR is its major version. */
static int major_version(void) {
    const char *text = getenv("RECORDER_MAJOR");
    return text ? atoi(text) : 12;
}
int cufftGetVersion(int *version) {
    *version = major_version() * 1000;
    return 0;
}
int cufftGetProperty(int which, int *value) {
    *value = which == 0 ? major_version() : 0;
    return 0;
}
int cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                      int ostride, int odist, int type, int batch, size_t *work_size) {
    start("estimate");
    number(rank);
    for (int i = 0; i < rank; i++) number(n[i]);
    number(inembed ? inembed[0] : -1);
    number(istride);
    number(idist);
    number(onembed ? onembed[rank - 1] : -1);
    number(ostride);
    number(odist);
    number(type);
    number(batch);
    *work_size = 0xFFFFFFFFFFFFFFFFULL;
    return 0;
}
int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
                        long long idist, int input, long long *onembed, long long ostride,
                        long long odist, int output, long long batch, size_t *work_size,
                        int execution) {
    start("make");
    number(plan);
    for (int i = 0; i < rank; i++) number(n[i]);
    number(inembed != 0);
    number(istride);
    number(idist);
    number(input);
    number(onembed != 0);
    number(ostride);
    number(odist);
    number(output);
    number(batch);
    number(execution);
    *work_size = 1ULL << 40;
    return 0;
}
int cufftGetPlanPropertyInt64(int plan, int property, long long *value) {
    (void)plan;
    (void)property;
    *value = -(1LL << 62);
    return 0;
}
static int callback(const char *name, int plan, const char *symbol, const void *fatbin, size_t size,
                    int type, void **caller_info) {
    start(name);
    number(plan);
    text(symbol ? symbol : "NULL");
    for (size_t i = 0; i < size; i++) number(((const unsigned char *)fatbin)[i]);
    number(type);
    number((long long)(size_t)caller_info[0]);
    number((long long)(size_t)caller_info[1]);
    return 0;
}
int cufftXtSetJITCallback(int plan, const char *symbol, const void *fatbin, size_t size, int type,
                          void **caller_info) {
    return callback("plain", plan, symbol, fatbin, size, type, caller_info);
}
int __cufftXtSetJITCallback_12_7(int plan, const char *symbol, const void *fatbin, size_t size,
                                 int type, void **caller_info) {
    return callback("12_7", plan, symbol, fatbin, size, type, caller_info);
}
/* Runs until another thread calls recorder_release(); 6 after five seconds. */
int cufftExecC2C(int plan, void *input, void *output, int direction) {
    (void)plan;
    (void)input;
    (void)output;
    (void)direction;
    for (int i = 0; i < 5000 && !released_; i++) usleep(1000);
    return released_ ? 0 : 6;
}
int cufftSetStream(int plan, void *stream) {
    (void)plan;
    return (int)(size_t)stream;
}

/* The driver. */
int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}
int cuDriverGetVersion(int *version) {
    *version = 13050;
    return 0;
}
int cuDeviceGetCount(int *count) {
    *count = 0;
    return 0;
}
int cuGetErrorName(int error, const char **name) {
    *name = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
    return error == 2 ? 0 : 1;
}
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    *milliseconds = (float)((char *)end - (char *)start) / 8;
    return 0;
}
int cuMemGetInfo_v2(size_t *free_, size_t *total) {
    *free_ = 1;
    *total = (size_t)-1;
    return 0;
}
int cuMemAlloc_v2(unsigned long long *address, size_t size) {
    (void)size;
    *address = 0xF000000000000001ULL;
    return 0;
}
int cuMemFree_v2(unsigned long long address) {
    start("free");
    number((long long)address);
    return 0;
}
int cuMemsetD8Async(unsigned long long address, unsigned char byte, size_t count, void *stream) {
    start("set");
    number((long long)address);
    number(byte);
    number((long long)count);
    number((long long)(size_t)stream);
    return 0;
}
int cuModuleLoadData(void **module, const void *image) {
    start("load");
    text(image);
    *module = (void *)(size_t)77;
    return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    start("find");
    number((long long)(size_t)module);
    text(name);
    *function = (void *)(size_t)78;
    return 0;
}
static void arguments(void **parameters, void **extra) {
    number(parameters != 0);
    /* A small number is no address. */
    number((long long)(size_t)(extra > (void **)4096 ? extra[0] : (void *)extra));
    for (int i = 0; parameters && i < size_count_; i++) bytes(parameters[i], sizes_[i]);
}
/* On the stream 0xB10C, waits for recorder_release() before it reads the arguments. */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    for (int i = 0; i < 5000 && stream == (void *)0xB10C && !released_; i++) usleep(1000);
    start("launch");
    number((long long)(size_t)f);
    number(gx);
    number(gy);
    number(gz);
    number(bx);
    number(by);
    number(bz);
    number(shared);
    number((long long)(size_t)stream);
    arguments(parameters, extra);
    return 0;
}
int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared, void *stream,
                              void **parameters) {
    start("cooperative");
    number((long long)(size_t)f);
    number(gx);
    number(gy);
    number(gz);
    number(bx);
    number(by);
    number(bz);
    number(shared);
    number((long long)(size_t)stream);
    arguments(parameters, 0);
    return 0;
}
int cuLaunchKernelEx(const unsigned *config, void *f, void **parameters, void **extra) {
    start("ex");
    number(config[0]);
    number((long long)(size_t)f);
    arguments(parameters, extra);
    return 0;
}

/* The runtime. */
struct extents {
    unsigned x, y, z;
};
int cudaRuntimeGetVersion(int *version) {
    *version = 13050;
    return 0;
}
int cudaLaunchKernel(const void *f, struct extents grid, struct extents block, void **parameters,
                     size_t shared, void *stream) {
    start("runtime");
    number((long long)(size_t)f);
    number(grid.x);
    number(grid.y);
    number(grid.z);
    number(block.x);
    number(block.y);
    number(block.z);
    number((long long)shared);
    number((long long)(size_t)stream);
    arguments(parameters, 0);
    return 0;
}
