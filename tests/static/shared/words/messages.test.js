import assert from "node:assert/strict";
import test from "node:test";
import { createMessages } from "../../../../kvscope/static/shared/words/messages.js";

const russian = {
  "Row {row} of {n}": "Всего {n}, строка {row}",
  "{n} token": { one: "{n} токен", few: "{n} токена", many: "{n} токенов" },
  untranslated: "",
  "{n} page": { one: "", other: "" },
};

test("without a catalogue the English text is the message", () => {
  const { msg, nodes, form, plural } = createMessages();
  assert.equal(msg`Row ${3} of ${4}`, "Row 3 of 4");
  assert.deepEqual(nodes`Row ${3} of ${4}.`, ["Row ", 3, " of ", 4, "."]);
  assert.equal(plural(1, form`${1} token`, form`${1} tokens`), "1 token");
  assert.equal(plural(0, form`${0} token`, form`${0} tokens`), "0 tokens");
});

test("a translation puts the places in its own order", () => {
  const { msg } = createMessages({ language: "ru", messages: russian });
  assert.equal(msg`Row ${3} of ${4}`, "Всего 4, строка 3");
});

test("a plural has the forms of its language", () => {
  const { form, plural } = createMessages({ language: "ru", messages: russian });
  const said = [1, 2, 5, 21].map((n) => plural(n, form`${n} token`, form`${n} tokens`));
  assert.deepEqual(said, ["1 токен", "2 токена", "5 токенов", "21 токен"]);
});

test("a missing translation stays English, with English forms", () => {
  const { msg, form, plural } = createMessages({ language: "ru", messages: russian });
  assert.equal(msg`untranslated`, "untranslated");
  assert.equal(plural(1, form`${1} block`, form`${1} blocks`), "1 block");
  assert.equal(plural(21, form`${21} block`, form`${21} blocks`), "21 blocks");
  assert.equal(plural(21, form`${21} page`, form`${21} pages`), "21 pages");
});

test("a token's own text is never read as a place", () => {
  const { msg } = createMessages({ language: "ru", messages: russian });
  assert.equal(msg`Row ${"{n}$&"} of ${"{row}"}`, "Всего {row}, строка {n}$&");
});
