/** Evaluates what a reader types in the scratch cell, such as `x = [[1, 2], [3, 4]]; x @ x.T`. Nothing of it runs as code. Pure. */

import jsep from "jsep";
import { msg } from "../../shared/words/msg.js";
import { elementwise, FUNCTIONS, product, scalar, selected, stacked, transposed, Unsuitable } from "./tensor-math.js";

export const MOST_CHARACTERS = 500;
const MOST_STATEMENTS = 20;
// `@` binds as `*` does, `=` less than all others.
jsep.addBinaryOp("@", 10);
jsep.addBinaryOp("=", 0.5, true);

/** @type {Object<string, (a: number, b: number) => number>} */
const OPERATIONS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b };

/**
 * @param {string} text statements, separated by semicolons or new lines
 * @returns {{values: {name: string, value: import("./tensor-math.js").Tensor}[]}|{problem: string}} `name`: the variable, or the
 *   expression as typed
 */
export function evaluated(text) {
  try {
    if (text.length > MOST_CHARACTERS)
      throw new Unsuitable(msg`This text has ${text.length} characters; ${MOST_CHARACTERS} are the most.`);
    const statements = text
      .split(/[;\n]/)
      .map((each) => each.trim())
      .filter(Boolean);
    if (statements.length > MOST_STATEMENTS)
      throw new Unsuitable(msg`These are ${statements.length} statements; ${MOST_STATEMENTS} are the most.`);
    const known = new Map();
    return { values: statements.map((statement) => resultOf(statement, known)) };
  } catch (error) {
    if (error instanceof Unsuitable) return { problem: error.message };
    throw error;
  }
}

function resultOf(statement, known) {
  const tree = parsed(statement);
  const isAssigned = tree.type === "BinaryExpression" && tree.operator === "=";
  if (!isAssigned) return { name: statement, value: evaluate(tree, known) };
  if (tree.left.type !== "Identifier") throw new Unsuitable(msg`Left of = stands a name, such as x.`);
  const value = evaluate(tree.right, known);
  known.set(tree.left.name, value);
  return { name: tree.left.name, value };
}

function parsed(statement) {
  try {
    return /** @type {*} */ (jsep(statement));
  } catch (error) {
    throw new Unsuitable(msg`“${statement}” cannot be read: ${/** @type {Error} */ (error).message}.`);
  }
}

/** @returns {import("./tensor-math.js").Tensor} */
function evaluate(node, known) {
  const of = (inner) => evaluate(inner, known);
  switch (node.type) {
    case "Literal":
      if (typeof node.value === "number") return scalar(node.value);
      break;
    case "Identifier":
      if (known.has(node.name)) return known.get(node.name);
      throw new Unsuitable(msg`${node.name} has no value yet; write ${node.name} = … first.`);
    case "ArrayExpression":
      return stacked(node.elements.map(of));
    case "UnaryExpression":
      if (node.operator === "-") return elementwise(scalar(-1), of(node.argument), OPERATIONS["*"]);
      break;
    case "BinaryExpression":
      if (node.operator === "@") return product(of(node.left), of(node.right));
      if (Object.hasOwn(OPERATIONS, node.operator))
        return elementwise(of(node.left), of(node.right), OPERATIONS[node.operator]);
      break;
    case "MemberExpression":
      if (node.computed) return selected(of(node.object), indexOf(of(node.property)));
      if (node.property.name === "T") return transposed(of(node.object));
      break;
    case "CallExpression":
      if (node.arguments.length === 1 && Object.hasOwn(FUNCTIONS, node.callee.name ?? ""))
        return FUNCTIONS[node.callee.name](of(node.arguments[0]));
      break;
  }
  throw new Unsuitable(
    msg`Only numbers, lists, names, + − * / @, .T, an index such as x[0] and ${Object.keys(FUNCTIONS).join(", ")} of one tensor are known here.`,
  );
}

function indexOf({ shape, data }) {
  if (shape.length) throw new Unsuitable(msg`An index is one whole number.`);
  return data[0];
}
