/** The page of worked examples: `/by-hand/<example>`, and the same inside other pages. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Page } from "./by-hand/page.js";
import { embedOfSearch, sizeMessages } from "./embed/protocol.js";
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
  useEffect(tellHeight, []);
  return html`<${Page} example=${example} framed=${framed} real=${real} theme=${theme} setTheme=${choose} />`;
}

/** Tells the page around an embed how high its frame would have to be. */
function tellHeight() {
  if (!framed) return undefined;
  const tell = () => {
    for (const message of sizeMessages(Math.ceil(document.body.scrollHeight))) window.parent.postMessage(message, "*");
  };
  const resized = new ResizeObserver(tell);
  resized.observe(document.body);
  return () => resized.disconnect();
}

render(html`<${Whole} />`, document.getElementById("page"));
