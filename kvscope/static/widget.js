/**
 * The widget of notebooks (docs/notebook.md): the Stage in a frame, and the messages between it and the kernel. The contract of a widget is anywidget's
 * (https://anywidget.dev/en/afm/): a module with `initialize` and `render`.
 *
 * It imports nothing: a notebook loads one file. kvscope/app/travel/widget_module.py writes the page into it.
 */

/** The page, deflated (zlib), in base64. */
const PAGE = "";
/** The state of a module that has a run inside. @type {Object<string, any>} */
const STORED = {};
/** What stands in the page for the nonce of its scripts, and for the JSON of its session and address. */
const [NONCE, SESSION, ADDRESS] = ["kvscope-nonce", "kvscope-session", "kvscope-address"];

/** Of the messages with the page (static/embed/protocol.js, static/embed/kernel-source.js). */
const PROTOCOL = 1;
const PLACE = ["step", "layer", "head", "query", "key", "view"];
/** Before its page says how high it is, in CSS pixels. */
const FIRST_HEIGHT_PX = 640;
/** After this time without an answer the page says so, in ms. A notebook does not say of every kernel that it has ended. */
const BUSY_MS = 1000;
/** A kernel that has never answered gets this time, in ms. */
const SILENT_MS = 5000;

/** By the id of the widget: what all cells that show it share. @type {Map<string, ReturnType<typeof createHub>>} */
const hubs = new Map();

export default {
  /** Called once for a widget: frames arrive also while no cell shows it. */
  initialize({ model }) {
    hubOf(model);
    return () => hubs.delete(model.get("_id"));
  },
  render({ model, el }) {
    return createView(hubOf(model), model, el);
  },
};

function hubOf(model) {
  const id = model.get("_id");
  if (!hubs.has(id)) hubs.set(id, createHub(model));
  return hubs.get(id);
}

const stateOf = (model, name) => model.get(name) ?? STORED[name];

/** The log of the shown run, and the questions to the kernel. */
function createHub(model) {
  const views = new Set();
  let log = { chunks: [], size: 0, over: false };
  let heard = false;
  let gone = false;
  let busy = false;
  /** Pieces of a run whose session has not come: Jupyter delivers changes of the state later than messages. */
  let early = [];
  let waiting = [];
  let current = null;
  let timer = 0;

  const kernel = () => {
    // A page that never had a kernel, as in a book, has nothing to miss.
    if (gone && (heard || !log.over)) return "gone";
    if (!log.over) return "computing";
    if (!stateOf(model, "_answers")) return "recorded";
    if (!heard) return "silent";
    return busy ? "busy" : "free";
  };
  const tell = (message) => {
    for (const view of views) if (view.listens()) view.post(message);
  };
  const tellKernel = () => tell({ type: "kernel", kernel: kernel() });
  const send = (message) => {
    try {
      model.send(message);
    } catch {
      gone = true;
    }
  };

  const answer = ({ view, id }, message) => view?.post({ type: "answer", id, ...message });

  /** One question at a time: what a page no longer wants is never asked. */
  const pump = () => {
    if (current || !log.over) return;
    current = waiting.shift() ?? null;
    if (!current) return;
    if (gone) {
      answer(current, {});
      current = null;
      pump();
      return;
    }
    send({ type: "ask", id: current.name, path: current.path });
    timer = setTimeout(setBusy, heard ? BUSY_MS : SILENT_MS);
  };
  const setBusy = () => {
    if (heard) {
      busy = true;
      tellKernel();
    } else finish({});
  };
  const finish = (message) => {
    clearTimeout(timer);
    answer(current, message);
    current = null;
    pump();
  };

  const take = (at, bytes) => {
    if (at !== log.size || !bytes.length) return;
    log.chunks.push(bytes);
    log.size += bytes.length;
    tell({ type: "log", bytes });
  };
  /** The complete log, in the widget's state: what a notebook stores, and what a page that came late has missed. */
  const takeStored = () => {
    const bytes = bytesOf(stateOf(model, "_log"));
    if (!bytes.length || log.over) return;
    take(log.size, bytes.slice(log.size));
    log.over = true;
    tell({ type: "over" });
    tellKernel();
    pump();
  };
  const begin = () => {
    log = { chunks: [], size: 0, over: false };
    for (const view of views) view.show();
    const pieces = early;
    early = [];
    for (const [message, buffers] of pieces) RECEIVED.log(message, buffers);
    takeStored();
  };

  const RECEIVED = {
    here() {},
    log(message, buffers) {
      if (message.run === stateOf(model, "_session")?.run) take(message.at, bytesOf(buffers[0]));
      else early.push([message, buffers]);
    },
    goto({ place }) {
      for (const view of views) view.goto(place);
    },
    answer({ id, status, media }, [body]) {
      busy = false;
      if (current?.name === id) finish({ status, media, body: bytesOf(body) });
    },
  };

  model.on("msg:custom", (message, buffers) => {
    const before = kernel();
    heard = true;
    if (Object.hasOwn(RECEIVED, message.type)) RECEIVED[message.type](message, buffers ?? []);
    if (kernel() !== before) tellKernel();
  });
  model.on("change:_session", begin);
  model.on("change:_log", takeStored);
  model.on("change:_answers", tellKernel);
  // Of Jupyter's own models: whether the connection with the kernel is there.
  model.on("comm_live_update", async () => {
    const own = await model.widget_manager?.get_model?.(model.get("_id"));
    if (!own || own.comm_live) return;
    gone = true;
    tellKernel();
    if (current) finish({});
  });
  send({ type: "hello" });
  takeStored();

  return {
    views,
    /** Sends a page everything that it has missed. */
    begin(view) {
      view.post({ type: "kernel", kernel: kernel() });
      for (const bytes of log.chunks) view.post({ type: "log", bytes });
      if (log.over) view.post({ type: "over" });
    },
    ask(question) {
      // The kernel may still answer what a page asked that has been loaded again since.
      waiting.push({ ...question, name: randomName() });
      pump();
    },
    /** Drops one question of a page, or all: another page in the same frame counts its questions from the beginning. */
    forget(view, id) {
      const isWanted = (each) => each.view !== view || (id !== undefined && each.id !== id);
      waiting = waiting.filter(isWanted);
      if (current && !isWanted(current)) current.view = null;
    },
  };
}

/**
 * One cell's frame.
 *
 * @returns {() => void} removes it
 */
function createView(hub, model, el) {
  const frame = document.createElement("iframe");
  // It has no origin, so its scripts cannot reach the notebook.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  // Not language: CSS.
  const line = "1px solid color-mix(in srgb, currentColor 25%, transparent)";
  frame.style.cssText = `display:block;box-sizing:border-box;width:100%;height:${FIRST_HEIGHT_PX}px;border:${line};border-radius:7px`;
  const hint = document.createElement("code");
  // Not language: Python.
  hint.textContent = 'kvscope.run("…", widget=…)';
  let theme = "";
  let shown = 0;
  /** Whether its page has loaded; that gets everything from the beginning. */
  let listens = false;
  /** A place to show when the run is there; null when it is. */
  let place = /** @type {Object|null} */ ({});

  const post = (message) => frame.contentWindow?.postMessage({ kvscope: PROTOCOL, ...message }, "*");

  const show = async () => {
    const session = stateOf(model, "_session");
    if (!session?.run) {
      el.replaceChildren(hint);
      return;
    }
    shown += 1;
    hub.forget(view);
    listens = false;
    place = {};
    const here = shown;
    const page = await unpacked();
    if (here !== shown) return;
    theme = themeAround(el);
    const first = Object.entries(stateOf(model, "selection") ?? {}).filter(([, value]) => value !== null);
    const address = new URLSearchParams([["hide", "header"], ["theme", theme], ...first]);
    const values = { [SESSION]: session, [ADDRESS]: `?${address}` };
    frame.title = session.title || "KVScope";
    frame.srcdoc = page
      .replaceAll(NONCE, randomName())
      .replace(/"(kvscope-(?:session|address))"/g, (_, name) => inScript(values[name]));
    el.replaceChildren(frame);
  };

  const RECEIVED = {
    listen() {
      hub.begin(view);
      listens = true;
    },
    ask: ({ id, path }) => hub.ask({ view, id, path }),
    forget: ({ id }) => hub.forget(view, id),
    size({ height }) {
      frame.style.height = `${Number(height)}px`;
    },
    ready() {
      if (place && Object.keys(place).length) post({ ...place, type: "goto" });
      place = null;
    },
    stepchange(shows) {
      model.set("selection", Object.fromEntries(PLACE.map((name) => [name, shows[name] ?? null])));
      model.save_changes();
    },
  };
  const onMessage = ({ source, data }) => {
    if (source !== frame.contentWindow || data?.kvscope !== PROTOCOL) return;
    if (Object.hasOwn(RECEIVED, data.type)) RECEIVED[data.type](data);
  };

  const followTheme = () => {
    const around = themeAround(el);
    if (around === theme) return;
    theme = around;
    post({ type: "theme", theme });
  };
  const changed = new MutationObserver(followTheme);
  for (const root of [document.documentElement, document.body]) changed.observe(root, { attributes: true });
  // A cell may be put into the notebook after it is rendered.
  const laidOut = new ResizeObserver(followTheme);
  laidOut.observe(el);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", followTheme);
  window.addEventListener("message", onMessage);

  const goTo = (wanted) => {
    if (place) place = { ...place, ...wanted };
    else post({ ...wanted, type: "goto" });
  };

  const view = { post, show, goto: goTo, listens: () => listens };
  hub.views.add(view);
  show();
  return () => {
    shown += 1;
    hub.views.delete(view);
    hub.forget(view);
    changed.disconnect();
    laidOut.disconnect();
    dark.removeEventListener("change", followTheme);
    window.removeEventListener("message", onMessage);
    frame.remove();
  };
}

let unpacking = null;

/** @returns {Promise<string>} the page's HTML */
function unpacked() {
  unpacking ??= new Response(new Blob([bytesOf(PAGE)]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  return unpacking;
}

/** @returns {string} 32 characters; `randomUUID` needs a secure context, which a notebook on another machine may not have */
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @returns {string} JSON that cannot end its script element */
const inScript = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");

/**
 * @param {DataView|ArrayBuffer|Uint8Array|string|null|undefined} value a notebook's bytes; as text, in base64
 * @returns {Uint8Array<ArrayBuffer>} a copy
 */
function bytesOf(value) {
  if (!value) return new Uint8Array();
  if (typeof value === "string") return Uint8Array.from(atob(value), (letter) => letter.charCodeAt(0));
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  return Uint8Array.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}

/** @returns {"light"|"dark"} by the colour behind the element: each notebook has its own name for its theme */
function themeAround(el) {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  for (let at = el; at; at = at.parentElement ?? at.getRootNode().host ?? null) {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = getComputedStyle(at).backgroundColor;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, opacity] = context.getImageData(0, 0, 1, 1).data;
    if (opacity > 127) return red + green + blue < 3 * 128 ? "dark" : "light";
  }
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
