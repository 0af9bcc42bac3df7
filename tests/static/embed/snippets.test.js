import assert from "node:assert/strict";
import { test } from "node:test";
import { embedOfSearch } from "../../../kvscope/static/embed/protocol.js";
import { embedAddress, HOSTS, PLAIN, snippet } from "../../../kvscope/static/embed/snippets.js";

const BASE = "https://kvscope.example/embed/abcdefghij23";
// biome-ignore lint/suspicious/noTemplateCurlyInString: braces are what MDX trips over
const NASTY = "A \"title\" 'with' <b>markup</b> & {braces} ``` ${x} \\ :::\u2028 ]]> end";
const embed = (more = {}) => ({
  address: `${BASE}?step=3&view=head`,
  script: "https://kvscope.example/static/embed.js",
  title: "What “it” means",
  width: 700,
  height: 500,
  ...more,
});

test("an address has the chosen options only, and the embed reads the same options from it", () => {
  assert.equal(embedAddress(BASE, PLAIN), BASE);
  const at = { step: 0, layer: 13, head: 8, query: null, key: undefined, view: "pair" };
  const address = embedAddress(BASE, { at, hide: ["prompt", "notes"], theme: "dark", autoplay: true, speed: 2 });
  const read = embedOfSearch(new URL(address).search);
  assert.deepEqual(read, {
    link: { step: 0, layer: 13, head: 8, view: "pair" },
    hide: ["prompt", "notes"],
    theme: "dark",
    autoplay: true,
    speed: 2,
  });
  assert.equal(embedAddress(BASE, { ...PLAIN, speed: 2 }), BASE);
});

test("every kind of page has a name and instructions", () => {
  assert.deepEqual(
    HOSTS.map(({ id }) => id),
    ["html", "markdown", "jupyter", "jupyter-book", "mkdocs", "quarto", "docusaurus", "moodle", "canvas"],
  );
  for (const { name, instructions } of HOSTS) assert.ok(name && instructions.endsWith("."));
});

test("an HTML snippet is a sandboxed frame with its values escaped", () => {
  const text = snippet("html", embed({ title: NASTY }));
  const [frame, script] = text.split("\n");
  assert.match(frame, /^<iframe src="https:\/\/kvscope\.example\/embed\/abcdefghij23\?step=3&amp;view=head" /);
  assert.match(frame, /sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"/);
  assert.match(frame, / width="700" height="500" /);
  assert.ok(frame.includes("title=\"A &quot;title&quot; 'with' &lt;b&gt;markup&lt;/b&gt; &amp; {braces}"));
  assert.equal(script, '<script src="https://kvscope.example/static/embed.js"></script>');
  assert.equal(snippet("moodle", embed()), snippet("html", embed()).split("\n")[0]);
});

test("the Markdown snippet has no empty line, which would end the HTML", () => {
  for (const host of ["html", "markdown", "mkdocs", "quarto"])
    assert.ok(!/\n\s*\n/.test(snippet(host, embed({ title: "a\n\nb" }))), host);
});

test("no title ends a Quarto block or a directive", () => {
  const title = "a\n```\nb\n:::\nc";
  assert.equal(snippet("quarto", embed({ title })).match(/^```/gm).length, 2);
  assert.equal(snippet("jupyter-book", embed({ title })).match(/^:::/gm).length, 2);
});

test("strings of a notebook and of JSX read back unchanged", () => {
  const said = JSON.stringify(NASTY.replace(/\s+/g, " "));
  assert.ok(snippet("docusaurus", embed({ title: NASTY })).includes(`title={${said}}`));
  const python = snippet("jupyter", embed({ title: NASTY }));
  const extra = JSON.parse(python.match(/extras=\[("(?:[^"\\]|\\.)*")/)[1]);
  assert.match(extra, /^title="A &quot;title&quot; 'with' &lt;b&gt;markup/);
});
