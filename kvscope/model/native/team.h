/* A team of threads that compute one function together. It needs no OpenMP library, of which a process may have loaded
 * another one, and every compiler has what it needs. WebAssembly computes on one thread.
 *
 * All members call the same function. Its loops are stages: whoever is free takes the next part of a stage, and nobody
 * goes on before all parts are computed. So a member that waits for a processor holds up only the part that it has taken.
 */
struct share { int64_t first, end; };
#ifdef __wasm__
struct member { int place; };
#else
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MOST_THREADS 64
#define MOST_STAGES 16384 /* of a call: about 20 in a layer without experts */
#define SPINS 20000 /* about 0.1 ms: longer than a wait within a step, shorter than most between steps */

struct stage { _Atomic int64_t next, done; };
struct member { int place; int64_t stage; struct stage *stages; }; /* stages NULL: it is alone */
#endif
typedef void work(struct member *me, const void *argument);

/* Each part `s` of 0 to `all` - 1, `each` places long, that this member computes. At its end, all parts are computed. */
#define PARTS(s, all, each) for (struct share s = {0, 0}; another(me, &s, all, each);)

#ifdef __wasm__
INLINE int another(struct member *me, struct share *s, int64_t all, int64_t each) {
    if (s->end >= all) return 0;
    *s = (struct share){0, all};
    return 1;
}
static void together(int64_t count, int64_t stages, work *function, const void *argument) {
    struct member me = {0};
    function(&me, argument);
}
#else

/* The only state of this library: one team per process, which serves one caller at a time. */
static struct {
    pthread_mutex_t busy, lock;
    pthread_cond_t start;
    int threads, sleeping, count; /* helpers that exist, and that sleep; members of this call */
    _Atomic unsigned turn; /* changes when there is work */
    _Atomic int working;
    work *function;
    const void *argument;
    struct stage stages[MOST_STAGES];
} team = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

INLINE void relax(int64_t spin) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
    if (spin > SPINS) sched_yield();
}

static int another(struct member *me, struct share *s, int64_t all, int64_t each) {
    if (!me->stages) {
        if (s->end >= all) return 0;
        *s = (struct share){0, all};
        return 1;
    }
    struct stage *stage = me->stages + me->stage;
    if (s->end > s->first) atomic_fetch_add_explicit(&stage->done, s->end - s->first, memory_order_acq_rel);
    if (atomic_load_explicit(&stage->next, memory_order_relaxed) < all) {
        const int64_t at = atomic_fetch_add_explicit(&stage->next, each, memory_order_relaxed);
        if (at < all) {
            *s = (struct share){at, least(at + each, all)};
            return 1;
        }
    }
    for (int64_t spin = 0; atomic_load_explicit(&stage->done, memory_order_acquire) < all; spin++) relax(spin);
    me->stage++;
    return 0;
}

static void *help(void *place) {
    struct member me = {(int)(intptr_t)place, 0, team.stages};
    for (unsigned done = 0;;) {
        for (int spin = 0; atomic_load_explicit(&team.turn, memory_order_acquire) == done && spin < SPINS; spin++) relax(0);
        pthread_mutex_lock(&team.lock);
        team.sleeping++;
        while (atomic_load(&team.turn) == done) pthread_cond_wait(&team.start, &team.lock);
        team.sleeping--;
        done = atomic_load(&team.turn);
        const int takes_part = me.place < team.count;
        if (takes_part) atomic_fetch_add(&team.working, 1);
        pthread_mutex_unlock(&team.lock);
        if (!takes_part) continue;
        me.stage = 0;
        team.function(&me, team.argument);
        atomic_fetch_sub_explicit(&team.working, 1, memory_order_release);
    }
    return NULL;
}

/* Calls the function on up to `count` threads, of which the caller is one; on fewer if they cannot be started, and on the
 * caller's alone while another thread of the process computes, or if the function may have more than MOST_STAGES stages.
 */
static void together(int64_t count, int64_t stages, work *function, const void *argument) {
    struct member me = {0, 0, NULL};
    count = least(count, MOST_THREADS);
    if (count <= 1 || stages > MOST_STAGES || pthread_mutex_trylock(&team.busy)) { function(&me, argument); return; }
    pthread_mutex_lock(&team.lock);
    while (team.threads < count - 1) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, (void *)(intptr_t)(team.threads + 1))) break;
        pthread_detach(thread);
        team.threads++;
    }
    team.count = least(count, team.threads + 1);
    team.function = function, team.argument = argument;
    atomic_fetch_add_explicit(&team.turn, 1, memory_order_release);
    if (team.sleeping) pthread_cond_broadcast(&team.start);
    pthread_mutex_unlock(&team.lock);
    me.stages = team.stages;
    function(&me, argument);
    pthread_mutex_lock(&team.lock);
    team.count = 0; /* a helper that has not begun is not needed any more */
    pthread_mutex_unlock(&team.lock);
    for (int64_t spin = 0; atomic_load_explicit(&team.working, memory_order_acquire); spin++) relax(spin);
    memset(team.stages, 0, me.stage * sizeof *team.stages);
    pthread_mutex_unlock(&team.busy);
}
#endif
