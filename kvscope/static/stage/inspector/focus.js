/**
 * The row and cell that the inspector shows: locked, following the newest row, or only hovered. Pure.
 */

import { topKeys } from "../../shared/facts/attention.js";
import { isAwaited } from "../state/layer-sweep.js";

/**
 * @param {Object} state of the store, with a run that has a step or is awaited; `step` -1: its prefill is not complete
 * @returns {{layer: number, head: number, newest: number, query: number, key: number|null, locked: boolean, preview: boolean}}
 *   `locked`: a key was chosen by click; `preview`: the pointer is over a cell of another head;
 *   `newest`: last row of the shown step; `key` is null while the run is awaited
 */
export function headFocus({ run, step, selection, hover }) {
  const newest = run.lastQueryOfStep(Math.max(0, step));
  if (isAwaited({ run, step })) {
    return {
      layer: selection.layer,
      head: selection.head,
      newest,
      query: newest,
      key: null,
      locked: false,
      preview: false,
    };
  }
  const preview = hover?.head !== undefined && (hover.layer !== selection.layer || hover.head !== selection.head);
  const layer = preview ? hover.layer : selection.layer;
  const head = preview ? hover.head : selection.head;
  const query = Math.min((preview ? hover.query : null) ?? selection.query ?? newest, newest);
  const isRead = (key) => key >= run.firstKey(layer, query) && key <= query;
  const locked = selection.key !== null && isRead(selection.key) && !preview;
  const wanted = preview ? hover.key : locked ? selection.key : undefined;
  const key = isRead(wanted) ? wanted : topKeys(run.row(layer, head, query), 1)[0].key;
  return { layer, head, newest, query, key, locked, preview };
}
