// Kernels that scale an array of any strides in place.
// `nox -s kernels` compiles them to generated/scale.ptx.

typedef long long Integer;
typedef unsigned long long Count;

// Dimensions at most. More of them, of two or more elements each, do not fit into any memory.
enum { MAX_RANK = 48 };

// Loads that a thread of `scale` has under way at a time.
enum { UNROLLED = 4 };

// Has a counterpart in kernels/. Neighbouring threads process neighbours along the last dimension.
struct Elements {
    Count count;
    Integer rank;
    Integer extents[MAX_RANK];
    Integer strides[MAX_RANK];
};

struct Half {
    unsigned short bits;
};

// The alignment lets a number be loaded and stored as a whole.
template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

__device__ float times(float value, double factor) { return value * static_cast<float>(factor); }

__device__ double times(double value, double factor) { return value * factor; }

// Computed in single precision, and rounded once.
__device__ Half times(Half value, double factor) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    wide = times(wide, factor);
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(value.bits) : "f"(wide));
    return value;
}

template <typename Real>
__device__ Complex<Real> times(Complex<Real> value, double factor) {
    return {times(value.real, factor), times(value.imaginary, factor)};
}

__device__ Count first_index() { return static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ Count all_threads() { return static_cast<Count>(gridDim.x) * blockDim.x; }

__device__ Integer offset_of(Count index, const Elements& elements) {
    Integer offset = 0;
#pragma unroll 1
    for (Integer dim = elements.rank - 1; dim > 0; --dim) {
        const Count extent = elements.extents[dim], rest = index / extent;
        offset += static_cast<Integer>(index - rest * extent) * elements.strides[dim];
        index = rest;
    }
    return offset + static_cast<Integer>(index) * elements.strides[0];
}

template <typename Element>
__device__ void scale(Element* to, double factor, const Elements& elements) {
    const Count step = all_threads();
#pragma unroll 1
    for (Count index = first_index(); index < elements.count; index += UNROLLED * step) {
        Element* at[UNROLLED];
        Element loaded[UNROLLED];
#pragma unroll
        for (int i = 0; i < UNROLLED; ++i) {
            if (index + i * step < elements.count) {
                at[i] = to + offset_of(index + i * step, elements);
                loaded[i] = *at[i];
            }
        }
#pragma unroll
        for (int i = 0; i < UNROLLED; ++i) {
            if (index + i * step < elements.count) {
                *at[i] = times(loaded[i], factor);
            }
        }
    }
}

#define SCALE(name, Element)                                                                 \
    extern "C" __global__ void scale_##name(Element* to, double factor, Elements elements) { \
        scale(to, factor, elements);                                                         \
    }

SCALE(float16, Half)
SCALE(float32, float)
SCALE(float64, double)
SCALE(complex32, Complex<Half>)
SCALE(complex64, Complex<float>)
SCALE(complex128, Complex<double>)
