"""DigitalOcean GPU Droplets: the public price page, or with a token the API of sizes.

The page has cards. Prices are in USD per GPU and hour, for droplets of 1 or 8; memory, vCPUs and disks are of the
whole droplet. "On-Demand Price" cards carry the size in their sign-up link (or "undefined"). "Reserved Price" cards
are lower bounds ("as low as") for a contract of so many months as their text says; they print no memory, and get
that of the on-demand card of the same GPUs. The class StyledStrikeThrough is on prices that are not struck too; of
two prices, the struck one has a second, generated class. A disk may be drawn as a dash.

The API gives the price of the droplet per hour. A size with regions can be created in them; with none, or when it
is not available, it is out of stock. Sizes without a GPU are not read. Sizes by contract are not in the list.

A droplet that is powered off is billed on. The billing increment of GPU droplets is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from urllib.parse import parse_qsl, unquote, urlsplit

from bs4 import Tag

from scrapers.contract import Auth, Listing, PageCount, Payload, PurchaseKind, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, holds_json, html, money, number, quantity, read_json, text

URL = "https://www.digitalocean.com/pricing/gpu-droplets"

SOURCE = Source(
    id="digitalocean",
    name="DigitalOcean GPU Droplets",
    segment="neocloud",
    homepage="https://www.digitalocean.com/",
    pricing_url=URL,
    requests=(Request("gpu_droplets", URL),),
    keyed_requests=(Request("sizes", "https://api.digitalocean.com/v2/sizes?per_page=500"),),
    auth=Auth("DIGITALOCEAN_TOKEN"),
    allowed_hosts=("www.digitalocean.com", "api.digitalocean.com"),
    terms="unknown",
    terms_url="https://www.digitalocean.com/legal/terms-of-service-agreement",
    terms_note="terms not read; the API allows 5,000 calls an hour",
    terms_reviewed_on=date(2026, 5, 28),
    last_proof="2026-08-19: answer of the API recorded and parsed, as the page of 2025-07-07",
    min_listings=3,
)

CARD = "[class*=StyledCardPricingCard]"
LABELS: dict[str, PurchaseKind] = {"on-demand price": "on_demand", "reserved price": "reserved"}
NAME = re.compile(r"(.+?) ?x(\d+)")
SIZE = re.compile(r"size=(gpu-[\w-]+)")
TERM = re.compile(r"commitment of (\d+) months")


def parse(payload: Payload) -> list[Listing | PageCount]:
    """The GPU droplets of the page, or of the API with the number of all sizes.

    Raises:
        PayloadShapeError: A card without its parts, a field is missing, or nothing has a price.
    """
    counts: list[PageCount] = []
    if _is_api(payload):
        answer = At(payload.part, read_json(payload))
        listings = list(_api_listings(answer))
        is_part = bool(answer["links"].get("pages").value)
        meta = answer.get("meta")
        if meta and meta.get("total"):
            rows = len(answer["sizes"])
            counts = [
                PageCount(list_name="sizes", declared=meta["total"].integer(), rows=rows, place="meta.total")
            ]
    else:
        cards = html(payload).select(CARD)
        listings = _with_memory(
            [_card_listing(payload.part, f"card {index}", card) for index, card in enumerate(cards)]
        )
        is_part = False
    if not is_part and not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, f"cards {CARD} or sizes", "no GPU droplet with a price")
    return [*listings, *counts]


def follow(payload: Payload) -> list[Request]:
    """The next page of the API's list, if there is one."""
    if not _is_api(payload):
        return []
    pages = At(payload.part, read_json(payload))["links"].get("pages")
    following = pages.get("next").text_or_none() if pages.value else None
    if following is None:
        return []
    page = dict(parse_qsl(urlsplit(following).query)).get("page", "next")
    return [Request(f"sizes_{page}", following)]


def _is_api(payload: Payload) -> bool:
    return holds_json(payload)


def _card_listing(part: str, place: str, card: Tag) -> Listing:
    heading, label = card.select_one("h3"), card.select_one("[class*=StyledPriceContainer] p")
    label_text = text(label).lower() if label else ""
    if heading is None or label_text not in LABELS:
        problem = f"no h3, or the price has the label {short(label_text)}, which is none of {list(LABELS)}"
        raise PayloadShapeError(part, place, problem)
    price = _price_text(part, place, card)
    said = money(price)
    if said.amount is not None and (said.unit, said.per) != ("hour", "gpu"):
        raise PayloadShapeError(part, place, f"{short(price)} is no price per GPU and hour")
    name = text(heading)
    counted = NAME.fullmatch(name)
    specs = _specs(card)
    size = SIZE.search(unquote(" ".join(str(link["href"]) for link in card.select("a[href]"))))
    term = TERM.search(text(card))
    purchase = LABELS[label_text]
    if purchase == "reserved":
        said = replace(said, is_from=True)
    return Listing(
        provider="digitalocean",
        product="gpu_droplets",
        plan=size[1] if size else name,
        gpu_text=counted[1] if counted else name,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase=purchase,
        place=place,
        gpu_count=number(specs.get("GPUs per Droplet", counted[2] if counted else "")),
        gpu_memory=quantity(specs.get("GPU Memory", "")),
        vcpus=number(specs.get("Droplet vCPUs", "")),
        ram=quantity(specs.get("Droplet Memory", "")),
        disk=quantity(specs.get("Boot Disk", "")),
        term_months=int(term[1]) if term and purchase == "reserved" else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=price or None if said.amount is None else None,
        note=f"Scratch Disk: {specs['Scratch Disk']}" if specs.get("Scratch Disk") else None,
    )


def _with_memory(listings: list[Listing]) -> list[Listing]:
    """The listings, with the memory of a card that prints none taken from the card of the same GPUs."""
    printed = {(row.gpu_text, row.gpu_count): row.gpu_memory for row in listings if row.gpu_memory}
    return [
        replace(row, gpu_memory=memory, gpu_memory_is_total=True)
        if (memory := row.gpu_memory or printed.get((row.gpu_text, row.gpu_count)))
        else row
        for row in listings
    ]


def _price_text(part: str, place: str, card: Tag) -> str:
    """The price that is not struck: the only one, or the only one without a generated class."""
    prices = list(card.select("[class*=StyledPriceContainer] > span"))
    if len(prices) > 1:
        prices = [price for price in prices if len(price.get("class") or []) < 2]
    if len(prices) > 1:
        raise PayloadShapeError(part, place, f"{len(prices)} prices that are not struck")
    return text(prices[0]) if prices else ""


def _specs(card: Tag) -> dict[str, str]:
    pairs = [item.find_all("span", recursive=False) for item in card.select("[class*=StyledSpecList] > li")]
    return {text(pair[0]): text(pair[1]) for pair in pairs if len(pair) == 2}


def _api_listings(answer: At) -> Iterator[Listing]:
    for size in answer["sizes"]:
        if size.get("gpu_info").value is None:
            continue
        regions = list(size["regions"])
        for region in regions:
            yield _api_listing(size, region.text(), is_available=size["available"].flag())
        if not regions:
            yield _api_listing(size, None, is_available=False)


def _api_listing(size: At, region: str | None, *, is_available: bool) -> Listing:
    gpu = size["gpu_info"]
    parts = size.get("disk_info")
    disks = {disk["type"].text(): _amount(disk["size"]) for disk in parts} if parts.value else {}
    scratch = disks.get("scratch")
    return Listing(
        provider="digitalocean",
        product="gpu_droplets",
        plan=size["slug"].text(),
        gpu_text=gpu["model"].text(),
        price=size["price_hourly"].decimal(),
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        place=size.place,
        gpu_count=gpu["count"].decimal(),
        gpu_memory=_amount(gpu["vram"]),
        gpu_memory_is_total=True,
        vcpus=size["vcpus"].decimal(),
        ram=Quantity(size["memory"].decimal(), "MiB"),
        disk=disks.get("local"),
        region_text=region,
        availability="in_stock" if is_available else "out_of_stock",
        availability_text=None if is_available else "no regions" if region is None else "available: false",
        note=f"Scratch Disk: {scratch.amount} {scratch.unit}" if scratch else None,
    )


def _amount(size: At) -> Quantity | None:
    return quantity(f"{size['amount'].decimal()} {size['unit'].text()}")
