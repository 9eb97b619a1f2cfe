// Kernels that copy one triangle of square matrices to the other one.
// `nox -s kernels` compiles them to generated/mirror.ptx.

typedef long long Integer;
typedef unsigned long long Count;

// Side of the squares that blocks turn in shared memory, and rows of threads in a block.
enum { SQUARE = 32, ROWS = 8 };

// Matrices in column-major order without gaps, one after the other. The structure has a counterpart
// in mirror.rs.
struct Mirror {
    Count side;
    Count matrices;
    // Which triangle is copied, and whether to the conjugates of its elements.
    Integer is_upper;
    Integer is_hermitian;
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

// A block reads a square of the stored triangle, and writes it turned to the other side of the
// diagonal. On the diagonal itself, it writes the other half of the square; elements on the
// diagonal of a Hermitian matrix are real.
template <typename Element>
__device__ void mirror(Element* first, const Mirror& mirror) {
    __shared__ Element shared[SQUARE][SQUARE + 1];
    const unsigned column = threadIdx.x % SQUARE, row = threadIdx.x / SQUARE;
    const Count squares = (mirror.side + SQUARE - 1) / SQUARE, side = mirror.side;
    const Count all = squares * squares * mirror.matrices;
#pragma unroll 1
    for (Count index = blockIdx.x; index < all; index += gridDim.x) {
        const Count rest = index / squares, low = index - rest * squares;
        const Count matrix = rest / squares, high = rest - matrix * squares;
        if (low > high) {
            continue;
        }
        Element* at = first + matrix * side * side;
        const Count top = SQUARE * (mirror.is_upper ? low : high);
        const Count left = SQUARE * (mirror.is_upper ? high : low);
#pragma unroll
        for (unsigned y = row; y < SQUARE; y += ROWS) {
            if (top + column < side && left + y < side) {
                shared[y][column] = at[top + column + (left + y) * side];
            }
        }
        __syncthreads();
#pragma unroll
        for (unsigned y = row; y < SQUARE; y += ROWS) {
            // The element in row `left + column` of column `top + y`.
            const Count i = left + column, j = top + y;
            if (i < side && j < side && (low < high || (mirror.is_upper ? i > j : i < j))) {
                const Element value = shared[column][y];
                at[i + j * side] = mirror.is_hermitian ? conjugate(value) : value;
            } else if (i == j && i < side && mirror.is_hermitian) {
                at[i + j * side] = real_part(shared[column][y]);
            }
        }
        __syncthreads();
    }
}

#define MIRROR(name, Element)                                                          \
    extern "C" __global__ void __launch_bounds__(SQUARE* ROWS)                         \
        mirror_##name(Element* first, Mirror arguments) {                              \
        mirror(first, arguments);                                                      \
    }

MIRROR(float32, float)
MIRROR(float64, double)
MIRROR(complex64, Complex<float>)
MIRROR(complex128, Complex<double>)
