/** Whether the viewer can run their own prompt here, and whether the form is open. Pure. */

/** An embed, a file, a static site and a frame without an origin cannot start runs. */
export function canAsk({ embed, file, inSite, sandboxed }) {
  return !embed && !file && !inSite && !sandboxed;
}

/** Without a run to show, the form is open. */
export function isAsking(state) {
  return canAsk(state) && (state.asking || (state.phase === "idle" && !state.run));
}
