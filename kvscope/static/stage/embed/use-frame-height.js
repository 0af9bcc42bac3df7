/** Tells the page around an embed the height of the frame at which the visible panel is shown completely. */

import { useEffect } from "preact/hooks";

/** The height of the stage when all panels are side by side, in CSS pixels. */
const WIDE_STAGE_PX = 680;
/** The height is measured when the layout has not changed for this long, in ms. */
const REST_MS = 60;

/**
 * @param {{current: HTMLElement}} stage the element that holds the panels
 * @param {{reportHeight: (height: number) => void}|null} host null: no page is around
 */
export function useFrameHeight(stage, host) {
  useEffect(() => {
    if (!host) return undefined;
    const element = stage.current;
    let timer = 0;
    const measure = () => host.reportHeight(Math.ceil(element.getBoundingClientRect().top + heightNeededBy(element)));
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(measure, REST_MS);
    };
    const resized = new ResizeObserver(soon);
    const watch = () => {
      resized.disconnect();
      for (const watched of [element, ...element.parentElement.children, ...element.querySelectorAll(".panel > *")])
        resized.observe(watched);
    };
    const changed = new MutationObserver(() => {
      watch();
      soon();
    });
    changed.observe(element, { childList: true, subtree: true });
    element.addEventListener("scroll", soon, { passive: true });
    watch();
    return () => {
      clearTimeout(timer);
      resized.disconnect();
      changed.disconnect();
      element.removeEventListener("scroll", soon);
    };
  }, [stage, host]);
}

/** @returns {number} the height at which the visible panel is shown completely */
function heightNeededBy(stage) {
  const panels = [...stage.querySelectorAll(".panel")].filter((panel) => panel.offsetParent !== null);
  const { left, width } = stage.getBoundingClientRect();
  const inSight = panels.find((panel) => Math.abs(panel.getBoundingClientRect().left - left) < width / 2);
  const oneAtATime = panels.every((panel) => panel.offsetWidth > width * 0.9);
  return oneAtATime && inSight ? heightOf(inSight) : WIDE_STAGE_PX;
}

function heightOf(panel) {
  const { paddingTop, paddingBottom } = getComputedStyle(panel);
  const parts = [...panel.children].filter((child) => getComputedStyle(child).position !== "absolute");
  const own = parts.reduce((total, part) => total + naturalHeight(part), 0);
  return own + parseFloat(paddingTop) + parseFloat(paddingBottom);
}

/** Returns the height of a part; of one that is stretched to the panel, its `min-height`. */
function naturalHeight(part) {
  const { minHeight, marginTop, marginBottom } = getComputedStyle(part);
  return (parseFloat(minHeight) || part.offsetHeight) + parseFloat(marginTop) + parseFloat(marginBottom);
}
