/* The driver of copying_driver.c, with a cuBLASLt and a cuBLAS that multiply as documented: of
   matrices in column-major order, which it may transpose. What it gets is checked like there. */
#include "copying_driver.c"
#include "narrow_numbers.c"
#include <stdio.h>

enum { NO_VALUE = 7, NO_SUPPORT = 15, RELU = 2, BIAS = 4, BGRADA = 256, BGRADB = 512 };
typedef struct {
    int type;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch;
    int64_t stride;
} Layout;
typedef struct {
    int compute, scale, transpose[2], epilog;
    char *bias;
    int64_t bias_stride;
    int modes[2], out_mode; /* of block scales */
    uint8_t *scales[2], *out_scales;
    float *result_scale;
    struct Emulation {
        int strategy;
        int32_t *bits;
    } *emulation;
} Product;
typedef struct {
    uint64_t most;
    uint32_t alignment[4];
} Preference;
typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} Result;
/* The argument of the core's kernels for copies. */
typedef struct {
    int64_t extent, given, from, to, count;
} Dim;
typedef struct {
    uint64_t tiles;
    int64_t rank, others[13];
    Dim dims[48];
} Copy;
/* The argument of the core's kernels for one or two small copies of few dimensions. */
typedef struct {
    int32_t extent, given, from, to, count;
} SmallDim;
typedef struct {
    uint64_t second_blocks;
    char *to[2];
    const char *from[2];
    struct {
        uint64_t tiles;
        uint8_t rank, others[13];
        SmallDim dims[4];
    } parts[2];
} Copies;
/* The argument of the core's kernels for products. */
typedef struct {
    int64_t tiles, rows, columns, depth, column_tiles, row_tiles, entries, a[4], b[4], c[4],
        bias[4], function, others[6], joined, joined_step;
    double alpha[2];
} Strided;

static int made_, destroyed_, products_, own_products_, cublas_products_, two_copies_,
    least_alignment_ = 256, capability_ = 9;
void lt_set_capability(int major) { capability_ = major; }
int lt_alive(void) { return made_ - destroyed_; }
int lt_products(void) { return products_; }
int own_products(void) { return own_products_; }
int cublas_products(void) { return cublas_products_; }
int two_copies(void) { return two_copies_; }
int lt_least_alignment(void) { return least_alignment_; }

int cuDeviceGetName(char *name, int size, int device) {
    return snprintf(name, size, "stand-in"), device;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    return *value = attribute == 16 ? 4 : attribute == 75 ? capability_ : 9, device;
}
int cuModuleLoadData(void **module, const void *image) {
    return *module = (void *)8, image ? SUCCESS : INVALID_VALUE;
}
/* A kernel for a copy is the size of its elements, and more if it turns squares of them or makes
   two copies. One for products is the type of its elements. */
enum { SQUARES = 50, COPIES = 100, FLOAT_PRODUCT = 200, DOUBLE_PRODUCT, EPILOG, LINE_SUMS };
int cuModuleGetFunction(void **function, void *module, const char *name) {
    int is_epilog = !strcmp(name, "epilog_float64_float64"),
        are_sums = !strcmp(name, "sum_lines_float64_float64");
    if (is_epilog || are_sums)
        return *function = (void *)(uintptr_t)(is_epilog ? EPILOG : LINE_SUMS), SUCCESS;
    const char *type = strchr(name, '_') + 1;
    int is_copy = !strncmp(name, "copy_", 5), are_copies = !strncmp(name, "copies_", 7);
    int is_float = !strncmp(type, "float32", 7), is_double = !strncmp(type, "float64", 7);
    int is_square = !strncmp(type, "square_", 7), bytes = atoi(type + 7 * is_square);
    uintptr_t kernel = is_copy || are_copies ? bytes + is_square * SQUARES + are_copies * COPIES
                       : is_float            ? FLOAT_PRODUCT
                                             : DOUBLE_PRODUCT;
    *function = (void *)kernel;
    int is_known = ((is_copy || are_copies) && bytes) || is_float || is_double;
    return module && is_known ? SUCCESS : INVALID_VALUE;
}
static double number(const char *address, int type) {
    return type ? *(const double *)address : *(const float *)address;
}
static void store(char *address, int type, double value) {
    if (type)
        *(double *)address = value;
    else
        *(float *)address = (float)value;
}
static int64_t offset(const int64_t *steps, int64_t first, int64_t second, int64_t fast,
                      int64_t slow) {
    return first * steps[0] + second * steps[1] + fast * steps[2] + slow * steps[3];
}
static int multiply_strided(char *c, const char *a, const char *b, const char *bias,
                            const Strided *it, int type) {
    int64_t size = type ? 8 : 4, per_entry = it->column_tiles * it->row_tiles * it->entries;
    if (it->tiles < 1 || it->tiles % per_entry || it->alpha[1] || it->function > 1)
        return INVALID_VALUE;
    for (int64_t slow = 0; slow < it->tiles / per_entry; slow++)
        for (int64_t fast = 0; fast < it->entries; fast++)
            for (int64_t i = 0; i < it->rows * it->columns; i++) {
                int64_t row = i / it->columns, column = i % it->columns;
                double sum = 0;
                for (int64_t l = 0; l < it->depth; l++)
                    sum += number(a + size * offset(it->a, row, l, fast, slow), type) *
                           number(b + size * offset(it->b, l, column, fast, slow), type);
                int64_t out = offset(it->c, row / it->joined, column, fast, slow);
                out += row % it->joined * it->joined_step;
                sum *= it->alpha[0];
                const int64_t added = offset(it->bias, row, column, fast, slow);
                if (bias) sum += number(bias + size * added, type);
                store(c + size * out, type, it->function == 1 && sum < 0 ? 0 : sum);
            }
    return own_products_++, SUCCESS;
}
#include "epilog_kernels.c"
/* Copies words. In a kernel for squares, each of these has several small elements: along dimension
   0 in the source, and along dimension 1 in the target. */
static int copy_strided(char *to, const char *from, uint64_t tiles, int64_t rank, const Dim *dims,
                        uintptr_t kernel) {
    const size_t element = kernel % SQUARES, word = kernel > SQUARES ? 4 : element;
    const int64_t count = word / element;
    int64_t index[48] = {0};
    if (!tiles || (count > 1 && rank < 2)) return INVALID_VALUE;
    for (int64_t axis = 0; axis < rank;) {
        int64_t target = 0, source = 0, is_inside = 1;
        for (int64_t i = 0; i < rank; i++) {
            target += index[i] * dims[i].to;
            source += index[i] * dims[i].from;
            is_inside &= index[i] < dims[i].given;
        }
        char *put = to + target * (int64_t)word;
        const char *get = from + source * (int64_t)word;
        for (int64_t i = 0; count > 1 && i < count * count; i++) {
            int64_t along = i % count, across = i / count;
            memcpy(put + along * (dims[0].to / count) * (int64_t)word + across * (int64_t)element,
                   get + across * (dims[1].from / count) * (int64_t)word + along * (int64_t)element,
                   element);
        }
        if (count == 1 && is_inside) memcpy(put, get, word);
        if (!is_inside) memset(put, 0, word);
        for (axis = 0; axis < rank && ++index[axis] == dims[axis].extent; axis++) index[axis] = 0;
    }
    if (!rank) memcpy(to, from, word);
    return SUCCESS;
}
static int copy_small(char *to, const char *from, uint64_t tiles, int64_t rank,
                      const SmallDim *small, uintptr_t kernel) {
    Dim dims[4];
    for (int i = 0; i < 4; i++)
        dims[i] = (Dim){small[i].extent, small[i].given, small[i].from, small[i].to,
                        small[i].count};
    return copy_strided(to, from, tiles, rank, dims, kernel);
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, Handle stream, void **parameters, void **extra) {
    lock();
    advance(stream, works_, MOST);
    uintptr_t kernel = (uintptr_t)function;
    if (!gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1 || shared > 48 << 10 || extra)
        return unlock(INVALID_VALUE);
    if (kernel >= COPIES && kernel < FLOAT_PRODUCT) {
        const Copies *two = parameters[0];
        int count = two->second_blocks ? 2 : 1,
            status = gx > two->second_blocks ? SUCCESS : INVALID_VALUE;
        two_copies_ += count == 2;
        for (int i = 0; i < count && !status; i++)
            status = copy_small(two->to[i], two->from[i], two->parts[i].tiles, two->parts[i].rank,
                                two->parts[i].dims, kernel - COPIES);
        return unlock(status);
    }
    char *to = *(char **)parameters[0], *from = *(char **)parameters[1];
    if (kernel == EPILOG)
        return unlock(finish((double *)to, (double *)from, *(double **)parameters[2],
                             *(void **)parameters[3], *(double **)parameters[4], parameters[5]));
    if (kernel == LINE_SUMS) return unlock(sum_lines((double *)to, (double *)from, parameters[2]));
    if (kernel >= FLOAT_PRODUCT)
        return unlock(multiply_strided(to, from, *(char **)parameters[2], *(char **)parameters[3],
                                       parameters[4], kernel == DOUBLE_PRODUCT));
    const Copy *copy = parameters[2];
    return unlock(copy_strided(to, from, copy->tiles, copy->rank, copy->dims, kernel));
}
int cuMemsetD2D32Async(char *to, size_t pitch, unsigned value, size_t width, size_t height,
                       Handle stream) {
    lock();
    advance(stream, works_, MOST);
    for (size_t i = 0; i < width * height; i++)
        memcpy(to + i / width * pitch + i % width * 4, &value, 4);
    return unlock(SUCCESS);
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
    return rows && columns && (uint64_t)ld >= rows && bits_of(type) ? SUCCESS : NO_VALUE;
}
int cublasLtMatrixLayoutSetAttribute(Layout *it, int attribute, const void *value, size_t size) {
    if (attribute == 5 && size == 4) return memcpy(&it->batch, value, 4), SUCCESS;
    return attribute == 6 && size == 8 ? (memcpy(&it->stride, value, 8), SUCCESS) : NO_VALUE;
}
int cublasLtMatrixLayoutDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescCreate(void **to, int compute, int scale) {
    make(to, sizeof(Product));
    *(Product *)*to = (Product){.compute = compute, .scale = scale, .epilog = 1};
    /* 77 and 79 are TensorFloat-32 and emulation. */
    return compute == (scale ? 70 : 68) || compute == (scale ? 79 : 77) ? SUCCESS : NO_VALUE;
}
int cublasLtMatmulDescDestroy(void *it) { return destroy(it); }
int cublasLtMatmulDescSetAttribute(Product *it, int attribute, const void *value, size_t size) {
    if (attribute == 3 || attribute == 4)
        return memcpy(&it->transpose[attribute - 3], value, 4), size == 4 ? SUCCESS : NO_VALUE;
    if (attribute == 7 && size == 4) return memcpy(&it->epilog, value, 4), SUCCESS;
    if (attribute == 8 && size == 8) return memcpy(&it->bias, value, 8), SUCCESS;
    if (attribute == 17 || attribute == 18)
        return memcpy(&it->scales[attribute - 17], value, 8), size == 8 ? SUCCESS : NO_VALUE;
    if (attribute == 31 || attribute == 32)
        return memcpy(&it->modes[attribute - 31], value, 4), size == 4 ? SUCCESS : NO_VALUE;
    if (attribute == 38 && size == 8)
        return memcpy(&it->emulation, value, 8), it->compute == 79 ? SUCCESS : NO_VALUE;
    if (attribute == 20 && size == 8) return memcpy(&it->result_scale, value, 8), SUCCESS;
    if (attribute == 36 && size == 8) return memcpy(&it->out_scales, value, 8), SUCCESS;
    if (attribute == 37 && size == 4) return memcpy(&it->out_mode, value, 4), SUCCESS;
    return attribute == 10 && size == 8 ? (memcpy(&it->bias_stride, value, 8), SUCCESS) : NO_VALUE;
}
int cublasLtEmulationDescCreate(void **to) { return make(to, sizeof(struct Emulation)); }
int cublasLtEmulationDescDestroy(void *it) { return destroy(it); }
int cublasLtEmulationDescSetAttribute(struct Emulation *it, int attribute, const void *value,
                                      size_t size) {
    if (attribute == 0 && size == 4) return memcpy(&it->strategy, value, 4), SUCCESS;
    return attribute == 5 && size == 8 ? (memcpy(&it->bits, value, 8), SUCCESS) : NO_VALUE;
}
int cublasLtMatmulPreferenceCreate(void **to) { return make(to, sizeof(Preference)); }
int cublasLtMatmulPreferenceDestroy(void *it) { return destroy(it); }
int cublasLtMatmulPreferenceSetAttribute(Preference *it, int attribute, const void *value,
                                         size_t size) {
    if (attribute == 1 && size == 8) return memcpy(&it->most, value, 8), SUCCESS;
    if (attribute == 3 && size == 4) return SUCCESS;
    if (attribute < 5 || attribute > 8 || size != 4) return NO_VALUE;
    return memcpy(&it->alignment[attribute - 5], value, 4), SUCCESS;
}

static int fits(const Product *it, const Layout *a, const Layout *b, const Layout *d) {
    uint64_t m = it->transpose[0] ? a->columns : a->rows,
             k = it->transpose[0] ? a->rows : a->columns;
    uint64_t n = it->transpose[1] ? b->rows : b->columns,
             also = it->transpose[1] ? b->columns : b->rows;
    int is_like = m == d->rows && n == d->columns && k == also && a->type == b->type &&
                  a->batch == b->batch && b->batch == d->batch;
    if (a->type < 2) return is_like && b->type == d->type && d->type == it->scale;
    /* Block scaling: the common extent is the fast one of both, and tiles of scales are full. */
    int mode = a->type == 33 ? 1 : 2, multiple = 4 * block_of_mode(mode);
    return is_like && it->modes[0] == mode && it->modes[1] == mode && it->scales[0] &&
           it->scales[1] && !it->scale && it->transpose[0] && !it->transpose[1] && m % 128 == 0 &&
           n % 128 == 0 && k % multiple == 0 &&
           (d->type == a->type ? it->out_mode == mode && it->out_scales
                               : !d->type && !it->out_mode);
}
int cublasLtMatmulAlgoGetHeuristic(void *handle, Product *it, Layout *a, Layout *b, Layout *c,
                                   Layout *d, Preference *preference, int most, Result *results,
                                   int *found) {
    if (!handle || !current_ || c->rows != d->rows || c->batch != d->batch || most < 1 ||
        !fits(it, a, b, d))
        return NO_VALUE;
    for (int i = 0; i < 4; i++)
        if ((int)preference->alignment[i] < least_alignment_)
            least_alignment_ = (int)preference->alignment[i];
    *found = 1;
    results->workspace = 1000;
    for (int i = 0; i < 4; i++) results->algorithm[4 + i] = preference->alignment[i];
    return preference->most >= 1000 && a->rows != 13 ? SUCCESS : NO_SUPPORT;
}

static double element(const char *matrix, const Layout *it, int is_transposed, uint64_t row,
                      uint64_t column) {
    uint64_t offset = is_transposed ? row * it->ld + column : column * it->ld + row;
    if (it->type == 33) return e2m1(matrix[offset / 2] >> 4 * (offset % 2) & 15);
    if (it->type == 28) return e4m3((uint8_t)matrix[offset]);
    return number(matrix + offset * bits_of(it->type) / 8, it->type);
}
/* The scale that the entry `l` of a row of the left factor has, or of a column of the right one. */
static double block_scale(const Product *it, int side, uint64_t outer, uint64_t l, uint64_t extent,
                          uint64_t depth, int64_t entry) {
    int mode = it->modes[side], block = block_of_mode(mode);
    if (!mode) return 1;
    const uint8_t *scales = it->scales[side] + entry * (int64_t)(extent * depth / block);
    return scale_value(mode, scales[scale_offset(outer, l / block, depth / block)]);
}
/* Writes a column of a narrow result, whose blocks are along its rows, and its scales. */
static void store_narrow(const Product *it, const double *column, uint64_t j, char *d, Layout *ld,
                         int64_t entry) {
    int mode = it->out_mode, block = block_of_mode(mode), type = ld->type;
    double most = type == 33 ? 6 : 448;
    uint8_t *scales = it->out_scales + entry * (int64_t)(ld->rows * ld->columns / block);
    for (uint64_t first = 0; first < ld->rows; first += block) {
        double size = 0;
        for (int i = 0; i < block; i++) size = fmax(size, fabs(column[first + i]));
        uint8_t scale = scale_code(mode, size / most);
        scales[scale_offset(j, first / block, ld->rows / block)] = scale;
        for (uint64_t i = first; i < first + block; i++) {
            double unit = scale_value(mode, scale);
            int code = nearest(type, unit ? column[i] / unit : 0);
            uint64_t at = j * ld->ld + i;
            if (type == 33)
                d[at / 2] = (char)((d[at / 2] & 15 << 4 * (1 - at % 2)) | code << 4 * (at % 2));
            else
                d[at] = (char)code;
        }
    }
}
static void multiply(const Product *it, double alpha, const char *a, Layout *la, const char *b,
                     Layout *lb, double beta, const char *c, Layout *lc, char *d, Layout *ld,
                     char *bias, int64_t entry) {
    int type = ld->type, step = bits_of(type) / 8;
    uint64_t depth = it->transpose[0] ? la->rows : la->columns;
    double *column = malloc(sizeof(double) * ld->rows);
    for (uint64_t j = 0; j < ld->columns; j++) {
        for (uint64_t i = 0; i < ld->rows; i++) {
            double sum = 0;
            for (uint64_t l = 0; l < depth; l++)
                sum += element(a, la, it->transpose[0], i, l) *
                       element(b, lb, it->transpose[1], l, j) *
                       block_scale(it, 0, i, l, ld->rows, depth, entry) *
                       block_scale(it, 1, j, l, ld->columns, depth, entry);
            sum = alpha * sum + (beta ? beta * element(c, lc, 0, i, j) : 0);
            if (it->epilog & BIAS) sum += number(bias + i * step, type);
            column[i] = it->epilog & RELU && sum < 0 ? 0 : sum;
        }
        for (uint64_t i = 0; it->out_mode && i < ld->rows; i++)
            column[i] *= it->result_scale ? *it->result_scale : 1;
        if (it->out_mode) store_narrow(it, column, j, d, ld, entry);
        for (uint64_t i = 0; !it->out_mode && i < ld->rows; i++)
            store(d + (j * ld->ld + i) * step, type, column[i]);
    }
    free(column);
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
int cublasLtMatmul(void *handle, Product *it, const char *alpha, const char *a, Layout *la,
                   const char *b, Layout *lb, const char *beta, const char *c, Layout *lc, char *d,
                   Layout *ld, const uint64_t *algorithm, void *workspace, size_t size,
                   Handle stream) {
    lock();
    advance(stream, works_, MOST);
    const Block *block = block_of(workspace);
    if (!handle || !current_ || !fits(it, la, lb, ld) || size != 1000 || !block)
        return unlock(NO_VALUE);
    if ((uintptr_t)workspace % 256 || block->start + block->size < (char *)workspace + size)
        return unlock(NO_VALUE);
    const char *matrices[] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)matrices[i] % algorithm[4 + i]) return unlock(NO_VALUE);
    for (int64_t i = 0; i < ld->batch; i++)
        multiply(it, number(alpha, it->scale), a + i * la->stride * bits_of(la->type) / 8, la,
                 b + i * lb->stride * bits_of(lb->type) / 8, lb, number(beta, it->scale),
                 c + i * lc->stride * bits_of(lc->type) / 8, lc,
                 d + i * ld->stride * bits_of(ld->type) / 8, ld,
                 it->bias + i * it->bias_stride * bits_of(ld->type) / 8, i);
    /* As the real one does on a GPU whose float64 takes less time. */
    if (it->emulation && it->emulation->strategy == 2 && it->emulation->bits)
        *it->emulation->bits = 55;
    return products_++, unlock(SUCCESS);
}

typedef struct {
    Handle stream;
    char *workspace;
    size_t size;
} Blas;
int cublasGetProperty(int which, int *value) { return *value = which ? 0 : 13, SUCCESS; }
int cublasCreate_v2(void **handle) { return make(handle, sizeof(Blas)); }
int cublasDestroy_v2(void *handle) { return destroy(handle); }
int cublasSetStream_v2(Blas *handle, Handle stream) {
    return *handle = (Blas){.stream = stream}, SUCCESS;
}
int cublasSetWorkspace_v2(Blas *handle, char *workspace, size_t size) {
    const Block *block = block_of(workspace);
    if ((uintptr_t)workspace % 256 ||
        (size && (!block || block->start + block->size < workspace + size)))
        return NO_VALUE;
    handle->workspace = workspace, handle->size = size;
    return SUCCESS;
}
int cublasGemmStridedBatchedEx_64(Blas *handle, int left, int right, int64_t m, int64_t n,
                                  int64_t k, const char *alpha, const char *a, int a_type,
                                  int64_t lda, int64_t a_stride, const char *b, int b_type,
                                  int64_t ldb, int64_t b_stride, const char *beta, char *c,
                                  int c_type, int64_t ldc, int64_t c_stride, int64_t count,
                                  int compute, int algorithm) {
    lock();
    Product product = {
        .compute = compute, .scale = c_type, .transpose = {left, right}, .epilog = 1};
    Layout la = {a_type, left ? k : m, left ? m : k, lda},
           lb = {b_type, right ? n : k, right ? k : n, ldb}, lc = {c_type, m, n, ldc};
    int are_steps = lda >= (int64_t)la.rows && ldb >= (int64_t)lb.rows && ldc >= m,
        step = bits_of(c_type) / 8;
    if (!handle || !current_ || !handle->size || c_type > 1 || compute != (c_type ? 70 : 68) ||
        algorithm != -1 || !are_steps || !fits(&product, &la, &lb, &lc))
        return unlock(NO_VALUE);
    advance(handle->stream, works_, MOST);
    for (int64_t i = 0; i < count; i++)
        multiply(&product, number(alpha, c_type), a + i * a_stride * step, &la,
                 b + i * b_stride * step, &lb, number(beta, c_type), c + i * c_stride * step, &lc,
                 c + i * c_stride * step, &lc, NULL, i);
    return cublas_products_++, unlock(SUCCESS);
}
int cublasGemmEx_64(Blas *handle, int left, int right, int64_t m, int64_t n, int64_t k,
                    const char *alpha, const char *a, int a_type, int64_t lda, const char *b,
                    int b_type, int64_t ldb, const char *beta, char *c, int c_type, int64_t ldc,
                    int compute, int algorithm) {
    return cublasGemmStridedBatchedEx_64(handle, left, right, m, n, k, alpha, a, a_type, lda, 0, b,
                                         b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute,
                                         algorithm);
}
