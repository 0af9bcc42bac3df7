/** A lesson computed over a run, from its template (app/learn/template.py), as app/learn/render.py computes it over a server's run. Pure. */

import { fixed, integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { evaluate, NotComputed } from "./evaluate.js";

/**
 * @param {Object} template
 * @param {import("./evaluate.js").Scope} facts of the run
 * @returns {Object} the lesson as GET /api/lessons/… returns it, without what it says of the run
 */
export function lessonOver(template, facts) {
  return { ...template, steps: template.steps.map((step) => stepOver(step, facts)) };
}

function stepOver({ claims, at, predict, do: task, ...step }, facts) {
  const [title, prose, after] = [step.title, step.prose, step.after].map((nodes) => computed(nodes, facts));
  const shown = { ...step, title, prose, after };
  const untrue = claims.flatMap((claim) => untrueLine(claim, facts));
  const whole = { ...shown, untrue, at: typeof at === "string" ? at : null, predict: null, do: null };
  try {
    whole.at = at && String(computed(at, facts));
    whole.predict = predict && predictOver(predict, facts);
    whole.do = task && computed(task, facts);
  } catch (problem) {
    return { ...whole, problem: reasonOf(problem) };
  }
  return whole;
}

/** Returns the alternative text of a claim that is false on this run, in a list; none if it is true. */
function untrueLine({ holds, otherwise }, facts) {
  try {
    return expressionOver(holds, facts) ? [] : [computed(otherwise, facts)];
  } catch (problem) {
    return [[{ t: "text", text: reasonOf(problem) }]];
  }
}

/**
 * On a reader's run the right choice, which is the last of the template's, may differ from those in the file, or be the same as another; one
 * that names what the run lacks is left out.
 */
function predictOver({ choices, ...block }, facts) {
  const text = (value) => (value === null ? null : String(computed(value, facts)));
  const answer = text(block.answer);
  const whole = ({ text: words, why, shows }) => ({ text: text(words), why: computed(why, facts), shows: text(shows) });
  const shown = choices.flatMap((choice) => {
    try {
      return [whole(choice)];
    } catch (problem) {
      reasonOf(problem);
      return [];
    }
  });
  const texts = shown.map((choice) => choice.text);
  return {
    ...computed(block, facts),
    choices: shown.filter((choice, at) => texts.indexOf(choice.text) === at),
    answer,
    shows: text(block.shows),
  };
}

/** Returns a part of the template with its expressions computed. Prose has `problem` in place of a value that it lacks. */
function computed(part, facts) {
  if (Array.isArray(part)) return part.map((each) => computed(each, facts));
  if (part === null || typeof part !== "object") return part;
  if (part.t) return nodeOver(part, facts);
  if (part.expr !== undefined) return expressionOver(part, facts);
  if (part.parts) return part.parts.map((each) => (each.expr ? plain(expressionOver(each, facts)) : each)).join("");
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, computed(value, facts)]));
}

function nodeOver({ tree, place, address, children, ...node }, facts) {
  const inside = children ? { children: computed(children, facts) } : {};
  try {
    if (node.t === "value" && tree) return { ...node, text: plain(expressionOver({ expr: node.expr, tree }, facts)) };
    if (place) return { ...node, ...inside, place: computed(place, facts) };
    if (address) return { ...node, ...inside, address: computed(address, facts) };
  } catch (problem) {
    return { ...node, ...inside, place: {}, problem: reasonOf(problem) };
  }
  return { ...node, ...inside };
}

/** @param {{expr: string, tree?: any[], problem?: string}} expression `problem`: why it has no tree */
function expressionOver({ expr, tree = [], problem }, facts) {
  if (problem) throw new NotComputed(problem);
  try {
    return evaluate(tree, facts);
  } catch (error) {
    throw new NotComputed(msg`${`{${expr}}`} cannot be computed: ${error.message}`);
  }
}

/** Returns why something has no value. Any other error is thrown on. */
function reasonOf(problem) {
  if (problem instanceof NotComputed) return problem.message;
  throw problem;
}

/** Writes a value as in prose: 46,080; 0.25; “yes” for true. */
function plain(value) {
  if (typeof value === "boolean") return value ? msg`yes` : msg`no`;
  if (typeof value !== "number") return String(value);
  const isWhole = Number.isInteger(value) || Math.abs(value) >= 1000;
  return isWhole ? integer(value) : fixed(value, 3).replace(/\D?0+$/, "");
}
