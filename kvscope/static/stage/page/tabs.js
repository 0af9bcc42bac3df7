/**
 * The tabs of the compact layout, which shows one panel at a time. A swipe changes the tab, and a new view its panel. A panel that has a tab
 * can be enlarged in the inspector: then its own tab is the current one, because no two tabs stand for one thing.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { zoomOut } from "../../shared/state/views.js";
import { msg } from "../../shared/words/msg.js";
import { bringIntoSight } from "../ui/open-view.js";

/** @param {{panels: {id: string, tab: string, view?: string}[], stage: Object, view: string, dispatch: Function, opens?: string|null}} props
 *   `panels`: with the view that enlarges them; `view`: of the inspector; `opens`: id of the first panel to show, if it is not the first
 *   of the list */
export function Tabs({ panels, stage, view, dispatch, opens }) {
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
    // After a resize the same panel is shown at its new position.
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

  const at = currentTab(panels, current, view);
  const show = (index) => {
    if (panels[index].id === INSPECTOR && panels.some((panel) => panel.view === view))
      dispatch({ type: "select", selection: { view: zoomOut(view) } });
    stage.current.scrollTo({ left: index * stage.current.clientWidth });
  };

  return html`
    <nav class="tabs" aria-label=${msg`Panels`}>
      ${panels.map(
        ({ id, tab }, index) => html`
          <button key=${id} type="button" aria-current=${index === at} onClick=${() => show(index)}>${tab}</button>
        `,
      )}
    </nav>
  `;
}

const INSPECTOR = "inspector";

/** @returns {number} the tab that stands for the panel in sight */
export function currentTab(panels, inSight, view) {
  const enlarged = panels.findIndex((panel) => panel.view === view);
  return panels[inSight].id === INSPECTOR && enlarged >= 0 ? enlarged : inSight;
}
