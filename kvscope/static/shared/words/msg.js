/** The messages of this page, in the language of the catalogue that the server put into it. */

import { createMessages } from "./messages.js";

const catalogue = globalThis.document?.getElementById("messages")?.textContent;

export const { language, msg, nodes, form, plural, pluralNodes, translated } = createMessages(
  catalogue ? JSON.parse(catalogue) : {},
);
