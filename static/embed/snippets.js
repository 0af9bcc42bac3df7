/** The text to paste for an embed, by where it is pasted: every value is escaped as that place reads it. Pure. */

/** Scripts run, links open, and nothing else of the page around is in reach. */
const SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox";
const PLACE = ["step", "layer", "head", "query", "key", "view"];

/** What an embed's address does not say is as here (docs/embed.md). */
export const PLAIN = { at: {}, hide: [], theme: "auto", autoplay: false, speed: 1 };

/**
 * @param {string} base address of the embed, without parameters
 * @param {{at: Object, hide: string[], theme: string, autoplay: boolean, speed: number}} options `at`: step, layer, head,
 *   query, key, view; what is null or missing is left to the session
 * @returns {string} the address with the parameters that say something
 */
export function embedAddress(base, { at, hide, theme, autoplay, speed }) {
  const said = PLACE.filter((name) => at[name] !== null && at[name] !== undefined).map((name) => [name, at[name]]);
  if (hide.length) said.push(["hide", hide.join(",")]);
  if (theme !== PLAIN.theme) said.push(["theme", theme]);
  if (autoplay) said.push(["autoplay", 1]);
  if (autoplay && speed !== PLAIN.speed) said.push(["speed", speed]);
  const query = said.map(([name, value]) => `${name}=${value}`).join("&");
  return query ? `${base}?${query}` : base;
}

/**
 * Where an embed can be pasted. `say`: how, in that place's own words; `fits`: the snippet has embed.js, which gives the
 * frame the height of what it shows; elsewhere the height is the one that was chosen.
 */
export const HOSTS = [
  { id: "html", name: "HTML page", make: withScript, fits: true, say: "Paste it into the page’s HTML." },
  {
    id: "markdown",
    name: "Markdown site",
    make: withScript,
    fits: true,
    say: "Paste it as a paragraph of its own, an empty line before and after. The site must allow HTML in Markdown; a README on a code host does not.",
  },
  {
    id: "jupyter",
    name: "Jupyter notebook",
    make: jupyter,
    fits: false,
    say: "Paste it into a code cell and run the cell.",
  },
  {
    id: "jupyter-book",
    name: "Jupyter Book",
    make: jupyterBook,
    fits: false,
    say: "Paste it into a page written in MyST Markdown (Jupyter Book 2). The book gives the frame its shape.",
  },
  {
    id: "mkdocs",
    name: "MkDocs",
    make: withScript,
    fits: true,
    say: "Paste it into a Markdown page as a paragraph of its own, an empty line before and after.",
  },
  { id: "quarto", name: "Quarto", make: quarto, fits: true, say: "Paste it into a .qmd file, for HTML output." },
  { id: "docusaurus", name: "Docusaurus", make: jsx, fits: false, say: "Paste it into an .mdx page." },
  {
    id: "moodle",
    name: "Moodle",
    make: frame,
    fits: false,
    say: "In the text editor choose “Source code”, paste it there, and save.",
  },
  {
    id: "canvas",
    name: "Canvas",
    make: frame,
    fits: false,
    say: "In the Rich Content Editor switch to the HTML editor, paste it there, and save.",
  },
];

/**
 * @param {string} host id of one of HOSTS
 * @param {{address: string, script: string, title: string, width: number, height: number}} embed addresses are absolute;
 *   `script`: of embed.js; sizes in CSS pixels
 * @returns {string}
 */
export function snippet(host, embed) {
  // On one line it ends no block of Markdown, and no option of a directive.
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

/** IPython puts `extras` into the tag as they are. */
function jupyter({ address, title, width, height }) {
  const extras = [`title="${attribute(title)}"`, `sandbox="${SANDBOX}"`, 'style="max-width:100%"'];
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
