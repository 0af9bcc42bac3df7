/** The keys of the page of serving. */

import { msg } from "../shared/words/msg.js";

const step =
  (by) =>
  ({ store }) =>
    store.dispatch({ type: "step", by });

/** As `KEYS` of the Stage. */
export const KEYS = [
  { keys: ["ArrowLeft"], label: "←", text: msg`Previous pass`, run: step(-1) },
  { keys: ["ArrowRight"], label: "→", text: msg`Next pass`, run: step(1) },
  {
    keys: [" "],
    label: msg`Space`,
    text: msg`Play or pause`,
    run: ({ store }) => store.dispatch({ type: store.state().mode === "playing" ? "pause" : "play" }),
  },
];
