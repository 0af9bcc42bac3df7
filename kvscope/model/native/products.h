/* Products of rows with a weight.
 *
 * Layout of a weight [N, K] (kvscope/model/grouped.py): panels of 16 outputs. Each output of a panel has words of 32
 * bits with several weights, so a vector of words has the same weights of all 16 outputs.
 *
 * Each output is the sum over groups of scale * (sum of weight * x) + minimum * (sum of x), always in this order. So the
 * bits of a row's products depend neither on the number of rows nor on the number of threads.
 */
#if defined(__AVX512F__)
#define ROWS 12 /* rows of a product at a time, or rows times panels: their sums fill the registers */
#elif defined(__wasm__)
#define ROWS 2
#else
#define ROWS 4
#endif

#define MOST_OF_GROUP 32 /* weights of a group at most */

enum kind { FOUR_BITS, EIGHT_BITS, BFLOAT16, FLOAT16, FLOAT32 };

struct weight {
    const int32_t *q; /* [panels, K / size, words, 16] */
    const void *d, *m; /* [panels, K / size, 16], float16 or float32; m may be NULL, and d without bits of a group */
    int64_t panels, groups, outputs; /* groups = K / size; outputs = N: the last panel may have fewer than 16 */
    int32_t kind, size, wide; /* size: weights of a group; wide: 1 if d and m are float32 */
};

struct linear {
    const struct weight *parts; /* consecutive outputs */
    int64_t count, outputs;
    const float *bias; /* [outputs], or NULL */
};

INLINE floats scale(const void *from, int64_t at, int wide) {
    return wide ? load((const float *)from + at * LANES) : from_half(load_halves((const uint16_t *)from + at * LANES));
}

INLINE int bits_of_kind(const int kind) { return (const int[]){4, 8, 16, 16, 32}[kind]; }

/* Returns weight i of each word. Four bits are -8 to 7. */
INLINE floats unpacked(const int kind, ints words, int i) {
    switch (kind) {
        case FOUR_BITS: {
#ifdef __AVX512F__
            const floats values = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
            return (floats)_mm512_permutexvar_ps((__m512i)(words >> 4 * i), (__m512)values); /* reads 4 bits of each */
#elif defined(__clang__)
            /* Without a conversion: the number is at the bits from `low` of 2^exponent + number, as a float32. 0x4f has all
             * bits of these exponents, so that one operation leaves both. */
            const int low = 4 * (i % 4), exponent = 23 - low;
            const ints both = (i < 4 ? words : words >> 16) | 0x4f000000;
            return of_bits(both & ((127 + exponent) << 23 | 15 << low)) - (float)((1 << exponent) + 8);
#else
            return __builtin_convertvector((words >> 4 * i & 15) - 8, floats);
#endif
        }
        case EIGHT_BITS: return __builtin_convertvector(words << (24 - 8 * i) >> 24, floats);
        case BFLOAT16: return of_bits(i ? words & (int32_t)0xffff0000 : words << 16);
        case FLOAT16: return from_half(words >> 16 * i & 0xffff);
        default: return of_bits(words);
    }
}

/* Returns the place in the group of weight i of word j. */
INLINE int place(const int kind, int j, int i) {
    return kind == FOUR_BITS ? 4 * j + i / 2 + i % 2 * 16 : j * (32 / bits_of_kind(kind)) + i;
}

struct scales { floats d, m; }; /* of a group */

INLINE struct scales scales_of(const int kind, const struct weight *w, int64_t group) {
    struct scales s = {kind <= EIGHT_BITS ? scale(w->d, group, w->wide) : (floats){0} + 1.0f, {0}};
    if (w->m) s.m = scale(w->m, group, w->wide);
    if (w->m && kind == FOUR_BITS) s.m = s.m + s.d * 8.0f; /* the file's four bits are 0 to 15 */
    return s;
}

/* Multiplies P panels with R rows x, K apart; `sums` [R, groups] are the sums of x over each group. */
INLINE void tile(const int R, const int P, const int kind, const struct weight *w, int64_t panel, const float *x,
                 const float *sums, float *out, int64_t stride) {
    const int per_word = 32 / bits_of_kind(kind), words = w->size / per_word;
    const int64_t groups = w->groups, K = groups * w->size;
    floats total[ROWS], part[ROWS];
    UNROLL for (int each = 0; each < R * P; each++) total[each] = (floats){0};
    for (int64_t g = 0; g < groups; g++) {
        UNROLL for (int each = 0; each < R * P; each++) part[each] = (floats){0};
        for (int j = 0; j < words; j++) {
            ints each[4];
            UNROLL for (int p = 0; p < P; p++) memcpy(&each[p], w->q + (((panel + p) * groups + g) * words + j) * LANES, sizeof *each);
            UNROLL for (int i = 0; i < per_word; i++) {
                const float *at = x + g * w->size + place(kind, j, i);
                UNROLL for (int p = 0; p < P; p++) {
                    const floats weight = unpacked(kind, each[p], i);
                    UNROLL for (int r = 0; r < R; r++) part[p * R + r] += weight * at[r * K];
                }
            }
        }
        UNROLL for (int p = 0; p < P; p++) {
            const struct scales s = scales_of(kind, w, (panel + p) * groups + g);
            if (w->m) UNROLL for (int r = 0; r < R; r++) total[p * R + r] += s.m * sums[r * groups + g];
            UNROLL for (int r = 0; r < R; r++) total[p * R + r] += part[p * R + r] * s.d;
        }
    }
    UNROLL for (int p = 0; p < P; p++)
        UNROLL for (int r = 0; r < R; r++)
            store_some(out + r * stride + (panel + p) * LANES, total[p * R + r], w->outputs - (panel + p) * LANES);
}

#ifdef __wasm__
/* Adds the products of group g of a panel with R rows. `weights`: of the group, in the order of the sum. */
INLINE void add_group(const int R, const int kind, const struct weight *w, const floats *weights, struct scales s,
                      int64_t panel, int64_t g, const float *x, const float *sums, float *out, int64_t stride) {
    const int size = w->size;
    const int64_t K = w->groups * size, outputs = w->outputs - panel * LANES;
    const float *at = x + g * size;
    int step = kind == FOUR_BITS ? 16 : 1; /* to the place of the next weight */
    floats part[ROWS];
    UNROLL for (int r = 0; r < R; r++) part[r] = (floats){0};
    _Pragma("nounroll") for (int i = 0; i < size; i++) { /* unrolled, it would use more registers */
        UNROLL for (int r = 0; r < R; r++) part[r] += weights[i] * at[r * K];
        at += step;
        if (kind == FOUR_BITS) step = 1 - step;
    }
    UNROLL for (int r = 0; r < R; r++) {
        float *to = out + r * stride + panel * LANES;
        floats total = g ? load_some(to, outputs, 0) : (floats){0};
        if (w->m) total += s.m * sums[r * w->groups + g];
        store_some(to, total + part[r] * s.d, outputs);
    }
}

/* Multiplies a panel with more rows, one group after another, whose weights it unpacks once. A browser uses few registers,
 * which the sums of two rows fill: so the weights are in memory, and between two groups the sums are in `out`. */
INLINE void panel_by_groups(const int kind, const struct weight *w, int64_t panel, const float *x, int64_t rows,
                            const float *sums, float *out, int64_t stride) {
    const int per_word = 32 / bits_of_kind(kind), words = w->size / per_word;
    floats weights[MOST_OF_GROUP];
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t group = panel * w->groups + g, K = w->groups * w->size;
        const struct scales s = scales_of(kind, w, group);
        for (int j = 0; j < words; j++) {
            ints each; memcpy(&each, w->q + (group * words + j) * LANES, sizeof each);
            UNROLL for (int i = 0; i < per_word; i++) weights[j * per_word + i] = unpacked(kind, each, i);
        }
        int64_t row = 0;
#define ADD(R) add_group(R, kind, w, weights, s, panel, g, x + row * K, sums + row * w->groups, out + row * stride, stride)
        for (; row + ROWS <= rows; row += ROWS) ADD(ROWS);
        for (; row < rows; row++) ADD(1);
    }
}

INLINE void some_panels(const int kind, struct share part, const struct weight *w, const float *x, int64_t rows,
                        const float *sums, float *out, int64_t stride) {
    for (int64_t panel = part.first; panel < part.end; panel++) {
        if (rows == 1) tile(1, 1, kind, w, panel, x, sums, out, stride);
        else panel_by_groups(kind, w, panel, x, rows, sums, out, stride);
    }
}
#else
/* Multiplies the panels of a share with R rows, P at a time and then one at a time. */
#define TILES(R, P) \
    for (; panel + P <= part.end; panel += P) tile(R, P, kind, w, panel, from, sums_of, to, stride); \
    for (; panel < part.end; panel++) tile(R, 1, kind, w, panel, from, sums_of, to, stride); \
    break;

INLINE int rows_at_once(int64_t rows) { return rows >= ROWS ? ROWS : rows >= 8 ? 8 : rows >= 4 ? 4 : rows >= 2 ? 2 : 1; }

INLINE void some_panels(const int kind, struct share part, const struct weight *w, const float *x, int64_t rows,
                        const float *sums, float *out, int64_t stride) {
    for (int64_t row = 0, count; row < rows; row += count) {
        count = rows_at_once(rows - row);
        const float *from = x + row * w->groups * w->size, *sums_of = sums + row * w->groups;
        float *to = out + row * stride;
        int64_t panel = part.first;
        switch (count) {
            case 1: TILES(1, 4)
            case 2: TILES(2, 2)
#if defined(__AVX512F__)
            case 4: TILES(4, 2)
            case 8: TILES(8, 1)
            case 12: TILES(12, 1)
#else
            case 4: TILES(4, 1)
#endif
        }
    }
}
#endif

/* Parts of 4 panels at least, and else about 16 of a product: few enough to take, enough to divide evenly. */
INLINE int64_t panels_at_once(int64_t panels) { return panels < 128 ? 4 : panels < 512 ? 8 : 32; }

/* out [rows, outputs], `stride` apart, = x [rows, K] times the weight. `sums` [rows, groups]: scratch memory. */
static void multiply(struct member *me, const struct weight *w, const float *x, int64_t rows, float *sums,
                     float *out, int64_t stride) {
    if (w->m)
        PARTS(s, rows * w->groups, 256)
            for (int64_t i = s.first; i < s.end; i++) {
                float sum = 0;
                for (int k = 0; k < w->size; k++) sum += x[i * w->size + k];
                sums[i] = sum;
            }
    PARTS(part, w->panels, panels_at_once(w->panels))
        switch (w->kind) {
#define KIND(kind) case kind: some_panels(kind, part, w, x, rows, sums, out, stride); break;
            KIND(FOUR_BITS) KIND(EIGHT_BITS) KIND(BFLOAT16) KIND(FLOAT16) KIND(FLOAT32)
        }
}

/* out [rows, outputs] = x [rows, K] times the weight, plus the bias. All members call it. */
static void linear(struct member *me, const struct linear *l, const float *x, int64_t rows, float *sums, float *out) {
    float *start = out;
    for (int64_t part = 0; part < l->count; start += l->parts[part++].outputs)
        multiply(me, l->parts + part, x, rows, sums, start, l->outputs);
    if (l->bias)
        PARTS(s, rows * l->outputs, 1024) for (int64_t i = s.first; i < s.end; i++) out[i] += l->bias[i % l->outputs];
}

/* Writes row `output` of the weight, [K], dequantized. */
static void row_of(const struct weight *w, int64_t output, float *to) {
    const int64_t panel = output / LANES, lane = output % LANES;
    const int bits = bits_of_kind(w->kind), per_word = 32 / bits, words = w->size / per_word;
    for (int64_t g = 0; g < w->groups; g++) {
        const int64_t group = panel * w->groups + g;
        const float d = w->kind <= EIGHT_BITS ? scale(w->d, group, w->wide)[lane] : 1;
        const float m = w->m ? scale(w->m, group, w->wide)[lane] : 0, shift = w->m && w->kind == FOUR_BITS ? 8 : 0;
        for (int j = 0; j < words; j++) {
            ints each; memcpy(&each, w->q + (group * words + j) * LANES, sizeof each);
            for (int i = 0; i < per_word; i++) to[g * w->size + place(w->kind, j, i)] = (unpacked(w->kind, each, i)[lane] + shift) * d + m;
        }
    }
}
