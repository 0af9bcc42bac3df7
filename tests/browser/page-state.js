/**
 * Read by tests/browser/test_same_everywhere.py: the way to what the page that is open has assembled, in its own store.
 *
 * start: has the page start a run, as its Run button does.
 * assembled: everything of the run in sight, numbers in typed arrays bit by bit; null until the last frame of a run other
 *   than `before` is there.
 */
(() => {
  /** Preact keeps the tree that it rendered on the element that it rendered into. */
  const app = () => {
    const find = (node) => {
      if (!node) return null;
      if (node.props?.store && node.props?.controller) return node.props;
      return (node.__k ?? []).reduce((found, child) => found ?? find(child), null);
    };
    return find(document.getElementById("page")?.__k);
  };

  const start = ({ prompt, chat, max_new_tokens: maxNewTokens, ...sampling }) => {
    const { dispatch, controller } = app();
    dispatch({ type: "prompt", prompt });
    dispatch({ type: "settings", patch: { chat, maxNewTokens } });
    dispatch({ type: "sampling", patch: sampling });
    controller.submit();
  };

  const assembled = (before) => {
    const { run } = app()?.store.state() ?? {};
    if (!run?.close || run.id === before) return null;

    const bits = (array) => array && [array.constructor.name, Array.from(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)).join()];
    const count = (length, of) => Array.from({ length }, (_, index) => of(index));
    const rows = (heads, of) => count(run.layers, (layer) => count(heads, (head) => count(run.positions, (at) => of(layer, head, at))));
    const { parent, ...open } = run.open;
    return {
      run: run.id,
      open: { ...open, parent: parent && { ...parent, run: null } },
      close: run.close,
      tokens: run.tokens,
      promptLength: run.promptLength,
      positions: run.positions,
      steps: run.steps.map(({ topIds, topLogits, tailCounts, ...rest }) => ({
        ...rest,
        topIds: bits(topIds),
        topLogits: bits(topLogits),
        tailCounts: bits(tailCounts),
      })),
      attention: rows(run.heads, (layer, head, query) => bits(run.row(layer, head, query))),
      queries: rows(run.heads, (layer, head, at) => run.qNorm(layer, head, at)),
      keys: rows(run.kvHeads, (layer, head, at) => run.kNorm(layer, head, at)),
      values: rows(run.kvHeads, (layer, head, at) => run.vNorm(layer, head, at)),
      residual: count(run.layers, (layer) => count(run.positions, (at) => run.residualNorm(layer, at))),
    };
  };

  return { start, assembled };
})()
