/* A CUDA driver without a GPU: it gives out host memory, and writes down what is ordered after what. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uintptr_t Handle;

static char record_[1 << 20];
static Handle current_, stack_[64];
static int depth_, blocks_, ready_ = 1;

#define WRITE(...) (void)sprintf(record_ + strlen(record_), __VA_ARGS__)
enum { SUCCESS = 0, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, NOT_READY = 600 };

/* What the tests call by themselves. */
const char *driver_text(void) { return record_; }
void driver_clear(void) { record_[0] = 0; }
void driver_ready(int ready) { ready_ = ready; }
int driver_blocks(void) { return blocks_; }

static int allocate(Handle *address, size_t size) {
    if (size >> 40) return OUT_OF_MEMORY;
    *address = (Handle)aligned_alloc(256, (size + 255) / 256 * 256);
    blocks_++;
    return SUCCESS;
}

static int give_back(Handle address) {
    free((void *)address);
    blocks_--;
    return SUCCESS;
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = 2, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDevicePrimaryCtxRetain(Handle *context, int device) {
    return *context = 4096 + (Handle)device, SUCCESS;
}
int cuCtxGetCurrent(Handle *context) { return *context = current_, SUCCESS; }
int cuCtxPushCurrent_v2(Handle context) {
    stack_[depth_++] = current_;
    return current_ = context, SUCCESS;
}
int cuCtxPopCurrent_v2(Handle *context) {
    *context = current_;
    return current_ = stack_[--depth_], SUCCESS;
}
int cuMemPoolCreate(Handle *pool, const void *properties) {
    return *pool = 1, properties ? SUCCESS : 1;
}
int cuMemPoolSetAttribute(Handle pool, int attribute, void *value) {
    return pool && attribute && value ? SUCCESS : 1;
}
int cuMemPoolTrimTo(Handle pool, size_t size) { return pool && !size ? SUCCESS : 1; }
int cuMemAllocFromPoolAsync(Handle *address, size_t size, Handle pool, Handle stream) {
    WRITE("allocate on %zu;", stream);
    return pool ? allocate(address, size) : 1;
}
int cuMemFreeAsync(Handle address, Handle stream) {
    WRITE("free on %zu;", stream);
    return give_back(address);
}
int cuMemHostAlloc(Handle *address, size_t size, unsigned flags) {
    WRITE("pin %u;", flags);
    return allocate(address, size);
}
int cuMemFreeHost(Handle address) {
    WRITE("free pinned;");
    return give_back(address);
}
int cuMemAllocManaged(Handle *address, size_t size, unsigned flags) {
    WRITE("manage %u;", flags);
    return allocate(address, size);
}
int cuMemFree_v2(Handle address) {
    WRITE("free managed;");
    return give_back(address);
}
int cuStreamCreate(Handle *stream, unsigned flags) {
    static Handle next = 5000;
    return *stream = next++, flags ? SUCCESS : 1;
}
int cuStreamDestroy_v2(Handle stream) {
    WRITE("destroy %zu;", stream);
    return SUCCESS;
}
int cuStreamSynchronize(Handle stream) {
    WRITE("synchronize %zu;", stream);
    return SUCCESS;
}
int cuStreamIsCapturing(Handle stream, int *status) { return *status = 0, stream ? SUCCESS : 0; }
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
    WRITE("%zu waits;", stream);
    return event ? (int)flags : 1;
}
int cuEventCreate(Handle *event, unsigned flags) { return *event = 9, flags ? SUCCESS : 1; }
int cuEventDestroy_v2(Handle event) { return event ? SUCCESS : 1; }
int cuEventQuery(Handle event) { return event && ready_ ? SUCCESS : NOT_READY; }
int cuEventRecord(Handle event, Handle stream) {
    WRITE("after %zu ", stream);
    return event ? SUCCESS : 1;
}
int cuPointerGetAttribute(int *value, int attribute, Handle address) {
    if (!current_) return INVALID_CONTEXT;
    return *value = 1, attribute == 9 && address ? SUCCESS : 1;
}
int cuMemPrefetchAsync(Handle address, size_t size, int to, Handle stream) {
    WRITE("prefetch %zu to %d on %zu;", size, to, stream);
    return address ? SUCCESS : 1;
}
int cuMemAdvise(Handle address, size_t size, int advice, int at) {
    WRITE("advise %zu %d %d;", size, advice, at);
    return address ? SUCCESS : 1;
}
