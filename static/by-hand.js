/** The page of worked examples: `/by-hand/<example>`, and the same inside other pages. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Page } from "./by-hand/page.js";
import { embedOfSearch } from "./embed/protocol.js";
import { tellHeight } from "./embed/tell-height.js";
import { storageOr } from "./state/storage.js";
import { embeddedTheme, preferredTheme, rememberTheme } from "./state/theme.js";

const { example, framed, real } = JSON.parse(document.getElementById("bootstrap").textContent);
const settings = storageOr(() => window.localStorage);
const systemDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const first = framed
  ? embeddedTheme(embedOfSearch(window.location.search).theme, systemDark)
  : preferredTheme(settings, systemDark);

function Whole() {
  const [theme, setTheme] = useState(first);
  document.documentElement.dataset.theme = theme;
  const choose = (next) => {
    rememberTheme(settings, next);
    setTheme(next);
  };
  useEffect(() => (framed ? tellHeight() : undefined), []);
  return html`<${Page} example=${example} framed=${framed} real=${real} theme=${theme} setTheme=${choose} />`;
}

render(html`<${Whole} />`, document.getElementById("page"));
