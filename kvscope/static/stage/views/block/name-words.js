/** Names that readers know from other models, beside those of this layer. Pure. */

import { integer, significant } from "../../../shared/facts/format.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { msg } from "../../../shared/words/msg.js";

/**
 * Returns what readers of other models call the parts of this layer.
 *
 * @param {{d: number, mlp: number, gated: boolean, activation: string, centred: boolean, experts: Object|null}} dims
 * @returns {string[]} sentences about the MLP's width and activation, and about the norm
 */
export function otherNames({ d, mlp, gated, activation, centred, experts }) {
  const { name, gated: ofGate } = ACTIVATIONS[activation];
  const [inner, usual, ratio] = [integer(mlp), integer(4 * d), significant(mlp / d)];
  return [
    experts
      ? msg`The MLP is also called feed-forward network (FFN), and one with experts a mixture of experts (MoE). The inner width of one expert is ${inner}.`
      : mlp === 4 * d
        ? msg`The MLP is also called feed-forward network (FFN). Its inner width is 4d = ${usual}.`
        : msg`The MLP is also called feed-forward network (FFN). Its inner width is ${inner}, ${ratio} times d; GPT-2 has 4d, which would be ${usual} here.`,
    gated
      ? msg`It is a ${ofGate} with three matrices: ${name} is applied to a gate. GPT-2 uses GELU and two matrices.`
      : msg`It has two matrices with ${name} between them. Llama uses SwiGLU: three matrices, SiLU applied to a gate.`,
    centred
      ? msg`LayerNorm subtracts the mean of a row, scales it and adds a bias. Llama uses RMSNorm, which only scales.`
      : msg`RMSNorm only scales a row. The older LayerNorm also subtracts its mean.`,
  ];
}
