/**
 * Computes an expression of a lesson from its syntax tree (app/learn/template.py), with the rules of Python as app/learn/compute.py applies
 * them. Pure.
 */

import { msg } from "../../shared/words/msg.js";

/** An expression has no value on this run; the message says why. */
export class NotComputed extends Error {}

const refuse = (reason) => {
  throw new NotComputed(reason);
};

const isTrue = (value) => Boolean(Array.isArray(value) ? value.length : value);

function number(value) {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return refuse(msg`only numbers can be computed with; texts and lists can be joined with +`);
}

const divisor = (value) => number(value) || refuse(msg`division by zero`);

const joined = (a, b) => (Array.isArray(a) && Array.isArray(b) ? [...a, ...b] : `${a}${b}`);
const areTexts = (a, b) => typeof a === "string" && typeof b === "string";

const BINARY = {
  Add: (a, b) => (areTexts(a, b) || (Array.isArray(a) && Array.isArray(b)) ? joined(a, b) : number(a) + number(b)),
  Sub: (a, b) => number(a) - number(b),
  Mult: (a, b) => number(a) * number(b),
  Div: (a, b) => number(a) / divisor(b),
  FloorDiv: (a, b) => Math.floor(number(a) / divisor(b)),
  /** The sign is that of the divisor. */
  Mod: (a, b) => number(a) - divisor(b) * Math.floor(number(a) / b),
  Pow: (a, b) => number(a) ** number(b),
};

const UNARY = {
  USub: (a) => -number(a),
  UAdd: number,
  Not: (a) => !isTrue(a),
};

const isSame = (a, b) => a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
const has = (whole, part) =>
  typeof whole === "string" ? whole.includes(part) : [...whole].some((each) => isSame(each, part));

const COMPARE = {
  Eq: isSame,
  NotEq: (a, b) => !isSame(a, b),
  Is: isSame,
  IsNot: (a, b) => !isSame(a, b),
  Lt: (a, b) => a < b,
  LtE: (a, b) => a <= b,
  Gt: (a, b) => a > b,
  GtE: (a, b) => a >= b,
  In: (a, b) => has(b, a),
  NotIn: (a, b) => !has(b, a),
};

/** How each kind of tree is computed. @type {Object<string, (scope: Scope, ...rest: any[]) => any>} */
const KINDS = {
  constant: (_scope, value) => value,
  name: ({ names }, name) => (Object.hasOwn(names, name) ? names[name] : refuse(msg`${name} is unknown here`)),
  member(scope, tree, name) {
    const whole = evaluate(tree, scope);
    if (whole !== null && typeof whole === "object" && Object.hasOwn(whole, name)) return whole[name];
    return refuse(msg`${name} is unknown here`);
  },
  at(scope, tree, place) {
    const [whole, index] = [evaluate(tree, scope), evaluate(place, scope)];
    const value = Array.isArray(whole) || typeof whole === "string" ? whole.at(index) : whole?.[index];
    return value === undefined ? refuse(msg`there is no ${String(index)}`) : value;
  },
  call({ functions, ...scope }, name, ...trees) {
    if (!Object.hasOwn(functions, name)) return refuse(msg`${name} is unknown here`);
    return functions[name](...trees.map((tree) => evaluate(tree, { functions, ...scope })));
  },
  binary: (scope, operator, a, b) => BINARY[operator](evaluate(a, scope), evaluate(b, scope)),
  unary: (scope, operator, a) => UNARY[operator](evaluate(a, scope)),
  logic(scope, operator, ...trees) {
    let value = null;
    for (const tree of trees) {
      value = evaluate(tree, scope);
      if (isTrue(value) === (operator === "Or")) return value;
    }
    return value;
  },
  compare(scope, operators, ...trees) {
    const values = trees.map((tree) => evaluate(tree, scope));
    return operators.every((operator, at) => COMPARE[operator](values[at], values[at + 1]));
  },
  if: (scope, test, one, other) => evaluate(isTrue(evaluate(test, scope)) ? one : other, scope),
  list: (scope, ...trees) => trees.map((tree) => evaluate(tree, scope)),
  for(scope, name, over, conditions, tree) {
    const scopes = [...evaluate(over, scope)].map((value) => ({ ...scope, names: { ...scope.names, [name]: value } }));
    const chosen = scopes.filter((inner) => conditions.every((condition) => isTrue(evaluate(condition, inner))));
    return chosen.map((inner) => evaluate(tree, inner));
  },
};

/** @typedef {{names: Object<string, any>, functions: Object<string, Function>}} Scope the facts of a run (facts.js) */

/**
 * @param {any[]} tree
 * @param {Scope} scope
 * @returns {any} its value
 * @throws {NotComputed} if it has none on this run
 */
export function evaluate([kind, ...rest], scope) {
  return (KINDS[kind] ?? (() => refuse(kind)))(scope, ...rest);
}
