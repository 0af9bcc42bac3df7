"""Effects, direct effects and patches against `transformers` with hooks of our own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from kvscope.model.activations import effects as effects_module
from kvscope.model.activations.direct import Direct, direct, mean_head_row
from kvscope.model.activations.effects import SITES, count_of, part_at
from kvscope.model.api import EffectOf, Refused, Switch, Switching
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.engine.engine import Engine
from kvscope.model.service import ModelService
from kvscope.model.service.switching import REFERENCES
from tests.support.loaded import ignore, loaded
from tests.support.reference import Reference
from tests.support.replaced_by_hooks import Hooked
from tests.support.tiny_files import write_folder

OFF = 1e-4
PARTS = int(os.environ.get("KVSCOPE_PARTS", "6"))
"""Of the default model, of which each part takes seconds. docs/measurements.md has 40."""
TINY_PARTS = 40
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "gpt2": ("gpt2", {}),
    "gemma3": ("gemma3_text", {"head_dim": 16, "sliding_window": 5, "num_key_value_heads": 1}),
    "gemma2": ("gemma2", {"head_dim": 16, "num_key_value_heads": 1, "final_logit_softcapping": 12.0}),
    "phi3": ("phi3", {}),
}
TEXT, OTHER = "the cat in", "the dog in"


@dataclass(frozen=True, slots=True)
class Pair:
    """The same weights twice. `ids`: `prompt` tokens and one of an answer; `other`: those of the other text."""

    service: ModelService
    hooked: Hooked
    text: tuple[str, str]
    ids: list[int]
    other: list[int]

    @property
    def prompt(self) -> int:
        return len(self.ids) - 1

    @property
    def is_tiny(self) -> bool:
        return len(self.hooked.layers) == 2

    @property
    def reference(self) -> str:
        """Own prompts for a tiny model; for the default model those that ship with KVScope."""
        return "in the\nthe cat" if self.is_tiny else ""

    @property
    def engine(self) -> Engine:
        return self.service.engine


def pair_of(service: ModelService, model: Any, text: tuple[str, str]) -> Pair:
    hooked = Hooked(model)
    ids, other = (service.encode(each, False) for each in text)
    assert len(ids) == len(other)
    new = int(hooked.logits(ids).argmax())
    return Pair(service, hooked, text, [*ids, new], [*other, new])


@pytest.fixture(scope="module")
def default_pair() -> Pair:
    """Loaded once: pytest makes `pair` again whenever its parameter changes."""
    model = Reference(fetch(ignore)).model
    service = ModelService(load(None, ignore), "cpu")
    return pair_of(service, model, ("The capital of France is", "The capital of Spain is"))


@pytest.fixture(scope="module", params=[*FAMILIES, pytest.param("default", marks=pytest.mark.real)])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    if request.param == "default":
        return request.getfixturevalue("default_pair")
    arch, settings = FAMILIES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    model = write_folder(folder, arch, attn_implementation="eager", **settings).eval()
    return pair_of(ModelService(loaded(folder), "cpu"), model, (TEXT, OTHER))


def some(pair: Pair, count: int) -> list[int]:
    """At most so many numbers of parts, spread over all `count`."""
    most = TINY_PARTS if pair.is_tiny else PARTS
    return sorted({round(at * (count - 1) / (most - 1)) for at in range(most)})


def replacement(pair: Pair, of: EffectOf, layer: int, switch: Switch) -> Tensor | float:
    """What replaces a part's rows, computed by hooks."""
    site = SITES[of] if of in ("residual_at",) else {"attention_at": "attention", "mlp_at": "mlp"}.get(of, of)
    if switch == "zero":
        return 0.0
    if switch == "resample":
        return pair.hooked.rows(site, layer, pair.other)
    texts = [pair.ids[: pair.prompt]]
    if switch == "reference":
        prompts = pair.reference.splitlines() or REFERENCES
        texts = [pair.service.encode(text, False) for text in prompts]
    return torch.cat([pair.hooked.rows(site, layer, text) for text in texts]).mean(dim=0)


def switched(pair: Pair, of: EffectOf, index: int, rows: Tensor | float) -> Tensor:
    """Logits [V] of a pass with a part replaced by hooks."""
    part = part_at(of, pair.engine.transformer.config, pair.ids, index)
    site = {"residual_at": "residual", "attention_at": "attention", "mlp_at": "mlp"}.get(of, of)
    replace = pair.hooked.replacing(site, part.layer, rows, part.head, part.position)
    return pair.hooked.logits(pair.ids, {(site, part.layer): replace})


def check(answer: dict[str, Any], base: Tensor, logits: Tensor, token: int, foil: int) -> None:
    """Compares all that the three measures are made of."""
    own, log = base.log_softmax(-1), logits.log_softmax(-1)
    assert answer["kl"] == pytest.approx(float((own.exp() * (own - log)).sum()), abs=OFF)
    assert answer["logprob"] == pytest.approx(float(log[token]), abs=OFF)
    assert answer["foil"]["logprob"] == pytest.approx(float(log[foil]), abs=OFF)
    difference = float(logits[token] - logits[foil])
    assert answer["logit"] - answer["foil"]["logit"] == pytest.approx(difference, abs=OFF)


OF_HEADS: list[tuple[EffectOf, Switch]] = [("heads", switch) for switch in get_args(Switch)]
OF_OTHERS: list[tuple[EffectOf, Switch]] = [
    ("attention", "mean"),
    ("mlp", "reference"),
    ("layers", "mean"),
    ("layers", "resample"),
    ("residual_at", "resample"),
    ("attention_at", "resample"),
    ("mlp_at", "resample"),
    ("mlp_at", "zero"),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("pair", "of", "switch"),
    [
        *((family, *case) for family in FAMILIES for case in (*OF_HEADS, *OF_OTHERS)),
        # The other parts of the default model take minutes, by the same lines.
        *(pytest.param("default", *case, marks=pytest.mark.real) for case in OF_HEADS),
    ],
    indirect=["pair"],
)
def test_every_switch_gives_what_hooks_give(
    pair: Pair, of: EffectOf, switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects_module, "ROWS", 1)  # only the first part of each answer is compared
    base = pair.hooked.logits(pair.ids)
    token, foil = map(int, base.topk(2).indices)
    source = {"resample": pair.text[1], "reference": pair.reference}.get(switch, "")
    switching = Switching(switch, source, None, pair.prompt, False)
    known: dict[int, Tensor | float] = {}
    effects: list[float] = []
    for index in some(pair, count_of(of, pair.engine.transformer.config, pair.ids)):
        answer = pair.service.effects(pair.ids, token, of, index, switching)
        layer = part_at(of, pair.engine.transformer.config, pair.ids, index).layer
        if layer not in known:
            known[layer] = replacement(pair, of, layer, switch)
        check(answer["effects"][0], base, switched(pair, of, index, known[layer]), token, foil)
        check(answer["base"], base, base, token, foil)
        assert answer["foil"]["id"] == foil
        effects.append(answer["effects"][0]["kl"])
    assert max(effects) > 1e-4
    if switch == "resample":
        check(answer["other"], base, pair.hooked.logits(pair.other), token, foil)


def direct_of(pair: Pair, token: int, foil: int) -> Direct:
    mean_row = mean_head_row(pair.engine.transformer, "cpu")
    return direct(pair.engine, pair.ids, token, foil, mean_row)


def test_direct_effects_are_what_hooks_give(pair: Pair) -> None:
    """The part's row through the final norm, whose scale is that of the run, and the LM head's rows."""
    hooked, config = pair.hooked, pair.engine.transformer.config
    base = hooked.logits(pair.ids)
    token, foil = map(int, base.topk(2).indices)
    shares = direct_of(pair, token, foil)
    last = hooked.rows("residual", config.layers - 1, pair.ids)[-1].double()
    head = hooked.model.lm_head.weight.double()
    readers = torch.stack([head[token], head[foil], head.mean(dim=0)])

    def share(row: Tensor) -> list[float]:
        """By a difference: the norm of last + row less that of last, its scale held fixed."""
        norm = hooked.norm
        if hooked.gpt2:
            scale = norm.weight.double() / (last.var(correction=0) + norm.eps).sqrt()
            return ((row - row.mean()) * scale @ readers.T).tolist()
        eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
        weight = norm.weight.double() + (1 if "Gemma" in type(norm).__name__ else 0)
        return (row * weight / (last.square().mean() + eps).sqrt() @ readers.T).tolist()

    for layer in some(pair, config.layers):
        assert shares.attention[layer] == pytest.approx(
            share(hooked.rows("attention", layer, pair.ids)[-1].double()), abs=OFF
        )
        assert shares.mlp[layer] == pytest.approx(share(hooked.rows("mlp", layer, pair.ids)[-1].double()), abs=OFF)
    assert shares.embedding == pytest.approx(share(hooked.rows("embedded", 0, pair.ids)[-1].double()), abs=OFF)
    if hasattr(hooked.layers[0], "post_feedforward_layernorm"):
        return  # the heads of a model that norms its changes are judged by their sum, below
    for index in some(pair, config.layers * config.heads):
        layer, at = divmod(index, config.heads)
        out = hooked.module("heads", layer).weight.double()
        columns = slice(at * config.head_dim, (at + 1) * config.head_dim)
        weight = out[columns].T if hooked.gpt2 else out[:, columns]
        mixed = hooked.rows("heads", layer, pair.ids)[-1, columns].double()
        assert shares.heads[index] == pytest.approx(share(weight @ mixed), abs=OFF)


def test_all_direct_effects_together_are_the_logits(pair: Pair) -> None:
    base = pair.hooked.logits(pair.ids)
    token, foil = map(int, base.topk(2).indices)
    shares = direct_of(pair, token, foil)
    parts = torch.tensor([shares.embedding, shares.bias, *shares.attention, *shares.mlp], dtype=torch.double)
    if cap := pair.engine.transformer.config.logit_cap:
        base = cap * torch.atanh(base.double() / cap)
    expected = [float(base[token]), float(base[foil]), float(base.mean())]
    assert parts.sum(dim=0).tolist() == pytest.approx(expected, abs=OFF)
    assert shares.logits == pytest.approx(expected, abs=OFF)
    heads = pair.engine.transformer.config.heads
    for layer, attention in enumerate(shares.attention):
        own = torch.tensor([*shares.heads[layer * heads : (layer + 1) * heads], shares.out_bias[layer]])
        assert own.sum(dim=0).tolist() == pytest.approx(attention, abs=OFF)


def test_prompts_of_another_length_and_the_tokens_own_foil_are_refused(pair: Pair) -> None:
    service, ids = pair.service, pair.ids

    def message(switch: Switch, source: str, foil: int | None = None, of: EffectOf = "heads") -> str:
        with pytest.raises(Refused) as refused:
            service.effects(ids, 5, of, 0, Switching(switch, source, foil, pair.prompt, False))
        return refused.value.message

    longer = len(service.encode(f"{pair.text[1]} in", False))
    assert f"has {longer} tokens and the run's prompt has {pair.prompt}" in message("resample", f"{pair.text[1]} in")
    assert "source is empty" in message("resample", "  ")
    assert "at most 16" in message("reference", "in\n" * 17)
    assert "foil is 5, the step's own token" in message("zero", "", 5)
    assert "left out of the text" in message("mean", "", of="tokens")
