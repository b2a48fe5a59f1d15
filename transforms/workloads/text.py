"""Text on a layout: how many users or sequences it holds, how fast it answers, and what stops it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from transforms.workloads import layouts, outcome, precision, sizing, throughput
from transforms.workloads.coefficients import coefficient

_ENGINE = "vllm, sglang"


def with_text_terms(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the parts of memory and of a step; an 8-bit cache falls back to 16 bit without FP8 units."""
    rows = rows.with_columns(kv_falls_back=precision.has_cache_fallback())
    cache = pl.when("kv_falls_back").then(pl.lit("bf16")).otherwise("kv_precision")
    rows = rows.with_columns(kv_precision=cache)
    rows = throughput.with_speed_terms(rows)
    rows = rows.with_columns(
        weights_gib=sizing.weights_gib() / pl.col("gpus_per_replica"),
        activation_gib=sizing.activation_gib(),
        runtime_gib=sizing.runtime_gib(),
        sequence_gib=sizing.state_gib(pl.lit(1.0), pl.col("context_tokens")),
        flags=precision.flags(),
        engine=pl.lit(_ENGINE),
        is_calibrated=pl.col("is_text_calibrated"),
    )
    base_gib = pl.col("weights_gib") + pl.col("activation_gib") + pl.col("runtime_gib")
    free_gib = pl.col("usable_gib") * outcome.load_limit() - base_gib
    # A model without a cache holds as many sequences as the engine runs.
    held = (free_gib / pl.col("sequence_gib")).floor().clip(0, coefficient("engine_max_sequences"))
    return rows.with_columns(base_gib=base_gib, held_sequences=held)


def serve(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of service jobs: most users within memory, floor speed and first-token limit.

    Users are spread evenly over the copies that this takes; load and speed are those of such a copy.
    """
    rows = with_text_terms(rows)
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
    rows = _with_largest(rows, "certain_users_per_replica", most, passes(_band_low))
    copies = (users / pl.col("users_per_replica").clip(lower_bound=1)).ceil()
    rows = rows.with_columns(sequences_in_flight=(users / copies).ceil())
    rows = rows.with_columns(
        sequences_in_flight=pl.when(pl.col("users_per_replica") > 0)
        .then("sequences_in_flight")
        .otherwise(1.0)
    )
    n = pl.col("sequences_in_flight")
    prefill = pl.col("one_prefill_s") * n / pl.col("output_tokens")
    rows = _with_load(rows, n).with_columns(
        speed=throughput.user_tokens_per_s(n),
        speed_unit=pl.lit("tokens/s/user"),
        ttft_ms=throughput.first_token_s(n) * 1e3,
        limiting_factor=pl.when(
            (pl.col("held_sequences") < users) & (pl.col("users_per_replica") == pl.col("held_sequences"))
        )
        .then(pl.lit("cache_capacity"))
        .otherwise(_slowest_part(n, prefill)),
    )
    rows = _with_band(rows, n).with_columns(rate_per_hour=pl.col("speed") * n * 3600)
    failures = [
        *_common_failures(),
        outcome.below("speed", pl.col("speed"), floor, "tokens/s that each user must get"),
        outcome.above("ttft", pl.col("ttft_ms"), first_token_ms, "ms to the first token"),
    ]
    return outcome.with_outcome(rows, failures)


def batch(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of batch jobs: as many sequences as memory holds at the context, within the job's range."""
    rows = with_text_terms(rows)
    fewest, most = pl.col("concurrent_users"), pl.col("max_sequences")
    n = pl.max_horizontal(pl.min_horizontal(most, "held_sequences"), fewest)
    rows = _with_load(rows.with_columns(sequences_in_flight=n), pl.col("sequences_in_flight"))
    n = pl.col("sequences_in_flight")
    tokens_per_s = throughput.batch_tokens_per_s(n)
    prefill = throughput.prefill_s(n) / pl.col("output_tokens")
    rows = rows.with_columns(
        speed=tokens_per_s / pl.col("gpus_per_replica"),
        speed_unit=pl.lit("tokens/s/gpu"),
        limiting_factor=pl.when(n < most).then(pl.lit("cache_capacity")).otherwise(_slowest_part(n, prefill)),
    )
    per_unit = pl.when(pl.col("work_unit") == "pages").then("output_tokens").otherwise(1.0)
    rows = _with_band(rows, n).with_columns(rate_per_hour=tokens_per_s * 3600 / per_unit)
    return outcome.with_outcome(rows, _common_failures())


def embed(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of embedding jobs: prefill only."""
    rows = with_text_terms(rows)
    fewest, most = pl.col("concurrent_users"), pl.col("max_sequences")
    n = pl.max_horizontal(pl.min_horizontal(most, "held_sequences"), fewest)
    rows = _with_load(rows.with_columns(sequences_in_flight=n), pl.col("sequences_in_flight"))
    n = pl.col("sequences_in_flight")
    tokens_per_s = throughput.prefill_tokens_per_s(n)
    rows = rows.with_columns(
        speed=tokens_per_s,
        speed_unit=pl.lit("tokens/s/gpu"),
        limiting_factor=pl.lit("compute"),
    )
    rows = _with_band(rows, n).with_columns(rate_per_hour=tokens_per_s * 3600 / pl.col("input_tokens"))
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


def _with_load(rows: pl.DataFrame, sequences: pl.Expr) -> pl.DataFrame:
    state = sequences * pl.col("sequence_gib")
    return rows.with_columns(
        state_gib=state,
        need_gib=pl.col("base_gib") + state,
        load_ratio=(pl.col("base_gib") + state) / pl.col("usable_gib"),
        base_ratio=pl.col("base_gib") / pl.col("usable_gib"),
    )


def _band_low(sequences: pl.Expr) -> pl.Expr:
    single, batched = coefficient("band_single_low"), coefficient("band_batched_low")
    return pl.when(sequences > 1).then(batched).otherwise(single)


def _with_band(rows: pl.DataFrame, sequences: pl.Expr) -> pl.DataFrame:
    single, batched = coefficient("band_single_high"), coefficient("band_batched_high")
    high = pl.when(sequences > 1).then(batched).otherwise(single)
    return rows.with_columns(band_low=_band_low(sequences), band_high=high)


def _slowest_part(sequences: pl.Expr, prefill_per_step_s: pl.Expr) -> pl.Expr:
    """The largest part of a step with its share of the prefills: bandwidth, compute, link or overhead."""
    parts = {
        "bandwidth": throughput.weight_read_s(sequences) + throughput.cache_read_s(sequences),
        "compute": throughput.multiply_s(sequences) + prefill_per_step_s,
        "link": throughput.link_s(sequences),
        "overhead": throughput.engine_s(sequences),
    }
    largest = pl.concat_list(list(parts.values())).list.arg_max()
    names = pl.Series(list(parts), dtype=pl.String)
    return largest.replace_strict(list(range(len(names))), names, default=None, return_dtype=pl.String)
