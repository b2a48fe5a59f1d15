"""The geometry of the models as numbers that the formulas use, one row per model; what is not known stays null."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import polars as pl

from transforms.reference import tables
from transforms.workloads.attention_layers import STATED_SUMS, cache_columns

TEXT_MODALITIES = ("llm", "vlm", "omni")


_given: ContextVar[pl.DataFrame | None] = ContextVar("models given by their files", default=None)


@contextmanager
def also(given: pl.DataFrame) -> Iterator[None]:
    """Makes `geometry` hold these rows too, in this context only; they stand before a known model of their name."""
    token = _given.set(given)
    try:
        yield
    finally:
        _given.reset(token)


def geometry() -> pl.DataFrame:
    """Returns `known_geometry`, and beside it the models that `also` gives."""
    given = _given.get()
    if given is None:
        return known_geometry()
    return pl.concat([known_geometry().join(given, on="model_id", how="anti"), given])


@lru_cache
def known_geometry() -> pl.DataFrame:
    """Returns one row per model.

    Columns: model_id, modality, attention, is_moe, is_tied, params_total, params_active, num_layers, hidden_size,
    intermediate_size (of one token: for experts the width times the experts that it passes), expert_width,
    num_attention_heads, num_kv_heads, head_dim, vocab_size, max_context, sliding_window, full_layers, kv_lora_rank,
    qk_rope_head_dim; the cache per sequence as `attention_layers.cache_columns` states it; and the stored parameters
    by the class of tensor that a format stores in its own way: params_embed (table and head), params_head,
    params_routed, params_vision (part of params_total), and beyond it params_vision_extra and params_draft.
    file_bytes and file_precision are null: they are known of a model that is given by a file.
    """
    rows = tables.read("model").select(
        "model_id",
        "modality",
        "attention",
        _is_moe().alias("is_moe"),
        _is_tied().alias("is_tied"),
        *_shape(),
        *_stored(),
        *(_number(name) for name in STATED_SUMS),
    )
    rows = rows.join(_parts(), on="model_id", how="left").with_columns(
        pl.coalesce("params_vision_extra", pl.when(pl.col("modality") != "llm").then("beyond"), 0.0),
        pl.coalesce("params_draft", pl.when(pl.col("modality") == "llm").then("beyond"), 0.0),
        file_bytes=pl.lit(None, pl.Float64),
        file_precision=pl.lit(None, pl.String),
    )
    return cache_columns(rows.drop("beyond"), tables.read("attention_layer")).drop(STATED_SUMS)


def _is_moe() -> pl.Expr:
    return pl.col("moe_num_experts").is_not_null()


def _is_tied() -> pl.Expr:
    return pl.col("tied_embeddings").fill_null(False)


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
        expert_width.alias("expert_width"),
        *(_number(name) for name in ("num_attention_heads", "num_kv_heads", "head_dim")),
        *(_number(name) for name in ("vocab_size", "max_context", "sliding_window")),
        _number("layers_with_full_attention").alias("full_layers"),
        *(_number(name) for name in ("kv_lora_rank", "qk_rope_head_dim")),
    ]


def _stored() -> list[pl.Expr]:
    """Parameters of the parts that a format stores each in its own way."""
    is_text = pl.col("modality").is_in(TEXT_MODALITIES)
    table = _number("vocab_size") * _number("hidden_size")
    tables_of_words = pl.coalesce(
        _number("params_embed_head"), table * pl.when(_is_tied()).then(1).otherwise(2)
    )
    embed = pl.when(is_text).then(tables_of_words).otherwise(0.0)
    beyond = pl.col("params_checkpoint").fill_null(pl.col("params_total")) - pl.col("params_total")
    routed = pl.when(_is_moe()).then(_number("params_routed_experts")).otherwise(0.0)
    vision = pl.col("component_params").str.extract(r"vision(?:\+projector)?:(\d+)").cast(pl.Float64)
    return [
        embed.alias("params_embed"),
        pl.when(_is_tied()).then(embed).otherwise(embed / 2).alias("params_head"),
        routed.alias("params_routed"),
        vision.fill_null(0.0).alias("params_vision"),
        beyond.clip(lower_bound=0).cast(pl.Float64).alias("beyond"),
    ]


def _parts() -> pl.DataFrame:
    """Returns params_vision_extra and params_draft of the models whose checkpoint holds more than the decoder."""
    size = pl.col("parameters").cast(pl.Float64)
    return (
        tables.read("model_part")
        .group_by("model_id")
        .agg(
            params_vision_extra=size.filter(pl.col("part") == "vision").sum(),
            params_draft=size.filter(pl.col("part") == "draft").sum(),
        )
    )
