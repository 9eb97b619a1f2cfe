// Kernels for products of matrices of which one triangle is stored; a part of structured.cu.
// Elements that are zero are not multiplied: an infinity times zero is NaN.

// Rows of a block that computes a few columns.
enum { FEW_ROWS = THREADS / TILE };

// A thread computes an element.
extern "C" __global__ void __launch_bounds__(THREADS)
    half_stored(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
             Product product) {
    for_each_element(product, [&](const Integer* at, Integer row, Integer column) {
        write(result, c, at, row, column, sum_of(a, b, at, row, column, product), product);
    });
}

// A block computes 8 rows of a few columns: 32 threads share a row, and read the stored elements of
// it once. Neighbours in memory are read by neighbours among the threads: of a row, or of a column,
// whose warps then exchange their sums.
template <int COLUMNS, typename Element>
__device__ void multiply_few(Element* result, const Element* a, const Element* b, const Element* c,
                             const Product& product) {
    __shared__ Element exchanged[FEW_ROWS][TILE + 1];
    const int lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
    const Integer rows = product.rows, columns = product.columns;
    const Integer along_b = product.steps[1][0], across_b = product.steps[1][1];
    const Count high = (product.rows + FEW_ROWS - 1) / FEW_ROWS;
    const Count wide = (product.columns + COLUMNS - 1) / COLUMNS;
    const Count all = high * wide * product.entries;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const Count place = find_entry(at, index, high * wide, product);
        const Count down = quotient(place, wide);
        // Blocks with the most to do begin first.
        const Integer top = FEW_ROWS * (product.stored == UPPER ? down : high - 1 - down);
        const Integer left = COLUMNS * (place - down * wide);
        const Element* line_of_b = b + at[1] + left * across_b;
        // What warps have added up of a row, in the lane with the number of the column.
        Element total = Element{0};
#pragma unroll 1
        for (int which = 0; which < lines_of(product); ++which) {
            const Line line = line_of(product, which);
            const bool is_along_k = llabs(line.along) <= llabs(line.down);
            const int row_of_block = is_along_k ? warp : threadIdx.x % FEW_ROWS;
            const int mine = is_along_k ? lane : threadIdx.x / FEW_ROWS;
            const Integer row = top + row_of_block;
            const Element* line_of_a = a + at[0] + row * line.down;
            Element sums[COLUMNS] = {};
            // Threads that read neighbours begin at the same place.
            const Integer first = line.is_upper ? top : 0;
            const Integer end = line.is_upper ? rows : row;
            if (row < rows) {
#pragma unroll 4
                for (Integer k = first + mine; k < end; k += TILE) {
                    if (line.is_upper && k <= row) {
                        continue;
                    }
                    const Element of_a =
                        conjugate_if(line.is_conjugated, line_of_a[k * line.along]);
#pragma unroll
                    for (int i = 0; i < COLUMNS; ++i) {
                        if (COLUMNS == 1 || left + i < columns) {
                            const Element of_b = line_of_b[k * along_b + i * across_b];
                            sums[i] =
                                sums[i] + of_a * conjugate_if(product.is_b_conjugated, of_b);
                        }
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < COLUMNS; ++i) {
                Element sum = sums[i];
                if (!is_along_k) {
                    exchanged[row_of_block][mine] = sum;
                    __syncthreads();
                    sum = exchanged[warp][lane];
                    __syncthreads();
                }
                sum = over_warp(sum);
                if (lane == i) {
                    total = total + sum;
                }
            }
        }
        const Integer row = top + warp;
        if (lane < COLUMNS && row < rows && left + lane < columns) {
            Element of_b = line_of_b[row * along_b + lane * across_b];
            of_b = conjugate_if(product.is_b_conjugated, of_b);
            total = total + on_diagonal(a, at, row, of_b, product);
            write(result, c, at, row, left + lane, total, product);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    half_stored_1(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
          Product product) {
    multiply_few<1>(result, a, b, c, product);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    half_stored_4(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
          Product product) {
    multiply_few<4>(result, a, b, c, product);
}
