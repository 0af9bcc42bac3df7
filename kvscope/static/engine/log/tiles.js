/** Divides a pass into the parts of its `layer` frames, as `tiles` in kvscope/model/log/recorder.py does. Pure. */

/** Largest size of a frame. */
const MOST_FRAME_BYTES = 65536;
/** Bytes reserved in a frame for its header and metadata. */
const HEADER_ROOM = 2048;

/**
 * A frame has as many whole layers as fit; if none fits, query rows of one layer; if none fits, heads of one row.
 *
 * @param {{layers: number, heads: number, kv_heads: number, experts: {chosen: number}|null}} shape
 * @returns {{layer: Range, head: Range, query: Range}[]} parts that cover the pass without overlap
 * @typedef {{start: number, end: number}} Range
 */
export function tilesOf({ layers, heads, kv_heads: kvHeads, experts }, firstQuery, queries) {
  const room = MOST_FRAME_BYTES - HEADER_ROOM;
  const last = firstQuery + queries;
  // Lengths take 16 bits each; an expert and its share, 6 bytes.
  const normBytes = 2 * (heads + 2 * kvHeads + 1) + 6 * (experts?.chosen ?? 0);
  const rowBytes = heads * last + normBytes;
  const someQueries = Math.min(queries, Math.max(1, Math.floor(room / rowBytes)));
  const someHeads = rowBytes <= room ? heads : Math.max(1, Math.floor((room - normBytes) / last));
  const someLayers = Math.max(1, Math.floor(room / (queries * rowBytes)));
  return ranges(layers, someLayers).flatMap((layer) =>
    ranges(queries, someQueries).flatMap((query) => ranges(heads, someHeads).map((head) => ({ layer, head, query }))),
  );
}

/** @returns {Range[]} 0 to `all` in ranges of `each`, the last perhaps shorter */
function ranges(all, each) {
  return Array.from({ length: Math.ceil(all / each) }, (_, i) => ({
    start: i * each,
    end: Math.min((i + 1) * each, all),
  }));
}
