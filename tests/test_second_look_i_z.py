"""What a live answer of the providers from io_net to yottalabs could say otherwise, and that it is not taken silently.

Each case changes one thing in the payload of `tests/captures`: another time, currency or thing in a price cell, a
second price, a count in a name, another unit in a number. Expected values were worked out by hand from the payload.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from payloads import own_payloads

from scrapers import registry
from scrapers.cells import check_one_gpu, priced
from scrapers.contract import Listing, Payload
from scrapers.errors import PayloadShapeError


def own(provider_id: str, part: str) -> Payload:
    return next(payload for payload in own_payloads(provider_id) if payload.part == part)


def changed(payload: Payload, *changes: tuple[str, str]) -> Payload:
    body = payload.body.decode()
    for old, new in changes:
        assert old in body, f"{old!r} is not in the payload"
        body = body.replace(old, new)
    return dataclasses.replace(payload, body=body.encode())


def listings(payload: Payload) -> list[Listing]:
    records = registry.load_one(payload.source_id).parse(payload)
    return [record for record in records if isinstance(record, Listing)]


def of_plan(payload: Payload, plan: str) -> list[Listing]:
    return [one for one in listings(payload) if one.plan == plan]


# A price of another time, currency or thing, a second price, a count: one change each, and what the error says.
REFUSED: list[tuple[str, str, tuple[str, str], str]] = [
    ("jarvislabs", "pricing", ("$1.89/hr", "$1299/mo"), "'.1299/mo' is not in USD or INR per hour"),
    ("jarvislabs", "pricing", ("$1.89/hr", "€1.89/hr"), "is not in USD or INR"),
    ("jarvislabs", "pricing", ("$1.89/hr", "$2.19 $1.89/hr"), "is not a price"),
    ("jarvislabs", "pricing", ("<td>H200</td>", "<td>8x H200</td>"), "'8x H200' counts GPUs"),
    ("koyeb", "pricing", ("$3.30 /hr", "$2,400 /month"), "is not in USD per second or hour"),
    ("koyeb", "pricing", ("$3.30 /hr", "$1.65 /GPU/hr"), "is not in USD per second or hour and instance"),
    ("koyeb", "pricing", ("$3.30 /hr", "$3.60 $3.30 /hr"), "is not a price"),
    ("leafcloud", "pricing", ("€4.12", "€2,950 /month"), "is not in EUR or USD per hour"),
    ("massed_compute", "pricing", ("$$23.36", "$$17000 per month"), "is not a price"),
    ("massed_compute", "pricing", ('children\\":\\"/hr', 'children\\":\\"/mo'), "is not in USD per hour"),
    ("massed_compute", "pricing", ('[\\"×\\",\\"2\\"]}]}]', '[\\"×\\",\\"4\\"]}]}]'), "a quantity of '×4'"),
    ("modal", "pricing", ("$0.001105", "€0.001105"), "is not in USD per second"),
    ("modal", "pricing", ("Nvidia H200 SXM", "8x Nvidia H200 SXM"), "counts GPUs"),
    ("neevcloud", "pricing", ("$0.99/hr", "$7.92/node/hr"), "is not in USD per hour and gpu|is not a price"),
    ("neysa", "pricing", ("<td>$3.17</td>", "<td>$2,314</td>"), "'.2,314' is more than on demand costs"),
    ("neysa", "pricing", ("<td>H200 SXM</td>", "<td>8x H200 SXM</td>"), "counts GPUs"),
    ("novita", "pricing", ("$2.62/hr", "€2.62/hr"), "is not in USD"),
    ("novita", "pricing", ("$2.62/hr", "$1900/mo"), "is not in USD per second or minute or hour"),
    ("novita", "products", ('"price": "36000"', '"price": "0.36"'), "price: .0.36. is not a whole number"),
    ("ori", "billing", ("Price ($/hour)", "Price (€/hour)"), "is not in USD"),
    ("paperspace", "pricing", ('2">$3.18</h1><p>/hour', '2">$3.18</h1><p>/month'), "is not per hour"),
    ("paperspace", "pricing", ('names">A6000', 'names">A6000x4'), "counts GPUs"),
    ("qubrid", "visible_table", ("$1.69", "$1,200/mo"), "is not in USD per hour"),
    ("replicate", "pricing", ("$0.000980<", "CA$0.000980<"), "is not in USD"),
    ("runware", "pricing", ("$1.60", "CA$1.60"), "no price per second and per hour that agree"),
    ("sakura", "gpu", ("517円", "$3.50"), "is not in JPY"),
    ("sakura", "gpu", ("517円", "517円/日"), "is not in JPY per hour"),
    ("seeweb", "cloud_server_gpu", ("1.79", "1.79 1.99"), "is not a price in EUR"),
    ("spheron", "pricing", ("H100 SXM5", "8x H100 SXM5"), "counts GPUs"),
    ("whitefiber", "gpu_pricing", ("$2.49/HR", "$2.99 $2.49/HR"), "is not a price"),
    ("yottalabs", "pricing", ("$0.48/hr", "$0.48/min"), "is not in USD per hour"),
    ("yottalabs", "pricing", (">H100<", ">H100 x8<"), "counts GPUs"),
]


@pytest.mark.parametrize(("provider_id", "part", "change", "problem"), REFUSED)
def test_what_has_another_unit_currency_or_count_is_an_error(
    provider_id: str, part: str, change: tuple[str, str], problem: str
) -> None:
    payload = own(provider_id, part)
    assert listings(payload)  # control: without the change it is read
    with pytest.raises(PayloadShapeError, match=problem):
        listings(changed(payload, change))


# A second table or row of the same columns, with a lower price: its element, and the price in it.
AGAIN: list[tuple[str, str, str, str]] = [
    ("jarvislabs", "pricing", "<tr><td>H200</td><td>Hopper</td>", "3.99"),
    ("neysa", "pricing", "<tr><td>H100 SXM</td>", "3.17"),
    ("novita", "pricing", "<tr><td>H100 SXM 80GB</td>", "2.62"),
    ("qubrid", "visible_table", "<tr><td>NVIDIA A100 (80GB) - 1 GPU</td>", "1.69"),
    ("yottalabs", "pricing", "<tr><td>RTX 4090</td>", "0.48"),
]


@pytest.mark.parametrize(("provider_id", "part", "start", "price"), AGAIN)
def test_one_plan_with_two_prices_is_an_error(provider_id: str, part: str, start: str, price: str) -> None:
    page = own(provider_id, part)
    body = page.body.decode()
    row = body[body.index(start) : body.index("</tr>", body.index(start)) + len("</tr>")]
    again = changed(page, (row, row + row))
    assert len(listings(again)) > len(listings(page))  # control: the same row twice says the same
    with pytest.raises(PayloadShapeError, match="has two prices"):
        listings(changed(page, (row, row + row.replace(price, "1.11"))))


@pytest.mark.parametrize(
    ("provider_id", "part", "old", "new"),
    [
        ("modal", "pricing", "Nvidia H200 SXM", "Nvidia B200"),
        ("sakura", "gpu", "高火力 VRT/H100プラン", "NVIDIA V100プラン"),
        ("neevcloud", "pricing", "NVIDIA A30 Price", "NVIDIA L40S Price"),
        ("paperspace", "pricing", "A4000", "A6000"),
    ],
)
def test_two_rows_of_one_name_with_two_prices_are_an_error(
    provider_id: str, part: str, old: str, new: str
) -> None:
    page = own(provider_id, part)
    with pytest.raises(PayloadShapeError, match="has two prices"):
        listings(changed(page, (old, new)))


# A cell of words alone takes its price from one row, and nothing from the others.
WORDS: list[tuple[str, str, str, str]] = [
    ("jarvislabs", "pricing", "RTX PRO 6000", "$1.89/hr"),
    ("koyeb", "pricing", "8x H100", "$20.40 /hr"),
    ("leafcloud", "pricing", "h100", "€4.12"),
    ("neevcloud", "pricing", "NVIDIA L40S", "$0.99/hr"),
    ("novita", "pricing", "L40S 48GB", "$0.56/hr"),
    ("paperspace", "pricing", "A6000", "$1.89"),
    ("sakura", "gpu", "NVIDIA V100プラン", "517円"),
    ("yottalabs", "pricing", "RTX 4090", "$0.48/hr"),
    ("whitefiber", "gpu_pricing", "NVIDIA H100", "$2.49/HR"),
]


@pytest.mark.parametrize(("provider_id", "part", "plan", "cell"), WORDS)
def test_a_cell_that_says_sold_out_has_no_price_and_spoils_no_other_row(
    provider_id: str, part: str, plan: str, cell: str
) -> None:
    before = own(provider_id, part)
    after = changed(before, (cell, "Sold out"))
    assert next(one.price for one in of_plan(before, plan)) is not None
    assert next(one.price for one in of_plan(after, plan)) is None
    others = [(one.plan, one.purchase, one.price) for one in listings(before) if one.plan != plan]
    assert [(one.plan, one.purchase, one.price) for one in listings(after) if one.plan != plan] == others


def test_a_lower_bound_stays_one_where_two_prices_stand_in_one_cell() -> None:
    page = changed(own("replicate", "pricing"), ("$0.000980<", "from $0.000980<"))
    (l40s,) = of_plan(page, "gpu-l40s")
    assert (l40s.price, l40s.price_state) == (Decimal("0.000980"), "from_price")
    (t4,) = of_plan(page, "gpu-t4")
    assert t4.price_state == "priced"  # control: another row of the same page

    page = changed(own("runware", "pricing"), ("$1.60", "from $1.60"))
    (l40s,) = of_plan(page, "L40s")
    assert (l40s.price, l40s.price_state) == (Decimal("1.60"), "from_price")


def test_jarvislabs_reads_no_column_of_months_or_spot() -> None:
    page = own("jarvislabs", "pricing")
    monthly = changed(page, ("<th>Price per hour</th>", "<th>Price per month</th>"))
    assert [one.plan for one in listings(page)].count("L4") == 1
    assert [one.plan for one in listings(monthly)].count("L4") == 0
    spot = changed(
        page, ("<th>Generation</th>", "<th>Spot $/hour</th>"), ("<td>Hopper</td>", "<td>$1.99</td>")
    )
    assert [one.price for one in of_plan(spot, "H200")] == [Decimal("3.99")]


def test_jarvislabs_api_prices_that_can_only_be_rupees_are_an_error() -> None:
    answer = own("jarvislabs", "server_meta")
    assert min(one.price for one in listings(answer) if one.price) == Decimal("0.29")
    rows = json.loads(answer.body)
    for row in rows["server_meta"]:
        row["price_per_hour"] *= 90
        row["spot_price"] = row["spot_price"] and row["spot_price"] * 90
    with pytest.raises(PayloadShapeError, match="the prices are not in USD"):
        listings(dataclasses.replace(answer, body=json.dumps(rows).encode()))


def test_latitude_a_stock_that_is_not_said_is_unknown() -> None:
    page = changed(
        own("latitude_sh", "pricing"), ('\\"stock_level\\": \\"medium\\"', '\\"stock_level\\": null')
    )
    assert {one.availability for one in of_plan(page, "g3-h100-small")} == {"unknown"}
    assert {one.availability for one in of_plan(page, "g4-b300-large")} == {"out_of_stock"}  # control


def test_latitude_a_year_that_costs_less_than_a_month_is_an_error() -> None:
    page = own("latitude_sh", "pricing")
    assert [one.price for one in of_plan(page, "g3-h100-small")] == [Decimal("3.37"), 1230, 10332]
    with pytest.raises(PayloadShapeError, match=r"hour, month and year do not rise: 3\.37, 1230, 861"):
        listings(changed(page, ('\\"year\\": 10332', '\\"year\\": 861')))


def test_mithril_a_spot_price_that_is_the_reserve_price_is_a_bid_floor() -> None:
    answer = own("mithril", "price-h100-80gb.sxm.8x")
    states = {one.product: one.price_state for one in listings(answer)}
    assert states == {"spot_floor": "bid_floor", "spot": "priced", "reservation": "priced"}
    idle = changed(answer, ('"spot_price_cents": 1520', '"spot_price_cents": 800'))
    assert {one.product: one.price_state for one in listings(idle)} == states | {"spot": "bid_floor"}


def test_novita_bare_prices_take_the_dollar_of_their_own_table_alone() -> None:
    page = own("novita", "pricing")
    assert {one.currency for one in of_plan(page, "A100 SXM 80GB")} == {"USD"}
    signs = [("$2.62", "2.62"), ("$1.31", "1.31"), ("$0.70", "0.70"), ("$0.35", "0.35"), ("$0.56", "0.56")]
    bare = changed(page, *signs)  # the table of models above it, and the page, still have dollars
    assert {one.currency for one in of_plan(bare, "A100 SXM 80GB")} == {None}


def test_openrelay_a_tier_of_commitment_is_not_on_demand() -> None:
    def purchases(tier: str) -> list[str]:
        answer = changed(own("openrelay", "pricing"), ('"tier": "spot"', f'"tier": "{tier}"'))
        return [one.purchase for one in of_plan(answer, "h100-sxm")]

    assert purchases("spot") == ["on_demand", "spot"]
    assert purchases("reserved-1y") == ["on_demand", "reserved"]
    assert purchases("dedicated") == ["on_demand", "on_demand"]


def test_outscale_the_flag_of_the_month_is_the_unit() -> None:
    answer = own("outscale", "eu-west-2")
    assert {one.price_unit for one in listings(answer)} == {"hour"}
    entries = json.loads(answer.body)
    next(
        entry for entry in entries["Catalog"]["Entries"] if entry["Type"] == "Gpu:attach:nvidia-h200"
    ).update(Flags="PER_MONTH", UnitPrice=3800)
    monthly = dataclasses.replace(answer, body=json.dumps(entries).encode())
    units = {one.plan: (one.price, one.price_unit) for one in listings(monthly)}
    assert units["nvidia-h200"] == (3800, "month")
    assert units["nvidia-h100"] == (4, "hour")


def test_qubrid_of_several_prices_of_a_server_the_one_of_the_year_is_read() -> None:
    def page(heads: str, cells: str) -> Payload:
        table = f"<h2>Bare metal, billed per year</h2><table><tr><th>Server</th>{heads}</tr><tr>{cells}</tr></table>"
        body = own("qubrid", "visible_table").body.decode().replace("</body>", f"{table}</body>")
        return dataclasses.replace(own("qubrid", "visible_table"), body=body.encode())

    name = "<td>NVIDIA H200 141GB 8-GPU SXM Server</td>"
    two = "<td>$15,000</td><td>$160,000</td>"
    (server,) = of_plan(
        page("<th>Monthly</th><th>Annual</th>", name + two), "NVIDIA H200 141GB 8-GPU SXM Server"
    )
    assert (server.price, server.price_unit, server.gpu_count) == (160000, "year", 8)
    (server,) = of_plan(
        page("<th>Price</th>", name + "<td>$160,000</td>"), "NVIDIA H200 141GB 8-GPU SXM Server"
    )
    assert server.price == 160000
    with pytest.raises(PayloadShapeError, match="2 prices, of which none is known to be per year"):
        listings(page("<th>Price</th><th>With support</th>", name + two))


def test_runware_reads_further_names_of_cards() -> None:
    page = changed(own("runware", "pricing"), ("<h3>L40s</h3>", "<h3>RTX PRO 6000</h3>"))
    assert [one.price for one in of_plan(page, "RTX PRO 6000")] == [Decimal("1.60")]


def test_sakura_a_count_in_the_name_is_the_count() -> None:
    page = changed(own("sakura", "gpu"), ("NVIDIA V100プラン", "NVIDIA V100×4プラン"))
    (plan,) = of_plan(page, "NVIDIA V100×4プラン")
    assert (plan.gpu_count, plan.price_per, plan.price) == (4, "instance", 517)
    taxed = changed(own("sakura", "gpu"), ("517円", "517円（税込）"))
    assert [one.price for one in of_plan(taxed, "NVIDIA V100プラン")] == [517]


def test_salad_the_priority_is_known_however_it_is_written() -> None:
    answer = changed(own("salad", "gpu_classes"), ('"high"', '"High"'))
    kinds = {one.product: one.purchase for one in listings(answer)}
    assert kinds["priority_High"] == "on_demand"
    assert kinds["priority_low"] == "spot"


@pytest.mark.parametrize(
    ("value", "problem"), [('"229"', "a text where a number of cents"), ("2.29", "whole")]
)
def test_shadeform_a_price_that_is_no_number_of_cents_is_an_error(value: str, problem: str) -> None:
    answer = own("shadeform", "types")
    assert Decimal("2.29") in [one.price for one in of_plan(answer, "1H100.80S.30V")]
    with pytest.raises(PayloadShapeError, match=problem):
        listings(changed(answer, ('"hourly_price": 229,', f'"hourly_price": {value},')))


def test_spheron_prices_of_a_month_are_an_error() -> None:
    page = own("spheron", "pricing")
    with pytest.raises(PayloadShapeError, match="not per hour"):
        listings(changed(page, ("</button>", "<small>/ mo</small></button>")))
    assert listings(changed(page, ("</button>", "<small>3.2 TB/s</small></button>")))  # control: no price


def test_thunder_compute_reads_names_of_two_words() -> None:
    answer = changed(own("thunder_compute", "pricing"), ("l40s_x1_production", "rtx_pro_6000_x2_production"))
    (listing,) = of_plan(answer, "rtx_pro_6000_x2_production")
    assert (listing.gpu_text, listing.gpu_count, listing.price) == ("rtx_pro_6000", 2, Decimal("1.39"))


@pytest.mark.parametrize(
    ("cell", "options", "amount"),
    [
        ("$2.49/hr", {}, Decimal("2.49")),
        ("from $2.49 / GPU / hour", {}, Decimal("2.49")),
        ("Sold out", {}, None),
        ("Contact us for 8 or more", {}, None),
        ("—", {}, None),
        ("2.49", {"currencies": (None,)}, Decimal("2.49")),
        ("$0.0007 / sec", {"units": ("second",)}, Decimal("0.0007")),
    ],
)
def test_a_cell_that_says_what_is_due_is_read(
    cell: str, options: dict[str, Any], amount: Decimal | None
) -> None:
    assert priced("page", "row 0", cell, **options).amount == amount


@pytest.mark.parametrize("cell", ["2.49", "€2.49", "$2.49/month", "$2.49/vCPU", "$2.49 $1.99", "8x"])
def test_a_cell_that_says_another_thing_is_an_error(cell: str) -> None:
    with pytest.raises(PayloadShapeError, match="row 0"):
        priced("page", "row 0", cell)


@seed(20261201)
@given(st.text(max_size=600), st.text(max_size=600))
def test_cells_break_in_no_other_way(cell: str, name: str) -> None:
    for check in (lambda: priced("page", "row 0", cell), lambda: check_one_gpu("page", "row 0", name)):
        with contextlib.suppress(PayloadShapeError):
            check()


ONE = [
    "H100",
    "1x H100",
    "RTX 4090",
    "RTX 3090 Ti (24 GB)",
    "B200 SXM6",
    "MI300X 192GB",
    "L40S 48GB",
    "A100 SXM4-80GB",
]
SEVERAL = [
    "8x H100",
    "H100 x8",
    "8 × H200",
    "4xA100",
    "2-GPU L40S",
    "H100 (8 GPUs)",
    "A100-80Gx8",
    "NVIDIA H100 X 16",
]


@pytest.mark.parametrize("name", ONE)
def test_the_name_of_one_gpu_counts_none(name: str) -> None:
    check_one_gpu("page", "row 0", name)


@pytest.mark.parametrize("name", SEVERAL)
def test_the_name_of_several_gpus_counts_them(name: str) -> None:
    with pytest.raises(PayloadShapeError, match="counts GPUs"):
        check_one_gpu("page", "row 0", name)
