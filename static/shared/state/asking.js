/** Whether a prompt of one's own can be asked for here, and whether it is being typed. Pure. */

/** Inside another page, in a file and in a frame without an origin no run can be started. */
export function canAsk({ embed, file, sandboxed }) {
  return !embed && !file && !sandboxed;
}

/** Where there is no run to look at, a prompt is all that one can go on with. */
export function isAsking(state) {
  return canAsk(state) && (state.asking || (state.phase === "idle" && !state.run));
}
