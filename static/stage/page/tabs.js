/** On a phone one panel is shown at a time: a tab goes to it, a swipe changes the tab, and a new view brings its panel. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bringIntoSight } from "../../shared/ui/in-sight.js";

/** @param {{panels: Object[], stage: Object, view: string, opens?: string|null}} props `view`: what the inspector shows; `opens`: the
 *   id of the panel to begin with, the first where there is none */
export function Tabs({ panels, stage, view, opens }) {
  const [current, setCurrent] = useState(0);
  const place = useRef(current);
  place.current = current;

  useLayoutEffect(() => {
    if (!opens) return;
    const index = panels.findIndex(({ id }) => id === opens);
    stage.current.scrollTo({ left: index * stage.current.clientWidth, behavior: "instant" });
    setCurrent(index);
  }, [panels, stage, opens]);

  useEffect(() => {
    const element = stage.current;
    let width = element.clientWidth;
    // A window of another size keeps the panel, whose place is elsewhere then.
    const onScroll = () => {
      if (element.clientWidth === width) setCurrent(Math.round(element.scrollLeft / width));
    };
    const resized = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      element.scrollTo({ left: place.current * width, behavior: "instant" });
    });
    element.addEventListener("scroll", onScroll, { passive: true });
    resized.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      resized.disconnect();
    };
  }, [stage]);

  const shown = useRef(view);
  useEffect(() => {
    if (shown.current === view) return;
    shown.current = view;
    bringIntoSight(stage.current.querySelector("#panel-inspector"));
  }, [view, stage]);

  const show = (index) => stage.current.scrollTo({ left: index * stage.current.clientWidth });

  return html`
    <nav class="tabs" aria-label="Panels">
      ${panels.map(
        ({ id, tab }, index) => html`
          <button key=${id} type="button" aria-current=${index === current} onClick=${() => show(index)}>${tab}</button>
        `,
      )}
    </nav>
  `;
}
