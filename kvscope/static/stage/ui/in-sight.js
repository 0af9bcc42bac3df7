/** Scrolls to a panel that is not visible, where panels are stacked or shown one at a time. */

/** @param {HTMLElement} panel not scrolled if its top is in the upper half of the window */
export function bringIntoSight(panel) {
  const { left, top } = panel.getBoundingClientRect();
  const begins = left >= 0 && left < window.innerWidth && top >= 0 && top < window.innerHeight / 2;
  if (!begins) panel.scrollIntoView({ block: "nearest", inline: "start" });
}
