/** All lessons in their order, with how far this device is in each. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { readProgress } from "../player/progress.js";

/** @param {{lessons: Object[], settings: Object, theme: string, setTheme: Function}} props */
export function Contents({ lessons, settings, theme, setTheme }) {
  const progress = readProgress(settings);
  const begun = lessons.find(({ id, steps }) => (progress[id]?.step ?? 0) + 1 < steps) ?? lessons[0];
  return html`
    <${OwnHeader} here="learn" theme=${theme} setTheme=${setTheme} />
    <main class="own-page stack wide learn">
      <div class="own-heading row between">
        <div class="stack tight">
          <h1>${msg`How does a language model answer? Lessons on real runs`}</h1>
          <p>${msg`Each lesson shows one idea on a run of a real model. You predict a number, then see what the model computed. You need no knowledge of machine learning: arrays and code are enough.`}</p>
        </div>
        ${begun && html`<a class="button is-large is-main" href=${under(`/learn/${begun.id}`)}>${progress[begun.id] ? msg`Continue: ${begun.title}` : msg`Start: ${begun.title}`}</a>`}
      </div>
      ${
        lessons.length === 0
          ? html`<p class="muted">${msg`This installation has no lessons.`}</p>`
          : html`<ol class="learn-lessons">
              ${lessons.map((lesson) => html`<${Entry} key=${lesson.id} lesson=${lesson} reached=${progress[lesson.id]} />`)}
            </ol>`
      }
    </main>
  `;
}

function Entry({ lesson, reached }) {
  const { id, number, title, minutes, steps } = lesson;
  const at = reached ? Math.min(reached.step + 1, steps) : 0;
  return html`<li class="learn-lesson box">
    <span class="learn-number number" aria-hidden="true">${number}</span>
    <div class="stack tight">
      <h2><a href=${under(`/learn/${id}${at ? `#${at}` : ""}`)}>${title}</a></h2>
      <p class="muted">
        ${plural(minutes, form`${minutes} minute`, form`${minutes} minutes`)} · ${plural(steps, form`${steps} step`, form`${steps} steps`)}
        ${at > 0 && html` · <b class="word-output">${at === steps ? msg`read` : msg`at step ${at}`}</b>`}
      </p>
    </div>
  </li>`;
}
