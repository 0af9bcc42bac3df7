/** The keys of the page of serving. */

const step =
  (by) =>
  ({ store }) =>
    store.dispatch({ type: "step", by });

/** As `KEYS` of the Stage. */
export const KEYS = [
  { keys: ["ArrowLeft"], run: step(-1) },
  { keys: ["ArrowRight"], run: step(1) },
  { keys: [" "], run: ({ store }) => store.dispatch({ type: store.state().mode === "playing" ? "pause" : "play" }) },
];
