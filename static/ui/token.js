/** A token’s text among other words. */

import { html } from "htm/preact";
import { tokenLabel, tokenText } from "../facts/format.js";

/** A token's text, isolated from the direction of the text around it; cut when long, whole in its title. */
export function Token({ token, limit = 14, class: className = "" }) {
  const label = tokenLabel(token, limit);
  const whole = tokenText(token);
  return html`<bdi class=${`token ${className}`} title=${label === whole ? null : whole}>${label}</bdi>`;
}
