// Many lines or images, convolved with one filter, and small arrays. Numbers of 32 bits are enough
// for the positions of their elements: with few products for each element, most of the time is
// spent on positions.
//
// Neighbouring threads compute neighbours along the result's fastest dimension. A thread computes
// one element of each of a few lines or images that are far apart, so that it loads each element of
// the filter once for all of them.

enum { FEW_RANK = 8, FEW_AXES = 2 };

// Has a counterpart in kernels/convolution_lines.rs.
struct Lines {
    // Threads; lines, or images, from one of a thread to its next one; and how many there are.
    unsigned count, apart, wanted;
    int rank;
    const void* filter;
    // Of each axis, as in `Convolution`. If there is one axis, it comes last.
    int dims[FEW_AXES];
    int taps[FEW_AXES];
    int points[FEW_AXES];
    int starts[FEW_AXES];
    int from_steps[FEW_AXES];
    int filter_steps[FEW_AXES];
    // Distances between the elements of a thread.
    int from_gap, to_gap;
    // Of each dimension, as in `Convolution`. The first one is that of the lines.
    unsigned extents[FEW_RANK];
    int from[FEW_RANK];
    int filters[FEW_RANK];
    int to[FEW_RANK];
};

// Adds the products with a line of the filter. `source` is the element of the source for the first
// element of the filter; the elements of the filter from `begin` on have one, `count` of them. The
// last line of a thread may not be there.
template <int ELEMENTS, int TAPS, typename T>
__device__ void add_line(T (&sums)[ELEMENTS], const T* source, const T* filter, int begin,
                         int count, bool has_last, int step, const Lines& call) {
#pragma unroll 1
    for (int tap = 0; tap < call.taps[FEW_AXES - 1]; tap += TAPS) {
        T values[TAPS][ELEMENTS], factors[TAPS];
#pragma unroll
        for (int i = 0; i < TAPS; ++i) {
            const bool is_there = static_cast<unsigned>(tap + i - begin) < count;
            factors[i] = is_there ? filter[(tap + i) * call.filter_steps[FEW_AXES - 1]] : T();
#pragma unroll
            for (int element = 0; element < ELEMENTS; ++element) {
                const bool is_loaded = is_there && (element < ELEMENTS - 1 || has_last);
                const int at = element * call.from_gap - (tap + i) * step;
                values[i][element] = is_loaded ? source[at] : T();
            }
        }
#pragma unroll
        for (int i = 0; i < TAPS; ++i) {
            if (static_cast<unsigned>(tap + i - begin) < count) {
#pragma unroll
                for (int element = 0; element < ELEMENTS; ++element) {
                    add_product(sums[element], values[i][element], factors[i]);
                }
            }
        }
    }
}

// Computes an element of each of ELEMENTS lines. TAPS elements of the filter are loaded at a time.
template <int ELEMENTS, int TAPS, typename T>
__device__ void convolve_lines_at(void* to, const void* from, unsigned index, const Lines& call) {
    int to_offset = 0, from_offset = 0, filter_offset = 0, at[FEW_AXES] = {};
    unsigned rest = index;
#pragma unroll 1
    for (int dim = call.rank - 1; dim > 0; --dim) {
        const unsigned extent = call.extents[dim], quotient = rest / extent;
        const int place = static_cast<int>(rest - quotient * extent);
        rest = quotient;
        to_offset += place * call.to[dim];
        from_offset += place * call.from[dim];
        filter_offset += place * call.filters[dim];
#pragma unroll
        for (int axis = 0; axis < FEW_AXES; ++axis) {
            at[axis] = dim == call.dims[axis] ? place : at[axis];
        }
    }
    const int line = static_cast<int>(rest);
    to_offset += line * call.to[0];
    from_offset += line * call.from[0];
    const bool has_last = rest + (ELEMENTS - 1) * call.apart < call.wanted;
#pragma unroll
    for (int axis = 0; axis < FEW_AXES; ++axis) {
        at[axis] += call.starts[axis];
    }
    // The elements of a line of the filter that are multiplied with an element of the source.
    const int last = at[FEW_AXES - 1], step = call.from_steps[FEW_AXES - 1];
    const int begin = max(last - call.points[FEW_AXES - 1] + 1, 0);
    const int count = max(min(last + 1, call.taps[FEW_AXES - 1]) - begin, 0);
    const T* source = static_cast<const T*>(from) + from_offset + last * step;
    const T* filter = static_cast<const T*>(call.filter) + filter_offset;
    T sums[ELEMENTS] = {};
#pragma unroll 1
    for (int i = 0; i < call.taps[0]; ++i) {
        const int point = at[0] - i;
        if (point < 0 || point >= call.points[0]) {
            continue;
        }
        const T* source0 = source + point * call.from_steps[0];
        const T* filter0 = filter + i * call.filter_steps[0];
        if (step == 1) {
            add_line<ELEMENTS, TAPS>(sums, source0, filter0, begin, count, has_last, 1, call);
        } else {
            add_line<ELEMENTS, TAPS>(sums, source0, filter0, begin, count, has_last, step, call);
        }
    }
    T* target = static_cast<T*>(to) + to_offset;
#pragma unroll
    for (int element = 0; element < ELEMENTS; ++element) {
        if (element < ELEMENTS - 1 || has_last) {
            target[element * call.to_gap] = sums[element];
        }
    }
}

template <int ELEMENTS, int TAPS>
__device__ void convolve_lines_of(void* to, const void* from, const Lines& call) {
    const unsigned all = gridDim.x * THREADS;
#pragma unroll 1
    for (unsigned index = blockIdx.x * THREADS + threadIdx.x; index < call.count; index += all) {
        convolve_lines_at<ELEMENTS, TAPS, ELEMENT>(to, from, index, call);
    }
}

extern "C" __global__ void convolve_lines(void* to, const void* from, Lines call) {
    convolve_lines_of<4, 2>(to, from, call);
}

extern "C" __global__ void convolve_each(void* to, const void* from, Lines call) {
    convolve_lines_of<1, sizeof(ELEMENT) <= 8 ? 4 : 2>(to, from, call);
}
