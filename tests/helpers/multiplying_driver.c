/* The driver of copying_driver.c, with a cuBLASLt that multiplies as the real one documents it: of
   matrices in column-major order, which it may transpose. What it gets is checked like there. */
#include "copying_driver.c"
#include <stdio.h>

enum { NO_VALUE = 7, NO_SUPPORT = 15, RELU = 2, BIAS = 4, BGRADA = 256, BGRADB = 512 };
typedef struct { int type; uint64_t rows, columns; int64_t ld; int32_t batch; int64_t stride; } Layout;
typedef struct { int compute, scale, transpose[2], epilog; char *bias; int64_t bias_stride; } Product;
typedef struct { uint64_t most; uint32_t alignment[4]; } Preference;
typedef struct { uint64_t algorithm[8]; size_t workspace; int status; float waves; int reserved[4]; } Result;
/* The argument of the core's kernels for copies. */
typedef struct { uint64_t tiles; int64_t rank, is_turned, tiling[11], extents[48], given[48], from[48], to[48], counts[48]; } Copy;

static int made_, destroyed_, products_, least_alignment_ = 256;
int lt_alive(void) { return made_ - destroyed_; }
int lt_products(void) { return products_; }
int lt_least_alignment(void) { return least_alignment_; }

int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, size, "stand-in"), device; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { return *value = attribute == 16 ? 4 : 9, device; }
int cuModuleLoadData(void **module, const void *image) { return *module = (void *)8, image ? SUCCESS : INVALID_VALUE; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return *function = (void *)(uintptr_t)atoi(name + 5), module && !strncmp(name, "copy_", 5) ? SUCCESS : INVALID_VALUE;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Handle stream, void **parameters, void **extra) {
    lock();
    advance(stream, works_, MOST);
    char *to = *(char **)parameters[0], *from = *(char **)parameters[1];
    const Copy *copy = parameters[2];
    size_t size = (uintptr_t)function;
    int64_t index[48] = {0};
    if (!copy->tiles) return unlock(INVALID_VALUE);
    for (int64_t axis = 0; axis < copy->rank;) {
        int64_t target = 0, source = 0, is_inside = 1;
        for (int64_t i = 0; i < copy->rank; i++) {
            target += index[i] * copy->to[i];
            source += index[i] * copy->from[i];
            is_inside &= index[i] < copy->given[i];
        }
        if (is_inside) memcpy(to + target * (int64_t)size, from + source * (int64_t)size, size);
        else memset(to + target * (int64_t)size, 0, size);
        for (axis = 0; axis < copy->rank && ++index[axis] == copy->extents[axis]; axis++) index[axis] = 0;
    }
    if (!copy->rank) memcpy(to, from, size);
    return unlock(gx && gy == 1 && gz == 1 && bx && by == 1 && bz == 1 && !shared && !extra ? SUCCESS : INVALID_VALUE);
}
int cuDeviceTotalMem_v2(size_t *size, int device) { return *size = 1 << 30, device; }
static int make(void **to, size_t size) { return *to = calloc(1, size), made_++, SUCCESS; }
static int destroy(void *it) { return free(it), destroyed_++, it ? SUCCESS : NO_VALUE; }
size_t cublasLtGetVersion(void) { return 130000; }
int cublasLtGetProperty(int which, int *value) { return *value = which ? 0 : 13, SUCCESS; }
int cublasLtCreate(void **handle) { return make(handle, 1); }
int cublasLtDestroy(void *handle) { return destroy(handle); }
int cublasLtMatrixLayoutCreate(void **to, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    make(to, sizeof(Layout));
    *(Layout *)*to = (Layout){type, rows, columns, ld, 1, 0};
    return rows && columns && (uint64_t)ld >= rows && type < 2 ? SUCCESS : NO_VALUE;
}
int cublasLtMatrixLayoutSetAttribute(Layout *it, int attribute, const void *value, size_t size) {
    if (attribute == 5 && size == 4) return memcpy(&it->batch, value, 4), SUCCESS;
    return attribute == 6 && size == 8 ? (memcpy(&it->stride, value, 8), SUCCESS) : NO_VALUE;
}
int cublasLtMatrixLayoutDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescCreate(void **to, int compute, int scale) {
    make(to, sizeof(Product));
    *(Product *)*to = (Product){compute, scale, {0, 0}, 1, NULL, 0};
    return compute == (scale ? 70 : 68) ? SUCCESS : NO_VALUE;
}
int cublasLtMatmulDescDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescSetAttribute(Product *it, int attribute, const void *value, size_t size) {
    if (attribute == 3 || attribute == 4) return memcpy(&it->transpose[attribute - 3], value, 4), size == 4 ? SUCCESS : NO_VALUE;
    if (attribute == 7 && size == 4) return memcpy(&it->epilog, value, 4), SUCCESS;
    if (attribute == 8 && size == 8) return memcpy(&it->bias, value, 8), SUCCESS;
    return attribute == 10 && size == 8 ? (memcpy(&it->bias_stride, value, 8), SUCCESS) : NO_VALUE;
}
int cublasLtMatmulPreferenceCreate(void **to) { return make(to, sizeof(Preference)); }
int cublasLtMatmulPreferenceDestroy(void *it) { return destroy(it); }
int cublasLtMatmulPreferenceSetAttribute(Preference *it, int attribute, const void *value, size_t size) {
    if (attribute == 1 && size == 8) return memcpy(&it->most, value, 8), SUCCESS;
    if (attribute < 5 || attribute > 8 || size != 4) return NO_VALUE;
    return memcpy(&it->alignment[attribute - 5], value, 4), SUCCESS;
}

static int fits(const Product *it, const Layout *a, const Layout *b, const Layout *d) {
    uint64_t m = it->transpose[0] ? a->columns : a->rows, k = it->transpose[0] ? a->rows : a->columns;
    uint64_t n = it->transpose[1] ? b->rows : b->columns, also = it->transpose[1] ? b->columns : b->rows;
    return m == d->rows && n == d->columns && k == also && a->type == b->type && b->type == d->type && d->type == it->scale
        && a->batch == b->batch && b->batch == d->batch;
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, Product *it, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int most, Result *results, int *found) {
    if (!handle || !current_ || c->rows != d->rows || c->batch != d->batch || most < 1 || !fits(it, a, b, d)) return NO_VALUE;
    for (int i = 0; i < 4; i++)
        if ((int)preference->alignment[i] < least_alignment_) least_alignment_ = (int)preference->alignment[i];
    *found = 1;
    results->workspace = 1000;
    for (int i = 0; i < 4; i++) results->algorithm[4 + i] = preference->alignment[i];
    return preference->most >= 1000 && a->rows != 13 ? SUCCESS : NO_SUPPORT;
}

static double number(const char *address, int type) { return type ? *(const double *)address : *(const float *)address; }
static void store(char *address, int type, double value) {
    if (type) *(double *)address = value; else *(float *)address = (float)value;
}
static double element(const char *matrix, const Layout *it, int is_transposed, uint64_t row, uint64_t column) {
    uint64_t offset = is_transposed ? row * it->ld + column : column * it->ld + row;
    return number(matrix + offset * (it->type ? 8 : 4), it->type);
}
static void multiply(const Product *it, double alpha, const char *a, Layout *la, const char *b, Layout *lb, double beta,
                     const char *c, Layout *lc, char *d, Layout *ld, char *bias) {
    int type = ld->type, step = type ? 8 : 4;
    uint64_t depth = it->transpose[0] ? la->rows : la->columns;
    for (uint64_t i = 0; i < ld->rows; i++)
        for (uint64_t j = 0; j < ld->columns; j++) {
            double sum = 0;
            for (uint64_t l = 0; l < depth; l++)
                sum += element(a, la, it->transpose[0], i, l) * element(b, lb, it->transpose[1], l, j);
            sum = alpha * sum + (beta ? beta * element(c, lc, 0, i, j) : 0);
            if (it->epilog & BIAS) sum += number(bias + i * step, type);
            store(d + (j * ld->ld + i) * step, type, it->epilog & RELU && sum < 0 ? 0 : sum);
        }
    for (uint64_t i = 0; it->epilog == BGRADA && i < ld->rows; i++) {
        double sum = 0;
        for (uint64_t l = 0; l < depth; l++) sum += element(a, la, it->transpose[0], i, l);
        store(bias + i * step, type, sum);
    }
    for (uint64_t j = 0; it->epilog == BGRADB && j < ld->columns; j++) {
        double sum = 0;
        for (uint64_t l = 0; l < depth; l++) sum += element(b, lb, it->transpose[1], l, j);
        store(bias + j * step, type, sum);
    }
}
int cublasLtMatmul(void *handle, Product *it, const char *alpha, const char *a, Layout *la, const char *b, Layout *lb,
                   const char *beta, const char *c, Layout *lc, char *d, Layout *ld, const uint64_t *algorithm, void *workspace,
                   size_t size, Handle stream) {
    lock();
    advance(stream, works_, MOST);
    int step = ld->type ? 8 : 4;
    const Block *block = block_of(workspace);
    if (!handle || !current_ || !fits(it, la, lb, ld) || size != 1000 || !block) return unlock(NO_VALUE);
    if ((uintptr_t)workspace % 256 || block->start + block->size < (char *)workspace + size) return unlock(NO_VALUE);
    const char *matrices[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)matrices[i] % algorithm[4 + i]) return unlock(NO_VALUE);
    for (int64_t i = 0; i < ld->batch; i++)
        multiply(it, number(alpha, ld->type), a + i * la->stride * step, la, b + i * lb->stride * step, lb,
                 number(beta, ld->type), c + i * lc->stride * step, lc, d + i * ld->stride * step, ld,
                 it->bias + i * it->bias_stride * step);
    return products_++, unlock(SUCCESS);
}
