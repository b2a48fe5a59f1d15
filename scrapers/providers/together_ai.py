"""Together AI: hardware for dedicated endpoints, through its API, which needs a key. Off by default.

robots.txt of the site is reported to disallow all crawlers, so the price page is not asked. The API is documented:
`priceCentsPerHour` is in US cents for a replica with all its `gpuCount` cards, on demand; the listing has dollars.
`gpuMemoryGib` is of one card. Each region of a type is a listing. `headroom` is how many more replicas fit there now,
exactly or at least so many; where it is missing nothing is known. The list comes whole; a cursor for more is an error.

An older list, /v1/hardware, has cents per minute, and still holds hardware that new endpoints cannot have (A100, L40S);
it is not asked. The prices are those of dedicated inference, which are not those of GPU clusters: the page has an "HGX
B200" under each of the two, at different prices. B300 and GB300 are said to be sold by contract.

Shape as the provider's client library describes the answer in 2026; no answer of it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from scrapers.contract import Auth, Availability, Listing, Payload, Quantity, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="together_ai",
    name="Together AI",
    segment="serverless",
    homepage="https://www.together.ai/",
    pricing_url="https://www.together.ai/pricing",
    requests=(),
    keyed_requests=(Request("instance_types", "https://api.together.ai/v2/public/inference-instance-types"),),
    auth=Auth("TOGETHER_API_KEY"),
    allowed_hosts=("api.together.ai",),
    terms="restricted",
    terms_url="https://www.together.ai/terms-of-service",
    terms_note="robots.txt of the site is reported to disallow all crawlers; the documented API is for key holders",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="2026: described by the client library of the provider; no answer recorded",
    min_listings=3,
    default_on=False,
    off_reason="robots.txt is reported to disallow all crawlers; turn it on to ask the documented API with your key",
    billing_increment_s=60,
    billing_source="https://docs.together.ai/docs/dedicated-endpoints/pricing",
)

CENTS_PER_USD = 100
IS_EXACT = {"RELATION_EQ": True, "RELATION_GTE": False}


def parse(payload: Payload) -> list[Listing]:
    """One listing for each instance type and region; without a region where none is named.

    Raises:
        PayloadShapeError: A field is missing or of another kind, the list is empty, or it has more pages.
    """
    answer = At(payload.part, read_json(payload))
    rows = answer["data"]
    if not len(rows):
        raise rows.broken("no instance type")
    if answer.get("next_cursor"):
        raise answer["next_cursor"].broken("the list has more pages, which are not asked for")
    return [listing for row in rows for listing in _listings(row)]


def _listings(row: At) -> Iterator[Listing]:
    regions = list(row["regions"])
    for region in regions:
        state, said, count = _headroom(region.get("headroom"))
        yield _listing(row, region["name"].text(), state, said, count, region.place)
    if not regions:
        yield _listing(row, None, "unknown", None, None, row.place)


def _headroom(headroom: At) -> tuple[Availability, str | None, int | None]:
    """Whether more replicas fit, what says so, and how many where the number is exact."""
    if not headroom:
        return "unknown", None, None
    relation = headroom["relation"].text()
    if relation not in IS_EXACT:
        raise headroom["relation"].broken("neither RELATION_EQ nor RELATION_GTE")
    value = headroom.get("value").integer_or_none()
    if value is None:
        return "unknown", None, None
    state: Availability = "in_stock" if value > 0 else "out_of_stock"
    return state, f"headroom {value} {relation}", value if IS_EXACT[relation] else None


def _listing(
    row: At, region: str | None, state: Availability, said: str | None, count: int | None, place: str
) -> Listing:
    return Listing(
        provider="together_ai",
        product="dedicated_endpoints",
        plan=row["id"].text(),
        gpu_text=row["gpuType"].text(),
        gpu_count=row["gpuCount"].decimal(),
        gpu_memory=Quantity(row["gpuMemoryGib"].decimal(), "GiB"),
        price=row["priceCentsPerHour"].decimal() / CENTS_PER_USD,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        region_text=region,
        availability=state,
        availability_text=said,
        available_count=count,
        place=place,
    )
