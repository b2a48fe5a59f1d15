"""The geometry of the models as numbers that the formulas use, one row per model; what is not known stays null."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from transforms.reference import tables

TEXT_MODALITIES = ("llm", "vlm", "omni")


@lru_cache
def geometry() -> pl.DataFrame:
    """Returns one row per model.

    Columns: model_id, modality, attention, is_moe, params_total, params_active, num_layers, hidden_size,
    intermediate_size (of one token: for experts the width times the experts that it passes), num_attention_heads,
    num_kv_heads, head_dim, vocab_size, max_context, sliding_window, full_layers, kv_lora_rank, qk_rope_head_dim,
    kv_bytes_per_token (16 bit), kv_const_bytes, kv_index_bytes_per_token (16 bit), params_embed, params_routed,
    params_vision, params_extra (stored beyond the text decoder: vision tower or draft head).
    """
    return tables.read("model").select(
        "model_id", "modality", "attention", _is_moe().alias("is_moe"), *_shape(), *_cache(), *_stored()
    )


def _is_moe() -> pl.Expr:
    return pl.col("moe_num_experts").is_not_null()


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64)


def _shape() -> list[pl.Expr]:
    """Parameters at work and the sizes of layers, heads and texts."""
    width = pl.col("intermediate_size")
    expert_width = width.str.extract(r"moe:(\d+)").cast(pl.Float64)
    dense_width = width.str.extract(r"^(?:dense:)?(\d+)").cast(pl.Float64)
    experts_of_a_token = pl.col("moe_top_k") + pl.col("moe_shared").fill_null(0)
    width_of_a_token = pl.when(_is_moe()).then(expert_width * experts_of_a_token).otherwise(dense_width)
    return [
        _number("params_total"),
        _number("params_active"),
        # encoder and decoder, or two kinds of blocks, have no one number of layers
        pl.col("num_layers").cast(pl.Float64, strict=False),
        _number("hidden_size"),
        width_of_a_token.alias("intermediate_size"),
        *(_number(name) for name in ("num_attention_heads", "num_kv_heads", "head_dim")),
        *(_number(name) for name in ("vocab_size", "max_context", "sliding_window")),
        _number("layers_with_full_attention").alias("full_layers"),
    ]


def _cache() -> list[pl.Expr]:
    """What the cache holds of a token and of a sequence."""
    # Plain attention has no constant part; a hybrid or sliding model without one in the table is unknown.
    is_plain = pl.col("attention").is_in(["gqa", "mha", "mqa", "mla"])
    constant = _number("kv_const_bytes_per_seq")
    return [
        _number("kv_lora_rank"),
        _number("qk_rope_head_dim"),
        _number("kv_bytes_per_token_bf16").alias("kv_bytes_per_token"),
        pl.when(is_plain).then(constant.fill_null(0.0)).otherwise(constant).alias("kv_const_bytes"),
        _number("kv_indexer_bytes_per_token_bf16").fill_null(0.0).alias("kv_index_bytes_per_token"),
    ]


def _stored() -> list[pl.Expr]:
    """Parameters of the parts that a format stores each in its own way."""
    beyond_decoder = pl.col("params_checkpoint").fill_null(pl.col("params_total")) - pl.col("params_total")
    routed = pl.when(_is_moe()).then(_number("params_routed_experts")).otherwise(0.0)
    vision = pl.col("component_params").str.extract(r"vision:(\d+)").cast(pl.Float64).fill_null(0.0)
    return [
        _number("params_embed_head").alias("params_embed"),
        routed.alias("params_routed"),
        vision.alias("params_vision"),
        beyond_decoder.clip(lower_bound=0).cast(pl.Float64).alias("params_extra"),
    ]
