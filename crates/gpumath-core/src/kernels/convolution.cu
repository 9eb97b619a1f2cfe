// Convolutions as sums of products, for few elements of the filter.
// `nox -s kernels` compiles it to generated/convolution_*.ptx, one for each ELEMENT.
//
// Neighbouring threads compute neighbours along the result's fastest dimension. Where another
// dimension is convolved too, a thread computes several elements along that one, so that it loads
// most elements of the source once for several products. Where that leaves a GPU with few threads,
// several threads share the lines of the filter for the same elements. Along the fastest dimension
// alone, a thread computes several elements that are WARP apart, so that it loads each element of
// the filter once for all of them; more elements of large results if the filter is short.
// convolution_lines.cu has kernels for many lines and for small arrays.

typedef long long Integer;
typedef unsigned long long Count;

enum { MAX_RANK = 48, MAX_AXES = 4, THREADS = 256, WARP = 32 };

// Has a counterpart in kernels/convolution.rs. Unused axes come first, and have one element each.
// A thread computes its elements along the last axis.
struct Convolution {
    Count count;
    // Threads that share the lines of the filter, a power of two.
    Integer sharers;
    Integer rank;
    const void* filter;
    // Elements of the result along the last axis, and the distance between neighbours there.
    Integer wanted, to_step;
    // Of each axis: its dimension, the elements of the filter and of the source, the first element
    // of the full convolution that is wanted, and distances between neighbours.
    Integer dims[MAX_AXES];
    Integer taps[MAX_AXES];
    Integer points[MAX_AXES];
    Integer starts[MAX_AXES];
    Integer from_steps[MAX_AXES];
    Integer filter_steps[MAX_AXES];
    // Of each dimension; the last axis has as many as there are threads along it. Distances in the
    // source and in the filter are 0 along the axes, and in the result along the last one.
    Integer extents[MAX_RANK];
    Integer from[MAX_RANK];
    Integer filters[MAX_RANK];
    Integer to[MAX_RANK];
};

template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

template <typename Real>
__device__ void add_product(Real& sum, Real a, Real b) {
    sum += a * b;
}

// A product of two numbers of 16 bits has no place in `int`, to which they are promoted.
__device__ void add_product(unsigned short& sum, unsigned short a, unsigned short b) {
    sum += static_cast<unsigned>(a) * b;
}

template <typename Real>
__device__ void add_product(Complex<Real>& sum, Complex<Real> a, Complex<Real> b) {
    sum.real += a.real * b.real;
    sum.real -= a.imaginary * b.imaginary;
    sum.imaginary += a.real * b.imaginary;
    sum.imaginary += a.imaginary * b.real;
}

template <typename Real>
__device__ void add(Real& sum, Real value) {
    sum += value;
}

template <typename Real>
__device__ void add(Complex<Real>& sum, Complex<Real> value) {
    sum.real += value.real;
    sum.imaginary += value.imaginary;
}

// Which elements of the source, counted from one of them along the last axis, are there. Limits of
// 32 bits take less time.
struct Limits {
    int begin, end;

    __device__ Limits(Integer position, const Convolution& call) {
        const Integer far = 1 << 30;
        begin = static_cast<int>(min(max(-position, -far), far));
        end = static_cast<int>(min(max(call.points[MAX_AXES - 1] - position, -far), far));
    }

    __device__ bool include(int at) const {
        return at >= begin && at < end;
    }
};

// Adds the products with TAPS elements of a line of the filter, from its element `tap` on, to the
// sums of the ELEMENTS elements from `position` of the full convolution on. At an end of the
// source, a product is left out if its element is not there.
template <int ELEMENTS, int TAPS, bool AT_END, typename T, typename Step>
__device__ void add_taps(T (&sums)[ELEMENTS], const T* from, const T* filter, Integer position,
                         Integer tap, const Convolution& call, Step step) {
    const Integer first = position - tap - (TAPS - 1);
    const Limits limits(first, call);
    const T* source = from + first * static_cast<Integer>(step);
    T values[ELEMENTS + TAPS - 1];
#pragma unroll
    for (int i = 0; i < ELEMENTS + TAPS - 1; ++i) {
        values[i] = !AT_END || limits.include(i) ? source[i * step] : T();
    }
#pragma unroll
    for (int i = 0; i < TAPS; ++i) {
        if (tap + i < call.taps[MAX_AXES - 1]) {
            const T factor = filter[(tap + i) * call.filter_steps[MAX_AXES - 1]];
#pragma unroll
            for (int element = 0; element < ELEMENTS; ++element) {
                const int at = element + TAPS - 1 - i;
                if (!AT_END || limits.include(at)) {
                    add_product(sums[element], values[at], factor);
                }
            }
        }
    }
}

// Goes along the last axis, for neighbours.
template <int ELEMENTS, int TAPS, typename T, typename Step>
__device__ void add_line_to_neighbours(T (&sums)[ELEMENTS], const T* from, const T* filter,
                                       Integer position, const Convolution& call, Step step) {
    const Integer taps = call.taps[MAX_AXES - 1], points = call.points[MAX_AXES - 1];
#pragma unroll 1
    for (Integer tap = 0; tap < taps; tap += TAPS) {
        const Integer first = position - tap - (TAPS - 1);
        if (first >= 0 && first + ELEMENTS + TAPS - 1 <= points) {
            add_taps<ELEMENTS, TAPS, false>(sums, from, filter, position, tap, call, step);
        } else if (first < points && first + ELEMENTS + TAPS - 1 > 0) {
            add_taps<ELEMENTS, TAPS, true>(sums, from, filter, position, tap, call, step);
        }
    }
}

// Adds the products with the next COUNT elements of a line of the filter to the sums of elements
// that are WARP apart. The first of these is multiplied with the element `position` of the source.
// All are loaded before one is used. At an end of the source, a product is left out if its element
// is not there.
template <bool AT_END, int COUNT, int ELEMENTS, typename T>
__device__ void add_taps_to_spread(T (&sums)[ELEMENTS], const T* source, const T* filter,
                                   Integer position, const Convolution& call, Integer step) {
    const Limits limits(position, call);
    T values[COUNT][ELEMENTS], factors[COUNT];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        factors[i] = filter[i * call.filter_steps[MAX_AXES - 1]];
#pragma unroll
        for (int element = 0; element < ELEMENTS; ++element) {
            const int at = element * WARP - i;
            values[i][element] = !AT_END || limits.include(at) ? source[at * step] : T();
        }
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
        for (int element = 0; element < ELEMENTS; ++element) {
            const int at = element * WARP - i;
            T sum = sums[element];
            add_product(sum, values[i][element], factors[i]);
            sums[element] = !AT_END || limits.include(at) ? sum : sums[element];
        }
    }
}

template <int COUNT, int ELEMENTS, typename T>
__device__ void add_some_to_spread(T (&sums)[ELEMENTS], const T* source, const T* filter,
                                   Integer position, const Convolution& call) {
    const Integer points = call.points[MAX_AXES - 1], step = call.from_steps[MAX_AXES - 1];
    const Integer first = position - (COUNT - 1), last = position + (ELEMENTS - 1) * WARP;
    if (first < 0 || last >= points) {
        if (first < points && last >= 0) {
            if (step == 1) {
                add_taps_to_spread<true, COUNT>(sums, source, filter, position, call, 1);
            } else {
                add_taps_to_spread<true, COUNT>(sums, source, filter, position, call, step);
            }
        }
    } else if (step == 1) {
        add_taps_to_spread<false, COUNT>(sums, source, filter, position, call, 1);
    } else {
        add_taps_to_spread<false, COUNT>(sums, source, filter, position, call, step);
    }
}

// Goes along the last axis, for elements that are WARP apart.
template <int ELEMENTS, typename T>
__device__ void add_line_to_spread(T (&sums)[ELEMENTS], const T* from, const T* filter,
                                   Integer position, const Convolution& call) {
    // What is loaded before it is used has 32 registers.
    constexpr int COUNT = 128 / (sizeof(T) < 4 ? 4 : sizeof(T)) / ELEMENTS;
    const Integer taps = call.taps[MAX_AXES - 1], filter_step = call.filter_steps[MAX_AXES - 1];
    const Integer step = call.from_steps[MAX_AXES - 1];
    const T* source = from + position * step;
    Integer tap = 0;
#pragma unroll 1
    for (; tap + COUNT <= taps; tap += COUNT) {
        add_some_to_spread<COUNT>(sums, source, filter, position - tap, call);
        source -= COUNT * step;
        filter += COUNT * filter_step;
    }
    if (COUNT > 1) {
#pragma unroll 1
        for (; tap < taps; ++tap) {
            add_some_to_spread<1>(sums, source, filter, position - tap, call);
            source -= step;
            filter += filter_step;
        }
    }
}

// Computes the sums of one thread. Goes along the other axes; `at` is the position in the full
// convolution. The thread takes every so many lines of the filter, from `sharer` on.
template <int ELEMENTS, int SPREAD, int TAPS, typename T, typename Step>
__device__ void add_all(T (&sums)[ELEMENTS], const T* from, const T* filter,
                        const Integer (&at)[MAX_AXES], Integer sharer, const Convolution& call,
                        Step step) {
#pragma unroll 1
    for (Integer i = 0; i < call.taps[0]; ++i) {
        const Integer point0 = at[0] - i;
        if (point0 < 0 || point0 >= call.points[0]) {
            continue;
        }
#pragma unroll 1
        for (Integer j = 0; j < call.taps[1]; ++j) {
            const Integer point1 = at[1] - j;
            if (point1 < 0 || point1 >= call.points[1]) {
                continue;
            }
            const T* from1 = from + point0 * call.from_steps[0] + point1 * call.from_steps[1];
            const T* filter1 = filter + i * call.filter_steps[0] + j * call.filter_steps[1];
#pragma unroll 1
            for (Integer k = sharer; k < call.taps[2]; k += call.sharers) {
                const Integer point2 = at[2] - k;
                if (point2 < 0 || point2 >= call.points[2]) {
                    continue;
                }
                const T* from2 = from1 + point2 * call.from_steps[2];
                const T* filter2 = filter1 + k * call.filter_steps[2];
                if (SPREAD > 1) {
                    add_line_to_spread(sums, from2, filter2, at[3], call);
                } else {
                    add_line_to_neighbours<ELEMENTS, TAPS>(sums, from2, filter2, at[3], call,
                                                           step);
                }
            }
        }
    }
}

// Adds up the sums of the threads that share elements, for the first of them.
template <int ELEMENTS, typename T>
__device__ void join(T (&sums)[ELEMENTS], int place, int sharer, int width,
                     const Convolution& call) {
    __shared__ T shared[ELEMENTS * THREADS];
    __syncthreads();
#pragma unroll
    for (int element = 0; element < ELEMENTS; ++element) {
        shared[element * THREADS + sharer * width + place] = sums[element];
    }
    __syncthreads();
    if (sharer > 0) {
        return;
    }
#pragma unroll 1
    for (int other = 1; other < call.sharers; ++other) {
#pragma unroll
        for (int element = 0; element < ELEMENTS; ++element) {
            add(sums[element], shared[element * THREADS + other * width + place]);
        }
    }
}

// The ELEMENTS elements that a thread computes are SPREAD apart. For neighbours, TAPS elements of
// the filter are taken at a time.
template <int ELEMENTS, int SPREAD, int TAPS, typename T, typename Step>
__device__ void convolve(void* to, const void* from, const Convolution& call) {
    // Neighbouring threads compute neighbours. All threads of a block go on together.
    const int width = THREADS / static_cast<int>(call.sharers);
    const int place = static_cast<int>(threadIdx.x) % width;
    const int sharer = static_cast<int>(threadIdx.x) / width;
    const Count all = static_cast<Count>(gridDim.x) * width;
#pragma unroll 1
    for (Count first = static_cast<Count>(blockIdx.x) * width; first < call.count; first += all) {
        const Count index = first + place;
        Integer to_offset = 0, from_offset = 0, filter_offset = 0, at[MAX_AXES] = {};
        Count rest = index < call.count ? index : 0;
#pragma unroll 1
        for (Integer dim = call.rank - 1; dim >= 0; --dim) {
            const Count extent = call.extents[dim];
            Count quotient;
            if ((rest >> 32) == 0 && (extent >> 32) == 0) {
                // A division of 32 bits takes a fraction of the time.
                quotient = static_cast<unsigned>(rest) / static_cast<unsigned>(extent);
            } else {
                quotient = rest / extent;
            }
            const Integer place_there = static_cast<Integer>(rest - quotient * extent);
            rest = quotient;
            to_offset += place_there * call.to[dim];
            from_offset += place_there * call.from[dim];
            filter_offset += place_there * call.filters[dim];
            if (SPREAD > 1) {
                // The result has one element along the other axes.
                at[MAX_AXES - 1] = dim == call.rank - 1 ? place_there : at[MAX_AXES - 1];
            } else {
#pragma unroll
                for (int axis = 0; axis < MAX_AXES; ++axis) {
                    at[axis] = dim == call.dims[axis] ? place_there : at[axis];
                }
            }
        }
        // SPREAD threads compute ELEMENTS * SPREAD elements in a row.
        const Integer there = static_cast<Integer>(static_cast<Count>(at[MAX_AXES - 1]) % SPREAD);
        const Integer start = (at[MAX_AXES - 1] - there) * ELEMENTS + there;
        at[MAX_AXES - 1] = start;
#pragma unroll
        for (int axis = 0; axis < MAX_AXES; ++axis) {
            at[axis] += call.starts[axis];
        }
        T sums[ELEMENTS] = {};
        add_all<ELEMENTS, SPREAD, TAPS>(sums, static_cast<const T*>(from) + from_offset,
                                        static_cast<const T*>(call.filter) + filter_offset, at,
                                        sharer, call,
                                        static_cast<Step>(call.from_steps[MAX_AXES - 1]));
        if (call.sharers > 1) {
            join(sums, place, sharer, width, call);
        }
        if (sharer == 0 && index < call.count) {
            const Integer to_step = SPREAD > 1 ? 1 : call.to_step;
            T* target = static_cast<T*>(to) + to_offset + start * to_step;
            const Integer most = ELEMENTS * SPREAD;
            const int wanted = static_cast<int>(min(call.wanted - start, most));
#pragma unroll
            for (int element = 0; element < ELEMENTS; ++element) {
                if (element * SPREAD < wanted) {
                    target[element * SPREAD * to_step] = sums[element];
                }
            }
        }
    }
}

// So many blocks are to be on a multiprocessor at once, with fewer registers for each thread.
enum {
    BLOCKS_OF_SHORT = sizeof(ELEMENT) <= 8 ? 4 : 2,
    BLOCKS_OF_WIDE = sizeof(ELEMENT) <= 4 ? 4 : 2,
};

extern "C" __global__ void convolve_single(void* to, const void* from, Convolution call) {
    convolve<1, 1, 4, ELEMENT, Integer>(to, from, call);
}

extern "C" __global__ void convolve_spread(void* to, const void* from, Convolution call) {
    convolve<4, WARP, 1, ELEMENT, Integer>(to, from, call);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_OF_SHORT)
    convolve_short(void* to, const void* from, Convolution call) {
    convolve<8, WARP, 1, ELEMENT, Integer>(to, from, call);
}

// Where a thread computes eight neighbours, offsets of what it loads fit into 32 bits.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_OF_WIDE)
    convolve_wide(void* to, const void* from, Convolution call) {
    convolve<8, 1, 4, ELEMENT, int>(to, from, call);
}
