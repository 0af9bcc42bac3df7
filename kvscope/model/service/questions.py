"""Answers questions about positions of a run, or about the model alone, on request and while other runs continue."""

from __future__ import annotations

import copy
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from kvscope.model.activations.answers import algebra_values, block_values, head_values
from kvscope.model.activations.contributions import head_contributions
from kvscope.model.activations.direct import Replaced, direct, mean_head_row
from kvscope.model.activations.effects import Prediction, count_of, effects
from kvscope.model.activations.embedding import beside, neighbourhood
from kvscope.model.activations.invariance import STEPS, Twice, steps_twice
from kvscope.model.activations.lens import LensRow, lens_answer, lens_rows, standings
from kvscope.model.activations.losses import prompt_losses
from kvscope.model.activations.patterns import head_patterns
from kvscope.model.activations.shards import layer_shards
from kvscope.model.activations.smaller import compared
from kvscope.model.activations.step_values import step_values
from kvscope.model.activations.timing import timed_step
from kvscope.model.activations.twice import layer_twice
from kvscope.model.activations.weights import weight_picture, weight_row
from kvscope.model.activations.what_if import appended, everything, turned
from kvscope.model.api import CacheDtype, ChangedRun, EffectOf, Frame, Refused, Switching, ValuesRequest
from kvscope.model.by_hand.derivation import derive, example_lines
from kvscope.model.by_hand.examples import Example, Phase
from kvscope.model.checkpoint import Tokenizer
from kvscope.model.engine.conditions import conditions_record
from kvscope.model.engine.engine import Engine
from kvscope.model.linear import name_of
from kvscope.model.log.recorder import StepValues, values_frames
from kvscope.model.service.changing import Changing
from kvscope.model.service.for_browser import for_browser, native_code, store
from kvscope.model.service.limits import alone, among, few_enough, not_too_long, refusing_when_full
from kvscope.model.service.pace import Pace
from kvscope.model.service.switching import Replacement, Replacing
from kvscope.model.settings import Sampling
from kvscope.model.small_cache import Form
from kvscope.model.source.calls import step_calls
from kvscope.model.source.listing import version as source_version
from kvscope.model.source.step import step_lines
from kvscope.model.weights import weights_held


class Questions:
    """`info` describes the model as an `open` frame does. `max_positions`: the most of one run."""

    def __init__(self, engine: Engine, tokenizer: Tokenizer, info: dict[str, Any], max_positions: int):
        self.engine = engine
        self.tokenizer = tokenizer
        self.info = info
        self.max_positions = max_positions
        self.pace = Pace()
        self.changing = Changing(engine, self.encode, info, max_positions)
        self.replacing = Replacing(engine, self.encode)
        self.mean_row = cache(partial(mean_head_row, engine.transformer, engine.runner.device))
        self.head_patterns = cache(lambda: head_patterns(engine.under(None), tokenizer.encode(""), tokenizer.ordinary))

    def of_changed(self, run: ChangedRun, question: str, *arguments: Any) -> Any:
        """Returns the answer of the method `question`, computed with the changes of that run. Raises Refused."""
        other = copy.copy(self)
        other.engine = self.engine.under(self.changing.of(run))
        return getattr(other, question)(*arguments)

    def head(self, ids: list[int], first_query: int, layer: int, head: int) -> bytes:
        """Returns exact values of one head (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        among("head", head, self.info["heads"])
        among("step", first_query, len(ids))
        with refusing_when_full():
            return head_values(self.engine, ids, first_query, layer, head)

    def block(self, ids: list[int], layer: int, position: int) -> bytes:
        """Returns every activation of one block for the token at `position`. Raises Refused."""
        among("layer", layer, self.info["layers"])
        among("position", position, len(ids))
        with refusing_when_full():
            return block_values(self.engine, ids[: position + 1], layer)

    def shards(self, ids: list[int], layer: int, position: int, devices: int) -> bytes:
        """Computes a layer on several devices for one token (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        among("position", position, len(ids))
        if self.info["experts"] is not None:
            raise Refused("devices", "The MLPs of this model have experts; only MLPs without experts are divided here.")
        heads = self.info["kv_heads"]
        if not 2 <= devices <= heads:
            most = f"cut for at most {heads}, a K/V head each" if heads > 1 else "not cut: it has one K/V head"
            raise Refused("devices", f"devices is {devices}; this model's layers are {most}.", limit=heads)
        with refusing_when_full():
            return layer_shards(self.engine, ids[: position + 1], layer, devices)

    def contributions(self, ids: list[int], layer: int, position: int) -> bytes:
        """Returns what each head adds to the row of one token (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        among("position", position, len(ids))
        with refusing_when_full():
            return head_contributions(self.engine, ids[: position + 1], layer)

    def effects(
        self, ids: list[int], token: int, of: EffectOf, first: int, switching: Switching | None = None
    ) -> dict[str, Any]:
        """Returns how the next token after `ids` changes with a part switched (docs/frames.md, On demand), for part
        `first` and later parts that fit into a pass. `token`: the step's chosen token; `switching`: None for zeros and
        the default foil. Raises Refused.
        """
        few_enough(ids)
        among("token", token, self.info["vocab"])
        if of == "tokens" and len(ids) == 1:
            raise Refused("of", "The step has only one token, which cannot be left out.")
        count = count_of(of, self.engine.transformer.config, ids)
        among("first", first, count)
        self._check_foil(token, None if switching is None else switching.foil)
        with refusing_when_full():
            replacement = Replacement() if switching is None else self.replacing.of(ids, of, first, switching)
            foil = None if switching is None else switching.foil
            rows, other = replacement.rows, replacement.other
            result = effects(self.engine, ids, token, of, first, rows=rows, foil=foil, other=other)

        def as_json(each: Prediction) -> dict[str, Any]:
            best = {**self.tokenizer.token(each.best), "prob": each.best_prob}
            foil = {"logprob": each.foil_logprob, "logit": each.foil_logit}
            return {"logprob": each.logprob, "logit": each.logit, "foil": foil, "kl": each.kl, "best": best}

        return {
            "count": count,
            "foil": self.tokenizer.token(result.foil),
            "base": as_json(result.base),
            "other": None if result.other is None else as_json(result.other),
            "effects": list(map(as_json, result.variants)),
            "prompts": list(replacement.prompts),
            "ms": result.ms,
        }

    def direct(self, ids: list[int], token: int, foil: int | None) -> dict[str, Any]:
        """Divides the logits of the step's token and of a foil among the parts (docs/frames.md, On demand).

        `foil`: None for the likeliest token other than `token`. Raises Refused.
        """
        few_enough(ids)
        among("token", token, self.info["vocab"])
        self._check_foil(token, foil)
        with refusing_when_full():
            try:
                shares = direct(self.engine, ids, token, foil, self.mean_row())
            except Replaced:
                message = (
                    "The run's changes write to the residual stream or to an attention's output, so what its parts "
                )
                message += "write need not add up to the logits. Ask about its original run."
                raise Refused("run", message) from None
        return {**asdict(shares), "foil": self.tokenizer.token(shares.foil)}

    def patterns(self) -> dict[str, Any]:
        """Returns each head's previous-token and induction score (docs/frames.md, On demand). Raises Refused."""
        with refusing_when_full():
            return asdict(self.head_patterns())

    def _check_foil(self, token: int, foil: int | None) -> None:
        if foil is None:
            return
        among("foil", foil, self.info["vocab"])
        if foil == token:
            raise Refused("foil", f"foil is {foil}, the step's own token; choose another token to compare it with.")

    def candidates(self, ids: list[int], text: str) -> dict[str, Any]:
        """Returns the probabilities that `text` begins after `ids`, whole-text tokens first, then the likeliest.

        Most words have one token with a space before them and one without. If a text takes several tokens, the first of
        them counts, since it must come next. Raises Refused.
        """
        among("step", len(ids) - 1, len(ids))
        spelled = [self.tokenizer.encode(each, special=True, field="text") for each in (text, f" {text}")]
        whole = {tokens[0]: len(tokens) == 1 for tokens in spelled if tokens}
        if not whole:
            raise Refused("text", "The model's vocabulary has no token for this text.")
        with refusing_when_full():
            ranked = standings(self.engine, ids, list(whole))
        candidates = [
            {**self.tokenizer.token(token), **asdict(standing), "whole": whole[token]}
            for token, standing in zip(whole, ranked, strict=True)
        ]
        return {"candidates": sorted(candidates, key=lambda each: (not each["whole"], each["rank"]))}

    def lens(self, ids: list[int], token: int) -> dict[str, Any]:
        """Returns the top tokens of the last row after each layer, and the rank of `token`. Raises Refused."""
        among("step", len(ids) - 1, len(ids))
        among("token", token, self.info["vocab"])
        with refusing_when_full():
            return self._lens(lens_rows(self.engine, ids, token), token)

    def mask(self, ids: list[int]) -> dict[str, Any]:
        """Returns how the last of `ids` changes earlier rows, with and without the causal mask (docs/frames.md).

        Raises Refused.
        """
        if len(ids) < 2:
            raise Refused("step", "The step has only one token, so there is no earlier row to change.")
        few_enough(ids)
        answer = {}
        for name, masked in (("with_mask", True), ("without", False)):
            changed = appended(self.engine.transformer, ids, masked=masked, device=self.info["device"])
            probs = changed.logits.softmax(-1)
            likeliest = int(probs.argmax())
            token = {**self.tokenizer.token(likeliest), "prob": float(probs[likeliest])}
            answer[name] = {"by_layer": changed.by_layer, "by_position": changed.by_position, "likeliest": token}
        return answer

    def everything(self, ids: list[int]) -> dict[str, Any]:
        """Compares all values of rows before the last of `ids` with their K and V (docs/frames.md). Raises Refused."""
        if len(ids) < 2:
            raise Refused("step", "The step has only one token, so nothing was computed before it.")
        few_enough(ids)
        with refusing_when_full():
            return asdict(everything(self.engine, ids))

    def positions(self, token: int, position: int, other: int, layer: int, head: int) -> dict[str, Any]:
        """Returns what a position changes in a text of one token (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        among("head", head, self.info["heads"])
        device = self.info["device"]
        return asdict(turned(self.engine.transformer, token, (position, other), layer, head, device))

    def losses(self, ids: list[int]) -> dict[str, Any]:
        """Compares each position's prediction with the actual next token of `ids`. Raises Refused."""
        with refusing_when_full():
            losses = prompt_losses(self.engine, ids)
        positions = [
            {
                "best": {**self.tokenizer.token(each.best), "prob": each.best_prob},
                "came": None if each.loss is None else {"prob": each.prob, "rank": each.rank, "loss": each.loss},
            }
            for each in losses.predictions
        ]
        sizes = {"logits": losses.logits_bytes, "last_logits": losses.last_logits_bytes, "kv": losses.kv_bytes}
        return {"positions": positions, "loss": losses.mean, "perplexity": losses.perplexity, "bytes": sizes}

    def algebra(self, ids: list[int], layer: int, head: int) -> bytes:
        """Returns one head's last row of `ids` with the cache, and all its rows without (docs/frames.md, On demand).

        Raises Refused.
        """
        among("layer", layer, self.info["layers"])
        among("head", head, self.info["heads"])
        among("step", len(ids) - 1, len(ids))
        with refusing_when_full():
            return algebra_values(self.engine, ids, layer, head)

    def operations(self, ids: list[int], layer: int) -> dict[str, Any]:
        """Returns one layer's operations with and without the cache (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        if len(ids) < 2:
            raise Refused("step", "The step has only one token, so the cache was empty before it.")
        few_enough(ids)
        with refusing_when_full():
            return {"operations": [asdict(each) for each in layer_twice(self.engine, ids, layer)]}

    def smaller(self, ids: list[int], steps: int, dtype: CacheDtype, kv_heads: int) -> dict[str, Any]:
        """Returns what smaller K and V change in the last `steps` rows of `ids` (docs/frames.md, On demand).

        Raises Refused.
        """
        heads = self.info["kv_heads"]
        if heads % kv_heads:
            choices = [count for count in range(1, heads + 1) if heads % count == 0]
            raise Refused("kv_heads", f"kv_heads is {kv_heads}; it must be a divisor of {heads}.", limit=choices)
        few_enough(ids)
        form = Form(dtype, kv_heads)
        loss = compared(self.engine.transformer, ids, steps, form, self.info["device"])
        likeliest = [[self.tokenizer.token(token) for token in pair] for pair in loss.likeliest]
        return {
            **asdict(loss),
            "likeliest": likeliest,
            "per_position": form.position_bytes(self.engine.transformer.config),
        }

    def invariance(
        self, ids: list[int], prompt_length: int, first: int, chosen: list[int], rows: int, sampling: dict[str, Any]
    ) -> dict[str, Any]:
        """Compares steps alone and in passes of `rows` rows, by the engine and by torch's products (docs/frames.md, On
        demand), for step `first` and those after it that fit into an answer. `chosen`: their tokens. Raises Refused.
        """
        few_enough(ids)
        among("step", first, len(ids) - prompt_length + 1)
        if self.info["device"] != "cpu":
            message = f"The model computes on {self.info['device']}; only products of a CPU are compared."
            raise Refused("run", message, status=409)
        chosen = chosen[:STEPS]
        lengths = range(prompt_length + first, prompt_length + first + len(chosen))
        with refusing_when_full():
            steps = steps_twice(self.engine, ids, lengths, chosen, rows - 1, Sampling(**sampling), first)

        def as_json(twice: Twice) -> dict[str, Any]:
            tokens = {name: self.tokenizer.token(getattr(twice, name)) for name in ("alone", "beside")}
            return {**asdict(twice), **tokens}

        return {
            "by": "lines" if self.engine.runner.steps is None else self.engine.runner.steps.by,
            "rows": rows,
            "logits": self.info["vocab"],
            "steps": [
                {
                    "step": step,
                    "gap": each.gap,
                    "engine": as_json(each.engine),
                    "torch": {name: as_json(twice) for name, twice in each.torch.items()},
                    "sums": asdict(each.sums),
                }
                for step, each in enumerate(steps, first)
            ],
        }

    def values(self, request: ValuesRequest) -> list[Frame]:
        """Returns one `values` frame per layer of a step; the last one has the lens. Raises Refused."""
        ids = request.ids
        among("first_query", request.first_query, len(ids))
        among("token", request.token, self.info["vocab"])
        if request.level == "block" and self.info["experts"] is not None:
            raise Refused(
                "level", "The MLPs of this model have experts, whose inner values a session cannot store; choose qkv."
            )
        if len(ids) > self.max_positions:
            message = f"The step has {len(ids):,} positions; the limit is {self.max_positions:,}."
            raise Refused("step", message, limit=self.max_positions)
        with refusing_when_full():
            layers, rows = step_values(self.engine, ids, request.first_query, request.level, request.token)
        step = StepValues(request.run, request.step, request.first_query, request.level)
        return values_frames(step, self.info, layers, self._lens(rows, request.token))

    def code(
        self, ids: list[int], first_query: int, layer: int, sampling: dict[str, Any], version: str
    ) -> dict[str, Any]:
        """Returns what each line of the model's source computed in a step (docs/frames.md, On demand). Raises Refused.

        `version`: of the source, so that cached answers belong to this source.
        """
        assert version == source_version()
        among("layer", layer, self.info["layers"])
        among("step", first_query, len(ids))
        with refusing_when_full():
            return step_lines(self.engine, ids, first_query, layer, Sampling(**sampling)).as_json()

    def calls(self, ids: list[int], sampling: dict[str, Any]) -> dict[str, Any]:
        """Returns the calls in the prefill of `ids` and in the next step (docs/frames.md, On demand).

        Raises Refused, also while runs are computed: their calls would be included.
        """
        with refusing_when_full(), alone(self.busy):
            return step_calls(self.engine, ids, Sampling(**sampling))

    def timing(self, ids: list[int], cached: bool) -> dict[str, Any]:
        """Measures the passes of a step over `ids`, with or without the cache (docs/frames.md).

        Raises Refused, also while runs are computed: their time would be included.
        """
        among("step", len(ids) - 1, len(ids))
        with refusing_when_full(), alone(self.busy):
            timed = timed_step(self.engine, ids, cached=cached)
        return {
            "ms": timed.ms,
            "rows": timed.rows,
            "weights_read": timed.weights,
            "conditions": conditions_record(timed.conditions),
        }

    @property
    def busy(self) -> bool:
        """Whether a run is computed."""
        return self.engine.busy

    def held(self) -> dict[str, Any]:
        """Returns this process's bytes, taken from its tensors, and how fast its steps were (docs/frames.md, Held)."""
        cache, transformer = self.engine.cache, self.engine.transformer
        return {
            "weights": weights_held(transformer),
            "cache": {
                "dtype": name_of(cache.pool.dtype),
                "bytes": cache.nbytes,
                "position_bytes": cache.position_bytes,
                "block_size": cache.block_size,
                "blocks": cache.blocks,
                "free_blocks": cache.free_blocks,
            },
            "pace": self.pace.as_json(),
        }

    def tokens(self, prompt: str, chat: bool) -> dict[str, Any]:
        """Returns the tokens of a prompt, as many as a run may have, their full count, the most positions of a run, and
        what steps have taken. Raises Refused.
        """
        not_too_long(prompt)
        ids, most = self.encode(prompt, chat), self.most_tokens
        tokens = [self.tokenizer.token(token) for token in ids[:most]]
        sizes = {"count": len(ids), "limit": most, "positions": self.max_positions}
        return {"tokens": tokens, **sizes, "row_ms": self.pace.prefill.row_ms, "step_ms": self.pace.decode.row_ms}

    def embedding(self, token: int) -> dict[str, Any]:
        """Compares a token's row of the embedding table with all others (docs/frames.md, Of the vocabulary).

        Raises Refused.
        """
        among("token", token, self.info["vocab"])
        around = neighbourhood(self.engine.transformer.embed, self.info["vocab"], token, self.info["device"])
        nearest = [{**self.tokenizer.token(other), "cosine": cosine} for other, cosine in around.nearest]
        return {
            "token": self.tokenizer.token(token),
            "row": around.row,
            "length": around.length,
            "nearest": nearest,
            "plane": {"points": around.points, "kept": around.kept},
            "vocab": self.info["vocab"],
            "tied": self.engine.transformer.config.tied,
        }

    def words(self, words: list[str]) -> dict[str, Any]:
        """Compares the embedding rows of words (docs/frames.md, Of the vocabulary). Raises Refused.

        Each word has a space before it, as in a sentence. The row of a word of several tokens is the mean of theirs.
        """
        spelled = [self.tokenizer.encode(f" {word}", special=True, field="words") for word in words]
        for word, ids in zip(words, spelled, strict=True):
            if not ids:
                raise Refused("words", f"The model's vocabulary has no token for {word!r}.")
        embed, device = self.engine.transformer.embed, self.engine.runner.device
        rows = [embed(torch.tensor(ids, device=device)).float().mean(dim=0) for ids in spelled]
        compared_rows = beside(torch.stack(rows))
        return {
            "words": [
                {"word": word, "tokens": [self.tokenizer.token(token) for token in ids], "length": length}
                for word, ids, length in zip(words, spelled, compared_rows.lengths, strict=True)
            ],
            "cosines": compared_rows.cosines,
            "plane": {"points": compared_rows.points, "kept": compared_rows.kept},
            "width": rows[0].numel(),
        }

    def weights(self, layer: int, of: str, index: int) -> bytes:
        """Returns what computes one number of a block (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        return weight_row(self.engine.transformer, layer, of, index)

    def matrix(self, layer: int, of: str) -> bytes:
        """Returns a weight matrix of a block as a picture (docs/frames.md, On demand). Raises Refused."""
        among("layer", layer, self.info["layers"])
        return weight_picture(self.engine.transformer, layer, of)

    def by_hand(self, example: Example) -> dict[str, Any]:
        """Returns the values of a worked example, which has a separate model, engine and cache. Raises Refused."""
        return derive(example).as_json()

    def by_hand_code(self, example: Example, phase: Phase, version: str) -> dict[str, Any]:
        """Returns what each line of the model's source computed in a step of a worked example. `version`: see `code`.

        Raises Refused.
        """
        assert version == source_version()
        return example_lines(example, phase).as_json()

    def _lens(self, rows: list[LensRow], token: int) -> dict[str, Any]:
        return lens_answer(rows, token, self.tokenizer.token)

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """Returns the token ids of a prompt, in the chat template if `chat`. Raises Refused."""
        if chat:
            text = self.tokenizer.chat([{"role": "user", "content": prompt}])
            return self.tokenizer.encode(text, special=True)
        return self.tokenizer.encode(prompt)

    def browser_model(self, base: str, wasm: str) -> dict[str, Any]:
        """Stores what a browser needs to run the model, and returns its description (service/for_browser.py).

        `base`: the path of its scripts on the server. `wasm`: the file of the native code. Raises Refused("model").
        """
        code = native_code(Path(wasm))
        model = for_browser(self.engine.transformer, self.tokenizer, self.info, code)
        store(model, base)
        return model.description

    @property
    def most_tokens(self) -> int:
        """The most tokens of a prompt, so that at least one token can follow."""
        return self.max_positions - 1
