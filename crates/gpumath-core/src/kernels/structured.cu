// Kernels for products of a matrix with a structure, and batches of them: what they share, and
// the one for columns with NaN. half_stored.cu and diagonal.cu follow. `nox -s kernels` compiles
// them for each `ELEMENT`, to generated/structured_*.ptx.

typedef long long Integer;
typedef unsigned long long Count;

enum { DIMENSIONS = 3, OPERANDS = 4 };

// Threads of a block, side of the squares of the result that blocks compute, and warps of a block.
enum { THREADS = 256, TILE = 32, WARPS = THREADS / TILE };

// Rows that a warp of `repair` computes at once: each element of a column is read once for them.
enum { ROWS = 8 };

// What is stored of the left factor.
enum { LOWER = 0, UPPER = 1, DIAGONAL = 2 };

// What the other elements are: those of the stored triangle or their conjugates, or zeros, with
// ones on the diagonal if it is not stored.
enum { SYMMETRIC = 0, HERMITIAN = 1, TRIANGULAR = 2, UNIT_TRIANGULAR = 3 };

// Result = alpha * a @ b + beta * c, for matrices of any strides, in elements; the vector of a
// diagonal matrix has one stride. Operands are numbered a, b, c, result. The structure has a
// counterpart in structured.rs.
struct Product {
    Count rows, columns, entries;
    // From a row to the next, and from a column to the next.
    Integer steps[OPERANDS][2];
    // Dimensions of the batch, the first one the fastest.
    Count extents[DIMENSIONS];
    Integer strides[DIMENSIONS][OPERANDS];
    // From the address of a to its element (0, 0).
    Integer start;
    Integer stored;
    Integer others;
    // Whether a and b are conjugated, c counts, and the result is written
    // along its rows.
    Integer is_a_conjugated, is_b_conjugated, has_addend, is_along_rows;
    // Real and imaginary parts.
    double alpha[2], beta[2];
};

template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

template <typename Real>
__device__ Complex<Real> operator*(Complex<Real> x, Complex<Real> y) {
    return {x.real * y.real - x.imaginary * y.imaginary,
            x.real * y.imaginary + x.imaginary * y.real};
}

template <typename Real>
__device__ Complex<Real> operator+(Complex<Real> x, Complex<Real> y) {
    return {x.real + y.real, x.imaginary + y.imaginary};
}

__device__ float conjugate_if(Integer, float value) { return value; }

__device__ double conjugate_if(Integer, double value) { return value; }

template <typename Real>
__device__ Complex<Real> conjugate_if(Integer condition, Complex<Real> value) {
    return {value.real, condition ? -value.imaginary : value.imaginary};
}

__device__ float real_part(float value) { return value; }

__device__ double real_part(double value) { return value; }

template <typename Real>
__device__ Complex<Real> real_part(Complex<Real> value) {
    return {value.real, 0};
}

__device__ bool has_nan(float value) { return value != value; }

__device__ bool has_nan(double value) { return value != value; }

template <typename Real>
__device__ bool has_nan(Complex<Real> value) {
    return value.real != value.real || value.imaginary != value.imaginary;
}

__device__ void set(float& number, const double* parts) { number = (float)parts[0]; }

__device__ void set(double& number, const double* parts) { number = parts[0]; }

template <typename Real>
__device__ void set(Complex<Real>& number, const double* parts) {
    number = {(Real)parts[0], (Real)parts[1]};
}

// Adds to each operand's place the steps of an entry of the batch.
template <typename Index>
__device__ void add_entry(Integer* at, Index entry, const Product& product) {
#pragma unroll
    for (int axis = 0; axis < DIMENSIONS; ++axis) {
        // The last dimension that there is needs no division.
        const Index extent = product.extents[axis];
        const Index rest = axis + 1 < DIMENSIONS && entry >= extent ? entry / extent : 0;
        const Integer step = entry - rest * extent;
        entry = rest;
#pragma unroll
        for (int operand = 0; operand < OPERANDS; ++operand) {
            at[operand] += step * product.strides[axis][operand];
        }
    }
}

// Divides. With 32 bits this takes a fraction of the time.
__device__ Count quotient(Count dividend, Count divisor) {
    if (((dividend | divisor) >> 32) == 0) {
        return static_cast<unsigned>(dividend) / static_cast<unsigned>(divisor);
    }
    return dividend / divisor;
}

// Finds the entry that a block computes and the number of the block in it, of so many blocks.
__device__ Count find_entry(Integer* at, Count index, Count blocks, const Product& product) {
    const Count entry = quotient(index, blocks);
    add_entry(at, entry, product);
    return index - entry * blocks;
}

// Whether neighbours in an operand's memory follow each other along its rows (0) or columns (1).
__device__ bool is_along(const Product& product, int operand, int side) {
    const Integer* steps = product.steps[operand];
    return llabs(steps[side]) <= llabs(steps[1 - side]);
}

// An element's place in an operand, of the entry that begins at `at`.
__device__ Integer place_of(const Product& product, int operand, const Integer* at, Integer row,
                            Integer column) {
    const Integer* steps = product.steps[operand];
    return at[operand] + row * steps[0] + column * steps[1];
}

// Writes a sum of products with what it is multiplied by and what is added.
template <typename Element>
__device__ void write(Element* result, const Element* c, const Integer* at, Integer row,
                      Integer column, Element sum, const Product& product) {
    Element alpha, beta;
    set(alpha, product.alpha);
    set(beta, product.beta);
    sum = alpha * sum;
    if (product.has_addend) {
        sum = sum + beta * c[place_of(product, 2, at, row, column)];
    }
    result[place_of(product, 3, at, row, column)] = sum;
}

// Calls a function for the elements of the results that a thread computes. Threads follow the
// results' memory. Numbers of elements are an `Index`: dividing those of 32 bits takes much less
// time.
template <typename Index, typename Function>
__device__ void for_each_element_of(const Product& product, Function function) {
    const Index rows = product.rows, columns = product.columns;
    const Count all = product.rows * product.columns * product.entries;
    const Index fast = product.is_along_rows ? columns : rows;
    const Index slow = product.is_along_rows ? rows : columns;
#pragma unroll 1
    for (Count index = blockIdx.x * (Count)THREADS + threadIdx.x; index < all;
         index += gridDim.x * (Count)THREADS) {
        const Index line = (Index)index / fast, place = (Index)index - line * fast;
        const Index entry = line / slow, other = line - entry * slow;
        Integer at[OPERANDS] = {};
        add_entry(at, entry, product);
        function(at, product.is_along_rows ? other : place, product.is_along_rows ? place : other);
    }
}

template <typename Function>
__device__ void for_each_element(const Product& product, Function function) {
    if (product.rows * product.columns * product.entries < 1ull << 32) {
        for_each_element_of<unsigned>(product, function);
    } else {
        for_each_element_of<Count>(product, function);
    }
}

// The elements of a row besides the diagonal: the stored ones, or those that mirror stored ones of
// a column.
struct Line {
    // From a row to the next, and along the row.
    Integer down, along;
    bool is_upper, is_conjugated;
};

__device__ int lines_of(const Product& product) { return product.others <= HERMITIAN ? 2 : 1; }

__device__ Line line_of(const Product& product, int which) {
    const Integer* steps = product.steps[0];
    const bool is_upper = product.stored == UPPER, is_conjugated = product.is_a_conjugated != 0;
    if (which == 0) {
        return {steps[0], steps[1], is_upper, is_conjugated};
    }
    return {steps[1], steps[0], !is_upper, is_conjugated != (product.others == HERMITIAN)};
}

// The product of an element on the diagonal.
template <typename Element>
__device__ Element on_diagonal(const Element* a, const Integer* at, Integer row, Element of_b,
                               const Product& product) {
    if (product.others == UNIT_TRIANGULAR) {
        return of_b;
    }
    const Element of_a = a[place_of(product, 0, at, row, row)];
    if (product.others == HERMITIAN) {
        return real_part(of_a) * of_b;
    }
    return conjugate_if(product.is_a_conjugated, of_a) * of_b;
}

// Computes an element of a product. Elements that are zero are not multiplied.
template <typename Element>
__device__ Element sum_of(const Element* a, const Element* b, const Integer* at, Integer row,
                          Integer column, const Product& product) {
    const Element* column_of_b = b + place_of(product, 1, at, 0, column);
    const auto of_b = [&](Integer k) {
        return conjugate_if(product.is_b_conjugated, column_of_b[k * product.steps[1][0]]);
    };
    Element sum = on_diagonal(a, at, row, of_b(row), product);
#pragma unroll 1
    for (int which = 0; which < lines_of(product); ++which) {
        const Line line = line_of(product, which);
        const Element* line_of_a = a + at[0] + row * line.down;
        const Integer end = line.is_upper ? (Integer)product.rows : row;
#pragma unroll 4
        for (Integer k = line.is_upper ? row + 1 : 0; k < end; ++k) {
            sum = sum + conjugate_if(line.is_conjugated, line_of_a[k * line.along]) * of_b(k);
        }
    }
    return sum;
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

// Computes a column of a product with a triangle. Neighbours in the memory of the triangle are read
// by neighbours among the threads: a warp has some rows, or a thread has one.
template <typename Element>
__device__ void multiply_column(Element* result, const Element* a, const Element* b,
                                const Element* c, const Integer* at, Integer column,
                                const Product& product) {
    const Line line = line_of(product, 0);
    const Integer rows = product.rows;
    if (llabs(line.along) > llabs(line.down)) {
#pragma unroll 1
        for (Integer row = threadIdx.x; row < rows; row += THREADS) {
            write(result, c, at, row, column, sum_of(a, b, at, row, column, product), product);
        }
        return;
    }
    const int lane = threadIdx.x % TILE;
    const Element* column_of_b = b + place_of(product, 1, at, 0, column);
    const auto of_b = [&](Integer k) {
        return conjugate_if(product.is_b_conjugated, column_of_b[k * product.steps[1][0]]);
    };
#pragma unroll 1
    for (Integer top = threadIdx.x / TILE * ROWS; top < rows; top += WARPS * ROWS) {
        const Integer bottom = min(top + ROWS, rows);
        // The last row stands for those that there are not.
        const Element* lines[ROWS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            lines[i] = a + at[0] + min(top + i, rows - 1) * line.down;
        }
        Element sums[ROWS] = {};
        // Columns that are stored of all rows.
        const Integer end = line.is_upper ? rows : top;
#pragma unroll 2
        for (Integer k = (line.is_upper ? bottom : 0) + lane; k < end; k += TILE) {
            const Element right = of_b(k);
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const Element left = lines[i][k * line.along];
                sums[i] = sums[i] + conjugate_if(line.is_conjugated, left) * right;
            }
        }
        const Integer k = top + lane;
        if (k < bottom) {
            const Element right = of_b(k);
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                if (line.is_upper ? i < lane : i > lane) {
                    const Element left = lines[i][k * line.along];
                    sums[i] = sums[i] + conjugate_if(line.is_conjugated, left) * right;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const Element sum = over_warp(sums[i]);
            const Integer row = top + i;
            if (lane == i && row < rows) {
                write(result, c, at, row, column,
                      sum + on_diagonal(a, at, row, of_b(row), product), product);
            }
        }
    }
}

// Computes the columns again that an infinity or NaN of `b` reached through the zeros of a
// completed triangle. Such a column has NaN in the row of which only the element on the diagonal is
// stored, because a zero times either is NaN. A block has columns that follow each other.
template <typename Element>
__device__ void repair_columns(Element* result, const Element* a, const Element* b,
                               const Element* c, const Product& product) {
    __shared__ bool is_nan[THREADS];
    const Integer row = product.stored == UPPER ? (Integer)product.rows - 1 : 0;
    const Count all = product.columns * product.entries;
    const Count share = (all + gridDim.x - 1) / gridDim.x;
    const Count end = min((blockIdx.x + 1) * share, all);
#pragma unroll 1
    for (Count first = blockIdx.x * share; first < end; first += THREADS) {
        bool is_repaired = false;
        const Count index = first + threadIdx.x;
        if (index < end) {
            Integer at[OPERANDS] = {};
            const Integer column = find_entry(at, index, product.columns, product);
            is_repaired = has_nan(result[place_of(product, 3, at, row, column)]);
        }
        is_nan[threadIdx.x] = is_repaired;
        if (!__syncthreads_or(is_repaired)) {
            continue;
        }
#pragma unroll 1
        for (unsigned which = 0; which < THREADS; ++which) {
            if (is_nan[which]) {
                Integer at[OPERANDS] = {};
                const Integer column = find_entry(at, first + which, product.columns, product);
                multiply_column(result, a, b, c, at, column, product);
            }
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    repair(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
           Product product) {
    repair_columns(result, a, b, c, product);
}
