"""Kakao Cloud: the rate card that the public price calculator ships with, in won (KRW).

The page holds it as JSON in `__NEXT_DATA__`: groups of products, their formulas, the inputs of these, and items with a
price. A GPU machine is an item of the group "Compute" whose `productPricing` names an `accelerator`; the others are
CPU machines and are not read. `unitPrice` is for the whole machine per `unit`, a Korean word of time. Of several prices
of an item the first is the one of the calculator. The same machine stands under several formulas: once is enough, and
where two differ both are listed. Storage is not read: how its unit is written is not known.

Shape: by the keys that a reader of autumn 2026 took, no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Literal

from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.readers import At, html, read_json

URL = "https://www.kakaocloud.com/pricing/calculator"

SOURCE = Source(
    id="kakao",
    name="Kakao Cloud",
    segment="hyperscaler",
    homepage="https://kakaocloud.com/",
    pricing_url=URL,
    requests=(Request("calculator", URL),),
    allowed_hosts=("www.kakaocloud.com", "kakaocloud.com"),
    terms="unknown",
    terms_url="https://kakaocloud.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: read by the code of a reader; no answer recorded",
    min_listings=3,
)

UNITS: dict[str, Literal["second", "minute", "hour", "day", "month"]] = {
    "초": "second",
    "분": "minute",
    "시간": "hour",
    "일": "day",
    "월": "month",
}


def parse(payload: Payload) -> list[Listing]:
    """The GPU machines of the rate card.

    Raises:
        PayloadShapeError: The rate card is not where it was, a field is missing, or it has no GPU machine.
    """
    groups = _rate_card(payload)
    listings = {
        (listing.plan, listing.price): listing for item in _items(groups) for listing in _listings(item)
    }
    if not listings:
        raise groups.broken("no item of the group Compute with an accelerator")
    return list(listings.values())


def _rate_card(payload: Payload) -> At:
    script = html(payload).select_one("script#__NEXT_DATA__")
    if script is None or not script.string:
        raise PayloadShapeError(payload.part, "script#__NEXT_DATA__", "not in the page")
    data = read_json(replace(payload, body=script.string.encode(), content_type="application/json"))
    queries = At(payload.part, data)["props"]["pageProps"]["dehydratedState"]["queries"]
    return queries[0]["state"]["data"]


def _items(groups: At) -> Iterator[At]:
    for group in groups:
        if group["title"].text() != "Compute":
            continue
        for formula in group["formulas"]:
            for field in formula["inputs"]:
                yield from field.get("items") or ()


def _listings(item: At) -> Iterator[Listing]:
    pricing = next(iter(item.get("productPricing") or ()), None)
    facts = pricing.get("metadata") if pricing else None
    gpu = facts.get("accelerator").text_or_none() if facts else None
    if pricing is None or facts is None or gpu is None:
        return
    unit = facts["unit"].text()
    if unit not in UNITS:
        raise facts["unit"].broken(f"{unit!r} is none of {', '.join(UNITS)}")
    ram = facts.get("memory").decimal_or_none()
    yield Listing(
        provider="kakao",
        plan=item["title"].text(),
        gpu_text=gpu,
        vcpus=facts.get("cpu").decimal_or_none(),
        ram=None if ram is None else Quantity(ram, "GB"),
        price=pricing["unitPrice"].decimal_or_none(),
        currency="KRW",
        price_per="instance",
        price_unit=UNITS[unit],
        purchase="on_demand",
        availability="listed_only",
        place=pricing.place,
    )
