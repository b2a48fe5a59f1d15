"""Akash Network: leases from many providers, through the statistics of bids that its own price page shows.

Prices are per GPU and hour in USD, worked out by the source from the bids of the last weeks: the least, the most,
the mean, the weighted mean and the median. None of them is an offer. Least and most hold outliers, so the median
is passed on, as a lower bound that is never ranked; the note has the other two. A model on which nobody bid has
the price null, and its listing has none.

`ram` is of one card, such as "80Gi". `availability` counts the GPUs of the whole network: free and all. The total
over all models beside the list is not read, nor are the bids and addresses of single providers.

Shape as its clients read it in September 2026; no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapers.contract import Listing, Payload, Request, Source
from scrapers.readers import At, quantity, read_json

SOURCE = Source(
    id="akash",
    name="Akash Network",
    segment="peer_host",
    homepage="https://akash.network/",
    pricing_url="https://akash.network/pricing/gpus/",
    requests=(Request("gpu_prices", "https://console-api.akash.network/v1/gpu-prices"),),
    allowed_hosts=("console-api.akash.network",),
    terms="unknown",
    terms_url="https://akash.network/",
    terms_note="the console API is open and feeds the public price page; terms not read",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09: read by the code of its clients; no answer recorded",
    min_listings=8,
    billing_increment_s=6,
    billing_source="https://akash.network/docs/",
)

BINARY_UNIT = re.compile(r"\d{1,6}[GM]i")


def parse(payload: Payload) -> Iterator[Listing]:
    """A listing per model with its median bid, or without a price where nobody bid.

    Raises:
        PayloadShapeError: No models, or a field is missing or of another kind.
    """
    models = At(payload.part, read_json(payload))["models"]
    if not len(models):
        raise models.broken("an empty list, where every model of the network is due")
    for model in models:
        yield _listing(model)


def _listing(model: At) -> Listing:
    name = model["model"].text()
    form = model.get("interface").text_or_none()
    ram = model.get("ram").text_or_none()
    bids = model.get("price")
    free, all_gpus = model["availability"]["available"].integer(), model["availability"]["total"].integer()
    return Listing(
        provider="akash",
        product="leases",
        plan=" ".join(part for part in (name, ram, form) if part),
        gpu_text=name,
        gpu_count=Decimal(1),
        gpu_memory=quantity(f"{ram}B") if ram and BINARY_UNIT.fullmatch(ram) else None,
        form_factor_text=form,
        price=bids["med"].decimal() if bids else None,
        currency=bids["currency"].text() if bids else None,
        price_per="gpu",
        price_unit="hour",
        price_state="from_price" if bids else "priced",
        purchase="on_demand",
        availability="in_stock" if free > 0 else "out_of_stock",
        availability_text=f"{free} of {all_gpus} GPUs free",
        available_count=free,
        note=_note(bids) if bids else "nobody bid on this model",
        place=model.place,
    )


def _note(bids: At) -> str:
    least, most = (bids.get(name).decimal_or_none() for name in ("min", "max"))
    span = "" if least is None or most is None else f" between {least} and {most}"
    return f"median of recent bids{span}, not an offer"
