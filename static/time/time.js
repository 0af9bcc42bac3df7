/** Measured times: prefill, decode, and what one step spent them on. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { bytesShort, counted, fixed, milliseconds, short } from "../facts/format.js";
import { small } from "../facts/small-numbers.js";
import { logitDifference } from "../facts/twins.js";
import { useFinishedTwin } from "../loading/use-twin.js";
import { isAwaited, whenSettled } from "../state/settled.js";
import { Badge } from "../ui/badge.js";
import { Fact } from "../ui/fact.js";
import { OpenView } from "../ui/open-view.js";
import { Surface } from "../ui/surface.js";
import { pointInside, useRatio, useSize } from "../ui/use-size.js";
import { useTheme } from "../ui/use-theme.js";
import { drawBars, hitBars } from "./bars.js";
import { timeFacts } from "./facts.js";

export function Time({ state, dispatch, client }) {
  const { run, step } = whenSettled(state);
  const awaited = isAwaited({ run, step });
  return html`<section class="facts" aria-label="Time">
    <div class="facts-head">
      <h2>Time <${Badge} origin="measured" /></h2>
      ${run?.shows && html`<${OpenView} view="time" dispatch=${dispatch}>Where does it go?<//>`}
    </div>
    ${awaited && html`<${Awaited} run=${run} />`}
    ${run?.steps.length > 0 && !awaited && html`<${Times} state=${state} run=${run} step=${step} dispatch=${dispatch} client=${client} />`}
    ${!run?.shows && html`<p class="facts-empty">Measured with the first step of a run.</p>`}
  </section>`;
}

/** What will be measured. */
function Awaited({ run }) {
  return html`<dl>
    <${Fact} name=${`prefill, ${counted(run.promptLength, "token")} (TTFT)`} term="ttft">${counted(run.partialRows, "row")} so far<//>
    <${Fact} name="forward, capture, sample" term="capture">…<//>
    <${Fact} name="memory read" term="bytes-read" origin="computed">…<//>
    <${Fact} name="arithmetic" term="arithmetic-intensity" origin="computed">…<//>
  </dl>`;
}

function Times({ state, run, step, dispatch, client }) {
  const { prefill, decode, parts, total, batch } = timeFacts(run, step);
  const { flops, bytes_read: read } = run.steps[step].data;
  return html`<dl>
    <${Fact} name=${`prefill, ${counted(prefill.tokens, "token")} (TTFT)`} term="ttft" hint=${`time to first token; prefill ran in ${counted(prefill.chunks, "chunk")}`}>
      ${milliseconds(prefill.ms)} · ${milliseconds(prefill.perToken)}/token
    <//>
    ${
      decode &&
      html`<${Fact} name="decode, per token" term="decode">
        ${decode.here !== null && `${milliseconds(decode.here)} · `}median ${milliseconds(decode.median)}
      <//>
      <${Fact} name=${`${fixed(decode.perSecond, 1)} tokens/s`} term="tokens-per-second" class="wide">
        <${StepBars} decode=${decode} dispatch=${dispatch} />
      <//>`
    }
    <${Fact} name=${parts.map(({ name }) => name).join(", ")} term="capture" hint=${`this step took ${milliseconds(total)} in all`}>
      ${parts.map(({ ms }) => milliseconds(ms)).join(" + ")}
    <//>
    <${Fact} name="memory read" term="bytes-read" origin="computed" hint="the weights, and K and V of the positions before">
      ${bytesShort(read)}
    <//>
    <${Fact} name="arithmetic" term="arithmetic-intensity" origin="computed">
      ${short(flops, "FLOP")} · ${fixed(flops / read, flops < 10 * read ? 2 : 0)}/byte
    <//>
    <${WithoutCache} run=${run} step=${step} client=${client} twins=${state.twins} />
    ${batch > 1 && html`<${Fact} name="shared with">${counted(batch - 1, "other run")} in the same forward pass<//>`}
  </dl>`;
}

/** `twins`: the family is asked for again when a twin was started in the large view. */
function WithoutCache({ run, step, client, twins }) {
  const twin = useFinishedTwin({ client, run, again: twins });
  const { firstQuery, rows } = run.steps[step];
  const its = twin?.steps[step];
  if (!its)
    return html`<${Fact} name="same step, no cache" origin="computed" hint="the cache view can really run it">
      ${firstQuery === 0 ? `${counted(rows, "row")}, the same` : `${counted(firstQuery + rows, "row")}, not ${rows}`}
    <//>`;
  const logits = logitDifference(run.steps[step], its);
  return html`<${Fact} name="same step, no cache" hint=${`its forward pass, really run; the largest difference over ${logits.compared} listed logits`}>
    ${milliseconds(its.data.ms.forward)} · logits ±${small(logits.largest)}
  <//>`;
}

const BARS_PX = 16;

function StepBars({ decode, dispatch }) {
  const [ref, size] = useSize();
  const theme = useTheme();
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
