"""Ranks offers for jobs: who may, who holds it, who keeps up, what it costs, and why each other offer lost.

Every offer is, for every job, either in the ranking or excluded with one reason. Nothing depends on the order of
the input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.bill import STATED_TERMS, USD_DIGITS, bill, is_loss_assumed, with_bounds
from transforms.workloads.candidates import (
    hopeful,
    judged_offers,
    machines,
    numbered_jobs,
    numbered_offers,
    reasons,
)
from transforms.workloads.order import price_keys, tie_keys
from transforms.workloads.schema import EXCLUSION, RANKING
from transforms.workloads.sensitivity import (
    with_commitment_break_even,
    with_speed_band,
    with_spot_advice,
    with_survival,
)

# what one unit of an objective counts: total = objective x quantity
QUANTITY = {
    "usd_per_month": pl.lit(1.0),
    "usd_per_job": pl.lit(1.0),
    "usd_per_hour": pl.when(pl.col("kind") == "demand").then("hours_per_month").otherwise("elapsed_hours"),
    "usd_per_million_output_tokens": pl.col("work_quantity") / 1e6,
    "usd_per_1000_images": pl.col("work_quantity") / 1000,
    "usd_per_audio_hour": pl.coalesce("audio_hours", "work_quantity"),
    "usd_per_video_second": pl.col("work_quantity") * pl.col("clip_seconds"),
    "usd_per_billion_train_tokens": pl.col("train_tokens") / 1e9,
}

# what the bill reads of an offer and of a machine, and what the order needs beside it
_OFFER_TERMS = (
    "offer",
    "provider",
    "purchase",
    "term_months",
    *STATED_TERMS,
    "storage_month_hours",
    "storage_free_gb",
    "stopped_usd_per_gb_month",
    "smallest_disk_gb",
    "standing",
    "is_old",
    "is_outlier",
    "is_second_hand",
)
_MACHINE_TERMS = (
    "machine",
    "sort_of",
    "kind",
    "sessions_per_month",
    "start_minutes",
    "start_hours",
    "checkpoint_interval_min",
    "storage_gb",
    "egress_gb_per_month",
    "deadline_hours",
    "loss_per_hour",
    "gpu_count",
    "span",
    "instances",
    "work_hours",
    "storage_hours",
    "quantity",
    "secondary_quantity",
    "gpus_per_replica",
    "replicas_per_instance",
    "load_ratio",
    "certainty",
    "is_calibrated",
    "slow_instances",
    *(f"{end}_{name}" for end in ("slow", "fast") for name in ("work_hours", "storage_hours")),
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The offers that can do each job, in order (RANKING), and the others with their reason (EXCLUSION)."""

    ranking: pl.DataFrame
    exclusions: pl.DataFrame


def rank(
    offerings: pl.DataFrame,
    jobs: pl.DataFrame,
    performance: pl.DataFrame,
    *,
    night: date,
    has_live_price: bool,
    outlier_ids: Iterable[str] = (),
) -> Ranked:
    """Returns the ranking of all `offerings` (OFFERING) for all `jobs` (JOB), on the prices of `night`.

    `performance` (PERFORMANCE) says what each hardware does for each job. Without a live price in the release the
    bundled prices stay in the ranking whatever their age. Offers in `outlier_ids` are ranked but cannot lead.
    Raises ValueError for an offering that is listed twice and for an objective that nobody can count.
    """
    if offerings["offering_id"].is_duplicated().any():
        raise ValueError("ranking: an offering_id is listed twice; load each offering once")
    asked, offers = numbered_jobs(jobs), numbered_offers(offerings, night, set(outlier_ids))
    _check_objectives(asked)
    judged = judged_offers(offers, asked, night=night, has_live_price=has_live_price)
    machine_rows = machines(offers, asked, performance).with_columns(
        quantity=_quantity("objective"), secondary_quantity=_quantity("secondary_objective")
    )
    rows = _priced(hopeful(judged, machine_rows), offers, machine_rows)
    in_order = _in_order(rows)
    best = in_order.filter("is_ranked").unique(["job", "offer"], keep="first", maintain_order=True)
    placed = _placed(with_bounds(rows[best["row"]]))
    cheapest = in_order.filter("may_rent").unique(["machine", "obstacle"], keep="first", maintain_order=True)
    placed = with_survival(placed, rows[cheapest["row"]], offers, machine_rows)
    told = with_spot_advice(with_commitment_break_even(with_speed_band(placed), offers))
    return Ranked(
        _ranking_rows(told, offers, machine_rows),
        _exclusion_rows(reasons(judged, machine_rows), _near_misses(in_order, best), offers, asked),
    )


def _check_objectives(jobs: pl.DataFrame) -> None:
    for tier_id, objective, secondary in jobs.select("tier_id", "objective", "secondary_objective").rows():
        for name in (objective, secondary or objective):
            if name not in QUANTITY:
                raise ValueError(f"job {tier_id}: objective {name!r} is none of {', '.join(QUANTITY)}")


def _quantity(objective: str) -> pl.Expr:
    """Returns the units of an objective that the job has; null without an objective."""
    return pl.coalesce(
        pl.when(pl.col(objective) == name).then(quantity) for name, quantity in QUANTITY.items()
    )


def _priced(pairs: pl.DataFrame, offers: pl.DataFrame, machine_rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the pairs of offer and machine with their bill and the objectives: total = objective x quantity."""
    terms = (
        pairs.lazy()
        .join(offers.lazy().select(_OFFER_TERMS), on="offer", how="left")
        .join(machine_rows.lazy().select(_MACHINE_TERMS), on="machine", how="left")
    )
    return (
        bill(terms)
        .with_columns(
            objective_usd=(pl.col("total_usd") / pl.col("quantity")).round(USD_DIGITS),
            secondary_usd=(pl.col("total_usd") / pl.col("secondary_quantity")).round(USD_DIGITS),
            gpus_rented=pl.col("instances") * pl.col("gpu_count"),
            obstacle=_obstacle(),
        )
        .collect()
    )


def _obstacle() -> pl.Expr:
    """Returns what keeps an offer from leading, joined by "|"; empty for nothing."""
    obstacles = {
        "outlier": pl.col("is_outlier"),
        "second_hand": pl.col("is_second_hand"),
        "old_price": pl.col("is_old"),
        "uncalibrated": ~pl.col("is_calibrated").fill_null(False),
    }
    codes = [pl.when(is_so).then(pl.lit(code)) for code, is_so in obstacles.items()]
    return pl.concat_str(codes, separator="|", ignore_nulls=True)


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the numbers of the priced rows, best first in each job. The rows are wide, and moved only once chosen."""
    return (
        rows.lazy()
        .with_row_index("row")
        .sort("job", *price_keys(), *tie_keys(), nulls_last=True)
        .select("row", "job", "offer", "machine", "is_ranked", "may_rent", "obstacle")
        .collect()
    )


def _placed(best: pl.DataFrame) -> pl.DataFrame:
    """Returns the best rows of all offers in their places: the headline first, second-hand prices behind all others.

    Place 1 is a headline or empty. Where only the age of prices keeps every offer from leading, age is let pass,
    and the label says so. An offer that several things keep from leading names them all. A bill whose ends are far
    apart goes behind those of equal price. `merit` is the order without regard to who may lead.
    """
    is_wide = pl.col("total_high_usd") > assumption("wide_bill_ratio") * pl.col("total_low_usd")
    obstacle = pl.col("obstacle")
    is_clear = (obstacle == "").any().over("job")
    can_lead = obstacle == pl.when(is_clear).then(pl.lit("")).otherwise(pl.lit("old_price"))
    rows = (
        best.lazy()
        .with_row_index("row")
        .sort("job", *price_keys(), is_wide, *tie_keys(), nulls_last=True)
        .select("row", "job", "is_second_hand", "obstacle", "objective_usd", can_lead=can_lead)
        .with_row_index("merit")
    )
    leaders = (
        rows.filter("can_lead")
        .group_by("job", maintain_order=True)
        .agg(
            leader=pl.col("merit").first(),
            first_usd=pl.col("objective_usd").first(),
            second_usd=pl.col("objective_usd").get(1, null_on_oob=True),
        )
    )
    is_ahead = pl.col("leader").is_null() | (pl.col("merit") <= pl.col("leader"))
    places = (
        rows.join(leaders, on="job", how="left", maintain_order="left")
        .with_columns(is_headline=pl.col("merit") == pl.col("leader").fill_null(best.height))
        .sort("job", ~pl.col("is_headline"), "is_second_hand", "merit")
        .with_columns(
            rank=pl.int_range(1, pl.len() + 1).over("job") + pl.col("leader").is_null().cast(pl.Int32),
            would_lead_if=pl.when(is_ahead & (obstacle != "")).then(obstacle),
        )
        .select("row", "merit", "rank", "is_headline", "can_lead", "would_lead_if", "first_usd", "second_usd")
        .collect()
    )
    placed = best[places["row"]].hstack(places.drop("row"))
    return placed.with_columns(break_even_usd_per_instance_hour=_break_even())


def _break_even() -> pl.Expr:
    """Returns the hourly price of an instance at which an offer ties with the headline, the headline with its rival.

    Null for an offer that no price would let lead: its label forbids it, or the rest of its bill is dearer.
    """
    target = pl.when("is_headline").then("second_usd").otherwise("first_usd")
    paid_hours = pl.col("instances") * pl.col("billed_hours")
    rest_usd = pl.col("total_usd") - pl.col("price_usd_per_instance_hour") * paid_hours
    price = (target * pl.col("quantity") - rest_usd) / paid_hours
    return pl.when(pl.col("can_lead") & (price > 0)).then(price.round(USD_DIGITS))


def _ranking_rows(placed: pl.DataFrame, offers: pl.DataFrame, machine_rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the placed rows as RANKING rows, with what their offers and machines are."""
    placed = placed.with_columns(offers["offering_id"].gather(placed["offer"]), _flags(placed, machine_rows))
    wanted = [name for name in RANKING if name not in placed.columns]
    rows = placed.hstack(machine_rows.select(wanted)[placed["machine"]])
    return rows.select(pl.col(name).cast(dtype) for name, dtype in RANKING.items())


def _flags(placed: pl.DataFrame, machine_rows: pl.DataFrame) -> pl.Series:
    """Returns the flags of each row: those of its machine, and what the bill had to assume."""
    assumed = {
        "assumed_increment": pl.col("billing_increment_s").is_null(),
        "assumed_startup_billed": pl.col("is_startup_billed").is_null(),
        "assumed_interruptions": is_loss_assumed(),
    }
    rows = placed.select("machine", **assumed)
    # few machines are billed in more than one way: the lists are made once for each way
    ways = rows.unique().join(machine_rows.select("machine", "flags"), on="machine", how="left")
    more = pl.concat_list(pl.when(flag).then(pl.lit(flag)) for flag in assumed).list.drop_nulls()
    told = ways.with_columns(flags=pl.concat_list(pl.col("flags").fill_null([]), more))
    return rows.join(told, on=rows.columns, how="left", maintain_order="left")["flags"]


def _near_misses(in_order: pl.DataFrame, best: pl.DataFrame) -> pl.DataFrame:
    """Returns job and offer of the few best near misses of each job that are not ranked."""
    return (
        in_order.filter(~pl.col("is_ranked"))
        .join(best, on=["job", "offer"], how="anti", maintain_order="left")
        .unique(["job", "offer"], keep="first", maintain_order=True)
        .group_by("job", maintain_order=True)
        .head(int(assumption("near_misses_shown")))
        .select("job", "offer", is_near_miss=True)
    )


def _exclusion_rows(
    why: pl.DataFrame, near: pl.DataFrame, offers: pl.DataFrame, jobs: pl.DataFrame
) -> pl.DataFrame:
    """Returns the offers that are not ranked as EXCLUSION rows, each with the first test that it fails."""
    return (
        why.lazy()
        .join(near.lazy(), on=["job", "offer"], how="left")
        .join(offers.lazy().select("offer", "offering_id"), on="offer", how="left")
        .join(jobs.lazy().select("job", "tier_id"), on="job", how="left")
        .with_columns(pl.col("is_near_miss").fill_null(False))
        .sort("job", "offering_id")
        .select(pl.col(name).cast(dtype) for name, dtype in EXCLUSION.items())
        .collect()
    )
