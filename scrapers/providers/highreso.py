"""HIGHRESO (GPUSOROBAN): the service cards of the public English page. Prices are in yen.

A card is an `article.card` with a list of `dt` and `dd`. Each has a measure of its own: the cluster of B200 is "from"
a price per GPU and minute, the AI supercomputer of H200 is per node and month, and the cloud of smaller GPUs is "from"
a price per hour for the smallest of a range ("A4000 / A100"). "¥" is yen here. Memory is of the whole node.
"Interconnect" is the link within a node where it names NVLink, and the network of the nodes where not. A price
per month is that of one month, the least that is sold. Cards without a GPU or a price are not read.

Shape: two cards as a reader recorded them in autumn 2026, the third from its reader; no whole page was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Literal

from bs4 import Tag

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import html, number, quantity, text

URL = "https://highreso.jp/en/"

SOURCE = Source(
    id="highreso",
    name="HIGHRESO (GPUSOROBAN)",
    segment="neocloud",
    homepage="https://highreso.jp/en/",
    pricing_url=URL,
    requests=(Request("home", URL),),
    allowed_hosts=("highreso.jp",),
    terms="unknown",
    terms_url="https://highreso.jp/en/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: two cards of the page recorded by a reader; no whole page recorded",
    min_listings=1,
)

GPU_LABELS = ("gpu", "gpu lineup")
GPU = re.compile(r"(?P<name>.+?) ?[×x] ?(?P<count>\d{1,2}) ?/ ?node", re.IGNORECASE)
MEMORY = re.compile(r"(?P<total>[\d,]+ ?[GT]B) ?/ ?node", re.IGNORECASE)


def parse(payload: Payload) -> list[Listing]:
    """The cards that have a GPU and a price.

    Raises:
        PayloadShapeError: A price that is not understood, or no card with a price.
    """
    cards = html(payload).select("article.card")
    listings = [listing for card in cards for listing in _listings(payload.part, card)]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, "article.card", "no card of a GPU with a price")
    return listings


def _listings(part: str, card: Tag) -> Iterator[Listing]:
    facts = {text(term).lower(): text(value) for term, value in _pairs(card)}
    gpu = next((facts[label] for label in GPU_LABELS if label in facts), None)
    heading = card.find(["h2", "h3", "h4"])
    if gpu is None or "pricing" not in facts or not isinstance(heading, Tag):
        return
    place = f"card '{text(heading)}'"
    said = priced(
        part,
        place,
        facts["pricing"],
        currencies=("JPY", None),
        units=("minute", "hour", "month"),
        pers=(None, "gpu", "instance"),
    )
    node, memory = GPU.match(gpu), MEMORY.match(facts.get("gpu memory", ""))
    wiring = facts.get("interconnect", "")
    is_monthly = said.unit == "month"
    price_per: Literal["gpu", "instance"] = "gpu" if said.per == "gpu" or node is None else "instance"
    yield Listing(
        provider="highreso",
        plan=text(heading),
        gpu_text=node["name"] if node else gpu,
        gpu_count=number(node["count"]) if node else None,
        gpu_memory=quantity(memory["total"]) if memory else None,
        gpu_memory_is_total=memory is not None,
        link_text=wiring if "nvlink" in wiring.lower() else None,
        fabric_text=wiring if wiring and "nvlink" not in wiring.lower() else None,
        price=said.amount,
        currency=None if said.amount is None else "JPY",
        price_per=price_per,
        price_unit=said.unit or "hour",
        price_state=said.state,
        purchase="reserved" if is_monthly else "on_demand",
        term_months=1 if is_monthly else None,
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=facts["pricing"] if said.amount is None else None,
        place=place,
    )


def _pairs(card: Tag) -> Iterator[tuple[Tag, Tag]]:
    for term in card.select("dl dt"):
        value = term.find_next_sibling("dd")
        if isinstance(value, Tag):
            yield term, value
