/* A CUDA driver without a GPU. It hands out host memory as device memory, and writes down what is
   ordered after what. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef uintptr_t Handle;

static char record_[1 << 20];
static _Thread_local Handle current_, stack_[64];
static _Thread_local int depth_;
static int blocks_, ready_ = 1, broken_;
static double busy_until_;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#define WRITE(...) (void)sprintf(record_ + strlen(record_), __VA_ARGS__)
enum {
    SUCCESS = 0,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    NOT_READY = 600
};

/* What the tests call by themselves. */
const char *driver_text(void) { return record_; }
void driver_clear(void) { record_[0] = 0; }
void driver_ready(int ready) { ready_ = ready; }
int driver_blocks(void) { return blocks_; }
/* From now on everything that waits or copies returns this status. */
void driver_break(int status) { broken_ = status; }
/* The streams have work for so many milliseconds. */
void driver_busy(int milliseconds) { busy_until_ = now() + milliseconds / 1e3; }
int driver_is_busy(void) { return now() < busy_until_; }

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

/* Like the driver itself, of no use in a forked child. */
static pid_t owner_;
int cuInit(unsigned flags) { return owner_ = getpid(), (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = 2, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDevicePrimaryCtxRetain(Handle *context, int device) {
    return *context = 4096 + (Handle)device, SUCCESS;
}
int cuCtxGetCurrent(Handle *context) {
    return *context = current_, owner_ == getpid() ? SUCCESS : NOT_INITIALIZED;
}
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
int cuMemPoolTrimTo(Handle pool, size_t size) {
    WRITE("trim;");
    return pool && !size ? SUCCESS : 1;
}
typedef struct {
    int type, device, flags;
} Access;
int cuMemPoolSetAccess(Handle pool, const Access *access, size_t count) {
    WRITE("open to %d;", access->device);
    return pool && access->type == 1 && access->flags == 3 && count == 1 ? SUCCESS : 1;
}
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
int cuMemAlloc_v2(Handle *address, size_t size) { return allocate(address, size); }
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
/* Whether the work is done: in how the caller learns of it, nothing is to be seen. */
static int query(void) {
    if (broken_) return broken_;
    return now() < busy_until_ ? NOT_READY : SUCCESS;
}
static int wait(void) {
    while (query() == NOT_READY) usleep(1000);
    return broken_;
}
int cuStreamQuery(Handle stream) {
    int status = query();
    if (!status) WRITE("synchronize %zu;", stream);
    return status;
}
int cuStreamSynchronize(Handle stream) {
    int status = wait();
    if (!status) WRITE("synchronize %zu;", stream);
    return status;
}
int cuCtxSynchronize(void) { return wait(); }
int cudaRuntimeGetVersion(int *version) { return *version = 12000, SUCCESS; }
int cudaDeviceSynchronize(void) { return wait(); }
int cuMemcpyAsync(void *to, const void *from, size_t size, Handle stream) {
    if (broken_) return broken_;
    WRITE("copy on %zu;", stream);
    memcpy(to, from, size);
    return SUCCESS;
}
int cuMemcpyPeerAsync(void *to, Handle there, const void *from, Handle here, size_t size,
                      Handle stream) {
    return there != here ? cuMemcpyAsync(to, from, size, stream) : 1;
}
typedef struct {
    size_t x, y;
    int type;
    char *host, *device;
    void *array;
    size_t pitch;
} Side2D;
typedef struct {
    Side2D from, to;
    size_t width, height;
} Copy2D;
int cuMemcpy2DAsync_v2(const Copy2D *copy, Handle stream) {
    if (broken_) return broken_;
    WRITE("copy on %zu;", stream);
    for (size_t row = 0; row < copy->height; row++)
        memcpy((copy->to.type == 1 ? copy->to.host : copy->to.device) + row * copy->to.pitch,
               (copy->from.type == 1 ? copy->from.host : copy->from.device) +
                   row * copy->from.pitch,
               copy->width);
    return SUCCESS;
}
typedef struct {
    size_t x, y, z, level;
    int type;
    char *host, *device;
    void *array;
    Handle context;
    size_t pitch, height;
} Side3D;
typedef struct {
    Side3D from, to;
    size_t width, height, depth;
} Copy3D;
int cuMemcpy3DPeerAsync(const Copy3D *copy, Handle stream) {
    if (broken_) return broken_;
    if (copy->depth != 1 || copy->from.context == copy->to.context) return 1;
    WRITE("copy on %zu;", stream);
    for (size_t row = 0; row < copy->height; row++)
        memcpy(copy->to.device + row * copy->to.pitch, copy->from.device + row * copy->from.pitch,
               copy->width);
    return SUCCESS;
}
int cuDeviceTotalMem_v2(size_t *size, int device) {
    return *size = 1 << 30, device < 2 ? SUCCESS : 1;
}
int cuStreamIsCapturing(Handle stream, int *status) { return *status = 0, stream ? SUCCESS : 0; }
static volatile int peers_, slow_, inside_;
int cuCtxEnablePeerAccess(Handle peer, unsigned flags) {
    int before = peers_;
    if (!peer || flags) return 1;
    return peers_ = 1, before ? 704 : SUCCESS;
}
/* Whether the devices reach each other's memory; makes transforms of several devices take a while;
   whether such a transform runs now. */
int driver_peers(void) { return peers_; }
void driver_slow(int on) { slow_ = on; }
int driver_inside(void) { return inside_; }
int cuThreadExchangeStreamCaptureMode(int *mode) {
    static int mode_;
    int before = mode_;
    return mode_ = *mode, *mode = before, SUCCESS;
}
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
    WRITE("%zu waits;", stream);
    return event ? (int)flags : 1;
}
int cuEventCreate(Handle *event, unsigned flags) { return *event = 9, flags ? SUCCESS : 1; }
int cuEventDestroy_v2(Handle event) { return event ? SUCCESS : 1; }
int cuEventQuery(Handle event) { return event && ready_ ? query() : NOT_READY; }
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

/* cuFFT, as far as plans go: they are counted, need a workspace, and compute nothing. */
enum { ALLOC_FAILED = 2, WORK_SIZE = 1000, MOST_PLANS = 1000 };
static int next_plan_, made_[MOST_PLANS], plans_, most_plans_ = MOST_PLANS;

static int refusal_ = ALLOC_FAILED;
static size_t free_ = 1 << 30;

/* How many plans there are; how many the device has memory for, what others get, and what is free
   without plans. */
int driver_plans(void) { return plans_; }
void driver_most_plans(int count) { most_plans_ = count; }
void driver_refuse_plans(int status, unsigned free) { refusal_ = status, free_ = free; }
// Every plan takes a page.
int cuMemGetInfo_v2(size_t *free, size_t *total) {
    return *total = 1 << 30, *free = free_ - 4096 * (size_t)plans_, SUCCESS;
}

int cufftGetVersion(int *version) { return *version = 12000, SUCCESS; }
int cufftGetProperty(int which, int *value) { return *value = which ? 0 : 12, SUCCESS; }
int cufftCreate(int *plan) { return *plan = next_plan_++ % MOST_PLANS, SUCCESS; }
int cufftSetAutoAllocation(int plan, int on) { return on ? plan : SUCCESS; }
/* cuFFT Xt: a transform leaves the numbers as they are, and puts them into the order that cuFFT
   would put them into. */
enum { MOST_GPUS = 16, NATURAL = 2, SHUFFLED = 3 };
typedef struct {
    int version, count, gpus[64];
    char *data[64];
    size_t size[64];
    void *state;
} Parts;
typedef struct {
    int version;
    Parts *parts;
    int library, format;
    void *own;
} Descriptor;
static struct {
    int gpus, which[MOST_GPUS], rank;
    size_t axes[3], element;
} spread_[MOST_PLANS];
static int descriptors_;
int driver_descriptors(void) { return descriptors_; }

int cufftXtSetGPUs(int plan, int count, int *which) {
    if (count < 2 || count > MOST_GPUS) return 4;
    spread_[plan].gpus = count;
    memcpy(spread_[plan].which, which, (size_t)count * sizeof *which);
    return SUCCESS;
}
/* Of types, 0x29 to 0x2c are C2C, R2C and C2R in single precision, and 0x69 to 0x6c in double
   precision. */
static int spread_plan(int plan, int rank, int x, int y, int z, int type, size_t *sizes) {
    int n[] = {x, y, z};
    if (!spread_[plan].gpus) return 1;
    if (plans_ >= most_plans_) return refusal_;
    plans_ += made_[plan] = peers_ = 1;
    spread_[plan].rank = rank;
    spread_[plan].element = type & 0x40 ? 16 : 8;
    for (int axis = 0; axis < 3; axis++) spread_[plan].axes[axis] = (size_t)n[axis];
    if (type & 6) spread_[plan].axes[rank - 1] = spread_[plan].axes[rank - 1] / 2 + 1;
    for (int gpu = 0; gpu < spread_[plan].gpus; gpu++) sizes[gpu] = WORK_SIZE;
    return SUCCESS;
}
int cufftMakePlan1d(int plan, int x, int type, int batch, size_t *sizes) {
    return batch == 1 ? spread_plan(plan, 1, x, 1, 1, type, sizes) : 1;
}
int cufftMakePlan2d(int plan, int x, int y, int type, size_t *sizes) {
    return spread_plan(plan, 2, x, y, 1, type, sizes);
}
int cufftMakePlan3d(int plan, int x, int y, int z, int type, size_t *sizes) {
    return spread_plan(plan, 3, x, y, z, type, sizes);
}
/* Where a part starts along the axis that is cut, and how much of it there is. */
static size_t cut(size_t total, int parts, int index, size_t *start) {
    size_t each = total / (size_t)parts, more = total % (size_t)parts, at = (size_t)index;
    *start = each * at + (at < more ? at : more);
    return each + (at < more);
}
/* Copies between the whole array and a part. One axis alone is shuffled to its reverse. */
static void move(int plan, char *whole, Parts *parts, int format, int to_parts) {
    size_t x = spread_[plan].axes[0], y = spread_[plan].axes[1];
    size_t z = spread_[plan].axes[2] * spread_[plan].element, start, count;
    for (int index = 0; index < parts->count; index++) {
        char *part = parts->data[index];
        int shuffled = format == SHUFFLED, line = spread_[plan].rank == 1;
        count = cut(shuffled && !line ? y : x, parts->count, index, &start);
        size_t rows = shuffled && !line ? x : count, width = shuffled && !line ? count * z : y * z;
        for (size_t row = 0; row < rows; row++) {
            size_t at = shuffled && !line ? row * y * z + start * z : (start + row) * y * z;
            if (shuffled && line) at = (x - 1 - start - row) * z;
            memcpy(to_parts ? part + row * width : whole + at,
                   to_parts ? whole + at : part + row * width, width);
        }
    }
}
static size_t whole_size(int plan) {
    return spread_[plan].axes[0] * spread_[plan].axes[1] * spread_[plan].axes[2] *
           spread_[plan].element;
}
int cufftXtMalloc(int plan, Descriptor **address, int format) {
    Parts *parts = calloc(1, sizeof *parts);
    if (broken_) return free(parts), ALLOC_FAILED;
    parts->count = spread_[plan].gpus;
    for (int index = 0; index < parts->count; index++) {
        size_t start, unit = spread_[plan].element * spread_[plan].axes[2];
        size_t natural =
            cut(spread_[plan].axes[0], parts->count, index, &start) * spread_[plan].axes[1];
        size_t shuffled =
            cut(spread_[plan].axes[1], parts->count, index, &start) * spread_[plan].axes[0];
        if (spread_[plan].rank == 1) shuffled = 0;
        parts->gpus[index] = spread_[plan].which[index];
        parts->size[index] = unit * (natural > shuffled ? natural : shuffled);
        parts->data[index] = calloc(1, parts->size[index]);
    }
    *address = calloc(1, sizeof **address);
    (*address)->parts = parts;
    (*address)->format = format;
    current_ = 4096 + (Handle)spread_[plan].which[parts->count - 1];
    return descriptors_++, SUCCESS;
}
int cufftXtFree(Descriptor *descriptor) {
    for (int index = 0; index < descriptor->parts->count; index++)
        free(descriptor->parts->data[index]);
    free(descriptor->parts);
    free(descriptor);
    return descriptors_--, SUCCESS;
}
int cufftXtSetWorkArea(int plan, Handle *areas) {
    for (int index = 0; index < spread_[plan].gpus; index++)
        if (!areas[index]) return 1;
    return SUCCESS;
}
int cufftXtMemcpy(int plan, Descriptor *to, Descriptor *from, int type) {
    if (type != 2 || to->format != NATURAL) return 1;
    char *whole = calloc(1, whole_size(plan));
    move(plan, whole, from->parts, from->format, 0);
    move(plan, whole, to->parts, to->format, 1);
    free(whole);
    return SUCCESS;
}
static int execute_spread(int plan, Descriptor *data, Descriptor *same) {
    if (broken_ || data != same || !peers_) return 6; /* EXEC_FAILED */
    if (slow_) inside_ = 1, usleep(300000), inside_ = 0;
    if (!peers_) return 6;
    char *whole = calloc(1, whole_size(plan));
    WRITE("transform;");
    move(plan, whole, data->parts, data->format, 0);
    data->format = data->format == NATURAL ? SHUFFLED : NATURAL;
    move(plan, whole, data->parts, data->format, 1);
    free(whole);
    current_ = 4096 + (Handle)spread_[plan].which[spread_[plan].gpus - 1];
    return SUCCESS;
}
int cufftXtExecDescriptorC2C(int plan, Descriptor *data, Descriptor *same, int direction) {
    return direction ? execute_spread(plan, data, same) : 1;
}
int cufftXtExecDescriptorZ2Z(int plan, Descriptor *data, Descriptor *same, int direction) {
    return direction ? execute_spread(plan, data, same) : 1;
}
int cufftXtExecDescriptorR2C(int plan, Descriptor *data, Descriptor *same) {
    return data->format == NATURAL ? execute_spread(plan, data, same) : 1;
}
int cufftXtExecDescriptorD2Z(int plan, Descriptor *data, Descriptor *same) {
    return data->format == NATURAL ? execute_spread(plan, data, same) : 1;
}
int cufftXtExecDescriptorC2R(int plan, Descriptor *data, Descriptor *same) {
    return data->format == SHUFFLED ? execute_spread(plan, data, same) : 1;
}
int cufftXtExecDescriptorZ2D(int plan, Descriptor *data, Descriptor *same) {
    return data->format == SHUFFLED ? execute_spread(plan, data, same) : 1;
}

int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
                        long long idist, int input, long long *onembed, long long ostride,
                        long long odist, int output, long long batch, size_t *work_size,
                        int execution) {
    (void)rank, (void)n, (void)inembed, (void)istride, (void)idist, (void)input, (void)onembed;
    (void)ostride, (void)odist, (void)output, (void)batch, (void)execution;
    if (plans_ >= most_plans_) return refusal_;
    plans_ += made_[plan] = 1;
    return *work_size = WORK_SIZE, SUCCESS;
}
int cufftSetStream(int plan, Handle stream) { return made_[plan] && stream + 1 ? SUCCESS : 1; }
int cufftSetWorkArea(int plan, Handle area) { return made_[plan] && area ? SUCCESS : 1; }
int cufftXtExec(int plan, void *input, void *output, int direction) {
    if (broken_) return 6; /* EXEC_FAILED */
    WRITE("transform;");
    return made_[plan] && input && output && direction ? SUCCESS : 1;
}
int cufftExecC2C(int plan, void *input, void *output, int direction) {
    return cufftXtExec(plan, input, output, direction);
}
int cufftExecZ2Z(int plan, void *input, void *output, int direction) {
    return cufftXtExec(plan, input, output, direction);
}
int cufftExecR2C(int plan, void *input, void *output) {
    return cufftXtExec(plan, input, output, -1);
}
int cufftExecD2Z(int plan, void *input, void *output) {
    return cufftXtExec(plan, input, output, -1);
}
int cufftExecC2R(int plan, void *input, void *output) {
    return cufftXtExec(plan, input, output, 1);
}
int cufftExecZ2D(int plan, void *input, void *output) {
    return cufftXtExec(plan, input, output, 1);
}
int cufftDestroy(int plan) {
    plans_ -= made_[plan];
    if (spread_[plan].gpus) peers_ = 0;
    made_[plan] = spread_[plan].gpus = 0;
    WRITE("destroy a plan;");
    return SUCCESS;
}
