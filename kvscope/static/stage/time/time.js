/** Card of measured times: a bar per step, and the time of the newest token beside that of prefill. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { originOf, timed } from "../../shared/facts/conditions.js";
import { integer, milliseconds, quoted } from "../../shared/facts/format.js";
import { lacking } from "../../shared/facts/lacking.js";
import { isInherited, measuredTogether } from "../../shared/facts/step-rows.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { tokenCount } from "../../shared/words/counts.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { isAwaited } from "../state/layer-sweep.js";
import { Card } from "../ui/card.js";
import { drawBars, hitBars } from "./bars.js";
import { timeFacts } from "./facts.js";

const NAME = msg`Time`;
const NAME_CHARS = 12;

export function Time({ state, dispatch }) {
  const { run, settled } = state;
  const opens = { name: NAME, view: "time", question: msg`Where does the time go?` };
  if (!run?.shows)
    return html`<${Card} ...${opens} number="" says=${msg`Times appear after the first step of a run.`} />`;
  const lacks = lacking(run, ["times"]);
  if (lacks) return html`<${Card} ...${opens} number="" says=${lacks} />`;
  if (isAwaited({ run, step: settled }))
    return html`<${Card} ...${opens} dispatch=${dispatch} number="" says=${progressOfPrefill(run)} />`;
  const { prefill, decode } = timeFacts(run, settled);
  const newest = quoted(run.tokens[run.lastQueryOfStep(settled)], NAME_CHARS);
  const text = decode
    ? {
        number: milliseconds(decode.here),
        says: `${msg`Time of the step with the input ${newest}.`} ${prefill ? timeOfPrefill(run, prefill) : ""} ${ofParent(run, settled)}`,
      }
    : { number: milliseconds(prefill.ms), says: firstTokenText(run) };
  return html`<${Card} ...${opens} dispatch=${dispatch} origin=${originOf([run.steps[settled]])} ...${text}>
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

/** @returns {string} which times of a branch are not its own; "" for any other run */
function ofParent(run, step) {
  if (isInherited(run, step)) return msg`Measured in the run that this one branched from.`;
  return run.open.parent ? msg`Earlier steps were measured in the run that this one branched from.` : "";
}

function timeOfPrefill({ prefillPasses, steps }, prefill) {
  const [tokens, passes, time] = [integer(prefill.tokens), prefillPasses, timed(prefill.ms, steps[0].data)];
  return passes > 1
    ? msg`Prefill of ${tokens} tokens in ${passes} passes took ${time}.`
    : plural(
        prefill.tokens,
        form`Prefill of ${tokens} token took ${time}.`,
        form`Prefill of ${tokens} tokens took ${time}.`,
      );
}

function firstTokenText(run) {
  const { reused, promptLength, prefillRows, prefillPasses: passes } = run;
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
  return html`${nodes`Time to the first token (${term}).`} ${isInherited(run, 0) ? ofParent(run, 0) : tokens}`;
}

function StepBars({ run, step, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const { from } = measuredTogether(run, step);
  const count = step + 1 - from;
  const begins = from === 0;
  const inherited = isInherited(run, step);
  const draw = useCallback(
    (context) => {
      const values = run.steps.slice(from, from + count).map(({ data }) => data.ms.total);
      drawBars(context, { values, label: begins ? tokenCount(run.prefillRows) : null, inherited }, { theme }, size);
    },
    [run, from, count, inherited, theme, size],
  );
  const onClick = (event) => {
    const bar = size && hitBars(count, size.width, pointInside(event).x, begins);
    if (bar !== null) dispatch({ type: "seek", step: from + bar });
  };
  const label = begins
    ? plural(count, form`Time of ${count} step: prefill`, form`Time of ${count} steps; the first is prefill`)
    : plural(count, form`Time of ${count} decode step`, form`Time of ${count} decode steps`);
  return html`<div class="step-bars anchor" role="img" aria-label=${label} title=${label} ref=${ref} onClick=${onClick}>
    ${size && html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
