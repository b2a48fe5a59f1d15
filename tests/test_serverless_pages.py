"""Price pages of serverless providers and of small GPU clouds, and the tables of documentation in Markdown.

No answer of these providers was recorded, so the payloads are those of `tests/captures`, written after the shape
that each module names. Expected values were worked out by hand from the payload.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.contract import Extra, Listing, Payload, Quantity, Record
from scrapers.errors import PayloadShapeError
from scrapers.markdown import markdown_tables
from scrapers.readers import html, tables
from transforms.offers.listings import listing_frame
from transforms.offers.normalise import Normalised, normalise

OWN = Path(__file__).parent / "captures"
FILES = {
    "gmi_cloud": "pricing.html",
    "civo": "pricing.html",
    "koyeb": "pricing.html",
    "modal": "pricing.html",
    "replicate": "pricing.html",
    "baseten": "pricing.html",
    "fal": "pricing.html",
    "beam": "price_list.md",
    "cerebrium": "pricing.html",
    "novita": "pricing.html",
    "huggingface_endpoints": "pricing.md",
    "huggingface_jobs": "pricing.md",
    "fireworks": "pricing.html",
}


def own(provider: str, file: str | None = None) -> str:
    return (OWN / provider / f"payload.{file or FILES[provider]}").read_text()


def payload(provider: str, body: str | bytes, day: int = 30) -> Payload:
    return Payload(
        source_id=provider,
        part="page",
        url="https://example.org/",
        fetched_at=datetime(2026, 11, day, 2, 0, tzinfo=UTC),
        body=body.encode() if isinstance(body, str) else body,
    )


def parse(provider: str, body: str | bytes) -> list[Record]:
    return list(module(provider).parse(payload(provider, body)))


def module(provider: str) -> Any:
    return importlib.import_module(f"scrapers.providers.{provider}")


def only(records: Iterable[Record], **wanted: Any) -> Listing:
    found = [
        record
        for record in records
        if isinstance(record, Listing)
        and all(getattr(record, name) == value for name, value in wanted.items())
    ]
    assert len(found) == 1, f"{len(found)} listings with {wanted}"
    return found[0]


def normal(provider: str, records: list[Record]) -> Normalised:
    made = listing_frame(records, payload(provider, ""))
    result = normalise(
        made.listings,
        made.stock,
        made.interruptions,
        rates=made.rates,
        night=datetime(2026, 11, 30).date(),
        segments={provider: module(provider).SOURCE.segment},
        extras=made.extras,
    )
    assert result.offerings.height + result.rejects.height == made.listings.height
    return result


def offers(provider: str, records: list[Record]) -> pl.DataFrame:
    return normal(provider, records).offerings.sort("plan")


def usd_per_gpu_hour(provider: str, records: list[Record], **wanted: Any) -> float:
    rows = offers(provider, records).filter(*(pl.col(name) == value for name, value in wanted.items()))
    assert rows.height == 1, rows
    price = rows["price_usd_per_gpu_hour"].item()
    assert price is not None
    return float(price)


def refusal(provider: str, body: str) -> str:
    with pytest.raises(PayloadShapeError) as caught:
        parse(provider, body)
    return str(caught.value)


def changed(text: str, old: str, new: str) -> str:
    assert old in text, f"{old} is not in the payload"
    return text.replace(old, new)


# All of them


def unlikely(provider: str, records: list[Record]) -> list[str]:
    """The plans that cost less than 0.1 or more than 30 USD per GPU and hour, or so much that they are rejected."""
    made = normal(provider, records)
    odd = made.offerings.filter(~pl.col("price_usd_per_gpu_hour").is_between(0.1, 30))
    return [*odd["plan"], *made.rejects.filter(reason="price_out_of_bounds")["plan"]]


@pytest.mark.parametrize("provider", FILES)
def test_every_price_is_one_of_a_gpu_hour(provider: str) -> None:
    records = parse(provider, own(provider))
    assert any(isinstance(record, Listing) and record.price for record in records)
    assert unlikely(provider, records) == []


def test_control_a_wrong_unit_of_time_is_seen() -> None:
    seconds_for_hours = changed(own("modal"), "/ sec</span></p><!--]-->", "/ hour</span></p><!--]-->")
    assert len(unlikely("modal", parse("modal", seconds_for_hours))) == 8


@pytest.mark.parametrize("provider", FILES)
def test_a_page_without_its_rows_is_an_error(provider: str) -> None:
    page = own(provider)
    assert refusal(provider, page[: len(page) // 8])
    assert refusal(
        provider, "<html><body><table><tr><td>GPU</td><td>$2.00/hr</td></tr></table></body></html>"
    )


@pytest.mark.parametrize("provider", FILES)
@settings(max_examples=25)
@given(data=st.data())
def test_mutated_bytes_are_read_or_refused(provider: str, data: st.DataObject) -> None:
    body = own(provider).encode()
    start = data.draw(st.integers(0, len(body)))
    value = data.draw(
        st.sampled_from([b"", b"\0", b"\xff\xfe", b"$", b"|", b"<td colspan=9>", b"9" * 40, b"1e999"])
    )
    mutated = body[:start] + value + body[start + data.draw(st.integers(0, 40)) :]
    if data.draw(st.booleans()):
        mutated = mutated[: data.draw(st.integers(0, len(mutated)))]
    with contextlib.suppress(PayloadShapeError):
        assert parse(provider, mutated)


def test_tables_nested_without_end_are_read_to_a_depth() -> None:
    assert len(tables(html(payload("fal", "<table><tr><td>" * 80)))) == 8
    assert len(tables(html(payload("fal", "<table><tr><td>" * 3)))) == 3  # control


# Markdown


def test_markdown_tables_have_their_headings_and_plain_cells() -> None:
    content = (
        "# Prices\n\n## Old\n\n### GPU [list](https://x.example/a)\n\n| **GPU** | Price\\* |\n|:---|---:|\n"
        "| `H100` \\| SXM | \\$2.00 | (gone)\n\nText | of no table\n\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n"
        "## New ##\nA | B\n--|--\n1 | 2\n"
    )
    first, second = markdown_tables(content)
    assert first.headings == ("Prices", "Old", "GPU list")
    assert first.header == ("GPU", "Price*", "")
    assert first.rows == (("H100 | SXM", "$2.00", "(gone)"),)
    assert (second.headings, second.header, second.rows) == (("Prices", "New"), ("A", "B"), (("1", "2"),))


def test_markdown_without_a_rule_is_no_table() -> None:
    assert markdown_tables("| GPU | Price |\n| H100 | $2 |\n") == []
    assert len(markdown_tables("| GPU | Price |\n| --- | --- |\n| H100 | $2 |\n")) == 1  # control


def as_html(content: str) -> str:
    """The tables of a Markdown text as a page."""
    page = ""
    for table in markdown_tables(content):
        page += f"<h2>{table.headings[-1]}</h2><table><thead><tr>"
        page += "".join(f"<th>{head}</th>" for head in table.header) + "</tr></thead><tbody>"
        for row in table.rows:
            page += "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
        page += "</tbody></table>"
    return f"<!doctype html><html><body>{page}</body></html>"


@pytest.mark.parametrize("provider", ["beam", "huggingface_endpoints", "huggingface_jobs"])
def test_the_page_says_what_its_markdown_says(provider: str) -> None:
    assert parse(provider, as_html(own(provider))) == parse(provider, own(provider))


# GMI Cloud


def test_gmi_prices_are_lower_bounds_and_read_once() -> None:
    records = parse("gmi_cloud", own("gmi_cloud"))
    h100 = only(records, plan="NVIDIA H100 GPU")
    assert (h100.price, h100.price_state, h100.price_per) == (Decimal("2.10"), "from_price", "gpu")
    assert only(records, gpu_text="NVIDIA GB300").price is None
    assert only(records, gpu_text="NVIDIA B200 GPU").availability == "low"
    assert only(records, gpu_text="NVIDIA H200").availability == "listed_only"


def test_gmi_prices_under_one_heading_are_refused() -> None:
    merged = changed(own("gmi_cloud"), '<h3 class="text-2xl">NVIDIA H200</h3>', "<h4>NVIDIA H200</h4>")
    assert "two prices under one heading" in refusal("gmi_cloud", merged)


# Civo


def test_civo_prices_are_of_the_whole_instance() -> None:
    records = parse("civo", own("civo"))
    eight = only(records, plan="NVIDIA H100 SXM Extra Large", purchase="on_demand")
    assert (eight.gpu_count, eight.price, eight.gpu_memory) == (
        8,
        Decimal("24.72"),
        Quantity(Decimal(80), "GB"),
    )
    assert usd_per_gpu_hour("civo", records, plan=eight.plan, purchase="on_demand") == 3.09  # 24.72 / 8


def test_civo_b200_is_sold_with_a_commitment_only() -> None:
    records = [record for record in parse("civo", own("civo")) if isinstance(record, Listing)]
    b200 = {record.term_months: record.price for record in records if record.gpu_text == "NVIDIA B200"}
    assert b200 == {None: None, 6: None, 12: Decimal("36.16"), 36: Decimal("30.48")}
    assert offers("civo", list(records)).filter(gpu_text="NVIDIA B200", purchase="on_demand").is_empty()


def test_civo_rows_of_another_card_or_currency_are_refused() -> None:
    page = own("civo")
    lost = changed(page, "2 x NVIDIA A100 - 80GB", "2 x NVIDIA A100 - 40GB")
    assert "stands under 'NVIDIA A100 80GB'" in refusal("civo", lost)
    assert "is not a price" in refusal(
        "civo", changed(page, "$1.12<span>per hour", "12 credits<span>per hour")
    )
    only_div = changed(page, '<section class="pricing-product" id="nvidia-gpus">', "<section>")
    assert "not in the page" in refusal("civo", only_div)


# Koyeb


def test_koyeb_vram_is_of_the_whole_instance() -> None:
    records = parse("koyeb", own("koyeb"))
    two = only(records, plan="2x A100")
    assert (two.gpu_text, two.gpu_count, two.gpu_memory_is_total) == ("A100", 2, True)
    row = offers("koyeb", records).filter(plan="2x A100")
    assert row["price_usd_per_gpu_hour"].item() == Decimal("1.65")  # 3.30 / 2
    assert row["vram_gib"].item() == 80
    assert {record.plan for record in records if isinstance(record, Listing)}.isdisjoint({"nano", "large"})
    assert only(records, plan="N300S").price_state == "contact_sales"
    assert only(records, plan="A100").gpu_text == "A100"  # without its badge


def test_koyeb_with_a_column_for_vram_says_the_same() -> None:
    page = own("koyeb")
    start = page.index('<div class="hidden 2xl:grid grid-cols-5', page.index("nano"))
    end = page.index('<div class="2xl:hidden">')
    rows = [("L4", "24GB", "15", "$0.72 /hr"), ("8x H100", "640GB", "120", "$20.40 /hr")]
    cells = [*("Instance", "VRAM", "vCPU", "Price"), *(cell for row in rows for cell in row)]
    grid = '<div class="grid grid-cols-4">' + "".join(f"<div>{cell}</div>" for cell in cells) + "</div>"
    records = parse("koyeb", page[:start] + grid + page[end:])
    assert only(records, plan="8x H100").gpu_memory == Quantity(Decimal(640), "GB")
    assert usd_per_gpu_hour("koyeb", records, plan="8x H100") == 2.55  # 20.40 / 8


def test_koyeb_refuses_what_it_cannot_be_sure_of() -> None:
    page = own("koyeb")
    assert "does not say for which time" in refusal("koyeb", changed(page, "$3.30 /hr", "$3.30"))
    assert "two prices" in refusal("koyeb", changed(page, "2x A100", "A100"))
    assert "no row with VRAM" in refusal("koyeb", changed(page, "Instance type", "Type"))


# Modal


def test_modal_prices_are_of_seconds_with_what_comes_on_top() -> None:
    records = parse("modal", own("modal"))
    h100 = only(records, plan="Nvidia H100 SXM5")
    assert (h100.price, h100.price_unit) == (Decimal("0.001105"), "second")
    assert h100.note == "on top: CPU $0.0000132 / core / sec and memory $0.00000225 / GiB / sec"
    assert usd_per_gpu_hour("modal", records, plan="Nvidia H100 SXM5") == 3.978  # 0.001105 * 3600
    assert only(records, plan="Nvidia A100, 40 GB").gpu_memory == Quantity(Decimal(40), "GB")
    extras = [(record.price, record.per, record.from_gb) for record in records if isinstance(record, Extra)]
    assert extras == [(0, "gib_month", 0), (Decimal("0.09"), "gib_month", Decimal("1099.511627776"))]


def test_modal_takes_the_unit_from_the_cell() -> None:
    page = own("modal")
    hourly = changed(page, '$0.001105 <span class="text-light-green/60">/ sec', "$3.978 <span>/ hr")
    assert only(parse("modal", hourly), plan="Nvidia H100 SXM5").price_unit == "hour"
    bare = changed(page, '$0.001105 <span class="text-light-green/60">/ sec', "$0.001105 <span>")
    assert "no GPU with a price for a time" in refusal("modal", bare)


# Replicate


def test_replicate_instances_are_priced_whole() -> None:
    records = parse("replicate", own("replicate"))
    eight = only(records, plan="gpu-a100-large-8x")
    assert (eight.price, eight.price_unit, eight.gpu_count) == (Decimal("0.011280"), "second", 8)
    row = offers("replicate", records).filter(plan="gpu-a100-large-8x")
    assert row["price_usd_per_gpu_hour"].item() == Decimal("5.076")  # 0.01128 * 3600 / 8
    assert row["vram_gib"].item() == 80  # 640 / 8
    old = only(records, plan="gpu-a40-large-8x")
    assert (old.gpu_memory, old.gpu_memory_is_total) == (Quantity(Decimal(48), "GB"), False)
    assert (old.gpu_text, only(records, plan="gpu-h100").purchase) == ("Nvidia A40 GPU", "reserved")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("$<!-- -->3.528", "$<!-- -->0.000980", "do not agree"),
        ("<td>1x</td><td>10x</td><td>48GB", "<td>2x</td><td>10x</td><td>48GB", "with '2x' GPUs"),
        ("<code>gpu-l40s</code>", "", "is no name with gpu-"),
        ("<th>GPU RAM</th>", "<th>VRAM</th>", "0 tables with the columns"),
    ],
)
def test_replicate_contradictions_are_refused(old: str, new: str, problem: str) -> None:
    assert problem in refusal("replicate", changed(own("replicate"), old, new))


# Baseten


def test_baseten_prices_are_of_minutes_and_of_its_block() -> None:
    records = parse("baseten", own("baseten"))
    h100 = only(records, plan="H100")
    assert (h100.price, h100.price_unit) == (Decimal("0.10900"), "minute")  # not the 0.12 of training
    assert usd_per_gpu_hour("baseten", records, plan="H100") == 6.54  # 0.109 * 60
    assert only(records, plan="L4").vcpus == 4
    assert only(records, plan="B300").price_state == "contact_sales"
    assert len(records) == 7  # no CPU instance, no tokens


def test_baseten_slice_is_not_a_card() -> None:
    slice_ = only(parse("baseten", own("baseten")), plan="H100 MIG")
    assert (slice_.gpu_count, slice_.gpu_memory) == (None, Quantity(Decimal(40), "GiB"))


def test_baseten_page_of_hours_is_refused() -> None:
    hourly = changed(own("baseten"), "$0.10900", "$6.54")
    assert "is no price of a minute" in refusal("baseten", hourly)
    assert "without a word of minutes" in refusal("baseten", changed(own("baseten"), "Per minute", ""))


# fal


def test_fal_as_low_as_is_never_the_price_on_demand() -> None:
    records = parse("fal", own("fal"))
    h100 = {
        record.purchase: record for record in records if isinstance(record, Listing) and record.plan == "H100"
    }
    assert (h100["on_demand"].price, h100["on_demand"].price_state) == (Decimal("4.60"), "priced")
    assert (h100["reserved"].price, h100["reserved"].price_state) == (Decimal("1.90"), "from_price")
    assert len(records) == 10


def test_fal_needs_exactly_one_table_of_gpus() -> None:
    page = own("fal")
    assert "0 tables" in refusal("fal", changed(page, "<th>As low as</th>", "<th>Output per $1</th>"))
    table = page[page.index("<table") : page.index("</table>") + len("</table>")]
    assert "2 tables" in refusal("fal", page + table)


# Beam


def test_beam_second_and_hour_must_agree() -> None:
    records = parse("beam", own("beam"))
    assert usd_per_gpu_hour("beam", records, plan="H100 GPU") == 3.5316  # 0.000981 * 3600
    assert only(records, plan="RTX 4090 GPU").note == (
        "on top, per second: CPU $0.0000530 per core, RAM $0.0000057 per GB"
    )
    assert "do not agree" in refusal("beam", changed(own("beam"), "\\$0.000981", "\\$3.53"))


# Cerebrium


def test_cerebrium_list_prices_are_of_interruptible_machines() -> None:
    records = parse("cerebrium", own("cerebrium"))
    h100 = only(records, plan="H100")
    assert (h100.product, h100.purchase, h100.price_unit) == ("interruptible", "spot", "second")
    assert usd_per_gpu_hour("cerebrium", records, plan="H100") == 3.42  # 0.00095 * 3600
    assert only(records, plan="B300").price == 0
    assert len(records) == 8  # all but "CPU only"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("PricingCalculator", "Calculator", "config"),
        ("ratePerSecond", "ratePerHour", "config.hardware[1][1][1].ratePerSecond"),
        ("memoryCostPerGBPerSecond", "memoryCost", "config.memoryCostPerGBPerSecond"),
    ],
)
def test_cerebrium_missing_fields_are_named(old: str, new: str, place: str) -> None:
    assert place in refusal("cerebrium", changed(own("cerebrium"), old, new))


# Novita


def test_novita_api_counts_hundredths_of_a_thousandth_of_a_dollar() -> None:
    records = parse("novita", own("novita", "products.json"))
    california = only(records, plan="4090.16c62g", purchase="on_demand", region_text="US-CA-06 (California)")
    assert (california.price, california.availability) == (Decimal("0.36"), "in_stock")
    assert only(records, plan="A100-80GB.14c240g").price == Decimal("1.62")  # 162000 as a number
    assert only(records, plan="26").availability == "out_of_stock"  # and no spot, which it does not name
    places = offers("novita", records).filter(plan="4090.16c62g", purchase="spot")
    assert sorted(places["region_key"].to_list()) == ["gb", "us-ca"]
    assert set(places["price_usd_per_gpu_hour"].to_list()) == {Decimal("0.18")}


def test_novita_page_reads_gpus_and_no_tokens() -> None:
    records = parse("novita", own("novita"))
    assert only(records, plan="A100 SXM 80GB", purchase="spot").currency == "USD"
    assert only(records, plan="H100 SXM 80GB", purchase="on_demand").price == Decimal("2.62")
    assert only(records, plan="L40S 48GB", purchase="spot").price is None
    serverless = only(records, plan="RTX 4090 24GB")
    assert (serverless.segment, serverless.price_unit) == ("serverless", "second")
    assert len(records) == 11
    bare = changed(own("novita"), "$2.62/hr", "$2.62")
    assert "is no price of a GPU for a time" in refusal("novita", bare)


# Hugging Face


def test_endpoints_memory_is_of_all_gpus_but_where_it_repeats_one() -> None:
    records = parse("huggingface_endpoints", own("huggingface_endpoints"))
    rows = dict(offers("huggingface_endpoints", records).select("plan", "vram_gib").rows())
    assert rows["aws nvidia-h200 x8"] == 141  # 1128 / 8
    assert rows["gcp nvidia-l4 x4"] == 24  # the row repeats the 24 GB of x1
    assert usd_per_gpu_hour("huggingface_endpoints", records, plan="aws nvidia-h200 x8") == 5.125  # 41 / 8
    assert only(records, plan="gcp nvidia-l4 x4").origin == "gcp"
    assert "aws intel-spr x1" not in rows


def test_endpoints_are_gone_from_the_month_that_the_table_names() -> None:
    records = parse("huggingface_endpoints", own("huggingface_endpoints"))
    gone, later, soon = (only(records, plan=f"aws nvidia-{name} {size}") for name, size in MARKED)
    assert (gone.gpu_text, gone.availability) == ("NVIDIA B200", "out_of_stock")
    assert gone.availability_text == "Deprecated from December 2025"
    assert (later.gpu_text, later.availability) == ("NVIDIA H100", "listed_only")
    assert (soon.gpu_text, soon.availability) == ("NVIDIA A10G", "unknown")


MARKED = [("b200", "x2"), ("h100", "x1"), ("a10g", "x1")]


def test_jobs_are_machines_around_the_same_gpu() -> None:
    records = parse("huggingface_jobs", own("huggingface_jobs"))
    small, medium = only(records, plan="Nvidia T4 - small"), only(records, plan="Nvidia T4 - medium")
    assert (small.gpu_text, medium.gpu_text) == ("Nvidia T4", "Nvidia T4")
    assert (small.vcpus, medium.ram) == (4, Quantity(Decimal(30), "GB"))
    row = offers("huggingface_jobs", records).filter(plan="4x Nvidia L4")
    assert (row["price_usd_per_gpu_hour"].item(), row["vram_gib"].item()) == (
        Decimal("0.975"),
        24,
    )  # 3.90 / 4
    assert len(records) == 8  # no CPU machine, no open port


# Fireworks


def test_fireworks_reads_one_table_per_gpu_and_hour() -> None:
    page = own("fireworks")
    records = parse("fireworks", page)
    assert usd_per_gpu_hour("fireworks", records, plan="GB300 288 GB GPU") == 18.3
    assert only(records, plan="MI300X 192 GB GPU").price_state == "contact_sales"
    assert len(records) == 5
    assert "columns are" in refusal(
        "fireworks", changed(page, "$ / hour (billed per second)", "$ / 1M tokens")
    )
    assert "0 tables under this heading" in refusal("fireworks", changed(page, "On demand", "Reserved"))
    assert len(parse("fireworks", changed(page, "On demand deployments", "On-Demand Deployments"))) == 5
