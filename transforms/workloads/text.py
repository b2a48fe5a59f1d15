"""Text on a layout: how many users or sequences it holds, how fast it answers, and what stops it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from transforms.reference import tables
from transforms.workloads import bands, engines, kernels, layouts, outcome, precision, sizing, throughput


def with_text_terms(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the parts of memory and of a step; an 8-bit cache falls back to 16 bit without FP8 units."""
    rows = rows.with_columns(kv_falls_back=precision.has_cache_fallback())
    cache = pl.when("kv_falls_back").then(pl.lit("bf16")).otherwise("kv_precision")
    rows = rows.with_columns(
        kv_precision=cache,
        power_share=kernels.power_share(),
        is_tuned=pl.lit(False),
        is_attention_data_parallel=_spreads_experts(),
    )
    top_k = tables.read("model").select("model_id", top_k=pl.col("moe_top_k").cast(pl.Float64))
    rows = engines.with_default_engine(rows.join(top_k, on="model_id", how="left", maintain_order="left"))
    rows = throughput.with_speed_terms(rows)
    rows = rows.with_columns(
        weights_gib=_weights_gib_per_gpu(),
        activation_gib=sizing.activation_gib(),
        runtime_gib=sizing.runtime_gib(),
        sequence_gib=sizing.state_reserved_gib(pl.lit(1.0), pl.col("context_tokens")),
        is_calibrated=pl.col("is_text_calibrated"),
    )
    before = [pl.col("weights_gib"), pl.col("runtime_gib"), pl.col("activation_gib")]
    base_gib = pl.sum_horizontal(before, ignore_nulls=False)
    pool_gib = sizing.pool_gib(outcome.load_limit(), *before)
    # A model without a cache holds as many sequences as the engine runs.
    held = (pool_gib / pl.col("sequence_gib")).floor().clip(0, pl.col("max_sequences_of_engine"))
    return rows.with_columns(base_gib=base_gib, held_sequences=held)


def _spreads_experts() -> pl.Expr:
    """True where a copy is laid out with attention data parallel: experts of a model whose cache is one latent.

    Tensor parallelism would replicate that cache. Each GPU keeps attention and dense layers for its own sequences.
    """
    is_split = pl.col("gpus_per_replica") > 1
    return is_split & pl.col("is_moe") & (pl.col("kv_lora_rank").fill_null(0) > 0)


def _weights_gib_per_gpu() -> pl.Expr:
    """GiB of the weights on each GPU: a share of all, or a share of the experts and all of the rest."""
    loaded, split = sizing.weights_gib(), pl.col("gpus_per_replica")
    experts = pl.col("params_routed") * pl.col("routed_expert_bits") / 8 / sizing.GIB
    spread = loaded - experts * (1 - 1 / split)
    return pl.when("is_attention_data_parallel").then(spread).otherwise(loaded / split)


def serve(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of service jobs: most users within memory, floor speed and first-token limit.

    Users are spread evenly over the copies that this takes; load and speed are those of such a copy.
    """
    rows = with_text_terms(rows).with_columns(flags=precision.flags())
    users = pl.col("concurrent_users")
    most = pl.min_horizontal(users, "held_sequences")
    floor = pl.col("min_tokens_per_s_per_user")
    first_token_ms = pl.col("max_ttft_ms")

    def passes(share: Callable[[pl.Expr], pl.Expr]) -> Callable[[pl.Expr], pl.Expr]:
        def test(n: pl.Expr) -> pl.Expr:
            fast = throughput.user_tokens_per_s(n) * share(n) >= floor
            soon = throughput.first_token_s(n) * 1e3 <= first_token_ms
            return (fast | floor.is_null()) & (soon | first_token_ms.is_null())

        return test

    rows = _with_largest(rows, "users_per_replica", most, passes(lambda _: pl.lit(1.0)))
    low_of_one, low_of_many = _edges("single")[0], _edges("server")[0]
    rows = rows.with_columns(low_of_one=low_of_one, low_of_many=low_of_many)

    def low(n: pl.Expr) -> pl.Expr:
        return pl.when(n > 1).then("low_of_many").otherwise("low_of_one")

    rows = _with_largest(rows, "certain_users_per_replica", most, passes(low))
    copies = (users / pl.col("users_per_replica").clip(lower_bound=1)).ceil()
    rows = rows.with_columns(sequences_in_flight=(users / copies).ceil())
    rows = rows.with_columns(
        sequences_in_flight=pl.when(pl.col("users_per_replica") > 0)
        .then("sequences_in_flight")
        .otherwise(1.0)
    )
    n = pl.col("sequences_in_flight")
    rows = with_time_shares(with_load(rows, n), n, pl.col("output_tokens")).with_columns(
        speed=throughput.user_tokens_per_s(n),
        speed_unit=pl.lit("tokens/s/user"),
        ttft_ms=throughput.first_token_s(n) * 1e3,
        limiting_factor=pl.when(
            (pl.col("held_sequences") < users) & (pl.col("users_per_replica") == pl.col("held_sequences"))
        )
        .then(pl.lit("cache_capacity"))
        .otherwise(largest_share()),
    )
    band_low, band_high = band_of_users(n)
    rows = rows.with_columns(band_low=band_low, band_high=band_high)
    rows = rows.with_columns(rate_per_hour=pl.col("speed") * n * 3600)
    failures = [
        *_common_failures(),
        outcome.below("speed", pl.col("speed"), floor, "tokens/s that each user must get"),
        outcome.above("ttft", pl.col("ttft_ms"), first_token_ms, "ms to the first token"),
    ]
    return outcome.with_outcome(rows, failures)


def batch(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of batch jobs: as many sequences as memory holds at the context, within the job's range."""
    rows = with_text_terms(rows).with_columns(flags=precision.flags())
    fewest, most = pl.col("concurrent_users"), pl.col("max_sequences")
    n = pl.max_horizontal(pl.min_horizontal(most, "held_sequences"), fewest)
    rows = with_load(rows.with_columns(sequences_in_flight=n), pl.col("sequences_in_flight"))
    n = pl.col("sequences_in_flight")
    tokens_per_s = throughput.batch_tokens_per_s(n)
    rows = with_time_shares(rows, n, pl.col("output_tokens")).with_columns(
        speed=tokens_per_s / pl.col("gpus_per_replica"),
        speed_unit=pl.lit("tokens/s/gpu"),
        limiting_factor=pl.when(n < most).then(pl.lit("cache_capacity")).otherwise(largest_share()),
    )
    per_unit = pl.when(pl.col("work_unit") == "pages").then("output_tokens").otherwise(1.0)
    rows = _with_band(rows, "offline").with_columns(rate_per_hour=tokens_per_s * 3600 / per_unit)
    return outcome.with_outcome(rows, _common_failures())


def embed(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of embedding jobs: prefill only."""
    rows = with_text_terms(rows).with_columns(flags=precision.flags())
    fewest, most = pl.col("concurrent_users"), pl.col("max_sequences")
    n = pl.max_horizontal(pl.min_horizontal(most, "held_sequences"), fewest)
    rows = with_load(rows.with_columns(sequences_in_flight=n), pl.col("sequences_in_flight"))
    n = pl.col("sequences_in_flight")
    tokens_per_s = throughput.prefill_tokens_per_s(n)
    rows = with_time_shares(rows, n, pl.lit(0.0)).with_columns(
        speed=tokens_per_s,
        speed_unit=pl.lit("tokens/s/gpu"),
        limiting_factor=pl.lit("compute"),
    )
    rows = _with_band(rows, "prefill").with_columns(
        rate_per_hour=tokens_per_s * 3600 / pl.col("input_tokens")
    )
    return outcome.with_outcome(rows, _common_failures())


def _common_failures() -> list[outcome.Failure]:
    heads = outcome.Failure(
        "heads",
        layouts.heads_fail(),
        pl.format(
            "{} heads do not divide over {} GPUs",
            pl.col("num_attention_heads").cast(pl.Int64),
            pl.col("gpus_per_replica").cast(pl.Int64),
        ),
    )
    return [
        *outcome.precision_failures(),
        outcome.figure_failure("base_gib", "architecture", "the size"),
        outcome.figure_failure("load_ratio", "architecture", "the cache"),
        heads,
        *outcome.fabric_failures(),
        outcome.memory_failure(),
        outcome.figure_failure("speed", "gpu_figures", "a figure that sets the speed"),
    ]


def _with_largest(
    rows: pl.DataFrame, name: str, most: pl.Expr, passes: Callable[[pl.Expr], pl.Expr]
) -> pl.DataFrame:
    """Adds the largest whole number up to `most` that passes a test which only gets harder: bisection."""
    low, high = pl.col("low"), pl.col("high")
    rows = rows.with_columns(low=0.0, high=most.fill_null(0.0).floor())
    steps = int(rows["high"].max() or 0).bit_length()  # type: ignore[arg-type]
    for _ in range(steps):
        middle = ((low + high + 1) / 2).floor()
        is_good = (middle > 0) & passes(middle).fill_null(False)
        rows = rows.with_columns(
            low=pl.when(is_good).then(middle).otherwise(low),
            high=pl.when(is_good).then(high).otherwise(pl.max_horizontal(middle - 1, low)),
        )
    return rows.rename({"low": name}).drop("high")


def with_load(rows: pl.DataFrame, sequences: pl.Expr) -> pl.DataFrame:
    """Adds state_gib, need_gib, load_ratio and base_ratio with so many sequences of a copy at full context."""
    state = sequences * pl.col("sequence_gib")
    return rows.with_columns(
        state_gib=state,
        need_gib=pl.col("base_gib") + state,
        load_ratio=(pl.col("base_gib") + state) / pl.col("usable_gib"),
        base_ratio=pl.col("base_gib") / pl.col("usable_gib"),
    )


def _edges(kind: str) -> tuple[pl.Expr, pl.Expr]:
    return bands.edges(pl.lit(kind), pl.col("is_moe"), pl.col("is_calibrated"))


def band_of_users(users: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Returns the edges of the 80 % band of a service for so many users of a copy, as shares of the speed."""
    one, many = _edges("single"), _edges("server")
    low = pl.when(users > 1).then(many[0]).otherwise(one[0])
    return low, pl.when(users > 1).then(many[1]).otherwise(one[1])


def _with_band(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    low, high = _edges(kind)
    return rows.with_columns(band_low=low, band_high=high)


def with_time_shares(rows: pl.DataFrame, sequences: pl.Expr, output_tokens: pl.Expr) -> pl.DataFrame:
    """Adds time_*_share of requests that run so many together, and prompt_link_share."""
    shares = throughput.time_shares(sequences, output_tokens)
    exchanged = throughput.prompt_link_share(sequences, output_tokens)
    rows = rows.with_columns(share.alias(f"time_{part}_share") for part, share in shares.items())
    return rows.with_columns(prompt_link_share=exchanged)


def largest_share() -> pl.Expr:
    """What limits the speed: bandwidth, compute, link or overhead, by the largest share of the time."""
    parts = {
        "bandwidth": pl.col("time_weights_share") + pl.col("time_cache_share"),
        "compute": pl.col("time_compute_share") + pl.col("time_prefill_share") - pl.col("prompt_link_share"),
        "link": pl.col("time_link_share") + pl.col("prompt_link_share"),
        "overhead": pl.col("time_overhead_share"),
    }
    largest = pl.concat_list(list(parts.values())).list.arg_max()
    names = pl.Series(list(parts), dtype=pl.String)
    return largest.replace_strict(list(range(len(names))), names, default=None, return_dtype=pl.String)
