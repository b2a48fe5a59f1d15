"""What a sequence holds: figures by hand, published bytes per token and engine logs, and what must always hold."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.reference import tables
from transforms.workloads import cache
from transforms.workloads.models import geometry

GIB = 2**30
CACHED = ["llama-3.1-8b", "qwen3-235b-a22b", "gpt-oss-120b", "gemma-4-31b", "qwen3.5-27b", "deepseek-v3.2",
          "deepseek-v4-flash", "kimi-k3", "minimax-m3", "whisper-large-v3", "mamba2-2.7b"]  # fmt: skip


def row(model_id, kv="bf16", gpus=1):
    found = geometry().filter(pl.col("model_id") == model_id)
    assert found.height == 1, model_id
    return found.with_columns(kv_precision=pl.lit(kv), gpus_per_replica=pl.lit(float(gpus)))


def value(model_id, expression, kv="bf16", gpus=1):
    return row(model_id, kv, gpus).select(expression).item()


@pytest.mark.parametrize(
    ("model_id", "kv", "expected"),
    [
        ("llama-3.1-8b", "bf16", 131_072),  # 32 layers x 8 heads x 128 x 2 x 2 bytes
        ("llama-3.1-70b", "bf16", 327_680),
        ("llama-3.1-70b", "fp8", 163_840),
        ("llama-3.1-405b", "bf16", 516_096),
        ("qwen3-235b-a22b", "bf16", 192_512),
        ("deepseek-v3", "bf16", 70_272),  # 61 x 576 x 2: one latent, no factor 2
        ("kimi-k2", "bf16", 70_272),
        ("deepseek-v3.2", "fp8", 48_068),  # 61 x (656 + 132); an engine log says 48,072
        ("glm-5.2", "fp8", 53_940),  # 78 x 656 + 21 x 132: only 21 layers have an indexer
        ("gpt-oss-120b", "bf16", 36_864),  # 18 full layers
        ("qwen3.8-27b", "bf16", 65_536),  # 16 of 64 layers
        ("kimi-k3", "bf16", 27_648),  # 24 latent layers of 93
        ("minimax-m3", "bf16", 181_248),  # 60 x 2,048 and 57 x 1,024 of index keys beside them: + 48 %
        ("deepseek-v4-flash", "bf16", 6_880),  # 21 x 1,280 / 4 + 20 x 1,024 / 128: about 6.9 kB
        ("gemma-3n-e4b", "bf16", 8_192),  # 4 layers that store their own
        ("mimo-v2-flash", "bf16", 23_040),  # 9 x 4 heads x (192 + 128) x 2
        ("mamba2-2.7b", "bf16", 0),
        ("whisper-large-v3", "bf16", 163_840),  # 32 layers of the decoder x 20 heads x 64 x 2 x 2
    ],
)
def test_bytes_of_one_more_token(model_id, kv, expected):
    assert value(model_id, cache.kv_bytes_per_token(), kv) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("gpt-oss-120b", 73_728),  # a log: 5.38 GiB are 78,384 tokens
        ("gemma-4-31b", 983_040),  # a log: 24.54 GiB are 26,800 tokens
        ("gpt-oss-20b", 49_152),
        ("llama-3.1-8b", 131_072),
    ],
)
def test_bytes_that_an_engine_reserves_for_a_token(model_id, expected):
    """Full pages in every layer, each as large as the largest."""
    many = cache.reserved_bytes(pl.lit(160_000.0)) / 160_000
    assert value(model_id, many) == pytest.approx(expected)


def test_a_hybrid_reserves_pages_as_large_as_a_recurrent_state():
    """Qwen3.5-27B by hand: a state of 3,207,168 bytes takes 783 tokens of 4,096 bytes, so pages of 784 tokens.

    1,000 tokens then take two pages in 16 layers, and 48 layers of state one page each.
    """
    by_hand = 16 * 4096 * 1568 + 48 * 4096 * 784
    assert value("qwen3.5-27b", cache.reserved_bytes(pl.lit(1000.0))) == by_hand
    assert value("qwen3.5-27b", cache.held_bytes(pl.lit(1000.0))) == 16 * 4096 * 1000 + 153_944_064


def test_a_window_is_only_as_full_as_the_sequence():
    """Gemma 4 31B: 838,860,800 bytes for a full window of 1,024 tokens, half of it for 512."""
    for tokens, expected in ((512.0, 419_430_400), (1024.0, 838_860_800), (65536.0, 838_860_800)):
        assert value("gemma-4-31b", cache.window_bytes(pl.lit(tokens))) == expected


def test_recurrent_state_does_not_shrink_with_the_cache_precision():
    for kv in ("bf16", "fp8"):
        assert value("qwen3.8-27b", cache.constant_bytes(), kv) == 153_944_064


def test_the_cross_attention_of_an_encoder_is_constant():
    """Whisper large: 32 layers x 20 heads x 64 x 2 x 2 bytes x 1,500 frames, in 8 bit half."""
    assert value("whisper-large-v3", cache.constant_bytes()) == 163_840 * 1500
    assert value("whisper-large-v3", cache.constant_bytes(), "fp8") == 163_840 * 750


def test_heads_are_replicated_beyond_their_number():
    """Qwen3-235B has four KV heads: 48,128 bytes a token and GPU at a split of 4, and no less at 8."""
    for gpus in (4, 8):
        assert value("qwen3-235b-a22b", cache.held_bytes(pl.lit(1.0)), gpus=gpus) == 48_128
    assert value("qwen3-235b-a22b", cache.held_bytes(pl.lit(1.0)), gpus=2) == 96_256


def test_a_latent_is_replicated_unless_attention_is_data_parallel():
    assert value("deepseek-v3", cache.latent_share(), gpus=8) == pytest.approx(1 / 8)
    dense = row("deepseek-v3", gpus=8).with_columns(is_moe=False)
    assert dense.select(cache.latent_share()).item() == 1


@pytest.mark.parametrize(
    ("model_id", "kv", "gpus", "tokens", "gib", "tolerance"),
    [
        ("llama-3.1-8b", "bf16", 1, 158_656, 19.37, 0.001),  # log of an L40S
        ("llama-3.1-8b", "bf16", 1, 128_000, 15.62, 0.001),  # published table
        ("qwen3-235b-a22b", "bf16", 4, 367_404, 16.46, 0.001),  # log of one engine
        ("qwen3-235b-a22b", "bf16", 4, 178_880, 8.11, 0.012),  # of another, which rounds to blocks
    ],
)
def test_pools_of_engine_logs(model_id, kv, gpus, tokens, gib, tolerance):
    held = value(model_id, cache.held_bytes(pl.lit(float(tokens))), kv, gpus) / GIB
    assert held == pytest.approx(gib, rel=tolerance)


def test_the_layers_add_up_to_what_the_table_of_models_states():
    """Two sources: the layers by kind, and the sums per token and per sequence that were published."""
    stated = tables.read("model").select("model_id", "kv_bytes_per_token_bf16", "kv_const_bytes_per_seq",
                                         "kv_indexer_bytes_per_token_bf16")  # fmt: skip
    rows = (
        geometry()
        .filter(pl.col("state_layers").is_not_null())
        .with_columns(kv_precision=pl.lit("bf16"), gpus_per_replica=1.0)
    )
    latent = pl.when(pl.col("latent_layers") > 0).then(
        2 * pl.col("latent_layers") * (pl.col("kv_lora_rank") + pl.col("qk_rope_head_dim"))
    )
    token = pl.col("kv_bytes_per_token") + latent.fill_null(0.0) + pl.col("kv_index_bytes_per_token")
    constant = pl.col("window_bytes_per_token") * pl.col("window_tokens") + pl.col("state_bytes")
    sums = rows.select("model_id", token=token, constant=constant).join(stated, on="model_id")
    per_token = pl.col("kv_bytes_per_token_bf16") + pl.col("kv_indexer_bytes_per_token_bf16").fill_null(0)
    wrong = sums.filter(
        (pl.col("token") != per_token) | (pl.col("constant") != pl.col("kv_const_bytes_per_seq"))
    )
    assert sums.filter(pl.col("kv_const_bytes_per_seq").is_not_null()).height > 40
    assert wrong.rows() == []
    # the control: one layer more is seen
    more = sums.with_columns(pl.col("token") + 1)
    assert more.filter(pl.col("token") != per_token).height > 60


def test_a_model_without_a_layer_table_has_no_cache_rather_than_a_guess():
    unknown = geometry().filter(
        pl.col("kv_bytes_per_token").is_null() & pl.col("modality").is_in(["llm", "vlm"])
    )
    assert set(unknown["model_id"]) <= {
        "qwen3.8-2.4t-a95b", "llama-3.3-nemotron-super-49b", "ling-3.0-flash-124b", "inkling-975b-a41b"
    }  # fmt: skip
    for model_id in unknown["model_id"]:
        assert value(model_id, cache.held_bytes(pl.lit(1.0))) is None


def test_an_unknown_cache_precision_is_unknown():
    assert value("llama-3.1-8b", cache.kv_bytes(pl.lit(10.0)), "fp5") is None


@settings(max_examples=60)
@given(
    st.sampled_from(CACHED),
    st.sampled_from(["bf16", "fp8"]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.floats(0, 1_000_000),
    st.floats(0, 100_000),
)
def test_longer_texts_and_fewer_gpus_never_need_less(model_id, kv, gpus, tokens, more):
    shorter, longer = pl.lit(tokens), pl.lit(tokens + more)
    for bytes_of in (cache.held_bytes, cache.reserved_bytes):
        assert (
            value(model_id, bytes_of(shorter), kv, gpus) <= value(model_id, bytes_of(longer), kv, gpus) + 1e-6
        )
        assert (
            value(model_id, bytes_of(shorter), kv, 2 * gpus)
            <= value(model_id, bytes_of(shorter), kv, gpus) + 1e-6
        )
    assert value(model_id, cache.held_bytes(shorter), "fp8", gpus) <= value(
        model_id, cache.held_bytes(shorter), gpus=gpus
    )


@settings(max_examples=40)
@given(st.sampled_from(CACHED), st.sampled_from([2, 4, 8, 64]), st.floats(1, 100_000))
def test_a_split_never_holds_less_than_its_part(model_id, gpus, tokens):
    whole = value(model_id, cache.kv_bytes(pl.lit(tokens)))
    assert gpus * value(model_id, cache.held_bytes(pl.lit(tokens)), gpus=gpus) >= whole * (1 - 1e-9)
