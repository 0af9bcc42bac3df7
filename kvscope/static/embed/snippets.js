/** The text to paste for an embed, for each kind of page; values are escaped for that kind. Pure. */

import { msg } from "../shared/words/msg.js";

/** Allows scripts and links, and nothing else on the page around. */
const SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox";
const PLACE = ["step", "layer", "head", "query", "key", "view"];

/** The defaults of an embed's parameters (docs/embed.md). */
export const PLAIN = { at: {}, hide: [], theme: "auto", autoplay: false, speed: 1 };

/**
 * @param {string} base address of the embed, without parameters
 * @param {{at: Object, hide: string[], theme: string, autoplay: boolean, speed: number}} options `at`: step, layer, head,
 *   query, key, view; null or missing: the session's own
 * @returns {string} the address with the parameters that differ from PLAIN
 */
export function embedAddress(base, { at, hide, theme, autoplay, speed }) {
  const parameters = PLACE.filter((name) => at[name] !== null && at[name] !== undefined).map((name) => [
    name,
    at[name],
  ]);
  if (hide.length) parameters.push(["hide", hide.join(",")]);
  if (theme !== PLAIN.theme) parameters.push(["theme", theme]);
  if (autoplay) parameters.push(["autoplay", 1]);
  if (autoplay && speed !== PLAIN.speed) parameters.push(["speed", speed]);
  const query = parameters.map(([name, value]) => `${name}=${value}`).join("&");
  return query ? `${base}?${query}` : base;
}

/**
 * The kinds of pages that an embed can be pasted into. `fits`: the snippet has embed.js, which sets the frame to the height of its
 * content. Otherwise the frame has the chosen height.
 */
export const HOSTS = [
  { id: "html", name: msg`HTML page`, make: withScript, fits: true, instructions: msg`Paste it into the page’s HTML.` },
  {
    id: "markdown",
    name: msg`Markdown site`,
    make: withScript,
    fits: true,
    instructions: msg`Paste it as a separate paragraph, with an empty line before and after. The site must allow HTML in Markdown; a README on a code host does not.`,
  },
  {
    id: "jupyter",
    name: msg`Jupyter notebook`,
    make: jupyter,
    fits: false,
    instructions: msg`Paste it into a code cell and run the cell.`,
  },
  {
    id: "jupyter-book",
    name: "Jupyter Book",
    make: jupyterBook,
    fits: false,
    instructions: msg`Paste it into a page written in MyST Markdown (Jupyter Book 2). The book sets the size of the frame.`,
  },
  {
    id: "mkdocs",
    name: "MkDocs",
    make: withScript,
    fits: true,
    instructions: msg`Paste it into a Markdown page as a separate paragraph, with an empty line before and after.`,
  },
  {
    id: "quarto",
    name: "Quarto",
    make: quarto,
    fits: true,
    instructions: msg`Paste it into a .qmd file, for HTML output.`,
  },
  { id: "docusaurus", name: "Docusaurus", make: jsx, fits: false, instructions: msg`Paste it into an .mdx page.` },
  {
    id: "moodle",
    name: "Moodle",
    make: frame,
    fits: false,
    instructions: msg`In the text editor, choose “Source code”, paste it, and save.`,
  },
  {
    id: "canvas",
    name: "Canvas",
    make: frame,
    fits: false,
    instructions: msg`In the Rich Content Editor, switch to the HTML editor, paste it, and save.`,
  },
];

/**
 * @param {string} host id of one of HOSTS
 * @param {{address: string, script: string, title: string, width: number, height: number}} embed addresses are absolute;
 *   `script`: of embed.js; sizes in CSS pixels
 * @returns {string}
 */
export function snippet(host, embed) {
  // A title on one line cannot end a block of Markdown or an option of a directive.
  const title = embed.title.replace(/\s+/g, " ").trim();
  return HOSTS.find(({ id }) => id === host).make({ ...embed, title });
}

function withScript(embed) {
  return `${frame(embed)}\n<script src="${attribute(embed.script)}"></script>`;
}

function frame({ address, title, width, height }) {
  const style = "border:0;max-width:100%";
  return `<iframe src="${attribute(address)}" title="${attribute(title)}" width="${width}" height="${height}" style="${style}" sandbox="${SANDBOX}" loading="lazy"></iframe>`;
}

/** IPython puts `extras` into the tag unescaped. */
function jupyter({ address, title, width, height }) {
  const extras = [`title="${attribute(title)}"`, `sandbox="${SANDBOX}"`, 'style="max-width:100%"'];
  // Not language: Python.
  return `from IPython.display import IFrame\n\nIFrame(\n    ${quoted(address)},\n    width=${width},\n    height=${height},\n    extras=[${extras.map(quoted).join(", ")}],\n)`;
}

function jupyterBook({ address, title }) {
  return `:::{iframe} ${address}\n:width: 100%\n:title: ${title}\n:::`;
}

function quarto(embed) {
  return `\`\`\`{=html}\n${withScript(embed)}\n\`\`\``;
}

function jsx({ address, title, width, height }) {
  return `<iframe\n  src={${quoted(address)}}\n  title={${quoted(title)}}\n  width="${width}"\n  height="${height}"\n  style={{border: 0, maxWidth: "100%"}}\n  sandbox="${SANDBOX}"\n  loading="lazy"\n/>`;
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** For an HTML attribute between double quotes. */
function attribute(text) {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]);
}

/** A string as Python and JavaScript both read it. */
function quoted(text) {
  return JSON.stringify(text);
}
