"""The rules of quality: their severities and thresholds are rows of quality_rule.csv, read by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import polars as pl

from transforms.reference.tables import FactsError, read

PRICE = "price_usd_per_instance_hour"
GPU_PRICE = "price_usd_per_gpu_hour"
MOST_TOLD = 200


class Found(NamedTuple):
    """One finding of a rule, without its source."""

    rule: str
    is_hard: bool
    subject: str
    detail: str


@lru_cache
def limit(
    rule: str, column: Literal["low", "high", "hard_share", "min_rows", "min_wrong", "min_others"]
) -> float:
    """Returns one threshold of a rule. Raises FactsError where the rule or the threshold is not there."""
    value = _row(rule)[column]
    if value is None:
        raise FactsError(f"quality_rule.csv: {rule}: {column} is empty, and the rule needs it")
    return float(value)


@lru_cache
def severity(rule: str) -> str:
    """Returns hard, soft, or hard_when_many: soft for each row, and hard where they are a large share."""
    return str(_row(rule)["severity"])


@lru_cache
def stands_days(rule: str) -> int | None:
    """Returns for how many days a release of what the rule found stands; None: it is asked about each time."""
    days: int | None = _row(rule)["stands_days"]
    return days


def one(rule: str, subject: str, detail: str) -> Found:
    """Returns a finding about one thing; hard only where a single one is enough."""
    return Found(rule, severity(rule) == "hard", subject, detail)


def each(rule: str, rows: pl.DataFrame, tell: Callable[[Mapping[str, Any]], str]) -> list[Found]:
    """Returns one finding for each plan and purchase kind among `rows`, told by its first row in order of the id.

    What is wrong with a plan is as a rule wrong in all its regions, and nobody reads it forty times. Beyond
    MOST_TOLD plans the rest is one finding.
    """
    same = ["provider", "plan", "purchase"]
    first = rows.with_columns(offers=pl.len().over(same)).sort("offering_id").unique(same, keep="first")
    told = first.sort("offering_id").head(MOST_TOLD)
    found = []
    for row in told.iter_rows(named=True):
        others = f"; {row['offers'] - 1} more offers of the plan" if row["offers"] > 1 else ""
        found.append(one(rule, _subject(row), tell(row) + others))
    return found + rest(rule, first.height, "plans")


def rest(rule: str, count: int, things: str) -> list[Found]:
    """Returns one finding about the things beyond the first MOST_TOLD, else nothing."""
    if count <= MOST_TOLD:
        return []
    return [one(rule, f"{count - MOST_TOLD} more {things}", "the same was found of them")]


def many(rule: str, wrong: int, compared: int, *, subject: str, what: str) -> list[Found]:
    """Returns the hard finding of a rule where `wrong` of `compared` rows are too many, else nothing.

    A source of fewer than `min_rows` such rows is held only when all of them are wrong, and never for fewer than
    `min_wrong` wrong ones.
    """
    share = limit(rule, "hard_share") if compared >= limit(rule, "min_rows") else 1
    if wrong < max(compared * share, limit(rule, "min_wrong")):
        return []
    return [Found(rule, True, subject, f"{wrong} of {compared} {what}")]


def _row(rule: str) -> dict[str, Any]:
    rows = read("quality_rule").filter(pl.col("rule") == rule)
    if rows.height != 1:
        raise FactsError(f"quality_rule.csv: no single row {rule!r}")
    return rows.row(0, named=True)


def _subject(row: Mapping[str, Any]) -> str:
    """Returns provider, plan, region and purchase kind of an offering."""
    place = row["region_text"] or "no region"
    return f"{row['provider']}: {row['plan']!s:.80} @ {place!s:.40} ({row['purchase']})"
