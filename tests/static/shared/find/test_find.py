"""Names that readers bring from elsewhere lead somewhere: the matching of the page, over the index of the server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kvscope.app import create_app
from kvscope.app.settings import Settings
from tests.page_tools import node

FIRST = {
    "PagedAttention": "term:paged-attention",
    "vLLM": "term:paged-attention",
    "FlashAttention": "term:flash-attention",
    "flash attention 2": "term:flash-attention",
    "tensor parallelism": "term:tensor-parallelism",
    "FFN": "term:mlp",
    "feed forward": "term:mlp",
    "LayerNorm": "term:norm",
    "RMSNorm": "term:norm",
    "GeLU": "term:activation-function",
    "SwiGLU": "term:activation-function",
    "RoPE": "term:rope",
    "positional encoding": "term:rope",
    "MHA": "term:mha",
    "GQA": "term:gqa",
    "MQA": "term:mqa",
    "speculative decoding": "term:speculative-decoding",
    "continuous batching": "term:continuous-batching",
    "chunked prefill": "term:chunked-prefill",
    "prefix caching": "term:prefix-cache",
    "prompt caching": "term:prefix-cache",
    "sliding window": "term:sliding-window",
    "attention sink": "term:attention-sink",
    "StreamingLLM": "term:eviction",
    "H2O": "term:heavy-hitter",
    "quantization": "term:quantization",
    "int8": "term:int8",
    "fp16": "term:fp16",
    "bf16": "term:bf16",
    "TTFT": "term:ttft",
    "TPOT": "term:tpot",
    "ITL": "term:tpot",
    "throughput": "term:tokens-per-second",
    "beam search": "term:beam-search",
    "top-k": "term:top-k",
    "topk": "term:top-k",
    "nucleus sampling": "term:top-p",
    "temperature": "term:temperature",
    "logit lens": "term:logit-lens",
    "residual stream": "term:residual-stream",
    "embeddings": "term:embedding",
    "tokenizer": "term:tokenizer",
    "BPE": "term:tokenizer",
    "KV cache size": "term:kv-cache-size",
    "kvcache": "term:kv-cache",
    "autoscaling": "term:utilization",
    "streaming": "term:streaming",
    "softmax": "term:softmax",
    "causal mask": "term:causal-mask",
    "Q K V": "term:projection",
    "LM head": "term:lm-head",
    "autoregressive": "term:autoregression",
    "arithmetic intensity": "term:arithmetic-intensity",
    "roofline": "term:roofline",
    "MoE": "lesson:24-experts",
    "training": "term:training",
    "LoRA": "elsewhere:lora",
    "fine-tuning": "elsewhere:fine-tuning",
    "hallucination": "elsewhere:hallucination",
    "What is softmax?": "term:softmax",
    "why a cache": "idea:C17",
    "speculativ decodng": "term:speculative-decoding",
}
"""By what is typed, the kind and id of the first hit."""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("index")))
    found: list[dict[str, Any]] = app.test_client().get("/api/index").json["entries"]
    app.extensions["kvscope"].runs.close()
    return found


def search(entries: list[dict[str, Any]], *queries: str) -> list[dict[str, Any]]:
    script = Path(__file__).parent / "find-answers.js"
    asked = json.dumps({"entries": entries, "queries": queries})
    done = subprocess.run([*node(), str(script)], input=asked, check=True, capture_output=True, encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_names_that_readers_bring_lead_to_what_they_mean(entries: list[dict[str, Any]]) -> None:
    best = [each["hits"][0] for each in search(entries, *FIRST)]
    assert {query: f"{hit['kind']}:{hit['id']}" for query, hit in zip(FIRST, best, strict=True)} == FIRST


def test_everything_is_found_by_each_of_its_names(entries: list[dict[str, Any]]) -> None:
    names = [(f"{each['kind']}:{each['id']}", name) for each in entries for name in (each["name"], *each["also"])]
    found = search(entries, *(name for _, name in names))
    lost = [
        (id, name)
        for (id, name), each in zip(names, found, strict=True)
        if each["close"] or id not in {f"{hit['kind']}:{hit['id']}" for hit in each["hits"]}
    ]
    assert lost == []


def test_what_nothing_matches_gets_the_closest_or_nothing(entries: list[dict[str, Any]]) -> None:
    near, none = search(entries, "attention zzzzzzzz", "qwertzu")
    assert near["close"]
    assert any("attention" in hit["name"].lower() for hit in near["hits"])
    assert none["hits"] == []
