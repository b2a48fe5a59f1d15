"""Why an offer leads and the others do not: figures and codes, which each language puts into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from transforms.workloads.bill import PARTS_USD
from transforms.workloads.ranking import Ranked


@dataclass(frozen=True, slots=True)
class Explanation:
    """The result of one job, in numbers. A row is a row of RANKING; null figures are None, never 0.

    `difference_usd` splits what the runner-up costs more into causes that add up to the whole; it is empty
    without a runner-up. `best_certain` stands beside a winner that is only likely. `would_lead` are the offers
    that would lead but for a label. `reasons` has reason, is_unknown and offers, the most frequent first.
    """

    tier_id: str
    winner: dict[str, Any] | None
    parts_usd: dict[str, float | None]
    runner_up: dict[str, Any] | None
    difference_usd: dict[str, float | None]
    best_certain: dict[str, Any] | None
    would_lead: tuple[dict[str, Any], ...]
    near_misses: tuple[dict[str, Any], ...]
    reasons: pl.DataFrame
    ranked_offers: int
    excluded_offers: int
    unknown_offers: int


def explain(ranked: Ranked, offerings: pl.DataFrame, tier_id: str) -> Explanation:
    """Returns why the winner of `tier_id` wins. `offerings` are those that were ranked."""
    ranking = ranked.ranking.filter(pl.col("tier_id") == tier_id).sort("rank")
    exclusions = ranked.exclusions.filter(pl.col("tier_id") == tier_id)
    winner = _first(ranking.filter("is_headline"))
    behind = ranking.filter(~pl.col("is_headline"), pl.col("would_lead_if").is_null())
    runner_up = (
        _first(behind.sort(pl.col("break_even_usd_per_instance_hour").is_null(), "rank")) if winner else None
    )
    is_likely = winner is not None and winner["certainty"] == "likely"
    return Explanation(
        tier_id=tier_id,
        winner=winner,
        parts_usd={part: winner[part] for part in PARTS_USD} if winner else {},
        runner_up=runner_up,
        difference_usd=_difference(winner, runner_up, offerings) if winner and runner_up else {},
        best_certain=_first(behind.filter(pl.col("certainty") == "certain")) if is_likely else None,
        would_lead=tuple(
            ranking.filter(~pl.col("is_headline"), pl.col("would_lead_if").is_not_null()).to_dicts()
        ),
        near_misses=tuple(exclusions.filter("is_near_miss").to_dicts()),
        reasons=_reasons(exclusions),
        ranked_offers=ranking.height,
        excluded_offers=exclusions.filter(~pl.col("is_unknown")).height,
        unknown_offers=exclusions.filter("is_unknown").height,
    )


def _first(rows: pl.DataFrame) -> dict[str, Any] | None:
    return rows.row(0, named=True) if rows.height else None


def _reasons(exclusions: pl.DataFrame) -> pl.DataFrame:
    counts = exclusions.group_by("reason", "is_unknown").agg(offers=pl.len())
    return counts.sort("offers", "reason", "is_unknown", descending=[True, False, False])


def _difference(
    winner: dict[str, Any], runner_up: dict[str, Any], offerings: pl.DataFrame
) -> dict[str, float | None]:
    """Returns what the runner-up costs more, in USD, by cause: price, GPUs and hours of the work, then the other lines.

    The work costs price per GPU-hour x GPUs x hours; the three are exchanged one after the other, in this order.
    A line that one of the two cannot state is None.
    """
    price, gpus, hours = _factors(winner, offerings)
    other_price, other_gpus, other_hours = _factors(runner_up, offerings)
    split: dict[str, float | None] = {
        "price_usd": (other_price - price) * gpus * hours,
        "gpus_usd": other_price * (other_gpus - gpus) * hours,
        "hours_usd": other_price * other_gpus * (other_hours - hours),
    }
    for part in PARTS_USD[1:]:
        mine, theirs = winner[part], runner_up[part]
        split[part] = None if mine is None or theirs is None else theirs - mine
    return split


def _factors(row: dict[str, Any], offerings: pl.DataFrame) -> tuple[float, float, float]:
    """Returns USD per GPU-hour, GPUs rented and paid hours, whose product is the cost of the work."""
    offer = offerings.row(by_predicate=pl.col("offering_id") == row["offering_id"], named=True)
    price = float(offer["price_usd_per_instance_hour"]) / float(offer["gpu_count"])
    gpus = row["gpus_rented"]
    return price, gpus, row["compute_usd"] / (price * gpus)
