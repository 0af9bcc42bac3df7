/** Measured times: prefill, decode, and what one step spent them on. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { drawBars, hitBars } from "../draw/bars.js";
import { bytesShort, counted, fixed, integer, milliseconds, short } from "../model/format.js";
import { timeFacts } from "../model/time-facts.js";
import { Badge } from "./bits.js";
import { useRatio, useSize, useTheme } from "./hooks.js";
import { Surface } from "./surface.js";

export function Time({ state, dispatch }) {
  const { run, step } = state;
  return html`<section class="facts" aria-label="Time">
    <h2>Time <${Badge} origin="measured" /></h2>
    ${run?.steps.length ? html`<${Times} state=${state} run=${run} step=${step} dispatch=${dispatch} />` : html`<p class="facts-empty">Measured with the first step.</p>`}
  </section>`;
}

function Times({ state, run, step, dispatch }) {
  const { prefill, decode, parts, total, batch } = timeFacts(run, step);
  const { flops, bytes_read: read } = run.steps[step].data;
  return html`<dl>
      <dt>prefill, ${counted(prefill.tokens, "token")} (TTFT)</dt>
      <dd>${milliseconds(prefill.ms)} · ${milliseconds(prefill.perToken)}/token${prefill.chunks > 1 && ` · ${prefill.chunks} chunks`}</dd>
      ${decode &&
      html`<dt>decode, per token</dt>
        <dd>${decode.here !== null && `${milliseconds(decode.here)} · `}median ${milliseconds(decode.median)}</dd>
      <dt>decode speed</dt>
      <dd>${fixed(decode.perSecond, 1)} tokens/s</dd>`}
      <dt>${parts.map(({ name }) => name).join(", ")}</dt>
      <dd title=${`this step, in all ${milliseconds(total)}`}>${parts.map(({ ms }) => milliseconds(ms)).join(" + ")}</dd>
      <dt>memory read</dt>
      <dd title="weights, and K and V of the positions before">${bytesShort(read)} <${Badge} origin="computed" /></dd>
      <dt>arithmetic</dt>
      <dd>${short(flops, "FLOP")} · ${fixed(flops / read, flops / read < 10 ? 2 : 0)} per byte <${Badge} origin="computed" /></dd>
      ${batch > 1 && html`<dt>shared with</dt><dd>${integer(batch - 1)} other runs in one forward pass</dd>`}
    </dl>
    ${decode && decode.steps.length > 1 && html`<${StepBars} decode=${decode} themeName=${state.theme} dispatch=${dispatch} />`}`;
}

const BARS_PX = 26;

function StepBars({ decode, themeName, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme(themeName);
  const ratio = useRatio();
  const { steps, median } = decode;
  const width = size?.width ?? 0;
  const draw = useCallback(
    (context) => drawBars(context, { values: steps, chosen: steps.length - 1, level: median }, { theme }, { width, height: BARS_PX }),
    [steps.length, median, theme, width],
  );
  const onClick = (event) => {
    const bar = hitBars(steps.length, width, event.clientX - event.currentTarget.getBoundingClientRect().left);
    if (bar !== null) dispatch({ type: "seek", step: bar + 1 });
  };
  return html`<figure class="step-bars">
    <div class="step-bars-box" ref=${ref} style=${`height:${BARS_PX}px`} onClick=${onClick}>${width > 0 && html`<${Surface} width=${width} height=${BARS_PX} ratio=${ratio} draw=${draw} />`}</div>
    <figcaption>decode steps 1 to ${steps.length}, slowest ${milliseconds(Math.max(...steps))}</figcaption>
  </figure>`;
}
