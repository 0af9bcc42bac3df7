"""A notebook in one page: anywidget's contract for a widget's script, over the messages of Jupyter's comm protocol.

The kernel is this process. What pages send waits until `Notebook.idle`, as it waits in a kernel that computes a cell.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from playwright.sync_api import Frame, Page

from kvscope import Widget

ADDRESS = "http://notebook.example/"
HOST = """<!doctype html><meta charset="utf-8"><style>body { margin: 8px; background: #fff }</style><body><script>
const decoded = (text) => new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const models = {};
/** To messages: Playwright adds listeners of other types. */
let listeners = 0;
for (const [name, change] of [["addEventListener", 1], ["removeEventListener", -1]]) {
  const real = window[name].bind(window);
  window[name] = (type, ...given) => { if (type === "message") listeners += change; real(type, ...given); };
}
class Model {
  constructor(state, live) { Object.assign(this, { state, comm_live: live, listeners: [], changed: {} }); }
  get(name) { return this.state[name]; }
  set(name, value) { this.state[name] = value; this.changed[name] = value; }
  save_changes() { this.tell({ method: "update", state: this.changed, buffer_paths: [] }); this.changed = {}; }
  send(content) { this.tell({ method: "custom", content }); }
  tell(data) { if (this.comm_live) window.toKernel(this.state._id, data); }
  on(name, callback) { this.listeners.push({ name, callback }); }
  fire(name, ...values) { for (const each of this.listeners) if (each.name === name) each.callback(...values); }
  get widget_manager() { return { get_model: async (id) => models[id] }; }
  update(state) { Object.assign(this.state, state); for (const name in state) this.fire(`change:${name}`); }
}
function stateOf({ state, buffer_paths }, buffers) {
  buffer_paths.forEach(([name], at) => { state[name] = decoded(buffers[at]); });
  return state;
}
async function opened(id, data, buffers, live = true) {
  const model = models[id] = new Model(stateOf(data, buffers), live);
  const address = URL.createObjectURL(new Blob([model.get("_esm")], { type: "text/javascript" }));
  model.script = (await import(address)).default;
  await model.script.initialize({ model });
}
function received(id, data, buffers) {
  if (data.method === "update") models[id].update(stateOf(data, buffers));
  if (data.method === "custom") models[id].fire("msg:custom", data.content, buffers.map(decoded));
}
async function shown(id) {
  const el = document.createElement("div");
  document.body.append(el);
  el.dispose = await models[id].script.render({ model: models[id], el });
}
function lost(id) {
  models[id].comm_live = false;
  models[id].fire("comm_live_update");
}
</script>"""


class Notebook:
    """`policy`: the Content-Security-Policy of the page around the widgets."""

    def __init__(self, page: Page, policy: str = "") -> None:
        self.page, self.comms = page, dict[str, BaseComm]()
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        page.expose_function("toKernel", lambda name, data: self._waiting.append((name, data)))
        headers = {"Content-Type": "text/html", "Content-Security-Policy": policy}
        page.route(ADDRESS, lambda route: route.fulfill(body=HOST, headers=headers))
        page.goto(ADDRESS)

    def send(self, function: str, comm: str, data: Any, buffers: Any) -> None:
        texts = [base64.b64encode(bytes(buffer)).decode() for buffer in buffers or ()]
        self.page.evaluate(f"([id, data, buffers]) => {function}(id, data, buffers)", [comm, data, texts])

    def display(self, widget: Widget) -> None:
        """Shows a widget in one more cell."""
        self.page.evaluate("id => shown(id)", widget.model_id)

    def lose(self, widget: Widget) -> None:
        """The kernel ends."""
        self.page.evaluate("id => lost(id)", widget.model_id)

    def remove(self) -> None:
        """Removes all cells."""
        self.page.evaluate("document.querySelectorAll('div').forEach((el) => { el.dispose(); el.remove(); })")

    @property
    def frames(self) -> list[Frame]:
        """The page in each cell."""
        found = (element.content_frame() for element in self.page.query_selector_all("iframe"))
        return [frame for frame in found if frame]

    def idle(self) -> None:
        """The kernel has no cell to compute, and takes what was sent."""
        self.page.wait_for_timeout(50)
        while self._waiting:
            name, data = self._waiting.pop(0)
            self.comms[name].handle_msg({"content": {"data": data}, "buffers": []})

    def until(self, condition: str, frame: Frame | None = None, busy: bool = False) -> None:
        """Waits until an expression is true in a page, by default the first one. `busy`: the kernel computes a cell."""
        for _ in range(300):
            if not busy:
                self.idle()
            shown = frame or next(iter(self.frames), None)
            if shown and shown.evaluate(condition):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{condition}: {[each.evaluate('document.body.innerText') for each in self.frames]}")


@contextmanager
def notebook(page: Page, policy: str = "") -> Iterator[Notebook]:
    """Yields a notebook whose widgets are those that this process makes meanwhile."""
    host = Notebook(page, policy)

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, buffers: Any = None, **_: Any) -> None:
            is_layout = "_esm" not in data.get("state", {}) and self.comm_id not in host.comms
            if is_layout or msg_type == "comm_close":
                return
            host.comms[self.comm_id] = self
            host.send("opened" if msg_type == "comm_open" else "received", self.comm_id, data, buffers)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(comm, "create_comm", Comm)
        yield host


def reopened(page: Page, widget: Widget) -> Notebook:
    """Shows what a notebook stores of a widget, without a kernel."""
    names = ("_id", "_esm", "_session", "_answers", "selection")
    stored = json.loads(json.dumps({name: getattr(widget, name) for name in names}))
    host = Notebook(page)
    host.page.evaluate(
        "([id, data, buffers]) => opened(id, data, buffers, false)",
        [widget.model_id, {"state": stored, "buffer_paths": [["_log"]]}, [base64.b64encode(widget._log).decode()]],
    )
    host.display(widget)
    return host
