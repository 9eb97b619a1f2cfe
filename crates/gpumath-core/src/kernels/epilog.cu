// Kernels for an epilog that is a step of its own, after a product whose sums are in memory: one
// for what is done with each sum, and one that adds up the elements of lines.
// `nox -s kernels` compiles them for one TYPE of results after the other to
// generated/epilog_TYPE.ptx, behind product.cu, whose types and functions they use.

// The derivatives of the functions of product.cu.
enum { DRELU = GELU + 1, DGELU };

// Elements of a line that a thread adds up at a time.
enum { AT_ONCE = 4 };

// Has a counterpart in kernels/epilog.rs. Matrices are lines of elements, and a block processes a
// tile of them.
struct Epilog {
    Integer tiles;
    Integer length, count;
    // Tiles along lines and across them, and entries along the faster batch dimension.
    Integer length_tiles, line_tiles, entries;
    // Threads of a block along lines, and lines that each of them processes.
    Integer lanes, rounds;
    // Steps along lines, from line to line, and along the faster and the slower batch dimension.
    // Those of a matrix of bits, whose columns are the lines, are in bytes.
    Integer sums[4], result[4], bias[4], aux[4];
    Integer function;
    // Whether 16 bytes of each matrix can be loaded and stored at once.
    Integer is_packed;
};

// Has a counterpart in kernels/line_sums.rs.
struct LineSums {
    Integer tiles;
    Integer length, count;
    // Parts that each line is split into, and the elements of a part.
    Integer parts, part_length;
    Integer line_tiles, entries;
    // Lines of a block, and whether neighbouring threads add up one line or neighbouring lines.
    Integer lanes;
    Integer is_along;
    // Steps along lines, from line to line, and along the faster and the slower batch dimension.
    Integer from[4];
    // Steps from part to part, from line to line, and along the batch dimensions.
    Integer to[4];
};

__device__ float exponential(float x) { return expf(x); }

__device__ double exponential(double x) { return exp(x); }

// The derivative of x * s, where s is 1 / (1 + exp(-2 * y)), and y is as in gelu().
template <typename Real>
__device__ Real gelu_derivative(Real x) {
    const Real factor = static_cast<Real>(0.7978845608028654);
    const Real cubic = static_cast<Real>(0.044715);
    const Real s = 1 / (1 + exponential(-2 * factor * (x + cubic * x * x * x)));
    const Real slope = s * (1 - s);
    // Where s is 0 or 1, x * x may be infinite.
    return slope == 0 ? s : s + x * slope * 2 * factor * (1 + 3 * cubic * x * x);
}

// The elements of a line that a thread processes at a time, as many as 16 bytes of results have:
// neighbours if 16 bytes can be loaded and stored at once, else those of neighbouring threads are
// neighbours.
template <typename Sum, typename Result>
struct Elements {
    enum { COUNT = Pack<Result>::COUNT };
    Sum values[COUNT];

    // Loads elements with this step, and zeros beyond the `left` ones that there are.
    template <typename From>
    __device__ void load_from(const From* from, Integer step, Integer left, bool is_packed) {
        enum { LOADED = Pack<From>::COUNT };
#pragma unroll
        for (int first = 0; first < COUNT; first += LOADED) {
            const Pack<From> pack = load(from + first * step, step, left - first, is_packed);
#pragma unroll
            for (int i = 0; i < LOADED; ++i) {
                values[first + i] = widened(pack.elements[i], false);
            }
        }
    }

    __device__ void store_to(Result* to, Integer step, Integer left, bool is_packed) const {
        Pack<Result> pack;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            narrow(values[i], pack.elements[i]);
        }
        if (is_packed && left >= COUNT) {
            Word word;
            memcpy(&word, &pack, sizeof(word));
            *reinterpret_cast<Word*>(to) = word;
            return;
        }
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if (i < left) {
                to[i * step] = pack.elements[i];
            }
        }
    }

    // Stores whether each of the `left` elements is positive as bits of a column, whose first one
    // is `at`. All threads of the warp call it, and eight that are neighbours have one column.
    __device__ void store_bits(unsigned char* column, Integer at, Integer step, Integer left,
                               bool is_packed) const {
        if (!is_packed) {
#pragma unroll
            for (int i = 0; i < COUNT; ++i) {
                const unsigned all = __ballot_sync(0xffffffff, i < left && values[i] > 0);
                if (i < left && at % 8 == 0) {
                    const unsigned own = all >> threadIdx.x % WARP;
                    column[(at + i * step) / 8] = static_cast<unsigned char>(own);
                }
            }
            return;
        }
        unsigned bits = 0;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            bits |= static_cast<unsigned>(i < left && values[i] > 0) << (at % 8 + i);
        }
#pragma unroll
        for (int width = COUNT; width < 8; width *= 2) {
            bits |= __shfl_xor_sync(0xffffffff, bits, width / COUNT);
        }
        if (left > 0 && at % 8 == 0) {
            column[at / 8] = static_cast<unsigned char>(bits);
        }
    }
};

// Where the matrices are, and where the sums of lines go; null if there is none.
template <typename Sum, typename From, typename Result>
struct Places {
    Result* results;
    const From* sums;
    const Result* biases;
    void* aux;
    Sum* totals;
};

template <typename Sum, typename From, typename Result>
__device__ void finish(const Places<Sum, From, Result>& places, const Epilog& epilog) {
    typedef Elements<Sum, Result> Elements;
    __shared__ Sum shared[THREADS * Elements::COUNT];
    const unsigned lanes = epilog.lanes, lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
    const unsigned across = THREADS / lanes;
    const bool is_packed = epilog.is_packed;
    // From an element of a thread to its next one.
    const Integer own_step = is_packed ? 1 : lanes;
#pragma unroll 1
    for (Integer tile = blockIdx.x; tile < epilog.tiles; tile += gridDim.x) {
        unsigned rest = static_cast<unsigned>(tile);
        const Integer at = Tile<From, Result>::next(rest, epilog.length_tiles) * lanes *
                               Elements::COUNT + lane * (is_packed ? Elements::COUNT : 1);
        const Integer line_tile = Tile<From, Result>::next(rest, epilog.line_tiles);
        const Integer fast = Tile<From, Result>::next(rest, epilog.entries), slow = rest;
        const auto offset = [&](const Integer* steps, Integer line) {
            return at * steps[0] + line * steps[1] + fast * steps[2] + slow * steps[3];
        };
        const Integer left =
            at < epilog.length ? (epilog.length - at + own_step - 1) / own_step : 0;
        // The bias of a line's elements, or of all of them.
        Elements bias = {};
        if (places.biases != nullptr && epilog.bias[1] == 0) {
            bias.load_from(places.biases + offset(epilog.bias, 0), epilog.bias[0] * own_step, left,
                           false);
        }
        Elements totals = {};
#pragma unroll 1
        for (Integer round = 0; round < epilog.rounds; ++round) {
            const Integer line = (line_tile * epilog.rounds + round) * across + group;
            const Integer here = line < epilog.count ? left : 0;
            Elements values;
            values.load_from(places.sums + offset(epilog.sums, line), epilog.sums[0] * own_step,
                             here, is_packed);
            if (places.biases != nullptr) {
                const bool is_of_line = epilog.bias[1] != 0 && here > 0;
                const Sum own =
                    is_of_line ? widened(places.biases[offset(epilog.bias, line)], false) : 0;
#pragma unroll
                for (int i = 0; i < Elements::COUNT; ++i) {
                    values.values[i] += bias.values[i] + own;
                }
            }
            if (places.aux != nullptr && (epilog.function == RELU || epilog.function == DRELU)) {
                unsigned char* column = static_cast<unsigned char*>(places.aux) +
                                        offset(epilog.aux, line) - at * epilog.aux[0];
                if (epilog.function == RELU) {
                    values.store_bits(column, at, own_step, here, is_packed);
                } else {
#pragma unroll
                    for (int i = 0; i < Elements::COUNT; ++i) {
                        const Integer row = at + i * own_step;
                        const bool is_set = i < here && column[row / 8] >> (row % 8) & 1;
                        values.values[i] = is_set ? values.values[i] : 0;
                    }
                }
            } else if (places.aux != nullptr) {
                Result* arguments = static_cast<Result*>(places.aux) + offset(epilog.aux, line);
                const Integer step = epilog.aux[0] * own_step;
                if (epilog.function == DGELU) {
                    Elements argument;
                    argument.load_from(arguments, step, here, is_packed);
#pragma unroll
                    for (int i = 0; i < Elements::COUNT; ++i) {
                        values.values[i] *= gelu_derivative(argument.values[i]);
                    }
                } else {
                    values.store_to(arguments, step, here, is_packed);
                }
            }
#pragma unroll
            for (int i = 0; i < Elements::COUNT; ++i) {
                values.values[i] = applied(epilog.function, values.values[i]);
                totals.values[i] += values.values[i];
            }
            values.store_to(places.results + offset(epilog.result, line),
                            epilog.result[0] * own_step, here, is_packed);
        }
        if (places.totals == nullptr) {
            continue;
        }
        // The sums of all lines of the tile.
#pragma unroll
        for (int i = 0; i < Elements::COUNT; ++i) {
            shared[i * THREADS + threadIdx.x] = totals.values[i];
        }
        __syncthreads();
#pragma unroll 1
        for (unsigned half = across / 2; half > 0; half /= 2) {
            if (group < half) {
#pragma unroll
                for (int i = 0; i < Elements::COUNT; ++i) {
                    Sum* own = shared + i * THREADS + threadIdx.x;
                    *own += own[half * lanes];
                }
            }
            __syncthreads();
        }
        if (group == 0) {
            Sum* to = places.totals + at +
                      ((slow * epilog.entries + fast) * epilog.line_tiles + line_tile) *
                          epilog.length;
#pragma unroll
            for (int i = 0; i < Elements::COUNT; ++i) {
                if (i < left) {
                    to[i * own_step] = shared[i * THREADS + threadIdx.x];
                }
            }
        }
        __syncthreads();
    }
}

// Each thread adds up every so many elements of a part of a line, and then the block the sums of
// the threads that have the same part.
template <typename Sum, typename From, typename To>
__device__ void sum_lines(To* to, const From* from, const LineSums& sums) {
    __shared__ Sum shared[THREADS];
    const unsigned lanes = sums.lanes, threads = THREADS / lanes;
    const unsigned lane = sums.is_along ? threadIdx.x / threads : threadIdx.x % lanes;
    const unsigned own = sums.is_along ? threadIdx.x % threads : threadIdx.x / lanes;
#pragma unroll 1
    for (Integer tile = blockIdx.x; tile < sums.tiles; tile += gridDim.x) {
        unsigned rest = static_cast<unsigned>(tile);
        const Integer line = Tile<From, To>::next(rest, sums.line_tiles) * lanes + lane;
        const Integer part = Tile<From, To>::next(rest, sums.parts);
        const Integer fast = Tile<From, To>::next(rest, sums.entries), slow = rest;
        const From* elements =
            from + line * sums.from[1] + fast * sums.from[2] + slow * sums.from[3];
        const Integer begin = part * sums.part_length;
        const Integer end = min(begin + sums.part_length, sums.length);
        Sum sum = 0;
        if (line < sums.count) {
            Integer index = begin + own;
            for (; index + (AT_ONCE - 1) * threads < end; index += AT_ONCE * threads) {
                Sum loaded[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    loaded[i] = widened(elements[(index + i * threads) * sums.from[0]], false);
                }
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    sum += loaded[i];
                }
            }
            for (; index < end; index += threads) {
                sum += widened(elements[index * sums.from[0]], false);
            }
        }
        shared[own * lanes + lane] = sum;
        __syncthreads();
#pragma unroll 1
        for (unsigned half = threads / 2; half > 0; half /= 2) {
            if (own < half) {
                shared[own * lanes + lane] += shared[(own + half) * lanes + lane];
            }
            __syncthreads();
        }
        if (own == 0 && line < sums.count) {
            To result;
            narrow(shared[lane], result);
            to[part * sums.to[0] + line * sums.to[1] + fast * sums.to[2] + slow * sums.to[3]] =
                result;
        }
        __syncthreads();
    }
}

#define FINISH(name, Sum, From, Result)                                                \
    extern "C" __global__ void __launch_bounds__(THREADS) epilog_##name(               \
        Result* results, const From* sums, const Result* biases, void* aux,            \
        Sum* totals, Epilog epilog) {                                                  \
        finish(Places<Sum, From, Result>{results, sums, biases, aux, totals}, epilog); \
    }

#define SUMS(name, Sum, From, To)                                             \
    extern "C" __global__ void __launch_bounds__(THREADS) sum_lines_##name(   \
        To* to, const From* from, LineSums sums) {                            \
        sum_lines<Sum>(to, from, sums);                                       \
    }

#define KERNELS_OF(type, Sum, Element, Result) \
    FINISH(type##_##type, Sum, Element, Result) \
    SUMS(type##_##type, Sum, Element, Result)

// For halves also from and to single precision.
#define NARROW_KERNELS_OF(type, Sum, Element, Result) \
    KERNELS_OF(type, Sum, Element, Result) \
    FINISH(float32_##type, Sum, float, Result) \
    SUMS(type##_float32, Sum, Element, float) \
    SUMS(float32_##type, Sum, float, Result)

#define EXPANDED(kernels, ...) kernels(__VA_ARGS__)

#if IS_NARROW
EXPANDED(NARROW_KERNELS_OF, TYPE)
#else
EXPANDED(KERNELS_OF, TYPE)
#endif
