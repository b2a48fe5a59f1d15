"""Offers beside jobs: which may be considered, which machine does the job with which layout, and which pairs are left.

A machine is what many offers have in common: one hardware, bought one way, lost at one rate, with one layout for one
job. What does not depend on the price is worked out once for it and not for each offer.
"""

from __future__ import annotations

from datetime import date

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.bill import STATED_TERMS
from transforms.workloads.eligibility import judge, offer_rules, price_age_days
from transforms.workloads.hardware import hardware_id
from transforms.workloads.instances import instance_rules, sized, with_tightest
from transforms.workloads.interruption import loss_per_hour
from transforms.workloads.keeping import storage_terms

AVAILABILITY_ORDER = {"in_stock": 0, "low": 1, "listed_only": 2, "unknown": 3}

OFFER_COLUMNS = (
    "offering_id",
    "source_id",
    "provider",
    "segment",
    "origin",
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
    "price_gap",
    *STATED_TERMS,
    "availability",
    "evidence",
    "price_date",
)

WHY = ("reason", "detail", "margin_ratio", "is_unknown")
KIND = ("hardware_id", "gpu_count", "purchase", "loss_per_hour")

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


def numbered_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    """Returns the columns of the jobs that a ranking needs, numbered in their order as `job`."""
    return jobs.select(JOB_COLUMNS).with_row_index("job")


def numbered_offers(offerings: pl.DataFrame, night: date, outlier_ids: set[str]) -> pl.DataFrame:
    """Returns the columns of the offers that a ranking needs, money as floats, with what follows from them alone.

    `offer` numbers them, `sort_of` the kinds of machine among them. `standing` orders offers that cost the same:
    a cloud itself before who resells it, fresher price, named GPU before several candidates, evidence of stock,
    provider, plan and id; the last ones make it independent of the order of the input.
    """
    age = price_age_days(night)
    rows = (
        offerings.with_columns(hardware_id=hardware_id(offerings))
        .select(*OFFER_COLUMNS, "hardware_id")
        .join(storage_terms(), on="provider", how="left", maintain_order="left")
        .with_columns(
            pl.col("price_usd_per_instance_hour").cast(pl.Float64),
            loss_per_hour=loss_per_hour(
                pl.col("purchase"), pl.col("interruptions_per_hour"), pl.col("gpu_count")
            ),
            age_days=age,
            is_old=(age > assumption("price_age_cannot_lead_days")).fill_null(True),
            is_outlier=pl.col("offering_id").is_in(sorted(outlier_ids)),
            is_second_hand=pl.col("evidence").eq_missing("second_hand"),
        )
        .with_row_index("offer")
    )
    stock = pl.col("availability").replace_strict(AVAILABILITY_ORDER, default=len(AVAILABILITY_ORDER))
    best_first = pl.arg_sort_by(
        pl.col("origin").is_not_null(),
        "age_days",
        pl.col("gpu_candidates").list.len() > 1,
        stock,
        "provider",
        "plan",
        "offering_id",
        nulls_last=True,
    )
    sorts = rows.group_by(KIND).agg("offer").with_row_index("sort_of").explode("offer")
    return rows.with_columns(standing=best_first.arg_sort()).join(
        sorts.select("offer", "sort_of"), on="offer", how="left", maintain_order="left"
    )


def judged_offers(
    offers: pl.DataFrame, jobs: pl.DataFrame, *, night: date, has_live_price: bool
) -> pl.DataFrame:
    """Returns a row per job and offer: the number of failed tests, and what the first one says."""
    beside = offers.lazy().join(jobs.lazy(), how="cross")
    return (
        judge(beside, offer_rules(night, has_live_price))
        .select("job", "offer", "sort_of", "failed_rules", *WHY, "is_user_filter")
        .collect()
    )


def machines(offers: pl.DataFrame, jobs: pl.DataFrame, performance: pl.DataFrame) -> pl.DataFrame:
    """Returns a row per job, sort of machine and layout, sized and judged. One without performance has no layout."""
    sorts = offers.lazy().select("sort_of", *KIND).unique("sort_of", keep="any")
    layouts = performance.lazy().rename(
        {"reason": "layout_reason", "reason_detail": "layout_detail", "margin_ratio": "layout_margin_ratio"}
    )
    rows = sorts.join(jobs.lazy(), how="cross").join(layouts, on=["tier_id", "hardware_id"], how="left")
    judged = judge(sized(rows), instance_rules())
    return with_tightest(judged).with_columns(is_near=_is_near()).with_row_index("machine").collect()


def hopeful(judged: pl.DataFrame, machine_rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the pairs of offer and machine that can do their job (`is_ranked`), or are a near miss.

    A near miss fails one test of all: narrowly, a wish of the user, or by an unstated fabric. `may_rent` says that
    it is not one of the offer.
    """
    may = judged.lazy().filter((pl.col("failed_rules") == 0) | _is_near() | pl.col("is_user_filter"))
    can = machine_rows.lazy().filter((pl.col("failed_rules") == 0) | pl.col("is_near"))
    failed = pl.col("failed_rules") + pl.col("machine_failed_rules")
    return (
        may.filter(pl.col("failed_rules") <= 1)
        .select("job", "offer", "sort_of", "failed_rules")
        .join(
            can.filter(pl.col("failed_rules") <= 1).select(
                "job", "sort_of", "machine", machine_failed_rules="failed_rules"
            ),
            on=["job", "sort_of"],
        )
        .filter(failed <= 1)
        .select("job", "offer", "machine", is_ranked=failed == 0, may_rent=pl.col("failed_rules") == 0)
        .collect()
    )


def _is_near() -> pl.Expr:
    """Returns whether the first failed test is narrow, or an unstated fabric."""
    of_degree = pl.col("margin_ratio") <= assumption("near_miss_margin_ratio")
    unstated = pl.col("is_unknown") & (pl.col("reason") == "fabric")
    return of_degree.fill_null(False) | unstated.fill_null(False)


def reasons(judged: pl.DataFrame, machine_rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the reason of each job and offer that is not ranked: of the offer, else of a layout.

    Of several layouts one that holds the work speaks before one that does not, then the one that fails most
    narrowly; one that could not be judged speaks first.
    """
    by_offer = judged.lazy().filter(pl.col("failed_rules") > 0).select("job", "offer", *WHY)
    failing = pl.col("failed_rules").min().over("job", "sort_of") > 0
    speaks = (
        machine_rows.lazy()
        .filter(failing)
        .sort(
            ~pl.col("is_unknown"),
            pl.col("reason") == "memory",
            "margin_ratio",
            "gpus_per_replica",
            "replicas_per_instance",
            "reason",
            "detail",
            nulls_last=True,
        )
        .unique(["job", "sort_of"], keep="first", maintain_order=True)
        .select("job", "sort_of", *WHY)
    )
    by_layout = (
        judged.lazy()
        .filter(pl.col("failed_rules") == 0)
        .select("job", "offer", "sort_of")
        .join(speaks, on=["job", "sort_of"])
        .select("job", "offer", *WHY)
    )
    return pl.concat([by_offer, by_layout]).collect()
