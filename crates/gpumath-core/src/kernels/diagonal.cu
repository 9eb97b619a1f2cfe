// Kernels for products of diagonal matrices; a part of structured.cu.

template <typename Element>
__device__ Element scaled(const Element* a, const Element* b, const Integer* at, Integer row,
                          Integer column, const Product& product) {
    const Element of_a = a[product.start + place_of(product, 0, at, row, 0)];
    const Element of_b = b[place_of(product, 1, at, row, column)];
    return conjugate_if(product.is_a_conjugated, of_a) *
           conjugate_if(product.is_b_conjugated, of_b);
}

// A thread computes an element.
extern "C" __global__ void __launch_bounds__(THREADS)
    diagonal(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
             Product product) {
    for_each_element(product, [&](const Integer* at, Integer row, Integer column) {
        write(result, c, at, row, column, scaled(a, b, at, row, column, product), product);
    });
}

// A block reads a square of `b` along its memory, and writes one of the result along its memory. If
// one is in the order of rows and the other one in that of columns, the threads exchange what they
// have read.
extern "C" __global__ void __launch_bounds__(THREADS)
    diagonal_squares(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
                     Product product) {
    __shared__ ELEMENT square[TILE][TILE + 1];
    const int lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
    const bool is_read_along_rows = is_along(product, 1, 1);
    const bool is_written_along_rows = product.is_along_rows != 0;
    const bool is_across = is_read_along_rows != is_written_along_rows;
    const Count high = (product.rows + TILE - 1) / TILE;
    const Count wide = (product.columns + TILE - 1) / TILE, all = high * wide * product.entries;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const Count place = find_entry(at, index, high * wide, product);
        const Count down = place / wide;
        const Integer top = TILE * down, left = TILE * (place - down * wide);
        const int rows = (int)min((Integer)product.rows - top, (Integer)TILE);
        const int columns = (int)min((Integer)product.columns - left, (Integer)TILE);
        ELEMENT values[TILE / WARPS];
#pragma unroll
        for (int i = 0; i < TILE / WARPS; ++i) {
            const int across = warp + i * WARPS;
            const int row = is_read_along_rows ? across : lane;
            const int column = is_read_along_rows ? lane : across;
            if (row < rows && column < columns) {
                values[i] = scaled(a, b, at, top + row, left + column, product);
            }
        }
        if (is_across) {
#pragma unroll
            for (int i = 0; i < TILE / WARPS; ++i) {
                square[warp + i * WARPS][lane] = values[i];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < TILE / WARPS; ++i) {
                values[i] = square[lane][warp + i * WARPS];
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < TILE / WARPS; ++i) {
            const int across = warp + i * WARPS;
            const int row = is_written_along_rows ? across : lane;
            const int column = is_written_along_rows ? lane : across;
            if (row < rows && column < columns) {
                write(result, c, at, top + row, left + column, values[i], product);
            }
        }
    }
}
