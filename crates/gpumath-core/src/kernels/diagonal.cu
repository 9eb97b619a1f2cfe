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

// Computes a product whose factor and result both have their rows along the memory, or their
// columns: the lines. A warp computes pieces of LINES lines, of which each thread has RUNS elements
// that are TILE apart. All are loaded before one is used.
template <int LINES, int RUNS, typename Element>
__device__ void multiply_lines(Element* result, const Element* a, const Element* b,
                               const Element* c, const Product& product) {
    const bool are_rows = product.is_along_rows != 0;
    const int along = are_rows ? 1 : 0;
    const Integer length = are_rows ? product.columns : product.rows;
    const Integer lines = are_rows ? product.rows : product.columns;
    const Count high = (lines + WARPS * LINES - 1) / (WARPS * LINES);
    const Count wide = (length + RUNS * TILE - 1) / (RUNS * TILE);
    const Count all = high * wide * product.entries;
    Element alpha, beta;
    set(alpha, product.alpha);
    set(beta, product.beta);
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const Count place = find_entry(at, index, high * wide, product);
        const Count down = quotient(place, wide);
        const Integer top = (down * WARPS + threadIdx.x / TILE) * LINES;
        const Integer left = (place - down * wide) * (RUNS * TILE) + threadIdx.x % TILE;
        const int there = (int)min(length - left, (Integer)(RUNS * TILE));
        const auto start_of = [&](int operand, int line) {
            const Integer* steps = product.steps[operand];
            return at[operand] + (top + line) * steps[1 - along] + left * steps[along];
        };
        const auto step_of = [&](int operand, int run) {
            return run * TILE * product.steps[operand][along];
        };
        const Element* diagonal = a + product.start + at[0];
        Element values[LINES][RUNS], factors[LINES][RUNS];
#pragma unroll
        for (int line = 0; line < LINES; ++line) {
            const Element* source = b + start_of(1, line);
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                if (top + line < lines && run * TILE < there) {
                    const Integer row = are_rows ? top + line : left + run * TILE;
                    values[line][run] = source[step_of(1, run)];
                    factors[line][run] = diagonal[row * product.steps[0][0]];
                }
            }
        }
#pragma unroll
        for (int line = 0; line < LINES; ++line) {
            const Element* addend = c + start_of(2, line);
            Element* target = result + start_of(3, line);
#pragma unroll
            for (int run = 0; run < RUNS; ++run) {
                if (top + line < lines && run * TILE < there) {
                    const Element of_a = conjugate_if(product.is_a_conjugated, factors[line][run]);
                    const Element of_b = conjugate_if(product.is_b_conjugated, values[line][run]);
                    Element value = alpha * (of_a * of_b);
                    if (product.has_addend) {
                        value = value + beta * addend[step_of(2, run)];
                    }
                    target[step_of(3, run)] = value;
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    diagonal_long_lines(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
                        Product product) {
    // Wide elements need more registers, so that fewer threads run at once.
    multiply_lines<sizeof(ELEMENT) == 4 ? 2 : 1, 4>(result, a, b, c, product);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    diagonal_short_lines(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
                         Product product) {
    multiply_lines<sizeof(ELEMENT) == 4 ? 8 : 4, 1>(result, a, b, c, product);
}

// A block reads a square of `b` along its memory, and writes one of the result along its memory:
// one is in the order of rows and the other one in that of columns, and the threads exchange what
// they have read. All elements of a thread are loaded before one is used.
template <typename Element>
__device__ void multiply_squares(Element* result, const Element* a, const Element* b,
                                 const Element* c, const Product& product) {
    constexpr int PARTS = TILE / WARPS;
    __shared__ Element square[TILE][TILE + 1];
    const int lane = threadIdx.x % TILE, warp = threadIdx.x / TILE;
    const bool is_read_along_rows = is_along(product, 1, 1);
    const bool is_written_along_rows = product.is_along_rows != 0;
    const Count high = (product.rows + TILE - 1) / TILE;
    const Count wide = (product.columns + TILE - 1) / TILE, all = high * wide * product.entries;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const Count place = find_entry(at, index, high * wide, product);
        const Count down = quotient(place, wide);
        const Integer top = TILE * down, left = TILE * (place - down * wide);
        const int rows = (int)min((Integer)product.rows - top, (Integer)TILE);
        const int columns = (int)min((Integer)product.columns - left, (Integer)TILE);
        // Where the first element of a thread is, and how many it has, if lanes go along rows or
        // along columns.
        const auto start_of = [&](int operand, bool is_along_rows) {
            const int row = is_along_rows ? warp : lane, column = is_along_rows ? lane : warp;
            return place_of(product, operand, at, top + row, left + column);
        };
        const auto count_of = [&](bool is_along_rows) {
            const bool is_there = lane < (is_along_rows ? columns : rows);
            return is_there ? ((is_along_rows ? rows : columns) - warp + WARPS - 1) / WARPS : 0;
        };
        const auto step_of = [&](int operand, bool is_along_rows) {
            return WARPS * product.steps[operand][is_along_rows ? 0 : 1];
        };
        const Element* source = b + start_of(1, is_read_along_rows);
        const Element* diagonal = a + product.start + at[0] +
                                  (top + (is_read_along_rows ? warp : lane)) * product.steps[0][0];
        const Integer diagonal_step = is_read_along_rows ? step_of(0, true) : 0;
        Element values[PARTS], factors[PARTS];
        int count = count_of(is_read_along_rows);
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            if (part < count) {
                values[part] = *source;
                factors[part] = *diagonal;
            }
            source += step_of(1, is_read_along_rows);
            diagonal += diagonal_step;
        }
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            square[warp + part * WARPS][lane] =
                conjugate_if(product.is_a_conjugated, factors[part]) *
                conjugate_if(product.is_b_conjugated, values[part]);
        }
        __syncthreads();
        count = count_of(is_written_along_rows);
        Element* target = result + start_of(3, is_written_along_rows);
        Element alpha, beta;
        set(alpha, product.alpha);
        set(beta, product.beta);
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            if (part < count) {
                Element value = alpha * square[lane][warp + part * WARPS];
                if (product.has_addend) {
                    value = value + beta * c[start_of(2, is_written_along_rows) +
                                             part * step_of(2, is_written_along_rows)];
                }
                *target = value;
            }
            target += step_of(3, is_written_along_rows);
        }
        __syncthreads();
    }
}

// With so few registers for each, so many blocks run at once, which takes less time.
enum { BLOCKS_OF_SQUARES = sizeof(ELEMENT) <= 8 ? 6 : 4 };

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_OF_SQUARES)
    diagonal_squares(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
                     Product product) {
    multiply_squares(result, a, b, c, product);
}
