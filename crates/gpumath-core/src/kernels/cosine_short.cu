// Cosine and sine transforms of lines of a few points, as products with a matrix.
// `nox -s kernels` compiles them to generated/cosine_short.ptx.

typedef long long Integer;
typedef unsigned long long Count;

enum { MAX_RANK = 48, MOST_POINTS = 16 };

// Threads of a block. Each of them transforms a line.
enum { THREADS = 256 };

// The lines and the matrix. Has a counterpart in cosine_short.rs. Neighbouring threads transform
// neighbours along the last dimension.
template <typename Real>
struct ShortLines {
    Count lines;
    // The dimensions beside the transformed one.
    Integer rank;
    Integer points;
    // The distance between neighbours of a line, in the source and in the target.
    Integer from_stride, to_stride;
    // Whether the lines follow each other in memory, without gaps.
    Integer from_is_packed, to_is_packed;
    Integer extents[MAX_RANK];
    Integer from[MAX_RANK];
    Integer to[MAX_RANK];
    // The factors of each element of the source in all elements of the target; 0 beyond `points`.
    Real matrix[MOST_POINTS][MOST_POINTS];
};

struct Offsets {
    Integer from, to;
};

// A division of 32 bits takes a fraction of the time.
__device__ Count quotient_of(Count a, Count b) {
    return (a | b) >> 32 == 0 ? static_cast<unsigned>(a) / static_cast<unsigned>(b) : a / b;
}

template <typename Real>
__device__ Offsets offsets_of(Count line, const ShortLines<Real>& call) {
    Offsets offsets = {0, 0};
#pragma unroll 1
    for (Integer dim = call.rank - 1; dim >= 0; --dim) {
        const Count extent = static_cast<Count>(call.extents[dim]);
        const Count rest = dim == 0 ? 0 : quotient_of(line, extent);
        const Integer at = static_cast<Integer>(line - rest * extent);
        offsets.from += at * call.from[dim];
        offsets.to += at * call.to[dim];
        line = rest;
    }
    return offsets;
}

// Lines of up to N points. Lines without gaps pass through shared memory, so that neighbouring
// threads access neighbours in memory; each row there has one element more, so that the rows start
// in different banks.
template <typename Real, int N>
__device__ void transform(Real* to, const Real* from, const ShortLines<Real>& call) {
    __shared__ Real tile[THREADS * (N + 1)];
    const unsigned points = static_cast<unsigned>(call.points), thread = threadIdx.x;
    Real* const row = tile + thread * (N + 1);
#pragma unroll 1
    for (Count first = static_cast<Count>(blockIdx.x) * THREADS; first < call.lines;
         first += static_cast<Count>(gridDim.x) * THREADS) {
        const Count left = call.lines - first;
        const unsigned lines = left < THREADS ? static_cast<unsigned>(left) : THREADS;
        const bool has_line = thread < lines;
        Offsets offsets = {0, 0};
        if (has_line && !(call.from_is_packed && call.to_is_packed)) {
            offsets = offsets_of(first + thread, call);
        }
        if (call.from_is_packed) {
            const Real* const start = from + first * points;
            for (unsigned i = thread; i < lines * points; i += THREADS) {
                tile[i / points * (N + 1) + i % points] = start[i];
            }
            __syncthreads();
        }
        Real given[N];
#pragma unroll
        for (int n = 0; n < N; ++n) {
            given[n] = 0;
            if (has_line && n < points) {
                given[n] = call.from_is_packed ? row[n] : from[offsets.from + n * call.from_stride];
            }
        }
#pragma unroll
        for (int k = 0; k < N; ++k) {
            Real sum = 0;
#pragma unroll
            for (int n = 0; n < N; ++n) {
                sum += call.matrix[n][k] * given[n];
            }
            if (has_line && k < points) {
                // All of the row was read by its own thread.
                if (call.to_is_packed) {
                    row[k] = sum;
                } else {
                    to[offsets.to + k * call.to_stride] = sum;
                }
            }
        }
        __syncthreads();
        if (call.to_is_packed) {
            Real* const start = to + first * points;
            for (unsigned i = thread; i < lines * points; i += THREADS) {
                start[i] = tile[i / points * (N + 1) + i % points];
            }
            __syncthreads();
        }
    }
}

#define KERNEL(name, N, Real)                                                  \
    extern "C" __global__ void cosine_short_##name(Real* to, const Real* from, \
                                                   ShortLines<Real> call) {    \
        transform<Real, N>(to, from, call);                                    \
    }

KERNEL(float32_4, 4, float)
KERNEL(float32_8, 8, float)
KERNEL(float32_16, 16, float)
KERNEL(float64_4, 4, double)
KERNEL(float64_8, 8, double)
KERNEL(float64_16, 16, double)
