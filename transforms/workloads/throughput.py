"""Speed of text generation: where the time of one replica goes, in seconds, for one decode step and for prompts.

The time of a step is a sum: weights that are read, caches that are read, products, exchange between GPUs, and time
in which no weight moves. In a batch of n sequences

    step(n)   = dense_read + expert_read * touched(n) + link_latency + step_overhead
                + n * (token_compute + cache_read + token_link + sequence_overhead)
    touched(n) = 1 - (1 - expert_share) ** n        share of the routed experts that n tokens meet
    prompt(n) = prompt_start + n * (prompt_compute + prompt_attention + prompt_link)

and a request of o output tokens takes prompt + o * step. An engine that batches in flight lets prompts share the steps
of others; alone, or in a static batch, a prompt is no faster than one reading of all weights and pays its own steps.
Form and evidence: throughput study, sections 1 to 7. Memory and products do not overlap: a soft maximum of the two
fits worse than their sum. `with_speed_terms` adds the terms as columns; the other functions are expressions over them.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import cache, kernels, links, weights
from transforms.workloads.coefficients import coefficient

_SPLIT = pl.col("gpus_per_replica")
_IS_DATA_PARALLEL = pl.col("is_attention_data_parallel")
_ACTIVATION_BYTES = 2
# An exchange of tokens: 8-bit activations out and 16-bit results back, per value and direction.
_EXCHANGED_BYTES = 1.5
TERMS = (
    "dense_read_s",
    "expert_read_s",
    "expert_share",
    "token_compute_s",
    "cache_read_s",
    "link_latency_s",
    "token_link_s",
    "step_overhead_s",
    "sequence_overhead_s",
    "prompt_start_s",
    "prompt_compute_s",
    "prompt_attention_s",
    "prompt_link_s",
    "new_prompt_tokens",
)


def with_speed_terms(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds TERMS: seconds of one replica, with `stored_bytes` of the model.

    Columns read: those of `models.geometry()`, `precision.with_formats`, `engines.with_engine` and of a GPU;
    input_tokens, output_tokens, cached_input_share, gpus_per_replica, link, link_gb_per_s, kv_precision as it is
    used, power_share (as `kernels.power_share`), is_attention_data_parallel (experts are spread over the GPUs, and each
    keeps attention and dense layers for its own sequences), top_k (experts of a token), is_tuned (for a vendor or
    MLPerf).
    """
    rows = rows.with_columns(stored_bytes=weights.weight_bytes()).with_columns(_amounts())
    rows = rows.with_columns(
        bytes_per_s=kernels.bytes_per_s(),
        cache_bytes_per_s=kernels.cache_bytes_per_s(),
        flops_per_s=kernels.flops_per_s(),
        attention_flops_per_s=kernels.attention_flops_per_s(),
        cached_attention_flops_per_s=kernels.cached_attention_flops_per_s(),
        prompt_gain=kernels.prompt_gain(),
    )
    rows = rows.with_columns(_step_terms()).with_columns(_prompt_terms())
    return rows.drop(_AMOUNTS)


_AMOUNTS = (
    "bytes_per_s",
    "cache_bytes_per_s",
    "flops_per_s",
    "attention_flops_per_s",
    "cached_attention_flops_per_s",
    "prompt_gain",
    "routed_bytes",
    "dense_bytes",
    "routed_params",
    "dense_params",
    "prompt_dense_params",
    "kept_bytes",
)


def _amounts() -> list[pl.Expr]:
    """Bytes and parameters that a step moves: the table of input words, vision tower and draft head stay out of it."""
    routed = pl.col("params_routed")
    share = ((pl.col("params_active") - pl.col("params_total") + routed) / routed).clip(1e-4, 1)
    share = pl.when(pl.col("is_moe") & (routed > 0)).then(share).otherwise(1.0)
    routed_bytes = routed * pl.col("routed_expert_bits") / 8
    table = pl.col("params_embed") - pl.col("params_head")
    unread_bits = (
        table * pl.col("embedding_bits")
        + (pl.col("params_vision") + pl.col("params_vision_extra")) * pl.col("vision_bits")
        + pl.col("params_draft") * pl.col("draft_bits")
    )
    dense_bytes = pl.col("stored_bytes") - routed_bytes - unread_bits / 8
    active_routed = routed * share
    dense = pl.col("params_active") - table - active_routed
    mean_tokens = pl.col("input_tokens") + coefficient("mean_output_in_cache") * pl.col("output_tokens")
    spread = cache.kv_bytes(mean_tokens) / _SPLIT
    return [
        share.alias("expert_share"),
        routed_bytes.alias("routed_bytes"),
        dense_bytes.clip(lower_bound=0.01 * pl.col("stored_bytes")).alias("dense_bytes"),
        active_routed.alias("routed_params"),
        dense.clip(lower_bound=1e7).alias("dense_params"),
        (dense - pl.col("params_head")).clip(lower_bound=1e7).alias("prompt_dense_params"),
        pl.when(_IS_DATA_PARALLEL).then(spread).otherwise(cache.held_bytes(mean_tokens)).alias("kept_bytes"),
    ]


def _step_terms() -> list[pl.Expr]:
    layers = pl.col("num_layers")
    dense_split = pl.when(_IS_DATA_PARALLEL).then(1.0).otherwise(_SPLIT)
    exchanges = 2 * layers
    is_split = _SPLIT > 1
    latency = links.latency_s() * pl.when(_IS_DATA_PARALLEL).then(2.0).otherwise(1.0)
    return [
        (pl.col("dense_bytes") / (pl.col("bytes_per_s") * dense_split)).alias("dense_read_s"),
        (pl.col("routed_bytes") / (pl.col("bytes_per_s") * _SPLIT)).alias("expert_read_s"),
        (_flops("dense_params") / _SPLIT).alias("token_compute_s"),
        (pl.col("kept_bytes") * kernels.cache_reads() / pl.col("cache_bytes_per_s")).alias("cache_read_s"),
        pl.when(is_split).then(exchanges * latency).otherwise(0.0).alias("link_latency_s"),
        pl.when(is_split).then(exchanges * _exchange_s()).otherwise(0.0).alias("token_link_s"),
        (layers * kernels.layer_overhead_s() + kernels.step_overhead_s()).alias("step_overhead_s"),
        kernels.sequence_overhead_s().alias("sequence_overhead_s"),
        (pl.col("input_tokens") * (1 - pl.col("cached_input_share"))).alias("new_prompt_tokens"),
    ]


def _flops(dense: str) -> pl.Expr:
    """Seconds of one GPU for the products of one token with the weights; experts come in small pieces."""
    routed = pl.col("routed_params") / coefficient("expert_flops_share")
    return 2 * (pl.col(dense) + routed) / pl.col("flops_per_s")


def _exchange_s() -> pl.Expr:
    """Seconds that one token adds to one exchange between the GPUs of a replica."""
    hidden = pl.col("hidden_size")
    reduced = hidden * _ACTIVATION_BYTES / links.all_reduce_bytes_per_s()
    receivers = pl.min_horizontal("top_k", _SPLIT - 1)
    sent = hidden / _SPLIT * receivers * _EXCHANGED_BYTES / links.all_to_all_bytes_per_s()
    return pl.when(_IS_DATA_PARALLEL).then(sent).otherwise(reduced)


def _prompt_terms() -> list[pl.Expr]:
    tokens = pl.col("new_prompt_tokens")
    token_s = _flops("prompt_dense_params") / pl.col("prompt_gain") / _SPLIT
    start_s = 2 * pl.col("prompt_dense_params") / (pl.col("flops_per_s") * pl.col("prompt_gain") * _SPLIT)
    latent = pl.when(pl.col("attention") == "mla").then(coefficient("latent_head_width"))
    width = pl.col("num_attention_heads") * pl.coalesce(latent, "head_dim")
    width = width.fill_null(pl.col("hidden_size"))
    full = pl.col("full_layers").fill_null(pl.col("num_layers"))
    # A new token attends to half of its own chunk on average, and to all that was in the cache before the chunk.
    own = pl.min_horizontal(tokens, pl.lit(coefficient("prefill_chunk_tokens"))) / 2
    before = pl.col("input_tokens") * pl.col("cached_input_share") + tokens / 2 - own
    in_window = pl.min_horizontal(own + before, "window_tokens").fill_null(0.0)
    windowed = pl.when(pl.col("window_bytes_per_token") > 0).then(pl.col("num_layers") - full).otherwise(0.0)
    causal_s = (full * own + windowed * in_window) / pl.col("attention_flops_per_s")
    attention_s = 4 * width * (causal_s + full * before / pl.col("cached_attention_flops_per_s"))
    return [
        (start_s * coefficient("prefill_half_rate_tokens")).alias("prompt_start_s"),
        (token_s * tokens).alias("prompt_compute_s"),
        (attention_s * tokens / _SPLIT).alias("prompt_attention_s"),
        (pl.col("token_link_s") * tokens / links.large_message_gain()).alias("prompt_link_s"),
    ]


def weight_read_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds to read the weights that a step of so many sequences touches: all of a dense model."""
    touched = 1 - (1 - pl.col("expert_share")) ** sequences
    return pl.col("dense_read_s") + pl.col("expert_read_s") * touched


def link_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds of the two exchanges of each layer in a step; 0 for one GPU, null for an unknown link."""
    return pl.col("link_latency_s") + sequences * pl.col("token_link_s")


def engine_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds of a step in which no weight moves: launches, scheduling, sampling."""
    return pl.col("step_overhead_s") + sequences * pl.col("sequence_overhead_s")


def step_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds of one decode step of so many sequences together."""
    moved = sequences * (pl.col("token_compute_s") + pl.col("cache_read_s"))
    return weight_read_s(sequences) + moved + link_s(sequences) + engine_s(sequences)


def _products_s(requests: pl.Expr) -> pl.Expr:
    return pl.col("prompt_start_s") + requests * pl.col("prompt_compute_s")


def prompt_s(requests: pl.Expr) -> pl.Expr:
    """Seconds of so many prompts that are read by themselves, in chunks."""
    chunks = (requests * pl.col("new_prompt_tokens") / coefficient("prefill_chunk_tokens")).ceil()
    weights_s = pl.col("dense_read_s") + pl.col("expert_read_s")
    products = pl.when(_products_s(requests) > weights_s).then(_products_s(requests)).otherwise(weights_s)
    exchanged = requests * (pl.col("prompt_attention_s") + pl.col("prompt_link_s"))
    return products + exchanged + chunks * (pl.col("link_latency_s") + pl.col("step_overhead_s"))


def shared_prompt_s(requests: pl.Expr) -> pl.Expr:
    """Seconds that so many prompts add to the steps of other sequences."""
    return _products_s(requests) + requests * (pl.col("prompt_attention_s") + pl.col("prompt_link_s"))


def prefill_s(requests: pl.Expr) -> pl.Expr:
    """Seconds of the prompts of a batch, as the engine batches; one request alone shares no steps."""
    is_shared = pl.col("shares_steps") & (requests > 1)
    return pl.when(is_shared).then(shared_prompt_s(requests)).otherwise(prompt_s(requests))


def user_tokens_per_s(users: pl.Expr) -> pl.Expr:
    """Output tokens per second that each of so many users gets, the prefills of the others included."""
    output = pl.col("output_tokens")
    return output / (prefill_s(users) + output * step_s(users))


def first_token_s(users: pl.Expr) -> pl.Expr:
    """Seconds to the first token: one request ahead, the own prefill, one step. Time in a queue is not in it."""
    return coefficient("ttft_prefills") * prompt_s(pl.lit(1.0)) + step_s(users)


def batch_tokens_per_s(sequences: pl.Expr) -> pl.Expr:
    """Output tokens per second of one replica that keeps so many sequences in flight."""
    return sequences * user_tokens_per_s(sequences)


def prefill_tokens_per_s(sequences: pl.Expr) -> pl.Expr:
    """Input tokens per second of one replica that only reads, so many prompts at a time."""
    return sequences * pl.col("input_tokens") / prompt_s(sequences)


def time_shares(sequences: pl.Expr, output_tokens: pl.Expr) -> dict[str, pl.Expr]:
    """Returns where the time of a request goes, as shares that sum to 1.

    They are weights, cache, compute, link, overhead and prefill. `output_tokens` of 0: a job that only reads.
    """
    of_step = {
        "weights": weight_read_s(sequences),
        "cache": sequences * pl.col("cache_read_s"),
        "compute": sequences * pl.col("token_compute_s"),
        "link": link_s(sequences),
        "overhead": engine_s(sequences),
    }
    total = _request_s(sequences, output_tokens)
    shares = {name: output_tokens * seconds / total for name, seconds in of_step.items()}
    return {**shares, "prefill": _prompts_s(sequences, output_tokens) / total}


def prompt_link_share(sequences: pl.Expr, output_tokens: pl.Expr) -> pl.Expr:
    """The part of the prefill share in which GPUs exchange their results of the prompts."""
    return sequences * pl.col("prompt_link_s") / _request_s(sequences, output_tokens)


def _prompts_s(sequences: pl.Expr, output_tokens: pl.Expr) -> pl.Expr:
    return pl.when(output_tokens > 0).then(prefill_s(sequences)).otherwise(prompt_s(sequences))


def _request_s(sequences: pl.Expr, output_tokens: pl.Expr) -> pl.Expr:
    return _prompts_s(sequences, output_tokens) + output_tokens * step_s(sequences)
