/** The map, or in its place the differences of a changed run from its original. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";
import { ModelMap } from "../map/map.js";

const DIFFERENCES = async () => (await import("./differences.js")).Differences;

export function MapPlace(props) {
  const [chosen, setChosen] = useState(false);
  const { run, original } = props.state;
  const compares = Boolean(run?.open?.changed && original?.run?.open);
  return html`
    ${
      compares &&
      html`<p class="map-switch choice small" role="group" aria-label=${msg`What the map shows`}>
        <button type="button" aria-pressed=${!chosen} onClick=${() => setChosen(false)}>${msg`This run`}</button>
        <button type="button" aria-pressed=${chosen} onClick=${() => setChosen(true)}>${msg`What differs from the original`}</button>
      </p>`
    }
    ${compares && chosen ? html`<${Fetched} of=${DIFFERENCES} waits=${msg`Loading…`} ...${props} />` : html`<${ModelMap} ...${props} />`}
  `;
}
