from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from kvscope.model.companding import decompand
from kvscope.model.log import frames
from kvscope.model.service import service as service_module
from tests.support.refused import refusal
from tests.support.tiny import check_cache
from tests.support.tiny_runs import chosen, datas, encoded, finish, kinds, request, run_to_end, service


class TestExactValues:
    def test_they_agree_with_the_frames(self) -> None:
        made = service()
        log = run_to_end(made, request())
        ids = encoded() + chosen(log)
        for place, asked in ((1, (encoded(), 0, 1, 3)), (5, (ids[:14], 13, 0, 2))):
            shown = decompand(frames.tensors(log[place].payload)["attention"][asked[2:]])
            exact = safetensors.numpy.load(made.head(*asked))["weights"]
            assert np.abs(shown - exact).max() < 0.004

        norms = frames.tensors(log[1].payload)
        for position in (0, 7):
            block = safetensors.numpy.load(made.block(encoded(), 1, position))
            assert np.linalg.norm(block["resid_out"]) == pytest.approx(norms["residual_norm"][1, position], rel=2e-3)
            # The cache's V at layer 1 is measured by the frame too, row by row.
            told = {"attn.k_rot": norms["k_norm"][1, :, position], "cache.v": norms["v_norm"][1, :, : position + 1]}
            for name, lengths in told.items():
                np.testing.assert_allclose(np.linalg.norm(block[name], axis=-1), lengths, rtol=2e-3)

        # Not every token is what its text is spelled with: some are bytes that make no character.
        named = datas(log, "step")[0]["top_tokens"]
        rank = next(i for i, each in enumerate(named) if made.tokenizer.encode(each["text"]) == [each["id"]])
        best = made.candidates(encoded(), named[rank]["text"])["candidates"]
        drawn = next(each for each in best if each["id"] == named[rank]["id"])
        assert (drawn["rank"], drawn["whole"]) == (rank, True)
        logit = frames.tensors(log[2].payload)["top_logits"][rank]
        assert drawn["logit"] == pytest.approx(logit, abs=1e-3)
        assert drawn["prob"] == pytest.approx(np.exp(logit - datas(log, "step")[0]["log_z"]), rel=1e-3)

        token = chosen(log)[0]
        found = made.lens(encoded(), token)
        assert [layer["layer"] for layer in found["layers"]] == [0, 1]
        last = found["layers"][-1]
        best = last["top"][0]
        assert last["chosen"] == {"prob": best["prob"], "rank": 0}
        assert best["id"] == found["token"]["id"] == token
        assert best["prob"] == pytest.approx(datas(log, "step")[0]["token"]["raw_prob"], rel=1e-3)
        assert set(best) == {"id", "text", "bytes", "special", "prob"}

    @pytest.mark.parametrize(
        ("call", "arguments", "field", "limit"),
        [
            ("head", ([1, 2], 0, 2, 0), "layer", 1),
            ("head", ([1, 2], 0, 0, 4), "head", 3),
            ("head", ([1, 2], 2, 0, 0), "step", 1),
            ("block", ([1, 2], 0, 2), "position", 1),
            ("lens", ([], 0), "step", -1),
            ("lens", ([1, 2], 259), "token", 258),
        ],
    )
    def test_what_is_not_there_is_refused(self, call: str, arguments: tuple[Any, ...], field: str, limit: int) -> None:
        error = refusal(getattr(service(), call), *arguments)
        assert (error.field, error.limit) == (field, limit)

    def test_a_run_can_be_looked_into_however_full_the_cache(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        log = made.start(request(prompt="x" * 100, max_new_tokens=28)) + made.advance()
        while made.engine.scheduler.runs["a"].step < 27:
            log += made.advance()
        ids = encoded("x" * 100)
        assert safetensors.numpy.load(made.head(ids, 0, 0, 0))["weights"].shape == (100, 100)
        assert kinds(log + finish(made))[-1] == "c"

    def test_more_tokens_than_the_cache_holds_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 64)
        made = service()
        assert refusal(made.lens, [1] * 65, 0).status == 429
        check_cache(made.engine)


class TestTiming:
    def test_a_step_is_timed_with_the_cache_and_without(self) -> None:
        made, ids = service(), list(range(40))
        kept, none = made.timing(ids, True), made.timing(ids, False)
        assert (kept["rows"], none["rows"]) == (1, 40)
        assert kept["ms"] > 0 < none["ms"]
        assert kept["weights_read"].keys() == {"float32"}
        assert kept["conditions"]["others"] == 0
        check_cache(made.engine)

    def test_not_while_a_run_goes_on(self) -> None:
        made = service()
        made.start(request())
        error = refusal(made.timing, [1, 2, 3], True)
        assert (error.status, "when they have ended" in str(error)) == (409, True)
