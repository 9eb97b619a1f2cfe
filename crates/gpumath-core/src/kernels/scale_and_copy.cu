// Kernels that scale an array in place, and that copy one to another: of any strides, cropped or
// padded.
// `nox -s kernels` compiles them to generated/scale_and_copy.ptx.

typedef long long Integer;
typedef unsigned long long Count;

// Dimensions at most. More of them, of two or more elements each, do not fit into any memory. A
// kernel starts sooner if its argument has few of them.
enum { MAX_RANK = 48, FEW = 4 };

// Loads that a thread of `scale` has under way at a time.
enum { UNROLLED = 4 };

// Threads of a block, and elements that each of them copies of a tile.
enum { THREADS = 256, ROUNDS = 8, TILE = THREADS * ROUNDS };

// The structures have counterparts in kernels/. Neighbouring threads of `scale` process neighbours
// along the last dimension.
struct Elements {
    Count count;
    Integer rank;
    Integer extents[MAX_RANK];
    Integer strides[MAX_RANK];
};

// A copy of one array to another, in tiles. A block reads a tile along the fastest dimension of the
// source and writes it along the fastest of the target, so that both sides access neighbours in
// memory. Where these are two dimensions, the tile is turned in shared memory.
//
// A tile has 2^bits elements along each of the first three dimensions, and one along each further
// dimension. The threads read a part of it along dimension 0 first, then 1, then 2, and write it so
// too if it is not turned; else along dimension 1 first, then 0, then 2. From one of its elements
// to the next a thread takes a constant number of steps along one dimension.
template <typename Number, int RANK>
struct TiledCopy {
    Count tiles;
    Number rank;
    Number is_turned;
    Number bits[3];
    // Binary logarithms of the threads along dimensions 0 and 1.
    Number read_threads[2], write_threads[2];
    // Along which dimension a thread goes from one element to the next when it reads and when it
    // writes, and the binary logarithm of the steps that it takes.
    Number read_dim, read_shift, write_dim, write_shift;
    // What is known of a dimension lies together, because every line of the argument that a kernel
    // reads takes time before it can start.
    struct Dim {
        // Of the target, and how many of these the source has. What it has not is set to zero.
        Integer extent, given;
        // Strides of the source and of the target.
        Integer from, to;
        // How many tiles there are along the dimension.
        Integer count;
    } dims[RANK];
};

// One copy or two, and how many blocks do the second one.
template <typename Word>
struct Copies {
    Count second_blocks;
    Word* to[2];
    const Word* from[2];
    TiledCopy<unsigned char, FEW> parts[2];
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

// The position of an element in a tile.
struct Position {
    int index[3];
};

__device__ Integer offset_of(const Position& at, const Integer* strides) {
    return at.index[0] * strides[0] + at.index[1] * strides[1] + at.index[2] * strides[2];
}

// Returns the position of a thread of which there are 2^bits along dimension `first`, 0 or 1, then
// 2^other along the other one, then the rest along dimension 2.
__device__ Position position(int thread, int first, Integer bits, Integer other) {
    const int fast = thread & ((1 << bits) - 1), slow = (thread >> bits) & ((1 << other) - 1);
    return {first == 0 ? fast : slow, first == 0 ? slow : fast,
            static_cast<int>(thread >> (bits + other))};
}

// Returns the number for one of three dimensions.
__device__ Integer along(int dim, const Integer (&numbers)[3]) {
    return dim == 0 ? numbers[0] : dim == 1 ? numbers[1] : numbers[2];
}

// Returns how many elements of an array a thread has in a tile. It counts them from `at` in steps
// of 2^shift along `dim`, and the array goes on for `left` elements along each dimension.
__device__ int elements_of(const Position& at, const Integer (&left)[3], int dim, int shift) {
    if (at.index[0] >= left[0] || at.index[1] >= left[1] || at.index[2] >= left[2]) {
        return 0;
    }
    const Integer rest[3] = {left[0] - at.index[0], left[1] - at.index[1], left[2] - at.index[2]};
    const Integer elements = (along(dim, rest) + (1 << shift) - 1) >> shift;
    return static_cast<int>(min(elements, static_cast<Integer>(ROUNDS)));
}

// Returns the index of a tile along a dimension, and leaves that along the others. There are fewer
// tiles than 2^32, and a division of 32 bits takes a fraction of the time; there is none where it
// can be avoided, because the threads wait for it before they can load anything.
__device__ Integer next(unsigned& rest, Integer count) {
    unsigned found = 0;
    if (rest < count) {
        found = rest;
        rest = 0;
    } else if (count > 1) {
        const unsigned quotient = rest / static_cast<unsigned>(count);
        found = rest - quotient * static_cast<unsigned>(count);
        rest = quotient;
    }
    return found;
}

// Copies the tiles of one block of `blocks`. Only tiles that are turned need shared memory: each of
// at most TILE / 2 rows has one column more, so that neighbours along both dimensions are in
// different banks.
template <typename Word, typename Copy>
__device__ void copy(Word* to, const Word* from, const Copy& copy, Count block, Count blocks,
                     Word* shared) {
    const int thread = static_cast<int>(threadIdx.x), pitch = (1 << copy.bits[1]) + 1;
    const Position read = position(thread, 0, copy.read_threads[0], copy.read_threads[1]);
    const Position written =
        copy.is_turned ? position(thread, 1, copy.write_threads[1], copy.write_threads[0]) : read;
    const int read_dim = static_cast<int>(copy.read_dim);
    const int write_dim = static_cast<int>(copy.write_dim);
    const int read_shift = static_cast<int>(copy.read_shift);
    const int write_shift = static_cast<int>(copy.write_shift);
    const Integer pitches[3] = {pitch, 1, static_cast<Integer>(pitch) << copy.bits[0]};
    Word* put = shared + offset_of(read, pitches);
    const Word* get = shared + offset_of(written, pitches);
    const int puts = static_cast<int>(along(read_dim, pitches)) << read_shift;
    const int gets = static_cast<int>(along(write_dim, pitches)) << write_shift;
    const Integer reads = copy.dims[read_dim].from << read_shift;
    const Integer writes = copy.dims[write_dim].to << write_shift;
    const Integer to_strides[3] = {copy.dims[0].to, copy.dims[1].to, copy.dims[2].to};
    const Integer from_strides[3] = {copy.dims[0].from, copy.dims[1].from, copy.dims[2].from};
    to += offset_of(written, to_strides);
    from += offset_of(read, from_strides);
#pragma unroll 1
    for (Count tile = block; tile < copy.tiles; tile += blocks) {
        // Neighbouring blocks copy neighbouring tiles of the source.
        unsigned rest = static_cast<unsigned>(tile);
        Integer to_offset = 0, from_offset = 0, left[3], given[3];
#pragma unroll
        for (int dim = 0; dim < 3; ++dim) {
            const typename Copy::Dim& along = copy.dims[dim];
            const Integer start = next(rest, along.count) << copy.bits[dim];
            left[dim] = along.extent - start;
            given[dim] = along.given - start;
            to_offset += start * to_strides[dim];
            from_offset += start * from_strides[dim];
        }
        bool is_given = true;
#pragma unroll 1
        for (int dim = 3; dim < copy.rank; ++dim) {
            const typename Copy::Dim& along = copy.dims[dim];
            const Integer at = next(rest, along.count);
            is_given = is_given && at < along.given;
            to_offset += at * along.to;
            from_offset += at * along.from;
        }
        const int readable = is_given ? elements_of(read, given, read_dim, read_shift) : 0;
        const int writable = elements_of(written, left, write_dim, write_shift);
        const Word* source = from + from_offset;
        Word* target = to + to_offset;
        Word words[ROUNDS];
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            words[round] = {};
            if (round < readable) {
                words[round] = source[round * reads];
            }
        }
        if (copy.is_turned) {
#pragma unroll
            for (int round = 0; round < ROUNDS; ++round) {
                put[round * puts] = words[round];
            }
            __syncthreads();
#pragma unroll
            for (int round = 0; round < ROUNDS; ++round) {
                words[round] = get[round * gets];
            }
            __syncthreads();
        }
#pragma unroll
        for (int round = 0; round < ROUNDS; ++round) {
            if (round < writable) {
                target[round * writes] = words[round];
            }
        }
    }
}

#define SCALE(name, Element)                                                                 \
    extern "C" __global__ void scale_##name(Element* to, double factor, Elements elements) { \
        scale(to, factor, elements);                                                         \
    }

// One copy of any number of dimensions, or one or two copies of few: the last blocks do the second.
#define COPY(size, Word)                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS)                                         \
        copy_##size(Word* to, const Word* from, TiledCopy<Integer, MAX_RANK> arguments) {         \
        __shared__ Word shared[TILE + TILE / 2];                                                  \
        copy(to, from, arguments, blockIdx.x, gridDim.x, shared);                                 \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS) copies_##size(Copies<Word> arguments) { \
        extern __shared__ uint4 room[];                                                           \
        const Count first_blocks = gridDim.x - arguments.second_blocks;                           \
        const int part = blockIdx.x < first_blocks ? 0 : 1;                                       \
        copy(arguments.to[part], arguments.from[part], arguments.parts[part],                     \
             part == 0 ? blockIdx.x : blockIdx.x - first_blocks,                                  \
             part == 0 ? first_blocks : arguments.second_blocks,                                  \
             reinterpret_cast<Word*>(room));                                                      \
    }

SCALE(float16, Half)
SCALE(float32, float)
SCALE(float64, double)
SCALE(complex32, Complex<Half>)
SCALE(complex64, Complex<float>)
SCALE(complex128, Complex<double>)

COPY(1, unsigned char)
COPY(2, unsigned short)
COPY(4, unsigned int)
COPY(8, uint2)
COPY(16, uint4)
