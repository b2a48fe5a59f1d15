"""Peak memory of one generation in a plain loop, as in transformers: memory sizing study, section 6.

The peak is the highest of three moments: the weights as they are loaded, the prompt in one pass, and the last token.
What a prompt needs depends on the version: logits of every position at first, then those of the last one only, and
figures of late versions leave the prompt out, since they are reset before generation.

Functions return expressions over the columns of `models.geometry()` and `precision.with_formats`, and of the run:
prompt_tokens, total_tokens, sequences, gpus (tensor split times pipeline), gpus_per_replica (tensor split), and
engine_version (4.46 for 4.46.1; null is a current one).
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import sizing
from transforms.workloads.cache import held_bytes
from transforms.workloads.coefficients import coefficient

_SPLIT = pl.col("gpus_per_replica")


def peak_gib() -> pl.Expr:
    """GiB per GPU at the highest moment."""
    moments = pl.max_horizontal(_prompt_bytes(), _last_token_bytes(), _load_bytes())
    stages = pl.col("gpus") / _SPLIT
    return (_weights_bytes() + moments / stages) / sizing.GIB + _reserve_gib()


def _has_all_logits() -> pl.Expr:
    return (pl.col("engine_version") < coefficient("eager_one_logit_from_version")).fill_null(False)


def _leaves_prompt_out() -> pl.Expr:
    return (pl.col("engine_version") >= coefficient("eager_decode_only_from_version")).fill_null(True)


def _weights_bytes() -> pl.Expr:
    """The stored weights, and one matrix at 16 bit in formats that are unpacked layer by layer.

    A plain loop splits the layers; token table and head stay whole.
    """
    matrix = 2 * pl.col("hidden_size") * pl.col("layer_width")
    unpacked = pl.when("keeps_unpacked_layer").then(matrix).otherwise(0.0) / _SPLIT
    whole = pl.col("params_embed") * pl.col("embedding_bits") / 8
    return (sizing.weight_bytes() - whole) / pl.col("gpus") + whole + unpacked


def _prompt_bytes() -> pl.Expr:
    """The prompt in one pass: its cache, and the temporaries of one layer or the logits of every position."""
    prompt = pl.col("prompt_tokens")
    layer = sizing.prefill_bytes_per_token()
    logits = coefficient("eager_logits_bytes_per_vocab") * pl.col("vocab_size")
    largest = pl.when(_has_all_logits()).then(pl.max_horizontal(layer, logits)).otherwise(layer)
    peak = pl.col("sequences") * (held_bytes(prompt) + prompt * largest / _SPLIT)
    return pl.when(_leaves_prompt_out()).then(0.0).otherwise(peak)


def _last_token_bytes() -> pl.Expr:
    """The whole cache; attention without grouped heads repeats keys and values of one layer for every head."""
    tokens = pl.col("total_tokens")
    repeated = 4 * pl.col("num_attention_heads") * pl.col("head_dim") * tokens / _SPLIT
    is_repeated = pl.col("repeats_heads") & _leaves_prompt_out()
    extra = pl.when(is_repeated).then(repeated).otherwise(0.0)
    return pl.col("sequences") * (held_bytes(tokens) + extra)


def _load_bytes() -> pl.Expr:
    """A head that is loaded apart before it is tied to the embeddings again."""
    is_copied = pl.col("copies_head_at_load") & pl.col("is_tied") & ~_leaves_prompt_out()
    return pl.when(is_copied).then(2 * pl.col("params_head")).otherwise(0.0)


def _reserve_gib() -> pl.Expr:
    """GiB beside weights and cache; early versions keep a table of sines and cosines in every layer."""
    late, early = coefficient("eager_reserve_gib"), coefficient("eager_early_reserve_gib")
    rows = coefficient("eager_rotary_positions")
    table = 4 * rows * pl.col("head_dim") * pl.col("num_layers") / sizing.GIB
    return pl.when(_has_all_logits()).then(early + table).otherwise(late)
