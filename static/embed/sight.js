/** Keeps what a step talks about in sight while the page around it is still being drawn. */

/** How long a view may take to draw its parts, in ms: some wait for values that the server computes. */
const DRAWING_MS = 8000;
/** What a reader does to look elsewhere. */
const LOOKS_ELSEWHERE = ["wheel", "touchstart", "pointerdown", "keydown"];
/** Lines of a list that the address names. */
const LOCKED = "[data-locked]";
/** Shares of a part in sight at which the browser says that it has moved. */
const SHARES = Array.from({ length: 21 }, (_, at) => at / 20);

/**
 * @param {Window} window
 * @returns {{show: (inside: ParentNode & Node, names: string[]) => void, end: () => void}} `show`: brings the first part with one of
 *   these names into sight, or the last line that is locked in it, unfolded, as soon as it is there; and again when what grows around it moves it away, until the reader
 *   looks elsewhere
 */
export function createSight(window) {
  let end = () => {};
  return {
    show(inside, [name]) {
      end();
      end = name ? keepInSight(window, inside, name) : () => {};
    },
    end: () => end(),
  };
}

function keepInSight(window, inside, name) {
  const selector = `[data-lit="${CSS.escape(name)}"], [data-names~="${CSS.escape(name)}"]`;
  let part = null;
  const bring = () => {
    if (part && !isInSight(window, part)) part.scrollIntoView({ block: edgeOf(window, part) });
  };
  const moved = new IntersectionObserver(bring, { threshold: SHARES });
  const look = () => {
    const named = inside.querySelector(selector);
    const found = [...(named?.querySelectorAll(LOCKED) ?? [])].at(-1) ?? named;
    if (found !== part) {
      moved.disconnect();
      part = found;
      if (part instanceof HTMLDetailsElement) part.open = true;
      if (part) moved.observe(part);
    }
    bring();
  };
  const drawn = new MutationObserver(look);
  drawn.observe(inside, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["data-lit", "data-names", "data-locked"],
  });
  const end = () => {
    moved.disconnect();
    drawn.disconnect();
    window.clearTimeout(timer);
    for (const type of LOOKS_ELSEWHERE) window.removeEventListener(type, end, { capture: true });
  };
  const timer = window.setTimeout(end, DRAWING_MS);
  for (const type of LOOKS_ELSEWHERE) window.addEventListener(type, end, { capture: true, passive: true });
  look();
  return end;
}

/** Above the last locked line are the others, which stay in sight if they can. */
function edgeOf(window, part) {
  if (part.matches(LOCKED)) return "nearest";
  return isTall(window, part) ? "start" : "center";
}

/** Of a tall part its beginning is what has to be seen. */
function isInSight(window, part) {
  const { top, bottom } = part.getBoundingClientRect();
  const [first, last] = opening(window, part);
  return isTall(window, part) ? top >= first - 1 && top <= (first + last) / 2 : top >= first && bottom <= last;
}

/** @returns {number[]} first and last y at which a part can be seen: all that it scrolls in cuts off what is outside */
function opening(window, part) {
  let [first, last] = [0, window.innerHeight];
  for (let around = part.parentElement; around; around = around.parentElement) {
    if (window.getComputedStyle(around).overflowY === "visible") continue;
    const { top, bottom } = around.getBoundingClientRect();
    [first, last] = [Math.max(first, top), Math.min(last, bottom)];
  }
  return [first, last];
}

function isTall(window, part) {
  return part.getBoundingClientRect().height > window.innerHeight / 2;
}
