"""Ranks the current offerings of a warehouse or a release in tiers, or for one job that a user describes."""

from __future__ import annotations

from datetime import date

import duckdb
import polars as pl

from transforms.offers.market import outside_market_band
from transforms.offers.schema import OFFERING
from transforms.workloads.hardware import hardware
from transforms.workloads.performance import performance
from transforms.workloads.ranking import Ranked, rank
from warehouse.connection import transaction
from warehouse.load import frame, insert


def rank_jobs(connection: duckdb.DuckDBPyConnection, jobs: pl.DataFrame, *, night: date) -> Ranked:
    """Returns the ranking and the exclusions of all current offerings for each of `jobs` (JOB rows)."""
    columns = ", ".join(OFFERING)
    current = frame(connection, f"select {columns}, freshness from current_offering order by offering_id")
    offerings = current.drop("freshness").cast(OFFERING)
    return rank(
        offerings,
        jobs,
        performance(jobs, hardware(offerings)),
        night=night,
        has_live_price=bool((current["freshness"] != "bundled").any()),
        outlier_ids=outside_market_band(offerings),
    )


def write_ranking(connection: duckdb.DuckDBPyConnection, ranked: Ranked) -> None:
    """Replaces the ranking of the warehouse."""
    with transaction(connection):
        connection.execute("delete from ranking")
        connection.execute("delete from exclusion")
        insert(connection, "ranking", ranked.ranking)
        insert(connection, "exclusion", ranked.exclusions)
