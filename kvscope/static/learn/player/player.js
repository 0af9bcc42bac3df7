/** A lesson: the prose of one step beside the live page. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isHere } from "../../shared/log/device.js";
import { linkTo, under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { msg } from "../../shared/words/msg.js";
import { Glossary } from "../../shared/words/term.js";
import { Do } from "./do.js";
import { Frame } from "./frame.js";
import { Handout } from "./handout.js";
import { KEYS } from "./keys.js";
import { pictureOf } from "./picture-address.js";
import { Predict } from "./predict.js";
import { Printing } from "./printing.js";
import { Prose } from "./prose.js";
import { isAnswered, pictureAt } from "./state.js";
import { Steps } from "./steps.js";
import { Tools } from "./tools.js";
import { useLesson } from "./use-lesson.js";
import { usePrinting } from "./use-printing.js";

/**
 * @param {{given: Object, lessons: Object[], file: boolean, packaged: boolean, present: boolean, settings: Object, progress: import("./progress.js").Progress,
 *   identity: Object, framed: boolean, theme: string, setTheme: Function}} props `packaged`: in a package for learning systems, whose pages may have a login
 */
export function Player({
  given,
  lessons,
  file,
  packaged,
  present,
  settings,
  progress,
  identity,
  framed,
  theme,
  setTheme,
}) {
  const { state, dispatch, glossary, kept, go, next } = useLesson({ given, progress, identity, framed, file });
  // A page behind a login is blank in a frame without its origin.
  const apart = framed && !packaged;
  const [hover, setHover] = useState(null);
  const [large, setLarge] = useState(present);
  const heading = useRef(null);
  const { lesson, index, shown } = state;
  const step = lesson.steps[index];
  const number = lessons.find(({ id }) => id === lesson.id)?.number;
  const pictureOfStep = (at) => {
    // Another page would end a run of this device, and the numbers of the lesson are not those of a run that goes on.
    const isOther = shown?.page === "stage" && shown.run !== (state.run ?? given.run);
    if (isHere({ id: shown?.run }) || isOther)
      return { problem: msg`A run of this device, or one that goes on, is not printed.` };
    const none = { problem: msg`This file does not have the page that shows it.` };
    return pictureOf(lesson.steps[at].at, { ...lesson, framed: apart, file }) ?? none;
  };
  const printing = usePrinting(pictureOfStep, lesson.steps.length, state.run);
  const isPrinting = printing.at !== null;
  const picture = isPrinting
    ? pictureOfStep(printing.at)
    : pictureOf(pictureAt(state), { ...lesson, framed: apart, file, present: large });
  const ofStep = isPrinting ? lesson.steps[printing.at].lit : step.lit;
  const lit = !isPrinting && state.lit.length ? state.lit : ofStep;
  const light = (names, place) => {
    dispatch({ type: "light", names });
    setHover(place && Object.fromEntries(Object.entries(place).map(([name, value]) => [name, Number(value)])));
  };
  const print = () => {
    // After printing, the frame still shows the last printed step. `go` marks that place as not chosen by the viewer.
    dispatch({ type: "go", to: index });
    printing.start();
  };
  const parts = {
    light,
    show: (to) => dispatch({ type: "link", to }),
    lit: shown?.lit ?? [],
    hover: shown?.hover ?? null,
  };
  useEffect(() => setHover(null), [index]);
  useEffect(() => {
    document.documentElement.toggleAttribute("data-present", large);
  }, [large]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    heading.current?.parentElement.scrollTo({ top: 0 });
  }, [index]);

  return html`<${Glossary.Provider} value=${glossary}><div class="lesson-page">
    ${
      !framed &&
      html`<${OwnHeader} here="learn" alone=${file} keys=${KEYS} theme=${theme} setTheme=${setTheme}>
        <${Tools} lesson=${lesson} index=${index} shown=${shown} file=${file} large=${large} setLarge=${setLarge} settings=${settings} print=${print} />
      <//>`
    }
    <main class="lesson" data-folded=${state.folded || null} data-printing=${isPrinting || null}>
      <article class="lesson-prose">
        <button
          type="button" class="lesson-fold" aria-expanded=${!state.folded} onClick=${() => dispatch({ type: "fold", folded: !state.folded })}
        >${state.folded ? msg`Show the text` : msg`Show the picture`}</button>
        <p class="lesson-where muted">
          ${!framed && !file && html`<a href=${under("/learn")}>${msg`Lessons`}</a> · `}
          ${number ? msg`Lesson ${number}: ${lesson.title}` : lesson.title} · ${msg`step ${index + 1} of ${lesson.steps.length}`}
        </p>
        <${Steps} state=${state} go=${go} />
        <div class="lesson-text stack">
          <h1 tabindex="-1" ref=${heading}><${Prose} nodes=${step.title} picture=${parts} /></h1>
          ${kept && html`<p class="small" role="status">${kept}</p>`}
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
              key=${`predict${index}`} predict=${step.predict} answer=${state.answers[index]} held=${state.held} hints=${state.hints[`${index}.predict`] ?? 0}
              picture=${parts} dispatch=${dispatch}
            />`
          }
          ${isAnswered(state, index) && html`<${Prose} nodes=${step.after} picture=${parts} />`}
          ${
            step.do &&
            html`<${Do} task=${step.do} done=${state.done.includes(index)} hints=${state.hints[`${index}.do`] ?? 0} picture=${parts} dispatch=${dispatch} />`
          }
          ${lesson.along?.[index] && html`<details class="lesson-where muted small"><summary>${msg`Other documents on this`}</summary>${lesson.along[index].join("; ")}</details>`}
        </div>
        <${Moves} state=${state} lessons=${lessons} framed=${framed} file=${file} go=${go} next=${next} dispatch=${dispatch} />
      </article>
      <${Frame}
        picture=${picture} index=${printing.at ?? index} framed=${apart} file=${file} theme=${isPrinting ? "light" : theme} lit=${lit} hover=${hover}
        said=${saidIn(state)} recording=${given.run} presses=${state.presses} returns=${state.returns} onShown=${(now) => !isPrinting && dispatch({ type: "shown", shown: now })}
      />
    </main>
    ${isPrinting && html`<${Printing} at=${printing.at} steps=${lesson.steps.length} cancel=${printing.cancel} />`}
    <${Handout} lesson=${lesson} picture=${parts} pictures=${printing.pictures} file=${file} />
  </div><//>`;
}

/** @returns {string} a text that changes when the words about the current step's answer or task change */
function saidIn({ answers, done, index }) {
  return JSON.stringify([answers[index] ?? null, done.includes(index)]);
}

/** The buttons to the step before and the next one, which waits for an answer. */
function Moves({ state, lessons, framed, file, go, next, dispatch }) {
  const { lesson, index } = state;
  const last = index === lesson.steps.length - 1;
  const later = lessons[lessons.findIndex(({ id }) => id === lesson.id) + 1];
  const waits = !isAnswered(state, index);
  return html`<nav class="lesson-moves line" aria-label=${msg`Steps`}>
    <button type="button" class="button is-large" disabled=${index === 0} onClick=${() => go(index - 1)}>${msg`Back`}</button>
    ${
      last
        ? later &&
          html`<a class="button is-large is-main" href=${framed ? linkTo(`/embed/learn/${later.id}`) : under(`/learn/${later.id}`)}>${msg`Next lesson: ${later.title}`}</a>`
        : html`<button type="button" class=${`button is-large${waits ? "" : " is-main"}`} aria-disabled=${waits || null} onClick=${next}>
            ${waits ? msg`Next, after your answer` : msg`Next`}
          </button>`
    }
    ${waits && !state.held && html`<button type="button" class="link-button" onClick=${() => dispatch({ type: "reveal" })}>${msg`Show me`}</button>`}
    ${last && !later && !framed && !file && html`<a class="button is-large is-main" href=${under("/learn")}>${msg`All lessons`}</a>`}
  </nav>`;
}
