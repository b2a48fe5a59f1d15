"""What each layer of a model keeps of a sequence, summed over the layers of a kind: memory sizing study, section 4.

Kinds of attention_layer.csv: full (keys and values of every token), window (of the last ones), latent (one compressed
vector, no factor 2), index (keys that choose what a sparse layer reads, in 8 bit), side (such keys in the precision of
the cache), compressed (one entry for several tokens), state (recurrent, constant, in 32 bit) and cross (keys and
values of an encoder, constant). A model without rows there has one kind in all its layers, by model.csv.
"""

from __future__ import annotations

import polars as pl

# One kind of attention in all layers; any other model needs rows of its own.
UNIFORM = ("gqa", "mha", "mqa")
# What model.csv states of a token and of a sequence, at 16 bit.
STATED_SUMS = ["kv_bytes_per_token_bf16", "kv_const_bytes_per_seq"]


def cache_columns(models: pl.DataFrame, layers: pl.DataFrame) -> pl.DataFrame:
    """Returns the models with the cache of a sequence as columns, bytes at 16 bit unless stated; null is unknown.

    Columns added: kv_bytes_per_token (what grows, latents and index keys apart), kv_heads_full, window_tokens,
    window_bytes_per_token, kv_heads_window, latent_layers, kv_index_bytes_per_token, state_bytes (32 bit),
    state_layers, cross_bytes, padded_bytes_per_token (each full or windowed layer with the page of the largest one)
    and page_bytes_per_token (the largest page of one layer).
    """
    rows = models.join(_by_kind(layers), on="model_id", how="left")
    otherwise = _by_sums()
    has_rows = pl.col("state_layers").is_not_null()
    return rows.with_columns(
        pl.when(has_rows).then(pl.col(name)).otherwise(value).cast(pl.Float64).alias(name)
        for name, value in otherwise.items()
    )


def _by_sums() -> dict[str, pl.Expr]:
    """The same columns of a model without layers of its own: by the sums that model.csv states, else null."""
    grows, constant = pl.col("kv_bytes_per_token_bf16"), pl.col("kv_const_bytes_per_seq")
    attention, full = pl.col("attention"), pl.coalesce("full_layers", "num_layers")
    is_latent, is_window = attention == "mla", attention == "sliding"
    is_state = attention.is_in(["hybrid", "linear"])
    is_known = (attention.is_in(UNIFORM) | is_latent | constant.is_not_null()) & grows.is_not_null()
    others = pl.col("num_layers") - full
    window = pl.when(is_window).then(constant / pl.col("sliding_window")).otherwise(0.0)
    token = pl.when(is_latent).then(0.0).otherwise(grows)
    # a kind without layers has no page: 0 / 0
    page = pl.max_horizontal((token / full).fill_nan(0.0), (window / others).fill_nan(0.0))
    padded = pl.when(is_window).then(page * pl.col("num_layers")).otherwise(token)
    sums = {
        "kv_bytes_per_token": token,
        "kv_heads_full": pl.col("num_kv_heads"),
        "window_tokens": pl.when(is_window).then("sliding_window").otherwise(0.0),
        "window_bytes_per_token": window,
        "kv_heads_window": pl.col("num_kv_heads"),
        "latent_layers": pl.when(is_latent).then("num_layers").otherwise(0.0),
        "kv_index_bytes_per_token": pl.lit(0.0),
        "state_bytes": pl.when(is_state).then(constant).otherwise(0.0),
        "state_layers": pl.when(is_state).then(others).otherwise(0.0),
        "cross_bytes": pl.lit(0.0),
        "padded_bytes_per_token": padded,
        "page_bytes_per_token": page,
    }
    return {name: pl.when(is_known).then(value) for name, value in sums.items()}


def _by_kind(layers: pl.DataFrame) -> pl.DataFrame:
    """Returns the sums over the layers of each kind, one row per model."""
    kind = pl.col("kind")
    layer_bytes = 2.0 * pl.col("kv_heads") * (pl.col("key_dim") + pl.col("value_dim"))
    all_bytes = pl.col("layers") * layer_bytes
    grows = all_bytes / pl.col("tokens_per_entry").fill_null(1)
    is_paged = kind.is_in(["full", "window"])
    page = layer_bytes.filter(is_paged).max().fill_null(0.0)

    def of(value: pl.Expr, *kinds: str) -> pl.Expr:
        return value.filter(kind.is_in(kinds)).sum()

    # Compressed layers have a layout of their own in every engine: no page of the largest layer is reserved.
    is_unpaged = (kind == "compressed").any()
    padded = page * of(pl.col("layers"), "full", "window") + of(grows, "side")
    return layers.group_by("model_id").agg(
        kv_bytes_per_token=of(grows, "full", "side", "compressed"),
        kv_heads_full=pl.col("kv_heads").filter(kind.is_in(["full", "compressed"])).min(),
        window_tokens=of(pl.col("tokens"), "window").cast(pl.Float64),
        window_bytes_per_token=of(all_bytes, "window"),
        kv_heads_window=pl.col("kv_heads").filter(kind == "window").min(),
        latent_layers=of(pl.col("layers"), "latent").cast(pl.Float64),
        kv_index_bytes_per_token=of(all_bytes, "index"),
        state_bytes=of(pl.col("layers") * pl.col("state_bytes"), "state").cast(pl.Float64),
        state_layers=of(pl.col("layers"), "state").cast(pl.Float64),
        cross_bytes=of(all_bytes * pl.col("tokens"), "cross"),
        padded_bytes_per_token=pl.when(~is_unpaged).then(padded),
        page_bytes_per_token=page,
    )
