/** The place of the tree of branches and changed runs, whose code is loaded when a run has some. */

import { html } from "htm/preact";
import { runsInTree } from "../../shared/facts/branching.js";
import { useFamily } from "../../shared/loading/use-family.js";
import { Fetched } from "../../shared/ui/fetched.js";

const TREE = async () => (await import("./branch-tree.js")).BranchTree;

/** @param {{state: Object, client: Object, controller: Object}} props as of every part */
export function Branches({ state, client, controller }) {
  const { run, branching } = state;
  const family = useFamily(client, run);
  const related = family !== null && runsInTree(family).length > 1;
  if (!run?.open || !(related || run.open.parent || branching)) return null;
  return html`<${Fetched} of=${TREE} state=${state} family=${family} controller=${controller} />`;
}
