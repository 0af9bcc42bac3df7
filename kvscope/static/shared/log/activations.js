/**
 * Activation functions of an MLP, by the `activation` of a model: each returns x times a factor from 0 to 1, the share. Pure.
 *
 * @typedef {Object} Activation
 * @property {string} name
 * @property {string} called its name as a function
 * @property {string} gated the name of an MLP with this activation in its gate
 * @property {string} means
 * @property {(x: string) => string} formula
 * @property {(x: string) => string} shareName
 * @property {(x: number) => number} share
 */

import { msg } from "../words/msg.js";

/** @type {Object<string, Activation>} SwiGLU: arXiv:2002.05202; GELU: arXiv:1606.08415, §2, the form with tanh and the exact one */
export const ACTIVATIONS = {
  silu: {
    ...{ name: "SiLU", called: "silu", gated: "SwiGLU", means: "silu(x) = x ÷ (1 + e^−x)" },
    formula: (x) => `${x} ÷ (1 + e^−${x})`,
    shareName: (x) => `1 ÷ (1 + e^−${x})`,
    share: (x) => 1 / (1 + Math.exp(-x)),
  },
  gelu_tanh: {
    ...{ name: "GELU", called: "gelu", gated: "GEGLU", means: "gelu" },
    formula: (x) => `${x} × ½(1 + tanh(√(2÷π)(${x} + 0.044715 ${x}³)))`,
    shareName: () => msg`its share`,
    share: (x) => 0.5 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  },
  gelu_erf: {
    ...{ name: "GELU", called: "gelu", gated: "GEGLU", means: "gelu(x) = x × ½(1 + erf(x ÷ √2))" },
    formula: (x) => `${x} × ½(1 + erf(${x} ÷ √2))`,
    shareName: () => msg`its share`,
    share: (x) => 0.5 * (1 + erf(x / Math.SQRT2)),
  },
};

/** Returns the error function within 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592].reduce((all, a) => all * t + a, 0);
  return Math.sign(x) * (1 - sum * t * Math.exp(-x * x));
}
