import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CloseButton, Form } from "../../../../kvscope/static/shared/ui/form.js";

const STATIC = fileURLToPath(new URL("../../../../kvscope/static/", import.meta.url));
const SKIPPED = ["vendor", "node_modules"];

/** A form of the page as its element sees a click on a button inside. */
function click({ type = "submit", valid = true, noValidate = false } = {}) {
  const calls = [];
  const { props } = Form({ onSubmit: () => calls.push("submit"), children: null, class: "row" });
  props.onClick({
    target: { closest: () => ({ type }) },
    currentTarget: { noValidate, reportValidity: () => valid },
    preventDefault: () => calls.push("prevent"),
  });
  return calls;
}

test("a form is answered at the click of its submit button, once its fields are valid", () => {
  assert.deepEqual(click(), ["prevent", "submit"]);
  assert.deepEqual(click({ valid: false }), ["prevent"]);
  assert.deepEqual(click({ valid: false, noValidate: true }), ["prevent", "submit"]);
  assert.deepEqual(click({ type: "button" }), []);
});

test("a dialog is closed by its button", () => {
  let closed = 0;
  const { props } = CloseButton({ children: "Close" });
  props.onClick({ currentTarget: { closest: () => ({ close: () => (closed += 1) }) } });
  assert.equal(closed, 1);
});

test("every form of the pages is this one: a browser submits no other in a sandboxed frame", () => {
  const scripts = readdirSync(STATIC, { recursive: true, encoding: "utf-8" }).filter(
    (path) => path.endsWith(".js") && !SKIPPED.includes(path.split("/")[0]),
  );
  const others = scripts.filter((path) => /<form\b/.test(readFileSync(`${STATIC}${path}`, "utf-8")));
  assert.deepEqual(others, ["shared/ui/form.js"]);
});
