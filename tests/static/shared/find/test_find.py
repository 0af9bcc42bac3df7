"""The search finds names that readers know from elsewhere: the page's matching, over the server's index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvscope.app import create_app
from kvscope.app.settings import Settings
from tests.support.node import answer_of

SCRIPT = Path(__file__).parent / "find-answers.js"
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
"""The kind and id of the first hit, by query."""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("index")))
    index: list[dict[str, Any]] = app.test_client().get("/api/index").json["entries"]
    app.extensions["kvscope"].runs.close()
    return index


def search(entries: list[dict[str, Any]], *queries: str) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = answer_of(SCRIPT, {"entries": entries, "queries": queries})
    return answers


def test_names_from_elsewhere_find_their_term(entries: list[dict[str, Any]]) -> None:
    best = [each["hits"][0] for each in search(entries, *FIRST)]
    assert {query: f"{hit['kind']}:{hit['id']}" for query, hit in zip(FIRST, best, strict=True)} == FIRST


def test_everything_is_found_by_each_of_its_names(entries: list[dict[str, Any]]) -> None:
    names = [(f"{each['kind']}:{each['id']}", name) for each in entries for name in (each["name"], *each["also"])]
    answers = search(entries, *(name for _, name in names))
    lost = [
        (id, name)
        for (id, name), each in zip(names, answers, strict=True)
        if each["close"] or id not in {f"{hit['kind']}:{hit['id']}" for hit in each["hits"]}
    ]
    assert lost == []


def test_a_query_without_a_match_gets_similar_hits_or_none(entries: list[dict[str, Any]]) -> None:
    near, none = search(entries, "attention zzzzzzzz", "qwertzu")
    assert near["close"]
    assert any("attention" in hit["name"].lower() for hit in near["hits"])
    assert none["hits"] == []
