"""The table fit: each question on each machine once, on the best layout, with the figures of the ranking."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from flows.fit_table import wanted_models
from flows.settings import SettingsError, read_settings
from transforms.workloads.fit_grid import CONTEXTS, PRECISIONS, USERS, fit_grid, popular_models
from transforms.workloads.hardware import hardware
from transforms.workloads.jobs import job
from transforms.workloads.performance import performance

MACHINE = {"vram_gib": pl.Float64, "fabric_gbps": pl.Float64, "link": pl.String, "gpu_count": pl.Float64}


def machines(*given: tuple[str, int, str]) -> pl.DataFrame:
    rows = [
        {"gpu_candidates": [key], "gpu_count": count, "link": link, "vram_gib": None, "fabric_gbps": None}
        for key, count, link in given
    ]
    return hardware(pl.DataFrame(rows, schema={"gpu_candidates": pl.List(pl.String), **MACHINE}))


def answer(grid: pl.DataFrame, **question: Any) -> dict[str, Any]:
    found = grid.filter(**question)
    assert found.height == 1
    return found.row(0, named=True)


@pytest.fixture(scope="module")
def grid() -> pl.DataFrame:
    deck = machines(
        ("H100-SXM5-80GB", 1, "none"),
        ("H100-SXM5-80GB", 8, "nvlink"),
        ("A100-SXM4-80GB", 6, "nvlink"),
        ("T4-16GB", 1, "none"),
        ("L40S-48GB", 2, "unknown"),
    )
    return fit_grid(deck, ["qwen3-32b", "llama-3.1-70b", "kimi-k3"])


def test_every_question_is_answered_once(grid: pl.DataFrame) -> None:
    """Each format, context and number of users; qwen3-32b stops at 40,960 tokens, so 131,072 is not asked."""
    counts = dict(grid.group_by("model_id").len().iter_rows())
    each = len(PRECISIONS) * len(USERS) * 5
    assert counts["llama-3.1-70b"] == each * len(CONTEXTS)
    assert counts["qwen3-32b"] == each * (len(CONTEXTS) - 1)
    question = ["model_id", "weight_precision", "context_tokens", "users", "hardware_id"]
    assert not grid.select(question).is_duplicated().any()


def test_the_memory_of_one_user_by_hand(grid: pl.DataFrame) -> None:
    """Llama-3.1-70B in FP8 with one user of 16,384 tokens: 327,680 bytes a token are 5.0 GiB of cache.

    Weights are 68.45e9 bytes of 8.002 bits and 2.10e9 parameters of 16 bits: 67.7 GiB. On one H100 of 79.2 GiB that
    leaves too little for context and activations; eight hold it with a seventh of their memory.
    """
    asked = {"model_id": "llama-3.1-70b", "weight_precision": "fp8", "context_tokens": 16_384, "users": 1}
    one = answer(grid, hardware_id="H100-SXM5-80GB x1 none", **asked)
    assert one["verdict"] in {"tight", "does_not_fit"}
    assert one["need_gib"] == pytest.approx(67.7 + 5.0 + 2.0 + 1.7, rel=0.02)
    eight = answer(grid, hardware_id="H100-SXM5-80GB x8 nvlink", **asked)
    assert eight["verdict"] == "fits"
    assert eight["tokens_per_s_per_user"] > 50


def test_six_gpus_use_layouts_whose_heads_divide(grid: pl.DataFrame) -> None:
    asked = {"model_id": "llama-3.1-70b", "weight_precision": "bf16", "context_tokens": 4_096, "users": 8}
    six = answer(grid, hardware_id="A100-SXM4-80GB x6 nvlink", **asked)
    assert (six["gpus_per_copy"], six["copies"]) in {(2, 3), (4, 1)}
    assert six["verdict"] == "fits"


def test_what_is_not_known_stays_unknown(grid: pl.DataFrame) -> None:
    """Two L40S over a link that nobody states, for weights that need both."""
    asked = {"model_id": "llama-3.1-70b", "weight_precision": "fp8", "context_tokens": 4_096, "users": 1}
    assert answer(grid, hardware_id="L40S-48GB x2 unknown", **asked)["verdict"] in {"unknown", "does_not_fit"}
    assert answer(grid, hardware_id="L40S-48GB x2 unknown", **asked)["tokens_per_s_per_user"] is None
    assert answer(grid, hardware_id="T4-16GB x1 none", **asked)["verdict"] == "unsupported_precision"


def test_the_grid_agrees_with_the_ranking(grid: pl.DataFrame) -> None:
    """The same question as a job: memory, layout and speed are those of performance()."""
    asked = job(
        model_id="qwen3-32b",
        weight_precision="fp8",
        kv_precision="bf16",
        context_tokens=32_768,
        input_tokens=32_512,
        output_tokens=256,
        cached_input_share=1 - 1024 / 32_512,
        concurrent_users=8,
        max_gpus=8,
        worst_verdict_allowed="tight",
    )
    rows = performance(asked, machines(("H100-SXM5-80GB", 8, "nvlink")))
    ours = answer(
        grid,
        model_id="qwen3-32b",
        weight_precision="fp8",
        context_tokens=32_768,
        users=8,
        hardware_id="H100-SXM5-80GB x8 nvlink",
    )
    theirs = rows.row(by_predicate=pl.col("gpus_per_replica") == ours["gpus_per_copy"], named=True)
    users = -(-8 // ours["copies"])
    one_user_gib = theirs["state_gib"] / theirs["sequences_in_flight"]
    base_gib = theirs["need_gib"] - theirs["state_gib"]
    assert ours["need_gib"] == pytest.approx(base_gib + users * one_user_gib, rel=1e-5)


def test_models_are_the_popular_ones_or_those_that_are_named() -> None:
    assert len(popular_models()) >= 55
    assert wanted_models(None) == popular_models()
    assert wanted_models(()) == []
    assert wanted_models(("qwen3-32b", "qwen3-32b")) == ["qwen3-32b"]
    named = read_settings({"GPU_ALMANAC_FIT_MODELS": "qwen3-32b, llama-3.1-8b"}).fit_models
    assert wanted_models(named) == ["qwen3-32b", "llama-3.1-8b"]
    assert read_settings({}).fit_models is None


def test_a_model_that_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(
        SettingsError, match=r"GPU_ALMANAC_FIT_MODELS: 'qwen3-33b' is no text model; nearest: .*qwen3"
    ):
        wanted_models(["qwen3-33b"])
    assert fit_grid(machines(("T4-16GB", 1, "none")), []).is_empty()
