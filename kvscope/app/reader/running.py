"""Computes a run in this process: `kvscope.run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from kvscope.app.bodies import check
from kvscope.app.engine.in_process import load
from kvscope.app.engine.process import resolve
from kvscope.app.reader.errors import CannotRun
from kvscope.app.reader.live import Live, LiveModel, OnFrame, changes_of, content_of, payloads_of
from kvscope.app.reader.run import Run
from kvscope.app.reader.watching import OnStep, show_progress, watching
from kvscope.app.run_bodies import NewRun, new_id
from kvscope.app.settings import DEFAULT_SERVICE
from kvscope.model.api import NotTakenOver, Refused, RunRequest, Service, WeightDtype
from kvscope.model.packaged import check_terms

if TYPE_CHECKING:
    from kvscope.app.reader.widget import Widget

PASSED = "kvscope.model.service.loading:load_passed"
OBSERVED = "kvscope.model.observed.module:ModuleRun"
FINGERPRINT = "kvscope.model.checkpoint.live_model:fingerprint"

_loaded: dict[tuple[str, ...], LiveModel] = {}
_lock = Lock()
_observing = Lock()
"""Held while a module is run: the run changes its settings for a moment."""


def run(
    prompt: str,
    model: object = None,
    *,
    tokenizer: object = None,
    chat: bool = False,
    max_new_tokens: int = 32,
    temperature: float = 0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    changes: Iterable[Mapping[str, Any]] = (),
    device: str = "auto",
    dtype: WeightDtype = "float32",
    on_step: OnStep | None = None,
    widget: Widget | None = None,
) -> Run:
    """Computes a run in this process, without a server, and returns it with its model.

    `model`: what `kvscope --model` accepts, a file, a folder, a hub id or a name; None is the default model, which is
    downloaded at the first use. It may also be a causal LM of `transformers` in this process, with its `tokenizer`. Of
    a family that KVScope implements, its weights are copied, and computed with in float32; any other one runs itself. A
    copied or loaded model stays in memory for later runs until `Run.close` of its last open run. `chat` wraps the
    prompt in the model's chat template. `temperature` 0 chooses the most likely token; with another one the token is
    drawn, with `seed`, from the `top_k` (0: all) most likely ones with the total probability `top_p`. `changes`: of the
    model's computation, as in docs/frames.md under "Changed runs". `on_step` is called with the data of each step when
    it is complete, and `widget` shows it; without both, a notebook shows the text as it grows.

    Ctrl-C ends the run after the current pass; the run has the steps so far. Raises CannotRun, and KeyboardInterrupt if
    no step is complete.
    """
    if not temperature and (top_k or top_p != 1):
        raise CannotRun("top_k and top_p choose among drawn tokens; set temperature, or leave them out.")
    sampling = {"strategy": "sample", "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    fields = sampling if temperature else {"seed": seed}
    try:
        request = check(NewRun, {"prompt": prompt, "chat": chat, "max_new_tokens": max_new_tokens, **fields})
    except Refused as refused:
        raise CannotRun(str(refused)) from None
    changed = changes_of(changes)
    asked = request.of(new_id(), owner="")
    following = widget and widget.following()
    try:
        loaded = _model(model, tokenizer, device, dtype)
    except NotTakenOver as why:
        if changed or device != "auto" or dtype != "float32":
            setting = "changes" if changed else "device" if device != "auto" else "dtype"
            raise CannotRun(f"{setting} is for models that KVScope computes itself; leave it out. {why}") from None
        with watching(on_step, following) as on_frame:
            computed = _observed(model, tokenizer, asked, on_frame)
    except Refused as refused:
        raise CannotRun(str(refused)) from None
    else:
        with watching(on_step, following) as on_frame:
            live = Live.started(loaded, asked, changed, on_frame)
        computed = Run(live.content, live)
    if widget is not None:
        widget.run = computed
    return computed


def _observed(model: object, tokenizer: object, request: RunRequest, on_frame: OnFrame) -> Run:
    """Returns a run that the module itself computes."""
    with _observing:
        try:
            service = resolve(OBSERVED)(model, tokenizer, request)
            payloads = payloads_of(service, service.advance(), on_frame)
        except Refused as refused:
            raise CannotRun(str(refused)) from None
    return Run(content_of(payloads, service.exact))


def _model(model: object, tokenizer: object, device: str, dtype: WeightDtype) -> LiveModel:
    """Returns the model, loaded unless this process has it. Raises Refused."""
    if model is None or isinstance(model, str | os.PathLike):
        return _named(None if model is None else os.fspath(model), tokenizer, device, dtype)
    key = (resolve(FINGERPRINT)(model, tokenizer), device, dtype)
    # The function refers to the model, so that no other one gets its id while it is in use.
    return _once(key, lambda: resolve(PASSED)(model, tokenizer, device, dtype, show_progress))


def _named(name: str | None, tokenizer: object, device: str, dtype: WeightDtype) -> LiveModel:
    if tokenizer is not None:
        raise Refused("tokenizer", "tokenizer belongs to a model of transformers; a model by name has its own.")
    check_terms(name)
    place = os.path.abspath(name) if name and os.path.exists(name) else name
    return _once((place or "", device, dtype), lambda: load(DEFAULT_SERVICE, name, device, dtype, show_progress))


def _once(key: tuple[str, ...], loading: Callable[[], Service]) -> LiveModel:
    with _lock:
        if key not in _loaded:

            def forget() -> None:
                _loaded.pop(key, None)

            _loaded[key] = LiveModel(loading(), forget, loading)
        return _loaded[key]
