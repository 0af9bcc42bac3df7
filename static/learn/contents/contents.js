/** All lessons in their order, with how far this device is in each. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { readProgress } from "../player/progress.js";
import { ReadingPaths } from "./reading-paths.js";

/** @param {{lessons: Object[], paths: Object[], questions: Object[], settings: Object, theme: string, setTheme: Function}} props */
export function Contents({ lessons, paths, questions, settings, theme, setTheme }) {
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
      <${QuestionMap} questions=${questions} />
      <${Pages} />
      <${ReadingPaths} paths=${paths} />
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

/** Questions that people ask, each with the lesson that answers it. */
function QuestionMap({ questions }) {
  if (questions.length === 0) return null;
  return html`<section class="stack" aria-labelledby="questions">
    <h2 id="questions">${msg`Your question`}</h2>
    <ul class="learn-questions">
      ${questions.map(({ ask, leads }) => html`<li key=${ask}><a href=${under(leads)}>${ask}</a></li>`)}
    </ul>
  </section>`;
}

const PAGES = [
  ["/learn/reference", msg`Reference`, msg`Symbols, shapes and number formats, with this model’s numbers`],
  ["/learn/loop", msg`Loop calculator`, msg`How many rows a prompt and its answer cost, with a cache and without`],
  [
    "/learn/state",
    msg`Where state lives`,
    msg`Which process and device of this server holds what, and what losing it costs`,
  ],
  ["/learn/words", msg`Words on a plane`, msg`Several words of your own, by their embeddings`],
];

/** Pages to look things up. */
function Pages() {
  return html`<section class="stack" aria-labelledby="look-up">
    <h2 id="look-up">${msg`Look something up`}</h2>
    <ul class="learn-pages">
      ${PAGES.map(([address, name, about]) => html`<li key=${address} class="box"><a class="strong" href=${under(address)}>${name}</a><p class="muted">${about}</p></li>`)}
    </ul>
  </section>`;
}
