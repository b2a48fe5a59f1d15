"""Builds small made-up decks: offers, and what their hardware does for a job, saying only what matters."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import polars as pl

from transforms.offers.schema import OFFERING
from transforms.workloads.hardware import hardware_id
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.ranking import Ranked, rank
from transforms.workloads.schema import PERFORMANCE

NIGHT = date(2026, 11, 30)

OFFER: dict[str, Any] = {
    "source_id": "alpha",
    "provider": "alpha",
    "segment": "neocloud",
    "plan": "h100-1",
    "region_key": "de-fra",
    "country": "DE",
    "continent": "EU",
    "is_eu": True,
    "purchase": "on_demand",
    "gpu_text": "H100 SXM",
    "gpu_candidates": ["H100-SXM5-80GB"],
    "gpu_count": 1.0,
    "vram_gib": 80.0,
    "link": "none",
    "price_state": "priced",
    "price_usd_per_instance_hour": 3.0,
    "billing_increment_s": 1,
    "billing_minimum_s": 0,
    "storage_usd_per_gb_month": 0.0,
    "egress_usd_per_gb": 0.0,
    "is_startup_billed": True,
    "availability": "in_stock",
    "evidence": "live",
    "price_date": NIGHT,
}

LAYOUT: dict[str, Any] = {
    "gpus_per_replica": 1.0,
    "replicas_per_instance": 1.0,
    "instances_per_replica": 1.0,
    "verdict": "fits",
    "load_ratio": 0.5,
    "users_per_replica": 8.0,
    "certain_users_per_replica": 8.0,
    "speed": 30.0,
    "speed_low": 24.0,
    "speed_high": 36.0,
    "speed_unit": "tokens/s/user",
    "ttft_ms": 100.0,
    "rate_per_hour": 1e6,
    "rate_low_per_hour": 0.8e6,
    "rate_high_per_hour": 1.2e6,
    "limiting_factor": "bandwidth",
    "is_calibrated": True,
    "flags": [],
}

# the demand: eight users round the clock at 20 tokens a second; 126.144 million tokens a month
DEMAND: dict[str, Any] = {
    "tier_id": "text-8b-int4-team",
    "max_gpus": 8.0,
    "start_minutes": 0.0,
    "storage_gb": 0.0,
}
# the job: 20 million tokens within 24 hours, no start-up
JOB_CHANGES: dict[str, Any] = {
    "tier_id": "batch-8b-fp8",
    "work_quantity": 20e6,
    "deadline_hours": 24.0,
    "start_minutes": 0.0,
    "storage_gb": 0.0,
    "egress_gb_per_month": 0.0,
}


def offers(*rows: dict[str, Any]) -> pl.DataFrame:
    """Returns OFFERING rows that say only what differs from OFFER; ids are o0, o1, ... unless given."""
    full = [OFFER | {"offering_id": f"o{i}"} | row for i, row in enumerate(rows)]
    return pl.DataFrame(full, schema=OFFERING, strict=False)


def job(changes: dict[str, Any]) -> pl.DataFrame:
    tier = tier_jobs().filter(pl.col("tier_id") == changes["tier_id"])
    unknown = set(changes) - set(tier.columns)
    assert not unknown, unknown
    return tier.with_columns(pl.lit(value, tier.schema[name]).alias(name) for name, value in changes.items())


def layouts(deck: pl.DataFrame, *rows: dict[str, Any], tier_id: str = DEMAND["tier_id"]) -> pl.DataFrame:
    """Returns PERFORMANCE rows; `of` names the offering whose hardware a row is about, all of them without it."""
    ids = dict(zip(deck["offering_id"], hardware_id(deck), strict=True))
    full = []
    for row in rows or ({},):
        about = {ids[row["of"]]} if "of" in row else set(ids.values())
        changes = {name: value for name, value in row.items() if name != "of"}
        full += [
            LAYOUT | {"tier_id": tier_id, "hardware_id": key} | changes for key in sorted(filter(None, about))
        ]
    return pl.DataFrame(full, schema=PERFORMANCE, strict=False)


def ranked(
    deck: pl.DataFrame,
    performance: pl.DataFrame | None = None,
    changes: dict[str, Any] = DEMAND,
    *,
    has_live_price: bool = True,
    outlier_ids: Iterable[str] = (),
) -> Ranked:
    speeds = layouts(deck, tier_id=changes["tier_id"]) if performance is None else performance
    return rank(
        deck, job(changes), speeds, night=NIGHT, has_live_price=has_live_price, outlier_ids=outlier_ids
    )


def ids(result: Ranked) -> list[str]:
    return result.ranking["offering_id"].to_list()


def reason(result: Ranked, offering_id: str = "o0") -> str:
    row = result.exclusions.row(by_predicate=pl.col("offering_id") == offering_id, named=True)
    return f"{row['reason']}?" if row["is_unknown"] else str(row["reason"])
