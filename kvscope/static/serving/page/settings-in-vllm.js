/** The settings of the form, folded: the name of each in vLLM, and what it is for. */

import { html } from "htm/preact";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { SETTINGS } from "../settings.js";

export function SettingsInVllm() {
  return html`<details class="requests">
    <summary>${msg`These settings in vLLM`}</summary>
    <${Table} name=${msg`Settings and their names in vLLM`} kind="settings-names"
      columns=${[{ head: msg`Setting` }, { head: msg`In vLLM`, words: true }]}
      rows=${SETTINGS.map(({ field, label, inVllm, why }) => ({ key: field, head: label, cells: [html`<code>${inVllm}</code>`], says: why }))} />
  </details>`;
}
