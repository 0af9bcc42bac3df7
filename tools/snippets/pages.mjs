// Pages made by JavaScript tools: `node pages.mjs docusaurus|markdown SOURCE TARGET`.
import { readFileSync, writeFileSync } from "node:fs";

const MAKERS = {
  /** Docusaurus compiles .mdx pages with this library, and renders them to HTML with React. */
  async docusaurus(source) {
    const { evaluate } = await import("@mdx-js/mdx");
    const runtime = await import("react/jsx-runtime");
    const { createElement } = await import("react");
    const { renderToStaticMarkup } = await import("react-dom/server");
    const { default: Content } = await evaluate(source, runtime);
    return renderToStaticMarkup(createElement(Content));
  },
  /** CommonMark with HTML allowed, as most Markdown sites have it. */
  async markdown(source) {
    const { default: markdownit } = await import("markdown-it");
    return markdownit({ html: true, linkify: true, typographer: true }).render(source);
  },
};

const [kind, source, target] = process.argv.slice(2);
writeFileSync(target, `<!doctype html><meta charset="utf-8"><title>Page</title>${await MAKERS[kind](readFileSync(source, "utf8"))}`);
