/** Which pass is shown: the newest of a log that grows, one that somebody chose, or one after the other. Pure. */

/** How fast passes are played, by how long they took. */
export const SPEEDS = [
  { speed: 1, name: "as fast as it was" },
  { speed: 0.5, name: "half as fast" },
  { speed: 0.25, name: "4× slower" },
  { speed: 0.1, name: "10× slower" },
];
export const FIRST_SPEED = 0.25;

/**
 * @typedef {{mode: "following"|"playing"|"resting", pass: number, speed: number}} Player `pass`: what is shown unless the newest
 *   is followed
 */

/** @returns {Player} as a log is opened: at the pass a link names, else at its newest */
export function playerAt(pass = null) {
  return pass === null
    ? { mode: "following", pass: 0, speed: FIRST_SPEED }
    : { mode: "resting", pass, speed: FIRST_SPEED };
}

/** @returns {number} the pass in sight of `count`; −1 where there is none yet */
export function shownPass({ mode, pass }, count) {
  return mode === "following" ? count - 1 : Math.min(pass, count - 1);
}

/**
 * @param {Player} player
 * @param {{type: string, by?: number, to?: number, speed?: number}} action
 * @param {{count: number, live: boolean}} log how many passes there are, and whether more may come
 * @returns {Player}
 */
export function played(player, { type, by, to, speed }, { count, live }) {
  const shown = shownPass(player, count);
  const last = count - 1;
  switch (type) {
    case "step":
      return { ...player, mode: "resting", pass: clamp(shown + by, last) };
    case "go":
      return { ...player, mode: "resting", pass: clamp(to, last) };
    case "play":
      // At the end there is nothing to play but all of it once more.
      return { ...player, mode: "playing", pass: shown >= last && !live ? 0 : Math.max(0, shown) };
    case "pause":
      return { ...player, mode: "resting", pass: Math.max(0, shown) };
    case "tick":
      if (player.mode !== "playing") return player;
      if (shown < last) return { ...player, pass: shown + 1 };
      return live ? { ...player, mode: "following" } : { ...player, mode: "resting", pass: Math.max(0, last) };
    case "follow":
      return { ...player, mode: "following" };
    case "speed":
      return { ...player, speed };
    default:
      throw new RangeError(type);
  }
}

function clamp(pass, last) {
  return Math.max(0, Math.min(pass, last));
}

/** @returns {number|null} the pass that the address names */
export function passOfHash(hash) {
  const named = new URLSearchParams(hash.replace(/^#/, "")).get("pass");
  return /^\d{1,9}$/.test(named ?? "") ? Number(named) : null;
}

/**
 * Where a log that is over opens when no pass is named: where most happens at once, with somebody's prompt being read beside.
 *
 * @param {Object[]} passes
 */
export function openingPass(passes) {
  let best = 0;
  const worth = ({ members }) => members.length + (members.some(({ phase }) => phase === "prefill") ? 0.5 : 0);
  passes.forEach((pass, number) => {
    if (worth(pass) > worth(passes[best])) best = number;
  });
  return best;
}
