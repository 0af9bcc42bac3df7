/** The messages of this page, in the language that the server wrote into it. */

import { createMessages } from "./messages.js";

const written = globalThis.document?.getElementById("messages")?.textContent;

export const { language, msg, nodes, form, plural, pluralNodes } = createMessages(written ? JSON.parse(written) : {});
