/* Computes what torch runs slowly on a CPU: products with weights in any format, and a whole forward pass with what is
 * shown of it, in one call. All in float32.
 *
 * A row's bits depend only on its own sequence: every sum has one order, for any number of rows, sequences and threads.
 * So a run's text is the same alone and in a batch, however its prompt is divided into passes.
 */
#include "vectors.h"
#include "team.h"
#include "products.h"
#include "layer.h"
#include "shown.h"
#ifndef __wasm__
#include <time.h>
#endif

struct product { const struct linear *l; const float *x; int64_t rows; float *sums, *out; };

static void product_part(struct member *me, const void *argument) {
    const struct product *p = argument;
    linear(me, p->l, p->x, p->rows, p->sums, p->out);
}

/* out [rows, outputs] = x [rows, K] times the weight, plus the bias. `sums` [rows, groups]: scratch memory. */
void product(const struct linear *l, const float *x, int64_t rows, float *sums, float *out, int64_t threads) {
    const struct product p = {l, x, rows, sums, out};
    together(threads, 2 * l->count + 1, product_part, &p);
}

/* Writes rows `first` to `first` + `count` - 1 of a weight, [count, K], dequantized. */
void rows_of(const struct weight *w, int64_t first, int64_t count, float *to) {
    for (int64_t i = 0; i < count; i++) row_of(w, first + i, to + i * w->groups * w->size);
}

static void clock_at(struct member *me, const struct pass *p, int64_t layer) {
#ifndef __wasm__
    struct timespec now;
    if (me->place || !p->seconds) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->seconds[layer] = now.tv_sec + now.tv_nsec * 1e-9;
#endif
}

struct step { const struct model *m; const struct pass *p; };

static void step_part(struct member *me, const void *argument) {
    const struct model *m = ((const struct step *)argument)->m;
    const struct pass *p = ((const struct step *)argument)->p;
    if (p->first == 0) embed(me, m, p);
    const float *x = p->input;
    for (int64_t layer = p->first; layer < p->end; layer++) {
        float *end = p->buffer + p->ends + layer % 2 * p->rows * m->d; /* not over x, which the layer still reads */
        clock_at(me, p, layer);
        compute_layer(me, m, m->layers + layer, p, x, end);
        x = end;
    }
    clock_at(me, p, p->end);
    if (!p->with_head) return;
    PARTS(s, p->outs, 1)
        for (int64_t i = s.first; i < s.end; i++)
            norm_row(&m->norm, m->eps, x + p->out_rows[i] * m->d, m->d, p->final + i * m->d);
    linear(me, &m->head, p->final, p->outs, p->buffer + p->scratch, p->logits);
    summarize(me, p->logits, p->outs, m->vocab, p->summaries);
}

/* Returns how many stages a pass has at most: a product has 2 for each part of its weight, and 1 for a bias. */
static int64_t most_stages(const struct model *m, const struct pass *p) {
    int64_t stages = 16 + 2 * m->head.count + p->edits_count;
    for (const struct layer *l = m->layers + p->first; l < m->layers + p->end; l++) {
        stages += 16 + 2 * (l->qkv.count + l->out.count + l->gate_up.count + l->down.count);
        if (!l->experts) continue;
        const int64_t parts = l->experts->gate_up->count + l->experts->down->count;
        stages += 2 * l->experts->router.count + p->rows * l->experts->chosen * (2 * parts + 4);
    }
    return stages;
}

/* Computes the layers `first` to `end` - 1 of a pass, which begins with the embedding if `first` is 0; otherwise `input` is
 * where the call before wrote the rows. `with_head`: also computes the logits.
 */
void step(const struct model *m, const struct pass *p, int64_t threads) {
    const struct step s = {m, p};
    together(threads, most_stages(m, p), step_part, &s);
}
