// Generators of random numbers for kernels. They give the sequences of cuRAND's generators of the
// same names. gpumath/device/_random_code.py adds the tables before this file, and after it
// distributions.cu and the exported functions. NVRTC compiles the whole; no header is read.
//
// XORWOW: G. Marsaglia, "Xorshift RNGs", 2003. MRG32k3a: P. L'Ecuyer, "Good parameters and
// implementations for combined multiple recursive random number generators", 1999.
// Philox4x32-10: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
// Sobol: P. Bratley, B. Fox, "Algorithm 659", 1988, in the order of Gray codes.

namespace {

// What is kept when a pair of normal numbers was made and one of them was asked for.
#define SPARE_NORMAL \
    int boxmuller_flag; \
    int boxmuller_flag_double; \
    float boxmuller_extra; \
    double boxmuller_extra_double;

struct XORWOW { u32 d, v[5]; SPARE_NORMAL };
struct MRG32k3a { u32 s1[3], s2[3]; SPARE_NORMAL };
struct Philox4_32_10 { u32 ctr[4], output[4], key[2], STATE; SPARE_NORMAL };
struct Sobol32 { u32 i, x, c, direction_vectors[32]; };
struct ScrambledSobol32 : Sobol32 {};
struct Sobol64 { u64 i, x, c, direction_vectors[64]; };
struct ScrambledSobol64 : Sobol64 {};
struct Test { u32 v; };

// Whom a spare normal number is for.
enum { NORMAL = 1, LOG_NORMAL = 2 };

template <class S> __device__ void clear_spare(S &s)
{
    s.boxmuller_flag = s.boxmuller_flag_double = 0;
    s.boxmuller_extra = 0;
    s.boxmuller_extra_double = 0;
}

// ---- XORWOW: a linear part v, over the field of two elements, and a counter d.

const u32 XORWOW_INCREMENT = 362437;

__device__ void step(u32 (&v)[5])
{
    u32 t = v[0] ^ (v[0] >> 2);
    for (int i = 0; i < 4; i++) v[i] = v[i + 1];
    v[4] = v[3] ^ (v[3] << 4) ^ t ^ (t << 1);
}

__device__ u32 next(XORWOW &s)
{
    step(s.v);
    s.d += XORWOW_INCREMENT;
    return s.v[4] + s.d;
}

// Take n steps, or n times 2^67. The table has powers of the step as polynomials of it, one for
// each bit of n. A polynomial is applied by taking its 160 steps and adding up those that it has.
__device__ void jump(u32 (&v)[5], u64 n, const u32 (&powers)[64][5])
{
    for (int bit = 0; n; bit++, n >>= 1) {
        if (!(n & 1)) continue;
        u32 sum[5] = {};
        for (int word = 0; word < 5; word++) {
            u32 coefficients = powers[bit][word];
            for (int i = 0; i < 32; i++, coefficients >>= 1) {
                u32 add = -(coefficients & 1);
                for (int k = 0; k < 5; k++) sum[k] ^= add & v[k];
                step(v);
            }
        }
        for (int k = 0; k < 5; k++) v[k] = sum[k];
    }
}

__device__ void skipahead(u64 n, XORWOW &s)
{
    jump(s.v, n, XORWOW_STEPS);
    s.d += XORWOW_INCREMENT * (u32)n;
}

// The counter is the same again after 2^67 steps.
__device__ void skipahead_subsequence(u64 n, XORWOW &s) { jump(s.v, n, XORWOW_SUBSEQUENCES); }
__device__ void skipahead_sequence(u64 n, XORWOW &s) { skipahead_subsequence(n, s); }

__device__ void init(u64 seed, u64 subsequence, u64 offset, XORWOW &s)
{
    u32 low = 1099087573u * ((u32)seed ^ 0xaad26b49u);
    u32 high = 2591861531u * ((u32)(seed >> 32) ^ 0xf7dcefddu);
    s.d = 6615241u + low + high;
    s.v[0] = 123456789u + low;
    s.v[1] = 362436069u ^ low;
    s.v[2] = 521288629u + high;
    s.v[3] = 88675123u ^ high;
    s.v[4] = 5783321u + low;
    clear_spare(s);
    skipahead_subsequence(subsequence, s);
    skipahead(offset, s);
}

// ---- MRG32k3a: two linear recurrences, each modulo a prime just below 2^32.

const u64 M1 = 4294967087u, M2 = 4294944443u;

// A number from 1 to M1.
__device__ u32 combined(MRG32k3a &s)
{
    u64 first = (1403580u * (u64)s.s1[1] + 810728u * (M1 - s.s1[0])) % M1;
    u64 second = (527612u * (u64)s.s2[2] + 1370589u * (M2 - s.s2[0])) % M2;
    for (int i = 0; i < 2; i++) {
        s.s1[i] = s.s1[i + 1];
        s.s2[i] = s.s2[i + 1];
    }
    s.s1[2] = (u32)first;
    s.s2[2] = (u32)second;
    return (u32)(first > second ? first - second : first + M1 - second);
}

__device__ u32 next(MRG32k3a &s) { return (u32)(combined(s) * 1.000000048662); }

// Multiply a vector by the matrices that belong to the bits of n.
__device__ void jump(u32 (&v)[3], u64 n, const u32 (&powers)[64][3][3], u64 modulus)
{
    for (int bit = 0; n; bit++, n >>= 1) {
        if (!(n & 1)) continue;
        u32 result[3];
        for (int row = 0; row < 3; row++) {
            u64 sum = 0;
            for (int k = 0; k < 3; k++) sum += powers[bit][row][k] * (u64)v[k] % modulus;
            result[row] = (u32)(sum % modulus);
        }
        for (int row = 0; row < 3; row++) v[row] = result[row];
    }
}

__device__ void skip(u64 n, MRG32k3a &s, const u32 (&powers)[2][64][3][3])
{
    jump(s.s1, n, powers[0], M1);
    jump(s.s2, n, powers[1], M2);
}

__device__ void skipahead(u64 n, MRG32k3a &s) { skip(n, s, MRG32K3A_STEPS); }
__device__ void skipahead_subsequence(u64 n, MRG32k3a &s) { skip(n, s, MRG32K3A_SUBSEQUENCES); }
__device__ void skipahead_sequence(u64 n, MRG32k3a &s) { skip(n, s, MRG32K3A_SEQUENCES); }

__device__ void init(u64 seed, u64 subsequence, u64 offset, MRG32k3a &s)
{
    u64 factor[2] = {1, 1};
    if (seed) {
        factor[0] = (u32)seed ^ 0x55555555u;
        factor[1] = (u32)(seed >> 32) ^ 0xAAAAAAAAu;
    }
    for (int i = 0; i < 3; i++) {
        s.s1[i] = (u32)(factor[i % 2] * 12345 % M1);
        s.s2[i] = (u32)(factor[(i + 1) % 2] * 12345 % M2);
    }
    clear_spare(s);
    skipahead_subsequence(subsequence, s);
    skipahead(offset, s);
}

// ---- Philox4x32-10: a counter of 128 bits, encrypted under the seed; STATE is a place in output.

__device__ void encrypt(Philox4_32_10 &s)
{
    u32 c[4] = {s.ctr[0], s.ctr[1], s.ctr[2], s.ctr[3]}, key[2] = {s.key[0], s.key[1]};
    for (int round = 0; round < 10; round++) {
        u64 a = 0xD2511F53u * (u64)c[0], b = 0xCD9E8D57u * (u64)c[2];
        u32 first = (u32)(b >> 32) ^ c[1] ^ key[0], third = (u32)(a >> 32) ^ c[3] ^ key[1];
        c[0] = first;
        c[1] = (u32)b;
        c[2] = third;
        c[3] = (u32)a;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) s.output[i] = c[i];
}

// Add to the words of the counter from the given one on.
__device__ void advance(Philox4_32_10 &s, u64 n, int word)
{
    u64 sum = 0;
    for (; word < 4; word++, n >>= 32) {
        sum = (sum >> 32) + s.ctr[word] + (u32)n;
        s.ctr[word] = (u32)sum;
    }
    encrypt(s);
}

// Make the next four numbers. All but one of 2^32 additions end at the first word.
__device__ void turn(Philox4_32_10 &s)
{
    if (!++s.ctr[0] && !++s.ctr[1] && !++s.ctr[2]) ++s.ctr[3];
    encrypt(s);
}

__device__ u32 next(Philox4_32_10 &s)
{
    // Constant indices keep the numbers in registers, here and below.
    switch (s.STATE++) {
    case 0: return s.output[0];
    case 1: return s.output[1];
    case 2: return s.output[2];
    default:
        u32 last = s.output[3];
        turn(s);
        s.STATE = 0;
        return last;
    }
}

__device__ void rand4(Philox4_32_10 &s, u32 *out)
{
    u32 old[4];
    for (int i = 0; i < 4; i++) old[i] = s.output[i];
    turn(s);
    switch (s.STATE) {
    case 0:
        out[0] = old[0], out[1] = old[1], out[2] = old[2], out[3] = old[3];
        break;
    case 1:
        out[0] = old[1], out[1] = old[2], out[2] = old[3], out[3] = s.output[0];
        break;
    case 2:
        out[0] = old[2], out[1] = old[3], out[2] = s.output[0], out[3] = s.output[1];
        break;
    default:
        out[0] = old[3], out[1] = s.output[0], out[2] = s.output[1], out[3] = s.output[2];
    }
}

__device__ void skipahead(u64 n, Philox4_32_10 &s)
{
    u32 place = s.STATE + (u32)(n & 3);
    s.STATE = place & 3;
    advance(s, (n >> 2) + (place >> 2), 0);
}

__device__ void skipahead_subsequence(u64 n, Philox4_32_10 &s) { advance(s, n, 2); }
__device__ void skipahead_sequence(u64 n, Philox4_32_10 &s) { skipahead_subsequence(n, s); }

__device__ void init(u64 seed, u64 subsequence, u64 offset, Philox4_32_10 &s)
{
    for (int i = 0; i < 4; i++) s.ctr[i] = 0;
    s.key[0] = (u32)seed;
    s.key[1] = (u32)(seed >> 32);
    s.STATE = 0;
    clear_spare(s);
    skipahead_subsequence(subsequence, s);
    skipahead(offset, s);
}

// ---- Sobol: x is the point number i of one dimension, c what it is scrambled with.

template <class S, class U> __device__ U next_point(S &s, const U &)
{
    U result = s.x;
    const int last = 8 * sizeof(U) - 1;
    int place = 0;
    while (place < last && (s.i >> place & 1)) place++;
    s.x ^= s.direction_vectors[place];
    s.i++;
    return result;
}

__device__ u32 next(Sobol32 &s) { return next_point(s, s.x); }
__device__ u64 next(Sobol64 &s) { return next_point(s, s.x); }

template <class S> __device__ void skip_points(u64 n, S &s)
{
    s.i += n;
    s.x = s.c;
    auto gray = s.i ^ (s.i >> 1);
    for (int k = 0; gray; k++, gray >>= 1)
        if (gray & 1) s.x ^= s.direction_vectors[k];
}

__device__ void skipahead(u64 n, Sobol32 &s) { skip_points(n, s); }
__device__ void skipahead(u64 n, Sobol64 &s) { skip_points(n, s); }

template <class S, class U> __device__ void init_points(const U *directions, U c, u64 offset, S &s)
{
    for (int k = 0; k < 8 * (int)sizeof(U); k++) s.direction_vectors[k] = directions[k];
    s.i = 0;
    s.c = c;
    skip_points(offset, s);
}

__device__ void init(const u32 *v, u64 n, Sobol32 &s) { init_points(v, (u32)0, n, s); }
__device__ void init(const u64 *v, u64 n, Sobol64 &s) { init_points(v, (u64)0, n, s); }
__device__ void init(const u32 *v, u32 c, u64 n, ScrambledSobol32 &s) { init_points(v, c, n, s); }
__device__ void init(const u64 *v, u64 c, u64 n, ScrambledSobol64 &s) { init_points(v, c, n, s); }

// ---- A counter, for tests of programs.

__device__ u32 next(Test &s) { return s.v++; }
__device__ void skipahead(u64 n, Test &s) { s.v += (u32)n; }

__device__ void init(u64 seed, u64 subsequence, u64 offset, Test &s)
{
    s.v = (u32)seed * 3 + (u32)subsequence * 31337 + (u32)offset;
}

}  // namespace
