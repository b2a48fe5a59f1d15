"""Text: what published speeds of inference say of a model, an engine and a GPU, and what the formulas say.

Classes: single_stream_decode, batched_decode, offline_throughput, server and prefill; also moe or dense, the class of
hardware and the format. A figure is output tokens per second of all GPUs, of prompts: input tokens per second.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy import text_measurements
from transforms.accuracy.cases import CASE
from transforms.workloads import bands, throughput
from transforms.workloads.coefficients import coefficient

# Rows of one source, GPU and scenario are much alike: n of them count as the square root of n, few as one of these.
FEWEST_ALIKE = 5
_SEQUENCES = pl.col("sequences")
_MICRO_BATCH_TOKENS = 512


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per measurement with all that no coefficient of the speed changes."""
    return text_measurements.prepare(measured)


def weights(prepared: pl.DataFrame) -> pl.Series:
    """Returns what each case counts in a fit: many rows of one source, GPU and scenario are not many witnesses."""
    alike = pl.len().over("source_group", "gpu_key", "scenario")
    weight = 1 / pl.max_horizontal(alike, FEWEST_ALIKE).cast(pl.Float64).sqrt()
    return prepared.select(weight=weight)["weight"]


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows of prepared rows, under the coefficients in force."""
    rows = throughput.with_speed_terms(prepared)
    rows = rows.with_columns(predicted=_figure())
    low, high = bands.edges(_kind(), pl.col("is_moe"), pl.col("is_calibrated"))
    rows = rows.with_columns(low=pl.col("predicted") * low, high=pl.col("predicted") * high)
    return rows.select(pl.col(name).cast(dtype) for name, dtype in CASE.items())


def _kind() -> pl.Expr:
    return pl.col("scenario").replace_strict(bands.KINDS, default="server", return_dtype=pl.String)


def _figure() -> pl.Expr:
    """Tokens per second as the source counts them."""
    return (
        pl.when(pl.col("scenario") == "prefill")
        .then(_prompt_tokens_per_s())
        .otherwise(_output_tokens_per_s())
    )


def _prompt_tokens_per_s() -> pl.Expr:
    """Input tokens per second. Stages of a split by layers work on parts of one prompt in turn."""
    parts = (pl.col("input_tokens") / _MICRO_BATCH_TOKENS).ceil()
    stages = pl.col("pipeline_stages")
    time = ((parts + (stages - 1) / coefficient("pipeline_share")) / (parts * stages)).clip(upper_bound=1)
    plain = throughput.prefill_tokens_per_s(_SEQUENCES) * pl.col("replicas")
    # a kernel for vectors reads all weights for each token
    by_vector = pl.col("replicas") / pl.col("dense_read_s")
    return pl.when("is_vector_kernel").then(by_vector).otherwise(plain / time)


def _output_tokens_per_s() -> pl.Expr:
    output = pl.col("output_tokens")
    prefill = pl.when("is_decode_only").then(0.0).otherwise(throughput.prefill_s(_SEQUENCES))
    rate = pl.col("replicas") * _SEQUENCES * output / (prefill + output * throughput.step_s(_SEQUENCES))
    stages = pl.col("pipeline_stages")
    is_pipeline = (stages > 1) & (_SEQUENCES > 1) & ~pl.col("kernels").is_in(["gguf", "gguf_fused"])
    piped = pl.when(is_pipeline).then(stages * coefficient("pipeline_share")).otherwise(1.0)
    is_offline = pl.col("scenario") == "offline_throughput"
    limited = (
        pl.when("is_interactive")
        .then(coefficient("latency_limit_share.interactive"))
        .otherwise(coefficient("latency_limit_share.server"))
    )
    tuned = (
        pl.when(is_offline)
        .then(coefficient("tuned_offline_gain"))
        .when("is_mlperf")
        .then(limited)
        .otherwise(1.0)
    )
    in_flight = _SEQUENCES * pl.col("replicas")
    drained = 1 + coefficient("drain_share") * in_flight / pl.col("finite_requests")
    # experts run slower in builds before a release, whatever the model
    is_early = pl.col("is_unreleased_build") & pl.col("is_moe")
    early = pl.when(is_early.fill_null(False)).then(coefficient("unreleased_expert_share")).otherwise(1.0)
    full = rate * piped * pl.when("is_tuned").then(tuned).otherwise(1.0) * early / drained.fill_null(1.0)
    offered = pl.col("offered_requests_per_s") * output
    return pl.min_horizontal(full, offered)
