/** The page of all lessons: where to start, the lessons, and other ways in. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { readProgress } from "../player/progress.js";
import { LessonList } from "./lesson-list.js";
import { Pages, Questions } from "./look-up.js";
import { howFar, whereNow } from "./outline.js";
import { ReadingPaths } from "./reading-paths.js";

/** @param {{lessons: Object[], paths: Object[], questions: Object[], settings: Object, theme: string, setTheme: Function}} props */
export function Contents({ lessons, paths, questions, settings, theme, setTheme }) {
  const progress = readProgress(settings);
  return html`
    <${OwnHeader} here="learn" theme=${theme} setTheme=${setTheme} />
    <main class="own-page learn">
      <div class="learn-intro">
        <div class="stack">
          <h1>${msg`How does a language model answer?`}</h1>
          <p>${msg`Short lessons on runs of a real model. You need no knowledge of machine learning: arrays and code, or vectors and percentages, are enough.`}</p>
          <${Begin} lessons=${lessons} progress=${progress} />
          <p class="row">
            ${questions.length > 0 && html`<a href="#questions">${msg`Start from a question`}</a>`}
            ${paths.length > 0 && html`<a href="#reading-paths">${msg`Start from a document that you read`}</a>`}
            <a href="#look-up">${msg`Look something up`}</a>
          </p>
        </div>
        <ol class="learn-how box">
          <li><b>${msg`Predict`}</b> ${msg`what happens, before you see it.`}</li>
          <li><b>${msg`See`}</b> ${msg`what the model computed.`}</li>
          <li><b>${msg`Change`}</b> ${msg`something, and watch it react.`}</li>
        </ol>
      </div>
      ${
        lessons.length === 0
          ? html`<p class="muted">${msg`This installation has no lessons.`}</p>`
          : html`<${LessonList} lessons=${lessons} progress=${progress} />`
      }
      <${Questions} questions=${questions} />
      <${ReadingPaths} paths=${paths} />
      <${Pages} />
    </main>
  `;
}

/** The lesson to continue with, and how many there are. */
function Begin({ lessons, progress }) {
  const { read, minutes } = howFar(lessons, progress);
  const now = whereNow(lessons, progress);
  if (!now) return null;
  const { lesson, step } = now;
  const hasBegun = Object.keys(progress).length > 0;
  return html`<div class="row">
    <a class="button is-large is-main" href=${under(`/learn/${lesson.id}${step ? `#${step}` : ""}`)}
      >${step ? msg`Continue lesson ${lesson.number}, step ${step}: ${lesson.title}` : msg`Start: ${lesson.title}`}</a>
    <p class="muted">
      ${
        hasBegun
          ? msg`${read} of ${lessons.length} lessons read · ${minutes} minutes to go`
          : plural(
              lessons.length,
              form`${lessons.length} lesson · ${minutes} minutes in all`,
              form`${lessons.length} lessons · ${minutes} minutes in all`,
            )
      }
    </p>
    ${hasBegun && html`<progress class="fill" max=${lessons.length} value=${read} aria-label=${msg`Lessons read`}></progress>`}
  </div>`;
}
