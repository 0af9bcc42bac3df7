/** Measured times: a bar per step, and what the newest token took beside the prompt. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { originOf, timed } from "../../shared/facts/conditions.js";
import { counted, integer, milliseconds, quoted } from "../../shared/facts/format.js";
import { passesInWords } from "../../shared/facts/passes.js";
import { isAwaited } from "../../shared/state/settled.js";
import { Card } from "../../shared/ui/card.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { Term } from "../../shared/words/term.js";
import { drawBars, hitBars } from "./bars.js";
import { timeFacts } from "./facts.js";

const NAME = "Time";
const NAME_CHARS = 12;

export function Time({ state, dispatch }) {
  const { run, settled } = state;
  const opens = { name: NAME, view: "time", question: "Where does it go?" };
  if (!run?.shows) return html`<${Card} ...${opens} number="" says="Measured with the first step of a run." />`;
  if (isAwaited({ run, step: settled })) {
    const rows = `${counted(run.partialRows, "row")} so far`;
    return html`<${Card} ...${opens} dispatch=${dispatch} number="" says=${`The prompt’s ${counted(run.prefillRows, "token")}: ${run.steps.length ? "on their way" : rows}`} />`;
  }
  const { prefill, decode } = timeFacts(run, settled);
  const prompt = `${prefill.tokens === 1 ? "the one" : `the ${prefill.tokens}`} ${run.reused ? "computed " : ""}of the prompt ${run.prefillPasses > 1 ? `(in ${run.prefillPasses} passes) ` : ""}took ${timed(prefill.ms, run.steps[0].data)}${run.open.parent ? " in the run this one branched from" : ""}`;
  const told = decode
    ? {
        number: milliseconds(decode.here),
        says: `for ${quoted(run.tokens[run.lastQueryOfStep(settled)], NAME_CHARS)} alone; ${prompt}`,
      }
    : {
        number: milliseconds(prefill.ms),
        says: html`until the first token (<${Term} id="ttft">TTFT<//>)${run.reused ? html`: ${integer(run.reused)} of ${integer(run.promptLength)} prompt tokens were read from the cache, ${integer(prefill.tokens)} computed` : html`, for ${prefill.tokens === 1 ? "the one token" : `all ${prefill.tokens} tokens`} of the prompt ${passesInWords(run)}`}`,
      };
  return html`<${Card} ...${opens} dispatch=${dispatch} origin=${originOf(run.steps.slice(decode ? settled : 0, settled + 1))} ...${told}>
    <${StepBars} run=${run} step=${settled} dispatch=${dispatch} />
  <//>`;
}

function StepBars({ run, step, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const count = step + 1;
  const draw = useCallback(
    (context) => {
      const values = run.steps.slice(0, count).map(({ data }) => data.ms.total);
      drawBars(context, { values, label: counted(run.prefillRows, "token") }, { theme }, size);
    },
    [run, count, theme, size],
  );
  const onClick = (event) => {
    const bar = size && hitBars(count, size.width, pointInside(event).x);
    if (bar !== null) dispatch({ type: "seek", step: bar });
  };
  const label = `Time of ${counted(count, "step")}, the first is prefill`;
  return html`<div class="step-bars anchor" role="img" aria-label=${label} title=${label} ref=${ref} onClick=${onClick}>
    ${size && html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
