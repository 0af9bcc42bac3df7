/** Measured times: prefill, decode, and what one step spent them on. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { drawBars, hitBars } from "../draw/bars.js";
import { bytesShort, counted, fixed, integer, milliseconds, short } from "../model/format.js";
import { timeFacts } from "../model/time-facts.js";
import { Badge, Fact } from "./bits.js";
import { pointInside, useRatio, useSize, useTheme } from "./hooks.js";
import { Surface } from "./surface.js";

export function Time({ state, dispatch }) {
  const { run, step } = state;
  return html`<section class="facts" aria-label="Time">
    <h2>Time <${Badge} origin="measured" /></h2>
    ${run?.steps.length ? html`<${Times}
      state=${state} run=${run} step=${step} dispatch=${dispatch}
    />` : html`<p class="facts-empty">Measured with the first step.</p>`}
  </section>`;
}

function Times({ state, run, step, dispatch }) {
  const { prefill, decode, parts, total, batch } = timeFacts(run, step);
  const { flops, bytes_read: read } = run.steps[step].data;
  return html`<dl>
    <${Fact} name=${`prefill, ${counted(prefill.tokens, "token")} (TTFT)`} hint=${`time to first token; prefill ran in ${counted(prefill.chunks, "chunk")}`}>
      ${milliseconds(prefill.ms)} · ${milliseconds(prefill.perToken)}/token
    <//>
    ${decode &&
    html`<${Fact} name="decode, per token">
        ${decode.here !== null && `${milliseconds(decode.here)} · `}median ${milliseconds(decode.median)}
      <//>
      <${Fact} name=${`${fixed(decode.perSecond, 1)} tokens/s`} class="wide">
        <${StepBars} decode=${decode} themeName=${state.theme} dispatch=${dispatch} />
      <//>`}
    <${Fact} name=${parts.map(({ name }) => name).join(", ")} hint=${`this step took ${milliseconds(total)} in all`}>
      ${parts.map(({ ms }) => milliseconds(ms)).join(" + ")}
    <//>
    <${Fact} name="memory read" origin="computed" hint="the weights, and K and V of the positions before">
      ${bytesShort(read)}
    <//>
    <${Fact} name="arithmetic" origin="computed">
      ${short(flops, "FLOP")} · ${fixed(flops / read, flops < 10 * read ? 2 : 0)}/byte
    <//>
    ${batch > 1 && html`<${Fact} name="shared with">${counted(batch - 1, "other run")} in the same forward pass<//>`}
  </dl>`;
}

const BARS_PX = 16;

function StepBars({ decode, themeName, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme(themeName);
  const ratio = useRatio();
  const { steps, median } = decode;
  const width = size?.width ?? 0;
  const draw = useCallback(
    (context) =>
      drawBars(
        context,
        { values: steps, chosen: steps.length - 1, level: median },
        { theme },
        { width, height: BARS_PX },
      ),
    [steps.length, median, theme, width],
  );
  const onClick = (event) => {
    const bar = hitBars(steps.length, width, pointInside(event).x);
    if (bar !== null) dispatch({ type: "seek", step: bar + 1 });
  };
  const slowest = milliseconds(Math.max(...steps));
  const label = `Time of decode steps 1 to ${steps.length}, slowest ${slowest}; the dashes are the median`;
  return html`<div
    class="step-bars" role="img" aria-label=${label} title=${label} ref=${ref} style=${`height:${BARS_PX}px`}
    onClick=${onClick}
  >
    ${width > 0 && html`<${Surface} width=${width} height=${BARS_PX} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
