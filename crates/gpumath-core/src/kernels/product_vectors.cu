// Products of a matrix and a vector; a part of product.cu.

// A matrix and a vector, where the elements of a row are closer together than those of a column:
// a warp or a part of it, or the whole block, adds up a row.
template <typename Sum, typename Element, typename Result>
__device__ void multiply_rows(const Matrices<Element, Result>& matrices, const Product& product) {
    typedef Pack<Element> Some;
    enum { UNROLLED = Some::UNROLLED, WARPS = THREADS / WARP };
    __shared__ Sum shared[WARPS];
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = static_cast<int>(product.lanes), threads = THREADS / lanes;
    const int line = thread / threads, place = thread % threads;
    const Integer along = product.a[1], vector = product.b[0];
    const bool is_packed_a = product.is_packed_a != 0, is_packed_b = product.is_packed_b != 0;
    const bool is_conjugated_a = product.is_conjugated_a != 0;
    const bool is_conjugated_b = product.is_conjugated_b != 0;
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer row = tile.row * lanes + line;
        const Integer depth = row < product.rows ? product.depth : 0;
        const Element* a = tile.a + row * product.a[0];
        Sum sum = {};
#pragma unroll 1
        for (Integer start = place * Some::COUNT; start < depth;
             start += UNROLLED * threads * Some::COUNT) {
            Some x[UNROLLED], y[UNROLLED];
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
                const Integer at = start + i * threads * Some::COUNT;
                x[i] = load(a + at * along, along, depth - at, is_packed_a);
                y[i] = load(tile.b + at * vector, vector, depth - at, is_packed_b);
            }
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
#pragma unroll
                for (int j = 0; j < Some::COUNT; ++j) {
                    add_product(sum, widened(x[i].elements[j], is_conjugated_a),
                                widened(y[i].elements[j], is_conjugated_b));
                }
            }
        }
#pragma unroll 1
        for (int distance = min(threads, int(WARP)) / 2; distance > 0; distance /= 2) {
            add(sum, further(sum, distance));
        }
        if (lanes == 1) {
            if (thread % WARP == 0) {
                shared[thread / WARP] = sum;
            }
            __syncthreads();
#pragma unroll
            for (int other = 1; other < WARPS; ++other) {
                if (thread == 0) {
                    add(sum, shared[other]);
                }
            }
            __syncthreads();
        }
        if (place == 0 && row < product.rows) {
            tile.store(tile.c + row_offset(row, product), row, 0, sum, product);
        }
    }
}

// A matrix and a vector, where the elements of a column are closer together: a thread adds up a
// part of as many rows as 16 bytes have elements, and parts are added up in shared memory.
template <typename Sum, typename Element, typename Result>
__device__ void multiply_columns(const Matrices<Element, Result>& matrices,
                                 const Product& product) {
    typedef Pack<Element> Some;
    enum { UNROLLED = Some::UNROLLED };
    __shared__ Sum shared[THREADS * Some::COUNT];
    const int thread = static_cast<int>(threadIdx.x);
    const int lanes = static_cast<int>(product.lanes), parts = THREADS / lanes;
    const int lane = thread % lanes, part = thread / lanes;
    const Integer across = product.a[0], along = product.a[1], vector = product.b[0];
    const bool is_packed_a = product.is_packed_a != 0;
    const bool is_conjugated_a = product.is_conjugated_a != 0;
    const bool is_conjugated_b = product.is_conjugated_b != 0;
#pragma unroll 1
    for (Integer index = blockIdx.x; index < product.tiles; index += gridDim.x) {
        const Tile<Element, Result> tile(index, matrices, product);
        const Integer row = (tile.row * lanes + lane) * Some::COUNT;
        const Integer depth = row < product.rows ? product.depth : 0;
        const Element* a = tile.a + row * across;
        Sum sums[Some::COUNT] = {};
#pragma unroll 1
        for (Integer start = part; start < depth; start += UNROLLED * parts) {
            Some x[UNROLLED];
            Element y[UNROLLED];
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
                const Integer at = start + i * parts;
                const Integer rows = at < depth ? product.rows - row : 0;
                x[i] = load(a + at * along, across, rows, is_packed_a);
                y[i] = at < depth ? tile.b[at * vector] : Element();
            }
#pragma unroll
            for (int i = 0; i < UNROLLED; ++i) {
                const Sum factor = widened(y[i], is_conjugated_b);
#pragma unroll
                for (int j = 0; j < Some::COUNT; ++j) {
                    add_product(sums[j], widened(x[i].elements[j], is_conjugated_a), factor);
                }
            }
        }
        if (parts > 1) {
#pragma unroll
            for (int j = 0; j < Some::COUNT; ++j) {
                shared[j * THREADS + thread] = sums[j];
            }
            __syncthreads();
        }
#pragma unroll 1
        for (int half = parts / 2; half > 0; half /= 2) {
            if (part < half) {
#pragma unroll
                for (int j = 0; j < Some::COUNT; ++j) {
                    add(sums[j], shared[j * THREADS + thread + half * lanes]);
                    shared[j * THREADS + thread] = sums[j];
                }
            }
            __syncthreads();
        }
        if (part == 0) {
#pragma unroll
            for (int j = 0; j < Some::COUNT; ++j) {
                if (row + j < product.rows) {
                    Result* out = tile.c + row_offset(row + j, product);
                    tile.store(out, row + j, 0, sums[j], product);
                }
            }
        }
    }
}

#define BLOCKS_rows(Sum) 1
#define BLOCKS_columns(Sum) 1

KERNEL(rows, TYPE)
KERNEL(columns, TYPE)
