// What comes before and after the Fourier transform of a cosine or sine transform.
// `nox -s kernels` compiles it to generated/cosine.ptx. crates/gpumath-core/src/cosine says what
// each step does, and does the same on the CPU.

typedef long long Integer;
typedef unsigned long long Count;

enum { MAX_RANK = 48 };

// Elements that a thread computes at once.
enum { AT_ONCE = 4 };

// Each is a kernel of its own, which is small.
enum Step { EXTEND, TAKE, FOLD2, TURN2, TURN3, UNFOLD3, PACK4, UNPACK4, FOLD4, TURN4 };

// Has a counterpart in kernels/cosine.rs. Neighbouring threads compute neighbours along the last
// dimension.
struct CosineStep {
    // Of all dimensions; some elements may be beyond the end of a line.
    Count count;
    Integer rank;
    // Elements of a line of the target, and points of the cosine or sine transform.
    Integer length, points;
    Integer is_sine;
    // Whether the Fourier transform is of complex numbers, all N, where a real one would do.
    Integer is_whole;
    // Whether a few neighbours of a line alternate with neighbouring lines.
    Integer is_crossed;
    // The distances between neighbours of a line, in the source and in the target.
    Integer stride, to_stride;
    double scale, first, last;
    // 1 / 2N.
    double reciprocal;
    Integer extents[MAX_RANK];
    // A number below 2^31 is divided by an extent as (number * factor) >> shift.
    Count factors[MAX_RANK];
    Integer shifts[MAX_RANK];
    // How far the dimension leads along a line of the target: 0 for those beside the lines.
    Integer along[MAX_RANK];
    // Distances beside the lines; along them 0.
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
        Real weight = 1;
        if (i == 0) {
            weight *= static_cast<Real>(call.first);
        }
        if (i == points - 1) {
            weight *= static_cast<Real>(call.last);
        }
        return weight;
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
template <Step STEP, typename Real, typename Index>
__device__ Complex<Real> before(const Line<Real, Index>& line, Index j) {
    const CosineStep& call = line.call;
    const Index n = line.points;
    switch (STEP) {
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
template <Step STEP, typename Real, typename Index>
__device__ Real after(const Line<Real, Index>& line, Index k) {
    const CosineStep& call = line.call;
    const Index n = line.points;
    const bool is_negative = call.is_sine && k % 2 != 0;
    switch (STEP) {
        case TAKE:
            return call.is_sine ? -line.complex(k + 1).imaginary : line.complex(k).real;
        case TURN2: {
            const Index i = call.is_sine ? n - 1 - k : k;
            const Complex<Real> unit = turn(i, call.reciprocal, Real()), value = line.hermitian(i);
            return 2 * (unit.real * value.real + unit.imaginary * value.imaginary);
        }
        case UNFOLD3: {
            const Index i = k % 2 == 0 ? k / 2 : n - (k + 1) / 2;
            const Real value = call.is_whole ? line.complex(i).real : line.real(i);
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

__device__ constexpr bool is_before(Step step) {
    return step == EXTEND || step == FOLD2 || step == TURN3 || step == PACK4 || step == FOLD4;
}

template <Step STEP>
__device__ bool gives_complex(const CosineStep& call) {
    return STEP == TURN3 || STEP == PACK4 || (is_before(STEP) && call.is_whole);
}

template <Step STEP>
__device__ bool takes_complex(const CosineStep& call) {
    return STEP == UNFOLD3 ? call.is_whole != 0 : !is_before(STEP);
}

// Returns element `j` of a line of the target; the imaginary part is 0 where that is real.
template <Step STEP, typename Real, typename Index>
__device__ Complex<Real> computed(const Line<Real, Index>& line, Index j) {
    if constexpr (is_before(STEP)) {
        return before<STEP>(line, j);
    } else {
        const Real weight = static_cast<Real>(line.call.scale) * line.weight(j);
        return {weight * after<STEP>(line, j), 0};
    }
}

template <Step STEP, typename Real, typename Index>
__device__ void store(void* to, Index offset, Complex<Real> value, const CosineStep& call) {
    if (gives_complex<STEP>(call)) {
        static_cast<Complex<Real>*>(to)[offset] = value;
    } else {
        static_cast<Real*>(to)[offset] = value.real;
    }
}

__device__ Count quotient(Count number, const CosineStep& call, Integer dim) {
    return number / static_cast<Count>(call.extents[dim]);
}

__device__ unsigned quotient(unsigned number, const CosineStep& call, Integer dim) {
    const Count product = static_cast<Count>(number) * static_cast<unsigned>(call.factors[dim]);
    return static_cast<unsigned>(product >> static_cast<unsigned>(call.shifts[dim]));
}

// Where elements of the target are: their lines of the source, their places there, and their
// offsets.
template <typename Index>
struct Places {
    Index from[AT_ONCE], j[AT_ONCE], to[AT_ONCE];
};

template <Step STEP, typename Index, typename Number>
__device__ Places<Index> places_of_elements(Number (&numbers)[AT_ONCE], const CosineStep& call) {
    Places<Index> places = {};
#pragma unroll 1
    for (int dim = static_cast<int>(call.rank) - 1; dim >= 0; --dim) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            // The outermost dimension has what is left.
            const Number rest = dim == 0 ? 0 : quotient(numbers[i], call, dim);
            const Number extent = static_cast<Number>(call.extents[dim]);
            const Index at = static_cast<Index>(numbers[i] - rest * extent);
            numbers[i] = rest;
            places.to[i] += at * static_cast<Index>(call.to[dim]);
            places.from[i] += at * static_cast<Index>(call.from[dim]);
            places.j[i] += at * static_cast<Index>(call.along[dim]);
        }
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
        // Neighbouring threads take elements from both ends of a line in turns, where these come
        // from neighbours of the source, which is then read once.
        if ((STEP == FOLD2 || STEP == TURN2) && !call.is_crossed) {
            const Index length = static_cast<Index>(call.length), at = places.j[i];
            places.j[i] = at % 2 == 0 ? at / 2 : length - (at + 1) / 2;
        }
        places.to[i] += places.j[i] * static_cast<Index>(call.to_stride);
    }
    return places;
}

// A Number is that of an element. A thread computes several elements before it stores one, so that
// it need not wait for each of them in turn. It does so without branches: instead of elements that
// are not there it computes others, and does not store them.
template <Step STEP, typename Real, typename Index, typename Number>
__device__ void cosine(void* to, const void* from, const CosineStep& call) {
    const int from_size = takes_complex<STEP>(call) ? sizeof(Complex<Real>) : sizeof(Real);
    const Number all = static_cast<Number>(gridDim.x) * blockDim.x;
    const Number count = static_cast<Number>(call.count);
    const Index length = static_cast<Index>(call.length);
#pragma unroll 1
    for (Number first = static_cast<Number>(blockIdx.x) * blockDim.x + threadIdx.x; first < count;
         first += AT_ONCE * all) {
        Number numbers[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const Number number = first + i * all;
            numbers[i] = number < count ? number : first;
        }
        const Places<Index> places = places_of_elements<STEP, Index>(numbers, call);
        Complex<Real> values[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            const Integer offset = static_cast<Integer>(places.from[i]) * from_size;
            const Line<Real, Index> line(static_cast<const char*>(from) + offset, call);
            const Index j = places.j[i];
            values[i] = computed<STEP>(line, j < length ? j : length - 1);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            if (first + i * all < count && places.j[i] < length) {
                store<STEP>(to, places.to[i], values[i], call);
            }
        }
    }
}

// Those that are called small are for arrays whose offsets and 9N fit into 32 bits.
#define KERNELS(name, STEP, Real)                                                                 \
    extern "C" __global__ void cosine_##name(void* to, const void* from, CosineStep call) {       \
        cosine<STEP, Real, Integer, Count>(to, from, call);                                       \
    }                                                                                             \
    extern "C" __global__ void cosine_small_##name(void* to, const void* from, CosineStep call) { \
        cosine<STEP, Real, int, unsigned>(to, from, call);                                        \
    }

KERNELS(extend_float32, EXTEND, float)
KERNELS(extend_float64, EXTEND, double)
KERNELS(take_float32, TAKE, float)
KERNELS(take_float64, TAKE, double)
KERNELS(fold2_float32, FOLD2, float)
KERNELS(fold2_float64, FOLD2, double)
KERNELS(turn2_float32, TURN2, float)
KERNELS(turn2_float64, TURN2, double)
KERNELS(turn3_float32, TURN3, float)
KERNELS(turn3_float64, TURN3, double)
KERNELS(unfold3_float32, UNFOLD3, float)
KERNELS(unfold3_float64, UNFOLD3, double)
KERNELS(pack4_float32, PACK4, float)
KERNELS(pack4_float64, PACK4, double)
KERNELS(unpack4_float32, UNPACK4, float)
KERNELS(unpack4_float64, UNPACK4, double)
KERNELS(fold4_float32, FOLD4, float)
KERNELS(fold4_float64, FOLD4, double)
KERNELS(turn4_float32, TURN4, float)
KERNELS(turn4_float64, TURN4, double)
