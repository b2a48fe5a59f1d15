"""Every source's own payloads through the checks: true data is not held, and the same data read wrong is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
from conftest import NIGHT

from flows.apart import parsed
from flows.collect import segments_of
from scrapers import registry
from scrapers.contract import Payload
from transforms.offers.listings import Records
from transforms.offers.market import market_of
from transforms.offers.normalise import Normalised, normalise
from transforms.offers.quality import quality
from transforms.offers.schema import OFFERING

CAPTURES = Path(__file__).parent / "captures"
AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
COLLECTED = [name for name in registry.names() if (CAPTURES / name / "listings.json").exists()]
# Of the order of the rates of 2026, which is all that a band of a factor of five needs.
PER_EURO = {"USD": 1.16, "GBP": 0.88, "CHF": 0.93, "CAD": 1.6, "INR": 100.0, "JPY": 180.0, "CNY": 8.2}
RATES = pl.DataFrame(
    [("EUR", quote, rate, NIGHT) for quote, rate in PER_EURO.items()],
    schema=["base", "quote", "rate", "rate_date"],
    orient="row",
)


def made(records: Records, segments: dict[str, str]) -> Normalised:
    return normalise(
        records.listings,
        records.stock,
        records.interruptions,
        extras=records.extras,
        rates=RATES,
        night=NIGHT,
        segments=segments,
    )


@lru_cache
def bundled() -> Normalised:
    module = registry.load_one("list_prices")
    body = files("scrapers.bundled").joinpath("list_prices.csv").read_bytes()
    (request,) = module.SOURCE.requests
    payload = Payload(source_id="list_prices", part=request.part, url=request.url, fetched_at=AT, body=body)
    return made(parsed(module, [payload]), {})


@lru_cache
def market() -> pl.DataFrame:
    return market_of(bundled().offerings)


@lru_cache
def own(source_id: str) -> Normalised:
    """Returns what a source's own payload files become."""
    module, folder = registry.load_one(source_id), CAPTURES / source_id
    headers = json.loads((folder / "listings.json").read_text())["payloads"]
    payloads = [
        Payload(
            source_id=source_id,
            part=header["part"],
            url=header["url"],
            fetched_at=AT,
            body=(folder / name).read_bytes(),
            content_type=header["content_type"],
        )
        for name, header in headers.items()
    ]
    return made(parsed(module, payloads), segments_of([module.SOURCE]))


def held_by(source_id: str, offerings: pl.DataFrame) -> list[tuple[str, str]]:
    """Returns rule and detail of what would hold the source in its first night, with the bundled prices as market.

    Payload files have fewer rows than a night and not all pages of a list, so floors and totals are not asked for.
    """
    rejects = own(source_id).rejects
    found = quality(offerings, rejects, OFFERING.to_frame(), source_id=source_id, market=market())
    return found.filter("is_hard").select("rule", "detail").rows()


@pytest.mark.parametrize("source_id", COLLECTED)
def test_no_source_is_held_for_its_own_payloads(source_id: str) -> None:
    assert held_by(source_id, own(source_id).offerings) == []


def test_the_bundled_list_prices_are_not_held() -> None:
    found = quality(
        bundled().offerings, bundled().rejects, OFFERING.to_frame(), source_id="list_prices", market=market()
    )
    assert found.filter("is_hard").is_empty()


PRICES = ("price_usd_per_gpu_hour", "price_usd_per_instance_hour")


@pytest.mark.parametrize("source_id", ["aws", "azure", "gcp", "lambda", "digitalocean", "runpod", "vast"])
@pytest.mark.parametrize("factor", [60, 100, 730, 1 / 60, 1 / 100])
def test_a_source_whose_prices_are_read_in_a_wrong_unit_is_held(source_id: str, factor: float) -> None:
    wrong = own(source_id).offerings.with_columns(pl.col(PRICES) * factor).cast(OFFERING)
    (finding,) = held_by(source_id, wrong)
    assert finding[0] == "price_outside_market_band"


@pytest.mark.parametrize("source_id", ["aws", "azure", "gcp", "lambda", "digitalocean", "runpod", "vast"])
def test_what_would_be_true_of_one_currency_or_tax_more_is_not_far_from_the_market(source_id: str) -> None:
    """The control: the band is for wrong units and not for dear providers."""
    dearer = own(source_id).offerings.with_columns(pl.col(PRICES) * 1.2).cast(OFFERING)
    assert held_by(source_id, dearer) == []
