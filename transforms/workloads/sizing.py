"""Memory of a serving engine: weights, cache, activations, runtime, in GiB per GPU.

Every function returns an expression over the columns of one row per model, precision and layout; a single value
is a frame of one row. A null figure makes the result null: nothing is guessed.

Columns read: those of `models.geometry()`, those of quant_format.csv, `kv_precision` as it is used, `usable_gib`
of one GPU, and `gpus_per_replica` (tensor parallel size). Formulas: memory sizing study, sections 3, 4, 5 and 11.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads.coefficients import coefficient, coefficients

GIB = 2.0**30
_SPLIT = pl.col("gpus_per_replica")


def weight_bytes() -> pl.Expr:
    """Bytes of the stored tensors: each class of tensors at its own bits (section 3), without load padding."""
    body_bits = pl.when("is_moe").then(pl.col("other_bits_moe")).otherwise(pl.col("other_bits_dense"))
    # A vision tower stays at 16 bit; a draft head is quantised like the body.
    extra_bits = pl.when(pl.col("modality") == "llm").then(body_bits).otherwise(pl.col("embedding_bits"))
    kept = pl.col("params_embed") + pl.col("params_vision")
    body = pl.col("params_total") - kept - pl.col("params_routed")
    bits = (
        pl.col("params_routed") * pl.col("routed_expert_bits")
        + body * body_bits
        + kept * pl.col("embedding_bits")
        + pl.col("params_extra") * extra_bits
    )
    return bits / 8


def weights_gib() -> pl.Expr:
    """GiB of the loaded weights of one copy of the model, over all its GPUs."""
    return weight_bytes() * pl.col("load_factor") / GIB


def kv_scale() -> pl.Expr:
    """Size of the cache against 16 bit: 1 or 0.5; null for a cache precision that is not known."""
    return pl.col("kv_precision").replace_strict(
        {"bf16": 1.0, "fp16": 1.0, "none": 1.0, "fp8": 0.5, "int8": 0.5},
        default=None,
        return_dtype=pl.Float64,
    )


def kv_bytes_per_token() -> pl.Expr:
    """Bytes of cache that one more token of one sequence needs, over all layers (section 4).

    A latent cache in 8 bit keeps its rope part at 16 bit and adds a scale per 128 values; the index keys beside it
    are stored in 8 bit with a scale whatever the cache precision.
    """
    rank, rope = pl.col("kv_lora_rank"), pl.col("qk_rope_head_dim")
    is_latent = pl.col("attention") == "mla"
    latent_8bit = pl.col("num_layers") * (rank * (1 + 4 / 128) + 2 * rope)
    latent = pl.when(kv_scale() < 1).then(latent_8bit).otherwise(pl.col("kv_bytes_per_token"))
    latent_index = pl.col("kv_index_bytes_per_token") * (coefficient("dsa_index_bytes_per_layer") / 256)
    plain = (pl.col("kv_bytes_per_token") + pl.col("kv_index_bytes_per_token")) * kv_scale()
    return pl.when(is_latent).then(latent + latent_index).otherwise(plain)


def kv_const_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes per sequence that do not grow: the filled part of sliding windows, or recurrent state in 32 bit."""
    window = pl.col("kv_const_bytes") * kv_scale() * (tokens / pl.col("sliding_window")).clip(upper_bound=1)
    return pl.when(pl.col("attention") == "sliding").then(window).otherwise(pl.col("kv_const_bytes"))


def kv_bytes(tokens: pl.Expr) -> pl.Expr:
    """Bytes of cache and state of one sequence of so many tokens."""
    return kv_bytes_per_token() * tokens + kv_const_bytes(tokens)


def kv_share() -> pl.Expr:
    """Share of the cache that each GPU of a split holds: heads are replicated beyond their number.

    A latent cache is one head, so tensor parallelism replicates it; with experts the layout is attention data
    parallel, where each GPU keeps the whole cache of its own share of the sequences.
    """
    spread = 1 / _SPLIT
    by_head = pl.max_horizontal(spread, 1 / pl.col("num_kv_heads"))
    latent = pl.when("is_moe").then(spread).otherwise(pl.lit(1.0))
    return pl.when(pl.col("attention") == "mla").then(latent).otherwise(by_head)


def state_gib(sequences: pl.Expr, tokens: pl.Expr) -> pl.Expr:
    """GiB of cache and state per GPU for so many sequences of so many tokens each."""
    return sequences * kv_bytes(tokens) * kv_share() / GIB


def activation_gib() -> pl.Expr:
    """GiB of activations per GPU of one prefill batch: (6 I + 8 H) bytes a token (section 6)."""
    per_token = coefficient("activation_bytes_per_intermediate") * pl.col("intermediate_size") + coefficient(
        "activation_bytes_per_hidden"
    ) * pl.col("hidden_size")
    return per_token * batched_tokens() / _SPLIT / GIB


def batched_tokens() -> pl.Expr:
    """Tokens of one engine step: a larger GPU is given a larger budget, growing evenly between two sizes.

    A jump would make a slightly larger GPU hold less.
    """
    budget = coefficients("batched_prefill_tokens")
    small, large = coefficient("small_gpu_gib"), coefficient("large_gpu_gib")
    grown = ((pl.col("usable_gib") - small) / (large - small)).clip(0, 1)
    return budget["small"] + (budget["large"] - budget["small"]) * grown


def runtime_gib() -> pl.Expr:
    """GiB per GPU of context, communication buffers and workspaces of a serving engine (section 5)."""
    single, split = coefficient("runtime_single_gib"), coefficient("runtime_split_gib")
    return pl.when(_SPLIT > 1).then(split).otherwise(single)
