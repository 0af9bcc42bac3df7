/* Vectors of 16 numbers (vector extensions of GCC and Clang): one AVX-512 register, two of AVX2, four of NEON or Wasm. */
#include <stddef.h>
#include <stdint.h>
#ifdef __wasm__ /* without a C library: these are instructions */
#define INFINITY __builtin_inff()
#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define sqrtf __builtin_sqrtf
#else
#include <math.h>
#include <string.h>
#endif
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define LANES 16
#ifdef __clang__
#define UNROLL _Pragma("unroll") /* whole loops of a constant length, so that arrays of vectors are registers */
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

INLINE floats load(const float *from) { floats v; memcpy(&v, from, sizeof v); return v; }
INLINE void store(float *to, floats v) { memcpy(to, &v, sizeof v); }
INLINE ints bits_of(floats v) { ints i; memcpy(&i, &v, sizeof i); return i; }
INLINE floats of_bits(ints i) { floats v; memcpy(&v, &i, sizeof v); return v; }
INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Loads the first `count` numbers, and `rest` in place of the others. */
INLINE floats load_some(const float *from, int64_t count, float rest) {
    if (count >= LANES) return load(from);
    float some[LANES];
    for (int lane = 0; lane < LANES; lane++) some[lane] = rest;
    memcpy(some, from, count * sizeof(float));
    return load(some);
}

INLINE void store_some(float *to, floats v, int64_t count) {
    if (count >= LANES) store(to, v);
    else { float some[LANES]; store(some, v); memcpy(to, some, count * sizeof(float)); }
}

/* Converts float16, in the low halves of 32 bits, to float32, exactly: after the shift, the exponent is 112 too small. */
INLINE floats from_half(ints h) { return of_bits(bits_of(of_bits((h & 0x7fff) << 13) * 0x1p112f) | (h & 0x8000) << 16); }

INLINE ints load_halves(const uint16_t *from) {
    int32_t wide[LANES];
    for (int lane = 0; lane < LANES; lane++) wide[lane] = from[lane];
    ints v; memcpy(&v, wide, sizeof v);
    return v;
}

/* Converts a length of at least 0 to float16, to the nearest, ties to even; above 65,504 to that. */
static uint16_t to_half(float length) {
    if (!(length < 65504.0f)) return length != length ? 0x7e00 : 0x7bff;
    uint32_t bits;
    if (length < 0x1p-14f) { length += 0x1p-1f; memcpy(&bits, &length, sizeof bits); return bits - 0x3f000000; }
    memcpy(&bits, &length, sizeof bits);
    return (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
}

/* e^x with a relative error of 10^-7 (Cephes, expf); 0 below x = -87.3 and e^88 above 88, near float32's limits. */
INLINE floats exponential(floats x) {
    const ints small = x < -87.3f, large = x > 88.0f;
    x = of_bits((bits_of(x) & ~large) | (bits_of((floats){0} + 88.0f) & large));
    floats n = x * 1.44269504f;
    n = (n + 12582912.0f) - 12582912.0f; /* to the nearest whole number */
    floats r = x - n * 0.693359375f + n * 2.12194440e-4f;
    floats p = ((((r * 1.9875691500e-4f + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r
                + 1.6666665459e-1f) * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return of_bits(bits_of(p * of_bits((__builtin_convertvector(n, ints) + 127) << 23)) & ~small);
}
