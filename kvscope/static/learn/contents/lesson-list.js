/** All lessons, part by part. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { inParts, stepOf } from "./outline.js";

/** @param {{lessons: Object[], progress: Object}} props `progress`: by lesson */
export function LessonList({ lessons, progress }) {
  return inParts(lessons).map(
    ({ from, name, about, lessons }) => html`<section key=${from} class="learn-part" aria-labelledby=${`part-${from}`}>
      <div>
        <h2 id=${`part-${from}`}>${name}</h2>
        <p class="muted">${about}</p>
      </div>
      <ol class="learn-lessons">
        ${lessons.map((lesson) => html`<${Entry} key=${lesson.id} lesson=${lesson} at=${stepOf(lesson, progress)} />`)}
      </ol>
    </section>`,
  );
}

function Entry({ lesson, at }) {
  const { id, number, title, minutes, steps } = lesson;
  const state = at === 0 ? "" : at === steps ? "is-read" : "is-begun";
  return html`<li class=${`learn-lesson box ${state}`}>
    <span class="learn-number number" aria-hidden="true">${at === steps ? "✓" : number}</span>
    <div class="stack tight">
      <h3 lang="en"><a href=${under(`/learn/${id}${at ? `#${at}` : ""}`)}>${title}</a></h3>
      <p class="muted">
        ${plural(minutes, form`${minutes} minute`, form`${minutes} minutes`)}
        ${at > 0 && html` · <b>${at === steps ? msg`read` : msg`at step ${at} of ${steps}`}</b>`}
      </p>
    </div>
  </li>`;
}
