"""What a sequence holds in memory: keys and values, latents, recurrent state. Memory sizing study, section 4.

Functions return expressions over the columns of `models.geometry()`, `kv_precision` as it is used and
`gpus_per_replica` (tensor parallel size). A null figure makes the result null: no layer is guessed.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads.coefficients import coefficient

_SPLIT = pl.col("gpus_per_replica")
_ZERO = pl.lit(0.0)
_SCALES = {
    "fp32": 2.0,
    "bf16": 1.0,
    "fp16": 1.0,
    "none": 1.0,
    "fp8": 0.5,
    "int8": 0.5,
    "q8_0": 8.5 / 16,
    "q4_0": 4.5 / 16,
}
# A page of an engine holds a multiple of so many tokens.
_PAGE_TOKENS = 16


def kv_scale() -> pl.Expr:
    """Size of the cache against 16 bit; null for a cache precision that is not known.

    q8_0 and q4_0 are those of llama.cpp: 8.5 and 4.5 bits with a scale for each block of 32.
    """
    return pl.col("kv_precision").replace_strict(
        _SCALES,
        default=None,
        return_dtype=pl.Float64,
    )


def plain_bytes_per_token() -> pl.Expr:
    """Bytes of keys and values that one more token needs, in the layers that keep all tokens."""
    return pl.col("kv_bytes_per_token") * kv_scale()


def latent_bytes_per_token() -> pl.Expr:
    """Bytes of latents and of the index keys beside them that one more token needs.

    A latent cache in 8 bit keeps its rope part at 16 bit and adds a scale per 128 values; index keys are stored in
    8 bit with a scale whatever the cache precision.
    """
    rank, rope, layers = pl.col("kv_lora_rank"), pl.col("qk_rope_head_dim"), pl.col("latent_layers")
    of_layer = (
        pl.when(kv_scale() < 1)
        .then(rank * (1 + 4 / 128) + 2 * rope)
        .otherwise((rank + rope) * 2 * kv_scale())
    )
    latent = pl.when(layers == 0).then(kv_scale() * 0).otherwise(layers * of_layer)
    return latent + pl.col("kv_index_bytes_per_token") * (coefficient("dsa_index_bytes_per_layer") / 256)


def kv_bytes_per_token() -> pl.Expr:
    """Bytes of cache that one more token of one long sequence needs, over all layers."""
    return plain_bytes_per_token() + latent_bytes_per_token()


def window_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes in the layers with a window: no more than the window holds."""
    kept = pl.min_horizontal(tokens, "window_tokens")
    return pl.col("window_bytes_per_token") * kept * kv_scale()


def constant_bytes() -> pl.Expr:
    """Bytes per sequence that do not grow: recurrent state in 32 bit, keys and values of an encoder."""
    return pl.col("state_bytes") + pl.col("cross_bytes") * kv_scale()


def kv_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes of cache and state of one sequence of so many tokens: what the layers must hold."""
    return kv_bytes_per_token() * tokens + window_bytes(tokens) + constant_bytes()


def kv_share() -> pl.Expr:
    """Share of keys and values that each GPU of a split holds: heads are replicated beyond their number."""
    return _share_by_heads("kv_heads_full")


def latent_share() -> pl.Expr:
    """Share of the latents on each GPU of a split.

    A latent is one head, so tensor parallelism replicates it; with experts the layout is attention data parallel,
    where each GPU keeps the whole cache of its own share of the sequences.
    """
    return pl.when("is_moe").then(1 / _SPLIT).otherwise(1.0)


def _share_by_heads(heads: str) -> pl.Expr:
    by_head = pl.max_horizontal(1 / _SPLIT, 1 / pl.col(heads))
    return pl.when(pl.col(heads).is_null()).then(1 / _SPLIT).otherwise(by_head)


def held_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes per GPU that one sequence of so many tokens must hold: the lower bound of what an engine uses."""
    return (
        plain_bytes_per_token() * tokens * kv_share()
        + latent_bytes_per_token() * tokens * latent_share()
        + window_bytes(tokens) * _share_by_heads("kv_heads_window")
        + constant_bytes() / _SPLIT
    )


def reserved_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes per GPU that an engine with pages of one size sets aside for one sequence: the upper bound.

    Layers with a window get full pages for all tokens, every layer the page of the largest one. Beside recurrent
    layers the page is as large as the state of one of them, so attention is rounded up to many tokens.
    """
    page = pl.col("page_bytes_per_token") * kv_scale()
    latent_page = (pl.col("kv_lora_rank") + pl.col("qk_rope_head_dim")) * 2 * kv_scale()
    layer_page = pl.when(page > 0).then(page).otherwise(latent_page)
    state_tokens = (pl.col("state_bytes") / pl.col("state_layers") / layer_page).ceil()
    has_state = pl.col("state_layers") > 0
    block = (
        pl.when(has_state & (layer_page > 0)).then(_up_to(state_tokens, _PAGE_TOKENS)).otherwise(_PAGE_TOKENS)
    )
    paged = _up_to(tokens, block)
    pages = pl.max_horizontal(pl.col("state_layers") * block * layer_page, "state_bytes")
    state = pages * coefficient("recurrent_state_slots")
    per_token = pl.coalesce("padded_bytes_per_token", "kv_bytes_per_token") * kv_scale()
    unpaged_window = (
        pl.when(pl.col("padded_bytes_per_token").is_null()).then(window_bytes(tokens)).otherwise(0.0)
    )
    constant = pl.when(has_state).then(state).otherwise(_ZERO) + pl.col("cross_bytes") * kv_scale()
    return (
        (per_token * paged + unpaged_window) * kv_share()
        + latent_bytes_per_token() * paged * latent_share()
        + constant / _SPLIT
    )


def _up_to(value: pl.Expr, step: pl.Expr | int) -> pl.Expr:
    return (value / step).ceil() * step
