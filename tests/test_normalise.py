"""A listing becomes one offering or one reject; units, currencies, counts and terms are as worked out by hand."""

from __future__ import annotations

import hashlib
import math
import random
import unicodedata
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.contract import ExchangeRate, Interruption, Listing, Payload, Quantity, Record, Stock
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import Records, clean, listing_frame, number_text
from transforms.offers.money import usd_per_currency
from transforms.offers.normalise import Normalised, normalise
from transforms.offers.schema import FINDING, INTERRUPTION, LISTING, OFFERING, RATE, REJECT, STOCK

NIGHT = date(2026, 11, 30)
FETCHED = datetime(2026, 11, 30, 3, 17, tzinfo=UTC)
PAYLOAD = Payload(
    source_id="demo", part="prices", url="https://demo.example/prices", fetched_at=FETCHED, body=b"{}"
)
EURO = ExchangeRate(base="EUR", quote="USD", rate=Decimal("1.25"), rate_date=date(2026, 11, 27), place="r1")
JULY, OCTOBER = date(2026, 7, 1), date(2026, 10, 1)
RUPEE = ExchangeRate(base="EUR", quote="INR", rate=Decimal("100"), rate_date=date(2026, 11, 26), place="r2")


def listing(**changes: Any) -> Listing:
    """Returns one H100 SXM for 2 USD an hour, with changes."""
    fields: dict[str, Any] = {
        "provider": "demo",
        "plan": "h100-1",
        "gpu_text": "H100 SXM 80GB",
        "price": Decimal("2"),
        "currency": "USD",
        "price_per": "instance",
        "price_unit": "hour",
        "purchase": "on_demand",
        "place": "rows[0]",
        "gpu_count": Decimal(1),
    }
    return Listing(**(fields | changes))


def frames(*records: Record) -> Records:
    return listing_frame(records, PAYLOAD)


def run(*records: Record, segments: dict[str, str | None] | None = None) -> Normalised:
    made = frames(*records)
    return normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=NIGHT,
        segments={"demo": "neocloud"} if segments is None else segments,
    )


def offer(*records: Record) -> dict[str, Any]:
    """Returns the only offering of the records."""
    made = run(*records)
    assert made.rejects.to_dicts() == []
    assert made.offerings.height == 1
    return made.offerings.row(0, named=True)


def reject(*records: Record) -> dict[str, Any]:
    """Returns the only reject of the records."""
    made = run(*records)
    assert made.offerings.height == 0
    assert made.rejects.height == 1
    return made.rejects.row(0, named=True)


# --- records to frames


@pytest.mark.parametrize("months", [2**40, 2**70])
def test_a_number_that_no_column_holds_is_a_named_error(months: int) -> None:
    assert listing_frame([listing(term_months=12)], PAYLOAD).listings["term_months"].to_list() == [12]
    with pytest.raises(PayloadShapeError, match="term_months"):
        listing_frame([listing(term_months=months)], PAYLOAD)


def test_records_become_frames_and_lose_no_digit() -> None:
    made = frames(
        listing(
            price=Decimal("0.1000000001"),
            gpu_memory=Quantity(Decimal("81920"), "MiB"),
            upfront=Decimal("1E+3"),
        ),
        Stock(
            provider="demo",
            plan="h100-1",
            region_text=None,
            availability="low",
            availability_text="2",
            place="s",
        ),
        EURO,
    )
    assert made.listings.schema == LISTING
    assert made.stock.schema == STOCK
    assert made.interruptions.schema == INTERRUPTION
    assert made.rates.schema == RATE
    row = made.listings.row(0, named=True)
    assert (row["price"], row["upfront"]) == ("0.1000000001", "1000")
    assert (row["gpu_memory"], row["gpu_memory_unit"], row["ram_unit"]) == ("81920", "MiB", None)
    assert row["capture_sha256"] == hashlib.sha256(b"{}").hexdigest()
    assert row["fetched_at"] == FETCHED
    assert made.rates.row(0) == ("EUR", "USD", 1.25, date(2026, 11, 27))


@pytest.mark.parametrize(
    ("value", "text"),
    [("1E-7", "0.0000001"), ("1E+3", "1000"), ("-0.50", "-0.50"), ("NaN", "NaN"), ("1E+999999", "1E+999999")],
)
def test_numbers_as_text(value: str, text: str) -> None:
    assert number_text(Decimal(value)) == text


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("H100 SXM", "H100 SXM"),
        (" H100\t\u00a0SXM \r\n 80 GB\u2028x", "H100 SXM 80 GB x"),
        ("a\0b\x1b[2Jc\x7fd\x9be", "ab[2Jcde"),
        ("\ufeffH\u200b100\u202e S\u2066X\u00adM", "H100 SXM"),
        ("a \u200b b", "a b"),
        ("half \ud800 one", "half \ufffd one"),
        ("Größe 元 💥 \ue000", "Größe 元 💥 \ue000"),
        ("\u200b\0", ""),
    ],
)
def test_a_text_is_cleaned(said: str, kept: str) -> None:
    made = frames(listing(plan=said, note=said, source_url=said), replace(stock("low"), plan=said))
    row = made.listings.row(0, named=True)
    assert (row["plan"], row["note"], row["source_url"]) == (kept, kept, kept)
    assert made.stock["plan"].to_list() == [kept]


@settings(max_examples=200)
@given(st.text(max_size=20) | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zs", "Lu"]), max_size=20))
def test_a_clean_text_holds_nothing_that_acts_and_stays_as_it_is(said: str) -> None:
    cleaned = clean(said)
    assert not {unicodedata.category(sign) for sign in cleaned} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert clean(cleaned) == cleaned
    assert {sign for sign in said if sign.isalpha()} <= set(cleaned)


LONGEST = {"plan": 300, "gpu_text": 300, "zone_text": 300, "place": 300, "note": 500, "source_url": 2000}


@pytest.mark.parametrize(("column", "longest"), LONGEST.items())
@pytest.mark.parametrize("price_state", ["priced", "contact_sales"])
def test_a_text_that_is_too_long_rejects_its_listing(column: str, longest: int, price_state: str) -> None:
    fits = offer(listing(price_state=price_state, **{column: "é" * longest}))
    assert fits[column] == "é" * longest
    for size in (longest + 1, 1_000_000):
        made = run(
            listing(price_state=price_state, **{column: " é" + "é" * (size - 1)}), listing(plan="fine")
        )
        assert made.offerings["plan"].to_list() == ["fine"]
        row = made.rejects.row(0, named=True)
        assert row["reason"] == "text_too_long"
        assert row["detail"] == f"{column} has more than {longest} characters"
        if column in REJECT:
            assert row[column] == "é" * longest + "…", "cut, and marked as cut"


def test_a_number_of_absurdly_many_digits_rejects_its_listing() -> None:
    row = reject(listing(price=Decimal("2." + "3" * 200_000)))
    assert (row["reason"], len(row["price"])) == ("text_too_long", 301)


def test_texts_of_stock_are_cut_and_not_rejected() -> None:
    made = frames(replace(stock("low"), availability_text="x" * 1_000_000))
    assert made.stock["availability_text"].to_list() == ["x" * 300 + "…"]


@pytest.mark.timeout(60)
def test_texts_of_a_megabyte_are_cut() -> None:
    hostile = "\u202e\0 ab\ud800" * 200_000
    made = run(*(listing(plan=f"{number}{hostile}", place=str(number)) for number in range(5)))
    assert made.rejects["reason"].to_list() == ["text_too_long"] * 5


def test_no_records_make_empty_results() -> None:
    made = run()
    assert (made.offerings.schema, made.rejects.schema, made.findings.schema) == (OFFERING, REJECT, FINDING)
    assert made.offerings.height == made.rejects.height == made.findings.height == 0


# --- prices


@pytest.mark.parametrize(
    ("price", "unit", "usd_per_hour"),
    [
        ("0.001", "second", "3.6"),
        ("0.05", "minute", "3"),
        ("2", "hour", "2"),
        ("48", "day", "2"),
        ("1460", "month", "2"),
        ("17520", "year", "2"),
    ],
)
def test_units_of_time(price: str, unit: str, usd_per_hour: str) -> None:
    row = offer(listing(price=Decimal(price), price_unit=unit))
    assert row["price_usd_per_instance_hour"] == Decimal(usd_per_hour)
    assert row["price_listed"] == Decimal(price)
    assert row["price_unit"] == unit


def test_a_month_is_as_long_as_the_provider_bills() -> None:
    """DigitalOcean and others stop at fewer hours a month; provider.csv states them."""
    from transforms.reference.tables import read

    capped = read("provider").filter(pl.col("monthly_cap_hours") < 700).row(0, named=True)
    row = offer(
        listing(
            provider=capped["provider"], product=capped["product"], price=Decimal(1344), price_unit="month"
        )
    )
    assert float(row["price_usd_per_instance_hour"]) == pytest.approx(
        1344 / capped["monthly_cap_hours"], abs=1e-6
    )


@pytest.mark.parametrize(("months", "hours"), [(12, 8760), (36, 26280), (1, 730)])
def test_a_whole_term_is_spread_over_its_hours(months: int, hours: int) -> None:
    row = offer(listing(purchase="reserved", price=Decimal(hours * 3), price_unit="term", term_months=months))
    assert row["price_usd_per_instance_hour"] == Decimal(3)
    assert row["term_months"] == months


def test_upfront_is_added_to_the_hourly_price_and_kept_beside_it() -> None:
    row = offer(listing(purchase="reserved", term_months=12, upfront=Decimal(8760), gpu_count=Decimal(8)))
    assert row["price_usd_per_instance_hour"] == Decimal(3)
    assert row["price_usd_per_gpu_hour"] == Decimal("0.375")
    assert (row["price_listed"], row["upfront_listed"], row["upfront_usd"]) == (
        Decimal(2),
        Decimal(8760),
        Decimal(8760),
    )


def test_all_upfront_is_a_price_although_the_hour_is_free() -> None:
    row = offer(listing(purchase="reserved", term_months=12, price=Decimal(0), upfront=Decimal(17520)))
    assert row["price_usd_per_instance_hour"] == Decimal(2)


def test_upfront_without_a_term_has_no_hourly_price() -> None:
    row = offer(listing(purchase="reserved", upfront=Decimal(100)))
    assert row["price_usd_per_instance_hour"] is None
    assert row["price_gap"] == "upfront payment without a term"


def test_per_gpu_and_per_instance() -> None:
    per_gpu = offer(listing(price_per="gpu", gpu_count=Decimal(8)))
    assert (per_gpu["price_usd_per_gpu_hour"], per_gpu["price_usd_per_instance_hour"]) == (
        Decimal(2),
        Decimal(16),
    )
    per_instance = offer(listing(price=Decimal(16), gpu_count=Decimal(8)))
    assert (per_instance["price_usd_per_gpu_hour"], per_instance["price_usd_per_instance_hour"]) == (
        Decimal(2),
        Decimal(16),
    )


def test_currency_is_converted_with_the_dated_rate() -> None:
    row = offer(listing(currency="EUR"), EURO)
    assert row["price_usd_per_instance_hour"] == Decimal("2.5")
    assert (row["usd_per_currency"], row["fx_date"]) == (1.25, date(2026, 11, 27))
    assert (row["price_listed"], row["currency"]) == (Decimal(2), "EUR")


def test_a_currency_is_converted_through_the_base_of_the_rates() -> None:
    """100 rupees are 1 euro is 1.25 USD; the older of both dates is the date of the result."""
    row = offer(listing(currency="INR", price=Decimal(200)), EURO, RUPEE)
    assert row["price_usd_per_instance_hour"] == Decimal("2.5")
    assert row["fx_date"] == date(2026, 11, 26)


def test_rates_with_the_dollar_as_base() -> None:
    rates = pl.DataFrame(
        [("USD", "EUR", 0.8, NIGHT), ("USD", "JPY", 160.0, NIGHT)], schema=RATE, orient="row"
    )
    known = dict(usd_per_currency(rates, NIGHT).select("currency", "usd_per_currency").iter_rows())
    assert known == {"USD": 1.0, "EUR": pytest.approx(1.25), "JPY": pytest.approx(0.00625)}


def test_the_newest_rate_of_or_before_the_night_is_used() -> None:
    rows = [
        ("EUR", "USD", 1.1, date(2026, 11, 27)),
        ("EUR", "USD", 1.2, NIGHT),
        ("EUR", "USD", 9.9, date(2026, 12, 1)),
    ]
    known = usd_per_currency(pl.DataFrame(rows, schema=RATE, orient="row"), NIGHT)
    assert known.filter(pl.col("currency") == "EUR").row(0) == ("EUR", 1.2, NIGHT)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_no_rate_is_not_used(rate: float) -> None:
    rates = pl.DataFrame([("EUR", "USD", rate, NIGHT)], schema=RATE, orient="row")
    assert usd_per_currency(rates, NIGHT)["currency"].to_list() == ["USD"]


def test_without_a_rate_the_offer_stays_without_a_usd_price() -> None:
    row = offer(listing(currency="EUR"))
    assert row["price_usd_per_instance_hour"] is None
    assert row["price_gap"] == "no exchange rate for EUR"
    assert row["price_listed"] == Decimal(2)


def test_without_a_currency_there_is_no_usd_price() -> None:
    assert offer(listing(currency=None))["price_gap"] == "currency not stated"


def test_a_currency_may_be_written_small_and_a_blank_is_none() -> None:
    assert offer(listing(currency=" usd "))["currency"] == "USD"
    assert offer(listing(currency=" "))["price_gap"] == "currency not stated"
    assert run(listing(region_text="")).findings.height == 0


def test_the_dollar_needs_no_rate() -> None:
    row = offer(listing())
    assert (row["usd_per_currency"], row["fx_date"], row["price_gap"]) == (1.0, None, None)


@pytest.mark.parametrize(
    ("price", "reason", "detail"),
    [
        (Decimal(0), "price_zero", "0 is not a price"),
        (Decimal("0.00"), "price_zero", "0 is not a price"),
        (Decimal(-2), "price_zero", "0 is not a price"),
        (Decimal("NaN"), "price_unreadable", "not a number: NaN"),
        (Decimal("Infinity"), "price_unreadable", "not a number: Infinity"),
        (None, "price_missing", "the listing has no price and does not say why"),
        (Decimal(5000), "price_out_of_bounds", "5000.0 USD per GPU-hour is outside 0.001 to 1000.0"),
        (Decimal("0.00001"), "price_out_of_bounds", "0.00001 USD per GPU-hour is outside 0.001 to 1000.0"),
    ],
)
def test_what_is_not_a_price_is_rejected_with_its_reason(
    price: Decimal | None, reason: str, detail: str
) -> None:
    row = reject(listing(price=price))
    assert row["reason"] == reason
    assert row["detail"].replace("1.0e-5", "0.00001") == detail
    assert (row["place"], row["plan"]) == ("rows[0]", "h100-1")


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"availability_text": "N/A"}, "no price; the cell says N/A"),
        ({"availability_text": "x" * 99}, "no price; the cell says " + "x" * 40),
        ({"note": "the row ends before its prices"}, "no price; the row ends before its prices"),
        ({"availability_text": "-", "note": "y"}, "no price; the cell says -"),
    ],
)
def test_a_missing_price_is_rejected_in_the_words_of_the_source(changes: dict[str, str], detail: str) -> None:
    assert reject(listing(price=None, **changes))["detail"] == detail


def test_unreadable_text_of_another_maker_is_rejected() -> None:
    made = frames(listing())
    spoilt = made.listings.with_columns(price=pl.lit("1,50 €"))
    result = normalise(spoilt, made.stock, made.interruptions, rates=made.rates, night=NIGHT, segments={})
    assert result.rejects["reason"].to_list() == ["price_unreadable"]


def test_a_term_without_a_length_is_rejected() -> None:
    assert reject(listing(price_unit="term", purchase="reserved"))["reason"] == "price_unit_unknown"


def test_the_bound_is_per_gpu() -> None:
    """8 GPUs at 4000 USD an hour are 500 each: dear, and still a price."""
    assert offer(listing(price=Decimal(4000), gpu_count=Decimal(8)))["price_usd_per_gpu_hour"] == Decimal(500)


@pytest.mark.parametrize("price", [None, Decimal(0), Decimal(7)])
def test_contact_sales_is_an_offer_without_a_price(price: Decimal | None) -> None:
    row = offer(listing(price=price, price_state="contact_sales"))
    assert row["price_gap"] == "contact sales"
    assert (row["price_listed"], row["price_usd_per_instance_hour"]) == (None, None)


@pytest.mark.parametrize("state", ["from_price", "bid_floor", "future"])
def test_lower_bounds_and_future_prices_keep_their_state(state: str) -> None:
    row = offer(listing(price_state=state))
    assert row["price_state"] == state
    assert row["price_usd_per_instance_hour"] == Decimal(2)


def test_a_price_that_is_not_valid_yet_is_a_future_price() -> None:
    assert offer(listing(valid_from=date(2026, 12, 1)))["price_state"] == "future"
    assert offer(listing(valid_from=NIGHT))["price_state"] == "priced"
    to_come = {"valid_from": date(2026, 12, 1)}
    assert offer(listing(**to_come, price_state="from_price"))["price_state"] == "future"
    assert offer(listing(**to_come, price_state="contact_sales"))["price_state"] == "contact_sales"


# --- counts, slices, memory


def test_the_count_comes_from_the_name_where_the_listing_has_none() -> None:
    row = offer(
        listing(provider="aws", plan="p5.48xlarge", gpu_text="p5.48xlarge", gpu_count=None, price=Decimal(40))
    )
    assert (row["gpu_key"], row["gpu_count"]) == ("H100-SXM5-80GB", 8)
    assert row["price_usd_per_gpu_hour"] == Decimal(5)


def test_without_any_count_one_price_stays_unknown() -> None:
    per_instance = offer(listing(gpu_count=None))
    assert per_instance["gpu_count"] is None
    assert per_instance["price_usd_per_gpu_hour"] is None
    assert per_instance["price_usd_per_instance_hour"] == Decimal(2)
    assert per_instance["price_gap"] is None, "the price of the instance is known"
    per_gpu = offer(listing(gpu_count=None, price_per="gpu"))
    assert per_gpu["price_usd_per_gpu_hour"] == Decimal(2)
    assert per_gpu["price_usd_per_instance_hour"] is None
    assert per_gpu["price_gap"] == "GPU count not stated"


@pytest.mark.parametrize("count", ["0", "-1", "NaN"])
def test_a_count_that_counts_nothing_is_unknown(count: str) -> None:
    assert offer(listing(gpu_count=Decimal(count)))["gpu_count"] is None


def test_counts_that_disagree_are_reported_and_the_listing_wins() -> None:
    made = run(listing(gpu_text="8x H100 SXM", gpu_count=Decimal(4)))
    assert made.offerings["gpu_count"].to_list() == [4.0]
    assert made.findings.rows() == [
        (
            "demo",
            "gpu_count_conflict",
            False,
            "demo: h100-1",
            "the listing says 4.0, the name 8x H100 SXM says 8.0",
        )
    ]


def test_a_plan_that_contradicts_the_printed_name_is_believed_and_reported() -> None:
    made = run(listing(provider="gcp", plan="g4-standard-96", gpu_text="rtx6000", gpu_count=None))
    assert made.offerings.select("gpu_key", "gpu_count").rows() == [("RTXPRO6000-SE-96GB", 2.0)]
    assert made.findings.rows() == [
        (
            "demo",
            "gpu_name_conflict",
            False,
            "gcp: g4-standard-96",
            "the name rtx6000 says QUADRO-RTX6000-24GB|RTX6000ADA-48GB,"
            " the plan says RTXPRO6000-SE-96GB and is believed",
        )
    ]
    agreed = run(
        listing(provider="gcp", plan="g4-standard-96", gpu_text="RTX PRO 6000", gpu_count=Decimal(2))
    )
    assert agreed.findings.height == 0


def test_a_price_per_gpu_of_a_node_of_unknown_size_stays_per_gpu() -> None:
    name = "OCI - Compute - GPU - RTX PRO 6000"
    row = offer(
        listing(
            provider="oracle",
            plan="B111111",
            gpu_text=name,
            gpu_count=None,
            price=Decimal(10),
            price_per="gpu",
        )
    )
    assert (row["gpu_key"], row["gpu_count"], row["price_gap"]) == (
        "RTXPRO6000-SE-96GB",
        None,
        "GPU count not stated",
    )
    assert (row["price_usd_per_gpu_hour"], row["price_usd_per_instance_hour"]) == (Decimal(10), None)


def test_counts_that_agree_are_not_reported() -> None:
    assert run(listing(gpu_text="8x H100 SXM", gpu_count=Decimal(8))).findings.height == 0


@pytest.mark.parametrize("count", [None, Decimal(1), Decimal("0.5")])
def test_a_slice_has_a_decimal_count_and_its_own_memory(count: Decimal | None) -> None:
    row = offer(
        listing(
            provider="azure",
            plan="Standard_NV18ads_A10_v5",
            gpu_text="Standard_NV18ads_A10_v5",
            gpu_count=count,
            price=Decimal("1.6"),
        )
    )
    assert (row["gpu_key"], row["gpu_count"], row["vram_gib"]) == ("A10-24GB", 0.5, 12.0)
    assert row["price_usd_per_instance_hour"] == Decimal("1.6")
    assert row["price_usd_per_gpu_hour"] == Decimal("3.2")


def test_a_slice_priced_by_the_slice() -> None:
    row = offer(listing(gpu_text="H100 MIG 40GB", price_per="gpu", price=Decimal(1), gpu_count=Decimal(2)))
    assert (row["gpu_count"], row["vram_gib"]) == (1.0, 40.0)
    assert row["price_usd_per_instance_hour"] == Decimal(2)
    assert row["price_usd_per_gpu_hour"] == Decimal(2)


def test_memory_of_the_whole_card_beside_a_share_is_not_that_of_the_slice() -> None:
    row = offer(
        listing(
            provider="gcp",
            plan="g4-standard-12",
            gpu_text="NVIDIA RTX PRO 6000",
            gpu_count=Decimal("0.25"),
            gpu_memory=Quantity(Decimal(96), "GB"),
        )
    )
    assert (row["gpu_key"], row["gpu_count"], row["vram_gib"]) == ("RTXPRO6000-SE-96GB", 0.25, 24.0)


@pytest.mark.parametrize(
    ("listed", "kept"),
    [(None, None), (Quantity(Decimal(80), "GiB"), None), (Quantity(Decimal(20), "GiB"), 20.0)],
)
def test_a_slice_of_unknown_share_has_not_the_memory_of_the_card(
    listed: Quantity | None, kept: float | None
) -> None:
    assert offer(listing(gpu_text="A100 80GB PCIe vGPU", gpu_memory=listed))["vram_gib"] == kept


def test_a_slice_of_unknown_share_has_an_unknown_count() -> None:
    row = offer(listing(gpu_text="A100 80GB PCIe vGPU"))
    assert row["gpu_count"] is None
    assert (row["price_usd_per_instance_hour"], row["price_gap"]) == (Decimal(2), None)


@pytest.mark.parametrize(
    ("amount", "unit", "is_total", "count", "gib"),
    [
        ("81920", "MiB", False, 1, 80.0),
        ("80", "GB", False, 1, 80.0),
        ("80", "GiB", False, 8, 80.0),
        ("640", "GB", True, 8, 80.0),
        ("85899345920", "bytes", False, 1, 80.0),
    ],
)
def test_gpu_memory(amount: str, unit: Any, is_total: bool, count: int, gib: float) -> None:
    memory = Quantity(Decimal(amount), unit)
    row = offer(listing(gpu_memory=memory, gpu_memory_is_total=is_total, gpu_count=Decimal(count)))
    assert row["vram_gib"] == gib


def test_memory_of_the_host() -> None:
    row = offer(listing(ram=Quantity(Decimal(64), "GB"), disk=Quantity(Decimal(1), "TiB"), vcpus=Decimal(26)))
    assert row["ram_gib"] == pytest.approx(59.6046, abs=1e-4)
    assert row["disk_gb"] == pytest.approx(1099.511627776)
    assert row["vcpus"] == 26


def test_an_ambiguous_name_keeps_its_candidates_and_has_no_key() -> None:
    row = offer(listing(gpu_text="A100"))
    assert row["gpu_key"] is None
    assert row["gpu_candidates"] == ["A100-PCIE-40GB", "A100-PCIE-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB"]
    assert row["vram_gib"] is None


def test_an_unknown_name_is_kept_without_candidates() -> None:
    row = offer(listing(gpu_text="HyperChip 9000"))
    assert (row["gpu_key"], row["gpu_candidates"], row["gpu_text"]) == (None, [], "HyperChip 9000")


# --- links


@pytest.mark.parametrize(
    ("text", "count", "form", "link_text", "link"),
    [
        ("H100 SXM 80GB", 1, None, None, "none"),
        ("H100 SXM 80GB", 8, None, None, "nvlink"),
        ("H100 PCIe", 2, None, None, "pcie"),
        ("H100 PCIe", 2, None, "NVLink", "nvlink"),
        ("H100 PCIe", 2, None, "no NVLink", "pcie"),
        ("H100", 8, "HGX", None, "nvlink"),
        ("H100", 8, None, None, "unknown"),
        ("A100 80GB", 8, "SXM4", None, "nvlink"),
        ("RTX A6000", 4, None, None, "pcie"),
        ("RTX 3090", 4, None, None, "pcie"),
        ("L40S", 8, None, None, "pcie"),
        ("MI300X", 8, None, None, "xgmi"),
        ("GB200 NVL72", 4, None, None, "nvlink"),
        ("Gaudi 2", 8, None, None, "unknown"),
        ("HyperChip 9000", 8, None, None, "unknown"),
    ],
)
def test_link(text: str, count: int, form: str | None, link_text: str | None, link: str) -> None:
    row = offer(listing(gpu_text=text, gpu_count=Decimal(count), form_factor_text=form, link_text=link_text))
    assert row["link"] == link


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("3200 Gb/s per node", 3200.0),
        ("3200 Gbps InfiniBand", 3200.0),
        ("8x 400 Gb/s", 3200.0),
        ("3,200 Gbit/s", 3200.0),
        ("3.2 Tb/s RoCE", 3200.0),
        ("400 Gigabit", 400.0),
        ("Up to 25 Gigabit", None),
        ("400 Gb/s per GPU", None),
        ("400 GB/s", None),
        ("InfiniBand", None),
        (None, None),
    ],
)
def test_fabric_is_a_stated_rate_per_node(text: str | None, gbps: float | None) -> None:
    assert offer(listing(fabric_text=text))["fabric_gbps"] == gbps


def test_fabric_of_a_provider_is_not_that_of_every_plan() -> None:
    row = offer(listing(provider="aws", plan="p5.48xlarge", gpu_text="p5.48xlarge", gpu_count=None))
    assert row["fabric_gbps"] is None


# --- the bill


def test_terms_of_the_listing_go_before_those_of_the_provider() -> None:
    own = offer(
        listing(
            provider="aws",
            billing_increment_s=3600,
            billing_minimum_s=7200,
            currency="EUR",
            storage_price_per_gb_month=Decimal("0.4"),
            egress_price_per_gb=Decimal("0.04"),
        ),
        EURO,
    )
    assert (own["billing_increment_s"], own["billing_minimum_s"]) == (3600, 7200)
    assert (own["storage_usd_per_gb_month"], own["egress_usd_per_gb"]) == (
        pytest.approx(0.5),
        pytest.approx(0.05),
    )
    theirs = offer(listing(provider="aws"))
    assert (theirs["billing_increment_s"], theirs["billing_minimum_s"]) == (1, 60)
    assert (theirs["storage_usd_per_gb_month"], theirs["egress_usd_per_gb"]) == (0.08, 0.09)
    assert theirs["egress_free_gb_per_month"] == 100
    assert theirs["is_startup_billed"] is False


def test_terms_of_a_commitment_are_not_those_of_a_booked_window() -> None:
    """Of the products of gcp in provider.csv, dws_flex_start_calendar stands before committed_use."""
    gcp = {"provider": "gcp", "purchase": "reserved", "term_months": 12}
    assert offer(listing(**gcp))["billing_increment_s"] == 3600
    assert offer(listing(**gcp, product="dws_flex_start_calendar"))["billing_increment_s"] == 1


def test_what_nobody_states_is_null() -> None:
    row = offer(listing())
    names = ("billing_increment_s", "billing_minimum_s", "storage_usd_per_gb_month", "egress_usd_per_gb")
    assert [row[name] for name in names] == [None] * 4
    assert (row["is_startup_billed"], row["ingress_usd_per_gb"], row["spot_notice_s"]) == (None, None, None)


def test_spot_notice_is_that_of_the_spot_product() -> None:
    assert offer(listing(provider="aws", purchase="spot"))["spot_notice_s"] == 120
    assert offer(listing(provider="aws"))["spot_notice_s"] is None


def test_segment_of_the_listing_then_of_the_source_then_of_the_provider() -> None:
    assert offer(listing(provider="aws", segment="reseller"))["segment"] == "reseller"
    assert offer(listing(provider="aws"))["segment"] == "neocloud"
    assert run(listing(provider="aws"), segments={}).offerings["segment"].to_list() == ["hyperscaler"]
    assert run(listing(), segments={}).offerings["segment"].to_list() == [None]
    assert run(listing(), segments={"demo": None}).offerings["segment"].to_list() == [None]


def test_the_price_is_true_on_the_stated_day_else_on_that_of_the_fetch() -> None:
    assert offer(listing(as_of=date(2026, 10, 5)))["price_date"] == date(2026, 10, 5)
    assert offer(listing())["price_date"] == NIGHT


@pytest.mark.parametrize(
    ("evidence", "day"),
    [
        ("live", NIGHT),
        ("mirror", NIGHT),
        ("machine_collected", None),
        ("page_html", None),
        ("page_transcription", None),
        ("provider_docs", None),
        ("second_hand", None),
    ],
)
def test_what_was_written_down_without_a_date_has_no_day(evidence: str, day: date | None) -> None:
    assert offer(listing(evidence=evidence))["price_date"] == day
    assert offer(listing(evidence=evidence, as_of=JULY))["price_date"] == JULY


def test_place() -> None:
    row = offer(listing(provider="scaleway", region_text="fr-par", zone_text="fr-par-2"))
    assert [row[name] for name in ("region_key", "country", "continent", "is_eu")] == [
        "fr-par",
        "FR",
        "EU",
        True,
    ]
    by_zone = offer(listing(provider="scaleway", zone_text="fr-par-2"))
    assert by_zone["country"] == "FR"


def test_an_unknown_place_is_kept_as_text_and_reported() -> None:
    made = run(listing(region_text="moon-1"), listing(region_text="moon-1", plan="other"))
    assert made.offerings["region_key"].to_list() == [None, None]
    assert made.offerings["region_text"].to_list() == ["moon-1", "moon-1"]
    assert made.findings.rows() == [
        ("demo", "region_unknown", False, "demo: moon-1", "this region spelling has no place in region.csv")
    ]


# --- stock and interruptions


def stock(availability: Any, region: str | None = None, purchase: Any = None) -> Stock:
    return Stock(
        provider="demo",
        plan="h100-1",
        region_text=region,
        availability=availability,
        availability_text=f"said {availability}",
        place="stock",
        purchase=purchase,
    )


def test_stock_of_the_same_region_and_kind_goes_before_that_of_all() -> None:
    spot = listing(purchase="spot", region_text="r1")
    assert offer(spot, stock("low"))["availability"] == "low"
    assert offer(spot, stock("low"), stock("out_of_stock", "r1"))["availability"] == "out_of_stock"
    all_levels = (stock("low"), stock("out_of_stock", "r1"), stock("in_stock", "r1", "spot"))
    row = offer(spot, *all_levels)
    assert (row["availability"], row["availability_text"]) == ("in_stock", "said in_stock")
    assert offer(listing(region_text="r2"), stock("in_stock", "r1"))["availability"] == "unknown"


@pytest.mark.parametrize(
    ("answers", "availability", "text"),
    [
        (
            [stock("in_stock", "r1"), stock("out_of_stock", "r2"), stock("out_of_stock", "r3")],
            "in_stock",
            "in stock in 1 of 3 regions, out of stock in 2 of 3 regions",
        ),
        (
            [stock("out_of_stock", "r1"), stock("out_of_stock", "r2")],
            "out_of_stock",
            "out of stock in 2 of 2 regions",
        ),
        (
            [stock("low", "r1"), stock("out_of_stock", "r2")],
            "low",
            "low in 1 of 2 regions, out of stock in 1 of 2 regions",
        ),
        ([stock("unknown", "r1"), stock("out_of_stock", "r2")], "unknown", None),
        (
            [stock("in_stock", "r1", "spot"), stock("out_of_stock", "r2")],
            "out_of_stock",
            "out of stock in 1 of 1 regions",
        ),
        ([stock("in_stock", "r1", "spot")], "unknown", None),
        ([stock("in_stock", "r1"), stock("out_of_stock")], "out_of_stock", "said out_of_stock"),
        (
            [stock("in_stock", "r1"), stock("out_of_stock", "r1", "on_demand")],
            "out_of_stock",
            "out of stock in 1 of 1 regions",
        ),
    ],
)
def test_stock_of_regions_for_a_listing_without_one(
    answers: list[Stock], availability: str, text: str | None
) -> None:
    row = offer(listing(), *answers)
    assert (row["availability"], row["availability_text"]) == (availability, text)
    assert offer(listing(zone_text="r9-a"), stock("in_stock", "r1"))["availability"] == "unknown"


def test_regions_with_a_price_of_their_own_say_nothing_of_the_others() -> None:
    made = run(
        listing(),
        listing(region_text="r1", price=Decimal(3)),
        stock("in_stock", "r1"),
        stock("out_of_stock", "r2"),
    )
    assert dict(made.offerings.select("region_text", "availability").iter_rows()) == {
        None: "out_of_stock",
        "r1": "in_stock",
    }


def test_a_listing_that_knows_its_stock_keeps_it() -> None:
    row = offer(listing(availability="in_stock", availability_text="3 left"), stock("out_of_stock"))
    assert (row["availability"], row["availability_text"]) == ("in_stock", "3 left")


def band(low: int, high: int | None) -> Interruption:
    return Interruption(
        provider="demo",
        plan="h100-1",
        region_text="r1",
        monthly_low_pct=Decimal(low),
        monthly_high_pct=None if high is None else Decimal(high),
        saving_pct=None,
        place="band",
    )


def test_a_monthly_band_gives_losses_per_hour_at_its_upper_edge() -> None:
    """5 to 10 % a month: -ln(0.9) / 730 = 0.10536 / 730 per hour."""
    row = offer(listing(purchase="spot", region_text="r1"), band(5, 10))
    assert row["interruptions_per_hour"] == pytest.approx(0.1053605 / 730, rel=1e-6)
    assert row["interruption_source"] == "stated by the provider: 5.0-10.0 % a month"


def test_bands_and_prices_may_spell_a_region_differently() -> None:
    machine = {"provider": "aws", "plan": "p5.48xlarge", "gpu_text": "p5.48xlarge", "price": Decimal(30)}
    by_name = listing(**machine, purchase="spot", region_text="US East (N. Virginia)")
    by_code = Interruption(
        provider="aws",
        plan="p5.48xlarge",
        region_text="us-east-1",
        monthly_low_pct=Decimal(0),
        monthly_high_pct=Decimal(5),
        saving_pct=None,
        place="band",
    )
    assert offer(by_name, by_code)["interruptions_per_hour"] == pytest.approx(0.0512933 / 730, rel=1e-6)


def test_an_open_band_gives_no_rate() -> None:
    row = offer(listing(purchase="spot", region_text="r1"), band(20, None))
    assert row["interruptions_per_hour"] is None
    assert row["interruption_source"] == "stated by the provider: above 20.0 % a month"


def test_bands_are_of_spot_machines_in_their_region() -> None:
    for other in (
        listing(region_text="r1"),
        listing(purchase="spot", region_text="r2"),
        listing(purchase="spot"),
    ):
        row = offer(other, band(5, 10))
        assert (row["interruptions_per_hour"], row["interruption_source"]) == (None, None)


# --- spot against on-demand


@pytest.mark.parametrize(("spot", "has_price"), [("1.99", True), ("2", False), ("2.5", False)])
def test_spot_that_is_not_cheaper_stays_without_a_usd_price(spot: str, has_price: bool) -> None:
    made = run(listing(region_text="us"), listing(region_text="us", purchase="spot", price=Decimal(spot)))
    row = made.offerings.filter(pl.col("purchase") == "spot").row(0, named=True)
    assert row["price_state"] == "priced"
    assert (row["price_usd_per_instance_hour"] is not None) is has_price
    assert row["price_gap"] == (None if has_price else "spot price is not below on-demand")
    assert ("spot_not_below_on_demand" in made.findings["rule"].to_list()) is not has_price


def test_spot_and_on_demand_may_spell_a_region_differently() -> None:
    machine = {"provider": "aws", "plan": "p5.48xlarge", "gpu_text": "p5.48xlarge", "price": Decimal(30)}
    on_demand = listing(**machine, region_text="US East (N. Virginia)")
    made = run(on_demand, listing(**machine, purchase="spot", region_text="us-east-1"))
    assert "spot_not_below_on_demand" in made.findings["rule"].to_list()


def test_spot_compares_with_the_same_plan_and_region_only() -> None:
    made = run(
        listing(region_text="us"),
        listing(region_text="us", segment="peer_host", purchase="spot", price=Decimal(3)),
        listing(region_text="us", gpu_memory=Quantity(Decimal(94), "GB"), purchase="spot", price=Decimal(3)),
        listing(region_text="in", purchase="spot", price=Decimal(3)),
        listing(region_text="us", plan="other", purchase="spot", price=Decimal(3)),
    )
    assert made.offerings["price_gap"].to_list() == [None] * 5


# --- identity, duplicates, order


def test_an_offering_id_is_what_is_sold_and_not_what_it_costs() -> None:
    row = offer(listing())
    assert len(row["offering_id"]) == 16
    assert int(row["offering_id"], 16) >= 0
    for same in (
        listing(price=Decimal(3)),
        listing(currency="EUR"),
        listing(place="rows[9]"),
        listing(note="x"),
    ):
        assert offer(same)["offering_id"] == row["offering_id"]
    for other in (
        listing(provider="other"),
        listing(plan="other"),
        listing(gpu_text="H100 PCIe"),
        listing(gpu_count=Decimal(2)),
        listing(region_text="us"),
        listing(zone_text="us-1"),
        listing(purchase="spot"),
        listing(purchase="reserved", term_months=12),
        listing(product="other"),
        listing(origin="aws"),
        listing(segment="peer_host"),
        listing(gpu_memory=Quantity(Decimal(80), "GB")),
        listing(valid_from=date(2026, 12, 1)),
        listing(purchase="reserved", term_months=12, upfront=Decimal(5)),
    ):
        assert offer(other)["offering_id"] != row["offering_id"]


def test_the_segment_of_the_source_is_no_part_of_the_identity() -> None:
    ids = [
        run(listing(), segments={"demo": segment}).offerings["offering_id"][0]
        for segment in ("neocloud", "reseller", None)
    ]
    assert len(set(ids)) == 1


@pytest.mark.parametrize(("other", "is_same"), [("40", False), ("79.6", True), ("81.5", False)])
def test_listed_memory_tells_offers_apart_in_whole_gib(other: str, is_same: bool) -> None:
    one, two = (listing(gpu_text="A100", gpu_memory=Quantity(Decimal(gb), "GB")) for gb in ("80", other))
    assert run(one, two).offerings.height == (1 if is_same else 2)


def test_of_two_listings_of_one_offer_the_cheaper_is_kept() -> None:
    made = run(listing(place="a", price=Decimal(3)), listing(place="b", price=Decimal(2)), listing(place="c"))
    assert made.offerings.select("place", "price_usd_per_instance_hour").rows() == [("b", Decimal(2))]
    assert made.rejects.select("place", "reason", "detail").sort("place").rows() == [
        ("a", "duplicate", "same offer as at b"),
        ("c", "duplicate", "same offer as at b"),
    ]


@pytest.mark.parametrize(
    ("kept", "other"),
    [
        ({"price": Decimal(3)}, {"price": None, "price_state": "contact_sales"}),
        ({"price": Decimal(3)}, {"price": Decimal(1), "price_state": "from_price"}),
        ({"price_state": "from_price"}, {"price": None, "price_state": "contact_sales"}),
        ({"price": Decimal(3)}, {"price": Decimal(1), "currency": "XXX"}),
        (
            {"price": Decimal(3), "evidence": "page_html", "as_of": OCTOBER},
            {"price": Decimal(1), "evidence": "second_hand", "as_of": JULY},
        ),
        ({"price": Decimal(3), "evidence": "mirror", "as_of": JULY}, {"evidence": "page_html"}),
        (
            {"evidence": "page_html", "as_of": JULY},
            {"price": Decimal(3), "evidence": "mirror", "as_of": JULY},
        ),
        (
            {"price": Decimal(3), "evidence": "page_html", "as_of": JULY},
            {"price_state": "from_price", "evidence": "page_html", "as_of": OCTOBER},
        ),
        ({"price": Decimal(1), "as_of": JULY}, {"price": Decimal(3), "as_of": OCTOBER}),
        ({"price": Decimal(3)}, {"price": Decimal(730), "price_unit": "month"}),
        ({"price": Decimal(3), "availability": "in_stock"}, {"availability": "out_of_stock"}),
        ({"availability": "out_of_stock"}, {"price": Decimal(3), "availability": "out_of_stock"}),
    ],
)
def test_which_of_two_listings_of_one_offer_is_kept(kept: dict[str, Any], other: dict[str, Any]) -> None:
    """A price, a lower bound, none; then live or the newest; then the rate that is billed; then the cheaper."""
    for first, second in (({"place": "a"}, {"place": "z"}), ({"place": "z"}, {"place": "a"})):
        made = run(listing(**kept, **first), listing(**other, **second))
        assert made.offerings["place"].to_list() == [first["place"]]
        assert made.rejects.select("place", "reason").rows() == [(second["place"], "duplicate")]


def test_a_price_to_come_stands_beside_the_current_one_until_its_day() -> None:
    current, future = listing(place="now"), listing(place="then", valid_from=date(2026, 12, 1))
    later = listing(place="later", valid_from=date(2027, 1, 1))
    made = run(current, future, later)
    assert made.rejects.height == 0
    assert sorted(made.offerings.select("place", "price_state").rows()) == [
        ("later", "future"),
        ("now", "priced"),
        ("then", "future"),
    ]
    on_its_day = offer(listing(valid_from=NIGHT))
    long_ago = offer(listing(valid_from=date(2025, 1, 1)))
    assert on_its_day["offering_id"] == long_ago["offering_id"] == offer(current)["offering_id"]
    unknown_day = offer(listing(price_state="future"))
    assert unknown_day["offering_id"] not in made.offerings["offering_id"].to_list()


def test_a_rejected_listing_does_not_stand_in_for_a_good_one() -> None:
    made = run(listing(place="a", price=Decimal(0)), listing(place="b"))
    assert made.offerings["place"].to_list() == ["b"]
    assert made.rejects.select("place", "reason").rows() == [("a", "price_zero")]


def test_the_same_offer_in_two_sources_is_two_offerings() -> None:
    first, second = frames(listing()), frames(listing())
    both = pl.concat([first.listings, second.listings.with_columns(source_id=pl.lit("mirror"))])
    made = normalise(both, first.stock, first.interruptions, rates=first.rates, night=NIGHT, segments={})
    assert made.offerings["source_id"].to_list() == ["demo", "mirror"]


TEXTS = st.sampled_from(
    [
        "",
        "H100",
        "A100",
        "8x H100 SXM",
        "p5.48xlarge",
        "H100 MIG 1/7",
        "🚀",
        "HyperChip 9000",
        "A100 vGPU",
        "\x00|'",
    ]
)
PRICES = st.one_of(
    st.none(),
    st.sampled_from(
        [Decimal(0), Decimal(-1), Decimal("NaN"), Decimal("Infinity"), Decimal("1E+40"), Decimal("1E-40")]
    ),
    st.decimals(min_value=-5, max_value=5000, places=4),
)
LISTINGS = st.builds(
    listing,
    plan=st.sampled_from(["p5.48xlarge", "h100-1", "h100-8", ""]),
    provider=st.sampled_from(["demo", "aws", "azure"]),
    gpu_text=TEXTS,
    price=PRICES,
    currency=st.sampled_from(["USD", "EUR", "XXX", None]),
    price_per=st.sampled_from(["gpu", "instance"]),
    price_unit=st.sampled_from(["second", "minute", "hour", "day", "month", "year", "term"]),
    purchase=st.sampled_from(["on_demand", "spot", "reserved"]),
    price_state=st.sampled_from(["priced", "from_price", "bid_floor", "contact_sales", "future"]),
    gpu_count=st.sampled_from([None, Decimal(0), Decimal("0.25"), Decimal(1), Decimal(8), Decimal("NaN")]),
    gpu_memory=st.sampled_from([None, Quantity(Decimal(80), "GB"), Quantity(Decimal(640), "GiB")]),
    gpu_memory_is_total=st.booleans(),
    term_months=st.sampled_from([None, 0, 12]),
    upfront=st.sampled_from([None, Decimal(0), Decimal(100), Decimal(-1)]),
    region_text=st.sampled_from([None, "us-east-1", "moon"]),
    segment=st.sampled_from([None, "peer_host"]),
    valid_from=st.sampled_from([None, JULY, date(2026, 12, 1)]),
    evidence=st.sampled_from(["live", "mirror", "page_html"]),
    as_of=st.sampled_from([None, JULY, OCTOBER]),
    availability_text=st.sampled_from([None, "N/A"]),
    note=st.sampled_from([None, "\u202e\0", "x" * 501]),
    place=st.uuids().map(str),
)
MORE: list[Record] = [
    EURO,
    stock("low"),
    Stock(
        provider="aws",
        plan="p5.48xlarge",
        region_text="us-east-1",
        availability="in_stock",
        availability_text="yes",
        place="stock",
    ),
    band(5, 10),
]


@settings(max_examples=25)
@given(st.lists(LISTINGS, max_size=12))
def test_every_listing_becomes_exactly_one_offering_or_one_reject(listings: list[Listing]) -> None:
    made = run(*listings, *MORE)
    places = made.offerings["place"].to_list() + made.rejects["place"].to_list()
    assert sorted(places) == sorted(item.place for item in listings)
    assert made.offerings.select("source_id", "offering_id").is_duplicated().any() is False
    assert made.rejects["reason"].null_count() == 0
    assert made.rejects["detail"].null_count() == 0
    usd = made.offerings["price_usd_per_instance_hour"].cast(pl.Float64).drop_nulls()
    assert usd.is_finite().all()
    assert (usd > 0).all()
    has_price = made.offerings["price_usd_per_instance_hour"].is_not_null()
    assert has_price.to_list() == made.offerings["price_gap"].is_null().to_list()


@settings(max_examples=15)
@given(st.lists(LISTINGS, min_size=2, max_size=10), st.randoms(use_true_random=False))
def test_the_order_of_the_listings_does_not_matter(listings: list[Listing], chance: random.Random) -> None:
    mixed = list(listings)
    chance.shuffle(mixed)
    one, other = run(*listings, *MORE), run(*mixed, *reversed(MORE))
    assert one.offerings.equals(other.offerings)
    assert one.rejects.equals(other.rejects)
    assert one.findings.equals(other.findings)


def test_speed(benchmark: Any) -> None:
    """20,000 listings with 5,000 plan names, as on a night of the large clouds."""
    made = frames(
        *(listing(plan=f"plan-{number % 5000}", region_text=f"r{number}") for number in range(20_000))
    )
    result = benchmark(
        normalise, made.listings, made.stock, made.interruptions, rates=made.rates, night=NIGHT, segments={}
    )
    assert result.offerings.height == 20_000


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"price_per": "rack"}, "price_per rack"),
        ({"purchase": "barter"}, "purchase barter"),
        ({"availability": "maybe"}, "availability maybe"),
        ({"price_state": "zzz"}, "price_state zzz"),
        ({"segment": "fish"}, "segment fish"),
    ],
)
def test_a_code_that_is_none_is_a_reject(changes: dict[str, Any], detail: str) -> None:
    assert run(listing()).rejects.is_empty()
    made = run(listing(**changes))
    assert made.offerings.is_empty()
    assert made.rejects.select("reason", "detail").rows() == [("code_unknown", detail)]


@pytest.mark.parametrize("count", ["10001", "1e12", "1e30"])
def test_a_count_beyond_all_machines_is_a_reject(count: str) -> None:
    made = run(listing(gpu_count=Decimal(count)))
    assert made.offerings.is_empty()
    assert made.rejects["reason"].to_list() == ["gpu_count_out_of_bounds"]


@pytest.mark.parametrize(
    "changes",
    [
        {"billing_increment_s": -60},
        {"billing_minimum_s": -1},
        {"purchase": "reserved", "term_months": -12},
    ],
)
def test_terms_below_zero_are_a_reject(changes: dict[str, Any]) -> None:
    made = run(listing(**changes))
    assert made.offerings.is_empty()
    assert made.rejects["reason"].to_list() == ["terms_out_of_bounds"]
