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
    is_moe = pl.col("moe_num_experts").is_not_null()
    width_text = pl.col("intermediate_size").cast(pl.String)
    expert_width = width_text.str.extract(r"moe:(\d+)").cast(pl.Float64)
    dense_width = width_text.str.extract(r"^(?:dense:)?(\d+)").cast(pl.Float64)
    experts_of_a_token = pl.col("moe_top_k") + pl.col("moe_shared").fill_null(0)
    is_plain = pl.col("attention").is_in(["gqa", "mha", "mqa", "mla"])
    return tables.read("model").select(
        "model_id",
        "modality",
        "attention",
        is_moe.alias("is_moe"),
        pl.col("params_total").cast(pl.Float64),
        pl.col("params_active").cast(pl.Float64),
        pl.col("num_layers").cast(pl.String).cast(pl.Float64, strict=False),
        pl.col("hidden_size").cast(pl.Float64),
        pl.when(is_moe)
        .then(expert_width * experts_of_a_token)
        .otherwise(dense_width)
        .alias("intermediate_size"),
        pl.col("num_attention_heads").cast(pl.Float64),
        pl.col("num_kv_heads").cast(pl.Float64),
        pl.col("head_dim").cast(pl.Float64),
        pl.col("vocab_size").cast(pl.Float64),
        pl.col("max_context").cast(pl.Float64),
        pl.col("sliding_window").cast(pl.Float64),
        pl.col("layers_with_full_attention").cast(pl.Float64).alias("full_layers"),
        pl.col("kv_lora_rank").cast(pl.Float64),
        pl.col("qk_rope_head_dim").cast(pl.Float64),
        pl.col("kv_bytes_per_token_bf16").cast(pl.Float64).alias("kv_bytes_per_token"),
        # Plain attention has no constant part; a hybrid or sliding model without one in the table is unknown.
        pl.when(is_plain)
        .then(pl.col("kv_const_bytes_per_seq").fill_null(0.0))
        .otherwise(pl.col("kv_const_bytes_per_seq"))
        .cast(pl.Float64)
        .alias("kv_const_bytes"),
        pl.col("kv_indexer_bytes_per_token_bf16")
        .fill_null(0)
        .cast(pl.Float64)
        .alias("kv_index_bytes_per_token"),
        pl.col("params_embed_head").cast(pl.Float64).alias("params_embed"),
        pl.when(is_moe)
        .then(pl.col("params_routed_experts"))
        .otherwise(0)
        .cast(pl.Float64)
        .alias("params_routed"),
        pl.col("component_params")
        .str.extract(r"vision:(\d+)")
        .cast(pl.Float64)
        .fill_null(0.0)
        .alias("params_vision"),
        (pl.col("params_checkpoint").fill_null(pl.col("params_total")) - pl.col("params_total"))
        .clip(lower_bound=0)
        .cast(pl.Float64)
        .alias("params_extra"),
    )
