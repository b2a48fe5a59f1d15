"""Euro foreign exchange reference rates of the European Central Bank: one euro in each other currency.

Published around 16:00 Central European Time on each working day of the TARGET calendar, so that on a weekend
the newest rate is of Friday. SDMX-JSON is a cube: a series has a key such as "0:7:0:0:0", whose figures are
positions in the lists of dimension values, and its observations are keyed by their position in the list of
days. The order of dimensions and currencies is that of the answer, not of the question. A rate without a day is
no rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from scrapers.contract import ExchangeRate, Payload, Record, Request, Source
from scrapers.readers import At, read_json

CURRENCIES = (
    "USD GBP CHF SEK NOK DKK PLN CZK JPY CNY HKD KRW INR SGD THB MYR IDR PHP AUD NZD CAD BRL MXN TRY ILS ZAR"
)

SOURCE = Source(
    id="ecb",
    name="European Central Bank, euro reference rates",
    segment=None,
    homepage="https://www.ecb.europa.eu/",
    pricing_url="https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html",
    requests=(
        Request(
            "rates",
            "https://data-api.ecb.europa.eu/service/data/EXR/D."
            f"{'+'.join(CURRENCIES.split())}.EUR.SP00.A?lastNObservations=1&format=jsondata",
        ),
    ),
    allowed_hosts=("data-api.ecb.europa.eu",),
    terms="open",
    terms_url="https://www.ecb.europa.eu/services/using-our-site/disclaimer/html/index.en.html",
    terms_note="Open data API without a key; free reuse with the source named.",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026-08-14: answer recorded and parsed",
    min_listings=0,
)


def parse(payload: Payload) -> Iterator[Record]:
    """The newest rate of each currency with its day.

    Raises:
        PayloadShapeError: No series, a series without an observation, or a position that stands in no list.
    """
    top = At(payload.part, read_json(payload))
    dimensions = top["structure"]["dimensions"]
    series_dimensions = [dimension["id"].text() for dimension in dimensions["series"]]
    days = _values(dimensions["observation"], "TIME_PERIOD")
    currencies = _values(dimensions["series"], "CURRENCY")
    bases = _values(dimensions["series"], "CURRENCY_DENOM")
    cube = top["dataSets"][0]["series"]
    if not cube.value:
        raise cube.broken("no series, so no rate at all")
    for key, series in cube.items():
        positions = dict(zip(series_dimensions, key.split(":"), strict=False))
        by_day = {_at(days, index, series): values for index, values in series["observations"].items()}
        if not by_day:
            raise series.broken("no observation")
        newest_day = max(by_day)
        rate = by_day[newest_day][0]
        if rate.decimal() <= 0:
            raise rate.broken("is no rate of exchange")
        yield ExchangeRate(
            base=_at(bases, positions.get("CURRENCY_DENOM"), series),
            quote=_at(currencies, positions.get("CURRENCY"), series),
            rate=rate.decimal(),
            rate_date=_date(newest_day, by_day[newest_day]),
            place=by_day[newest_day].place,
        )


def _values(dimensions: At, name: str) -> list[str]:
    """The ids of a dimension in their order."""
    for dimension in dimensions:
        if dimension["id"].text() == name:
            return [value["id"].text() for value in dimension["values"]]
    raise dimensions.broken(f"no dimension {name}")


def _at(values: list[str], position: str | None, where: At) -> str:
    if position is None or not re.fullmatch(r"[0-9]{1,6}", position) or int(position) >= len(values):
        raise where.broken(f"position {position} is not in a list of {len(values)}")
    return values[int(position)]


def _date(day: str, where: At) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise where.broken(f"{day!r} is not a day such as 2026-08-13") from None
