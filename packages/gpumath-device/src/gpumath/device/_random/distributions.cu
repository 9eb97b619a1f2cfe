// Distributions of the numbers of generators.cu.

namespace {

// ---- Uniform numbers, above 0 and up to 1.

const double INVERSE_2_32 = 1.0 / 4294967296.0, INVERSE_2_53 = 1.0 / 9007199254740992.0;

__device__ float unit(u32 x) { return x * (float)INVERSE_2_32 + (float)INVERSE_2_32 / 2; }
__device__ float unit(u64 x) { return unit((u32)(x >> 32)); }
__device__ double unit_double(u32 x) { return x * INVERSE_2_32 + INVERSE_2_32; }
__device__ double unit_double(u64 x) { return (x >> 11) * INVERSE_2_53 + INVERSE_2_53 / 2; }

// 53 random bits, of two numbers of 32.
__device__ double unit_double(u64 low, u64 high)
{
    return (low ^ high << 21) * INVERSE_2_53 + INVERSE_2_53 / 2;
}

template <class S> __device__ double fine_double(S &s)
{
    u32 low = next(s);
    return unit_double(low, next(s));
}

template <class S> __device__ float uniform(S &s) { return unit(next(s)); }
template <class S> __device__ double uniform_double(S &s) { return unit_double(next(s)); }
__device__ double uniform_double(XORWOW &s) { return fine_double(s); }
__device__ double uniform_double(MRG32k3a &s) { return combined(s) * 2.3283065498378288e-10; }
__device__ double fine_double(MRG32k3a &s) { return uniform_double(s); }
__device__ float uniform(MRG32k3a &s) { return (float)uniform_double(s); }

__device__ void uniform4(Philox4_32_10 &s, float *out)
{
    u32 bits[4];
    rand4(s, bits);
    for (int i = 0; i < 4; i++) out[i] = unit(bits[i]);
}

template <class S> __device__ void uniform2_double(S &s, double *out)
{
    out[0] = fine_double(s);
    out[1] = fine_double(s);
}

__device__ void uniform2_double(Philox4_32_10 &s, double *out)
{
    u32 bits[4];
    rand4(s, bits);
    out[0] = unit_double(bits[0], bits[1]);
    out[1] = unit_double(bits[2], bits[3]);
}

// ---- Normal numbers: pairs by Box and Muller, or the inverse of the distribution for Sobol.

template <class S> __device__ void normal2(S &s, float *out)
{
    float radius = sqrtf(-2 * logf(uniform(s)));
    // The fast sine, as in cuRAND.
    __sincosf(6.2831855f * uniform(s), &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

template <class S> __device__ void normal2_double(S &s, double *out)
{
    double numbers[2];
    uniform2_double(s, numbers);
    double radius = sqrt(-2 * log(numbers[0]));
    sincospi(2 * numbers[1], &out[0], &out[1]);
    out[0] *= radius;
    out[1] *= radius;
}

template <class S> __device__ void normal4(S &s, float *out)
{
    normal2(s, out);
    normal2(s, out + 2);
}

template <class S> __device__ float standard(S &s, int purpose)
{
    if (s.boxmuller_flag == purpose) {
        s.boxmuller_flag = 0;
        return s.boxmuller_extra;
    }
    float pair[2];
    normal2(s, pair);
    s.boxmuller_flag = purpose;
    s.boxmuller_extra = pair[1];
    return pair[0];
}

template <class S> __device__ double standard_double(S &s, int purpose)
{
    if (s.boxmuller_flag_double == purpose) {
        s.boxmuller_flag_double = 0;
        return s.boxmuller_extra_double;
    }
    double pair[2];
    normal2_double(s, pair);
    s.boxmuller_flag_double = purpose;
    s.boxmuller_extra_double = pair[1];
    return pair[0];
}

// Above one half, the distance to 1 has more digits than the number itself.
__device__ float inverse(u32 x)
{
    return x > 0x80000000u ? -normcdfinvf(unit(~x)) : normcdfinvf(unit(x));
}
__device__ float inverse(u64 x) { return inverse((u32)(x >> 32)); }
__device__ double inverse_double(u32 x)
{
    double value = ((x > 0x80000000u ? ~x : x) + 0.5) * INVERSE_2_32;
    return x > 0x80000000u ? -normcdfinv(value) : normcdfinv(value);
}
__device__ double inverse_double(u64 x)
{
    return x >> 63 ? -normcdfinv(unit_double(~x)) : normcdfinv(unit_double(x));
}

__device__ float standard(Sobol32 &s, int) { return inverse(next(s)); }
__device__ float standard(Sobol64 &s, int) { return inverse(next(s)); }
__device__ float standard(ScrambledSobol32 &s, int) { return inverse(next(s)); }
__device__ float standard(ScrambledSobol64 &s, int) { return inverse(next(s)); }
__device__ double standard_double(Sobol32 &s, int) { return inverse_double(next(s)); }
__device__ double standard_double(Sobol64 &s, int) { return inverse_double(next(s)); }
__device__ double standard_double(ScrambledSobol32 &s, int) { return inverse_double(next(s)); }
__device__ double standard_double(ScrambledSobol64 &s, int) { return inverse_double(next(s)); }

template <class S> __device__ float normal(S &s) { return standard(s, NORMAL); }
template <class S> __device__ double normal_double(S &s) { return standard_double(s, NORMAL); }

template <class S> __device__ float log_normal(S &s, float mean, float stddev)
{
    return expf(mean + stddev * standard(s, LOG_NORMAL));
}

template <class S> __device__ double log_normal_double(S &s, double mean, double stddev)
{
    return exp(mean + stddev * standard_double(s, LOG_NORMAL));
}

template <class S> __device__ void log_normal2(S &s, float mean, float stddev, float *out)
{
    normal2(s, out);
    for (int i = 0; i < 2; i++) out[i] = expf(mean + stddev * out[i]);
}

template <class S>
__device__ void log_normal2_double(S &s, double mean, double stddev, double *out)
{
    normal2_double(s, out);
    for (int i = 0; i < 2; i++) out[i] = exp(mean + stddev * out[i]);
}

template <class S> __device__ void log_normal4(S &s, float mean, float stddev, float *out)
{
    normal4(s, out);
    for (int i = 0; i < 4; i++) out[i] = expf(mean + stddev * out[i]);
}

// ---- Poisson.

// The smallest k whose distribution function reaches u. Terms below the first are less than 1e-30.
__device__ u32 poisson_inverse(double u, double lambda)
{
    double k = floor(lambda - 12 * sqrt(lambda));
    k = k > 0 ? k : 0;
    double term = exp(k * log(lambda) - lambda - lgamma(k + 1)), sum = term;
    // The end is for rounding errors, where the sum stays below u.
    double end = lambda + 12 * sqrt(lambda) + 40;
    while (sum < u && k < end) {
        k += 1;
        term *= lambda / k;
        sum += term;
    }
    return (u32)k;
}

// W. Hormann, "The transformed rejection method for generating Poisson random variables", 1993,
// algorithm PTRS.
template <class S> __device__ u32 poisson_rejection(S &s, double lambda)
{
    double b = 0.931 + 2.53 * sqrt(lambda), a = 0.02483 * b - 0.059;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), safe = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double numbers[2];
        uniform2_double(s, numbers);
        double u = numbers[0] - 0.5, v = numbers[1], distance = 0.5 - fabs(u);
        double k = floor((2 * a / distance + b) * u + lambda + 0.43);
        if (distance >= 0.07 && v <= safe) return (u32)k;
        if (k < 0 || (distance < 0.013 && v > distance)) continue;
        double left = log(v * inverse_alpha / (a / (distance * distance) + b));
        if (left <= k * log(lambda) - lambda - lgamma(k + 1)) return (u32)k;
    }
}

template <class S> __device__ u32 poisson(S &s, double lambda)
{
    if (!(lambda > 0)) return 0;
    return lambda < 10 ? poisson_inverse(fine_double(s), lambda) : poisson_rejection(s, lambda);
}

// A point of a sequence of Sobol gives one number, or the points are no longer evenly spread.
template <class U> __device__ u32 poisson_point(U x, double lambda)
{
    if (!(lambda > 0)) return 0;
    double u = sizeof(U) == 4 ? (x + 0.5) * INVERSE_2_32 : unit_double((u64)x);
    if (lambda < 1e6) return poisson_inverse(u, lambda);
    double k = rint(lambda + sqrt(lambda) * normcdfinv(u));
    return k > 0 ? (u32)k : 0;
}

__device__ u32 poisson(Sobol32 &s, double lambda)
{
    return poisson_point(next(s), lambda);
}
__device__ u32 poisson(Sobol64 &s, double lambda)
{
    return poisson_point(next(s), lambda);
}
__device__ u32 poisson(ScrambledSobol32 &s, double lambda)
{
    return poisson_point(next(s), lambda);
}
__device__ u32 poisson(ScrambledSobol64 &s, double lambda)
{
    return poisson_point(next(s), lambda);
}

__device__ void poisson4(Philox4_32_10 &s, double lambda, u32 *out)
{
    for (int i = 0; i < 4; i++) out[i] = poisson(s, lambda);
}

}  // namespace
