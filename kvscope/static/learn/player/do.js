/** A task in the picture. It is done as soon as the picture shows what the task asks for. */

import { html } from "htm/preact";
import { IN_SITE } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { Hints } from "./hints.js";
import { useInSight } from "./in-sight.js";
import { Prose } from "./prose.js";
import { whyNot } from "./why-not.js";

/** @param {{task: Object, done: boolean, hints: number, picture: Object, dispatch: Function}} props */
export function Do({ task, done, hints, picture, dispatch }) {
  const verdict = useInSight([done]);
  const cannot = IN_SITE ? whyNot(task.check, document.documentElement.dataset.engine !== undefined) : null;
  return html`<section class=${`lesson-box stack${done ? " is-over" : ""}`} aria-label=${msg`Task`}>
    <h2>${msg`Do it yourself`}</h2>
    <p><${Prose} nodes=${task.task} picture=${picture} /></p>
    <div role="status" ref=${verdict}>
      ${
        done
          ? html`<p><b class="word-output">✓ ${msg`Done.`}</b> <${Prose} nodes=${task.done} picture=${picture} /></p>`
          : html`<p class="muted">${cannot ?? msg`The page notices when you have done it.`}</p>
            <button type="button" class="button small lesson-to-picture" onClick=${() => dispatch({ type: "fold", folded: true })}>${msg`Show the picture`}</button>`
      }
    </div>
    ${!done && html`<${Hints} hints=${task.hints} open=${hints} block="do" picture=${picture} dispatch=${dispatch} />`}
  </section>`;
}
