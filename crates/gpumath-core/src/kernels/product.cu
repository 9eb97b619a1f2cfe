// Products of matrices of any strides that one kernel computes in less time than copies and a call
// of cuBLASLt take: of small matrices, of matrices of small depth, and of a matrix and a vector.
// `nox -s kernels` compiles it, with the kernels in product_tiles.cu and product_vectors.cu, for
// one TYPE after the other, to generated/product_TYPE.ptx: the driver compiles all kernels of a
// file at once. With HAS_EPILOG, it becomes product_epilog_TYPE.ptx, whose kernels add a bias and
// apply a function. A kernel that finds out at run time whether it has to takes 3 % longer for a
// short product.
//
// Sums are in single precision for half precision and bfloat16, in 32-bit integers for int8, else
// in the type of the elements. All kernels take the same argument, and process tiles of the result
// until there is none left.

#ifndef HAS_EPILOG
#define HAS_EPILOG 0
#endif

typedef long long Integer;

enum { THREADS = 256, WARP = 32 };

// What is done with a sum before it is stored.
enum { IDENTITY, RELU, GELU };

// Has a counterpart in kernels/product.rs. The product of a matrix and a vector, or a few, has the
// matrix on the left.
struct Product {
    Integer tiles;
    Integer rows, columns, depth;
    // Tiles along the columns and along the rows, and entries along the faster batch dimension.
    Integer column_tiles, row_tiles, entries;
    // Distances between neighbours along rows, columns or depth as the matrix has them, and along
    // the faster and the slower batch dimension.
    Integer a[4], b[4], c[4];
    // Likewise of the bias, along rows and columns.
    Integer bias[4];
    // What is done with the sums: one of the functions above.
    Integer function;
    // Whether 16 bytes can be loaded and stored at once along the dimension of stride 1.
    Integer is_packed_a, is_packed_b, is_packed_c;
    Integer is_conjugated_a, is_conjugated_b;
    // Of a matrix and vectors: how many threads go along the outputs.
    Integer lanes;
    // And how many entries of a batch are neighbouring rows of the matrix, and how far these are
    // apart in the result. From one row to the next, c counts the rows of an entry.
    Integer joined, joined_step;
    double alpha[2];
};

struct Half {
    unsigned short bits;
};

struct BFloat {
    unsigned short bits;
};

template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

struct alignas(16) Word {
    unsigned int parts[4];
};

// What an element is added up in.
__device__ float widened(float value, bool) { return value; }

__device__ double widened(double value, bool) { return value; }

__device__ int widened(signed char value, bool) { return value; }

__device__ int widened(int value, bool) { return value; }

__device__ float widened(Half value, bool) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

__device__ float widened(BFloat value, bool) {
    return __uint_as_float(static_cast<unsigned int>(value.bits) << 16);
}

template <typename Real>
__device__ Complex<Real> widened(Complex<Real> value, bool is_conjugated) {
    return {value.real, is_conjugated ? -value.imaginary : value.imaginary};
}

// What a sum is stored as.
__device__ void narrow(float sum, float& result) { result = sum; }

__device__ void narrow(double sum, double& result) { result = sum; }

__device__ void narrow(int sum, int& result) { result = sum; }

__device__ void narrow(float sum, Half& result) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(sum));
}

__device__ void narrow(float sum, BFloat& result) {
    const unsigned int bits = __float_as_uint(sum);
    // To the nearest number, the even one of two. NaN stays NaN.
    const unsigned int rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    result.bits = static_cast<unsigned short>(sum == sum ? rounded : bits >> 16 | 0x40);
}

template <typename Real>
__device__ void narrow(Complex<Real> sum, Complex<Real>& result) {
    result = sum;
}

template <typename Real>
__device__ void add_product(Real& sum, Real a, Real b) {
    sum += a * b;
}

template <typename Real>
__device__ void add_product(Complex<Real>& sum, Complex<Real> a, Complex<Real> b) {
    sum.real += a.real * b.real;
    sum.real -= a.imaginary * b.imaginary;
    sum.imaginary += a.real * b.imaginary;
    sum.imaginary += a.imaginary * b.real;
}

template <typename Real>
__device__ void add(Real& sum, Real other) {
    sum += other;
}

template <typename Real>
__device__ void add(Complex<Real>& sum, Complex<Real> other) {
    sum.real += other.real;
    sum.imaginary += other.imaginary;
}

template <typename Real>
__device__ Real scaled(Real sum, const Product& product) {
    return sum * static_cast<Real>(product.alpha[0]);
}

template <typename Real>
__device__ Complex<Real> scaled(Complex<Real> sum, const Product& product) {
    if (product.alpha[1] == 0) {
        const Real factor = static_cast<Real>(product.alpha[0]);
        return {sum.real * factor, sum.imaginary * factor};
    }
    Complex<Real> result = {0, 0};
    add_product(result, sum, {static_cast<Real>(product.alpha[0]),
                              static_cast<Real>(product.alpha[1])});
    return result;
}

// Returns the sum of another thread of the warp, `distance` further.
template <typename Real>
__device__ Real further(Real sum, int distance) {
    return __shfl_down_sync(0xffffffff, sum, distance);
}

template <typename Real>
__device__ Complex<Real> further(Complex<Real> sum, int distance) {
    return {further(sum.real, distance), further(sum.imaginary, distance)};
}

// GELU by its approximation with tanh: x * (1 + tanh(y)) / 2 is x / (1 + exp(-2 * y)).
__device__ float gelu(float x) {
    const float y = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x / (1 + expf(-2 * y));
}

__device__ double gelu(double x) {
    const double y = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return x / (1 + exp(-2 * y));
}

// RELU of NaN is NaN.
template <typename Real>
__device__ Real applied(Integer function, Real sum) {
    if (function == RELU) {
        return sum < 0 ? 0 : sum;
    }
    return function == GELU ? gelu(sum) : sum;
}

// Functions are for real numbers with a fraction.
__device__ int applied(Integer, int sum) { return sum; }

template <typename Real>
__device__ Complex<Real> applied(Integer, Complex<Real> sum) {
    return sum;
}

// How far a row of the result of a matrix and vectors is from the first one.
__device__ Integer row_offset(Integer row, const Product& product) {
    if (product.joined == 1) {
        return row * product.c[0];
    }
    return row / product.joined * product.c[0] + row % product.joined * product.joined_step;
}

// As many elements as 16 bytes have, and how many such loads a thread has under way at a time.
template <typename Element>
struct Pack {
    enum { COUNT = 16 / sizeof(Element), UNROLLED = COUNT > 8 ? 2 : 4 };
    Element elements[COUNT];
};

// Loads neighbours, and zeros beyond the `left` elements that there are.
template <typename Element>
__device__ Pack<Element> load(const Element* from, Integer step, Integer left, bool is_packed) {
    Pack<Element> pack;
    if (is_packed && left >= Pack<Element>::COUNT) {
        const Word word = *reinterpret_cast<const Word*>(from);
        memcpy(&pack, &word, sizeof(word));
        return pack;
    }
#pragma unroll
    for (int i = 0; i < Pack<Element>::COUNT; ++i) {
        pack.elements[i] = i < left ? from[i * step] : Element();
    }
    return pack;
}

// Where the matrices are, and the bias; null if there is none.
template <typename Element, typename Result>
struct Matrices {
    Result* c;
    const Element *a, *b;
    const Result* bias;
};

// The part of the result that a block computes, and the matrices of its batch entry.
template <typename Element, typename Result>
struct Tile {
    Integer row, column;
    const Element *a, *b;
    const Result* bias;
    Result* c;

    __device__ Tile(Integer index, const Matrices<Element, Result>& all, const Product& product) {
        // There are fewer tiles than 2^32, and a division of 32 bits takes a fraction of the time.
        unsigned rest = static_cast<unsigned>(index);
        column = next(rest, product.column_tiles);
        row = next(rest, product.row_tiles);
        const Integer fast = next(rest, product.entries), slow = rest;
        a = all.a + fast * product.a[2] + slow * product.a[3];
        b = all.b + fast * product.b[2] + slow * product.b[3];
        c = all.c + fast * product.c[2] + slow * product.c[3];
        bias = all.bias;
        if (HAS_EPILOG && bias != nullptr) {
            bias += fast * product.bias[2] + slow * product.bias[3];
        }
    }

    // Stores what becomes of a sum, which is for this row and column of the entry's result.
    template <typename Sum>
    __device__ void store(Result* to, Integer row, Integer column, Sum sum,
                          const Product& product) const {
        sum = scaled(sum, product);
        if (HAS_EPILOG) {
            if (bias != nullptr) {
                add(sum, widened(bias[row * product.bias[0] + column * product.bias[1]], false));
            }
            sum = applied(product.function, sum);
        }
        Result result;
        narrow(sum, result);
        *to = result;
    }

    // Divides only where it has to: the threads wait for it before they can load anything.
    __device__ static Integer next(unsigned& rest, Integer count) {
        if (count == 1) {
            return 0;
        }
        if (rest < count) {
            const Integer found = rest;
            rest = 0;
            return found;
        }
        const unsigned quotient = rest / static_cast<unsigned>(count);
        const Integer found = rest - quotient * static_cast<unsigned>(count);
        rest = quotient;
        return found;
    }
};

#if HAS_EPILOG
#define NAME(way, type) way##_##type##_epilog
#else
#define NAME(way, type) way##_##type
#endif

// BLOCKS_<way> says how many blocks a multiprocessor has room for at least.
#define KERNEL_OF(way, type, Sum, Element, Result)                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_##way(Sum)) NAME(way, type)(  \
        Result* c, const Element* a, const Element* b, const Result* bias, Product product) {  \
        multiply_##way<Sum>(Matrices<Element, Result>{c, a, b, bias}, product);                \
    }

#define KERNEL(...) KERNEL_OF(__VA_ARGS__)

// Name, sums, elements and results of a type.
#define TYPE_float16 float16, float, Half, Half
#define TYPE_bfloat16 bfloat16, float, BFloat, BFloat
#define TYPE_float32 float32, float, float, float
#define TYPE_float64 float64, double, double, double
#define TYPE_complex64 complex64, Complex<float>, Complex<float>, Complex<float>
#define TYPE_complex128 complex128, Complex<double>, Complex<double>, Complex<double>
#define TYPE_int8 int8, int, signed char, int
