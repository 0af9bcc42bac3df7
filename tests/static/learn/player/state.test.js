/** A lesson's state: predictions, tasks, hints, and the step that talks about what the picture shows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  followedRun,
  initialState,
  isAnswered,
  isDone,
  pictureAt,
  reduce,
  stepOf,
} from "../../../../kvscope/static/learn/player/state.js";

const NUMBER = { number: 46080, within: 0, answer: null, cell: null, choices: [], hints: [] };
const step = (at, more = {}) => ({ at, predict: null, do: null, ...more });
const LESSON = {
  id: "x",
  steps: [
    step("/#step=0&view=head"),
    step("/#step=3&view=block", { predict: NUMBER }),
    step("/#step=5", { do: { check: { head: { equals: 6 } } } }),
    step("/memory?model=llama-3-8b"),
  ],
};
const begin = (index = 0) => ({ ...initialState, lesson: LESSON, index, settled: true });
const play = (state, ...actions) => actions.reduce(reduce, state);
const shown = (more) => ({ type: "shown", shown: { page: "stage", step: 0, ...more } });

test("a prediction is right within its bounds, and a text that is no number does not count as a try", () => {
  const answer = (given, predict = NUMBER) => {
    const lesson = { ...LESSON, steps: [step("/", { predict })] };
    return reduce({ ...begin(), lesson }, { type: "answer", given }).answers[0];
  };
  assert.deepEqual(answer("46,080"), { given: "46,080", tries: 1, right: true, problem: false, revealed: true });
  assert.equal(answer("46081").right, false);
  assert.equal(answer("44000", { ...NUMBER, within: 0.1 }).right, true);
  assert.deepEqual(answer("lots"), { given: "lots", tries: 0, right: false, problem: true });
  assert.equal(answer("b", { ...NUMBER, number: null, answer: "b" }).right, true);
});

test("a prediction of a place is right once the picture shows the place", () => {
  const lesson = {
    ...LESSON,
    steps: [step("/", { predict: { ...NUMBER, number: null, cell: { key: { equals: 1 } } } })],
  };
  const state = { ...begin(), lesson };
  assert.equal(reduce(state, shown({ key: 2 })).answers[0], undefined);
  assert.equal(reduce(state, shown({ key: 1 })).answers[0].right, true);
});

test("a task stays done, and counts only in its own step", () => {
  assert.deepEqual(play(begin(2), shown({ head: 6 }), shown({ head: 1 })).done, [2]);
  assert.deepEqual(play(begin(0), shown({ head: 6 })).done, []);
});

test("what the picture of the step before shows does no task", () => {
  const lesson = { ...LESSON, steps: [step("/#step=0"), step("/#step=5", { do: { check: { step: { below: 5 } } } })] };
  const arrived = reduce({ ...begin(), lesson }, { type: "go", to: 1 });
  assert.deepEqual(play(arrived, shown({ step: 0 })).done, []);
  assert.deepEqual(play(arrived, shown({ step: 0 }), shown({ step: 5 }), shown({ step: 0 })).done, [1]);
});

test("a task that starts a run is done when the run has ended, any other at once", () => {
  const task = (check) => ({ ...begin(), lesson: { ...LESSON, steps: [step("/", { do: { check } })] } });
  for (const field of ["run", "prompt", "branched_at", "experiment"]) {
    const started = task({ [field]: { differs_from: "" } });
    assert.deepEqual(play(started, shown({ [field]: "x", ended: false })).done, [], field);
    assert.deepEqual(
      play(started, shown({ [field]: "x", ended: false }), shown({ [field]: "x", ended: true })).done,
      [0],
      field,
    );
  }
  assert.deepEqual(play(task({ head: { equals: 6 } }), shown({ head: 6, ended: false })).done, [0]);
});

test("a step is done when its prediction is answered or revealed and its task is done", () => {
  assert.equal(isDone(begin(1), 1), false);
  assert.equal(isDone(play(begin(1), { type: "answer", given: "many" }), 1), false);
  assert.equal(isDone(play(begin(1), { type: "answer", given: "46080" }), 1), true);
  assert.equal(isDone(play(begin(1), { type: "reveal" }), 1), true);
});

test("a number is given once, a choice until it is right or shown", () => {
  assert.equal(isAnswered(play(begin(1), { type: "answer", given: "1" }), 1), true);
  const choices = ["a", "b"].map((text) => ({ text, why: [], shows: null }));
  const lesson = { ...LESSON, steps: [step("/", { predict: { ...NUMBER, number: null, answer: "b", choices } })] };
  const wrong = play({ ...begin(), lesson }, { type: "answer", given: "a" });
  assert.equal(isAnswered(wrong, 0), false);
  assert.equal(isAnswered(play(wrong, { type: "answer", given: "b" }), 0), true);
  assert.equal(isAnswered(play(wrong, { type: "reveal" }), 0), true);
  const typed = play(begin(1), { type: "answer", given: "many" }, { type: "reveal" }).answers[1];
  assert.deepEqual([typed.problem, play(begin(1), { type: "reveal" }).answers[1].given], [false, ""]);
});

test("over another run, a question with another right answer is asked anew, and does not wait again", () => {
  const over = (number) => ({ ...LESSON, steps: [step("/", { predict: { ...NUMBER, number } }), step("/#step=5")] });
  const answered = play({ ...begin(), lesson: over(46080) }, { type: "answer", given: "46080" });
  const same = play(answered, { type: "lesson", lesson: over(46080), run: "own" });
  assert.equal(same.answers[0].right, true);
  const other = play(answered, { type: "lesson", lesson: over(512), run: "own" });
  assert.deepEqual([other.answers, isAnswered(other, 0)], [{}, true]);
  const late = { ...LESSON, steps: [step("/"), step("/#step=5")] };
  assert.equal(play(answered, { type: "lesson", lesson: late, run: "own" }).answers[0].right, true);
});

test("a wrong choice shows its own picture until the right one is given", () => {
  const choices = [
    { text: "a", why: [], shows: "/#step=1" },
    { text: "b", why: [], shows: null },
    { text: "c", why: [], shows: null },
  ];
  const predict = { ...NUMBER, number: null, answer: "b", choices, shows: "/#step=2" };
  const state = { ...begin(0), lesson: { id: "x", steps: [step("/#step=0", { predict }), step("/#step=5")] } };
  const answers = (...texts) => pictureAt(play(state, ...texts.map((given) => ({ type: "answer", given }))));
  assert.equal(answers("a"), "/#step=1");
  assert.equal(answers("c"), "/#step=2");
  assert.equal(answers("a", "b"), "/#step=2");
  assert.equal(pictureAt(play(state, { type: "answer", given: "a" }, { type: "reveal" })), "/#step=2");
});

test("the prose follows the picture to the step about it, unless a task is open", () => {
  assert.equal(stepOf(begin(0), { page: "stage", step: 3 }), 1);
  assert.equal(stepOf(begin(0), { page: "stage", step: 5 }), 2);
  assert.equal(stepOf(begin(0), { page: "stage", step: 4 }), null);
  assert.equal(stepOf(begin(0), { page: "stage", step: 0 }), null);
  assert.equal(stepOf(begin(2), { page: "stage", step: 3 }), null);
  assert.equal(stepOf(begin(3), { page: "stage", step: 3 }), null);
});

test("the picture of an answer belongs to the step of the question", () => {
  const asks = step("/#step=0", { predict: { ...NUMBER, shows: "/#step=3&view=model" } });
  const state = { ...begin(0), lesson: { id: "x", steps: [asks, step("/#step=3"), step("/#step=5")] } };
  const answered = play(state, { type: "answer", given: "46080" });
  assert.equal(stepOf(answered, { page: "stage", step: 3 }), null);
  assert.equal(stepOf(answered, { page: "stage", step: 5 }), 2);
});

test("the picture that a task asks for belongs to the task", () => {
  const asks = step("/#step=0", { do: { check: { step: { equals: 3 } } } });
  const state = { ...begin(0), lesson: { id: "x", steps: [asks, step("/#step=3"), step("/#step=5")] }, done: [0] };
  assert.equal(stepOf(state, { page: "stage", step: 3 }), null);
  assert.equal(stepOf(state, { page: "stage", step: 5 }), 2);
});

test("an answered step shows the picture of its answer, also on a later visit", () => {
  const asks = step("/#step=0", { predict: { ...NUMBER, shows: "/#step=0&view=cache" } });
  const state = { ...begin(0), lesson: { id: "x", steps: [asks, step("/#step=5")] } };
  const answer = (given) => ({ type: "answer", given });
  assert.equal(pictureAt(play(state, answer("many"))), "/#step=0");
  const wrong = play(state, answer("1"));
  assert.equal(pictureAt(wrong), "/#step=0&view=cache");
  assert.equal(pictureAt(play(wrong, { type: "go", to: 1 })), "/#step=5");
  assert.equal(pictureAt(play(wrong, { type: "go", to: 1 }, { type: "go", to: 0 })), "/#step=0&view=cache");
});

test("a link of the prose shows its address until an answer or another step", () => {
  const asks = step("/#step=0", { predict: { ...NUMBER, shows: "/#step=0&view=cache" } });
  const state = { ...begin(0), lesson: { id: "x", steps: [asks, step("/#step=5")] } };
  const linked = play(state, { type: "link", to: "/memory" });
  assert.equal(pictureAt(linked), "/memory");
  assert.equal(pictureAt(play(linked, { type: "reveal" })), "/#step=0&view=cache");
  assert.equal(pictureAt(play(linked, { type: "go", to: 1 })), "/#step=5");
});

test("a task that is done shows the folded text again", () => {
  const folded = play(begin(2), { type: "fold", folded: true });
  assert.equal(play(folded, shown({ head: 1 })).folded, true);
  assert.equal(play(folded, shown({ head: 6 })).folded, false);
});

test("leaving a step unlights its names, and keeps answers and hints", () => {
  const state = play(
    begin(1),
    { type: "light", names: ["attn.k"] },
    { type: "hint", block: "predict" },
    { type: "answer", given: "46080" },
    { type: "go", to: 2 },
    { type: "go", to: 1 },
  );
  assert.deepEqual([state.lit, state.hints["1.predict"], state.answers[1].right], [[], 1, true]);
  assert.equal(play(begin(), { type: "go", to: 99 }).index, 3);
  assert.equal(play(begin(), { type: "go", to: -1 }).index, 0);
});

test("a picture that still shows the step before changes nothing", () => {
  const state = play(begin(1), { type: "reveal" }, { type: "go", to: 0 }, shown({ step: 3 }));
  assert.equal(stepOf(state, state.shown), null);
  assert.equal(stepOf(play(state, shown({ step: 0 })), { page: "stage", step: 3 }), 1);
});

test("a lesson follows a run that has ended, and keeps the one that it is computed over while its page loads again", () => {
  const shown = (run, ended) => ({ page: "stage", run, ended });
  assert.equal(followedRun(shown("own", false), "recorded", null), null);
  assert.equal(followedRun(shown("own", true), "recorded", null), "own");
  assert.equal(followedRun(shown("own", false), "recorded", "own"), "own");
  assert.equal(followedRun(shown("next", false), "recorded", "own"), null);
  assert.equal(followedRun(shown("recorded", true), "recorded", "own"), null);
  assert.equal(followedRun({ page: "memory" }, "recorded", "own"), null);
  assert.equal(followedRun(null, "recorded", null), null);
});
