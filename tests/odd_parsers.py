"""A provider whose parser does what the answer says: works, raises, hangs, eats memory, dies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.errors import PayloadShapeError

SOURCE = Source(
    id="odd_parsers",
    name="Odd",
    segment="neocloud",
    homepage="https://odd.example/",
    pricing_url="https://odd.example/",
    requests=(Request("prices", "https://odd.example/"),),
    allowed_hosts=("odd.example",),
    terms="open",
    terms_url="https://odd.example/",
    terms_note="ours",
    terms_reviewed_on=date(2026, 11, 30),
    last_proof="undated: made up",
    min_listings=1,
)


def parse(payload: Payload) -> Iterator[Listing]:
    """One listing whose price is the answer, or the fault that it names."""
    match payload.body:
        case b"shape":
            raise PayloadShapeError(payload.part, "plans[3].price", "missing")
        case b"raise":
            raise ZeroDivisionError("a fault of ours")
        case b"hang":
            time.sleep(600)
        case b"eat":
            bytearray(50_000_000_000)
        case b"die":
            os._exit(7)
    yield Listing(
        provider="odd",
        plan="one",
        gpu_text="H100",
        price=Decimal(payload.body.decode()),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand",
        place="top",
    )
