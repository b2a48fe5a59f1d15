"""What the site reads from the published database: plain SQL over its views, each in a total order.

A row is a mapping from column to value. Nothing is computed here that a view could not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from page.errors import PageError

Row = Mapping[str, Any]
RANKED_ROWS = 40  # rows of the ranked table of a job; all of them are in rankings.csv

RELEASE = "SELECT * FROM release ORDER BY night DESC, created_at DESC LIMIT 1"

AGES = """
SELECT count(*) FILTER (age_days <= 0) AS tonight,
       count(*) FILTER (age_days BETWEEN 1 AND 14) AS days_14,
       count(*) FILTER (age_days BETWEEN 15 AND 60) AS days_60,
       count(*) FILTER (age_days BETWEEN 61 AND 120) AS days_120,
       count(*) FILTER (age_days > 120 OR age_days IS NULL) AS older,
       min(age_days) AS youngest,
       max(age_days) AS oldest
FROM current_offering
WHERE is_counted
"""

OFFERS = """
SELECT o.*,
       g.memory_bandwidth_gb_per_s,
       g.bf16_dense_tflops
FROM current_offering o
LEFT JOIN gpu g USING (gpu_key)
ORDER BY o.price_usd_per_gpu_hour NULLS LAST, o.provider, o.plan NULLS LAST, o.offering_id
"""

TIERS = """
SELECT t.*,
       (SELECT count(*) FROM tier_ranking r WHERE r.tier_id = t.tier_id) AS ranked,
       (SELECT count(*) FROM tier_ranking r
        JOIN tier_ranking w ON w.tier_id = r.tier_id AND w.is_headline AND r.total_usd < w.total_usd
        WHERE r.tier_id = t.tier_id) AS cheaper
FROM tier t
ORDER BY t.tier_id
"""

RANKING = f"""
WITH ranked AS (
    SELECT *,
           certainty = 'certain' AND is_calibrated AND evidence <> 'second_hand' AND would_lead_if IS NULL
           AS is_certain
    FROM tier_ranking
)
SELECT * EXCLUDE (is_certain)
FROM ranked
QUALIFY rank <= {RANKED_ROWS}
     OR is_headline
     OR rank = min(rank) FILTER (is_certain) OVER (PARTITION BY tier_id)
ORDER BY tier_id, rank, offering_id, source_id
"""

EXCLUSION_COUNTS = """
SELECT tier_id, reason, is_unknown, sum(offers)::BIGINT AS offers
FROM tier_exclusion_count
GROUP BY tier_id, reason, is_unknown
ORDER BY tier_id, offers DESC, reason, is_unknown
"""

# Of each reason the offer that missed by least, among those that cost less by the hour than the winner.
CHEAPER = """
WITH winner AS (
    SELECT tier_id, instances * price_usd_per_instance_hour AS usd_per_hour
    FROM tier_ranking
    WHERE is_headline
)
SELECT e.*
FROM tier_exclusion e
JOIN winner w ON w.tier_id = e.tier_id AND e.price_usd_per_instance_hour < w.usd_per_hour
QUALIFY row_number() OVER (
    PARTITION BY e.tier_id, e.reason, e.is_unknown
    ORDER BY e.margin_ratio NULLS LAST, e.price_usd_per_instance_hour, e.offering_id
) = 1
ORDER BY e.tier_id, e.price_usd_per_instance_hour, e.offering_id
"""

NEAR_MISSES = """
SELECT *
FROM tier_exclusion
WHERE is_near_miss
QUALIFY row_number() OVER (
    PARTITION BY tier_id ORDER BY margin_ratio NULLS LAST, price_usd_per_instance_hour NULLS LAST, offering_id
) <= 5
ORDER BY tier_id, margin_ratio NULLS LAST, price_usd_per_instance_hour NULLS LAST, offering_id
"""

RUNNERS_UP = "SELECT * FROM runner_up ORDER BY tier_id"

# The factors of speed that place 1 was tried with.
FACTORS = """
SELECT assumption_id, value
FROM assumption
WHERE assumption_id IN ('slower_speed_factor', 'faster_speed_factor')
"""

ACCURACY = "SELECT * FROM accuracy_score ORDER BY part, case_class, held_out"

SOURCES = (
    "SELECT * FROM source_health ORDER BY is_on DESC, outcome IN ('bundled', 'not_asked'), name, source_id"
)


@dataclass(frozen=True, slots=True)
class Night:
    """Everything that the pages of one night show."""

    release: Row
    ages: Row
    offers: list[Row]
    tiers: list[Row]
    ranking: dict[str, list[Row]]
    exclusion_counts: dict[str, list[Row]]
    cheaper: dict[str, list[Row]]
    near_misses: dict[str, list[Row]]
    runners_up: dict[str, list[Row]]
    factors: dict[str, float]
    accuracy: list[Row]
    sources: list[Row]


def read(database: Path) -> Night:
    """Returns the night that a published file holds. The file is opened for reading only.

    Raises:
        PageError: The file holds no release.
    """
    with duckdb.connect(str(database), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        releases = _rows(connection, RELEASE)
        if not releases:
            raise PageError(f"{database}: holds no release; publish a night first")
        return Night(
            release=releases[0],
            ages=_rows(connection, AGES)[0],
            offers=_rows(connection, OFFERS),
            tiers=_rows(connection, TIERS),
            ranking=_by_tier(_rows(connection, RANKING)),
            exclusion_counts=_by_tier(_rows(connection, EXCLUSION_COUNTS)),
            cheaper=_by_tier(_rows(connection, CHEAPER)),
            near_misses=_by_tier(_rows(connection, NEAR_MISSES)),
            runners_up=_by_tier(_rows(connection, RUNNERS_UP)),
            factors={row["assumption_id"]: row["value"] for row in _rows(connection, FACTORS)},
            accuracy=_rows(connection, ACCURACY),
            sources=_rows(connection, SOURCES),
        )


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """Returns the rows of a query as mappings."""
    result = connection.execute(query)
    columns = [column[0] for column in result.description]
    return [
        {column: _plain(value) for column, value in zip(columns, row, strict=True)}
        for row in result.fetchall()
    ]


def _plain(value: Any) -> Any:
    """Returns a decimal as a float: the site shows six digits at most."""
    return float(value) if isinstance(value, Decimal) else value


def _by_tier(rows: list[Row]) -> dict[str, list[Row]]:
    """Returns the rows grouped by tier, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["tier_id"], []).append(row)
    return groups
