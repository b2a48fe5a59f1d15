"""Memory of a serving engine: weights, cache, activations, runtime, in GiB per GPU.

Every function returns an expression over the columns of one row per model, precision and layout; a single value
is a frame of one row. A null figure makes the result null: nothing is guessed.

Columns read: those of `models.geometry()`, those of `precision.with_formats`, `kv_precision` as it is used,
`usable_gib` of one GPU, and `gpus_per_replica` (tensor parallel size). Formulas: memory sizing study, sections 3, 4,
5 and 11; weights and cache have modules of their own.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import cache, weights
from transforms.workloads.cache import kv_bytes, kv_bytes_per_token, kv_scale, kv_share
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.weights import weight_bytes

__all__ = ["kv_bytes", "kv_bytes_per_token", "kv_scale", "kv_share", "weight_bytes"]

GIB = 2.0**30
_SPLIT = pl.col("gpus_per_replica")


def weights_gib() -> pl.Expr:
    """GiB of the loaded weights of one copy of the model, over all its GPUs."""
    return weights.loaded_bytes() / GIB


def state_gib(sequences: pl.Expr, tokens: pl.Expr) -> pl.Expr:
    """GiB of cache and state per GPU that so many sequences of so many tokens must hold."""
    return sequences * cache.held_bytes(tokens) / GIB


def state_reserved_gib(sequences: pl.Expr, tokens: pl.Expr) -> pl.Expr:
    """GiB per GPU that an engine sets aside for so many sequences: whole pages, windows as long as the text.

    The verdict uses the larger of this and `state_gib`; the two differ for windows and recurrent layers.
    """
    return sequences * pl.max_horizontal(cache.held_bytes(tokens), cache.reserved_bytes(tokens)) / GIB


def activation_gib() -> pl.Expr:
    """GiB of activations per GPU of one prefill batch: (6 I + 8 H) bytes a token (section 6)."""
    return prefill_bytes_per_token() * batched_tokens() / _SPLIT / GIB


def prefill_bytes_per_token() -> pl.Expr:
    """Bytes of the temporaries of one layer that one token of a prefill needs."""
    of_width = coefficient("activation_bytes_per_intermediate") * pl.col("intermediate_size")
    return of_width + coefficient("activation_bytes_per_hidden") * pl.col("hidden_size")


def batched_tokens() -> pl.Expr:
    """Tokens of one engine step: a larger GPU is given a larger budget, growing evenly between two sizes.

    A jump would make a slightly larger GPU hold less.
    """
    budget = coefficients("batched_prefill_tokens")
    grown = _between(coefficient("small_gpu_gib"), coefficient("large_gpu_gib"))
    return budget["small"] + (budget["large"] - budget["small"]) * grown


def runtime_gib() -> pl.Expr:
    """GiB per GPU of context, communication buffers and workspaces of a serving engine (section 5).

    On a small GPU an engine captures fewer graphs and keeps smaller workspaces.
    """
    tiny, single = coefficient("runtime_tiny_gib"), coefficient("runtime_single_gib")
    grown = _between(coefficient("tiny_gpu_gib"), coefficient("common_gpu_gib"))
    alone = tiny + (single - tiny) * grown
    return pl.when(_SPLIT > 1).then(coefficient("runtime_split_gib")).otherwise(alone)


def pool_gib(utilisation: pl.Expr, weights: pl.Expr, runtime: pl.Expr, activation: pl.Expr) -> pl.Expr:
    """GiB per GPU that an engine leaves for the cache: its share of the device less all that is there before.

    The share is of the whole memory in vLLM and SGLang; TensorRT-LLM takes it of what is free after loading.
    CUDA graphs are captured later and lie outside.
    """
    return utilisation * pl.col("usable_gib") - weights - runtime - activation


def _between(small_gib: float, large_gib: float) -> pl.Expr:
    """How far the memory of the GPU lies from one size (0) to another (1)."""
    return ((pl.col("usable_gib") - small_gib) / (large_gib - small_gib)).clip(0, 1)
