/**
 * The page's one painting queue: as many jobs in an animation frame as its time allows, the others in the next ones. A
 * step that changes everything is then never one long task.
 */

/** Time for rendering in one frame of 16 ms. */
const BUDGET_MS = 7;

/**
 * @param {{requestFrame: (callback: () => Promise<void>) => *, now: () => number}} clock
 * @returns {(job: () => void, urgent?: boolean) => () => void} `later`: the job is done once, in a later frame, after those
 *   that were asked for before it; an urgent one at the beginning of the next frame. What is returned takes it back.
 */
export function createQueue({ requestFrame, now }) {
  const urgentJobs = new Set();
  const jobs = new Set();
  let asked = false;

  const schedule = () => {
    if (!asked) requestFrame(onFrame);
    asked = true;
  };

  /** What it asks for is rendered in a microtask of its own, which comes before what follows it here. */
  const doFirst = async (due, count) => {
    for (const job of [...due].slice(0, count)) {
      due.delete(job);
      job();
    }
    await null;
  };

  const onFrame = async () => {
    const end = now() + BUDGET_MS;
    try {
      await doFirst(urgentJobs, urgentJobs.size);
      // One in every frame, however long the urgent ones take, or the others would wait for ever.
      do await doFirst(jobs, 1);
      while (jobs.size && now() < end);
    } finally {
      asked = false;
      if (urgentJobs.size || jobs.size) schedule();
    }
  };

  return (job, urgent = false) => {
    const due = urgent ? urgentJobs : jobs;
    due.add(job);
    schedule();
    return () => due.delete(job);
  };
}

/**
 * @param {{state: Function, subscribe: Function}} store
 * @param {Function} later as `createQueue` gives it
 * @param {(state: Object) => void} onShown is told a state once every part shows it, or a newer one
 */
export function followShown(store, later, onShown) {
  let waiting = false;
  const wait = (state) => {
    if (waiting) return;
    waiting = true;
    // By the time that the first job is done every part has put its own into the queue: the second is behind them.
    later(() =>
      later(() => {
        waiting = false;
        onShown(state);
        if (store.state() !== state) wait(store.state());
      }),
    );
  };
  store.subscribe(wait);
}
