// What comes before and after the Fourier transform of a cosine or sine transform.
// `nox -s kernels` compiles it to generated/cosine.ptx. crates/gpumath-core/src/cosine says what
// each step does, and does the same on the CPU.

typedef long long Integer;
typedef unsigned long long Count;

enum { MAX_RANK = 48 };

// Threads of a block, and elements that each of them computes of a long line, and at once.
enum { THREADS = 256, ROUNDS = 8, TILE = THREADS * ROUNDS, AT_ONCE = 4 };

// In the order of `CosineStep`.
enum Step { EXTEND, TAKE, FOLD2, TURN2, TURN3, UNFOLD3, PACK4, UNPACK4, FOLD4, TURN4 };

// Has a counterpart in kernels/cosine.rs. Neighbouring threads write neighbours along the last
// dimension.
struct CosineStep {
    Count count;
    Integer rank;
    // The dimension that is transformed, and the points of the cosine or sine transform.
    Integer axis, points;
    Integer step, is_sine;
    // The distance between neighbours of the source along the transformed dimension.
    Integer stride;
    double scale, first, last;
    // 1 / 2N.
    double reciprocal;
    Integer extents[MAX_RANK];
    // Along the transformed dimension: 0.
    Integer from[MAX_RANK];
    Integer to[MAX_RANK];
};

template <typename Real>
struct alignas(2 * sizeof(Real)) Complex {
    Real real, imaginary;
};

// exp(i pi numerator * reciprocal)
template <typename Index>
__device__ Complex<float> turn(Index numerator, double reciprocal, float) {
    Complex<float> unit;
    sincospif(static_cast<float>(numerator * reciprocal), &unit.imaginary, &unit.real);
    return unit;
}

template <typename Index>
__device__ Complex<double> turn(Index numerator, double reciprocal, double) {
    Complex<double> unit;
    sincospi(numerator * reciprocal, &unit.imaginary, &unit.real);
    return unit;
}

// One line of the source. All offsets and 9N fit into an Index.
template <typename Real, typename Index>
struct Line {
    const void* from;
    const CosineStep& call;
    Index points, stride;

    __device__ Line(const void* address, const CosineStep& step)
        : from(address),
          call(step),
          points(static_cast<Index>(step.points)),
          stride(static_cast<Index>(step.stride)) {}

    // The factor of an element at one of the ends.
    __device__ Real weight(Index i) const {
        const double first = i == 0 ? call.first : 1, last = i == points - 1 ? call.last : 1;
        return static_cast<Real>(first * last);
    }

    __device__ Real real(Index i) const {
        return static_cast<const Real*>(from)[i * stride];
    }

    __device__ Real input(Index i) const { return real(i) * weight(i); }

    // Sine transforms of types III and IV are cosine transforms of the reversed line.
    __device__ Real turned(Index i) const {
        return input(call.is_sine ? points - 1 - i : i);
    }

    __device__ Complex<Real> complex(Index i) const {
        return static_cast<const Complex<Real>*>(from)[i * stride];
    }

    // An element of a Hermitian line, of which the first half is given.
    __device__ Complex<Real> hermitian(Index i) const {
        const bool is_given = 2 * i <= points;
        Complex<Real> value = complex(is_given ? i : points - i);
        value.imaginary = is_given ? value.imaginary : -value.imaginary;
        return value;
    }
};

// Element `j` of the line that goes into the Fourier transform; the imaginary part is 0 where that
// is real.
template <typename Real, typename Index>
__device__ Complex<Real> before(const Line<Real, Index>& line, Index j) {
    const CosineStep& call = line.call;
    const Index n = line.points;
    switch (call.step) {
        case EXTEND: {
            if (!call.is_sine) {
                return {line.input(j < n ? j : 2 * (n - 1) - j), 0};
            }
            if (j == 0 || j == n + 1) {
                return {0, 0};
            }
            return {j <= n ? line.input(j - 1) : -line.input(2 * n + 1 - j), 0};
        }
        case FOLD2: {
            const Index i = 2 * j < n ? 2 * j : 2 * n - 1 - 2 * j;
            const Real value = line.input(i);
            return {call.is_sine && i % 2 != 0 ? -value : value, 0};
        }
        case TURN3: {
            const Complex<Real> unit = turn(j, call.reciprocal, Real());
            const Real a = line.turned(j), b = j == 0 ? 0 : line.turned(n - j);
            return {unit.real * a + unit.imaginary * b, unit.imaginary * a - unit.real * b};
        }
        case PACK4: {
            const Complex<Real> unit = turn(4 * j + 1, 0.5 * call.reciprocal, Real());
            const Real a = line.turned(2 * j), b = line.turned(n - 1 - 2 * j);
            return {unit.real * a + unit.imaginary * b, unit.real * b - unit.imaginary * a};
        }
        default: {  // FOLD4
            Index i = (n + 8 * j) % (8 * n);
            i = i > 4 * n ? 8 * n - i : i;
            const bool is_negative = i > 2 * n;
            const Real value = line.turned(((is_negative ? 4 * n - i : i) - 1) / 2);
            return {is_negative ? -value : value, 0};
        }
    }
}

// Element `k` of the result, without scale and weight.
template <typename Real, typename Index>
__device__ Real after(const Line<Real, Index>& line, Index k) {
    const CosineStep& call = line.call;
    const Index n = line.points;
    const bool is_negative = call.is_sine && k % 2 != 0;
    switch (call.step) {
        case TAKE:
            return call.is_sine ? -line.complex(k + 1).imaginary : line.complex(k).real;
        case TURN2: {
            const Index i = call.is_sine ? n - 1 - k : k;
            const Complex<Real> unit = turn(i, call.reciprocal, Real()), value = line.hermitian(i);
            return 2 * (unit.real * value.real + unit.imaginary * value.imaginary);
        }
        case UNFOLD3: {
            const Real value = line.real(k % 2 == 0 ? k / 2 : n - (k + 1) / 2);
            return is_negative ? -value : value;
        }
        case UNPACK4: {
            const bool is_real = k % 2 == 0;
            const Index i = is_real ? k / 2 : (n - 1 - k) / 2;
            const Complex<Real> unit = turn(i, 2 * call.reciprocal, Real());
            const Complex<Real> value = line.complex(i);
            const Real found =
                is_real ? unit.real * value.real + unit.imaginary * value.imaginary
                        : unit.imaginary * value.real - unit.real * value.imaginary;
            return is_negative ? -2 * found : 2 * found;
        }
        default: {  // TURN4
            const Complex<Real> value = line.hermitian((2 * k + 1) % n);
            const bool has_minus = k % 4 == 1 || k % 4 == 2, is_lower = k % 4 >= 2;
            const Real found = (has_minus ? -value.real : value.real) +
                               (is_lower ? -value.imaginary : value.imaginary);
            const Real root = static_cast<Real>(1.4142135623730950488);
            return is_negative ? -root * found : root * found;
        }
    }
}

__device__ bool is_before(Integer step) {
    return step == EXTEND || step == FOLD2 || step == TURN3 || step == PACK4 || step == FOLD4;
}

__device__ bool gives_complex(Integer step) { return step == TURN3 || step == PACK4; }

__device__ bool takes_complex(Integer step) {
    return step == TAKE || step == TURN2 || step == UNPACK4 || step == TURN4;
}

// Returns element `j` of a line of the target; the imaginary part is 0 where that is real.
template <typename Real, typename Index>
__device__ Complex<Real> computed(const Line<Real, Index>& line, Index j) {
    const CosineStep& call = line.call;
    if (is_before(call.step)) {
        return before(line, j);
    }
    const Real weight = static_cast<Real>(call.scale) * line.weight(j);
    return {weight * after(line, j), 0};
}

template <typename Real, typename Index>
__device__ void store(void* to, Index offset, Complex<Real> value, const CosineStep& call) {
    if (gives_complex(call.step)) {
        static_cast<Complex<Real>*>(to)[offset] = value;
    } else {
        static_cast<Real*>(to)[offset] = value.real;
    }
}

// An index as its place along a dimension and the rest.
__device__ Integer place_of(Count& rest, Integer extent) {
    const Count quotient = rest / static_cast<Count>(extent);
    const Integer place = static_cast<Integer>(rest - quotient * static_cast<Count>(extent));
    rest = quotient;
    return place;
}

// A division of 32 bits takes a fraction of the time.
__device__ int place_of(Count& rest, int extent) {
    const unsigned quotient = static_cast<unsigned>(rest) / static_cast<unsigned>(extent);
    const int place = static_cast<int>(static_cast<unsigned>(rest) - quotient * extent);
    rest = quotient;
    return place;
}

// Long lines along the last dimension: a block computes a tile of one line, so that a thread finds
// the line once for several elements.
template <typename Real, typename Index>
__device__ void long_lines(void* to, const void* from, const CosineStep& call, int from_size) {
    const Integer axis = call.rank - 1;
    const Index extent = static_cast<Index>(call.extents[axis]);
    const Index tiles_of_line = (extent + TILE - 1) / TILE;
    const Count tiles = call.count / static_cast<Count>(extent) * static_cast<Count>(tiles_of_line);
    // Neighbouring threads take elements from both ends of a line in turns, where these come from
    // neighbours of the source, which is then read once.
    const bool takes_turns = call.step == FOLD2 || call.step == TURN2;
#pragma unroll 1
    for (Count tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Count rest = tile;
        const Index start = place_of(rest, tiles_of_line) * TILE + static_cast<int>(threadIdx.x);
        Index to_offset = 0, from_offset = 0;
#pragma unroll 1
        for (Integer dim = axis - 1; dim >= 0; --dim) {
            const Index at = place_of(rest, static_cast<Index>(call.extents[dim]));
            to_offset += at * static_cast<Index>(call.to[dim]);
            from_offset += at * static_cast<Index>(call.from[dim]);
        }
        const Line<Real, Index> line(
            static_cast<const char*>(from) + static_cast<Integer>(from_offset) * from_size, call);
#pragma unroll 1
        for (int round = 0; round < ROUNDS; ++round) {
            const Index at = start + round * THREADS;
            if (at < extent) {
                const Index other = at % 2 == 0 ? at / 2 : extent - (at + 1) / 2;
                const Index j = takes_turns ? other : at;
                const Index offset = to_offset + j * static_cast<Index>(call.to[axis]);
                store(to, offset, computed(line, j), call);
            }
        }
    }
}

// Where an element of the target is: its line of the source, its place there, and its offset.
template <typename Index>
struct Place {
    Index from, j, to;
};

// Finds an element; `rank` is at least 1.
template <typename Index>
__device__ Place<Index> place_of_element(Count index, const CosineStep& call, Integer rank) {
    Place<Index> place = {0, 0, 0};
#pragma unroll
    for (Integer dim = rank - 1; dim >= 0; --dim) {
        // The outermost dimension has what is left.
        const Index at = dim == 0 ? static_cast<Index>(index)
                                  : place_of(index, static_cast<Index>(call.extents[dim]));
        place.to += at * static_cast<Index>(call.to[dim]);
        place.from += at * static_cast<Index>(call.from[dim]);
        place.j = dim == call.axis ? at : place.j;
    }
    return place;
}

template <typename Real, typename Index>
__device__ void cosine(void* to, const void* from, const CosineStep& call) {
    const Count all = static_cast<Count>(gridDim.x) * blockDim.x;
    const int from_size = takes_complex(call.step) ? sizeof(Complex<Real>) : sizeof(Real);
    if (call.axis == call.rank - 1 && call.extents[call.axis] >= TILE) {
        long_lines<Real, Index>(to, from, call, from_size);
        return;
    }
#pragma unroll 1
    for (Count first = static_cast<Count>(blockIdx.x) * blockDim.x + threadIdx.x;
         first < call.count; first += AT_ONCE * all) {
        // A thread computes several elements before it stores one, so that it need not wait for
        // each of them in turn.
        Complex<Real> values[AT_ONCE];
        Index offsets[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const Count index = first + i * all;
            if (index < call.count) {
                // Most arrays have two dimensions here, for which the loop is unrolled.
                const Place<Index> place = call.rank == 2
                                               ? place_of_element<Index>(index, call, 2)
                                               : place_of_element<Index>(index, call, call.rank);
                const Integer offset = static_cast<Integer>(place.from) * from_size;
                const Line<Real, Index> line(static_cast<const char*>(from) + offset, call);
                offsets[i] = place.to;
                values[i] = computed(line, place.j);
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (first + i * all < call.count) {
                store(to, offsets[i], values[i], call);
            }
        }
    }
}

// Those that are called small are for arrays whose offsets and 9N fit into 32 bits.
#define KERNELS(name, Real)                                                                       \
    extern "C" __global__ void cosine_##name(void* to, const void* from, CosineStep call) {       \
        cosine<Real, Integer>(to, from, call);                                                    \
    }                                                                                             \
    extern "C" __global__ void cosine_small_##name(void* to, const void* from, CosineStep call) { \
        cosine<Real, int>(to, from, call);                                                        \
    }

KERNELS(float32, float)
KERNELS(float64, double)
