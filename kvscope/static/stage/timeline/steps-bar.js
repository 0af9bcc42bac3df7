/** The run's steps as a slider of segments, with the progress of the shown step. */

import { html } from "htm/preact";
import { useCallback, useMemo } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { notedSteps } from "../../shared/facts/saved-session.js";
import { firstOwnStep } from "../../shared/facts/step-rows.js";
import { Surface } from "../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { drawSegments, segmentsGeometry, stepAt } from "./segments.js";

const HEIGHT_PX = 28;

export function StepsBar({ state, dispatch }) {
  const { run, step, reveal } = state;
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const recorded = run?.steps.length ?? 0;
  const last = Math.max(0, recorded - 1);
  const count = Math.max(1, run?.close ? recorded : (run?.open?.limits?.max_new_tokens ?? recorded));
  const geometry = useMemo(() => segmentsGeometry(count, width), [count, width]);
  const noted = useMemo(() => notedSteps(run?.saved?.notes ?? []), [run]);
  const share = shareOf(run, reveal);
  const own = run ? firstOwnStep(run) : 0;
  const tokens = integer(run?.prefillRows ?? 0);
  const label = run?.open
    ? plural(run.prefillRows, form`prefill · ${tokens} token`, form`prefill · ${tokens} tokens`)
    : "";
  const draw = useCallback(
    (context) =>
      drawSegments(
        context,
        { step, share, recorded, noted, label, own },
        { geometry, theme },
        { width, height: HEIGHT_PX },
      ),
    [step, share, recorded, noted, label, own, geometry, theme, width],
  );
  const seek = (to) => dispatch({ type: "seek", step: Math.min(to, last) });
  const onPointer = (event) => {
    if (!(event.buttons & 1)) return;
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    const to = Math.min(stepAt(geometry, pointInside(event).x), last);
    if (to !== step || event.type === "pointerdown") seek(to);
  };
  return html`<div class="steps-bar anchor" ref=${ref} onPointerDown=${onPointer} onPointerMove=${onPointer}>
      <input
        type="range" aria-label=${msg`Step`} aria-valuetext=${msg`Step ${step} of ${last}`} min="0" max=${last} step="1" value=${step}
        onInput=${({ target }) => seek(target.valueAsNumber)}
      />
      ${width > 0 && html`<${Surface} width=${width} height=${HEIGHT_PX} ratio=${ratio} draw=${draw} />`}
    </div>
    <output class="steps-place strong nowrap still" aria-label=${msg`Step and layer`} aria-live=${state.layerStop ? "polite" : "off"}>${placeOf(state)}</output>`;
}

/** Returns the computed part of the shown step, by layers; of a prefill that is not complete, by rows. */
function shareOf(run, reveal) {
  if (!run?.steps.length) return run?.promptLength ? run.partialRows / run.prefillRows : 0;
  return run.layers ? Math.min(1, reveal / run.layers) : 1;
}

function placeOf({ run, step, reveal, layerStop }) {
  if (!run?.steps.length) return "";
  const layer = layerStop ? layerStop - 1 : reveal < run.layers ? Math.floor(reveal) : null;
  return layer === null ? msg`Step ${step}` : msg`Step ${step}, layer ${layer}`;
}
