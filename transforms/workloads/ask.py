"""Asking in Python: a job and offers in, a ranked answer with typed rows out. The command line gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

import polars as pl

from transforms.workloads.asked_job import Job, assumed, job_row
from transforms.workloads.eligibility import BUNDLED_SOURCE
from transforms.workloads.hardware import hardware, hardware_id
from transforms.workloads.performance import performance
from transforms.workloads.ranking import rank
from transforms.workloads.wishes import JobError

__all__ = ["Answer", "ExcludedOffer", "Job", "JobError", "RankedOffer", "rank_offers"]


@dataclass(frozen=True, slots=True)
class RankedOffer:
    """An offer that can do the job: columns of OFFERING and of RANKING, where null means not known.

    Money is USD: of a month for a service, of the whole job otherwise. Memory is GiB of one GPU.
    """

    rank: int
    offering_id: str
    provider: str
    plan: str | None
    gpu_candidates: list[str]
    gpu_count: float
    purchase: str
    region_key: str | None
    price_usd_per_instance_hour: float
    price_date: date | None
    availability: str | None
    nights_in_stock_share: float | None  # of the nights that tell; null without a history
    evidence: str | None
    fetched_at: datetime | None
    source_url: str | None
    objective: str
    objective_usd: float | None
    total_usd: float | None
    is_lower_bound: bool
    compute_usd: float | None
    startup_usd: float | None
    storage_usd: float | None
    egress_usd: float | None
    interruption_usd: float | None
    commitment_usd: float | None
    instances: float
    gpus_rented: float
    gpus_per_replica: float
    replicas: float
    verdict: str
    need_gib: float
    usable_gib: float
    load_ratio: float
    weights_gib: float | None
    state_gib: float | None
    activation_gib: float | None
    runtime_gib: float | None
    users_per_replica: float | None
    speed: float
    speed_low: float
    speed_high: float
    speed_unit: str
    ttft_ms: float | None
    certainty: str
    limiting_factor: str | None
    is_calibrated: bool
    engine: str | None
    flags: list[str]
    is_headline: bool
    would_lead_if: str | None
    tightest_constraint: str | None
    tightest_slack_ratio: float | None
    break_even_usd_per_instance_hour: float | None
    gb_per_s_per_usd_hour: float | None  # memory bandwidth of all GPUs for a dollar an hour
    usd_per_million_input_tokens: (
        float | None
    )  # the bill by the share of the time that goes into reading prompts
    usd_per_million_output_tokens: float | None  # and the rest; both together are the bill


@dataclass(frozen=True, slots=True)
class ExcludedOffer:
    """An offer that cannot do the job, or of which a fact is missing: the first test that it fails."""

    offering_id: str
    provider: str
    gpu_candidates: list[str]
    gpu_count: float | None
    reason: str
    detail: str | None
    margin_ratio: float | None
    is_unknown: bool
    is_near_miss: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """Every offer, either ranked or excluded, and the job as it was understood, open wishes filled."""

    assumed: str
    ranked: tuple[RankedOffer, ...]
    excluded: tuple[ExcludedOffer, ...]

    @property
    def headline(self) -> RankedOffer | None:
        """The offer to rent; None where none may lead."""
        return next((offer for offer in self.ranked if offer.is_headline), None)


def rank_offers(
    job: Job, offers: pl.DataFrame, *, night: date | None = None, outlier_ids: Iterable[str] = ()
) -> Answer:
    """Returns the answer of a job on OFFERING rows, each listed once; those of current_offering have a history too.

    Ages of prices are counted to `night`, by default the newest price date of the offers. Offers in `outlier_ids`
    are ranked but cannot lead. Raises ValueError for an offer that is listed twice.
    """
    if "nights_in_stock_share" not in offers.columns:
        offers = offers.with_columns(nights_in_stock_share=pl.lit(None, pl.Float64))
    row, machines = job_row(job), hardware(offers)
    layouts = performance(row, machines)
    ranked = rank(
        offers,
        row,
        layouts,
        night=night or _newest(offers),
        has_live_price=bool((offers["source_id"] != BUNDLED_SOURCE).any()),
        outlier_ids=outlier_ids,
    )
    money = pl.col("price_usd_per_instance_hour").cast(pl.Float64)
    rate = machines.select("hardware_id", "memory_bandwidth_gb_per_s")
    about = offers.with_columns(money, hardware_id=hardware_id(offers)).join(
        rate, on="hardware_id", how="left"
    )
    about = about.with_columns(
        gb_per_s_per_usd_hour=pl.col("memory_bandwidth_gb_per_s") * pl.col("gpu_count") / money
    )
    rows = ranked.ranking.join(about, on="offering_id", how="left").sort("rank")
    rows = _with_token_prices(rows, row.row(0, named=True))
    out = ranked.exclusions.join(about, on="offering_id", how="left", maintain_order="left")
    ranked_names, excluded_names = ([f.name for f in fields(kind)] for kind in (RankedOffer, ExcludedOffer))
    return Answer(
        assumed=assumed(row.row(0, named=True)),
        ranked=tuple(RankedOffer(**one) for one in rows.select(ranked_names).iter_rows(named=True)),
        excluded=tuple(ExcludedOffer(**one) for one in out.select(excluded_names).iter_rows(named=True)),
    )


def _with_token_prices(rows: pl.DataFrame, job: Mapping[str, Any]) -> pl.DataFrame:
    """Adds what a million input and output tokens cost; null where the job does not count its tokens."""
    is_text = job["task"] in ("serve", "batch") and job["work_unit"] != "pages"
    millions = pl.lit(job["work_quantity"] / 1e6 if is_text and job["work_quantity"] else None, pl.Float64)
    inputs = millions * pl.lit((job["input_tokens"] or 0) / (job["output_tokens"] or 1))
    reading = pl.col("total_usd") * pl.col("time_prefill_share")
    return rows.with_columns(
        usd_per_million_input_tokens=reading / inputs,
        usd_per_million_output_tokens=(pl.col("total_usd") - reading) / millions,
    )


def _newest(offers: pl.DataFrame) -> date:
    newest = offers["price_date"].max()
    if not isinstance(newest, date):
        raise ValueError("ask: no offer has a price_date; say the night")
    return newest
