/** The memory calculator: `/memory`, and the same inside other pages. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { embedOfSearch } from "./embed/protocol.js";
import { tellHeight } from "./embed/tell-height.js";
import { Page } from "./memory/page/page.js";
import { storageOr } from "./state/storage.js";
import { embeddedTheme, preferredTheme, rememberTheme } from "./state/theme.js";
import { tokenOf } from "./state/token.js";
import { visitorOf } from "./state/visitor.js";

const { framed, ...known } = JSON.parse(document.getElementById("bootstrap").textContent);
const settings = storageOr(() => window.localStorage);
const systemDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const first = framed
  ? embeddedTheme(embedOfSearch(window.location.search).theme, systemDark)
  : preferredTheme(settings, systemDark);

/** Out of the address before that is written anew. */
const token = framed ? null : tokenOf(window, settings);

/** Who asks for the machine to be measured; a guest of another page never does. */
function identity() {
  const visitor = visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16)));
  return { "X-KVScope-Client": visitor, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
}

function Whole() {
  const [theme, setTheme] = useState(first);
  document.documentElement.dataset.theme = theme;
  const choose = (next) => {
    rememberTheme(settings, next);
    document.documentElement.dataset.theme = next;
    setTheme(next);
  };
  useEffect(() => (framed ? tellHeight() : undefined), []);
  return html`<${Page} known=${known} framed=${framed} identity=${identity} theme=${theme} setTheme=${choose} />`;
}

render(html`<${Whole} />`, document.getElementById("page"));
