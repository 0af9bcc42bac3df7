// Sizes, drives and makes KVScope's frames: docs/embed.md
(() => {
  const root = new URL("..", document.currentScript.src).href;
  const heard = new Map();

  const make = (element) => {
    const asked = element.dataset.kvscope;
    const { href } = new URL(/^[a-z2-7]+(\?|$)/.test(asked) ? `embed/${asked}` : asked, root);
    // Another could run a script.
    if (element.kvscope || !href.startsWith(`${root}embed/`)) return;
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-popups allow-popups-to-escape-sandbox";
    frame.style = "width:100%;height:520px;border:0";
    frame.title = element.title || "KVScope";
    frame.src = href;
    element.replaceChildren(frame);
    element.kvscope = adopt(frame);
  };

  const adopt = (frame) => {
    if (heard.has(frame)) return;
    let waiting = [];
    const send = (type, data) => frame.contentWindow?.postMessage({ ...data, type, kvscope: 1 }, "*");
    const command = (type) => (data) => (waiting ? waiting.push([type, data]) : send(type, data));
    heard.set(frame, (data) => {
      const { type } = data;
      if (type === "size" && !("fixed" in frame.dataset)) frame.style.height = `${+data.height}px`;
      if (type === "ready") waiting = waiting?.forEach((sent) => send(...sent));
      if (/^(stepchange|lesson)$/.test(type))
        frame.dispatchEvent(new CustomEvent(type, { bubbles: true, detail: data }));
    });
    send("hello");
    return (frame.kvscope = { goto: command("goto"), play: command("play"), pause: command("pause") });
  };

  const find = () => {
    for (const each of document.querySelectorAll(`[data-kvscope],iframe[src^="${root}embed/"]`)) {
      (each.localName === "iframe" ? adopt : make)(each);
    }
  };

  addEventListener("message", ({ source, data }) => {
    for (const [frame, hear] of heard) if (frame.contentWindow === source && data?.kvscope === 1) hear(data);
  });
  new MutationObserver(find).observe(document, { childList: true, subtree: true });
  find();
})();
