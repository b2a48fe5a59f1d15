"""Clore.ai: servers of private hosts, through the open list of its marketplace.

A row is a whole server and a price is per DAY. Prices are kept in coins; `price.usd` has what they are in USD, by
the coin that is paid: `on_demand_usd` goes before `on_demand_clore` and `on_demand_btc`, which move with their
coin, and the note says which it is. Amounts of coins are never read. `price.original_usd` has, per coin, the least
that a bid for the server must be: the lowest is a bid floor, no price. Fees of the marketplace come on top.

The card stands in one text with its number: "8x NVIDIA GeForce RTX 4090"; where it has none, `gpu_array` counts.
Data centre cards are written together ("Tesla V100SXM232GB"), and a server with several kinds is "Mixed". `gpuram`
is in whole GB per card. A price is of the whole server, so one of whose GPUs some are rented (`partial_gpu_rental`)
is taken.

What stays from night to night is the group with the same cards, memory and country: its cheapest free server stands
for it, or the cheapest taken one. Servers with a reliability below 0.95 are left out, as Vast.ai's are. Prices far
from the median of the card are groups of their own, and passed on as a lower bound, with the reason. Numbers of
servers and owners are not kept.

Shape as many clients read it until October 2026; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.outliers import far_from_median
from scrapers.readers import At, read_json

SOURCE = Source(
    id="clore",
    name="Clore.ai",
    segment="peer_host",
    homepage="https://clore.ai/",
    pricing_url="https://clore.ai/",
    requests=(Request("marketplace", "https://api.clore.ai/v1/marketplace"),),
    allowed_hosts=("api.clore.ai",),
    terms="unknown",
    terms_url="https://clore.ai/",
    terms_note="terms not read; the list answers without a key",
    terms_reviewed_on=date(2026, 6, 18),
    last_proof="2026-10: read by the code of its clients; no answer recorded",
    min_listings=10,
    default_on=False,
    off_reason="private hosts and no recorded answer: turn it on after comparing an answer with the page",
    pace_s=2.0,
)

LEAST_RELIABILITY = Decimal("0.95")
COUNTED = re.compile(r"(\d{1,2})x (.{1,200})")
PAID_IN = {"on_demand_usd": "USD", "on_demand_clore": "CLORE", "on_demand_btc": "bitcoin"}


class Server(NamedTuple):
    """A row of the list, with its cards and its two prices in USD per day."""

    row: At
    card: str
    gpus: int
    is_free: bool
    price: Decimal | None
    paid_in: str
    least_bid: Decimal | None
    is_far: bool = False


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per kind of server and country, and its lowest bid floor.

    Raises:
        PayloadShapeError: No servers, or a field is missing or of another kind.
    """
    servers = At(payload.part, read_json(payload))["servers"]
    kept = [_server(row) for row in servers if _is_reliable(row)]
    if not kept:
        raise servers.broken(f"no server with a reliability of {LEAST_RELIABILITY} or more")
    groups: dict[tuple[object, ...], list[Server]] = defaultdict(list)
    for server in _judged(kept):
        key = server.card, server.gpus, _memory_gb(server.row), _country(server.row), server.is_far
        groups[key].append(server)
    for alike in groups.values():
        yield _on_demand(alike)
        if bids := [server for server in alike if server.least_bid and server.is_free and not server.is_far]:
            yield _bid_floor(bids)


def _is_reliable(row: At) -> bool:
    reliability = row.get("reliability").decimal_or_none()
    return reliability is None or reliability >= LEAST_RELIABILITY


def _server(row: At) -> Server:
    text = row["specs"]["gpu"].text()
    counted = COUNTED.fullmatch(text)
    price, paid_in = _price(row["price"])
    return Server(
        row=row,
        card=counted[2] if counted else text,
        gpus=int(counted[1]) if counted else len(row["gpu_array"]),
        is_free=_is_free(row),
        price=price,
        paid_in=paid_in,
        least_bid=_least_bid(row["price"]),
    )


def _price(prices: At) -> tuple[Decimal | None, str]:
    """The price on demand in USD per day, and the coin that it is for."""
    usd = prices.get("usd")
    for field, coin in PAID_IN.items() if usd else ():
        if price := usd.get(field).decimal_or_none():
            return price, coin
    return None, ""


def _least_bid(prices: At) -> Decimal | None:
    coins = prices.get("original_usd")
    bids = [coin.get("spot").decimal_or_none() for _, coin in coins.items() if coin] if coins else []
    return min((bid for bid in bids if bid and bid > 0), default=None)


def _is_free(row: At) -> bool:
    """Whether the whole server can be had. `partial_gpu_rental` is counts, or only true or false."""
    part = row.get("partial_gpu_rental")
    if isinstance(part.value, dict):
        free, total = part.get("available_gpus").integer_or_none(), part.get("total_gpus").integer_or_none()
        if free is not None and total is not None and free < total:
            return False
    return not row["rented"].flag()


def _judged(servers: list[Server]) -> Iterator[Server]:
    """The servers, each with whether its price per GPU is far from the median of its card."""
    cards: dict[str, list[Server]] = defaultdict(list)
    for server in servers:
        cards[server.card].append(server)
    for alike in cards.values():
        per_gpu = [server.price / max(server.gpus, 1) if server.price else None for server in alike]
        far = far_from_median(per_gpu)
        yield from (server._replace(is_far=is_far) for server, is_far in zip(alike, far, strict=True))


def _memory_gb(row: At) -> Decimal | None:
    return row["specs"].get("gpuram").decimal_or_none()


def _country(row: At) -> str | None:
    network = row["specs"].get("net")
    return network.get("cc").text_or_none() if network else None


def _on_demand(servers: list[Server]) -> Listing:
    best = min(servers, key=lambda one: (not one.is_free, not one.price, one.price or 0))
    return _listing(best, servers, is_bid=False)


def _bid_floor(servers: list[Server]) -> Listing:
    return _listing(min(servers, key=lambda one: one.least_bid or 0), servers, is_bid=True)


def _listing(best: Server, servers: list[Server], *, is_bid: bool) -> Listing:
    memory = _memory_gb(best.row)
    return Listing(
        provider="clore",
        product="spot" if is_bid else "on_demand",
        plan=f"{best.gpus}x {best.card}",
        gpu_text=best.card,
        gpu_count=Decimal(best.gpus),
        gpu_memory=Quantity(memory, "GB") if memory else None,
        price=best.least_bid if is_bid else best.price,
        currency="USD",
        price_per="instance",
        price_unit="day",
        price_state="bid_floor" if is_bid else "from_price" if best.is_far else "priced",
        purchase="spot" if is_bid else "on_demand",
        region_text=_country(best.row),
        availability="in_stock" if best.is_free else "out_of_stock",
        availability_text="free" if best.is_free else "rented, or part of it",
        note="; ".join(_notes(best, len(servers), is_bid=is_bid)),
        place=best.row.place,
    )


def _notes(best: Server, servers: int, *, is_bid: bool) -> Iterator[str]:
    yield f"{'lowest bid floor' if is_bid else 'cheapest'} of {servers} server{'s' * (servers != 1)}"
    if not is_bid and best.paid_in not in ("", "USD"):
        yield f"paid in {best.paid_in}, in USD as the source converts it"
    if best.is_far:
        yield "price far from the median of this card, no price to rank"
    if best.row.get("reliability").value is None:
        yield "reliability not stated"
