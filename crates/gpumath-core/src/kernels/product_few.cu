// Products of a matrix and a few vectors, up to 4 or 8; a part of product.cu. The vectors are the
// columns of the right factor. Each element of the matrix is loaded once for all of them.

// Bytes of shared memory: of a part of the vectors, or of sums of several threads.
enum { SHARED = 1 << 15 };

// How many loads a thread has under way, or rows it adds up: fewer where the sums need more of its
// registers.
template <int VECTORS, typename Sum>
struct AtOnce {
    enum { COUNT = VECTORS * sizeof(Sum) > 32 ? 2 : 4 };
};

// A part of a vector in shared memory. Elements of different vectors are in different banks.
template <typename Sum>
struct alignas(16) Shared {
    enum { LENGTH = SHARED / (8 * sizeof(Sum)), UNUSED = 16 / sizeof(Sum) };
    Sum elements[LENGTH + UNUSED];
};

// Puts so many elements of each vector into shared memory, and zeros behind them. A thread has many
// loads under way: the block waits for them before it can compute.
template <int VECTORS, typename Sum, typename Element>
__device__ void put_vectors(Shared<Sum>* vectors, const Element* from, int length,
                            const Product& product) {
    enum { LENGTH = Shared<Sum>::LENGTH, EACH = VECTORS * LENGTH / THREADS };
    enum { AT_ONCE = EACH < 16 ? EACH : 16 };
    const Integer along = product.b[0], across = product.b[1];
    const bool is_conjugated = product.is_conjugated_b != 0;
    const int columns = static_cast<int>(product.columns), thread = static_cast<int>(threadIdx.x);
    // Neighbouring threads load neighbours.
    const bool is_along = llabs(along) <= llabs(across);
#pragma unroll 1
    for (int start = 0; start < EACH; start += AT_ONCE) {
        Element elements[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const int place = (start + i) * THREADS + thread;
            const int vector = is_along ? place / LENGTH : place % VECTORS;
            const int at = is_along ? place % LENGTH : place / VECTORS;
            const bool is_there = vector < columns && at < length;
            elements[i] = is_there ? from[at * along + vector * across] : Element();
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const int place = (start + i) * THREADS + thread;
            const int vector = is_along ? place / LENGTH : place % VECTORS;
            const int at = is_along ? place % LENGTH : place / VECTORS;
            vectors[vector].elements[at] = widened(elements[i], is_conjugated);
        }
    }
}

// Elements of a row are closer together than those of a column: a warp or more of them add up a few
// rows, with a part of the vectors in shared memory at a time.
template <int VECTORS, typename Sum, typename Element, typename Result>
__device__ void multiply_rows_of_few(const Matrices<Element, Result>& matrices,
                                     const Product& product) {
    typedef Pack<Element> Some;
    enum { ROWS = AtOnce<VECTORS, Sum>::COUNT, SUMS = ROWS * VECTORS };
    typedef Shared<Sum> Vectors;
    enum { LENGTH = Vectors::LENGTH, WARPS = THREADS / WARP };
    __shared__ Vectors vectors[VECTORS];
    __shared__ Sum parts[WARPS][SUMS];
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = static_cast<int>(product.lanes), threads = THREADS / lanes;
    const int line = thread / threads, place = thread % threads;
    const Integer down = product.a[0], along = product.a[1];
    const bool is_packed = product.is_packed_a != 0;
    const bool is_conjugated_a = product.is_conjugated_a != 0;
    const int columns = static_cast<int>(product.columns);
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer first = tile.row * lanes * ROWS, row = first + line * ROWS;
        const Element* a = tile.a + row * down;
        Sum sums[ROWS][VECTORS] = {};
#pragma unroll 1
        for (Integer start = 0; start < product.depth; start += LENGTH) {
            const Integer rest = product.depth - start;
            const int length = static_cast<int>(min(rest, Integer(LENGTH)));
            Some x[ROWS];
            const auto load_rows = [&](int at) {
#pragma unroll
                for (int i = 0; i < ROWS; ++i) {
                    const Integer more = row + i < product.rows ? rest - at : 0;
                    x[i] = load(a + i * down + (start + at) * along, along, more, is_packed);
                }
            };
            int at = place * Some::COUNT;
            // The block waits for them and for the vectors at the same time.
            load_rows(at);
            __syncthreads();
            put_vectors<VECTORS>(vectors, tile.b + start * product.b[0], length, product);
            __syncthreads();
#pragma unroll 1
            while (at < length) {
#pragma unroll
                for (int vector = 0; vector < VECTORS; ++vector) {
                    Sum y[Some::COUNT];
                    Word words[sizeof(y) / sizeof(Word)];
                    const Word* from = reinterpret_cast<const Word*>(&vectors[vector].elements[at]);
#pragma unroll
                    for (int j = 0; j < sizeof(y) / sizeof(Word); ++j) {
                        words[j] = from[j];
                    }
                    memcpy(y, words, sizeof(y));
#pragma unroll
                    for (int j = 0; j < Some::COUNT; ++j) {
#pragma unroll
                        for (int i = 0; i < ROWS; ++i) {
                            add_product(sums[i][vector],
                                        widened(x[i].elements[j], is_conjugated_a), y[j]);
                        }
                    }
                }
                at += threads * Some::COUNT;
                if (at < length) {
                    load_rows(at);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < SUMS; ++i) {
            Sum sum = sums[i / VECTORS][i % VECTORS];
#pragma unroll
            for (int distance = WARP / 2; distance > 0; distance /= 2) {
                add(sum, further(sum, distance));
            }
            if (thread % WARP == 0) {
                parts[thread / WARP][i] = sum;
            }
        }
        __syncthreads();
        const int warps = WARPS / lanes;
        for (int i = thread; i < lanes * SUMS; i += THREADS) {
            const int from = i / SUMS * warps, at = i % SUMS, vector = at % VECTORS;
            const Integer found = first + i / VECTORS;
            Sum sum = parts[from][at];
            for (int other = 1; other < warps; ++other) {
                add(sum, parts[from + other][at]);
            }
            if (found < product.rows && vector < columns) {
                Result* out = tile.c + row_offset(found, product) + vector * product.c[1];
                tile.store(out, found, vector, sum, product);
            }
        }
    }
}

// Elements of a column are closer together: a thread adds up a part of as many rows as 16 bytes
// have elements, and parts are added up in shared memory.
template <int VECTORS, typename Sum, typename Element, typename Result>
__device__ void multiply_columns_of_few(const Matrices<Element, Result>& matrices,
                                        const Product& product) {
    typedef Pack<Element> Some;
    enum { UNROLLED = AtOnce<VECTORS, Sum>::COUNT, COUNT = Some::COUNT };
    __shared__ Sum shared[THREADS * COUNT * VECTORS];
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = static_cast<int>(product.lanes), parts = THREADS / lanes;
    const int lane = thread % lanes, part = thread / lanes;
    // Of the threads for the same rows, those of one warp are added up by it.
    const int near = lanes < WARP ? WARP / lanes : 1, heaps = parts / near, wide = lanes * COUNT;
    const Integer across = product.a[0], along = product.a[1];
    const bool is_packed = product.is_packed_a != 0;
    const bool is_conjugated_a = product.is_conjugated_a != 0;
    const bool is_conjugated_b = product.is_conjugated_b != 0;
    const int columns = static_cast<int>(product.columns);
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer first = tile.row * wide, row = first + lane * COUNT;
        const Integer depth = row < product.rows ? product.depth : 0;
        const Element* a = tile.a + row * across;
        Sum sums[VECTORS][COUNT] = {};
#pragma unroll 1
        for (Integer start = part; start < depth; start += UNROLLED * parts) {
            Some x[UNROLLED];
            Element y[UNROLLED][VECTORS];
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
                const Integer at = start + i * parts;
                const Integer rows = at < depth ? product.rows - row : 0;
                x[i] = load(a + at * along, across, rows, is_packed);
#pragma unroll
                for (int vector = 0; vector < VECTORS; ++vector) {
                    y[i][vector] = at < depth && vector < columns
                                       ? tile.b[at * product.b[0] + vector * product.b[1]]
                                       : Element();
                }
            }
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
#pragma unroll
                for (int vector = 0; vector < VECTORS; ++vector) {
                    const Sum factor = widened(y[i][vector], is_conjugated_b);
#pragma unroll
                    for (int j = 0; j < COUNT; ++j) {
                        add_product(sums[vector][j], widened(x[i].elements[j], is_conjugated_a),
                                    factor);
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < VECTORS * COUNT; ++i) {
            Sum sum = sums[i / COUNT][i % COUNT];
            for (int distance = WARP / 2; distance >= lanes; distance /= 2) {
                add(sum, further(sum, distance));
            }
            if (part % near == 0) {
                shared[(part / near * VECTORS + i / COUNT) * wide + lane * COUNT + i % COUNT] = sum;
            }
        }
        __syncthreads();
        for (int i = thread; i < VECTORS * wide; i += THREADS) {
            const int vector = i / wide;
            const Integer found = first + i % wide;
            Sum sum = shared[i];
            for (int heap = 1; heap < heaps; ++heap) {
                add(sum, shared[heap * VECTORS * wide + i]);
            }
            if (found < product.rows && vector < columns) {
                Result* out = tile.c + row_offset(found, product) + vector * product.c[1];
                tile.store(out, found, vector, sum, product);
            }
        }
        __syncthreads();
    }
}

// The ways for up to 4 and up to 8 vectors.
#define FEW(vectors)                                                                    \
    template <typename Sum, typename Element, typename Result>                          \
    __device__ void multiply_rows##vectors(const Matrices<Element, Result>& matrices,   \
                                           const Product& product) {                    \
        multiply_rows_of_few<vectors, Sum>(matrices, product);                          \
    }                                                                                   \
    template <typename Sum, typename Element, typename Result>                          \
    __device__ void multiply_columns##vectors(const Matrices<Element, Result>& matrices,\
                                              const Product& product) {                 \
        multiply_columns_of_few<vectors, Sum>(matrices, product);                       \
    }

FEW(4)
FEW(8)

#define BLOCKS_rows4(Sum) 2
#define BLOCKS_rows8(Sum) 2
#define BLOCKS_columns4(Sum) (sizeof(Sum) == 4 ? 3 : 2)
#define BLOCKS_columns8(Sum) 2

KERNEL(rows4, TYPE)
KERNEL(rows8, TYPE)
KERNEL(columns4, TYPE)
KERNEL(columns8, TYPE)
