/** The page while some of its parts are named: the others are folded into one line, which opens them. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { inIntro } from "../../shared/state/intro.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { unknownIn } from "../facts/parts.js";
import { withPart } from "../state/focus.js";
import { knownStep } from "../state/layer-sweep.js";
import { canAsk } from "../state/run-request.js";
import { answerOf, foldsOf } from "./facts.js";
import { Overview } from "./overview.js";
import { rulesFor } from "./rules.js";

/** @param {Object} props as every part; `part`: the component `Part` */
export function Focus({ part: Part, ...parts }) {
  return html`<${Part} of=${Focused} moving ...${parts} />`;
}

function Focused({ state, dispatch, controller, onOpened }) {
  const { view, focus } = state.selection;
  const unknown = focus && unknownIn({ view, focus });
  useHidden(unknown === null ? focus : null);
  useRemembered(focus, inIntro(state), onOpened);
  if (!focus) return null;
  if (unknown !== null)
    return html`<p class="focus-unknown" role="status">${msg`This page has no part “${unknown}” here, so all of it is shown.`}</p>`;
  const first = focus.includes("overview");
  return html`${first && html`<${Answer} state=${state} /><${Overview} state=${state} dispatch=${dispatch} />`}
    <${Rest} state=${state} dispatch=${dispatch} controller=${controller} first=${first} onOpened=${onOpened} />`;
}

/** Remembers what is opened beside the first parts, but not what an address began with or what the intro opens and leaves. */
function useRemembered(focus, isIntro, onOpened) {
  const before = useRef({ focus, isIntro });
  useEffect(() => {
    const was = before.current;
    before.current = { focus, isIntro };
    if (was.focus?.includes("overview") && was.focus !== focus && !was.isIntro && !isIntro) onOpened(focus);
  }, [focus, isIntro]);
}

/** Hides all other parts. @param {string[]|null} focus null: none is hidden */
function useHidden(focus) {
  const sheet = useMemo(() => new CSSStyleSheet(), []);
  useLayoutEffect(() => {
    document.adoptedStyleSheets.push(sheet);
    return () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
      delete document.documentElement.dataset.focus;
    };
  }, [sheet]);
  const names = focus?.join(" ") ?? null;
  useLayoutEffect(() => {
    const { dataset } = document.documentElement;
    if (names === null) delete dataset.focus;
    else dataset.focus = names;
    sheet.replaceSync(names === null ? "" : rulesFor(focus, CSS.escape));
  }, [names]);
}

function Answer({ state }) {
  const { run, step } = state;
  const known = Math.min(knownStep(state), step);
  return html`<p class="focus-answer" role="status">${
    run?.steps.length && known >= 0
      ? html`${answerOf(run, known)} <b>${msg`Press any part to open it.`}</b>`
      : msg`The model is reading the text…`
  }</p>`;
}

function Rest({ state, dispatch, controller, first, onOpened }) {
  const { run, step } = state;
  const { focus } = state.selection;
  const show = (names) => dispatch({ type: "select", selection: { focus: names } });
  const showAll = () => {
    show(null);
    if (first) onOpened(null);
  };
  const known = Math.min(knownStep(state), step);
  const folds = first && run?.steps.length && known >= 0 ? foldsOf(run, known) : [];
  const ended = Boolean(run?.close) && step >= run.steps.length - 1;
  return html`<footer class="focus-rest row wide">
    ${first && html`<button type="button" class="button is-large strong nowrap" disabled=${ended} onClick=${controller.next}><${Icon} name="next" />${msg`Next token`}</button>`}
    ${first && canAsk(state) && html`<${Own} class="button is-large nowrap" dispatch=${dispatch}>${msg`Try your own`}<//>`}
    ${folds.map(({ part, title }) => {
      const open = focus.includes(part);
      return html`<button
        key=${part} type="button" class="focus-fold nowrap" aria-expanded=${open}
        onClick=${() => show(open ? focus.filter((name) => name !== part) : withPart(focus, part))}
      >${open ? "▾" : "▸"} ${title}</button>`;
    })}
    <button type="button" class="focus-fold" onClick=${showAll}>▸ ${first ? msg`More: layers, heads, effects, code` : msg`The whole page: layers, attention, next token, cache, time`}</button>
    ${!first && canAsk(state) && html`<${Own} class="focus-fold push" dispatch=${dispatch}>${msg`Try your own`} ▸<//>`}
  </footer>`;
}

function Own({ class: name, dispatch, children }) {
  return html`<button type="button" class=${name} onClick=${() => dispatch({ type: "ask", asking: true })}>${children}</button>`;
}
