"""The keyless price lists and marketplaces: what of them becomes a price, what does not, and that no bytes crash them.

Expected values are worked out by hand from the payload in `tests/captures`, or from the one given here.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers import registry
from scrapers.contract import Extra, Listing, PageCount, Payload, Quantity, Record
from scrapers.errors import PayloadShapeError
from scrapers.outliers import far_from_median
from transforms.offers.listings import joined, listing_frame
from transforms.offers.normalise import normalise

CAPTURES = Path(__file__).parent / "captures"
REAL = Path(__file__).parents[2] / "shared" / "captures"
FETCHED_AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
PROVIDERS = (
    "akash",
    "clore",
    "cloudrift",
    "gpu_ai",
    "hydra_host",
    "hyperbolic",
    "io_net",
    "lium",
    "salad",
    "tensordock",
    "thunder_compute",
    "voltagepark",
)
FILES = [path for name in PROVIDERS for path in sorted((CAPTURES / name).glob("payload.*"))]


def payload(source_id: str, body: bytes, part: str = "prices", url: str = "") -> Payload:
    return Payload(source_id=source_id, part=part, url=url, fetched_at=FETCHED_AT, body=body)


def own(path: Path) -> Payload:
    part = path.name.removeprefix("payload.").rsplit(".", 1)[0]
    source = registry.load_one(path.parent.name).SOURCE
    urls = {request.part: request.url for request in source.requests + source.keyed_requests}
    return payload(source.id, path.read_bytes(), part, urls.get(part, source.pricing_url))


def records(source_id: str, answer: Any) -> list[Record]:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return list(registry.load_one(source_id).parse(payload(source_id, body)))


def listings(source_id: str, answer: Any, **wanted: Any) -> list[Listing]:
    found = [record for record in records(source_id, answer) if isinstance(record, Listing)]
    return [one for one in found if all(getattr(one, name) == value for name, value in wanted.items())]


def answer_of(source_id: str, part: str) -> Any:
    return json.loads((CAPTURES / source_id / f"payload.{part}.json").read_text())


def offerings(source_id: str) -> pl.DataFrame:
    """What the own payloads of a source become."""
    module = registry.load_one(source_id)
    files = [path for path in FILES if path.parent.name == source_id]
    made = joined(listing_frame(module.parse(own(path)), own(path)) for path in files)
    return normalise(
        made.listings,
        made.stock,
        made.interruptions,
        extras=made.extras,
        rates=made.rates,
        night=FETCHED_AT.date(),
        segments={source_id: module.SOURCE.segment},
    ).offerings


def prices_per_gpu(source_id: str, **wanted: Any) -> dict[str, float]:
    """The USD price per GPU and hour of the offerings, by plan."""
    found = offerings(source_id).filter(*(pl.col(name) == value for name, value in wanted.items()))
    return {plan: float(price) for plan, price in found.select("plan", "price_usd_per_gpu_hour").iter_rows()}


# Prices per GPU and hour, divided by hand


def test_the_price_of_a_node_is_neither_divided_nor_multiplied_twice() -> None:
    # 2.09 and 2.49 are per GPU of a node of 8; 50.62 is of eight cards together, 1.5 of seven
    assert prices_per_gpu("voltagepark", part="locations") == {
        "h100-sxm5-80gb ethernet": 2.09,
        "h100-sxm5-80gb infiniband": 2.49,
    }
    of_interface = offerings("voltagepark").filter(part="locations")
    per_node = of_interface["price_usd_per_instance_hour"].sort().to_list()
    assert [float(price) for price in per_node] == [16.72, 19.92]
    gpu_ai = prices_per_gpu("gpu_ai", product="secure")
    assert gpu_ai["8x b300"] == pytest.approx(6.3275)
    assert prices_per_gpu("gpu_ai")["7x rtx_3090"] == pytest.approx(1.5 / 7, abs=1e-6)
    assert prices_per_gpu("io_net", product="vm")["8x H100 sxm5 8H100.80S.176V"] == pytest.approx(3.484418)
    assert prices_per_gpu("lium", purchase="spot") == {"8x NVIDIA H100 80GB HBM3": 1.75}


def test_cents_and_days_are_not_dollars_and_hours() -> None:
    assert prices_per_gpu("cloudrift", gpu_text="RTX 4090") == {
        "rtx49-10c-nr.1": 0.39,
        "rtx49-10c-nr.2": 0.39,
    }
    assert prices_per_gpu("hyperbolic", gpu_text="rtx-6000-pro") == {"1x rtx-6000-pro pcie ethernet": 1.79}
    # 4.1 USD a day for one card in Germany, 9 USD a day for two in Poland
    day = prices_per_gpu(
        "clore", price_state="priced", availability="in_stock", gpu_text="NVIDIA GeForce RTX 4090"
    )
    assert day["2x NVIDIA GeForce RTX 4090"] == pytest.approx(9 / 48)
    germany = prices_per_gpu("clore", price_state="priced", region_text="DE")
    assert germany == {"1x NVIDIA GeForce RTX 4090": pytest.approx(4.1 / 24, abs=1e-6)}


def test_several_nodes_are_no_machine_with_as_many_gpus() -> None:
    cluster = [one for one in listings("hyperbolic", answer_of("hyperbolic", "rental_options")) if one.note]
    # 51.04 USD for 16 GPUs in two nodes
    assert [(one.gpu_count, one.price_per, one.price) for one in cluster] == [(8, "gpu", Decimal("3.19"))]
    assert [one.vcpus for one in cluster] == [208]


# What is no price is never one to rank


@pytest.mark.parametrize("source_id", ["akash", "hydra_host", "tensordock", "thunder_compute"])
def test_statistics_start_prices_and_parts_are_lower_bounds(source_id: str) -> None:
    found = offerings(source_id)
    assert found.height >= 4
    assert set(found["price_state"]) == {"from_price"}


def test_akash_takes_the_median_and_no_bid_is_no_price() -> None:
    models = answer_of("akash", "gpu_prices")
    assert {one.price for one in listings("akash", models, gpu_text="h100")} == {Decimal("2.65")}
    (nobody,) = [one for one in listings("akash", models) if one.price is None]
    assert (nobody.plan, nobody.availability) == ("a100 40Gi PCIe", "out_of_stock")


def test_a_bid_is_a_floor_and_a_coin_is_not_a_dollar() -> None:
    servers = answer_of("clore", "marketplace")
    (bid,) = listings("clore", servers, purchase="spot")
    # The lowest bid of the free server; 0.1 is the bid for one that is rented, 200 and 310.5 are amounts of CLORE.
    assert (bid.price_state, bid.price, bid.price_unit) == ("bid_floor", Decimal("2.4"), "day")
    (in_coins,) = listings("clore", servers, region_text="US")
    assert in_coins.price == Decimal("4.6")
    assert "paid in CLORE" in str(in_coins.note)


def test_what_is_rented_in_part_is_not_free_as_a_whole() -> None:
    (server,) = listings("clore", answer_of("clore", "marketplace"), gpu_text="Tesla V100SXM232GB")
    assert server.availability == "out_of_stock"
    book = lium_book()
    # 5 of 8 are free and the host splits the machine; 3 of 8 are free and the host does not.
    assert {one.gpu_count for one in listings("lium", book, product="secure", region_text="US")} == {5, 8}
    (whole,) = listings("lium", book, product="spot")
    assert (whole.gpu_count, whole.availability) == (8, "out_of_stock")


def lium_book() -> bytes:
    return (CAPTURES / "lium" / "payload.executors.json").read_bytes()


def test_the_cheapest_that_can_be_had_goes_before_a_cheaper_one_that_cannot() -> None:
    (h100,) = listings("lium", lium_book(), region_text="NL")
    assert (h100.price, h100.availability) == (Decimal("2.08"), "in_stock")  # 1.41 is rented
    (community,) = listings(
        "gpu_ai", answer_of("gpu_ai", "pricing-1"), plan="2x h100_sxm", product="community"
    )
    assert (community.price, community.available_count) == (Decimal("3.47"), 3)  # 3.21 is sold out


def test_a_price_nobody_pays_is_kept_and_not_ranked() -> None:
    rows = answer_of("gpu_ai", "pricing-1")
    four = listings("gpu_ai", rows, plan="4x rtx_5090")
    assert [(one.price, one.price_state) for one in four] == [
        (Decimal("2.6"), "priced"),
        (Decimal("154.67"), "from_price"),
    ]
    cheap = listings("lium", lium_book(), plan="1x NVIDIA GeForce RTX 4090")
    assert {(one.price, one.price_state) for one in cheap} == {
        (Decimal("0.30"), "priced"),
        (Decimal("0.02"), "from_price"),
    }


def test_the_offer_that_leads_on_vast_is_none_that_cannot_be_meant() -> None:
    asked = ("0.02", "0.30", "0.31", "0.33", "0.35", "0.36")
    offer = {"gpu_name": "L4", "gpu_ram": 23034, "num_gpus": 1, "geolocation": "Texas, US", "min_bid": 0.01}
    offers = [offer | {"dph_base": float(price), "reliability2": 0.99} for price in asked]
    found = listings("vast", {"offers": offers}, purchase="on_demand")
    assert [(one.price, one.price_state) for one in found] == [
        (Decimal("0.02"), "from_price"),
        (Decimal("0.3"), "priced"),
    ]
    (bid,) = listings("vast", {"offers": offers}, purchase="spot")
    assert "of 5 offers" in str(bid.note)


@pytest.mark.parametrize(
    ("prices", "far"),
    [
        (["0.3", "0.31", "0.33", "0.35", "154.67"], [4]),
        (["0.02", "0.3", "0.31", "0.33", "0.35"], [0]),
        (["0.3", "0.31", "0.33", "154.67"], []),  # too few to say
        (["0.3", "0.31", "0.33", "0.35", "1.5"], []),  # dear, and within reason
        ([None, "0", "0.3", "0.31", "0.33", "154.67"], []),  # neither none nor nothing is a price
        ([None, "0", "0.3", "0.31", "0.33", "0.35", "154.67"], [6]),
    ],
)
def test_far_from_the_median(prices: list[str | None], far: list[int]) -> None:
    asked = [None if price is None else Decimal(price) for price in prices]
    assert [index for index, is_far in enumerate(far_from_median(asked)) if is_far] == far


@given(st.lists(st.decimals("0.01", "100", places=4), min_size=5, max_size=40))
def test_far_does_not_hang_on_the_unit_or_the_order_and_needs_a_factor(prices: list[Decimal]) -> None:
    far = far_from_median(prices)
    assert far_from_median([price * 7 for price in prices]) == far
    assert far_from_median(prices[::-1]) == far[::-1]
    if max(prices) <= 5 * min(prices):
        assert not any(far)


# Single sources


def test_lium_reads_a_price_that_is_no_number_as_none() -> None:
    (server,) = listings("lium", lium_book(), region_text="NO")
    assert server.price is None
    with pytest.raises(PayloadShapeError):
        records("lium", lium_book().replace(b"NaN", b"Nothing"))


def test_lium_announced_prices_stay_in_the_note() -> None:
    (part,) = listings("lium", lium_book(), plan="5x NVIDIA H100 80GB HBM3")
    assert part.price == Decimal("2.2000000000000002")
    assert "announced: 2.5 from 2026-12-05" in str(part.note)


def test_what_is_missing_is_unknown_and_not_sold_out() -> None:
    (no_count,) = listings("hyperbolic", answer_of("hyperbolic", "rental_options"), gpu_text="rtx-6000-pro")
    assert no_count.availability == "unknown"
    (no_free,) = listings("cloudrift", answer_of("cloudrift", "instance_types"), gpu_text="RTX 5090")
    assert (no_free.availability, no_free.available_count) == ("unknown", None)


def test_a_centre_that_is_not_named_as_free_has_none_free() -> None:
    found = listings("cloudrift", answer_of("cloudrift", "instance_types"), gpu_text="RTX PRO 6000")
    assert {one.region_text: one.availability for one in found} == {
        "us-east-nc-nr-1": "out_of_stock",
        "eu-x-1": "in_stock",
    }


def test_voltage_park_refuses_a_further_page_and_says_how_many_rows_there_are() -> None:
    answer = answer_of("voltagepark", "locations")
    counts = [record for record in records("voltagepark", answer) if isinstance(record, PageCount)]
    assert [(count.declared, count.rows) for count in counts] == [(2, 2)]
    with pytest.raises(PayloadShapeError, match="a further page"):
        records("voltagepark", answer | {"has_next": True})


def test_thunder_compute_keeps_shared_cards_apart_and_reads_both_ways_of_naming() -> None:
    found = listings("thunder_compute", answer_of("thunder_compute", "pricing"))
    assert {one.plan: one.product for one in found} == {
        "a100xl_x1_production": "production",
        "a100xl_x1_prototyping": "prototyping",
        "h100_x1_production": "production",
        "h100_x8_production": "production",
        "l40s_x1_production": "production",
        "a6000_x1": None,
        "t4_x1_prototyping": "prototyping",
    }
    assert all("0.04 an hour" in str(one.note) for one in found)


def test_disks_become_a_price_of_storage() -> None:
    disks = {
        (record.provider, record.price, record.per)
        for source_id, part in (
            ("gpu_ai", "pricing-1"),
            ("thunder_compute", "pricing"),
            ("tensordock", "locations"),
        )
        for record in records(source_id, answer_of(source_id, part))
        if isinstance(record, Extra)
    }
    # In Mumbai two cards of one location differ, so nothing is said of its disk.
    assert disks == {
        ("gpu_ai", Decimal("0.00028"), "gb_hour"),
        ("thunder_compute", Decimal("0.0003"), "gb_hour"),
        ("tensordock", Decimal("0.00005"), "gb_hour"),
    }


def test_salad_work_that_others_displace_is_spot() -> None:
    found = listings("salad", answer_of("salad", "gpu_classes"), plan="RTX 4090 (24 GB)")
    assert {(one.product, one.purchase, one.price) for one in found} == {
        ("priority_high", "on_demand", Decimal("0.3")),
        ("priority_medium", "spot", Decimal("0.25")),
        ("priority_low", "spot", Decimal("0.2")),
        ("priority_batch", "spot", Decimal("0.16")),
    }


def test_salad_asks_in_the_name_of_an_organisation() -> None:
    source = registry.load_one("salad").SOURCE
    assert source.requests == ()
    assert [request.url for request in source.keyed_requests] == [
        "https://api.salad.com/api/public/organizations/{organization}/gpu-classes"
    ]
    assert (source.auth.header, source.auth.template) == ("Salad-Api-Key", "{key}")
    assert source.auth.address_env == (("organization", "SALAD_ORGANIZATION"),)


def test_hydra_host_stock_is_joined_by_kind() -> None:
    stock = dict(offerings("hydra_host").select("plan", "availability").iter_rows())
    assert stock == {
        "nvidia h100 80gb hbm3": "in_stock",
        "nvidia h100 nvl": "out_of_stock",
        "nvidia b200": "unknown",
        "nvidia geforce rtx 4090": "in_stock",
        "nvidia rtx pro 6000 blackwell server edition": "unknown",
    }


def test_tensordock_recorded_parts_of_a_host() -> None:
    """Of the older marketplace the parts of one host were recorded; it stood under its id in `hostnodes`."""
    path = REAL / "tensordock" / "hostnode_specs_excerpt.json"
    if not path.is_file():
        pytest.skip("../shared/captures is not here")
    (card,) = listings("tensordock", {"hostnodes": {"a-host": {"specs": json.loads(path.read_text())}}})
    assert (card.gpu_text, card.price, card.available_count) == ("l40-pcie-48gb", Decimal("1.05"), 8)
    assert card.gpu_memory == Quantity(Decimal(48), "GB")
    assert card.note == "the GPU alone; on top an hour: 0.003 a vCPU, 0.002 a GB of RAM, 0.00005 a GB of disk"
    assert "a-host" not in str(card)


# Pages


def test_gpu_ai_follows_its_cursor_and_stops() -> None:
    module = registry.load_one("gpu_ai")
    first = own(CAPTURES / "gpu_ai" / "payload.pricing-1.json")
    (second,) = module.follow(first)
    base = "https://api.gpu.ai/v1/pricing?limit=200&include_unavailable=true"
    assert (second.part, second.url) == ("pricing-2", f"{base}&cursor=eyJwIjoxMn0%3D")
    stuck = dataclasses.replace(first, part="pricing-2", url=second.url)
    assert list(module.follow(stuck)) == []
    last = dataclasses.replace(first, body=first.body.replace(b'"eyJwIjoxMn0="', b"null"))
    assert list(module.follow(last)) == []
    endless = dataclasses.replace(first, part="pricing-50")
    assert list(module.follow(endless)) == []


def test_hydra_host_follows_its_pages_and_stops() -> None:
    module = registry.load_one("hydra_host")
    first = own(CAPTURES / "hydra_host" / "payload.prices-1.json")
    more = dataclasses.replace(first, body=first.body.replace(b'"totalPages": 1', b'"totalPages": 2'))
    (second,) = module.follow(more)
    assert second.part == "prices-2"
    assert second.url == "https://brokkr.hydrahost.com/api/v1/inventory/category-prices?page=2&pageSize=100"
    assert list(module.follow(dataclasses.replace(more, url=second.url, part=second.part))) == []


# Nothing of a host, and no bytes that crash

PRIVATE = ("192.0.2.", "hotkey", "m-0", "offer-0", "00000000-0000", "9000001", "owner")


def texts(record: object) -> Iterator[str]:
    yield from (str(value) for value in dataclasses.astuple(record) if value is not None)  # type: ignore[call-overload]


def test_no_id_address_or_key_of_a_host_is_kept() -> None:
    for path in FILES:
        kept = [
            text for record in registry.load_one(path.parent.name).parse(own(path)) for text in texts(record)
        ]
        assert [text for text in kept if any(private in text for private in PRIVATE)] == []
    assert any(private in path.read_text() for path in FILES for private in PRIVATE)  # control
    supplier = answer_of("hyperbolic", "rental_options")
    assert all("providerCostPerHourCents" in option for option in supplier)
    kept = [text for record in records("hyperbolic", supplier) for text in texts(record)]
    assert not {"2.5", "20", "40", "1.2", "36"} & set(kept)  # what the supplier is paid, in dollars


def escaped(make: Callable[[], object]) -> BaseException | None:
    """What a parser throws beside the one error that it may throw."""
    try:
        make()
    except PayloadShapeError:
        return None
    except Exception as error:  # noqa: BLE001 - the test is that there is none
        return error
    return None


def read_all(path: Path, body: bytes) -> None:
    module, answer = registry.load_one(path.parent.name), dataclasses.replace(own(path), body=body)
    listing_frame(module.parse(answer), answer)
    list(getattr(module, "follow", lambda _: [])(answer))


HOSTILE = (b"null", b"[]", b"{}", b"-1", b"1e30", b"1e999999999", b'""', b'"x"', b"true", b"NaN", b"9" * 5000)
TOKEN = rb'"[^"]*"|-?\d+(?:\.\d+)?|null|true|false'


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_whatever_the_bytes_only_the_one_error_escapes(path: Path) -> None:
    good = path.read_bytes()
    read_all(path, good)
    tokens = [found.span() for found in re.finditer(TOKEN, good)]

    @settings(max_examples=30)
    @given(st.sampled_from(tokens), st.sampled_from(HOSTILE), st.integers(0, len(good)), st.booleans())
    def mutated(span: tuple[int, int], value: bytes, cut: int, is_cut: bool) -> None:
        body = good[:cut] if is_cut else good[: span[0]] + value + good[span[1] :]
        assert escaped(lambda: read_all(path, body)) is None

    mutated()
    others = (
        good.decode().encode("utf-16"),
        b"\xff" + good,
        b"[" * 50_000,
        good.replace(b'"', b""),
        good * 2,
    )
    assert [escaped(lambda body=body: read_all(path, body)) for body in others] == [None] * len(others)  # type: ignore[misc]


def test_an_error_that_escapes_is_seen() -> None:
    assert isinstance(escaped(lambda: int("x")), ValueError)
    assert escaped(lambda: None) is None
