/** Keeps the parts that a step names visible while the page is still being drawn. */

/** How long a view may take to draw its parts, in ms: some wait for values that the server computes. */
const DRAWING_MS = 8000;
/** Events with which a reader looks elsewhere. */
const LOOKS_ELSEWHERE = ["wheel", "touchstart", "pointerdown", "keydown"];
/** Lines of a list that the address has locked. */
const LOCKED = "[data-locked]";
/** Visible shares of a part at which the browser reports that it has moved. */
const SHARES = Array.from({ length: 21 }, (_, at) => at / 20);

/** Least space between a part and the edge that clips it, in px: for its outline. */
const MARGIN_PX = 8;

/**
 * @param {Window} window
 * @returns {{show: (inside: ParentNode & Node, names: string[]) => void, end: () => void}} `show` unfolds the parts with
 *   these names and scrolls to them as soon as they are drawn, and again when other parts grow and move them, until the reader looks
 *   elsewhere. Of a part with locked lines it shows the last of these. If not all parts fit, the first names are shown
 */
export function createSight(window) {
  let end = () => {};
  return {
    show(inside, names) {
      end();
      end = names.length ? keepInSight(window, inside, names) : () => {};
    },
    end: () => end(),
  };
}

function keepInSight(window, inside, names) {
  let parts = [];
  const scroll = () => scrollToParts(window, parts);
  const moved = new IntersectionObserver(scroll, { threshold: SHARES });
  const look = () => {
    const named = names.map((name) => partIn(inside, name)).filter((part) => part !== null);
    if (named.length !== parts.length || named.some((part, at) => part !== parts[at])) {
      moved.disconnect();
      parts = named;
      for (const part of parts) {
        if (part instanceof HTMLDetailsElement) part.open = true;
        moved.observe(part);
      }
    }
    scroll();
  };
  const drawing = new MutationObserver(look);
  drawing.observe(inside, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["data-lit", "data-names", "data-locked"],
  });
  const end = () => {
    moved.disconnect();
    drawing.disconnect();
    window.clearTimeout(timer);
    for (const type of LOOKS_ELSEWHERE) window.removeEventListener(type, end, { capture: true });
  };
  const timer = window.setTimeout(end, DRAWING_MS);
  for (const type of LOOKS_ELSEWHERE) window.addEventListener(type, end, { capture: true, passive: true });
  look();
  return end;
}

/** @returns {Element|null} the first part with a name, or its last locked line */
function partIn(inside, name) {
  const named = inside.querySelector(`[data-lit="${CSS.escape(name)}"], [data-names~="${CSS.escape(name)}"]`);
  return [...(named?.querySelectorAll(LOCKED) ?? [])].at(-1) ?? named;
}

function scrollToParts(window, parts) {
  const together = fitting(window, parts);
  if (together.every((part) => isInSight(window, part))) return;
  if (together.length === 1) together[0].scrollIntoView({ block: edgeOf(window, together[0]) });
  else centre(window, together);
}

/** Centres parts that fit together; each may be in a list that scrolls separately. */
function centre(window, parts) {
  for (const part of parts) part.scrollIntoView({ block: "nearest" });
  const around = scrolledWith(window, parts);
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
  const [first, last] = opening(window, parts[0]);
  around.scrollBy({ top: (top + bottom - first - last) / 2, behavior: "instant" });
}

/** @returns {Element} the innermost element that scrolls all of the parts */
function scrolledWith(window, parts) {
  for (let around = parts[0].parentElement; around; around = around.parentElement) {
    // An element that scrolls only sideways has no visible overflow either.
    if (window.getComputedStyle(around).overflowY === "visible" || around.scrollHeight <= around.clientHeight) continue;
    if (parts.every((part) => around.contains(part))) return around;
  }
  return window.document.scrollingElement;
}

/** @returns {Element[]} the first part, and the others that fit on the screen together with it */
function fitting(window, parts) {
  const together = parts.slice(0, 1);
  if (together.length === 0) return together;
  const room = roomFor(window, parts[0]);
  let { top, bottom } = parts[0].getBoundingClientRect();
  for (const part of parts.slice(1)) {
    const box = part.getBoundingClientRect();
    const [first, last] = [Math.min(top, box.top), Math.max(bottom, box.bottom)];
    if (last - first > room) continue;
    [top, bottom] = [first, last];
    together.push(part);
  }
  return together;
}

/** Returns the edge to scroll to. The other locked lines are above the last one and stay visible if they fit. */
function edgeOf(window, part) {
  if (part.matches(LOCKED)) return "nearest";
  return isTall(window, part) ? "start" : "center";
}

/** Returns whether a part is visible; of a tall part, its beginning. */
function isInSight(window, part) {
  const { top, bottom } = part.getBoundingClientRect();
  const [first, last] = opening(window, part);
  return isTall(window, part)
    ? top >= first - 1 && top <= (first + last) / 2
    : top >= first + MARGIN_PX && bottom <= last - MARGIN_PX;
}

/** @returns {number[]} first and last y at which a part is visible: each element that scrolls it clips it */
function opening(window, part) {
  let [first, last] = [0, window.innerHeight];
  for (let around = part.parentElement; around; around = around.parentElement) {
    if (window.getComputedStyle(around).overflowY === "visible") continue;
    const { top, bottom } = around.getBoundingClientRect();
    [first, last] = [Math.max(first, top), Math.min(last, bottom)];
  }
  return [first, last];
}

/** @returns {number} height in which a part is visible, in px */
function roomFor(window, part) {
  const [first, last] = opening(window, part);
  return last - first - 2 * MARGIN_PX;
}

function isTall(window, part) {
  return part.getBoundingClientRect().height > roomFor(window, part);
}
