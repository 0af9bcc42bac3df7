import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundsOf,
  FIRST,
  fieldsOf,
  PRESETS,
  parsed,
  problemOf,
  typedIn,
  withField,
  withRequest,
} from "../../../kvscope/static/serving/workload-form.js";
import { pluck } from "../support/lists.js";
import { REQUESTS, SETTINGS } from "./made.js";

const LIMITS = {
  workload: {
    ...{ requests: [1, 500], prompt: [1, 8192], system: [0, 2000], max_new_tokens: [1, 64] },
    ...{ arrives_ms: [0, 60_000], at_once: [1, 16], chunk: [1, 512], blocks: [1, 256], budget: [1, 8192] },
    ...{ tokens: [1, 16], layers: [0, 512], new_tokens: [1, 2048] },
  },
  workload_states: 24,
};
const { draft: _draft, keep: _keep, ...POSTED } = SETTINGS;
const problem = (fields) => parsed(fields, LIMITS).problem;

test("what is ready-made can be fields as it stands", () => {
  for (const { name, fields } of PRESETS) {
    const read = parsed(fields(), LIMITS);
    assert.equal(read.problem, undefined, name);
    assert.equal(read.requests.length, Number(fields().count), name);
    assert.ok(Math.max(...pluck(read.requests, "max_new_tokens")) <= 24, name);
  }
  const read = parsed(FIRST, LIMITS);
  assert.deepEqual(read.settings, { ...POSTED, at_once: 6, chunk: 128, blocks: 96 });
  assert.ok(read.system.length > 100);
});

test("whoever gives up does so by tokens, whatever a pass takes, and is asked again", () => {
  const { requests } = parsed(PRESETS.find(({ id }) => id === "gives-up").fields(), LIMITS);
  const again = requests.find(({ retry_of }) => retry_of !== null);
  const first = requests[again.retry_of];
  assert.ok(first.cancel_tokens > 0 && first.cancel_tokens < first.max_new_tokens);
  assert.equal(first.cancel_ms, null);
  assert.equal(again.prompt, first.prompt);
});

test("a change of the sentence changes the requests that follow from it, and no others", () => {
  const more = withField(FIRST, "count", "11", LIMITS);
  assert.equal(more.requests.length, 11);
  assert.deepEqual(more.requests.slice(0, 9), FIRST.requests);
  const own = withRequest(FIRST, 0, "prompt", "mine");
  assert.deepEqual([own.lengths, withField(own, "every", "100", LIMITS).requests[0].prompt], ["own", "mine"]);
  assert.equal(withField(own, "lengths", "short", LIMITS).requests[0].prompt, FIRST.requests[0].prompt);
  assert.equal(parsed(withField(FIRST, "sameSystem", false, LIMITS), LIMITS).system, "");
});

test("what cannot be used stays as typed, and is told at its field", () => {
  const wrong = { count: "25", every: "a while", at_once: "0", chunk: "1.5", blocks: "257" };
  for (const [field, text] of [...Object.entries(wrong), ["count", ""]]) {
    const typed = withField(FIRST, field, text, LIMITS);
    assert.equal(typedIn(typed, field), text);
    assert.deepEqual(typed.requests, FIRST.requests);
    const { least, most } = boundsOf(field, LIMITS);
    const told = problem(typed);
    assert.equal(told.field, field);
    assert.match(told.text, new RegExp(`from ${least} to ${most.toLocaleString("en-US")}`));
  }
  const ofRequest = { prompt: " ", newTokens: "65", arrives: "-1", cancel: "0", cancelTokens: "65", retry: "0" };
  for (const [name, text] of Object.entries(ofRequest))
    assert.equal(problem(withRequest(FIRST, 1, name, text)).field, `requests.1.${name}`);
  assert.equal(problem({ ...FIRST, system: "x".repeat(2001) }).field, "system");
});

test("a draft brings the numbers that it guesses best with, and its numbers count only while it is chosen", () => {
  const chosen = (by) => withField(FIRST, "draft_by", by, LIMITS, 12);
  const draft = (fields) => parsed(fields, LIMITS).settings.draft;
  assert.equal(draft(FIRST), undefined);
  assert.deepEqual(draft(chosen("lookup")), { tokens: 4, layers: 0 });
  assert.deepEqual(draft(chosen("layers")), { tokens: 1, layers: 10 });
  const wrong = withField(chosen("layers"), "draft_layers", "0", LIMITS, 12);
  assert.equal(problem(wrong).field, "draft_layers");
  assert.deepEqual(draft(withField(wrong, "draft_by", "lookup", LIMITS, 12)), { tokens: 4, layers: 0 });
  const study = { system: "", requests: REQUESTS, rounds: [{ ...SETTINGS, draft: { tokens: 3, layers: 7 } }] };
  assert.deepEqual(draft(fieldsOf(study, FIRST)), { tokens: 3, layers: 7 });
});

test("a token budget is posted, read off a log, and needs a row for each place and guess", () => {
  const typed = (budget, by = "none") =>
    withField(withField(FIRST, "budget", budget, LIMITS), "draft_by", by, LIMITS, 12);
  const budget = (fields) => parsed(fields, LIMITS).settings?.budget;
  assert.deepEqual([FIRST.settings.budget, budget(FIRST), budget(typed(" "))], ["", null, null]);
  assert.equal(budget(typed("6")), 6, "at_once is 6");
  for (const fields of [typed("5"), typed("0"), typed("8193"), typed("29", "lookup")])
    assert.equal(problem(fields).field, "budget");
  assert.equal(budget(typed("30", "lookup")), 30);
  const study = { system: "", requests: REQUESTS, rounds: [{ ...SETTINGS, budget: 9 }] };
  assert.equal(budget(fieldsOf(study, FIRST)), 9);
  assert.equal(problemOf({ field: "rounds[0].budget", detail: "no" }).field, "budget");
});

test("full blocks are not offered together with reserved stretches", () => {
  const blocks = withField(FIRST, "prefix", "blocks", LIMITS, 30);
  assert.equal(parsed(blocks, LIMITS).settings.prefix, "blocks");
  assert.equal(parsed({ ...blocks, contiguous: true }, LIMITS).problem.field, "prefix");
  assert.equal(problemOf({ field: "rounds[0].prefix", detail: "no" }).field, "prefix");
});

test("a log can be fields once more, and what no log says is kept", () => {
  const study = { system: "", requests: REQUESTS, rounds: [SETTINGS] };
  const fields = fieldsOf(study, FIRST);
  assert.deepEqual([fields.count, fields.sameSystem, fields.system, fields.lengths], ["3", false, FIRST.system, "own"]);
  const { requests, settings } = parsed(fields, LIMITS);
  assert.deepEqual(settings, POSTED);
  const posted = REQUESTS.map(({ tokens: _, ...request }) => request);
  assert.deepEqual(requests, posted);
  const read = parsed(FIRST, LIMITS);
  assert.equal(fieldsOf({ ...read, rounds: [read.settings] }, FIRST).lengths, "mixed");
});

test("a reservation of the form is posted, read off a log and checked only where it is used", () => {
  const reserving = { ...withField(FIRST, "contiguous", true, LIMITS, 30), reserved: "200" };
  const { system, requests, settings } = parsed(reserving, LIMITS);
  assert.deepEqual(settings.contiguous, { new_tokens: 200 });
  const again = fieldsOf({ system, requests, rounds: [settings] }, FIRST);
  assert.deepEqual([again.contiguous, again.reserved], [true, "200"]);
  assert.equal(problem({ ...reserving, reserved: "2049" }).field, "reserved");
  assert.equal(problem({ ...FIRST, reserved: "2049" }), undefined);
  assert.equal(problemOf({ field: "rounds[0].contiguous.new_tokens", detail: "no" }).field, "reserved");
});

test("a refusal of the server is told where it belongs", () => {
  const places = {
    "requests[3].prompt": "requests.3.prompt",
    "requests[3]": "requests.3.prompt",
    "requests.2.retry_of": "requests.2.retry",
    requests: "count",
    system: "system",
    "rounds[0].chunk": "chunk",
    "rounds[0].draft.layers": "draft_layers",
    rounds: "blocks",
  };
  for (const [field, place] of [...Object.entries(places), [null, ""]])
    assert.equal(problemOf({ field, detail: "no" }).field, place, field);
});
