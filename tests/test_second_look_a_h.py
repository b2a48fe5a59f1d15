"""What a live answer of the providers from akash to hyperstack could change without a word: none may pass as a price.

Expected values are worked out by hand from the payload files. `changed` refuses a text that is not in the payload, so
no case passes for want of the thing it changes; the unchanged payloads, which parse, are the controls.
"""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime

import pytest
from payloads import own_payloads

from scrapers import registry
from scrapers.cells import SEVERAL
from scrapers.contract import Listing, Payload
from scrapers.errors import PayloadShapeError
from transforms.offers.listings import listing_frame


def own(provider_id: str, part: str = "") -> Payload:
    return next(payload for payload in own_payloads(provider_id) if payload.part.startswith(part))


def changed(payload: Payload, *changes: tuple[str, str]) -> Payload:
    """The payload with the first of each text replaced."""
    body = payload.body.decode()
    for old, new in changes:
        assert old in body, f"{old!r} is not in the payload"
        body = body.replace(old, new, 1)
    return dataclasses.replace(payload, body=body.encode())


def listings(payload: Payload) -> list[Listing]:
    records = registry.load_one(payload.source_id).parse(payload)
    return [record for record in records if isinstance(record, Listing)]


# A number of GPUs in a name


@pytest.mark.parametrize(
    ("provider_id", "old", "new"),
    [
        ("beam", "| H100 GPU    ", "| 8x H100 GPU "),
        ("deepinfra", "<td>H100</td>", "<td>8x H100</td>"),
        ("fal", "<td>H100</td>", "<td>H100 x8</td>"),
        ("fireworks", "<td>H100 80 GB GPU</td>", "<td>8 x H100 80 GB GPU</td>"),
        ("gmi_cloud", ">NVIDIA H100 GPU<", ">8x NVIDIA H100 GPU<"),
    ],
)
def test_a_row_of_several_gpus_is_not_taken_for_the_price_of_one(
    provider_id: str, old: str, new: str
) -> None:
    payload = changed(own(provider_id), (old, new))
    if provider_id == "deepinfra":
        payload = changed(payload, (old, new))  # the same table stands there twice
    with pytest.raises(PayloadShapeError, match="counts GPUs"):
        listings(payload)
    assert listings(changed(own(provider_id), (old, old)))


def test_an_instance_of_several_gpus_at_baseten_is_not_one_gpu() -> None:
    pair = changed(own("baseten"), ('<p class="n">A100</p>', '<p class="n">2x A100</p>'))
    found = {row.plan: (row.gpu_count, row.gpu_memory) for row in listings(pair)}
    assert found["2x A100"] == (None, None)  # the number is read from the name, with all names
    assert found["T4"][0] == 1
    assert found["H100 MIG"][0] is None


@pytest.mark.parametrize(
    ("name", "is_several"),
    [
        ("8x H100", True),
        ("8 × H100 SXM", True),
        ("H100 SXM x8", True),
        ("H100x8", True),
        ("8-GPU H100", True),
        ("1x H100", False),
        ("MI300X 192 GB GPU", False),
        ("A100-80 GPU", False),
        ("RTX 4090 GPU", False),
        ("GB200 NVL72", False),
    ],
)
def test_a_name_counts_gpus_or_not(name: str, is_several: bool) -> None:
    assert bool(SEVERAL.search(name)) is is_several


def test_a_preset_of_hivenet_has_as_many_cards_as_its_name_says() -> None:
    cards = '"gpu": [\n   {\n    "model": "RTX 4090"\n   },\n   {\n    "model": "RTX 4090"\n   }\n  ]'
    with pytest.raises(PayloadShapeError, match="1 cards, where the name says 2"):
        listings(changed(own("hivenet"), (cards, '"gpu": [{"model": "RTX 4090", "count": 2}]')))


def test_a_server_of_clore_without_a_number_is_counted_by_its_cards() -> None:
    payload = changed(own("clore"), ('"2x NVIDIA GeForce RTX 4090"', '"NVIDIA GeForce RTX 4090"'))
    poland = next(row for row in listings(payload) if row.region_text == "PL")
    assert (poland.gpu_count, poland.gpu_text) == (2, "NVIDIA GeForce RTX 4090")


def test_a_host_of_gpu_ai_is_not_secure_and_of_the_community_at_once() -> None:
    both = ('"capacity_class": "secure", "community": false', '"capacity_class": "secure", "community": true')
    with pytest.raises(PayloadShapeError, match="contradicts"):
        listings(changed(own("gpu_ai"), both))


# A price of another time or thing


@pytest.mark.parametrize(
    ("provider_id", "part", "old", "new"),
    [
        ("beam", "", "\\$0.000981           |", "\\$0.05886 / min      |"),
        ("cerebrium", "", "ratePerSecond&quot;:[0,0.000166", "ratePerHour&quot;:[0,0.5976"),
        ("civo", "", "$3.09<span>per hour</span>", "$3.09<span>per month</span>"),
        ("deepinfra", "", "<b>$0.89</b> / GPU-hour", "<b>$0.89</b> / hour"),
        ("denvr", "", "$2.45 / GPU", "$2.45"),
        ("denvr", "", "$2.45 / GPU", "$1788 / GPU / month"),
        ("e2e_networks", "", "<span>$2,837.51</span>", "<span>$3.89</span>"),
        ("e2e_networks", "", "<span>$29,608.80</span>", "<span>$2,467.40</span>"),
        ("e2e_networks", "", "<span>$2,837.51</span>", "<span>$3.89/hr</span>"),
        ("fal", "", "$8.60/h", "$0.0024/s"),
        ("fireworks", "", "$7.10", "$0.12 / min"),
        ("gcore", "", "<span>/hour</span>", "<span>/month</span>"),
        ("genesis_cloud", "", "$2.19 / h", "$1,580 / month"),
        ("genesis_cloud", "", "$2.19 / h", "$17.52 / node / h"),
        ("gmi_cloud", "", "from $2.10</span> <span", "$2.10 $1.95</span> <span"),
        ("highreso", "", "¥2,783,000 / month / node", "¥2,783,000 / node"),
        ("highreso", "", "¥2,783,000 / month / node", "¥2,783,000 (12 GPU)"),
        ("hot_aisle", "pricing", '<p class="mb-3 font-bold">$2.99/GPU/hr</p>', "<p>$2.99/hr</p>"),
        ("huggingface_endpoints", "", "$0.51 ", "$0.0085/min "),
        ("huggingface_jobs", "", "$0.41 ", "$0.0068/min "),
        ("hyperstack", "gpu_pricing", "$3.20", "$2300 / month"),
    ],
)
def test_a_price_of_another_time_or_thing_is_an_error(
    provider_id: str, part: str, old: str, new: str
) -> None:
    with pytest.raises(PayloadShapeError):
        listings(changed(own(provider_id, part), (old, new)))


def test_a_table_of_e2e_networks_that_is_not_per_gpu_is_an_error() -> None:
    footnote = "Prices are per GPU-hour and do not include taxes."
    with pytest.raises(PayloadShapeError, match="per gpu-hour"):
        listings(changed(own("e2e_networks"), (footnote, "Prices do not include taxes.")))


def test_a_page_of_baseten_with_prices_of_hours_is_an_error() -> None:
    with pytest.raises(PayloadShapeError, match="no price of a minute"):
        listings(changed(own("baseten"), ("$0.10900", "$6.54")))


@pytest.mark.parametrize("cell", ["Sold out", "Coming soon", "Waitlist"])
@pytest.mark.parametrize(
    ("provider_id", "part", "old"),
    [
        ("baseten", "", "$0.10900"),
        ("civo", "", "$3.09"),
        ("fal", "", "$4.60/h"),
        ("fireworks", "", "$7.10"),
        ("genesis_cloud", "", "$2.19 / h"),
        ("gmi_cloud", "", "from $2.65"),
        ("e2e_networks", "", "$2,837.51"),
        ("huggingface_jobs", "", "$3.90"),
        ("hyperstack", "gpu_pricing", "$3.20"),
    ],
)
def test_words_in_the_place_of_a_price_are_no_price_and_no_error(
    provider_id: str, part: str, old: str, cell: str
) -> None:
    before, after = listings(own(provider_id, part)), listings(changed(own(provider_id, part), (old, cell)))
    assert len(after) == len(before)
    gone = [new for new, row in zip(after, before, strict=True) if new.price != row.price]
    assert [(row.price, row.availability_text) for row in gone] == [(None, cell)]


# Two prices for two times


def fireworks_with_two_prices(fetched_on: date) -> Payload:
    """The page of August 2026, when H100 was to go from 7.10 to 8 dollars."""
    old, new = "Price ($) per hour — up to Aug 31", "Price ($) per hour — from Sep 1"
    page = changed(
        own("fireworks"),
        ("<th>$ / hour (billed per second)</th>", f"<th>{old}</th><th>{new}</th>"),
        ("<td>$7.10</td>", "<td>$7.10</td><td>$8.00</td>"),
    )
    return dataclasses.replace(
        page, fetched_at=datetime(fetched_on.year, fetched_on.month, fetched_on.day, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("fetched_on", "prices"),
    [
        (date(2026, 8, 22), [("7.10", "priced", None), ("8.00", "future", date(2026, 9, 1))]),
        (date(2026, 8, 31), [("7.10", "priced", None), ("8.00", "future", date(2026, 9, 1))]),
        (date(2026, 9, 1), [("8.00", "priced", date(2026, 9, 1))]),
        (date(2027, 1, 5), [("8.00", "priced", date(2026, 9, 1))]),
    ],
)
def test_fireworks_says_the_price_of_the_day_and_the_one_to_come(
    fetched_on: date, prices: list[tuple[str, str, date | None]]
) -> None:
    found = [row for row in listings(fireworks_with_two_prices(fetched_on)) if row.plan == "H100 80 GB GPU"]
    assert [(str(row.price), row.price_state, row.valid_from) for row in found] == prices


@pytest.mark.parametrize("head", ["Price ($) per hour", "Price per hour from Feb 30"])
def test_two_prices_at_fireworks_without_their_days_are_an_error(head: str) -> None:
    page = fireworks_with_two_prices(date(2026, 8, 22))
    with pytest.raises(PayloadShapeError):
        listings(changed(page, ("Price ($) per hour — from Sep 1", head)))


# Where a field stands


def test_the_currency_of_atlantic_net_may_stand_at_the_offer_or_at_the_price() -> None:
    assert {row.currency for row in listings(own("atlantic_net"))} == {"USD"}
    euros = changed(
        own("atlantic_net"),
        ('"priceCurrency": "USD",', ""),
        ('"priceCurrency": "USD",', '"priceCurrency": "EUR",'),
    )
    assert {row.currency for row in listings(euros)} == {"EUR", "USD"}


# Sizes that no term has


@pytest.mark.parametrize(
    ("provider_id", "part", "old", "new"),
    [
        ("alibaba", "instance_prices", '"period": "3"', '"period": "1000000000000"'),
        ("alibaba", "instance_prices", '"period": "3"', '"period": "0"'),
        ("hot_aisle", "available", '"MinimumReservationMinutes": 240', '"MinimumReservationMinutes": 1e12'),
        ("hot_aisle", "available", '"MinimumReservationMinutes": 240', '"MinimumReservationMinutes": -1'),
    ],
)
def test_a_term_of_absurd_length_is_an_error_with_a_place(
    provider_id: str, part: str, old: str, new: str
) -> None:
    payload = changed(own(provider_id, part), (old, new))
    with pytest.raises(PayloadShapeError):
        listing_frame(list(registry.load_one(provider_id).parse(payload)), payload)
