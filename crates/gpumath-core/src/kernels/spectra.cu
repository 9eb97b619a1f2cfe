// Kernels that multiply the spectra of a convolution.
// `nox -s kernels` compiles them to generated/spectra.ptx.

typedef long long Integer;
typedef unsigned long long Count;

// Dimensions at most. More of them, of two or more elements each, do not fit into any memory.
enum { MAX_RANK = 48 };

// Elements that a thread computes at a time.
enum { UNROLLED = 4 };

// The arrays of a product of elements. Has a counterpart in spectra.rs. Neighbouring threads
// compute neighbours along the last dimension.
struct Spectra {
    Count count;
    Integer rank;
    Integer extents[MAX_RANK];
    // Of the left factor, the right one and the result along each dimension.
    Integer strides[MAX_RANK][3];
};

// The alignment lets a number be loaded and stored as a whole.
template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

struct Offsets {
    Integer left, right, result;
};

__device__ Offsets offsets_of(Count index, const Spectra& spectra) {
    Offsets found = {0, 0, 0};
#pragma unroll 1
    for (Integer dim = spectra.rank - 1; dim >= 0; --dim) {
        Count rest = 0;
        Integer at = static_cast<Integer>(index);
        if (dim > 0) {
            const Count extent = spectra.extents[dim];
            rest = index / extent;
            at = static_cast<Integer>(index - rest * extent);
        }
        found.left += at * spectra.strides[dim][0];
        found.right += at * spectra.strides[dim][1];
        found.result += at * spectra.strides[dim][2];
        index = rest;
    }
    return found;
}

template <typename Real>
__device__ Complex<Real> product(Complex<Real> a, Complex<Real> b, Real factor) {
    return {(a.real * b.real - a.imaginary * b.imaginary) * factor,
            (a.real * b.imaginary + a.imaginary * b.real) * factor};
}

// The result may be the left factor.
template <typename Real>
__device__ void multiply(Complex<Real>* result, const Complex<Real>* left,
                         const Complex<Real>* right, double factor, const Spectra& spectra) {
    const Count step = static_cast<Count>(gridDim.x) * blockDim.x;
    const Count first = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (Count index = first; index < spectra.count; index += UNROLLED * step) {
        Integer at[UNROLLED];
        Complex<Real> a[UNROLLED], b[UNROLLED];
#pragma unroll
        for (int i = 0; i < UNROLLED; ++i) {
            if (index + i * step < spectra.count) {
                const Offsets offsets = offsets_of(index + i * step, spectra);
                at[i] = offsets.result;
                a[i] = left[offsets.left];
                b[i] = right[offsets.right];
            }
        }
#pragma unroll
        for (int i = 0; i < UNROLLED; ++i) {
            if (index + i * step < spectra.count) {
                result[at[i]] = product(a[i], b[i], static_cast<Real>(factor));
            }
        }
    }
}

#define MULTIPLY(name, Real)                                                                   \
    extern "C" __global__ void multiply_##name(Complex<Real>* result, const Complex<Real>* left, \
                                               const Complex<Real>* right, double factor,      \
                                               Spectra spectra) {                              \
        multiply(result, left, right, factor, spectra);                                        \
    }

MULTIPLY(complex64, float)
MULTIPLY(complex128, double)
