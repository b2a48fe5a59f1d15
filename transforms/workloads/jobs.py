"""Jobs: the 37 tiers of tier.csv as JOB rows, and one job that a user describes."""

from __future__ import annotations

import difflib
import math
from functools import lru_cache
from typing import Any

import polars as pl

from transforms.reference import tables
from transforms.workloads.models import TEXT_MODALITIES, geometry
from transforms.workloads.schema import JOB

_TASK_OF_GROUP = {
    "serve_text": "serve",
    "serve_realtime": "serve",
    "long_context": "serve",
    "reasoning": "serve",
    "batch_text": "batch",
    "embedding": "embed",
    "image": "image",
    "video": "video",
    "music": "audio",
    "speech": "audio",
    "asr": "audio",
    "lora": "lora",
    "qlora": "qlora",
    "full_ft": "full",
    "pretrain": "pretrain",
}
_POSITIVE = (
    "input_tokens",
    "context_tokens",
    "concurrent_users",
    "max_sequences",
    "min_tokens_per_s_per_user",
    "max_ttft_ms",
    "max_latency_s",
    "work_quantity",
    "train_tokens",
    "seq_len",
    "micro_batch",
    "global_batch_tokens",
    "lora_rank",
    "max_gpus",
    "hours_per_month",
    "mean_load",
    "deadline_hours",
    "sessions_per_month",
    "session_minutes",
    "max_billing_increment_s",
)
_NOT_NEGATIVE = ("output_tokens", "start_minutes", "storage_gb", "egress_gb_per_month")
_KV_PRECISIONS = ("bf16", "fp16", "fp8", "int8", "none")


def _task() -> pl.Expr:
    by_group = pl.col("group").replace_strict(_TASK_OF_GROUP, default=None, return_dtype=pl.String)
    is_fill = pl.col("concurrency_rule").str.starts_with("fill")
    makes_text = pl.col("output_tokens").is_not_null()
    by_shape = (
        pl.when(makes_text & is_fill)
        .then(pl.lit("batch"))
        .when(makes_text)
        .then(pl.lit("serve"))
        .otherwise(pl.lit("session"))
    )
    return pl.coalesce(by_group, by_shape)


def _sessions_per_month() -> pl.Expr:
    pattern = pl.col("usage_pattern")
    per_day = pattern.str.extract(r"^sessions:(\d+)x").cast(pl.Float64)
    days = pattern.str.extract(r"x(\d+)days$").cast(pl.Float64)
    return pl.when(pattern == "24x7").then(1.0).otherwise(per_day * days)


def _session_minutes() -> pl.Expr:
    pattern = pl.col("usage_pattern")
    minutes = pattern.str.extract(r"^sessions:\d+x(\d+)min").cast(pl.Float64)
    return pl.when(pattern == "24x7").then(pl.col("hours_per_month") * 60).otherwise(minutes)


@lru_cache
def tier_jobs() -> pl.DataFrame:
    """Returns the tiers as JOB rows, in the order of tier.csv."""
    pixels = pl.col("resolution").str.extract_groups(r"^(?<width>\d+)x(?<height>\d+)$")
    fewest = pl.col("concurrency_rule").str.extract(r"^fill: (\d+)-\d+ ").cast(pl.Float64)
    derived = {
        "kind": pl.when(pl.col("work_unit").str.ends_with("_per_month"))
        .then(pl.lit("demand"))
        .otherwise(pl.lit("job")),
        "task": _task(),
        "concurrent_users": pl.coalesce(fewest, pl.col("concurrent_users").cast(pl.Float64)),
        "max_sequences": pl.col("concurrency_rule").str.extract(r"^fill: \d+-(\d+) ").cast(pl.Float64),
        "width_px": pixels.struct.field("width").cast(pl.Float64),
        "height_px": pixels.struct.field("height").cast(pl.Float64),
        "purchase_kinds": pl.col("purchase_kinds_allowed").str.split("|"),
        "checkpoint_interval_min": pl.col("needs_checkpoint_interval_min").cast(pl.Float64),
        "sessions_per_month": _sessions_per_month(),
        "session_minutes": _session_minutes(),
        "is_kv_fixed": pl.lit(False),
        "is_peak_fixed": pl.lit(False),
        "region": pl.lit(None, pl.String),
        "max_billing_increment_s": pl.lit(None, pl.Float64),
    }
    columns = [
        (derived[name] if name in derived else pl.col(name)).cast(dtype).alias(name)
        for name, dtype in JOB.items()
    ]
    return tables.read("tier").select(columns).match_to_schema(JOB)


def job(base: str | None = None, **fields: Any) -> pl.DataFrame:
    """Returns one JOB row: a tier with some fields changed, or a text service from its own fields.

    Args:
        base: a tier id; without it the job is a text service that runs round the clock, and `model_id` is needed.
        fields: columns of JOB with their values.

    Raises:
        ValueError: an unknown tier, field, model or precision (the nearest one is named), a number that is not
            positive, or a context above the maximum of the model.
    """
    unknown = sorted(set(fields) - set(JOB.names()))
    if unknown:
        raise ValueError(f"job: no field {unknown[0]!r}{_nearest(unknown[0], JOB.names())}")
    row = _tier_row(base) if base is not None else _service_row(fields)
    row |= fields
    if base is not None and fields and "tier_id" not in fields:
        row["tier_id"] = f"{base}-changed"
    _check(row)
    if row["task"] == "serve" and "work_quantity" not in fields:
        row["work_quantity"] = _tokens_per_month(row)
    return pl.DataFrame([row], schema=JOB)


def _tier_row(tier_id: str) -> dict[str, Any]:
    rows = tier_jobs().filter(pl.col("tier_id") == tier_id).to_dicts()
    if not rows:
        raise ValueError(f"job: no tier {tier_id!r}{_nearest(tier_id, tier_jobs()['tier_id'].to_list())}")
    return rows[0]


def _service_row(fields: dict[str, Any]) -> dict[str, Any]:
    """A text service round the clock: the fields of the common tier, without its model, demand and limits."""
    if fields.get("model_id") is None:
        raise ValueError("job: say which model_id to serve, or a base tier")
    row = _tier_row("text-8b-int4-team")
    row |= {
        "tier_id": "own-job",
        "title_en": "own job",
        "weight_precision": "bf16",
        "kv_precision": "bf16",
        "cached_input_share": 0.0,
        "concurrent_users": 1.0,
        "min_tokens_per_s_per_user": None,
        "max_ttft_ms": None,
        "max_gpus": 8.0,
        "hosts_allowed": "any",
        "purchase_kinds": ["on_demand", "spot", "reserved"],
        "work_quantity": None,
        "storage_gb": None,
        "egress_gb_per_month": None,
    }
    if fields.get("context_tokens") is not None:
        row["input_tokens"] = min(
            row["input_tokens"], max(fields["context_tokens"] - row["output_tokens"], 1)
        )
    return row


def _tokens_per_month(row: dict[str, Any]) -> float | None:
    """Output tokens of a month at the promised floor and mean load; None for a service without a floor."""
    factors = [
        row[n] for n in ("concurrent_users", "min_tokens_per_s_per_user", "hours_per_month", "mean_load")
    ]
    return None if None in factors else 3600.0 * math.prod(factors)


def _nearest(name: str, known: list[str]) -> str:
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"; did you mean {found[0]!r}?" if found else ""


def _check_number(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"job: {name} must be a number, not {value!r}")
    if name in _POSITIVE and value <= 0:
        raise ValueError(f"job: {name} must be above 0, not {value}")
    if name not in _POSITIVE and value < 0:
        raise ValueError(f"job: {name} must not be negative, not {value}")
    if name == "cached_input_share" and value > 1:
        raise ValueError(f"job: cached_input_share lies between 0 and 1, not {value}")


def _check(row: dict[str, Any]) -> None:
    models = geometry()
    if row["model_id"] not in models["model_id"]:
        raise ValueError(
            f"job: no model {row['model_id']!r}{_nearest(row['model_id'], models['model_id'].to_list())}"
        )
    precisions = tables.read("quant_format")["weight_precision"].to_list()
    if row["weight_precision"] not in precisions:
        allowed = ", ".join(precisions)
        raise ValueError(f"job: no weight_precision {row['weight_precision']!r}; one of {allowed}")
    if row["kv_precision"] not in _KV_PRECISIONS:
        raise ValueError(f"job: no kv_precision {row['kv_precision']!r}; one of {', '.join(_KV_PRECISIONS)}")
    for name in (*_POSITIVE, *_NOT_NEGATIVE, "cached_input_share"):
        _check_number(name, row[name])
    length = (row["input_tokens"] or 0) + (row["output_tokens"] or 0)
    if row["context_tokens"] is not None and length > row["context_tokens"]:
        raise ValueError(
            f"job: input and output of {length} tokens exceed context_tokens {row['context_tokens']}"
        )
    model = models.row(by_predicate=pl.col("model_id") == row["model_id"], named=True)
    longest = model["max_context"]
    if row["context_tokens"] is not None and longest is not None and row["context_tokens"] > longest:
        raise ValueError(
            f"job: context_tokens {row['context_tokens']:.0f} is above the {longest:.0f} of {row['model_id']}"
        )
    if row["task"] in ("serve", "batch") and model["modality"] not in TEXT_MODALITIES:
        raise ValueError(f"job: {row['model_id']} does not write text; it is a model for {model['modality']}")
