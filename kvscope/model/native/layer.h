/* A layer of the transformer (kvscope/model/transformer.py), for all rows of a pass. */

struct norm { const float *weight, *bias; }; /* weight NULL: no norm; bias NULL: RMSNorm, else LayerNorm */

struct experts {
    struct linear router;
    const struct linear *gate_up, *down; /* [count] each */
    int64_t count, chosen, width;
    int32_t normalized;
};

struct layer {
    struct linear qkv, out, gate_up, down; /* gate_up: only up, if the MLP has no gate */
    struct norm attn_norm, q_norm, k_norm, attn_post, mlp_norm, mlp_post;
    const struct experts *experts; /* NULL: a dense MLP */
    const float *rotations; /* [positions, 2, Dh]: cosine and sine, the first half of the sine negated; NULL: none */
    float *keys, *values; /* [Hkv, pool, Dh] */
    int64_t pool, window; /* slots of the cache; keys that a query reads, 0: all */
};

struct model {
    const struct layer *layers;
    struct weight table;
    const float *positions; /* learned, [context, D], or NULL */
    struct norm norm;
    struct linear head;
    int64_t count, heads, kv_heads, head_dim, d, d_mlp, vocab;
    float embedding_scale, score_scale, eps;
    int32_t gated, gelu;
};

/* One sequence's rows of a pass. Captured: what frames show of them, NULL if nothing is captured. */
struct sequence {
    int64_t start, queries, keys; /* its first row in the pass, its new rows, its keys with them */
    const int64_t *slots[2]; /* [padded] of its keys, in layers without and with a window */
    int64_t scores, padded; /* the place of its scores [H, queries, padded] among all scores; the keys of its group */
    uint8_t *attention; /* [layers, H, queries, keys], companded */
    uint16_t *q, *k, *v, *residual; /* lengths of rows in float16: [layers, H or Hkv, queries], [layers, queries] */
};

/* A change of rows `first` to `end` - 1 at one hook point: `keep` * row + `add`, or of the row minus `base`, plus `base`. */
enum point { EMBEDDED, MIXED, ATTN_CHANGE, MLP_CHANGE, RESID_OUT, K_ROT, V };
struct edit {
    int64_t point, layer, first, end, from, width; /* from, width: the numbers of a row */
    const float *add; /* [width], or [end - first, width], or NULL */
    int64_t each; /* 1 if `add` has a row for each */
    float keep;
    int32_t based; /* 1: RESID_OUT changes what the layer adds to its input */
};

struct pass {
    const int64_t *ids, *positions, *own[2], *out_rows; /* [rows]; own: slots of the rows' K and V; out_rows [outs] */
    const struct sequence *sequences;
    const struct edit *edits;
    int64_t rows, outs, members, edits_count; /* members: sequences */
    int64_t first, end; /* the layers of this call, the embedding before layer 0 */
    int64_t with_head, whole; /* 1: the head, too; all scores and weights, for an observer */
    /* The place of each value in the buffer, in floats. */
    int64_t normed, qkv, qk, rotated, scores, weights, mixed, attn_raw, change, middle;
    int64_t mlp_normed, gate_up, hidden, mlp_raw, mlp_change, ends, probabilities, expert, scratch;
    float *buffer, *input, *final, *logits; /* input of the first layer [rows, D]; final [outs, D]; logits [outs, V] */
    int32_t *chosen; /* [layers, rows, chosen]: the experts of each row, largest share first */
    float *shares;
    double *seconds; /* [layers + 1] clock times before each layer and after the last, or NULL */
    struct summary *summaries; /* [outs] */
};

/* Normalizes a row: x / sqrt(mean(x^2) + eps) * weight (arXiv:1910.07467, eq. 4), or LayerNorm (arXiv:1607.06450). */
INLINE void norm_row(const struct norm *n, float eps, const float *x, int64_t width, float *out) {
    float squares = 0, mean = 0;
    if (n->bias) {
#pragma omp simd reduction(+ : mean)
        for (int64_t i = 0; i < width; i++) mean += x[i];
        mean /= width;
    }
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; i++) squares += (x[i] - mean) * (x[i] - mean);
    const float factor = 1.0f / sqrtf(squares / width + eps);
    if (n->bias)
        for (int64_t i = 0; i < width; i++) out[i] = (x[i] - mean) * factor * n->weight[i] + n->bias[i];
    else
        for (int64_t i = 0; i < width; i++) out[i] = x[i] * factor * n->weight[i];
}

static void norm_rows(struct member *me, const struct norm *n, float eps, const float *x, int64_t rows,
                      int64_t width, float *out) {
    PARTS(s, rows, 1)
        for (int64_t row = s.first; row < s.end; row++) norm_row(n, eps, x + row * width, width, out + row * width);
}

/* Returns the length of a row as float16. */
INLINE uint16_t length_of(const float *x, int64_t width) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; i++) squares += x[i] * x[i];
    return to_half(sqrtf(squares));
}

/* Changes rows [.., stride] at a hook point, as Edit.applied in kvscope/model/engine/changes.py. */
static void edit(struct member *me, const struct pass *p, int64_t point, int64_t layer, float *x, int64_t stride,
                 const float *base) {
    for (const struct edit *e = p->edits; e < p->edits + p->edits_count; e++) {
        if (e->point != point || e->layer != layer) continue;
        PARTS(s, e->end - e->first, 1) for (int64_t row = s.first; row < s.end; row++) {
            float *to = x + (e->first + row) * stride + e->from;
            const float *from = e->based ? base + (e->first + row) * stride + e->from : NULL;
            const float *add = e->add ? e->add + (e->each ? row * e->width : 0) : NULL;
            for (int64_t i = 0; i < e->width; i++) {
                float value = e->keep == 0 ? 0 : (from ? to[i] - from[i] : to[i]) * e->keep;
                if (from) value += from[i];
                to[i] = add ? value + add[i] : value;
            }
        }
    }
}

static void embed(struct member *me, const struct model *m, const struct pass *p) {
    PARTS(s, p->rows, 1) for (int64_t row = s.first; row < s.end; row++) {
        float *to = p->input + row * m->d;
        row_of(&m->table, p->ids[row], to);
        for (int64_t i = 0; i < m->d; i++) to[i] *= m->embedding_scale;
        if (m->positions)
            for (int64_t i = 0; i < m->d; i++) to[i] += m->positions[p->positions[row] * m->d + i];
    }
    edit(me, p, EMBEDDED, 0, p->input, m->d, NULL);
}

/* Norms Q and K of each head (arXiv:2302.05442) if the model does, and rotates them by the rows' positions. */
static void norm_and_rotate(struct member *me, const struct model *m, const struct layer *l, const struct pass *p) {
    const int64_t Dh = m->head_dim, half = Dh / 2, both = m->heads + m->kv_heads, stride = (both + m->kv_heads) * Dh;
    PARTS(part, p->rows * both, 4 * both) for (int64_t i = part.first; i < part.end; i++) {
        const int64_t row = i / both, head = i % both;
        const float *from = p->buffer + p->qkv + row * stride + head * Dh;
        float *to = p->buffer + p->rotated + i * Dh;
        if (l->q_norm.weight) {
            float *normed = p->buffer + p->qk + i * Dh;
            norm_row(head < m->heads ? &l->q_norm : &l->k_norm, m->eps, from, Dh, normed);
            from = normed;
        }
        if (!l->rotations) { memcpy(to, from, Dh * sizeof(float)); continue; }
        const float *c = l->rotations + p->positions[row] * 2 * Dh, *s = c + Dh;
        for (int64_t k = 0; k < half; k++) {
            to[k] = from[k] * c[k] + from[k + half] * s[k];
            to[k + half] = from[k + half] * c[k + half] + from[k] * s[k + half];
        }
    }
    edit(me, p, K_ROT, l - m->layers, p->buffer + p->rotated + m->heads * Dh, both * Dh, NULL);
    edit(me, p, V, l - m->layers, p->buffer + p->qkv + both * Dh, stride, NULL);
}

/* Returns the sequence of a row of the pass. Rows are in the order of the sequences. */
INLINE const struct sequence *sequence_of(const struct pass *p, int64_t row) {
    const struct sequence *s = p->sequences;
    while (row >= s->start + s->queries) s++;
    return s;
}

/* Stores K and V of each row in the cache, and captures the lengths of its q, k and v. */
static void store_and_capture(struct member *me, const struct model *m, const struct layer *l, const struct pass *p) {
    const int64_t Dh = m->head_dim, both = m->heads + m->kv_heads, layer = l - m->layers;
    PARTS(part, p->rows, 4) for (int64_t row = part.first; row < part.end; row++) {
        const struct sequence *s = sequence_of(p, row);
        const int64_t q = row - s->start, slot = p->own[l->window > 0][row];
        const float *rotated = p->buffer + p->rotated + row * both * Dh;
        const float *v = p->buffer + p->qkv + row * (both + m->kv_heads) * Dh + both * Dh;
        for (int64_t head = 0; head < m->kv_heads; head++) {
            const int64_t at = (head * l->pool + slot) * Dh, to = (layer * m->kv_heads + head) * s->queries + q;
            memcpy(l->keys + at, rotated + (m->heads + head) * Dh, Dh * sizeof(float));
            memcpy(l->values + at, v + head * Dh, Dh * sizeof(float));
            if (!s->attention) continue;
            s->k[to] = length_of(rotated + (m->heads + head) * Dh, Dh);
            s->v[to] = length_of(v + head * Dh, Dh);
        }
        for (int64_t head = 0; s->attention && head < m->heads; head++)
            s->q[(layer * m->heads + head) * s->queries + q] = length_of(rotated + head * Dh, Dh);
    }
}

static void softmax(const float *scores, int64_t count, float *weights) {
    float largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < count; k++) largest = scores[k] > largest ? scores[k] : largest;
    for (int64_t k = 0; k < count; k += LANES)
        store_some(weights + k, exponential(load_some(scores + k, count - k, 0) - largest), count - k);
    for (int64_t k = 0; k < count; k++) sum += weights[k];
    for (int64_t k = 0; k < count; k++) weights[k] /= sum;
}

/* Encodes weights as kvscope/model/companding.py: round(255 * sqrt(w)), halves to even. */
static void compand(const float *weights, int64_t count, uint8_t *to) {
    for (int64_t k = 0; k < count; k++) to[k] = (int32_t)(sqrtf(weights[k]) * 255.0f + 12582912.0f - 12582912.0f);
}

/* softmax(q K^T * scale) V (arXiv:1706.03762, eq. 1) of one row and head; the row sees keys `first` to `end` - 1. */
static void attend_one(const struct model *m, const struct layer *l, const struct pass *p, const struct sequence *s,
                       int64_t q, int64_t head, int64_t first, int64_t end) {
    const int64_t Dh = m->head_dim, row = s->start + q, kv = head / (m->heads / m->kv_heads);
    const int64_t at = s->scores + (head * s->queries + q) * s->padded, *slots = s->slots[l->window > 0];
    const float *query = p->buffer + p->rotated + (row * (m->heads + m->kv_heads) + head) * Dh;
    const float *keys = l->keys + kv * l->pool * Dh, *values = l->values + kv * l->pool * Dh;
    float *scores = p->buffer + p->scores + at, *weights = p->buffer + p->weights + at;
    float *mixed = p->buffer + p->mixed + (row * m->heads + head) * Dh;
    for (int64_t k = p->whole ? 0 : first; k < (p->whole ? s->padded : end); k++) {
        const float *key = keys + slots[k] * Dh;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < Dh; i++) sum += query[i] * key[i];
        scores[k] = sum * m->score_scale;
    }
    if (p->whole) memset(weights, 0, s->padded * sizeof(float));
    softmax(scores + first, end - first, weights + first);
    memset(mixed, 0, Dh * sizeof(float));
    for (int64_t k = first; k < end; k++) {
        const float *value = values + slots[k] * Dh, weight = weights[k];
#pragma omp simd
        for (int64_t i = 0; i < Dh; i++) mixed[i] += weight * value[i];
    }
    if (!s->attention) return;
    uint8_t *captured = s->attention + (((l - m->layers) * m->heads + head) * s->queries + q) * s->keys;
    memset(captured, 0, s->keys);
    compand(weights + first, end - first, captured + first);
}

static void attend(struct member *me, const struct model *m, const struct layer *l, const struct pass *p) {
    PARTS(part, p->rows * m->heads, 3) for (int64_t i = part.first; i < part.end; i++) {
        const struct sequence *s = sequence_of(p, i / m->heads);
        const int64_t q = i / m->heads - s->start, end = s->keys - s->queries + q + 1;
        attend_one(m, l, p, s, q, i % m->heads, l->window && end > l->window ? end - l->window : 0, end);
    }
    edit(me, p, MIXED, l - m->layers, p->buffer + p->mixed, m->heads * m->head_dim, NULL);
}

/* Computes the activation of `count` numbers: SiLU (arXiv:1702.03118), or GELU approximated by tanh (arXiv:1606.08415);
 * with a gate, times `up` (arXiv:2002.05202).
 */
static void activate(int32_t gelu, const float *x, const float *up, int64_t count, float *out) {
    for (int64_t i = 0; i < count; i += LANES) {
        const floats value = load_some(x + i, count - i, 0);
        const floats inner = gelu ? (value + value * value * value * 0.044715f) * 1.5957691216f : value;
        const floats active = value / (1.0f + exponential(-inner)); /* (1 + tanh(y)) / 2 = 1 / (1 + e^(-2y)) */
        store_some(out + i, up ? active * load_some(up + i, count - i, 0) : active, count - i);
    }
}

static void activate_rows(struct member *me, const struct model *m, const float *x, int64_t rows, int64_t width,
                          int gated, float *out) {
    const int64_t parts = (width + 4 * LANES - 1) / (4 * LANES), wide = width * (1 + gated);
    PARTS(s, rows * parts, 12) for (int64_t i = s.first; i < s.end; i++) {
        const int64_t at = i % parts * 4 * LANES, count = least(4 * LANES, width - at);
        const float *from = x + i / parts * wide + at;
        activate(m->gelu, from, gated ? from + width : NULL, count, out + i / parts * width + at);
    }
}

/* Adds a change to the rows of the residual stream. */
static void add_rows(struct member *me, const struct model *m, const struct pass *p, const float *x, const float *change,
                     float *out) {
    PARTS(s, p->rows, 1)
        for (int64_t i = s.first * m->d; i < s.end * m->d; i++) out[i] = x[i] + change[i];
}

/* Chooses the experts of a row by its probabilities, the largest first. */
static void choose_experts(const struct experts *e, const float *probabilities, int32_t *chosen, float *shares) {
    float sum = 0;
    for (int64_t rank = 0; rank < e->chosen; rank++) {
        int32_t best = -1;
        for (int32_t each = 0; each < e->count; each++) {
            int is_taken = 0;
            for (int64_t before = 0; before < rank; before++) is_taken |= chosen[before] == each;
            if (!is_taken && (best < 0 || probabilities[each] > probabilities[best])) best = each;
        }
        chosen[rank] = best;
        sum += shares[rank] = probabilities[best];
    }
    for (int64_t rank = 0; e->normalized && rank < e->chosen; rank++) shares[rank] /= sum;
}

/* The MLP of a layer with experts (arXiv:1701.06538, section 2). Adds their outputs in the order of the experts. */
static void compute_experts(struct member *me, const struct model *m, const struct layer *l, const struct pass *p) {
    const struct experts *e = l->experts;
    float *b = p->buffer, *gate_up = b + p->expert, *hidden = gate_up + 2 * e->width, *out = hidden + e->width;
    const int64_t at = (l - m->layers) * p->rows * e->chosen;
    linear(me, &e->router, b + p->mlp_normed, p->rows, b + p->scratch, b + p->probabilities);
    PARTS(s, p->rows, 1) for (int64_t row = s.first; row < s.end; row++) {
        float *probabilities = b + p->probabilities + row * e->count;
        softmax(probabilities, e->count, probabilities);
        choose_experts(e, probabilities, p->chosen + at + row * e->chosen, p->shares + at + row * e->chosen);
        memset(b + p->mlp_change + row * m->d, 0, m->d * sizeof(float));
    }
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t each = 0; each < e->count; each++)
            for (int64_t i = at + row * e->chosen; i < at + (row + 1) * e->chosen; i++) {
                if (p->chosen[i] != each) continue;
                linear(me, e->gate_up + each, b + p->mlp_normed + row * m->d, 1, b + p->scratch, gate_up);
                activate_rows(me, m, gate_up, 1, e->width, 1, hidden);
                linear(me, e->down + each, hidden, 1, b + p->scratch, out);
                PARTS(s, m->d, m->d)
                    for (int64_t k = 0; k < m->d; k++) b[p->mlp_change + row * m->d + k] += out[k] * p->shares[i];
            }
}

static void compute_mlp(struct member *me, const struct model *m, const struct layer *l, const struct pass *p) {
    float *b = p->buffer;
    linear(me, &l->gate_up, b + p->mlp_normed, p->rows, b + p->scratch, b + p->gate_up);
    activate_rows(me, m, b + p->gate_up, p->rows, m->d_mlp, m->gated, b + p->hidden);
    linear(me, &l->down, b + p->hidden, p->rows, b + p->scratch, b + (l->mlp_post.weight ? p->mlp_raw : p->mlp_change));
    if (l->mlp_post.weight) norm_rows(me, &l->mlp_post, m->eps, b + p->mlp_raw, p->rows, m->d, b + p->mlp_change);
}

static void compute_layer(struct member *me, const struct model *m, const struct layer *l, const struct pass *p,
                          const float *x, float *end) {
    float *b = p->buffer, *scratch = b + p->scratch;
    const int64_t rows = p->rows, d = m->d, layer = l - m->layers;
    norm_rows(me, &l->attn_norm, m->eps, x, rows, d, b + p->normed);
    linear(me, &l->qkv, b + p->normed, rows, scratch, b + p->qkv);
    norm_and_rotate(me, m, l, p);
    store_and_capture(me, m, l, p);
    attend(me, m, l, p);
    linear(me, &l->out, b + p->mixed, rows, scratch, b + (l->attn_post.weight ? p->attn_raw : p->change));
    if (l->attn_post.weight) norm_rows(me, &l->attn_post, m->eps, b + p->attn_raw, rows, d, b + p->change);
    edit(me, p, ATTN_CHANGE, layer, b + p->change, d, NULL);
    add_rows(me, m, p, x, b + p->change, b + p->middle);
    norm_rows(me, &l->mlp_norm, m->eps, b + p->middle, rows, d, b + p->mlp_normed);
    if (l->experts) compute_experts(me, m, l, p);
    else compute_mlp(me, m, l, p);
    edit(me, p, MLP_CHANGE, layer, b + p->mlp_change, d, NULL);
    add_rows(me, m, p, b + p->middle, b + p->mlp_change, end);
    edit(me, p, RESID_OUT, layer, end, d, x);
    PARTS(part, rows, 4) for (int64_t row = part.first; row < part.end; row++) {
        const struct sequence *s = sequence_of(p, row);
        if (s->attention) s->residual[layer * s->queries + row - s->start] = length_of(end + row * d, d);
    }
}
