/* Numbers of few bits, and the order of their block scales, as cuBLAS's documentation has them. */
#include <math.h>
#include <stdint.h>

/* Bits of an element of a cudaDataType; 0 for those that this cuBLASLt does not have. */
static int bits_of(int type) {
    return type == 0                  ? 32
           : type == 1                ? 64
           : type == 14               ? 16
           : type == 28 || type == 29 ? 8
           : type == 33               ? 4
                                      : 0;
}
/* Elements that share a scale: in the modes VEC16_UE4M3 and VEC32_UE8M0. */
static int block_of_mode(int mode) { return mode == 1 ? 16 : 32; }

static double small_number(int bits, int exponents, int bias, int code) {
    int mantissas = bits - 1 - exponents, exponent = code >> mantissas & ((1 << exponents) - 1);
    double mantissa = (code & ((1 << mantissas) - 1)) / (double)(1 << mantissas);
    double size = exponent ? ldexp(1 + mantissa, exponent - bias) : ldexp(mantissa, 1 - bias);
    return code >> (bits - 1) & 1 ? -size : size;
}
static double e4m3(int code) { return (code & 0x7f) == 0x7f ? NAN : small_number(8, 4, 7, code); }
static double e2m1(int code) { return small_number(4, 2, 1, code); }
static double narrow(int type, int code) { return type == 33 ? e2m1(code) : e4m3(code); }

/* The code of the nearest number; of two, the one with an even code. */
static int nearest(int type, double value) {
    int best = 0, codes = type == 33 ? 16 : 256;
    for (int code = 1; code < codes; code++) {
        double found = fabs(narrow(type, code) - value), least = fabs(narrow(type, best) - value);
        if (found < least || (found == least && code % 2 == 0 && best % 2)) best = code;
    }
    return best;
}

/* Where the scale of a block is, of a matrix with so many blocks in the inner direction. */
static int64_t scale_offset(int64_t outer, int64_t inner, int64_t blocks) {
    return (outer / 128 * (blocks / 4) + inner / 4) * 512 + outer % 32 * 16 + outer % 128 / 32 * 4 +
           inner % 4;
}
static double scale_value(int mode, uint8_t code) {
    return mode == 1 ? e4m3(code & 0x7f) : ldexp(1, code - 127);
}
/* The scale of a block whose largest number is `size` times the largest of the element type. */
static uint8_t scale_code(int mode, double size) {
    if (mode == 1) return (uint8_t)nearest(28, size);
    int exponent;
    double mantissa = frexp((float)size, &exponent); /* 0.5 is a power of two */
    return (uint8_t)(size == 0 ? 0 : exponent - 1 + (mantissa > 0.5) + 127);
}
