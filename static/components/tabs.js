/** On a phone one panel is shown at a time: a tab goes to it, a swipe changes the tab, and a new view brings its panel. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** @param {{panels: Object[], stage: Object, view: string}} props `view`: what the inspector shows */
export function Tabs({ panels, stage, view }) {
  const [current, setCurrent] = useState(0);

  useEffect(() => {
    const element = stage.current;
    const onScroll = () => setCurrent(Math.round(element.scrollLeft / element.clientWidth));
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [stage]);

  const shown = useRef(view);
  useEffect(() => {
    if (shown.current === view) return;
    shown.current = view;
    stage.current.querySelector("#panel-inspector").scrollIntoView({ block: "nearest", inline: "nearest" });
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
