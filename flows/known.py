"""What the night knows before it loads a source: exchange rates, what providers bill beside machines, the market."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import duckdb
import polars as pl

from flows.collect import Collected, segments_of
from scrapers.contract import Source
from transforms.offers.market import market_of
from transforms.offers.schema import EXTRA, MARKET
from transforms.reference.tables import assumption
from warehouse.connection import transaction
from warehouse.load import frame, insert


@dataclass(frozen=True, slots=True)
class Known:
    """The night, rates (RATE), and what the modules say of the sources."""

    night: date
    rates: pl.DataFrame
    segments: Mapping[str, str]
    min_listings: Mapping[str, int]


def read_known(connection: duckdb.DuckDBPyConnection, sources: Sequence[Source], night: date) -> Known:
    """Returns what is known in this night."""
    return Known(
        night=night,
        rates=known_rates(connection, night),
        segments=segments_of(sources),
        min_listings={source.id: source.min_listings for source in sources},
    )


def write_rates(connection: duckdb.DuckDBPyConnection, collected: Sequence[Collected]) -> None:
    """Keeps the exchange rates that were fixed on the days that tonight's answers name."""
    for item in collected:
        rates = item.records.rates
        if rates.height:
            with transaction(connection):
                connection.execute(
                    "delete from fx_rate where source_id = ? and rate_date in (select unnest(?))",
                    [item.source_id, rates["rate_date"].unique().to_list()],
                )
                insert(connection, "fx_rate", rates, source_id=item.source_id)


def known_rates(connection: duckdb.DuckDBPyConnection, night: date) -> pl.DataFrame:
    """Returns the newest rate of each pair that is not later than the night."""
    return frame(
        connection,
        """
        select base, quote, rate, rate_date from fx_rate where rate_date <= $night
        qualify row_number() over (partition by base, quote order by rate_date desc, source_id) = 1
        order by base, quote
        """,
        {"night": night},
    )


def write_extras(connection: duckdb.DuckDBPyConnection, item: Collected, night: date) -> None:
    """Keeps what a source said of storage and traffic tonight, or else the last time it said something.

    For sources whose outcome is good: what a held source bills takes no effect.
    """
    if item.records.extras.height:
        with transaction(connection):
            connection.execute("delete from extra where source_id = ?", [item.source_id])
            insert(connection, "extra", item.records.extras, night=night)


def extras_for(connection: duckdb.DuckDBPyConnection, item: Collected, night: date) -> pl.DataFrame:
    """Returns the EXTRA rows that hold for the offers of a source: its own of tonight, else its last, and of others.

    Those of one source hold for every offer of the provider, while its offers may stand in and it is on.
    """
    columns = ", ".join(f"extra.{name}" for name in EXTRA)
    query = f"""
        select {columns} from extra join source using (source_id)
        where source.is_on and $night - extra.night between 0 and $days
        order by all
    """
    days = assumption("last_good_stands_in_days")
    known, own = frame(connection, query, {"night": night, "days": days}).cast(EXTRA), item.records.extras
    if own.is_empty():
        return known
    return pl.concat([known.filter(pl.col("source_id") != item.source_id), own.select(EXTRA.names())])


def market_before(connection: duckdb.DuckDBPyConnection, night: date) -> pl.DataFrame:
    """Returns MARKET of the offerings that were current before the night, each counted once.

    A night has one market, kept with it, so that a second run judges as the first did.
    """
    columns = ", ".join(MARKET)
    kept = frame(connection, f"select {columns} from market where night = $night", {"night": night})
    if kept.height:
        return kept.cast(MARKET)
    query = """
        select source_id, provider, segment, gpu_key, purchase, price_state, price_usd_per_gpu_hour
        from current_offering
        where is_counted and gpu_key is not null and price_usd_per_gpu_hour is not null
    """
    market = market_of(frame(connection, query))
    with transaction(connection):
        connection.execute("delete from market")
        insert(connection, "market", market, night=night)
    return market
