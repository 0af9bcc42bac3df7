/** Card of measured times: a bar per step, and the time of the newest token beside that of prefill. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { originOf, timed } from "../../shared/facts/conditions.js";
import { integer, milliseconds, quoted } from "../../shared/facts/format.js";
import { isAwaited } from "../../shared/state/settled.js";
import { Card } from "../../shared/ui/card.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { drawBars, hitBars } from "./bars.js";
import { timeFacts } from "./facts.js";

const NAME = msg`Time`;
const NAME_CHARS = 12;

export function Time({ state, dispatch }) {
  const { run, settled } = state;
  const opens = { name: NAME, view: "time", question: msg`Where does the time go?` };
  if (!run?.shows)
    return html`<${Card} ...${opens} number="" says=${msg`Times appear after the first step of a run.`} />`;
  if (isAwaited({ run, step: settled }))
    return html`<${Card} ...${opens} dispatch=${dispatch} number="" says=${progressOfPrefill(run)} />`;
  const { prefill, decode } = timeFacts(run, settled);
  const newest = quoted(run.tokens[run.lastQueryOfStep(settled)], NAME_CHARS);
  const text = decode
    ? {
        number: milliseconds(decode.here),
        says: `${msg`Time of the step with the input ${newest}.`} ${timeOfPrefill(run, prefill)}`,
      }
    : { number: milliseconds(prefill.ms), says: firstTokenText(run) };
  return html`<${Card} ...${opens} dispatch=${dispatch} origin=${originOf(run.steps.slice(decode ? settled : 0, settled + 1))} ...${text}>
    <${StepBars} run=${run} step=${settled} dispatch=${dispatch} />
  <//>`;
}

function progressOfPrefill({ prefillRows, partialRows, steps }) {
  const [rows, computed] = [integer(prefillRows), integer(partialRows)];
  if (steps.length)
    return plural(
      prefillRows,
      form`Prefill of ${rows} token is being shown.`,
      form`Prefill of ${rows} tokens is being shown.`,
    );
  return plural(
    prefillRows,
    form`Prefill has computed ${computed} of ${rows} row.`,
    form`Prefill has computed ${computed} of ${rows} rows.`,
  );
}

function timeOfPrefill({ prefillPasses, steps, open }, prefill) {
  const [tokens, passes, time] = [integer(prefill.tokens), prefillPasses, timed(prefill.ms, steps[0].data)];
  const text =
    passes > 1
      ? msg`Prefill of ${tokens} tokens in ${passes} passes took ${time}.`
      : plural(
          prefill.tokens,
          form`Prefill of ${tokens} token took ${time}.`,
          form`Prefill of ${tokens} tokens took ${time}.`,
        );
  return open.parent ? `${text} ${msg`That was measured in the parent run.`}` : text;
}

function firstTokenText({ reused, promptLength, prefillRows, prefillPasses: passes }) {
  const term = html`<${Term} id="ttft">${msg`TTFT`}<//>`;
  const [cached, prompt, computed] = [reused, promptLength, prefillRows].map(integer);
  const tokens = reused
    ? msg`${prompt} prompt tokens: ${cached} read from the cache, ${computed} computed.`
    : passes > 1
      ? msg`All ${prompt} prompt tokens were computed in ${passes} passes.`
      : plural(
          promptLength,
          form`The ${prompt} prompt token was computed in one pass.`,
          form`All ${prompt} prompt tokens were computed in one pass.`,
        );
  return html`${nodes`Time to the first token (${term}).`} ${tokens}`;
}

function StepBars({ run, step, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const count = step + 1;
  const draw = useCallback(
    (context) => {
      const values = run.steps.slice(0, count).map(({ data }) => data.ms.total);
      drawBars(context, { values, label: tokenCount(run.prefillRows) }, { theme }, size);
    },
    [run, count, theme, size],
  );
  const onClick = (event) => {
    const bar = size && hitBars(count, size.width, pointInside(event).x);
    if (bar !== null) dispatch({ type: "seek", step: bar });
  };
  const label = plural(count, form`Time of ${count} step: prefill`, form`Time of ${count} steps; the first is prefill`);
  return html`<div class="step-bars anchor" role="img" aria-label=${label} title=${label} ref=${ref} onClick=${onClick}>
    ${size && html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
