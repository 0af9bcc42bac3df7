/* Computes what torch runs slowly on a CPU: products with quantized weights, and a block of the Llama family in a decode
 * step, for which torch needs forty small operations around four products. All in float32.
 *
 * Vectors have 16 numbers (vector extensions of GCC and Clang): the compiler uses one AVX-512 register, two of AVX2 or
 * four of NEON.
 *
 * Layout of a weight [N, K] (kvscope/model/grouped.py): panels of 16 outputs. Each output of a panel has words of 32
 * bits with 8 weights of 4 bits or 4 of 8 bits, so a shifted vector of words has one weight of all 16 outputs.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define LANES 16
#if defined(__AVX512F__)
#define ROWS 12 /* rows of a product at a time: their sums fill the registers */
#else
#define ROWS 6
#endif
#define TERMS 64 /* terms of a sum before it is added to the total: sums of sums have smaller rounding errors */
#define PANELS 4 /* panels dequantized at a time for more rows: their weights fit into the processor's cache */

typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

struct weight {
    const int32_t *q; /* [panels, K / size, words, 16] */
    const void *d, *m; /* [panels, K / size, 16], float16 or float32; m may be NULL */
    int64_t panels, groups, outputs; /* groups = K / size; outputs = N: the last panel may have fewer than 16 */
    int32_t bits, size, wide; /* bits of a weight: 4 or 8; weights of a group: 32 or 16; 1 if d and m are float32 */
};

INLINE floats load(const float *from) { floats v; memcpy(&v, from, sizeof v); return v; }
INLINE void store(float *to, floats v) { memcpy(to, &v, sizeof v); }
INLINE ints bits_of(floats v) { ints i; memcpy(&i, &v, sizeof i); return i; }
INLINE floats of_bits(ints i) { floats v; memcpy(&v, &i, sizeof v); return v; }

/* Converts 16 float16 to float32, exactly: after the shift, the exponent is 112 too small. */
INLINE floats from_half(const uint16_t *half) {
    int32_t wide[LANES];
    for (int lane = 0; lane < LANES; lane++) wide[lane] = half[lane];
    ints h; memcpy(&h, wide, sizeof h);
    return of_bits(bits_of(of_bits((h & 0x7fff) << 13) * 0x1p112f) | (h & 0x8000) << 16);
}

INLINE floats scale(const void *from, int64_t at, int wide) {
    return wide ? load((const float *)from + at * LANES) : from_half((const uint16_t *)from + at * LANES);
}

/* `unpacked` returns weight i of each word; `place` returns the place in the group of weight i of word j. */
INLINE floats unpacked(const int bits, ints words, int i) {
    return __builtin_convertvector(bits == 4 ? words >> 4 * i & 15 : words << (24 - 8 * i) >> 24, floats);
}
INLINE int place(const int bits, int j, int i) { return bits == 4 ? 4 * j + i / 2 + i % 2 * 16 : 4 * j + i; }

struct scales { floats d, m; };

INLINE struct scales scales_of(const struct weight *w, const int bits, int64_t group) {
    struct scales s = {scale(w->d, group, w->wide), {0}};
    if (w->m) s.m = scale(w->m, group, w->wide);
    else if (bits == 4) s.m = s.d * -8.0f; /* four bits mean -8 to 7 */
    return s;
}

/* Multiplies one panel with R rows x [R, K]. `sums`: independent sums of each row, which hide an addition's latency. */
INLINE void few_rows(const int R, const int sums, const int bits, const struct weight *w, int64_t panel,
                     const float *x, float *out) {
    const int words = w->size * bits / 32;
    const int64_t K = w->groups * w->size;
    floats sum[ROWS * 4] = {{0}};
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t group = panel * w->groups + g;
        const struct scales s = scales_of(w, bits, group);
        const int32_t *q = w->q + group * words * LANES;
        for (int j = 0; j < words; j++) {
            ints each; memcpy(&each, q + j * LANES, sizeof each);
#pragma GCC unroll 8
            for (int i = 0; i < 32 / bits; i++) {
                const floats weight = unpacked(bits, each, i) * s.d + s.m;
                const float *at = x + g * w->size + place(bits, j, i);
#pragma GCC unroll 16
                for (int r = 0; r < R; r++) sum[r * sums + i % sums] += weight * at[r * K];
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
        floats total = sum[r * sums];
        for (int i = 1; i < sums; i++) total += sum[r * sums + i];
        store(out + r * LANES, total);
    }
}

/* Multiplies R rows with weights of one panel that are already float32, [K, 16]. */
INLINE void from_floats(const int R, const float *weights, int64_t K, const float *x, float *out) {
    memset(out, 0, R * LANES * sizeof(float));
    for (int64_t first = 0; first < K; first += TERMS) {
        floats sum[ROWS] = {{0}};
        for (int64_t k = first; k < K && k < first + TERMS; k++) {
            const floats weight = load(weights + k * LANES);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) sum[r] += weight * x[r * K + k];
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; r++) store(out + r * LANES, load(out + r * LANES) + sum[r]);
    }
}

INLINE void dequantize(const int bits, const struct weight *w, int64_t panel, float *to) {
    const int words = w->size * bits / 32;
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t group = panel * w->groups + g;
        const struct scales s = scales_of(w, bits, group);
        for (int j = 0; j < words; j++) {
            ints each; memcpy(&each, w->q + (group * words + j) * LANES, sizeof each);
#pragma GCC unroll 8
            for (int i = 0; i < 32 / bits; i++)
                store(to + (g * w->size + place(bits, j, i)) * LANES, unpacked(bits, each, i) * s.d + s.m);
        }
    }
}

#define ONE(r) case r: few_rows(r, r == 1 ? 4 : r < 4 ? 2 : 1, bits, w, panel, x, out); break;
#define ALL(f) f(1) f(2) f(3) f(4) f(5) f(6)
#define MORE(f) f(7) f(8) f(9) f(10) f(11) f(12)

INLINE void few(const int bits, int rows, const struct weight *w, int64_t panel, const float *x, float *out) {
    switch (rows) {
        ALL(ONE)
#if ROWS > 6
        MORE(ONE)
#endif
    }
}

static void dense(int rows, const float *weights, int64_t K, const float *x, float *out) {
#define DENSE(r) case r: from_floats(r, weights, K, x, out); break;
    switch (rows) {
        ALL(DENSE)
#if ROWS > 6
        MORE(DENSE)
#endif
    }
}

/* Copies the first `outputs` of a panel's 16 for each row. */
INLINE void put(const float *from, int rows, int64_t outputs, float *out, int64_t stride) {
    for (int r = 0; r < rows; r++) memcpy(out + r * stride, from + r * LANES, outputs * sizeof(float));
}

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* out [rows, outputs], with rows `stride` apart, = x [rows, K] times the weight. All threads of a team call it. */
static void multiply(const struct weight *w, const float *x, int64_t rows, float *out, int64_t stride) {
    const int64_t K = w->groups * w->size;
    if (rows <= ROWS) {
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < w->panels; panel++) {
            float sums[ROWS * LANES];
            if (w->bits == 4) few(4, rows, w, panel, x, sums);
            else few(8, rows, w, panel, x, sums);
            put(sums, rows, least(LANES, w->outputs - panel * LANES), out + panel * LANES, stride);
        }
        return;
    }
    float *weights = aligned_alloc(64, PANELS * K * LANES * sizeof(float));
    float sums[ROWS * LANES];
#pragma omp for schedule(static)
    for (int64_t first = 0; first < w->panels; first += PANELS) {
        const int64_t end = least(first + PANELS, w->panels);
        for (int64_t panel = first; panel < end; panel++) {
            float *to = weights + (panel - first) * K * LANES;
            if (w->bits == 4) dequantize(4, w, panel, to);
            else dequantize(8, w, panel, to);
        }
        for (int64_t row = 0; row < rows; row += ROWS) {
            const int count = least(ROWS, rows - row);
            for (int64_t panel = first; panel < end; panel++) {
                dense(count, weights + (panel - first) * K * LANES, K, x + row * K, sums);
                put(sums, count, least(LANES, w->outputs - panel * LANES), out + row * stride + panel * LANES, stride);
            }
        }
    }
    free(weights);
}

struct linear {
    const struct weight *parts; /* consecutive outputs */
    int64_t count, outputs;
    const float *bias; /* [outputs], or NULL */
};

static void linear(const struct linear *l, const float *x, int64_t rows, float *out) {
    float *start = out;
    for (int64_t part = 0; part < l->count; start += l->parts[part++].outputs)
        multiply(l->parts + part, x, rows, start, l->outputs);
    if (!l->bias) return;
#pragma omp for schedule(static)
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = 0; i < l->outputs; i++) out[row * l->outputs + i] += l->bias[i];
}

/* out [rows, outputs] = x [rows, K] times the weight, plus the bias. */
void product(const struct linear *l, const float *x, int64_t rows, float *out) {
#pragma omp parallel
    linear(l, x, rows, out);
}

/* x / sqrt(mean(x^2) + eps) * weight (arXiv:1910.07467, eq. 4). */
INLINE void rms_norm(const float *x, const float *weight, float eps, int64_t width, float *out) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; i++) squares += x[i] * x[i];
    const float factor = 1.0f / sqrtf(squares / width + eps);
    for (int64_t i = 0; i < width; i++) out[i] = x[i] * factor * weight[i];
}

/* Adds the change, unless it is NULL, to rows x [rows, D], and norms the sums. */
static void add_and_norm(const float *x, const float *change, int64_t rows, int64_t D, float *sum, const float *weight,
                         float eps, float *normed) {
#pragma omp for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const float *from = x + row * D;
        if (change) {
            for (int64_t i = 0; i < D; i++) sum[row * D + i] = from[i] + change[row * D + i];
            from = sum + row * D;
        }
        rms_norm(from, weight, eps, D, normed + row * D);
    }
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

/* silu(gate) * up of rows [gate, up], each F wide (arXiv:2002.05202). */
static void swiglu(const float *gate_up, int64_t rows, int64_t F, float *out) {
    const int64_t parts = (F + LANES - 1) / LANES;
#pragma omp for schedule(static)
    for (int64_t part = 0; part < rows * parts; part++) {
        const int64_t row = part / parts, i = part % parts * LANES, count = least(LANES, F - i);
        const float *from = gate_up + row * 2 * F + i;
        float gate[LANES] = {0}, up[LANES] = {0};
        memcpy(gate, from, count * sizeof(float));
        memcpy(up, from + F, count * sizeof(float));
        const floats g = load(gate);
        store(gate, g / (1.0f + exponential(-g)) * load(up));
        memcpy(out + row * F + i, gate, count * sizeof(float));
    }
}

/* A block of the Llama family (kvscope/model/transformer.py) and its weights. */
struct block {
    struct linear qkv, out, gate_up, down;
    const float *attn_norm, *mlp_norm, *q_norm, *k_norm; /* the last two NULL if a model has none */
    int64_t heads, kv_heads, head_dim, d, d_mlp;
    float eps;
};

/* A pass with one new row of each of `rows` sequences. */
struct pass {
    const float *cosine, *sine; /* [rows, head_dim]; the first half of the sine negated */
    const int64_t *slots; /* [rows]: where in the cache each row's K and V go */
    const int64_t *read; /* [rows, length]: where each sequence's K and V are */
    const uint8_t *visible; /* [rows, length], NULL if all are visible */
    int64_t rows, length, pool; /* pool: slots of the cache */
    /* The place of each value in the buffer, in floats. */
    int64_t normed, qkv, qk, rotated, scores, weights, mixed, change, middle;
    int64_t mlp_normed, gate_up, hidden, mlp_change, end;
};

/* Norms Q and K of each head, as Qwen3 does. */
static void norm_heads(const struct block *b, const float *qk, int64_t stride, int64_t rows, float *out) {
    const int64_t both = b->heads + b->kv_heads, Dh = b->head_dim;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < rows * both; i++)
        rms_norm(qk + i / both * stride + i % both * Dh, i % both < b->heads ? b->q_norm : b->k_norm, b->eps, Dh,
                 out + i * Dh);
}

/* Rotates Q and K of each row, [H + Hkv, Dh], by its position, and stores K and V in the cache. */
static void rotate_and_store(const struct block *b, const struct pass *p, const float *qk, int64_t stride,
                             const float *v, float *rotated, float *keys, float *values) {
    const int64_t Dh = b->head_dim, half = Dh / 2, both = b->heads + b->kv_heads;
#pragma omp for schedule(static)
    for (int64_t row = 0; row < p->rows; row++) {
        const float *c = p->cosine + row * Dh, *s = p->sine + row * Dh;
        for (int64_t head = 0; head < both; head++) {
            const float *from = qk + row * stride + head * Dh;
            float *to = rotated + (row * both + head) * Dh;
            for (int64_t i = 0; i < half; i++) {
                to[i] = from[i] * c[i] + from[i + half] * s[i];
                to[i + half] = from[i + half] * c[i + half] + from[i] * s[i + half];
            }
        }
        for (int64_t head = 0; head < b->kv_heads; head++) {
            const int64_t at = (head * p->pool + p->slots[row]) * Dh;
            memcpy(keys + at, rotated + (row * both + b->heads + head) * Dh, Dh * sizeof(float));
            memcpy(values + at, v + row * (both + b->kv_heads) * Dh + head * Dh, Dh * sizeof(float));
        }
    }
}

static void softmax(const float *scores, const uint8_t *visible, int64_t length, float *weights) {
    float largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < length; k++)
        if (!visible || visible[k]) largest = scores[k] > largest ? scores[k] : largest;
    for (int64_t k = 0; k < length; k += LANES) {
        const int64_t count = least(LANES, length - k);
        float buffer[LANES] = {0};
        memcpy(buffer, scores + k, count * sizeof(float));
        store(buffer, exponential(load(buffer) - largest));
        memcpy(weights + k, buffer, count * sizeof(float));
    }
    for (int64_t k = 0; k < length; k++) {
        if (visible && !visible[k]) weights[k] = 0;
        sum += weights[k];
    }
    for (int64_t k = 0; k < length; k++) weights[k] /= sum;
}

/* softmax(q K^T / sqrt(Dh)) V of each row and head (arXiv:1706.03762, eq. 1); the scores are from before the mask. */
static void attend(const struct block *b, const struct pass *p, const float *rotated, const float *keys,
                   const float *values, float *all_scores, float *all_weights, float *all_mixed) {
    const int64_t Dh = b->head_dim, length = p->length, each = b->heads / b->kv_heads;
    const float factor = 1.0f / sqrtf(Dh);
#pragma omp for schedule(static)
    for (int64_t task = 0; task < p->rows * b->heads; task++) {
        const int64_t row = task / b->heads, head = task % b->heads, *slots = p->read + row * length;
        const float *q = rotated + (row * (b->heads + b->kv_heads) + head) * Dh;
        const float *k_head = keys + head / each * p->pool * Dh, *v_head = values + head / each * p->pool * Dh;
        float *scores = all_scores + task * length, *weights = all_weights + task * length, *mixed = all_mixed + task * Dh;
        for (int64_t k = 0; k < length; k++) {
            const float *key = k_head + slots[k] * Dh;
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < Dh; i++) sum += q[i] * key[i];
            scores[k] = sum * factor;
        }
        softmax(scores, p->visible ? p->visible + row * length : NULL, length, weights);
        memset(mixed, 0, Dh * sizeof(float));
        for (int64_t k = 0; k < length; k++) {
            const float *value = v_head + slots[k] * Dh, weight = weights[k];
#pragma omp simd
            for (int64_t i = 0; i < Dh; i++) mixed[i] += weight * value[i];
        }
    }
}

static void add(const float *a, const float *b, int64_t count, float *out) {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < count; i++) out[i] = a[i] + b[i];
}

/* Computes a block for rows x [rows, d] of the residual stream. Keys and values: [Hkv, pool, Dh], of its layer. The call
 * writes the values of all hook points to the buffer, the block's output at `end`. */
void block(const struct block *b, const struct pass *p, const float *x, float *keys, float *values, float *buffer) {
    const int64_t rows = p->rows, d = b->d, Dh = b->head_dim, stride = (b->heads + 2 * b->kv_heads) * Dh;
#pragma omp parallel
    {
        add_and_norm(x, NULL, rows, d, NULL, b->attn_norm, b->eps, buffer + p->normed);
        linear(&b->qkv, buffer + p->normed, rows, buffer + p->qkv);
        const float *qk = buffer + p->qkv, *v = qk + (b->heads + b->kv_heads) * Dh;
        int64_t qk_stride = stride;
        if (b->q_norm) {
            qk_stride = stride - b->kv_heads * Dh;
            norm_heads(b, qk, stride, rows, buffer + p->qk);
            qk = buffer + p->qk;
        }
        rotate_and_store(b, p, qk, qk_stride, v, buffer + p->rotated, keys, values);
        attend(b, p, buffer + p->rotated, keys, values, buffer + p->scores, buffer + p->weights, buffer + p->mixed);
        linear(&b->out, buffer + p->mixed, rows, buffer + p->change);
        add_and_norm(x, buffer + p->change, rows, d, buffer + p->middle, b->mlp_norm, b->eps, buffer + p->mlp_normed);
        linear(&b->gate_up, buffer + p->mlp_normed, rows, buffer + p->gate_up);
        swiglu(buffer + p->gate_up, rows, b->d_mlp, buffer + p->hidden);
        linear(&b->down, buffer + p->hidden, rows, buffer + p->mlp_change);
        add(buffer + p->middle, buffer + p->mlp_change, rows * d, buffer + p->end);
    }
}
