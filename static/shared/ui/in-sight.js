/** Scrolling to a panel that is not in sight: where panels stand one under the other, or are shown one at a time. */

/** @param {HTMLElement} panel left alone where its beginning is in the upper half of the window, so that the page stands still */
export function bringIntoSight(panel) {
  const { left, top } = panel.getBoundingClientRect();
  const begins = left >= 0 && left < window.innerWidth && top >= 0 && top < window.innerHeight / 2;
  if (!begins) panel.scrollIntoView({ block: "nearest", inline: "start" });
}
