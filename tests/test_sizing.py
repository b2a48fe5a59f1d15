"""Memory against figures worked out by hand and against published checkpoints and engine logs."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.workloads import precision, sizing
from transforms.workloads.models import geometry

GIB = 2**30
TEXT_MODELS = [
    "llama-3.1-8b",
    "llama-3.1-70b",
    "qwen3-235b-a22b",
    "qwen3.8-27b",
    "gpt-oss-120b",
    "gemma-4-31b",
    "deepseek-v3.2",
]


def case(model_id, weight_precision="bf16", kv_precision="bf16", gpus=1, usable_gib=80.0):
    """One row with the columns that the memory formulas read."""
    row = geometry().filter(pl.col("model_id") == model_id)
    assert row.height == 1, model_id
    row = row.with_columns(
        weight_precision=pl.lit(weight_precision),
        kv_precision=pl.lit(kv_precision),
        gpus_per_replica=pl.lit(float(gpus)),
        usable_gib=pl.lit(float(usable_gib)),
    )
    return precision.with_formats(row)


def value(row, expression):
    return row.select(expression).item()


def need(model_id, users, context, usable_gib=80.0, gpus=1, weights="bf16", kv="bf16"):
    row = case(model_id, weights, kv, gpus, usable_gib)
    cache = sizing.state_gib(pl.lit(float(users)), pl.lit(float(context)))
    return value(row, sizing.weights_gib() / gpus + cache + sizing.activation_gib() + sizing.runtime_gib())


def test_windows_and_reservation_of_gpt_oss_20b():
    """8,192 tokens, 32 sequences, 16 bit: 6.1 GiB with windows, 12.0 GiB in full pages; the verdict uses the larger.

    By hand: 32 x (12 layers x 2,048 bytes x 8,192 + 12 x 2,048 x 128) and 32 x 24 x 2,048 x 8,192 bytes.
    """
    row = case("gpt-oss-20b")
    windows = value(row, sizing.state_gib(pl.lit(32.0), pl.lit(8192.0)))
    reserved = value(row, sizing.state_reserved_gib(pl.lit(32.0), pl.lit(8192.0)))
    assert windows == pytest.approx(32 * (12 * 2048 * 8192 + 12 * 2048 * 128) / GIB)
    assert reserved == pytest.approx(12.0)
    assert round(windows, 1) == 6.1


@settings(max_examples=40)
@given(
    st.sampled_from(TEXT_MODELS),
    st.sampled_from([1, 2, 8]),
    st.floats(1, 300_000),
    st.sampled_from(["bf16", "fp8"]),
)
def test_an_engine_never_reserves_less_than_the_layers_hold(model_id, gpus, tokens, kv):
    row = case(model_id, kv_precision=kv, gpus=gpus)
    held = value(row, sizing.state_gib(pl.lit(3.0), pl.lit(tokens)))
    assert value(row, sizing.state_reserved_gib(pl.lit(3.0), pl.lit(tokens))) >= held


def test_the_published_profile_of_an_engine():
    """Llama 3 8B on a card of 79.22 GiB: 0.9 x 79.22 - 14.96 - 1.79 - 1.26 = 53.29 GiB are left for the cache."""
    row = case("llama-3-8b", usable_gib=79.22)
    before = (sizing.weights_gib(), pl.lit(1.79), pl.lit(1.26))
    pool = value(row, sizing.pool_gib(pl.lit(0.9), *before))
    assert pool == pytest.approx(53.29, abs=0.01)
    other = value(row, sizing.pool_gib(pl.lit(0.8), *before))
    assert pool - other == pytest.approx(7.922)


def test_the_runtime_of_an_engine_grows_from_a_tiny_card_to_a_common_one():
    single = [
        value(case("llama-3-8b", usable_gib=size), sizing.runtime_gib()) for size in (8, 16, 19, 22, 80)
    ]
    assert single == [0.8, 0.8, pytest.approx(1.4), 2.0, 2.0]
    assert value(case("llama-3-8b", gpus=2), sizing.runtime_gib()) == 3.0


def test_an_unknown_geometry_is_unknown():
    """No rule of thumb for a model whose layers are not published, or for one that makes pictures."""
    for model_id in ("qwen3.8-2.4t-a95b", "inkling-975b-a41b", "flux.1-schnell"):
        assert need(model_id, 1, 4096) is None


def test_serving_a_70b_to_twenty_people():
    """70B FP8, 20 x 32,768 tokens: 107.4e9 bytes of 8-bit cache, 214.7e9 at 16 bit."""
    row = case("llama-3.1-70b", "fp8", "fp8")
    assert value(row, 20 * sizing.kv_bytes(pl.lit(32768.0))) == pytest.approx(107.4e9, rel=0.001)
    assert need("llama-3.1-70b", 20, 32768, 79.65, 4, "fp8", "fp8") <= 0.92 * 79.65
    assert need("llama-3.1-70b", 20, 32768, 79.65, 4, "fp8", "bf16") <= 0.92 * 79.65
    assert need("llama-3.1-70b", 20, 32768, 79.65, 2, "fp8", "fp8") > 79.65
    assert need("llama-3.1-70b", 20, 32768, 140.4, 1, "fp8", "fp8") > 140.4


def test_an_8b_for_four_people_on_two_cards_of_24_gb():
    """16.06e9 bytes, 4 x 8,192 x 131,072 bytes of cache, 2 GiB: 21.2 GiB of 24.0, or of 22.5 with ECC."""
    four, two = need("llama-3.1-8b", 4, 8192, 23.99), need("llama-3.1-8b", 2, 8192, 22.49)
    by_hand = 16.0605e9 / GIB + 4 + 2 + (6 * 14336 + 8 * 4096) * 2048 / GIB
    assert four == pytest.approx(by_hand, rel=1e-3)
    assert four <= 0.92 * 23.99
    assert four > 0.92 * 22.49
    assert two <= 0.92 * 22.49


def test_one_long_chat_needs_more_than_80_gb():
    """131,072 tokens of a 70B: 42.9e9 bytes at 16 bit, 21.5e9 at 8 bit beside 72e9 of weights."""
    for kv in ("bf16", "fp8"):
        assert need("llama-3.1-70b", 1, 131072, 79.65, 1, "fp8", kv) > 79.65
        assert need("llama-3.1-70b", 1, 131072, 140.4, 1, "fp8", kv) <= 0.92 * 140.4
        assert need("llama-3.1-70b", 1, 131072, 190.08, 1, "fp8", kv) <= 0.92 * 190.08


def test_a_405b_in_fp8_fits_eight_80_gb_cards():
    assert need("llama-3.1-405b", 1, 8192, 79.65, 8, "fp8") <= 0.92 * 79.65


@settings(max_examples=30)
@given(st.sampled_from(TEXT_MODELS), st.sampled_from([1, 2, 4, 8]), st.floats(1, 512), st.floats(1, 131072))
def test_more_users_and_longer_contexts_never_need_less(model_id, gpus, users, context):
    base = need(model_id, users, context, gpus=gpus)
    assert need(model_id, users + 1, context, gpus=gpus) >= base
    assert need(model_id, users, context * 1.5, gpus=gpus) >= base


@settings(max_examples=30)
@given(st.floats(8, 300), st.floats(1.0, 1.5))
def test_more_memory_never_holds_less(usable_gib, factor):
    for model_id in ("llama-3.1-8b", "llama-3.1-405b"):
        free = 0.92 * usable_gib - need(model_id, 1, 1, usable_gib)
        more = 0.92 * usable_gib * factor - need(model_id, 1, 1, usable_gib * factor)
        assert more >= free - 1e-9
