/** A lesson: the prose of one step beside the live page. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isHere } from "../../shared/log/device.js";
import { IN_SITE, linkTo, under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { msg } from "../../shared/words/msg.js";
import { Glossary } from "../../shared/words/term.js";
import { Do } from "./do.js";
import { Frame } from "./frame.js";
import { KEYS } from "./keys.js";
import { pictureOf } from "./picture-address.js";
import { Predict } from "./predict.js";
import { Prose } from "./prose.js";
import { pictureAt } from "./state.js";
import { Steps } from "./steps.js";
import { useLesson } from "./use-lesson.js";

/** @param {{given: Object, lessons: Object[], file: boolean, present: boolean, settings: Object, identity: Object, framed: boolean, theme: string, setTheme: Function}} props */
export function Player({ given, lessons, file, present, settings, identity, framed, theme, setTheme }) {
  const { state, dispatch, glossary, go } = useLesson({ given, settings, identity, framed, file });
  const [hover, setHover] = useState(null);
  const heading = useRef(null);
  const { lesson, index, shown } = state;
  const step = lesson.steps[index];
  const number = lessons.find(({ id }) => id === lesson.id)?.number;
  const picture = pictureOf(pictureAt(state), { ...lesson, framed, file, present });
  const light = (names, place) => {
    dispatch({ type: "light", names });
    setHover(place && Object.fromEntries(Object.entries(place).map(([name, value]) => [name, Number(value)])));
  };
  const parts = {
    light,
    show: (to) => dispatch({ type: "link", to }),
    lit: shown?.lit ?? [],
    hover: shown?.hover ?? null,
  };
  const move = (to) => {
    setHover(null);
    go(to);
  };
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    heading.current?.parentElement.scrollTo({ top: 0 });
  }, [index]);

  return html`<${Glossary.Provider} value=${glossary}><div class="lesson-page">
    ${
      !framed &&
      html`<${OwnHeader} here="learn" alone=${file} keys=${KEYS} theme=${theme} setTheme=${setTheme}>
        ${!file && !IN_SITE && html`<a class="lesson-leave" href=${under(`/api/lessons/${lesson.id}.html`)} download>${msg`Save as file`}</a><${Leave} shown=${shown} />`}
      <//>`
    }
    <main class="lesson" data-folded=${state.folded || null}>
      <article class="lesson-prose">
        <button
          type="button" class="lesson-fold" aria-expanded=${!state.folded} onClick=${() => dispatch({ type: "fold", folded: !state.folded })}
        >${state.folded ? msg`Show the text` : msg`Show the picture`}</button>
        <p class="lesson-where muted">
          ${!framed && !file && html`<a href=${under("/learn")}>${msg`Lessons`}</a> · `}
          ${number ? msg`Lesson ${number}: ${lesson.title}` : lesson.title} · ${msg`step ${index + 1} of ${lesson.steps.length}`}
        </p>
        <${Steps} state=${state} go=${move} />
        <div class="lesson-text stack">
          <h1 tabindex="-1" ref=${heading}><${Prose} nodes=${step.title} picture=${parts} /></h1>
          ${step.problem && html`<p class="lesson-problem" role="alert">${step.problem}</p>`}
          ${state.problem && html`<p class="lesson-problem" role="alert">${state.problem}</p>`}
          ${
            state.run &&
            html`<p class="lesson-own muted">${msg`The numbers are those of your own run.`}
              ${" "}<button type="button" class="button small" onClick=${() => dispatch({ type: "back", lesson: given })}>${msg`Back to the lesson’s run`}</button>
            </p>`
          }
          <${Prose} nodes=${step.prose} picture=${parts} />
          ${step.untrue.map((line, each) => html`<p key=${each} class="lesson-untrue"><${Prose} nodes=${line} picture=${parts} /></p>`)}
          ${
            step.predict &&
            html`<${Predict}
              key=${`predict${index}`} predict=${step.predict} answer=${state.answers[index]} hints=${state.hints[`${index}.predict`] ?? 0}
              picture=${parts} dispatch=${dispatch}
            />`
          }
          ${
            step.do &&
            html`<${Do} task=${step.do} done=${state.done.includes(index)} hints=${state.hints[`${index}.do`] ?? 0} picture=${parts} dispatch=${dispatch} />`
          }
          ${lesson.along?.[index] && html`<p class="lesson-where muted small">${msg`Reads along with ${lesson.along[index].join("; ")}`}</p>`}
        </div>
        <${Moves} state=${state} lessons=${lessons} framed=${framed} file=${file} go=${move} />
      </article>
      <${Frame}
        picture=${picture} index=${index} framed=${framed} file=${file} theme=${theme} lit=${state.lit.length ? state.lit : step.lit} hover=${hover}
        said=${saidIn(state)} recording=${given.run} returns=${state.returns} onShown=${(now) => dispatch({ type: "shown", shown: now })}
      />
    </main>
    <${Handout} lesson=${lesson} picture=${parts} />
  </div><//>`;
}

/** @returns {string} a text that changes when the words about the current step's answer or task change */
function saidIn({ answers, done, index }) {
  return JSON.stringify([answers[index] ?? null, done.includes(index)]);
}

/** Shows all steps, for printing. */
function Handout({ lesson, picture }) {
  return html`<section class="lesson-handout">
    <h1>${lesson.title}</h1>
    ${lesson.steps.map(
      (step, at) => html`<section key=${at}>
        <h2>${at + 1}. <${Prose} nodes=${step.title} picture=${picture} /></h2>
        <${Prose} nodes=${step.prose} picture=${picture} />
        ${step.predict && html`<p><b>${msg`Predict`}:</b> <${Prose} nodes=${step.predict.ask} picture=${picture} /></p>`}
        ${step.do && html`<p><b>${msg`Do`}:</b> <${Prose} nodes=${step.do.task} picture=${picture} /></p>`}
      </section>`,
    )}
  </section>`;
}

/** A link that leaves the lesson and opens what the picture shows; of a run of this device only the picture can show anything. */
function Leave({ shown }) {
  if (!shown?.address || isHere({ id: shown.run })) return null;
  return html`<a class="lesson-leave" href=${shown.page === "stage" ? shown.address : under(shown.address)}>${msg`Leave, keep this picture`}</a>`;
}

function Moves({ state, lessons, framed, file, go }) {
  const { lesson, index } = state;
  const last = index === lesson.steps.length - 1;
  const next = lessons[lessons.findIndex(({ id }) => id === lesson.id) + 1];
  return html`<nav class="lesson-moves line" aria-label=${msg`Steps`}>
    <button type="button" class="button is-large" disabled=${index === 0} onClick=${() => go(index - 1)}>${msg`Back`}</button>
    ${
      last
        ? next &&
          html`<a class="button is-large is-main" href=${framed ? linkTo(`/embed/learn/${next.id}`) : under(`/learn/${next.id}`)}>${msg`Next lesson: ${next.title}`}</a>`
        : html`<button type="button" class="button is-large is-main" onClick=${() => go(index + 1)}>${msg`Next`}</button>`
    }
    ${last && !next && !file && html`<a class="button is-large is-main" href=${under("/learn")}>${msg`All lessons`}</a>`}
  </nav>`;
}
