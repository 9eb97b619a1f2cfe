/* The driver of copying_driver.c, with a cuBLASLt that multiplies as the real one documents it: of
   matrices in column-major order, which it may transpose. What it gets is checked like there. */
#include "copying_driver.c"

enum { NO_VALUE = 7, NO_SUPPORT = 15 };
typedef struct { int type; uint64_t rows, columns; int64_t ld; } Layout;
typedef struct { int compute, scale, transpose[2]; } Product;
typedef struct { uint64_t most; uint32_t alignment[4]; } Preference;
typedef struct { uint64_t algorithm[8]; size_t workspace; int status; float waves; int reserved[4]; } Result;

static int made_, destroyed_, products_, least_alignment_ = 256;
int lt_alive(void) { return made_ - destroyed_; }
int lt_products(void) { return products_; }
int lt_least_alignment(void) { return least_alignment_; }

int cuDeviceTotalMem_v2(size_t *size, int device) { return *size = 1 << 30, device; }
int cuMemsetD2D8Async(char *to, size_t pitch, unsigned char value, size_t width, size_t height, Handle stream) {
    lock();
    advance(stream, works_, MOST);
    for (size_t line = 0; line < height; line++) memset(to + line * pitch, value, width);
    return unlock(pitch < width ? INVALID_VALUE : SUCCESS);
}

static int make(void **to, size_t size) { return *to = calloc(1, size), made_++, SUCCESS; }
static int destroy(void *it) { return free(it), destroyed_++, it ? SUCCESS : NO_VALUE; }
size_t cublasLtGetVersion(void) { return 130000; }
int cublasLtGetProperty(int which, int *value) { return *value = which ? 0 : 13, SUCCESS; }
int cublasLtCreate(void **handle) { return make(handle, 1); }
int cublasLtDestroy(void *handle) { return destroy(handle); }
int cublasLtMatrixLayoutCreate(void **to, int type, uint64_t rows, uint64_t columns, int64_t ld) {
    make(to, sizeof(Layout));
    *(Layout *)*to = (Layout){type, rows, columns, ld};
    return rows && columns && (uint64_t)ld >= rows && type < 2 ? SUCCESS : NO_VALUE;
}
int cublasLtMatrixLayoutDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescCreate(void **to, int compute, int scale) {
    make(to, sizeof(Product));
    *(Product *)*to = (Product){compute, scale, {0, 0}};
    return compute == (scale ? 70 : 68) ? SUCCESS : NO_VALUE;
}
int cublasLtMatmulDescDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescSetAttribute(Product *it, int attribute, const int *value, size_t size) {
    if (size != 4 || attribute < 3 || attribute > 4) return NO_VALUE;
    return it->transpose[attribute - 3] = *value, SUCCESS;
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
    return m == d->rows && n == d->columns && k == also && a->type == b->type && b->type == d->type && d->type == it->scale;
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, Product *it, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int most, Result *results, int *found) {
    if (!handle || !current_ || c != d || most != 1 || !fits(it, a, b, d)) return NO_VALUE;
    for (int i = 0; i < 4; i++)
        if ((int)preference->alignment[i] < least_alignment_) least_alignment_ = (int)preference->alignment[i];
    *found = 1;
    results->workspace = 1000;
    results->algorithm[7] = preference->alignment[0];
    return preference->most >= 1000 && a->rows != 13 ? SUCCESS : NO_SUPPORT;
}

static double number(const char *address, int type) { return type ? *(const double *)address : *(const float *)address; }
int cublasLtMatmul(void *handle, Product *it, const void *alpha, const char *a, Layout *la, const char *b, Layout *lb,
                   const void *beta, const char *c, Layout *lc, char *d, Layout *ld, const Result *found, void *workspace,
                   size_t size, Handle stream) {
    lock();
    advance(stream, works_, MOST);
    int type = ld->type, step = type ? 8 : 4;
    const Block *block = block_of(workspace);
    if (!handle || !current_ || !fits(it, la, lb, ld) || lc != ld || c != d || size != 1000 || !block) return unlock(NO_VALUE);
    if ((uintptr_t)workspace % 256 || block->start + block->size < (char *)workspace + size) return unlock(NO_VALUE);
    if (number(alpha, type) != 1 || number(beta, type) != 0) return unlock(NO_VALUE);
    if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % found->algorithm[7]) return unlock(NO_VALUE);
    uint64_t depth = it->transpose[0] ? la->rows : la->columns;
    for (uint64_t i = 0; i < ld->rows; i++)
        for (uint64_t j = 0; j < ld->columns; j++) {
            double sum = 0;
            for (uint64_t l = 0; l < depth; l++) {
                size_t left = it->transpose[0] ? i * la->ld + l : l * la->ld + i;
                size_t right = it->transpose[1] ? l * lb->ld + j : j * lb->ld + l;
                sum += number(a + left * step, type) * number(b + right * step, type);
            }
            char *to = d + (j * ld->ld + i) * step;
            if (type) *(double *)to = sum; else *(float *)to = (float)sum;
        }
    return products_++, unlock(SUCCESS);
}
