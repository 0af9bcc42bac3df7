/* What a step needs of its logits: the largest, sums for softmax, and for a frame the best and a histogram of the rest. */
#define TOP 256
#define BINS 256
#define QUARTERS 4 /* parts of the logits that are counted at a time */
#define PART 4096 /* logits per sum: the order of additions does not depend on the number of threads */

struct summary {
    double sum, weighted; /* of e^(logit - largest), and of that times (logit - largest) */
    float largest, smallest; /* smallest: the histogram begins there; 0 if no token is left for it */
    int64_t best; /* the first of the largest */
    int32_t *ids, *counts; /* [TOP] and [QUARTERS, BINS], or NULL: neither is needed; counts end in the first BINS */
    float *top; /* [TOP]: logits of `ids`, best first */
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

/* Counts the logits `first` to `end` - 1 in BINS equal bins from the smallest to the last of the best. If these are equal,
 * all are in the last bin. */
static void count_part(const float *logits, int64_t first, int64_t end, const struct summary *s, int64_t count, int32_t *counts) {
    const float low = s->smallest, range = s->top[count - 1] - low;
    for (int64_t i = first; i < end; i += LANES) {
        const floats place = (load_some(logits + i, end - i, low) - low) / range * BINS;
        const ints bins = __builtin_convertvector(place, ints);
        for (int lane = 0; lane < LANES && i + lane < end; lane++) {
            const int32_t bin = range > 0 ? bins[lane] : BINS - 1;
            counts[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
        }
    }
}

/* Computes all but the best and the histogram. */
static void sum_up(const float *logits, int64_t vocab, struct summary *s) {
    floats most = (floats){0} - INFINITY, least_of = (floats){0} + INFINITY;
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
}

/* Summarizes rows of logits [rows, vocab]. */
static void summarize(struct member *me, const float *logits, int64_t rows, int64_t vocab, struct summary *summaries) {
    const int64_t count = least(TOP, vocab), quarter = (vocab + QUARTERS - 1) / QUARTERS;
    PARTS(part, 2 * rows, 1) for (int64_t i = part.first; i < part.end; i++) {
        struct summary *s = summaries + i / 2;
        const float *of = logits + i / 2 * vocab;
        if (i % 2 == 0) sum_up(of, vocab, s);
        else if (s->ids) {
            find_top(of, vocab, count, s->ids);
            for (int64_t k = 0; k < count; k++) s->top[k] = of[s->ids[k]];
        }
    }
    if (!summaries->ids) return;
    PARTS(part, QUARTERS * rows, 1) for (int64_t i = part.first; i < part.end; i++) {
        const struct summary *s = summaries + i / QUARTERS;
        const int64_t first = i % QUARTERS * quarter;
        int32_t *counts = s->counts + i % QUARTERS * BINS;
        memset(counts, 0, BINS * sizeof *counts);
        if (count < vocab) count_part(logits + i / QUARTERS * vocab, first, least(first + quarter, vocab), s, count, counts);
    }
    PARTS(part, rows, 1) for (int64_t i = part.first; i < part.end; i++) {
        struct summary *s = summaries + i;
        for (int64_t k = BINS; k < QUARTERS * BINS; k++) s->counts[k % BINS] += s->counts[k];
        if (count == vocab) s->smallest = 0;
        else s->counts[BINS - 1] -= count; /* the best are all in the last bin */
    }
}
