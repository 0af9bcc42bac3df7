/* What a step needs of its logits: the largest, sums for softmax, and for a frame the best and a histogram of the rest. */
#define TOP 256
#define BINS 256
#define PART 4096 /* logits per sum: the order of additions does not depend on the number of threads */

struct summary {
    double sum, weighted; /* of e^(logit - largest), and of that times (logit - largest) */
    float largest, smallest;
    int64_t best; /* the first of the largest */
    int32_t *ids, *counts; /* [TOP] and [BINS], or NULL: neither is needed */
    float *top; /* [TOP]: logits of `ids`, best first */
    float low; /* of the histogram's first bin; its last ends with the last of `top` */
    int32_t finite;
};

/* Whether token a comes after token b: a smaller logit, or an equal one and a higher id. */
INLINE int is_after(const float *logits, int32_t a, int32_t b) {
    return logits[a] < logits[b] || (logits[a] == logits[b] && a > b);
}

/* Moves the id at `at` down a heap of `count` ids whose first is the last in order. */
static void sift(const float *logits, int32_t *heap, int64_t at, int64_t count) {
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_after(logits, heap[child + 1], heap[child])) child++;
        if (!is_after(logits, heap[child], heap[at])) return;
        const int32_t id = heap[at];
        heap[at] = heap[child], heap[child] = id;
    }
}

/* Writes the ids of the `count` largest logits, best first. */
static void find_top(const float *logits, int64_t vocab, int64_t count, int32_t *ids) {
    for (int64_t i = 0; i < count; i++) ids[i] = i;
    for (int64_t i = count / 2; i-- > 0;) sift(logits, ids, i, count);
    for (int64_t first = count; first < vocab; first += LANES) {
        const int64_t end = least(first + LANES, vocab);
        const float bar = logits[ids[0]];
        int any = 0;
        for (int64_t i = first; i < end; i++) any |= logits[i] > bar;
        for (int64_t i = first; any && i < end; i++)
            if (logits[i] > logits[ids[0]]) ids[0] = i, sift(logits, ids, 0, count);
    }
    for (int64_t left = count; left-- > 1;) {
        const int32_t last = ids[0];
        ids[0] = ids[left], ids[left] = last;
        sift(logits, ids, 0, left);
    }
}

/* Counts all logits but the `count` best in BINS equal bins from `low` to the last of the best. */
static void count_rest(const float *logits, int64_t vocab, int64_t count, struct summary *s) {
    memset(s->counts, 0, BINS * sizeof *s->counts);
    s->low = 0;
    if (count == vocab) return;
    const float low = s->low = s->smallest, range = s->top[count - 1] - low;
    if (range > 0)
        for (int64_t i = 0; i < vocab; i++) {
            const int32_t bin = (logits[i] - low) / range * BINS;
            s->counts[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
        }
    else s->counts[BINS - 1] = vocab;
    s->counts[BINS - 1] -= count; /* the best are all in the last bin */
}

static void summarize(const float *logits, int64_t vocab, struct summary *s) {
    floats most = (floats){0} - INFINITY, least_of = (floats){0} + INFINITY;
    s->finite = 1;
    for (int64_t i = 0; i < vocab; i += LANES) {
        const floats some = load_some(logits + i, vocab - i, logits[0]);
        const ints more = some > most, less = some < least_of;
        most = of_bits((bits_of(some) & more) | (bits_of(most) & ~more));
        least_of = of_bits((bits_of(some) & less) | (bits_of(least_of) & ~less));
    }
    s->largest = most[0], s->smallest = least_of[0];
    for (int lane = 1; lane < LANES; lane++) {
        if (most[lane] > s->largest) s->largest = most[lane];
        if (least_of[lane] < s->smallest) s->smallest = least_of[lane];
    }
    s->best = 0;
    while (s->best < vocab - 1 && logits[s->best] != s->largest) s->best++;
    s->sum = s->weighted = 0;
    for (int64_t first = 0; first < vocab; first += PART) {
        floats sum = {0}, weighted = {0};
        for (int64_t i = first; i < least(first + PART, vocab); i += LANES) {
            const floats below = load_some(logits + i, vocab - i, -INFINITY) - s->largest;
            const floats weight = exponential(below);
            sum += weight;
            weighted += of_bits(bits_of(weight * below) & ~(weight == 0.0f)); /* 0 times infinity counts as 0 */
        }
        for (int lane = 0; lane < LANES; lane++) s->sum += sum[lane], s->weighted += weighted[lane];
    }
    /* A NaN is neither largest nor smallest, but makes the sum NaN. */
    s->finite = s->sum - s->sum == 0 && s->largest - s->largest == 0 && s->smallest - s->smallest == 0;
    if (!s->ids || !s->finite) return;
    const int64_t count = least(TOP, vocab);
    find_top(logits, vocab, count, s->ids);
    for (int64_t i = 0; i < count; i++) s->top[i] = logits[s->ids[i]];
    count_rest(logits, vocab, count, s);
}
