// Kernels for products of triangular matrices; a part of structured.cu. Elements that are not stored
// are not multiplied: they are zero, but an infinity times zero is NaN.

// Rows of a block that computes a few columns.
enum { FEW_ROWS = THREADS / TILE };

// A thread computes an element.
extern "C" __global__ void __launch_bounds__(THREADS)
    triangle(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
             Product product) {
    for_each_element(product, [&](const Integer* at, Integer row, Integer column) {
        write(result, c, at, row, column, sum_of(a, b, at, row, column, product), product);
    });
}

__device__ float over_warp(float value) {
#pragma unroll
    for (int distance = TILE / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

__device__ double over_warp(double value) {
#pragma unroll
    for (int distance = TILE / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, distance);
    }
    return value;
}

template <typename Real>
__device__ Complex<Real> over_warp(Complex<Real> value) {
    return {over_warp(value.real), over_warp(value.imaginary)};
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
    const bool is_a_along_k = is_along(product, 0, 1);
    const int row_of_block = is_a_along_k ? warp : threadIdx.x % FEW_ROWS;
    const int mine = is_a_along_k ? lane : threadIdx.x / FEW_ROWS;
    const Count high = (product.rows + FEW_ROWS - 1) / FEW_ROWS;
    const Count wide = (product.columns + COLUMNS - 1) / COLUMNS;
    const Count all = high * wide * product.entries;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const Count place = find_entry(at, index, high * wide, product);
        const Count down = place / wide;
        // Blocks with the most to do begin first.
        const Integer top = FEW_ROWS * (product.structure == UPPER ? down : high - 1 - down);
        const Integer left = COLUMNS * (place - down * wide);
        const Integer row = top + row_of_block;
        const Element* line_of_a = a + at[0] + row * product.steps[0][0];
        const Element* line_of_b = b + at[1] + left * product.steps[1][1];
        const Integer along_a = product.steps[0][1], along_b = product.steps[1][0];
        Element sums[COLUMNS] = {};
        // What a row has besides the diagonal. The threads that read neighbours read them together.
        const Integer first = product.structure == UPPER ? top : 0;
        const Integer end = product.structure == UPPER ? rows : row;
        if (row < rows) {
#pragma unroll 4
            for (Integer k = first + mine; k < end; k += TILE) {
                if (product.structure == UPPER && k <= row) {
                    continue;
                }
                const Element of_a =
                    conjugate_if(product.is_a_conjugated, line_of_a[k * along_a]);
#pragma unroll
                for (int i = 0; i < COLUMNS; ++i) {
                    if (COLUMNS == 1 || left + i < columns) {
                        const Element of_b = line_of_b[k * along_b + i * product.steps[1][1]];
                        sums[i] =
                            sums[i] + of_a * conjugate_if(product.is_b_conjugated, of_b);
                    }
                }
            }
        }
        Element total = Element{0};
#pragma unroll
        for (int i = 0; i < COLUMNS; ++i) {
            Element sum = sums[i];
            if (!is_a_along_k) {
                exchanged[row_of_block][mine] = sum;
                __syncthreads();
                sum = exchanged[warp][lane];
                __syncthreads();
            }
            sum = over_warp(sum);
            if (lane == i) {
                total = sum;
            }
        }
        // Each warp has the sums of a row now.
        const Integer own = top + warp;
        if (lane < COLUMNS && own < rows && left + lane < columns) {
            Element of_b = line_of_b[own * along_b + lane * product.steps[1][1]];
            of_b = conjugate_if(product.is_b_conjugated, of_b);
            if (!product.has_unit_diagonal) {
                const Element of_a = a[at[0] + own * (product.steps[0][0] + along_a)];
                of_b = conjugate_if(product.is_a_conjugated, of_a) * of_b;
            }
            write(result, c, at, own, left + lane, total + of_b, product);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    few_1(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
          Product product) {
    multiply_few<1>(result, a, b, c, product);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    few_4(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
          Product product) {
    multiply_few<4>(result, a, b, c, product);
}
