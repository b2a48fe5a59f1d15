"""SaladCloud: containers on private PCs, through the classes of GPUs of its API with a key and an organisation.

A class has a price in USD per GPU and hour for each priority, as a text; vCPUs and RAM are in it. Work of high
priority gives way to nobody, and loses its node only when its owner takes it back; what has a lower priority is also
displaced by higher ones, and is spot here. A priority that a class does not have is missing, or has the price null.

The memory of the card stands in the name, "RTX 4090 (24 GB)". A class such as "Stable Diffusion Compatible" names
no card, for it is any of several: its listing has the name, and no card. `is_high_demand` says that a class is hard
to get; nothing else is said of stock. Only the time in which a container runs is billed.

Shape as documented by the provider and read by clients until September 2026; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Auth, Listing, Payload, Request, Source
from scrapers.readers import At, quantity, read_json

SOURCE = Source(
    id="salad",
    name="SaladCloud",
    segment="peer_host",
    homepage="https://salad.com/",
    pricing_url="https://salad.com/pricing",
    requests=(),
    keyed_requests=(
        Request("gpu_classes", "https://api.salad.com/api/public/organizations/{organization}/gpu-classes"),
    ),
    auth=Auth(
        "SALAD_API_KEY",
        header="Salad-Api-Key",
        template="{key}",
        address_env=(("organization", "SALAD_ORGANIZATION"),),
    ),
    allowed_hosts=("api.salad.com",),
    terms="unknown",
    terms_url="https://salad.com/",
    terms_note="terms not read; the API is documented for customers",
    terms_reviewed_on=date(2026, 4, 9),
    last_proof="2026-09: read by the code of its clients; no answer recorded",
    min_listings=10,
    billing_increment_s=1,
    billing_minimum_s=0,
    billing_source="https://docs.salad.com/container-engine/explanation/billing-pricing/billing",
)

NAME = re.compile(r"(.{1,200}?) \((\d{1,3} GB)\)")
UNDISTURBED = "high"


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per class and priority.

    Raises:
        PayloadShapeError: No class with a price, or a field is missing or of another kind.
    """
    classes = At(payload.part, read_json(payload))["items"]
    prices = [(one, price) for one in classes for price in one["prices"] if price.get("price")]
    if not prices:
        raise classes.broken("no class with a price")
    return (_listing(one, price) for one, price in prices)


def _listing(one: At, price: At) -> Listing:
    name, priority = one["name"].text(), price["priority"].text()
    with_memory = NAME.fullmatch(name)
    is_scarce = one.get("is_high_demand").value is True
    return Listing(
        provider="salad",
        product=f"priority_{priority}",
        plan=name,
        gpu_text=with_memory[1] if with_memory else name,
        gpu_count=Decimal(1),
        gpu_memory=quantity(with_memory[2]) if with_memory else None,
        price=price["price"].decimal(),
        currency="USD",
        price_per="gpu",
        price_unit="hour",
        purchase="on_demand" if priority.lower() == UNDISTURBED else "spot",
        availability="low" if is_scarce else "unknown",
        availability_text="is_high_demand" if is_scarce else None,
        place=price.place,
    )
