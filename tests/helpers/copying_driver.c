/* A CUDA driver and a cuFFT without a GPU. Work stays in its stream until something waits for the
   stream, and is then done one step at a time. Memory that is read or used again too early has the
   wrong bytes therefore. A transform inverts every bit. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uintptr_t Handle;
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NOT_READY = 600,
    MOST = 1 << 16
};
enum { COPY, INVERT, WAIT };

typedef struct {
    int kind;
    Handle stream;
    char *to;
    const char *from;
    size_t size;
    int event;
    int is_done;
} Work;
typedef struct {
    char *start;
    size_t size;
    int is_pinned;
} Block;

static pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
static Work work_[MOST];
static int works_, first_, blocks_, copies_, failing_copy_, is_pinning_refused_, early_frees_,
    pins_, events_, highest_;
static Block block_[MOST];
static struct {
    Handle stream;
    int until;
} event_[MOST];
static __thread Handle current_, stack_[64];
static __thread int depth_;

static void lock(void) { pthread_mutex_lock(&lock_); }
static int unlock(int status) { return pthread_mutex_unlock(&lock_), status; }

/* What the tests call by themselves. */
const char *driver_text(void) { return ""; }
void driver_clear(void) { copies_ = 0; }
void driver_ready(int ready) { (void)ready; }
int driver_blocks(void) { return blocks_; }
int driver_copies(void) { return copies_; }
/* The copy with this number, counted from now on, fails. */
void driver_fail_copy(int number) { failing_copy_ = copies_ + number; }
void driver_refuse_pinning(int is_refused) { is_pinning_refused_ = is_refused; }
/* How often memory was freed that work had still to use, and how many blocks were pinned. */
int driver_early_frees(void) { return early_frees_; }
int driver_pins(void) { return pins_; }
/* The depth of the calling thread's stack of contexts. */
int driver_depth(void) { return depth_; }

static Block *block_of(const void *address) {
    for (int i = 0; i < highest_; i++) {
        const char *start = block_[i].start;
        if (start && start <= (const char *)address &&
            (const char *)address < start + block_[i].size)
            return &block_[i];
    }
    return NULL;
}

static int allocate(Handle *address, size_t size, int is_pinned) {
    if (size >> 40) return OUT_OF_MEMORY;
    for (int i = 0; i < MOST; i++)
        if (!block_[i].start) {
            block_[i].start = aligned_alloc(256, (size + 255) / 256 * 256);
            block_[i].size = size;
            block_[i].is_pinned = is_pinned;
            *address = (Handle)block_[i].start;
            if (i >= highest_) highest_ = i + 1;
            return blocks_++, SUCCESS;
        }
    return OUT_OF_MEMORY;
}

static int give_back(Handle address) {
    Block *block = block_of((void *)address);
    if (!block) return INVALID_VALUE;
    char *end = block->start + block->size;
    for (int i = first_; i < works_; i++) {
        Work *w = &work_[i];
        if (!w->is_done && w->kind != WAIT &&
            ((w->to >= block->start && w->to < end) || (w->from >= block->start && w->from < end)))
            early_frees_++;
    }
    free(block->start);
    block->start = NULL;
    return blocks_--, SUCCESS;
}

/* Does the work that is in a stream, up to `until`, but no more than `most` pieces; says whether
   that was all. */
static int advance(Handle stream, int until, int most) {
    for (int i = first_; i < until; i++) {
        Work *w = &work_[i];
        if (w->is_done || w->stream != stream) continue;
        if (most-- == 0) return 0;
        if (w->kind == WAIT) advance(event_[w->event].stream, event_[w->event].until, MOST);
        if (w->kind == COPY) memcpy(w->to, w->from, w->size);
        if (w->kind == INVERT)
            for (size_t byte = 0; byte < w->size; byte++) w->to[byte] = (char)~w->from[byte];
        w->is_done = 1;
    }
    while (first_ < works_ && work_[first_].is_done) first_++;
    return 1;
}

static int enqueue(Work work) {
    if (works_ == MOST) return OUT_OF_MEMORY;
    work_[works_++] = work;
    return SUCCESS;
}

/* Like the driver itself, of no use in a forked child. */
static pid_t owner_;
int cuInit(unsigned flags) { return owner_ = getpid(), (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDevicePrimaryCtxRetain(Handle *context, int device) {
    return *context = 4096 + (Handle)device, SUCCESS;
}
int cuCtxGetCurrent(Handle *context) {
    return *context = current_, owner_ == getpid() ? SUCCESS : NOT_INITIALIZED;
}
int cuCtxPushCurrent_v2(Handle context) {
    return stack_[depth_++] = current_, current_ = context, SUCCESS;
}
int cuCtxPopCurrent_v2(Handle *context) {
    return *context = current_, current_ = stack_[--depth_], SUCCESS;
}
int cuMemPoolCreate(Handle *pool, const void *properties) {
    return *pool = 1, properties ? SUCCESS : INVALID_VALUE;
}
int cuMemPoolSetAttribute(Handle pool, int attribute, void *value) {
    return pool && attribute && value ? SUCCESS : INVALID_VALUE;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = *total = 1 << 30, SUCCESS; }
int cuMemPoolTrimTo(Handle pool, size_t size) { return pool && !size ? SUCCESS : INVALID_VALUE; }
int cuMemAllocFromPoolAsync(Handle *address, size_t size, Handle pool, Handle stream) {
    (void)pool, (void)stream;
    return lock(), unlock(allocate(address, size, 0));
}
int cuMemFreeAsync(Handle address, Handle stream) {
    lock();
    advance(stream, works_, MOST);
    return unlock(give_back(address));
}
int cuMemHostAlloc(Handle *address, size_t size, unsigned flags) {
    (void)flags;
    lock();
    if (is_pinning_refused_) return unlock(OUT_OF_MEMORY);
    pins_++;
    return unlock(allocate(address, size, 1));
}
int cuMemFreeHost(Handle address) { return lock(), unlock(give_back(address)); }
int cuStreamCreate(Handle *stream, unsigned flags) {
    static Handle next = 5000;
    lock();
    *stream = next++;
    return unlock(flags ? SUCCESS : INVALID_VALUE);
}
int cuStreamDestroy_v2(Handle stream) {
    return lock(), advance(stream, works_, MOST), unlock(SUCCESS);
}
int cuStreamQuery(Handle stream) {
    return lock(), unlock(advance(stream, works_, 1) ? SUCCESS : NOT_READY);
}
int cuStreamSynchronize(Handle stream) {
    return lock(), advance(stream, works_, MOST), unlock(SUCCESS);
}
int cuStreamIsCapturing(Handle stream, int *status) { return *status = 0, stream ? SUCCESS : 0; }
int cuThreadExchangeStreamCaptureMode(int *mode) { return *mode = 0, SUCCESS; }
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
    lock();
    Work wait = {WAIT, stream, NULL, NULL, 0, 0, 0};
    /* What the event stands for now: it may be recorded again. */
    if (events_ == MOST) return unlock(OUT_OF_MEMORY);
    event_[wait.event = events_++] = event_[event - 1];
    return unlock(flags ? INVALID_VALUE : enqueue(wait));
}
int cuEventCreate(Handle *event, unsigned flags) {
    lock();
    if (events_ == MOST) return unlock(OUT_OF_MEMORY);
    *event = (Handle)++events_;
    return unlock(flags ? SUCCESS : INVALID_VALUE);
}
int cuEventDestroy_v2(Handle event) { return event ? SUCCESS : INVALID_VALUE; }
int cuEventRecord(Handle event, Handle stream) {
    lock();
    event_[event - 1].stream = stream;
    event_[event - 1].until = works_;
    return unlock(SUCCESS);
}
int cuEventQuery(Handle event) {
    lock();
    return unlock(advance(event_[event - 1].stream, event_[event - 1].until, 1) ? SUCCESS
                                                                                : NOT_READY);
}
int cuPointerGetAttribute(int *value, int attribute, Handle address) {
    lock();
    const Block *block = block_of((void *)address);
    if (!current_ || !block) return unlock(INVALID_VALUE);
    *value = attribute == 9 ? 0 : block->is_pinned ? 1 : 2;
    return unlock(SUCCESS);
}
int cuMemcpyAsync(void *to, const void *from, size_t size, Handle stream) {
    lock();
    if (++copies_ == failing_copy_) return unlock(INVALID_VALUE);
    int status = enqueue((Work){COPY, stream, to, from, size, 0, 0});
    /* Ordinary memory is read or written on return. */
    if (!block_of(to) || !block_of(from)) advance(stream, works_, MOST);
    return unlock(status);
}

static Handle plan_stream_[1000];
int cufftGetVersion(int *version) { return *version = 12000, SUCCESS; }
int cufftGetProperty(int which, int *value) { return *value = which ? 0 : 12, SUCCESS; }
int cufftCreate(int *plan) {
    static int next;
    return lock(), *plan = next++ % 1000, unlock(SUCCESS);
}
int cufftSetAutoAllocation(int plan, int on) { return on ? plan : SUCCESS; }
int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
                        long long idist, int input, long long *onembed, long long ostride,
                        long long odist, int output, long long batch, size_t *work_size,
                        int execution) {
    (void)plan, (void)rank, (void)n, (void)inembed, (void)istride, (void)idist, (void)input,
        (void)onembed;
    (void)ostride, (void)odist, (void)output, (void)batch, (void)execution;
    return *work_size = 1000, SUCCESS;
}
int cufftSetStream(int plan, Handle stream) { return plan_stream_[plan] = stream, SUCCESS; }
int cufftSetWorkArea(int plan, Handle area) { return area ? SUCCESS : plan + 1; }
/* The result is what is left of its block. */
int cufftXtExec(int plan, void *input, void *output, int direction) {
    lock();
    const Block *block = block_of(output);
    if (!block || !direction) return unlock(6); /* EXEC_FAILED */
    size_t size = (size_t)(block->start + block->size - (char *)output);
    return unlock(enqueue((Work){INVERT, plan_stream_[plan], output, input, size, 0, 0}));
}
int cufftExecC2C(int plan, void *input, void *output, int direction) {
    return cufftXtExec(plan, input, output, direction);
}
int cufftDestroy(int plan) { return plan < 0; }
