/** What the header of a lesson offers: large type, paper, a link, the text that embeds it, a file. */

import { html } from "htm/preact";
import { ShareAddress } from "../../embed/share-address.js";
import { isHere } from "../../shared/log/device.js";
import { IN_SITE, under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { LargeType } from "./large-type.js";

/** @param {{lesson: Object, index: number, shown: Object|null, file: boolean, large: boolean, setLarge: Function, settings: Object, print: () => void}} props */
export function Tools({ lesson, index, shown, file, large, setLarge, settings, print }) {
  return html`
    <${LargeType} large=${large} setLarge=${setLarge} settings=${settings} />
    <button type="button" class="lesson-tool" onClick=${print}>${msg`Print`}</button>
    ${
      !file &&
      html`<${ShareAddress}
        path=${`/learn/${lesson.id}#${index + 1}`} title=${lesson.title} name=${msg`Share, embed`} heading=${msg`Share this step`}
        say=${msg`The link opens this step of the lesson, and so does the text that embeds it.`} prints=${[]} class="lesson-tool"
      >${!IN_SITE && html`<a href=${under(`/api/lessons/${lesson.id}.html`)} download>${msg`Save the lesson as a file that plays without a network`}</a>`}<//>`
    }
    ${!file && !IN_SITE && html`<${Leave} shown=${shown} />`}
  `;
}

/** A link that leaves the lesson and opens what the picture shows; of a run of this device only the picture can show anything. */
function Leave({ shown }) {
  if (!shown?.address || isHere({ id: shown.run })) return null;
  return html`<a class="lesson-tool" href=${shown.page === "stage" ? shown.address : under(shown.address)}>${msg`Leave, keep this picture`}</a>`;
}
