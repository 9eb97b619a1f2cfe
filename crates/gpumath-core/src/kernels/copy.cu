// Copies of one array to another, of any strides, cropped or padded.
// `nox -s kernels` compiles it, with copy_words.cu and copy_squares.cu, to generated/copy_words.ptx
// and generated/copy_squares.ptx: the driver compiles all kernels of a file at once.

typedef long long Integer;
typedef unsigned long long Count;

// Dimensions at most. More of them, of two or more elements each, do not fit into any memory. A
// kernel starts sooner if its argument has few of them.
enum { MAX_RANK = 48, FEW = 4 };

// Threads of a block, and elements that each of them copies of a tile at most: fewer in kernels for
// few dimensions, whose copies are small, because less code starts sooner.
enum { THREADS = 256, ROUNDS = 8, FEW_ROUNDS = 4 };

// Of these kernels a multiprocessor has room for so many blocks. With more registers the compiler
// would load all of the argument first.
enum { BLOCKS = 8 };

// A copy of one array to another, in tiles. A block reads a tile along the fastest dimension of the
// source and writes it along the fastest of the target, so that both sides access neighbours in
// memory. Where these are two dimensions, the tile is turned in shared memory.
//
// A tile has 2^bits elements along each of the first three dimensions, and one along each further
// dimension. The threads read a part of it along dimension 0 first, then 1, then 2, and write it so
// too if it is not turned; else along dimension 1 first, then 0, then 2. From one of its elements
// to the next a thread takes a constant number of steps along one dimension.
template <typename Number, typename Index, int RANK>
struct TiledCopy {
    typedef Index Offset;
    Count tiles;
    Number rank;
    Number is_turned;
    // Elements that a thread copies of a tile: fewer where tiles are few.
    Number rounds;
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
        Index extent, given;
        // Strides of the source and of the target.
        Index from, to;
        // How many tiles there are along the dimension.
        Index count;
    } dims[RANK];
};

// One copy or two, and how many blocks do the second one.
template <typename Word>
struct Copies {
    Count second_blocks;
    Word* to[2];
    const Word* from[2];
    TiledCopy<unsigned char, int, FEW> parts[2];
};

// The position of an element in a tile.
struct Position {
    int index[3];
};

template <typename Index>
__device__ Index offset_of(const Position& at, const Index* strides) {
    return at.index[0] * strides[0] + at.index[1] * strides[1] + at.index[2] * strides[2];
}

// Returns the position of a thread of which there are 2^bits along dimension `first`, 0 or 1, then
// 2^other along the other one, then the rest along dimension 2.
__device__ Position position(int thread, int first, int bits, int other) {
    const int fast = thread & ((1 << bits) - 1), slow = (thread >> bits) & ((1 << other) - 1);
    return {first == 0 ? fast : slow, first == 0 ? slow : fast, thread >> (bits + other)};
}

// Returns the number for one of three dimensions.
template <typename Index>
__device__ Index along(int dim, const Index (&numbers)[3]) {
    return dim == 0 ? numbers[0] : dim == 1 ? numbers[1] : numbers[2];
}

// Returns how many elements of an array a thread has in a tile. It counts them from `at` in steps
// of 2^shift along `dim`, and the array goes on for `left` elements along each dimension.
template <typename Index>
__device__ int elements_of(const Position& at, const Index (&left)[3], int dim, int shift,
                           int rounds) {
    if (at.index[0] >= left[0] || at.index[1] >= left[1] || at.index[2] >= left[2]) {
        return 0;
    }
    const Index rest[3] = {left[0] - at.index[0], left[1] - at.index[1], left[2] - at.index[2]};
    const Index elements = (along(dim, rest) + (1 << shift) - 1) >> shift;
    return static_cast<int>(min(elements, static_cast<Index>(rounds)));
}

// Returns the index of a tile along a dimension, and leaves that along the others. There are fewer
// tiles than 2^32, and a division of 32 bits takes a fraction of the time; there is none where it
// can be avoided, because the threads wait for it before they can load anything.
__device__ unsigned next(unsigned& rest, unsigned count) {
    unsigned found = 0;
    if (rest < count) {
        found = rest;
        rest = 0;
    } else if (count > 1) {
        const unsigned quotient = rest / count;
        found = rest - quotient * count;
        rest = quotient;
    }
    return found;
}

// Copies the tiles of one block of `blocks`. Only tiles that are turned need shared memory: each of
// their rows has one column more, so that neighbours along both dimensions are in different banks.
template <int MOST_ROUNDS, typename Elements, typename Copy>
__device__ void copy(typename Elements::Word* to, const typename Elements::Word* from,
                     const Copy& copy, Count block, Count blocks,
                     typename Elements::Unit* shared) {
    typedef typename Elements::Word Word;
    typedef typename Elements::Unit Unit;
    typedef typename Copy::Offset Index;
    const int thread = static_cast<int>(threadIdx.x), pitch = (1 << copy.bits[1]) + 1;
    const Position read = position(thread, 0, copy.read_threads[0], copy.read_threads[1]);
    const Position written =
        copy.is_turned ? position(thread, 1, copy.write_threads[1], copy.write_threads[0]) : read;
    const int read_dim = static_cast<int>(copy.read_dim);
    const int write_dim = static_cast<int>(copy.write_dim);
    const int read_shift = static_cast<int>(copy.read_shift);
    const int write_shift = static_cast<int>(copy.write_shift);
    const int rounds = static_cast<int>(copy.rounds);
    const int pitches[3] = {pitch, 1, pitch << copy.bits[0]};
    Unit* put = shared + offset_of(read, pitches);
    const Unit* get = shared + offset_of(written, pitches);
    const int puts = along(read_dim, pitches) << read_shift;
    const int gets = along(write_dim, pitches) << write_shift;
    const Index reads = copy.dims[read_dim].from << read_shift;
    const Index writes = copy.dims[write_dim].to << write_shift;
    const Index to_strides[3] = {copy.dims[0].to, copy.dims[1].to, copy.dims[2].to};
    const Index from_strides[3] = {copy.dims[0].from, copy.dims[1].from, copy.dims[2].from};
    // From one word of a square to the next.
    const Index across_from = copy.dims[1].from / Elements::COUNT;
    const Index across_to = copy.dims[0].to / Elements::COUNT;
    to += offset_of(written, to_strides);
    from += offset_of(read, from_strides);
#pragma unroll 1
    for (Count tile = block; tile < copy.tiles; tile += blocks) {
        // Neighbouring blocks copy neighbouring tiles of the source.
        unsigned rest = static_cast<unsigned>(tile);
        Index to_offset = 0, from_offset = 0, left[3], given[3];
#pragma unroll
        for (int dim = 0; dim < 3; ++dim) {
            const typename Copy::Dim& along = copy.dims[dim];
            const Index start = static_cast<Index>(next(rest, along.count)) << copy.bits[dim];
            left[dim] = along.extent - start;
            given[dim] = along.given - start;
            to_offset += start * to_strides[dim];
            from_offset += start * from_strides[dim];
        }
        bool is_given = true;
#pragma unroll 1
        for (int dim = 3; dim < copy.rank; ++dim) {
            const typename Copy::Dim& along = copy.dims[dim];
            const Index at = next(rest, along.count);
            is_given = is_given && at < along.given;
            to_offset += at * along.to;
            from_offset += at * along.from;
        }
        const int readable = is_given ? elements_of(read, given, read_dim, read_shift, rounds) : 0;
        const int writable = elements_of(written, left, write_dim, write_shift, rounds);
        const Word* source = from + from_offset;
        Word* target = to + to_offset;
        Unit units[MOST_ROUNDS];
#pragma unroll
        for (int round = 0; round < MOST_ROUNDS; ++round) {
            units[round] = {};
            if (round < readable) {
                units[round] = Elements::load(source + round * reads, across_from);
            }
        }
        if (copy.is_turned) {
#pragma unroll
            for (int round = 0; round < MOST_ROUNDS; ++round) {
                if (round < rounds) {
                    put[round * puts] = units[round];
                }
            }
            __syncthreads();
#pragma unroll
            for (int round = 0; round < MOST_ROUNDS; ++round) {
                if (round < rounds) {
                    units[round] = get[round * gets];
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int round = 0; round < MOST_ROUNDS; ++round) {
            if (round < writable) {
                Elements::store(target + round * writes, units[round], across_to);
            }
        }
    }
}

// One copy of any number of dimensions, or one or two copies of few: the last blocks do the second.
#define COPY(name, Elements)                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS)                                         \
        copy_##name(Elements::Word* to, const Elements::Word* from,                               \
                    TiledCopy<Integer, Integer, MAX_RANK> arguments) {                            \
        __shared__ Elements::Unit shared[THREADS * ROUNDS * 3 / 2];                               \
        copy<ROUNDS, Elements>(to, from, arguments, blockIdx.x, gridDim.x, shared);               \
    }                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)                                 \
        copies_##name(Copies<Elements::Word> arguments) {                                         \
        extern __shared__ uint4 room[];                                                           \
        const Count first_blocks = gridDim.x - arguments.second_blocks;                           \
        const int part = blockIdx.x < first_blocks ? 0 : 1;                                       \
        copy<FEW_ROUNDS, Elements>(                                                               \
            arguments.to[part], arguments.from[part], arguments.parts[part],                      \
            part == 0 ? blockIdx.x : blockIdx.x - first_blocks,                                   \
            part == 0 ? first_blocks : arguments.second_blocks,                                   \
            reinterpret_cast<Elements::Unit*>(room));                                             \
    }
