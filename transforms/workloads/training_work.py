"""What training one token takes: FLOPs of the matrices and of attention, values moved, values sent to experts.

Training and generation study, section 2. Functions return expressions over one row per job and hardware; a figure
that is not known makes the result null.

Columns read, beside those of `models.geometry()`:

task                lora, qlora, full or pretrain
seq_len             tokens of a sequence
recompute_share     of the forward pass that is run again for the gradients: 0 none, 1 all
experts_per_token   routed experts that a token is sent to
expert_layers       layers that have experts
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads.coefficients import coefficient

_RUN_AGAIN = pl.col("recompute_share")
IS_ADAPTER = pl.col("task").is_in(["lora", "qlora"])


def with_experts(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds experts_per_token and expert_layers of the model; 0 without experts.

    The layers with experts are those that the routed parameters fill: some models have experts in every second
    layer, or in none of their recurrent ones.
    """
    counts = tables.read("model").select(
        "model_id",
        experts_per_token=pl.col("moe_top_k").cast(pl.Float64),
        experts_of_layer=pl.col("moe_num_experts").cast(pl.Float64),
    )
    one_layer = pl.col("experts_of_layer") * 3 * pl.col("hidden_size") * pl.col("expert_width")
    layers = pl.min_horizontal(pl.col("params_routed") / one_layer, "num_layers")
    is_moe = pl.col("is_moe")
    return (
        rows.join(counts, on="model_id", how="left", maintain_order="left")
        .with_columns(
            experts_per_token=pl.when(is_moe).then("experts_per_token").otherwise(0.0),
            expert_layers=pl.when(is_moe).then(pl.coalesce(layers, "num_layers")).otherwise(0.0),
        )
        .drop("experts_of_layer")
    )


def multiplied_params() -> pl.Expr:
    """Parameters that a token is multiplied with: those at work without the table of words, which is only read."""
    return pl.col("params_active") - (pl.col("params_embed") - pl.col("params_head"))


def attention_width() -> pl.Expr:
    """Query heads times head size; the mean of keys and values where they are made from a latent vector."""
    latent = pl.when(pl.col("attention") == "mla").then(coefficient("latent_head_width"))
    return pl.col("num_attention_heads") * pl.coalesce(latent, "head_dim")


def attention_flops() -> pl.Expr:
    """FLOPs of causal attention of one token, forward and twice that backward: 12 x keys x width over the layers.

    A token sees half of the sequence; in a layer with a window no more than the window. Recurrent layers have none.
    """
    half = pl.col("seq_len") / 2
    is_sliding = pl.col("attention") == "sliding"
    window_layers = pl.when(is_sliding).then(pl.col("num_layers") - pl.col("full_layers")).otherwise(0.0)
    windowed = window_layers * pl.min_horizontal("sliding_window", half).fill_null(half)
    return 12 * (pl.col("full_layers") * half + windowed) * attention_width()


def matrix_flops(run_again: pl.Expr = _RUN_AGAIN) -> pl.Expr:
    """FLOPs of the matrices that are run for one token: what counts, and 2 N for what is run again."""
    passes = pl.when(IS_ADAPTER).then(4.0).otherwise(6.0) + 2 * run_again
    return passes * multiplied_params()


def attention_run_flops(run_again: pl.Expr = _RUN_AGAIN) -> pl.Expr:
    """FLOPs of attention that are run for one token: what counts, and a third of it for what is run again."""
    return attention_flops() * (1 + run_again / 3)


def moved_bytes() -> pl.Expr:
    """Bytes that norms, activations, residuals and the sorting by expert read and write for one token."""
    hidden = pl.col("hidden_size")
    values = coefficient("training_values.hidden") * hidden
    values += coefficient("training_values.wide") * pl.col("intermediate_size")
    sorted_values = coefficient("training_values.expert") * pl.col("experts_per_token") * hidden
    both = values * pl.col("num_layers") + sorted_values * pl.col("expert_layers")
    return 2 * both * (1 + pl.col("recompute_share") / 3)


def sent_bytes() -> pl.Expr:
    """Bytes that one token sends to experts and back, forward and backward, when they lie on several GPUs."""
    return 4 * 2 * pl.col("experts_per_token") * pl.col("hidden_size") * pl.col("expert_layers")
