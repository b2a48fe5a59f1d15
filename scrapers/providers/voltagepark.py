"""Voltage Park: whole HGX H100 nodes, through the list of locations that its dashboard reads without a login.

Prices are texts in USD per GPU and hour, one for nodes on Ethernet and one for nodes on InfiniBand of 3200 Gb/s;
the currency is not in the answer, and is that of the price page, which prints the Ethernet price. A node holds 8
GPUs: this says how many are sold together, and multiplies or divides nothing. The counts beside the prices are of
free GPUs, and stand at 0 for weeks while the prices stay. A location is a number without a name, so that nothing
says where it is, and the cheapest one with stock stands for all.

The list is one page; a further one would be a new shape and is refused. Ready-made virtual machines are another
list, which its maker calls outdated; it is not asked.

The price page is read from files, to check the list. It has cards: what is sold ("On-Demand, Ethernet"), a price that
is per GPU though it says "/hr", and lines of which one says how many GPUs can be had ("1-1016 HGX H100 GPUs"): the
lowest number is the smallest order. "Long-Term Reserve" is reserved, without a term. Since 2026 every card says
"Contact for pricing"; the "starting at" of the questions further down is no card, and is not read.

Shape of the list as read by a price index on 2026-08-25, of the page as described between July 2025 and September
2026; no answer of either was recorded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Listing, PageCount, Payload, PurchaseKind, Quantity, Record, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, html, money, number, read_json, text

SOURCE = Source(
    id="voltagepark",
    name="Voltage Park",
    segment="neocloud",
    homepage="https://www.voltagepark.com/",
    pricing_url="https://www.voltagepark.com/pricing",
    requests=(Request("locations", "https://cloud-api.voltagepark.com/api/v1/bare-metal/locations"),),
    allowed_hosts=("cloud-api.voltagepark.com",),
    terms="unknown",
    terms_url="https://www.voltagepark.com/",
    terms_note="terms not read; the list answers without a login",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-08-25: read by a price index; no answer recorded",
    min_listings=1,
)

FABRICS = {"ethernet": "Ethernet", "infiniband": "InfiniBand 3200 Gb/s"}
PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
PLAN = re.compile(r"(on[- ]demand|reserved?|long[- ]term)\b.{0,60}", re.IGNORECASE)
ORDER = re.compile(
    r"(\d[\d,]*+)\+?(?: ?(?:-|–|—|to) ?\d[\d,]*+\+?)? ((?:NVIDIA )?(?:HGX )?[A-Z]{1,2}\d{2,3}\w{0,5})",
    re.IGNORECASE,
)
LONGEST_LINE = 200
MOST_TAGS = 60  # of a card: what follows the last one, such as the questions, is not of it


def parse(payload: Payload) -> Iterator[Record]:
    """A listing per model of GPU and fabric, and how many locations the list has; or one per card of the page.

    Raises:
        PayloadShapeError: No locations, more than one page, or a field is missing or of another kind; no card.
    """
    if PAGE_START.match(payload.body):
        yield from _page(payload)
        return
    top = At(payload.part, read_json(payload))
    locations = list(top["results"])
    if not locations:
        raise top["results"].broken("an empty list, where every location is due")
    if top.get("has_next").value:
        raise top["has_next"].broken("a further page, and nothing says how it is asked for")
    groups: dict[tuple[str, str], list[At]] = defaultdict(list)
    for location in locations:
        for fabric in FABRICS:
            groups[location["specs_per_node"]["gpu_model"].text(), fabric].append(location)
    for (model, fabric), offers in groups.items():
        yield _listing(model, fabric, offers)
    yield PageCount(
        list_name="bare-metal locations",
        declared=top["total_result_count"].integer(),
        rows=len(locations),
        place="total_result_count",
    )


def _order(price: Decimal, free: int | None) -> tuple[bool, bool, Decimal]:
    """What can be had comes first, then what has a price, then the cheaper."""
    return not free, not price, price


def _listing(model: str, fabric: str, locations: list[At]) -> Listing:
    price_field, count_field = f"gpu_price_{fabric}", f"gpu_count_{fabric}"
    best = min(
        locations, key=lambda at: _order(at[price_field].decimal(), at.get(count_field).integer_or_none())
    )
    specs = best["specs_per_node"]
    free = best.get(count_field).integer_or_none()
    ram, disk = specs.get("ram_gb").decimal_or_none(), specs.get("storage_gb").decimal_or_none()
    return Listing(
        provider="voltagepark",
        product=fabric,
        plan=f"{model} {fabric}",
        gpu_text=model,
        gpu_count=specs["gpu_count"].decimal(),
        fabric_text=FABRICS[fabric],
        ram=Quantity(ram, "GB") if ram else None,
        disk=Quantity(disk, "GB") if disk else None,
        price=best[price_field].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        availability="unknown" if free is None else "in_stock" if free > 0 else "out_of_stock",
        availability_text=None if free is None else f"{free} GPUs free",
        available_count=free,
        note=f"cheapest of {len(locations)} locations" if len(locations) > 1 else None,
        place=best.place,
    )


def _page(payload: Payload) -> list[Listing]:
    """A listing for each card that names a way to buy; a card that stands twice is one."""
    priced = [card for card in _cards(html(payload)) if PLAN.fullmatch(card[0]) and card[1]]
    cards = {tuple(card[:3]): card for card in priced}
    if not cards:
        problem = "no card of a name such as 'On-Demand, Ethernet' with a price"
        raise PayloadShapeError(payload.part, ".text-eyebrow", problem)
    models = {found[2] for card in cards.values() for line in card[2:] if (found := ORDER.search(line))}
    if not models:
        raise PayloadShapeError(payload.part, ".text-eyebrow", "no line such as '1-1016 HGX H100 GPUs'")
    return [
        _of_card(payload.part, f"card {index}", card, models) for index, card in enumerate(cards.values())
    ]


def _cards(page: Tag) -> Iterator[list[str]]:
    """The texts of each card: its name, its price or "", and the lines up to the next name that hold an order."""
    card: list[str] = []
    left = 0
    for tag in page.find_all(["div", "p", "span", "li", *(f"h{level}" for level in range(1, 7))]):
        classes = tag.get("class") or ()
        left -= 1
        if "text-eyebrow" in classes:
            if card:
                yield card
            card, left = [text(tag), ""], MOST_TAGS
        elif left > 0 and not card[1] and "heading-style-h3" in classes:
            said = money(shown := text(tag))
            card[1] = shown if said.is_contact or said.amount is not None else ""
        elif left > 0 and tag.find(["div", "p", "li"]) is None:
            line = text(tag)[:LONGEST_LINE]
            card += [line] if ORDER.search(line) and line not in card else []
    if card:
        yield card


def _of_card(part: str, place: str, card: list[str], models: set[str]) -> Listing:
    """The listing of a card; without a line of its own it sells the one model of all the other cards."""
    name, price, *lines = card
    said = money(price)
    if not price or said.unit not in (None, "hour") or said.per not in (None, "gpu"):
        raise PayloadShapeError(part, place, f"{short(price)} is no price per GPU and hour, nor 'Contact'")
    order = ORDER.search(lines[0]) if lines else None
    if order is None and len(models) > 1:
        raise PayloadShapeError(part, place, "no line that says which GPU, and the other cards have several")
    fabric = next((key for key in FABRICS if key in name.lower()), None)
    purchase: PurchaseKind = "on_demand" if name.lower().startswith("on") else "reserved"
    return Listing(
        provider="voltagepark",
        product=fabric or purchase,
        plan=name,
        gpu_text=(order[2] if order else min(models)).removesuffix("s"),
        gpu_count=number(order[1]) if order else None,
        fabric_text=FABRICS[fabric] if fabric else None,
        price=said.amount,
        currency=said.currency,
        price_per="gpu",
        price_unit="hour",
        price_state=said.state,
        purchase=purchase,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=price if said.amount is None else None,
        note=lines[0] if lines else "the card names no GPU; the others name this one",
        place=place,
    )
