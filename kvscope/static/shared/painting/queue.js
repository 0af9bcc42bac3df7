/**
 * The page's painting queue: it runs as many jobs in an animation frame as its time allows, and the others in later frames, so that a
 * step that changes everything is not one long task.
 */

/** Time for rendering in one frame of 16 ms. */
const BUDGET_MS = 7;

/**
 * @param {{requestFrame: (callback: () => Promise<void>) => *, now: () => number}} clock
 * @returns {(job: () => void, urgent?: boolean) => () => void} `later`: runs the job once, in a later frame, after
 *   earlier jobs; an urgent one at the beginning of the next frame. It returns a function that cancels the job.
 */
export function createQueue({ requestFrame, now }) {
  const urgentJobs = new Set();
  const jobs = new Set();
  let requested = false;

  const schedule = () => {
    if (!requested) requestFrame(onFrame);
    requested = true;
  };

  /** A job's rendering is a microtask, which runs before the code after the `await`. */
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
      // At least one in every frame, even after long urgent jobs, so that the others do not wait forever.
      do await doFirst(jobs, 1);
      while (jobs.size && now() < end);
    } finally {
      requested = false;
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
 * @param {Function} later of `createQueue`
 * @param {(state: Object) => void} onShown called with a state once every part shows it, or a newer one
 */
export function followShown(store, later, onShown) {
  let waiting = false;
  const wait = (state) => {
    if (waiting) return;
    waiting = true;
    // When the first job runs, every part has already queued its own job, so the second job comes after them.
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
