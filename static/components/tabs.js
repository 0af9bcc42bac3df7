/** On a phone one panel is shown at a time: a tab goes to it, a swipe changes the tab. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

export function Tabs({ panels, stage }) {
  const [current, setCurrent] = useState(0);

  useEffect(() => {
    const element = stage.current;
    const onScroll = () => setCurrent(Math.round(element.scrollLeft / element.clientWidth));
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [stage]);

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
