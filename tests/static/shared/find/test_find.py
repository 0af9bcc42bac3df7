"""The search finds names that readers know from elsewhere: the page's matching, over the server's index."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kvscope.app import create_app
from kvscope.app.settings import Settings
from tests.support.node import answer_of

ROOT = Path(__file__).resolve().parents[4]

SCRIPT = Path(__file__).parent / "find-answers.js"
PHRASINGS = json.loads((Path(__file__).parent / "phrasings.json").read_text("utf-8"))
"""What people type, with the places that are right: a kind and id, or the beginning of an address. The search was tuned
for the first set only; the second was written with it and set aside, the third after the search was changed.
"""
REACHED = {"tuned": 40, "held_out": 20, "written_after": 18}
"""How many phrasings of each set have a right place among the first three."""
ALIKE = [
    ("786,000 operations", "786000 operations", "786 000 operations"),
    ("640 MB", "640MB", "640 mb"),
    ("60–80 %", "60-80%", "60 – 80%"),
    ("131,072 bytes", "131072 B", "131 072 byte"),
    ("torch.no_grad", "no_grad", "no grad"),
    ("cudaMalloc", "cudamalloc", "cuda malloc"),
    ("caching a query", "cached queries", "cache the query"),
]
"""Queries that say the same, so that their first hit is the same."""
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
    "term:chunked-prefill": ("chunked prefill", "long_prefill_token_threshold"),
    "term:token-budget": ("token budget", "max_num_batched_tokens"),
    "term:prefix-cache": ("prefix caching", "prompt caching", "enable_prefix_caching"),
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


def is_at(hit: dict[str, Any], place: str, addresses: dict[str, str]) -> bool:
    """Returns whether a hit is a place, or leads to it: to a step of a lesson, or to a page with inputs."""
    if f"{hit['kind']}:{hit['id']}" == place:
        return True
    address = addresses[place] if place.startswith(("lesson:", "page:")) else place
    leads = hit["address"] or ""
    return leads.startswith(address) and leads[len(address) :][:1] in ("", "?", "#", "&")


@pytest.mark.parametrize("name", REACHED)
def test_phrasings_have_a_right_place_among_the_first_three(entries: list[dict[str, Any]], name: str) -> None:
    addresses = {f"{each['kind']}:{each['id']}": each["address"] for each in entries}
    phrasings = PHRASINGS[name]
    answers = search(entries, *(each["typed"] for each in phrasings))
    missed = [
        (phrasing["typed"], [f"{hit['kind']}:{hit['id']}" for hit in answer["shown"][:3]])
        for phrasing, answer in zip(phrasings, answers, strict=True)
        if not any(is_at(hit, place, addresses) for hit in answer["shown"][:3] for place in phrasing["places"])
    ]
    assert len(missed) <= len(phrasings) - REACHED[name], missed


def test_the_questions_of_the_lessons_find_their_lesson(entries: list[dict[str, Any]]) -> None:
    written = tomllib.loads((ROOT / "kvscope/lessons/paths/questions.toml").read_text("utf-8"))["question"]
    questions = {each["ask"]: each["leads"].partition("#")[0] for each in written if each["leads"][0] != "/"}
    answers = search(entries, *questions)
    lost = [ask for ask, each in zip(questions, answers, strict=True) if questions[ask] not in ids(each["shown"][:3])]
    assert lost == []


@pytest.mark.parametrize("queries", ALIKE, ids=lambda queries: queries[0])
def test_other_spellings_find_the_same(entries: list[dict[str, Any]], queries: tuple[str, ...]) -> None:
    assert len({each["hits"][0]["id"] for each in search(entries, *queries)}) == 1


def test_a_question_without_a_subject_finds_nothing(entries: list[dict[str, Any]]) -> None:
    [answer] = search(entries, "what is the")
    assert answer["hits"] == []


def ids(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["id"] for hit in hits]
