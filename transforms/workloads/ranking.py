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
from transforms.workloads.bill import USD_DIGITS, bill
from transforms.workloads.eligibility import judge, offer_rules, price_age_days
from transforms.workloads.hardware import hardware_id
from transforms.workloads.instances import instance_rules, sized, with_tightest
from transforms.workloads.interruption import loss_per_hour
from transforms.workloads.schema import EXCLUSION, RANKING

OBJECTIVE_DIGITS = 9
SIGNIFICANT_DIGITS = 3  # differences below are noise; rounding keeps the order transitive
AVAILABILITY_ORDER = {"in_stock": 0, "low": 1, "listed_only": 2, "unknown": 3}

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

OFFER_COLUMNS = (
    "offering_id",
    "source_id",
    "provider",
    "segment",
    "plan",
    "region_key",
    "country",
    "continent",
    "is_eu",
    "purchase",
    "term_months",
    "gpu_text",
    "gpu_candidates",
    "gpu_count",
    "price_state",
    "price_usd_per_instance_hour",
    "price_gap",
    "billing_increment_s",
    "billing_minimum_s",
    "storage_usd_per_gb_month",
    "egress_usd_per_gb",
    "egress_free_gb_per_month",
    "is_startup_billed",
    "monthly_cap_hours",
    "interruptions_per_hour",
    "availability",
    "evidence",
    "price_date",
)

WHY = ("reason", "detail", "margin_ratio", "is_unknown")

JOB_COLUMNS = (
    "tier_id",
    "kind",
    "task",
    "concurrent_users",
    "min_tokens_per_s_per_user",
    "max_ttft_ms",
    "max_latency_s",
    "min_stream_rtf",
    "clip_seconds",
    "audio_hours",
    "work_quantity",
    "train_tokens",
    "max_gpus",
    "hosts_allowed",
    "purchase_kinds",
    "worst_verdict_allowed",
    "checkpoint_interval_min",
    "sessions_per_month",
    "hours_per_month",
    "start_minutes",
    "deadline_hours",
    "storage_gb",
    "egress_gb_per_month",
    "objective",
    "secondary_objective",
    "region",
    "max_billing_increment_s",
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
    offers = _offers(offerings, night, set(outlier_ids))
    ranked = [
        _rank_job(job, offers, performance, night=night, has_live_price=has_live_price)
        for job in jobs.iter_slices(1)
    ]
    return Ranked(
        pl.concat([RANKING.to_frame(), *(one.ranking for one in ranked)]),
        pl.concat([EXCLUSION.to_frame(), *(one.exclusions for one in ranked)]),
    )


def _offers(offerings: pl.DataFrame, night: date, outlier_ids: set[str]) -> pl.DataFrame:
    """Returns the columns of the offers that a ranking needs, money as floats, with the key of their hardware."""
    money = "price_usd_per_instance_hour"
    age = price_age_days(night)
    return (
        offerings.with_columns(hardware_id=hardware_id(offerings))
        .select(*OFFER_COLUMNS, "hardware_id")
        .with_columns(
            pl.col(money).cast(pl.Float64),
            loss_per_hour=loss_per_hour(
                pl.col("purchase"), pl.col("interruptions_per_hour"), pl.col("gpu_count")
            ),
            age_days=age,
            is_old=(age > assumption("price_age_cannot_lead_days")).fill_null(True),
            is_outlier=pl.col("offering_id").is_in(sorted(outlier_ids)),
            is_second_hand=pl.col("evidence").eq_missing("second_hand"),
        )
    )


def _rank_job(
    job: pl.DataFrame, offers: pl.DataFrame, performance: pl.DataFrame, *, night: date, has_live_price: bool
) -> Ranked:
    """Returns the ranking and the exclusions of one job."""
    tier_id, objective, secondary = job.select("tier_id", "objective", "secondary_objective").row(0)
    for name in (objective, secondary or objective):
        if name not in QUANTITY:
            raise ValueError(f"job {tier_id}: objective {name!r} is none of {', '.join(QUANTITY)}")
    beside_job = offers.lazy().join(job.lazy().select(JOB_COLUMNS), how="cross")
    judged = judge(beside_job, offer_rules(night, has_live_price)).collect()
    layouts = _layouts(judged.lazy(), performance.lazy().filter(pl.col("tier_id") == tier_id)).collect()
    hopeful = layouts.lazy().filter((pl.col("all_failed_rules") == 0) | _is_near_miss())
    rows = _with_merit(_priced(hopeful, objective, secondary)).collect()
    best = _best_of_each_offer(rows, pl.col("all_failed_rules") == 0)
    near_ids = _near_misses(rows, best["offering_id"])
    return Ranked(_placed(best), _exclusions(judged, layouts, best["offering_id"], near_ids))


def _layouts(judged: pl.LazyFrame, performance: pl.LazyFrame) -> pl.LazyFrame:
    """Returns a row per offer and layout, sized and judged, of the offers that fail one test of theirs at most.

    An offer whose hardware has no row stays, without a layout.
    """
    offers = judged.filter(pl.col("failed_rules") <= 1).rename(
        {name: f"offer_{name}" for name in ("failed_rules", *WHY, "is_user_filter")}
    )
    layouts = performance.drop("tier_id").rename(
        {"reason": "layout_reason", "reason_detail": "layout_detail", "margin_ratio": "layout_margin_ratio"}
    )
    sized_rows = sized(offers.join(layouts, on="hardware_id", how="left"))
    return judge(sized_rows, instance_rules()).with_columns(
        all_failed_rules=pl.col("failed_rules") + pl.col("offer_failed_rules")
    )


def _priced(layouts: pl.LazyFrame, objective: str, secondary: str | None) -> pl.LazyFrame:
    """Returns the layouts with their bill and the objectives: total = objective x quantity."""
    other = QUANTITY[secondary] if secondary else pl.lit(None, pl.Float64)
    return bill(layouts).with_columns(
        quantity=QUANTITY[objective],
        objective_usd=(pl.col("total_usd") / QUANTITY[objective]).round(OBJECTIVE_DIGITS),
        secondary_usd=(pl.col("total_usd") / other).round(OBJECTIVE_DIGITS),
        gpus_rented=pl.col("instances") * pl.col("gpu_count"),
    )


def _with_flags(best: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the rows with what the bill had to assume added to their flags."""
    assumed = {
        "assumed_increment": pl.col("billing_increment_s").is_null(),
        "assumed_startup_billed": pl.col("is_startup_billed").is_null(),
        "assumed_interruptions": (pl.col("purchase") == "spot") & pl.col("interruptions_per_hour").is_null(),
    }
    flags = [pl.when(is_assumed).then(pl.lit(flag)) for flag, is_assumed in assumed.items()]
    return best.with_columns(
        flags=pl.concat_list(pl.col("flags").fill_null([]), pl.concat_list(flags).list.drop_nulls())
    )


def _with_merit(priced: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the rows with `merit`, 0 for the best: by rounded objective, then by the tie-breaks.

    The last of them make the order total, so that the order of the input is no matter.
    """
    keys = {
        "objective": pl.col("objective_usd").round_sig_figs(SIGNIFICANT_DIGITS),
        "unbilled": pl.when(pl.col("objective_usd").is_null()).then(pl.col("price_usd_per_instance_hour")),
        "open_bill": pl.col("is_lower_bound") | pl.col("billing_increment_s").is_null(),
        "replica": pl.col("gpus_per_replica"),
        "gpus": pl.col("gpus_rented"),
        "load": pl.col("load_ratio"),
        "likely": pl.col("certainty") == "likely",
        "age": pl.col("age_days"),
        "ambiguous": pl.col("gpu_candidates").list.len() > 1,
        "availability": pl.col("availability").replace_strict(
            AVAILABILITY_ORDER, default=len(AVAILABILITY_ORDER)
        ),
        "provider": pl.col("provider"),
        "plan": pl.col("plan"),
        "offering": pl.col("offering_id"),
        "layout": pl.col("replicas_per_instance"),
    }
    best_first = pl.arg_sort_by(*keys.values(), nulls_last=True)
    return priced.with_columns(merit=best_first.arg_sort())


def _best_of_each_offer(rows: pl.DataFrame, is_meant: pl.Expr) -> pl.DataFrame:
    """Returns the best of the layouts that are meant, one of each offer, best offer first."""
    in_order = (
        rows.lazy()
        .with_row_index("row")
        .filter(is_meant)
        .sort("merit")
        .unique("offering_id", keep="first", maintain_order=True)
        .select("row")
        .collect()
    )
    # the rows are wide: they are moved once, when their places are known
    return rows[in_order["row"]]


def _placed(best: pl.DataFrame) -> pl.DataFrame:
    """Returns the best layouts as RANKING rows: the headline first, second-hand prices behind all others.

    Place 1 is a headline or empty. Where only the age of prices keeps every offer from leading, age is let pass,
    and the label says so. An offer that several things keep from leading names them all, joined by "|".
    """
    obstacles = {
        "outlier": pl.col("is_outlier"),
        "second_hand": pl.col("is_second_hand"),
        "old_price": pl.col("is_old"),
        "uncalibrated": ~pl.col("is_calibrated").fill_null(False),
    }
    codes = [pl.when(is_so).then(pl.lit(code)) for code, is_so in obstacles.items()]
    rows = (
        with_tightest(_with_flags(best.lazy()))
        .with_columns(obstacle=pl.concat_str(codes, separator="|", ignore_nulls=True))
        .collect()
    )
    pardoned = "" if (rows["obstacle"] == "").any() else "old_price"
    can_lead = rows.filter(pl.col("obstacle") == pardoned)
    headline = can_lead["merit"].first()
    in_place = (
        rows.lazy()
        .with_columns(
            is_headline=pl.col("merit").eq_missing(headline), can_lead=pl.col("obstacle") == pardoned
        )
        .sort(~pl.col("is_headline"), "is_second_hand", "merit")
    )
    is_ahead = pl.lit(True) if headline is None else pl.col("merit") <= headline
    placed = in_place.with_columns(
        rank=pl.int_range(pl.len()) + (2 if headline is None else 1),
        would_lead_if=pl.when(is_ahead & (pl.col("obstacle") != "")).then("obstacle"),
        break_even_usd_per_instance_hour=_break_even(can_lead),
    )
    return placed.select(pl.col(name).cast(dtype) for name, dtype in RANKING.items()).collect()


def _break_even(can_lead: pl.DataFrame) -> pl.Expr:
    """Returns the hourly price of an instance at which an offer ties with the headline, the headline with its rival.

    Null for an offer that no price would let lead: its label forbids it, or the rest of its bill is dearer.
    """
    objectives = can_lead["objective_usd"]
    first, second = [*objectives.head(2), None, None][:2]
    target = pl.when("is_headline").then(pl.lit(second, pl.Float64)).otherwise(pl.lit(first, pl.Float64))
    paid_hours = pl.col("instances") * pl.col("billed_hours")
    rest_usd = pl.col("total_usd") - pl.col("price_usd_per_instance_hour") * paid_hours
    price = (target * pl.col("quantity") - rest_usd) / paid_hours
    return pl.when(pl.col("can_lead") & (price > 0)).then(price.round(USD_DIGITS))


def _is_near_miss() -> pl.Expr:
    """Returns whether a layout fails one test narrowly, one user filter, or an unstated fabric."""
    limit = assumption("near_miss_margin_ratio")

    def is_near(prefix: str) -> pl.Expr:
        of_degree = pl.col(f"{prefix}margin_ratio") <= limit
        unstated = pl.col(f"{prefix}is_unknown") & (pl.col(f"{prefix}reason") == "fabric")
        return of_degree.fill_null(False) | unstated.fill_null(False)

    by_offer = pl.col("offer_is_user_filter") | is_near("offer_")
    by_failure = pl.when(pl.col("offer_failed_rules") == 1).then(by_offer).otherwise(is_near(""))
    return (pl.col("all_failed_rules") == 1) & by_failure


def _near_misses(rows: pl.DataFrame, ranked_ids: pl.Series) -> pl.Series:
    """Returns the ids of the few best offers that are not ranked and have a layout that is a near miss."""
    is_near = _is_near_miss() & ~pl.col("offering_id").is_in(ranked_ids.implode())
    shown = int(assumption("near_misses_shown"))
    return _best_of_each_offer(rows, is_near).head(shown)["offering_id"]


def _exclusions(
    judged: pl.DataFrame, layouts: pl.DataFrame, ranked_ids: pl.Series, near_ids: pl.Series
) -> pl.DataFrame:
    """Returns the other offers as EXCLUSION rows, each with the first test that it fails.

    Of several layouts the one that fails most narrowly speaks; one that could not be judged speaks before it.
    """
    by_offer = judged.lazy().filter(pl.col("failed_rules") > 0).select("offering_id", *WHY)
    by_layout = (
        layouts.lazy()
        .filter(pl.col("offer_failed_rules") == 0, ~pl.col("offering_id").is_in(ranked_ids.implode()))
        .sort(
            ~pl.col("is_unknown"),
            "margin_ratio",
            "gpus_per_replica",
            "replicas_per_instance",
            "reason",
            "detail",
            nulls_last=True,
        )
        .unique("offering_id", keep="first", maintain_order=True)
        .select("offering_id", *WHY)
    )
    tier_id = judged["tier_id"][0] if judged.height else None
    return (
        pl.concat([by_offer, by_layout])
        .with_columns(
            tier_id=pl.lit(tier_id, pl.String),
            is_near_miss=pl.col("offering_id").is_in(near_ids.implode()),
        )
        .sort("offering_id")
        .select(pl.col(name).cast(dtype) for name, dtype in EXCLUSION.items())
        .collect()
    )
