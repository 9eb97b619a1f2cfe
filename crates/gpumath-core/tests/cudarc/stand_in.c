/* The driver and cuBLASLt of ../../../../tests/helpers/multiplying_driver.c, with what cudarc calls
   besides. */
#include "multiplying_driver.c"

enum { NO_CONTEXT = 201 };

int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuCtxSetCurrent(Handle context) { return current_ = context, SUCCESS; }
int cuCtxSynchronize(void) {
    lock();
    for (int i = first_; i < works_; i++) advance(work_[i].stream, works_, MOST);
    return unlock(SUCCESS);
}
int cuMemAllocAsync(Handle *address, size_t size, Handle stream) {
    (void)stream;
    return lock(), unlock(current_ ? allocate(address, size, 0) : NO_CONTEXT);
}
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, Handle stream) {
    return cuMemcpyAsync(to, from, size, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t size, Handle stream) {
    return cuMemcpyAsync(to, from, size, stream);
}
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t size, Handle stream) {
    return cuMemcpyAsync(to, from, size, stream);
}
int cuMemsetD8Async(char *to, unsigned char value, size_t size, Handle stream) {
    lock();
    advance(stream, works_, MOST);
    memset(to, value, size);
    return unlock(SUCCESS);
}
