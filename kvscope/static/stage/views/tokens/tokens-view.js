/** The large view of the next token: from logits to the choice, why a token was or was not chosen, beam search, training. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer, percent, quoted } from "../../../shared/facts/format.js";
import { mostOf } from "../../../shared/log/limits.js";
import { Badge } from "../../../shared/ui/badge.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { WhatIf } from "../../next-token/what-if.js";
import { OpenView } from "../../ui/open-view.js";
import { BeamSearch } from "./beam-search.js";
import { Invariance } from "./invariance.js";
import { PathTable } from "./path-table.js";
import { pathRows, tokenPath } from "./token-path.js";
import { Training } from "./training.js";
import { useLookup } from "./use-lookup.js";
import { Why } from "./why.js";

/** Rows of candidates, including the chosen one and the one looked up. */
const ROWS = 10;

export function TokensView({ state, dispatch, controller, client }) {
  const { run, step, branching, sampling } = state;
  const { text, lookup, search, onText, onLookUp, onPress } = useLookup(state, client);
  const shown = run.steps[step];
  const used = run.sampling;
  const settings = state.whatIf ?? used;
  const path = useMemo(() => tokenPath(shown, settings, used), [shown, settings, used]);
  const lookupRow = lookup && lookup.rank < shown.topIds.length ? lookup : null;
  const rows = pathRows(shown.data.top_tokens, ROWS, [path.chosen, lookupRow]);
  return html`
    <div class="tokens-head row on-line wide between">
      <h2>${headline(path, shown.data)} <${Badge} origin="computed" /></h2>
      <${OpenView} view="effects" dispatch=${dispatch}>${msg`What changes it?`}<//>
      <${OpenView} view="model" dispatch=${dispatch}>${msg`What is the best guess after each layer?`}<//>
      <${WhatIf} settings=${settings} used=${used} isKnown=${Boolean(run.open.sampling)} next=${sampling} dispatch=${dispatch} />
    </div>
    <${PathTable}
      path=${path} rows=${rows} run=${run} step=${step} lookup=${lookup?.token ?? null} branching=${branching}
      onLookUp=${onPress} onBranch=${controller.branch} dispatch=${dispatch}
    />
    <${Why}
      path=${path} run=${run} step=${step} text=${text} most=${mostOf(state.limits, "candidates", "text")} search=${search} lookup=${lookup} branching=${branching}
      onText=${onText} onLookUp=${onLookUp} onBranch=${controller.branch}
    />
    <${BeamSearch} state=${state} client=${client} dispatch=${dispatch} />
    <${Invariance} key=${`invariance ${run.id}`} state=${state} client=${client} dispatch=${dispatch} />
    <${Training} key=${run.id} state=${state} client=${client} />
  `;
}

function headline({ vocab }, { token, filters }) {
  const name = quoted(token);
  if (token.forced) return msg`${name} comes next: it was set by this branch`;
  if (!filters) return msg`${name} comes next: the program that computed this run chose it`;
  if (filters.kept_top_p === 1 || token.prob === token.raw_prob) {
    return msg`${name} comes next: it has the largest of ${integer(vocab)} scores (logits)`;
  }
  const count = integer(filters.kept_top_p);
  const probability = percent(token.prob);
  return plural(
    filters.kept_top_p,
    form`${name} comes next: drawn from the ${count} token that passed the filters, with a probability of ${probability}`,
    form`${name} comes next: drawn from the ${count} tokens that passed the filters, with a probability of ${probability}`,
  );
}
