// Kernels for an epilog that is a step of its own, after a product whose sums are in memory: one
// for what is done with each sum, and one that adds up the elements of lines.
// `nox -s kernels` compiles them to generated/epilog.ptx, behind product.cu, whose types and
// functions they use.

// The derivatives of the functions of product.cu.
enum { DRELU = GELU + 1, DGELU };

// Elements that a thread loads at a time.
enum { AT_ONCE = 4 };

// Has a counterpart in kernels/epilog.rs, as the next structure. Matrices are lines of elements,
// and a block processes a tile of them.
struct Epilog {
    Integer tiles;
    Integer length, count;
    // Tiles along lines and across them, and entries along the faster batch dimension.
    Integer length_tiles, line_tiles, entries;
    // Threads of a block along lines.
    Integer lanes;
    // Steps along lines, from line to line, and along the faster and the slower batch dimension.
    // Those of a matrix of bits, whose columns are the lines, are in bytes.
    Integer sums[4], result[4], bias[4], aux[4];
    Integer function;
};

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
    return s + x * s * (1 - s) * 2 * factor * (1 + 3 * cubic * x * x);
}

// Whether the bit of a row is set in a column of bits.
__device__ bool is_set(const unsigned char* column, Integer row) {
    return column[row / 8] >> (row % 8) & 1;
}

template <typename Sum, typename From, typename Result>
__device__ void finish(Result* results, const From* sums, const Result* biases, void* aux,
                       const Epilog& epilog) {
    const unsigned lanes = epilog.lanes, lane = threadIdx.x % lanes, across = THREADS / lanes;
#pragma unroll 1
    for (Integer tile = blockIdx.x; tile < epilog.tiles; tile += gridDim.x) {
        unsigned rest = static_cast<unsigned>(tile);
        const Integer at = Tile<From, Result>::next(rest, epilog.length_tiles) * lanes + lane;
        const Integer first = Tile<From, Result>::next(rest, epilog.line_tiles) * across * AT_ONCE +
                              threadIdx.x / lanes;
        const Integer fast = Tile<From, Result>::next(rest, epilog.entries), slow = rest;
        const auto offset = [&](const Integer* steps, Integer line) {
            return at * steps[0] + line * steps[1] + fast * steps[2] + slow * steps[3];
        };
        // Of a matrix of bits.
        const auto column = [&](Integer line) {
            return static_cast<unsigned char*>(aux) + offset(epilog.aux, line) - at * epilog.aux[0];
        };
        Sum loaded[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const Integer line = first + i * across;
            loaded[i] = 0;
            if (at < epilog.length && line < epilog.count) {
                loaded[i] = widened(sums[offset(epilog.sums, line)], false);
                if (biases != nullptr) {
                    loaded[i] += widened(biases[offset(epilog.bias, line)], false);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const Integer line = first + i * across;
            const bool is_inside = at < epilog.length && line < epilog.count;
            Sum value = loaded[i];
            if (aux != nullptr && epilog.function == RELU) {
                // All threads of a warp are in one column here.
                const unsigned bits = __ballot_sync(0xffffffff, is_inside && value > 0);
                if (is_inside && at % WARP == 0) {
                    *reinterpret_cast<unsigned*>(column(line) + at / 8) = bits;
                }
            }
            if (!is_inside) {
                continue;
            }
            Result narrowed;
            if (aux != nullptr && epilog.function != RELU && epilog.function != DRELU) {
                Result* argument = static_cast<Result*>(aux) + offset(epilog.aux, line);
                if (epilog.function == DGELU) {
                    value *= gelu_derivative(static_cast<Sum>(widened(*argument, false)));
                } else {
                    narrow(value, narrowed);
                    *argument = narrowed;
                }
            }
            if (epilog.function == DRELU) {
                value = is_set(column(line), at) ? value : 0;
            }
            narrow(applied(epilog.function, value), narrowed);
            results[offset(epilog.result, line)] = narrowed;
        }
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

#define FINISH(name, Sum, From, Result)                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) epilog_##name(       \
        Result* results, const From* sums, const Result* biases, void* aux,    \
        Epilog epilog) {                                                       \
        finish<Sum>(results, sums, biases, aux, epilog);                       \
    }

FINISH(float16_float16, float, Half, Half)
FINISH(float32_float16, float, float, Half)
FINISH(bfloat16_bfloat16, float, BFloat, BFloat)
FINISH(float32_bfloat16, float, float, BFloat)
FINISH(float32_float32, float, float, float)
FINISH(float64_float64, double, double, double)

#define SUMS(name, Sum, From, To)                                              \
    extern "C" __global__ void __launch_bounds__(THREADS) sum_lines_##name(    \
        To* to, const From* from, LineSums sums) {                             \
        sum_lines<Sum>(to, from, sums);                                        \
    }

SUMS(float16_float16, float, Half, Half)
SUMS(float16_float32, float, Half, float)
SUMS(float32_float16, float, float, Half)
SUMS(bfloat16_bfloat16, float, BFloat, BFloat)
SUMS(bfloat16_float32, float, BFloat, float)
SUMS(float32_bfloat16, float, float, BFloat)
SUMS(float32_float32, float, float, float)
SUMS(float64_float64, double, double, double)
