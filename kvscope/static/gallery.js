/** Draws the pictures of the gallery's cards in the viewer's theme, and its header. The server has written the texts into the page. */

import { html } from "htm/preact";
import { render } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { drawBars, drawLanes, drawTriangle } from "./shared/draw/card-drawing.js";
import { inkOn, ramp } from "./shared/draw/colours.js";
import { readTheme } from "./shared/draw/theme.js";
import { pictureInWords, rowsOf, textOf } from "./shared/facts/card-picture.js";
import { bootstrapOf } from "./shared/state/bootstrap.js";
import { storageOr } from "./shared/state/storage.js";
import { OwnHeader } from "./shared/ui/own-header.js";
import { useOwnTheme } from "./shared/ui/own-theme.js";

const SIDE_PX = 148;

const root = document.documentElement;
const { pictures } = bootstrapOf();
const settings = storageOr(() => window.localStorage);

function Header() {
  const [theme, setTheme] = useOwnTheme(settings);
  useLayoutEffect(fillCards, [theme]);
  return html`<${OwnHeader} here="gallery" theme=${theme} setTheme=${setTheme} />`;
}

function fillCards() {
  const theme = readTheme(getComputedStyle(root));
  /** @type {NodeListOf<HTMLElement>} */
  const pictureBoxes = document.querySelectorAll("[data-picture]");
  for (const place of pictureBoxes) place.replaceChildren(canvasOf(pictures[place.dataset.picture], theme));
  /** @type {NodeListOf<HTMLElement>} */
  const textBoxes = document.querySelectorAll("[data-text]");
  for (const place of textBoxes) place.replaceChildren(...tokensOf(pictures[place.dataset.text], theme));
}

function canvasOf(picture, theme) {
  const canvas = document.createElement("canvas");
  const ratio = Math.max(1, window.devicePixelRatio);
  canvas.width = canvas.height = Math.round(SIDE_PX * ratio);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", pictureInWords(picture));
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const how = { key: picture.key, theme, side: SIDE_PX };
  if (picture.kind === "attention") drawTriangle(context, rowsOf(picture), how);
  else if (picture.kind === "lanes") drawLanes(context, picture, how);
  else drawBars(context, picture, how);
  return canvas;
}

/** Writes tokens as text, never as markup. */
function tokensOf(picture, theme) {
  const shades = picture.kind === "attention" ? theme.attentionNow : chances(theme);
  return textOf(picture).map(({ text, shade, role }) => {
    const token = document.createElement("bdi");
    token.textContent = text;
    if (role) token.className = `is-${role}`;
    if (shade !== null) {
      token.style.backgroundColor = shades.css[shade];
      token.style.color = shades.ink[shade];
    }
    return token;
  });
}

function chances({ output, panel }) {
  const css = ramp([panel, output]);
  return { css, ink: css.map(inkOn) };
}

render(html`<${Header} />`, document.getElementById("header"));
