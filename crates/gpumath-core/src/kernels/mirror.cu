// Kernels that copy one triangle of square matrices to others, and fill the other triangle there.
// `nox -s kernels` compiles them to generated/mirror.ptx.

typedef long long Integer;
typedef unsigned long long Count;

// Threads of a block, and the sides of the squares that blocks turn in shared memory. Large squares
// take less time for large matrices, because a thread loads more elements before it waits.
enum { THREADS = 256, SQUARE = 32, LARGE_SQUARE = 64 };

// What the other triangle has: the elements of the first one or their conjugates, or zeros, with
// ones on the diagonal if it is not stored.
enum { SYMMETRIC = 0, HERMITIAN = 1, TRIANGULAR = 2, UNIT_TRIANGULAR = 3 };

// Results are in column-major order without gaps, one after the other. The structure has a
// counterpart in mirror.rs.
struct Mirror {
    Count side;
    Count matrices;
    // Elements from a row of a source to the next, from a column to the next, and from a source to
    // the next.
    Integer down;
    Integer right;
    Integer next;
    // Which triangle is stored, and what the matrix is.
    Integer is_upper;
    Integer structure;
};

template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

__device__ float conjugate(float value) { return value; }

__device__ double conjugate(double value) { return value; }

template <typename Real>
__device__ Complex<Real> conjugate(Complex<Real> value) {
    return {value.real, -value.imaginary};
}

__device__ float real_part(float value) { return value; }

__device__ double real_part(double value) { return value; }

template <typename Real>
__device__ Complex<Real> real_part(Complex<Real> value) {
    return {value.real, 0};
}

template <typename Element>
__device__ Element on_diagonal(Integer structure, Element value) {
    if (structure == HERMITIAN) {
        return real_part(value);
    }
    return structure == UNIT_TRIANGULAR ? Element{1} : value;
}

template <typename Element>
__device__ Element across_diagonal(Integer structure, Element value) {
    if (structure == SYMMETRIC) {
        return value;
    }
    return structure == HERMITIAN ? conjugate(value) : Element{0};
}

// A block reads a square of the stored triangle, and writes it to its place, and to the other side
// of the diagonal what belongs there. On the diagonal itself, the square has elements that are not
// stored, which do not count. The source may be the result.
template <unsigned SIDE, typename Element>
__device__ void mirror(Element* results, const Element* sources, const Mirror& mirror) {
    constexpr unsigned ROWS = THREADS / SIDE, PARTS = SIDE / ROWS;
    __shared__ Element shared[SIDE][SIDE + 1];
    const unsigned column = threadIdx.x % SIDE, row = threadIdx.x / SIDE;
    const Count squares = (mirror.side + SIDE - 1) / SIDE, side = mirror.side;
    const Count all = squares * squares * mirror.matrices;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        const Count rest = index / squares, low = index - rest * squares;
        const Count matrix = rest / squares, high = rest - matrix * squares;
        if (low > high) {
            continue;
        }
        Element* to = results + matrix * side * side;
        const Element* from = sources + (Integer)matrix * mirror.next;
        const Count top = SIDE * (mirror.is_upper ? low : high);
        const Count left = SIDE * (mirror.is_upper ? high : low);
        const Count i = top + column;
        // All are loaded before one is used.
        Element values[PARTS];
#pragma unroll
        for (unsigned part = 0; part < PARTS; ++part) {
            const Count j = left + row + part * ROWS;
            if (i < side && j < side) {
                values[part] = from[(Integer)i * mirror.down + (Integer)j * mirror.right];
            }
        }
#pragma unroll
        for (unsigned part = 0; part < PARTS; ++part) {
            const unsigned y = row + part * ROWS;
            const Count j = left + y;
            if (i < side && j < side) {
                const Element value = values[part];
                shared[y][column] = value;
                if (low < high || (mirror.is_upper ? i <= j : i >= j)) {
                    to[i + j * side] = i == j ? on_diagonal(mirror.structure, value) : value;
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (unsigned part = 0; part < PARTS; ++part) {
            // The element in row `left + column` of column `top + y`.
            const unsigned y = row + part * ROWS;
            const Count i = left + column, j = top + y;
            if (i < side && j < side && (low < high || (mirror.is_upper ? i > j : i < j))) {
                to[i + j * side] = across_diagonal(mirror.structure, shared[column][y]);
            }
        }
        __syncthreads();
    }
}

#define MIRROR(name, Element, SIDE)                                                    \
    extern "C" __global__ void __launch_bounds__(THREADS)                              \
        mirror_##name(Element* to, const Element* from, Mirror arguments) {            \
        mirror<SIDE>(to, from, arguments);                                             \
    }

MIRROR(float32, float, SQUARE)
MIRROR(float64, double, SQUARE)
MIRROR(complex64, Complex<float>, SQUARE)
MIRROR(complex128, Complex<double>, SQUARE)
MIRROR(large_float32, float, LARGE_SQUARE)
MIRROR(large_float64, double, LARGE_SQUARE)
MIRROR(large_complex64, Complex<float>, LARGE_SQUARE)
