// The kernel for products of matrices of which one triangle is stored with several columns; a part
// of structured.cu.

// Rows and columns of the squares that blocks compute, and how many elements of the factors along
// the sums, a panel, they load at once.
enum { EDGE = 16, HALF = EDGE / 2, DEPTH = 64, PITCH = EDGE + 1 };

// Groups of threads, each of which adds up its part of a panel's products. A thread adds up those
// of 2 x 2 elements, 8 apart.
enum { GROUP = HALF * HALF, GROUPS = THREADS / GROUP };

template <typename Real>
__device__ void add_product(Real& sum, Real x, Real y) {
    sum += x * y;
}

// Multiplies and adds in four instructions, which are the fewest. Each of them waits for one before
// it, so a kernel with one sum for each thread takes less time with `sum + x * y`.
template <typename Real>
__device__ void add_product(Complex<Real>& sum, Complex<Real> x, Complex<Real> y) {
    sum.real += x.real * y.real;
    sum.real -= x.imaginary * y.imaginary;
    sum.imaginary += x.real * y.imaginary;
    sum.imaginary += x.imaginary * y.real;
}

// A thread's part of a panel. Neighbouring threads have neighbours in memory, which follow each
// other along the depth or across it.
template <typename Element>
struct Panel {
    enum { COUNT = EDGE * DEPTH / THREADS };
    Element elements[COUNT];
    bool is_along_depth;

    __device__ int line(int i) const {
        const int place = threadIdx.x + i * THREADS;
        return is_along_depth ? place / DEPTH : place % EDGE;
    }

    __device__ int depth(int i) const {
        const int place = threadIdx.x + i * THREADS;
        return is_along_depth ? place % DEPTH : place / EDGE;
    }

    // Loads what a function returns for a line and a depth, and zeros beyond the lines and the
    // depth that there are.
    template <typename Function>
    __device__ void load(int lines, Integer deep, Function function) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const bool is_there = line(i) < lines && depth(i) < deep;
            elements[i] = is_there ? function(line(i), depth(i)) : Element{0};
        }
    }

    __device__ void put(Element* to) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            to[depth(i) * PITCH + line(i)] = elements[i];
        }
    }
};

// Returns an element of the matrix of which one triangle is stored. Ones on the diagonal, which are
// not multiplied, are zeros here.
template <typename Element>
__device__ Element element_of(const Element* a, Integer row, Integer k, const Product& product) {
    const bool is_stored = product.stored == UPPER ? k >= row : k <= row;
    if ((!is_stored && product.others >= TRIANGULAR) ||
        (row == k && product.others == UNIT_TRIANGULAR)) {
        return Element{0};
    }
    const Line line = line_of(product, is_stored ? 0 : 1);
    const Element value = a[row * line.down + k * line.along];
    if (row == k && product.others == HERMITIAN) {
        return real_part(value);
    }
    return conjugate_if(line.is_conjugated, value);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    half_stored_tiles(ELEMENT* result, const ELEMENT* a, const ELEMENT* b, const ELEMENT* c,
                      Product product) {
    __shared__ ELEMENT shared[2 * DEPTH * PITCH];
    ELEMENT *const a_panel = shared, *const b_panel = shared + DEPTH * PITCH;
    const int thread = threadIdx.x, group = thread / GROUP;
    const int row = thread % GROUP / HALF, column = thread % HALF;
    const bool is_upper = product.stored == UPPER, is_triangle = product.others >= TRIANGULAR;
    const bool is_unit = product.others == UNIT_TRIANGULAR;
    const Integer along_b = product.steps[1][0], across_b = product.steps[1][1];
    const unsigned high = (product.rows + EDGE - 1) / EDGE;
    const unsigned wide = (product.columns + EDGE - 1) / EDGE;
    Panel<ELEMENT> of_a, of_b;
    of_b.is_along_depth = is_along(product, 1, 0);
    // There are fewer than 2^32 squares: a result of more does not fit a GPU.
#pragma unroll 1
    for (Count index = blockIdx.x; index < product.entries * high * wide; index += gridDim.x) {
        Integer at[OPERANDS] = {};
        const unsigned entry = (unsigned)index / (high * wide);
        const unsigned place = (unsigned)index - entry * (high * wide), down = place / wide;
        add_entry(at, entry, product);
        // Blocks with the most to do begin first.
        const Integer top = EDGE * (Integer)(is_upper ? down : high - 1 - down);
        const Integer left = EDGE * (Integer)(place - down * wide);
        const int rows = (int)min(product.rows - top, (Integer)EDGE);
        const int columns = (int)min(product.columns - left, (Integer)EDGE);
        const ELEMENT* columns_of_b = b + at[1] + left * across_b;
        // What is zero for all rows is not read.
        const Integer first = is_triangle && is_upper ? top : 0;
        const Integer end = is_triangle && !is_upper ? top + rows : product.rows;
        const auto has_diagonal = [&](Integer start) {
            return start < top + rows && start + DEPTH > top;
        };
        const auto load = [&](Integer start) {
            const bool is_mirrored = is_upper ? start < top : start > top;
            const Line line = line_of(product, !is_triangle && is_mirrored ? 1 : 0);
            of_a.is_along_depth = llabs(line.along) <= llabs(line.down);
            if (has_diagonal(start)) {
                of_a.load(rows, end - start, [&](int i, int k) {
                    return element_of(a + at[0], top + i, start + k, product);
                });
            } else {
                const ELEMENT* from = a + at[0] + top * line.down + start * line.along;
                of_a.load(rows, end - start, [&](int i, int k) {
                    return conjugate_if(line.is_conjugated, from[i * line.down + k * line.along]);
                });
            }
            const ELEMENT* from = columns_of_b + start * along_b;
            of_b.load(columns, end - start, [&](int i, int k) {
                return conjugate_if(product.is_b_conjugated, from[k * along_b + i * across_b]);
            });
        };
        ELEMENT sums[2][2] = {};
        load(first);
#pragma unroll 1
        for (Integer start = first; start < end; start += DEPTH) {
            of_a.put(a_panel);
            of_b.put(b_panel);
            __syncthreads();
            if (start + DEPTH < end) {
                load(start + DEPTH);
            }
            const int deep = (int)min(end - start, (Integer)DEPTH);
            const int steps = (deep + GROUPS - 1) / GROUPS;
            // Zeros of a triangle are not multiplied, and ones on the diagonal are added at the
            // end. `bound` is the column of the panel which is the first one to count for the
            // thread's first row in an upper triangle, and the last one in a lower triangle.
            const bool has_zeros = is_triangle && has_diagonal(start);
            const int shift = !is_unit ? 0 : is_upper ? 1 : -1;
            const int bound = has_zeros ? (int)(top - start) + row + shift : 0;
#pragma unroll 4
            for (int step = 0; step < steps; ++step) {
                const int k = group * steps + step, from = k * PITCH;
                const ELEMENT x[2] = {a_panel[from + row], a_panel[from + row + HALF]};
                const ELEMENT y[2] = {b_panel[from + column], b_panel[from + column + HALF]};
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int beyond = k - bound - i * HALF;
                    if (!has_zeros || (is_upper ? beyond >= 0 : beyond <= 0)) {
                        add_product(sums[i][0], x[i], y[0]);
                        add_product(sums[i][1], x[i], y[1]);
                    }
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int line = group * EDGE + row + j / 2 * HALF;
            shared[line * PITCH + column + j % 2 * HALF] = sums[j / 2][j % 2];
        }
        __syncthreads();
        const int i = product.is_along_rows ? thread / EDGE : thread % EDGE;
        const int j = product.is_along_rows ? thread % EDGE : thread / EDGE;
        ELEMENT sum = shared[i * PITCH + j];
#pragma unroll
        for (int other = 1; other < GROUPS; ++other) {
            sum = sum + shared[(other * EDGE + i) * PITCH + j];
        }
        if (i < rows && j < columns) {
            if (is_unit) {
                const ELEMENT of_b = columns_of_b[(top + i) * along_b + j * across_b];
                sum = sum + conjugate_if(product.is_b_conjugated, of_b);
            }
            write(result, c, at, top + i, left + j, sum, product);
        }
        __syncthreads();
    }
}
