"""The search finds names that readers know from elsewhere: the page's matching, over the server's index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvscope.app import create_app
from kvscope.app.settings import Settings
from tests.support.node import answer_of

SCRIPT = Path(__file__).parent / "find-answers.js"
HITS = {
    "term:paged-attention": ("PagedAttention", "vLLM"),
    "term:flash-attention": ("FlashAttention", "flash attention 2"),
    "term:tensor-parallelism": ("tensor parallelism",),
    "term:mlp": ("FFN", "feed forward"),
    "term:norm": ("LayerNorm", "RMSNorm"),
    "term:activation-function": ("GeLU", "SwiGLU"),
    "term:rope": ("RoPE", "positional encoding"),
    "term:mha": ("MHA",),
    "term:gqa": ("GQA",),
    "term:mqa": ("MQA",),
    "term:speculative-decoding": ("speculative decoding", "speculativ decodng"),
    "term:continuous-batching": ("continuous batching",),
    "term:chunked-prefill": ("chunked prefill",),
    "term:prefix-cache": ("prefix caching", "prompt caching"),
    "term:sliding-window": ("sliding window",),
    "term:attention-sink": ("attention sink",),
    "term:eviction": ("StreamingLLM",),
    "term:heavy-hitter": ("H2O",),
    "term:quantization": ("quantization",),
    "term:int8": ("int8",),
    "term:fp16": ("fp16",),
    "term:bf16": ("bf16",),
    "term:ttft": ("TTFT",),
    "term:tpot": ("TPOT", "ITL"),
    "term:tokens-per-second": ("throughput",),
    "term:beam-search": ("beam search",),
    "term:top-k": ("top-k", "topk"),
    "term:top-p": ("nucleus sampling",),
    "term:temperature": ("temperature",),
    "term:logit-lens": ("logit lens",),
    "term:residual-stream": ("residual stream",),
    "term:embedding": ("embeddings",),
    "term:tokenizer": ("tokenizer", "BPE"),
    "term:kv-cache-size": ("KV cache size",),
    "term:kv-cache": ("kvcache",),
    "term:utilization": ("autoscaling",),
    "term:streaming": ("streaming",),
    "term:softmax": ("softmax", "What is softmax?"),
    "term:causal-mask": ("causal mask",),
    "term:projection": ("Q K V",),
    "term:lm-head": ("LM head",),
    "term:autoregression": ("autoregressive",),
    "term:arithmetic-intensity": ("arithmetic intensity",),
    "term:roofline": ("roofline",),
    "lesson:24-experts": ("MoE",),
    "term:training": ("training",),
    "elsewhere:lora": ("LoRA",),
    "elsewhere:fine-tuning": ("fine-tuning",),
    "elsewhere:hallucination": ("hallucination",),
    "idea:C17": ("why a cache",),
}
"""The queries whose first hit this is, by its kind and id."""
FIRST = {query: hit for hit, queries in HITS.items() for query in queries}


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
