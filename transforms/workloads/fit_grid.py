"""The popular models x formats x contexts x users on all hardware: what SQL users ask without Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import polars as pl

from transforms.reference import tables
from transforms.reference.tables import assumption
from transforms.workloads import layouts, outcome, precision, text, throughput
from transforms.workloads.layouts import layouts as all_layouts
from transforms.workloads.models import TEXT_MODALITIES, geometry
from transforms.workloads.performance import with_candidate_facts
from transforms.workloads.schema import HARDWARE, JOB, columns

PRECISIONS = ("bf16", "fp8", "awq-int4", "nvfp4")
CONTEXTS = (4_096, 16_384, 32_768, 131_072)
USERS = (1, 8, 32, 128)
FIT_GRID = columns(
    {
        "model_id": pl.String,
        "weight_precision": pl.String,
        "kv_precision": pl.String,
        "context_tokens": pl.Int32,
        "users": pl.Int32,  # of one instance, spread over its copies
        "hardware_id": pl.String,
        "gpus_per_copy": pl.Int16,
        "copies": pl.Int16,
        "verdict": pl.String,
        "need_gib": pl.Float32,  # of one GPU
        "usable_gib": pl.Float32,
        "load_ratio": pl.Float32,
        "tokens_per_s_per_user": pl.Float32,
        "tokens_per_s_per_user_low": pl.Float32,
        "tokens_per_s_per_user_high": pl.Float32,
        "ttft_ms": pl.Float32,
        "limiting_factor": pl.String,
        "is_calibrated": pl.Boolean,
    }
)
# Layouts are worked out for some models at a time, so that memory stays bounded.
_ROWS_AT_A_TIME = 30_000
_VERDICTS = ("fits", "tight", "does_not_fit", "unsupported_precision", "unknown")


def popular_models() -> list[str]:
    """Returns the text models that the tiers name, the alternatives as well, in the order of model.csv."""
    tiers = tables.read("tier")
    named = tiers["model_id"].to_list() + tiers["alt_model_ids"].str.split(";").explode().to_list()
    is_text = pl.col("modality").is_in(TEXT_MODALITIES) & pl.col("model_id").is_in(named)
    return tables.read("model").filter(is_text)["model_id"].to_list()


def fit_grid(hardware: pl.DataFrame, model_ids: Sequence[str]) -> pl.DataFrame:
    """Returns one FIT_GRID row per question and HARDWARE row, on the layout that holds it and is the fastest.

    A question is a model, a format of the weights, a context up to the maximum of the model and a number of users.
    Speed is that of a conversation at full context: so many new tokens, the rest cached, an answer of the assumed
    length. Where the format, the architecture or a figure is not known the verdict is unknown.
    """
    machines = with_candidate_facts(hardware.match_to_schema(HARDWARE)).with_row_index("machine")
    made = [_answered(all_layouts(asked, machines)) for asked in _questions(model_ids, machines.height)]
    return pl.concat([FIT_GRID.to_frame(), *made])


def _questions(model_ids: Sequence[str], machines: int) -> Iterator[pl.DataFrame]:
    """Yields the questions as columns of JOB, as many as are worked out at a time."""
    grid = product(model_ids, PRECISIONS, CONTEXTS, USERS)
    asked = {
        name: JOB[name] for name in ("model_id", "weight_precision", "context_tokens", "concurrent_users")
    }
    most = pl.min_horizontal("context_tokens", pl.lit(float(max(CONTEXTS))))
    limits = geometry().select("model_id", "max_context")
    answer, new = assumption("fit_answer_tokens"), assumption("fit_new_tokens")
    prompt = pl.col("context_tokens") - answer
    rows = (
        pl.DataFrame(list(grid), schema=asked, orient="row")
        .join(limits, on="model_id", maintain_order="left")
        .filter(most <= pl.col("max_context"))
        .drop("max_context")
        .with_columns(
            task=pl.lit("serve"),
            kv_precision=pl.lit("bf16"),
            is_kv_fixed=pl.lit(False),
            input_tokens=prompt,
            output_tokens=pl.lit(answer),
            cached_input_share=1 - pl.min_horizontal(pl.lit(new), prompt) / prompt,
            max_gpus=pl.lit(None, pl.Float64),
            assumed_peak_gib=pl.lit(None, pl.Float64),
            allow_multi_node=pl.lit(False),
            required_fabric=pl.lit("any"),
            worst_verdict_allowed=pl.lit("tight"),
        )
    )
    yield from rows.with_row_index("question").iter_slices(max(1, _ROWS_AT_A_TIME // max(machines, 1)))


def _answered(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the FIT_GRID rows of layouts: of each question and machine the best one."""
    rows = precision.with_formats(rows.join(geometry(), on="model_id", how="left"))
    rows = text.with_text_terms(rows)
    rows = rows.with_columns(n=(pl.col("concurrent_users") / pl.col("replicas_per_instance")).ceil())
    rows = text.with_load(rows, pl.col("n"))
    rows = text.with_time_shares(rows, pl.col("n"), pl.col("output_tokens"))
    low, high = text.band_of_users(pl.col("n"))
    rows = rows.with_columns(
        speed=throughput.user_tokens_per_s(pl.col("n")),
        ttft_ms=throughput.first_token_s(pl.col("n")) * 1e3,
        limiting_factor=text.largest_share(),
        low=low,
        high=high,
    ).with_columns(verdict=_verdict())
    best = rows[_best_layouts(rows)]
    holds = pl.col("verdict").is_in(["fits", "tight"])
    speed = pl.when(holds).then("speed")
    return best.select(
        "model_id",
        "weight_precision",
        "kv_precision",
        pl.col("context_tokens"),
        users=pl.col("concurrent_users"),
        hardware_id="hardware_id",
        gpus_per_copy="gpus_per_replica",
        copies="replicas_per_instance",
        verdict="verdict",
        need_gib="need_gib",
        usable_gib="usable_gib",
        load_ratio="load_ratio",
        tokens_per_s_per_user=speed,
        tokens_per_s_per_user_low=speed * pl.col("low"),
        tokens_per_s_per_user_high=speed * pl.col("high"),
        ttft_ms=pl.when(holds).then("ttft_ms"),
        limiting_factor=pl.when(holds).then("limiting_factor"),
        is_calibrated=pl.col("is_calibrated").fill_null(False),
    ).cast(FIT_GRID)


def _best_layouts(rows: pl.DataFrame) -> pl.Series:
    """Returns the positions of the best layout of each question and machine, in the order of the rows."""
    rank = pl.col("verdict").replace_strict(list(_VERDICTS), list(range(5)), return_dtype=pl.Int8)
    keys = rows.select(
        "question", "machine", "load_ratio", "gpus_per_replica", rank=rank, slow=-pl.col("speed")
    )
    return (
        keys.with_row_index("position")
        .sort("question", "machine", "rank", "slow", "load_ratio", "gpus_per_replica", nulls_last=True)
        .unique(["question", "machine"], keep="first", maintain_order=True)["position"]
    )


def _verdict() -> pl.Expr:
    """The verdict of memory, where the format runs, the heads divide and all that is needed is known."""
    is_unknown = (
        pl.col("load_ratio").is_null()
        | pl.col("speed").is_null()
        | layouts.fabric_unknown()
        | pl.col("load_factor").is_null()
    )
    held = pl.when(layouts.heads_fail()).then(pl.lit("does_not_fit")).otherwise(outcome.memory_verdict())
    return (
        pl.when(precision.is_unsupported())
        .then(pl.lit("unsupported_precision"))
        .when(is_unknown)
        .then(pl.lit("unknown"))
        .otherwise(held.replace("loads_but_cannot_serve", "does_not_fit"))
    )
