/** Reads the page's source for its messages, and for text that is none. Pure. */

import { parse } from "../../kvscope/static/node_modules/@babel/parser/lib/index.js";

const TAGS = new Set(["msg", "nodes", "form"]);

/** Attributes whose value people read. */
const READ = /^(?:title|alt|placeholder|label|says?|aria-(?:label|description|roledescription|valuetext))$/;

/** What an attribute ends with whose value nobody reads: words in it are names. */
const NAMES = /\s(?:class|style|d|viewBox|transform|points|rel|sandbox|allow)=["']?$/;

const BRANDS = new Set(["Jupyter Book", "KV", "Scope"]);

/** Two words or more, the first of them of letters: what is only a class, a key, a selector or a path looks different. */
const SENTENCE = /(?:^|[\s(“"])[A-Za-z’']{2,}[,:;]? [a-zA-Z’']/;

/**
 * @param {string} source
 * @returns {{key: string, other: string|null, line: number}[]} `key`: the message with its places as `{name}`; `other`: of a
 *   plural, its second form
 */
export function messagesOf(source) {
  const found = [];
  const forms = new Set();
  walk(parsed(source), (node) => {
    const [, one, other] = node.arguments ?? [];
    if (/^plural(?:Nodes)?$/.test(node.callee?.name) && isMessage(one)) {
      found.push({ key: template(one.quasi), other: template(other.quasi), line: node.loc.start.line });
      forms.add(one).add(other);
    } else if (isMessage(node) && !forms.has(node)) {
      found.push({ key: template(node.quasi), other: null, line: node.loc.start.line });
    }
  });
  return found;
}

/**
 * @param {string} source
 * @returns {{text: string, line: number}[]} what people would read and nobody could translate: text and readable attributes of
 *   `html` templates, and strings of several words
 */
export function untaggedIn(source) {
  const found = [];
  const names = new Set();
  const note = (text, node) => found.push({ text: text.trim(), line: node.loc.start.line });
  walk(parsed(source), (node, parents) => {
    if (node.leadingComments?.some(({ value }) => value.includes("Not language:"))) names.add(node);
    const technical = () => isTechnical(parents) || [...parents, node].some((around) => names.has(around));
    if (node.type === "TaggedTemplateExpression" && node.tag.name === "html") {
      const { quasis, expressions } = node.quasi;
      for (const [at, expression] of expressions.entries())
        if (NAMES.test(quasis[at].value.cooked)) names.add(expression);
      for (const text of readIn(node.quasi)) note(text, node);
    } else if (node.type === "StringLiteral" && SENTENCE.test(node.value) && !BRANDS.has(node.value) && !technical()) {
      note(node.value, node);
    } else if (node.type === "TemplateLiteral" && parents.at(-1).type !== "TaggedTemplateExpression") {
      const text = node.quasis.map(({ value }) => value.cooked).join("0");
      if (SENTENCE.test(text) && !technical()) note(text, node);
    }
  });
  return found;
}

const parsed = (source) => parse(source, { sourceType: "module" });

function walk(node, visit, parents = []) {
  visit(node, parents);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === "string" && child.loc) walk(child, visit, [...parents, node]);
    }
  }
}

const isMessage = (node) => node.type === "TaggedTemplateExpression" && TAGS.has(node.tag.name);

/** An error for developers, a module's name, a selector or what is put into a style: nobody reads it on the page. */
function isTechnical(parents) {
  const parent = parents.at(-1);
  if (/^(?:Import|Export)/.test(parent.type)) return true;
  const given =
    parent.type === "AssignmentPattern" ? parent.left : parent.type === "VariableDeclarator" ? parent.id : null;
  if (/class(?:Name|es)?$|^(?:FONT|STRONG|LARGE)$/i.test(given?.name)) return true;
  if (
    parent.type === "ObjectProperty" &&
    /^(?:class|className|exponentformat|font|style|filter|transition)$/.test(parent.key.name)
  )
    return true;
  const call = parents.findLast(({ type }) => type === "CallExpression" || type === "NewExpression");
  const callee = call?.callee.property?.name ?? call?.callee.name ?? "";
  return /^(?:Error|TypeError|RangeError|querySelector(?:All)?|closest|matches|matchMedia|getContext|warn|error)$/.test(
    callee,
  );
}

/** @returns {string[]} text between the tags of a template, and values of its attributes that people read */
function readIn({ quasis }) {
  const markup = quasis.map(({ value }) => value.cooked).join("\0");
  const prose = markup.replace(/<!--[\s\S]*?-->/g, "").replace(/<(kbd|code)\b[^>]*>[^<]*<\/\1>/g, "");
  const text = prose.replace(/<(?:"[^"]*"|'[^']*'|[^>"'])*>/g, "\n");
  const attributes = [...markup.matchAll(/\s([\w-]+)=(?:"([^"]*)"|'([^']*)')/g)];
  const values = attributes.filter(([, name]) => READ.test(name)).map(([, , double, single]) => double ?? single);
  const pieces = [...text.split(/[\n\0]/), ...values].filter((piece) => !BRANDS.has(piece.trim()));
  return pieces.filter((piece) => /\p{L}{2}/u.test(piece.replace(/&\w+;/g, "")));
}

/** @returns {string} text with places as `{name}`, each name once */
function template({ quasis, expressions }) {
  const names = [];
  for (const expression of expressions) {
    const name = nameOf(expression) ?? "value";
    const again = names.filter((taken) => taken.replace(/\d+$/, "") === name).length;
    names.push(again ? `${name}${again + 1}` : name);
  }
  return quasis.map(({ value }, at) => value.cooked + (at < names.length ? `{${names[at]}}` : "")).join("");
}

/** @returns {string|undefined} the most telling name in an expression: of a variable, a property, what a function is given */
function nameOf(expression) {
  if (expression.type === "Identifier") return expression.name;
  if (/MemberExpression$/.test(expression.type)) return nameOf(expression.property);
  if (expression.type === "CallExpression") {
    const [first] = expression.arguments;
    return (first && nameOf(first)) ?? nameOf(expression.callee);
  }
  if (expression.type === "BinaryExpression") return nameOf(expression.left) ?? nameOf(expression.right);
  if (expression.type === "TaggedTemplateExpression") {
    const inner = expression.quasi.expressions.map(nameOf).find(Boolean);
    return inner?.toLowerCase() === "term" ? "term" : inner;
  }
  return undefined;
}
