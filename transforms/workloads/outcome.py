"""What became of a layout: the verdict of memory, the first test that failed, and how far off it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from transforms.workloads import layouts, precision
from transforms.workloads.coefficients import coefficient

_NO_NUMBER = pl.lit(None, pl.Float64)
_NO_TEXT = pl.lit(None, pl.String)


@dataclass(frozen=True)
class Failure:
    """One test that a layout can fail.

    Attributes:
        reason: the code of the test.
        is_true: where it failed; null counts as not failed.
        detail: text for people.
        margin: how far off, as a share of the limit; null when not a matter of degree.
        verdict: replaces the verdict of memory, where the test makes it meaningless.
    """

    reason: str
    is_true: pl.Expr
    detail: pl.Expr
    margin: pl.Expr = _NO_NUMBER
    verdict: str | None = None


def with_outcome(rows: pl.DataFrame, failures: Sequence[Failure]) -> pl.DataFrame:
    """Adds verdict, reason, reason_detail and margin_ratio by the first failure in order.

    Reads `load_ratio` and `base_ratio`, the load without what grows with the demand.
    """
    reason, detail, margin, verdict = _NO_TEXT, _NO_TEXT, _NO_NUMBER, memory_verdict()
    for failure in reversed(failures):
        failed = failure.is_true.fill_null(False)
        reason = pl.when(failed).then(pl.lit(failure.reason)).otherwise(reason)
        detail = pl.when(failed).then(failure.detail).otherwise(detail)
        margin = pl.when(failed).then(failure.margin).otherwise(margin)
        own = memory_verdict() if failure.verdict is None else pl.lit(failure.verdict)
        verdict = pl.when(failed).then(own).otherwise(verdict)
    return rows.with_columns(verdict=verdict, reason=reason, reason_detail=detail, margin_ratio=margin)


def memory_verdict() -> pl.Expr:
    """fits, tight, loads_but_cannot_serve or does_not_fit, by load_ratio and base_ratio."""
    tight = coefficient("tight_load_limit")
    return (
        pl.when(pl.col("load_ratio") <= coefficient("fit_load_limit"))
        .then(pl.lit("fits"))
        .when(pl.col("load_ratio") <= tight)
        .then(pl.lit("tight"))
        .when(pl.col("base_ratio") <= tight)
        .then(pl.lit("loads_but_cannot_serve"))
        .when(pl.col("load_ratio").is_not_null())
        .then(pl.lit("does_not_fit"))
        .otherwise(pl.lit("unknown"))
    )


def load_limit() -> pl.Expr:
    """The load that the job allows, as a share of usable memory."""
    is_tight_allowed = pl.col("worst_verdict_allowed") == "tight"
    fits, tight = coefficient("fit_load_limit"), coefficient("tight_load_limit")
    return pl.when(is_tight_allowed).then(tight).otherwise(fits)


def precision_failures() -> list[Failure]:
    """The GPU is not known, the format is not known, or no engine runs it on this GPU."""
    return [
        figure_failure("usable_gib", "gpu_figures", "the memory"),
        Failure(
            "precision",
            pl.col("load_factor").is_null(),
            pl.format("no facts about weights in {}", "weight_precision"),
            verdict="unknown",
        ),
        Failure(
            "precision",
            precision.is_unsupported(),
            pl.format(
                "no common engine runs {} on {}", "weight_precision", pl.col("gpu_keys").list.join("|")
            ),
            verdict="unsupported_precision",
        ),
    ]


def fabric_failures() -> list[Failure]:
    """The link or the fabric is not what the job needs, or not stated. Only a rate is a matter of degree."""
    gpus = pl.col("gpus_per_replica").cast(pl.Int64)
    nodes = pl.col("instances_per_replica").cast(pl.Int64)
    node_gpus = pl.col("devices").cast(pl.Int64)
    shortfall = layouts.fabric_shortfall()
    wrong_kind = Failure(
        "fabric",
        layouts.link_fail(),
        pl.format(
            "{} GPUs, {} to a node, over {} where the job needs {}",
            gpus,
            node_gpus,
            "link",
            "required_fabric",
        ),
    )
    too_slow = Failure(
        "fabric",
        shortfall > 0,
        pl.format("{} Gb/s between nodes where the job needs {}", "fabric_gbps", "required_fabric"),
        shortfall,
    )
    unknown = Failure(
        "fabric",
        layouts.fabric_unknown(),
        pl.format("the offer does not say what joins {} GPUs on {} nodes", gpus, nodes),
        verdict="unknown",
    )
    return [wrong_kind, too_slow, unknown]


def figure_failure(result: str, reason: str, what: str) -> Failure:
    """The column `result` is null, so a figure is missing: unknown, never a default."""
    detail = pl.format(f"{what} is not known: {{}} on {{}}", "model_id", pl.col("gpu_keys").list.join("|"))
    return Failure(reason, pl.col(result).is_null(), detail, verdict="unknown")


def memory_failure() -> Failure:
    """The load is above what the job allows."""
    over = pl.col("load_ratio") / load_limit() - 1
    detail = pl.format(
        "needs {} GiB, more than {} % of {} usable",
        pl.col("need_gib").round(1),
        (100 * load_limit()).round(0).cast(pl.Int64),
        pl.col("usable_gib").round(1),
    )
    return Failure("memory", over > 0, detail, over)


def below(reason: str, value: pl.Expr, floor: pl.Expr, unit: str) -> Failure:
    """A speed is below its floor."""
    detail = pl.format(f"{{}} of the {{}} {unit}", value.round(1), floor)
    return Failure(reason, value < floor, detail, 1 - value / floor)


def above(reason: str, value: pl.Expr, limit: pl.Expr, unit: str) -> Failure:
    """A time is above its limit."""
    detail = pl.format(f"{{}} {unit} where {{}} are allowed", value.round(1), limit)
    return Failure(reason, value > limit, detail, value / limit - 1)
