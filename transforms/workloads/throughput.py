"""Speed of text generation: the time of one decode step and of a prefill, in seconds, for one replica.

The form is that of the throughput study, section 1; the coefficients are its simple version (section 8), and
the all-reduce over PCIe is its section 5. All functions return expressions over the columns that
`with_speed_terms` adds to one row per job, hardware and layout.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import precision, sizing
from transforms.workloads.coefficients import coefficient, coefficients

_SPLIT = pl.col("gpus_per_replica")


def with_speed_terms(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the terms of a step that do not depend on how many sequences run together.

    Columns added: stored_bytes; active_share of the parameters; bytes_per_s and flops_per_s that one GPU reaches;
    kv_read_bytes_per_sequence per GPU; link_latency_s and link_bytes_per_s of an all-reduce (null without a split
    or for an unknown link); overhead_s per step; one_prefill_s of one prompt.
    """
    of_class = pl.col("hardware_class")
    bandwidth_share = of_class.replace_strict(coefficients("bandwidth_share"), default=None)
    flops_share = of_class.replace_strict(coefficients("flops_share"), default=None)
    is_unpacked = pl.col("flops_factor_id") == "awq_flops_factor"
    unpacked = pl.when(is_unpacked.fill_null(False)).then(coefficient("awq_flops_factor")).otherwise(1.0)
    expert = pl.when("is_moe").then(coefficient("moe_flops_factor")).otherwise(1.0)
    mean_tokens = pl.col("input_tokens") + coefficient("mean_output_in_cache") * pl.col("output_tokens")
    layer_s = coefficient("layer_overhead_us") * 1e-6
    moe_layer_s = pl.when("is_moe").then(coefficient("moe_layer_overhead_us") * 1e-6).otherwise(0.0)
    rows = rows.with_columns(
        stored_bytes=sizing.weight_bytes(),
        active_share=pl.col("params_active") / pl.col("params_total"),
        bytes_per_s=pl.col("memory_bandwidth_gb_per_s") * 1e9 * bandwidth_share,
        flops_per_s=precision.compute_tflops() * 1e12 * flops_share * unpacked * expert,
        kv_read_bytes_per_sequence=sizing.state_gib(pl.lit(1.0), mean_tokens) * sizing.GIB,
        link_latency_s=_link_latency_s(),
        link_bytes_per_s=_link_bytes_per_s(),
        overhead_s=pl.col("num_layers") * (layer_s + moe_layer_s) + coefficient("step_overhead_ms") * 1e-3,
    )
    return rows.with_columns(one_prefill_s=prefill_s(pl.lit(1.0)))


def _link_latency_s() -> pl.Expr:
    by_link = coefficients("link_latency_us")
    return pl.col("link").replace_strict(by_link, default=None, return_dtype=pl.Float64) * 1e-6


def _link_bytes_per_s() -> pl.Expr:
    """Payload of an all-reduce over its time: by the data sheet for fast links, by measurement for PCIe."""
    gpus = _SPLIT
    one_way = pl.col("link_gb_per_s") / 2 * coefficient("link_rate_share")
    fast = one_way / (2 * (gpus - 1) / gpus)
    pcie_table = {float(n): rate for n, rate in coefficients("pcie_allreduce_gb_per_s").items()}
    slowest = min(pcie_table.values())
    pcie = gpus.replace_strict(pcie_table, default=slowest, return_dtype=pl.Float64)
    is_fast = pl.col("link").is_in(["nvlink", "xgmi"])
    rate = pl.when(is_fast).then(fast).when(pl.col("link") == "pcie").then(pcie)
    return pl.when(gpus > 1).then(rate * 1e9)


def _soft_maximum(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    power = coefficient("soft_maximum_power")
    return (a**power + b**power) ** (1 / power)


def weight_read_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds to read the weights that a step of so many sequences touches: all of a dense model."""
    touched = pl.when("is_moe").then(1 - (1 - pl.col("active_share")) ** sequences).otherwise(1.0)
    return pl.col("stored_bytes") * touched / (pl.col("bytes_per_s") * _SPLIT)


def multiply_s(tokens: pl.Expr) -> pl.Expr:
    """Seconds to multiply so many tokens with the active weights."""
    return 2 * pl.col("params_active") * tokens / (pl.col("flops_per_s") * _SPLIT)


def cache_read_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds to read the cache of so many sequences of mean age."""
    rate = pl.col("bytes_per_s") * coefficient("kv_read_share")
    return sequences * pl.col("kv_read_bytes_per_sequence") / rate


def link_s(tokens: pl.Expr) -> pl.Expr:
    """Seconds of the two all-reduces of each layer; 0 for one GPU, null for an unknown link."""
    payload = tokens * pl.col("hidden_size") * 2
    each = pl.col("link_latency_s") + payload / pl.col("link_bytes_per_s")
    return pl.when(_SPLIT > 1).then(2 * pl.col("num_layers") * each).otherwise(0.0)


def engine_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds of a step in which no weight moves: launches, scheduling, sampling."""
    return pl.col("overhead_s") + sequences * coefficient("sequence_overhead_us") * 1e-6


def step_s(sequences: pl.Expr) -> pl.Expr:
    """Seconds of one decode step of so many sequences together."""
    weights = _soft_maximum(weight_read_s(sequences), multiply_s(sequences))
    return weights + cache_read_s(sequences) + link_s(sequences) + engine_s(sequences)


def prefill_s(requests: pl.Expr) -> pl.Expr:
    """Seconds to read the uncached part of so many prompts, attention to the cached part included.

    A prefill of few tokens runs below the full rate (T0), and none is faster than one reading of the weights.
    Layers with a sliding window or a recurrent state are left out of the attention term.
    """
    new_tokens = pl.col("input_tokens") * (1 - pl.col("cached_input_share")) * requests
    attention = 2 * pl.col("full_layers") * pl.col("hidden_size") * pl.col("input_tokens")
    flops_per_token = 2 * pl.col("params_active") + attention
    slowed_tokens = new_tokens + coefficient("prefill_half_rate_tokens")
    compute = flops_per_token * slowed_tokens / (pl.col("flops_per_s") * _SPLIT)
    all_weights = pl.col("stored_bytes") / (pl.col("bytes_per_s") * _SPLIT)
    steps = (new_tokens / coefficient("prefill_chunk_tokens")).ceil()
    return pl.max_horizontal(compute, all_weights) + link_s(new_tokens) + steps * pl.col("overhead_s")


def user_tokens_per_s(users: pl.Expr) -> pl.Expr:
    """Output tokens per second that each of so many users gets, the prefills of the others included."""
    output = pl.col("output_tokens")
    return output / (users * pl.col("one_prefill_s") + output * step_s(users))


def first_token_s(users: pl.Expr) -> pl.Expr:
    """Seconds to the first token: one request ahead, the own prefill, one step."""
    return coefficient("ttft_prefills") * pl.col("one_prefill_s") + step_s(users)


def batch_tokens_per_s(sequences: pl.Expr) -> pl.Expr:
    """Output tokens per second of one replica that keeps so many sequences in flight."""
    output = pl.col("output_tokens")
    return sequences * output / (prefill_s(sequences) + output * step_s(sequences))


def prefill_tokens_per_s(sequences: pl.Expr) -> pl.Expr:
    """Input tokens per second of one replica that only reads, so many prompts at a time."""
    return sequences * pl.col("input_tokens") / prefill_s(sequences)
