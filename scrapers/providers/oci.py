"""Oracle Cloud Infrastructure: the product list of the cost estimator, all of Oracle Cloud in one answer.

A GPU is a product with the metric "GPU Per Hour", priced in the asked currency per GPU and hour, the same in
every commercial region. How many GPUs are sold together is not said: most come as whole bare-metal nodes of four
or eight, A10 and V100 ("V2") also in virtual machines. The facts about names hold the smallest shape of each.
Preemptible machines cost half by Oracle's rule, and can be had of virtual machines alone. None has been seen in
the list; so each product that is sold as a virtual machine gives a second listing, derived by that rule, unless
the list names a preemptible one of its own.

* Look-alikes with the same metric: licences ("NVIDIA AI Enterprise - ..."), Cloud@Customer (machines in the
  customer's own building), and "H100T", which is no public shape. Others differ in the metric: VMware is per
  node, Roving Edge devices (RED.2) are per day.
* Names come with and without "OCI - ", with double and missing spaces ("OCI- Compute - GPU - MI355X"), and some
  name a generation of the shape, not a chip ("GPU Standard - V2", "GPU - E3"). They are passed on as said.
* Tiers (rangeMin, rangeMax) occur with storage and traffic, not with GPUs. Traffic to the internet has one product
  for each part of the world, the first tier of which is free.
* A block volume is billed by its size and by its performance: ten units per GB at the level "balanced", which is the
  one that a volume has unless another is chosen
  (https://docs.oracle.com/en-us/iaas/Content/Block/Concepts/blockvolumeperformance.htm).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal

from scrapers.contract import Extra, Listing, Payload, Record, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="oci",
    provider="oracle",
    name="Oracle Cloud Infrastructure",
    segment="hyperscaler",
    homepage="https://www.oracle.com/cloud/",
    pricing_url="https://www.oracle.com/cloud/compute/gpu/",
    requests=(
        # Without the slash before "?" there is no answer.
        Request("products", "https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD"),
    ),
    allowed_hosts=("apexapps.oracle.com",),
    terms="unknown",
    terms_url="https://www.oracle.com/legal/terms/",
    terms_note="The price list is open without a key; the terms were not read.",
    terms_reviewed_on=date(2025, 7, 1),
    last_proof="2026-10-01: price list recorded and parsed",
    min_listings=7,
    billing_increment_s=1,
    billing_source="https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/resource-billing-stopped-instances.htm",
)

SOLD_AS_VM = re.compile(r"Virtual Machine|\bA10\b|GPU Standard - V2")
PREEMPTIBLE = re.compile(r"(?<!\s)\s*+-?\s*+\bPreemptible\b", re.IGNORECASE)
NOT_A_GPU_OFFER = re.compile(r"^\s*NVIDIA AI Enterprise|Cloud@Customer|VMware|\bH100T\b|\bRED\.2\b")
PREEMPTIBLE_RULE = "https://docs.oracle.com/en-us/iaas/Content/Compute/Concepts/preemptible.htm"
PREEMPTIBLE_NOTE = "preemptible: half of the on-demand price, by the rule that Oracle publishes"
COUNT_NOTE = "the list does not say how many GPUs are sold together"
TRAFFIC = re.compile(r"(?:OCI ?- ?)?Outbound Data Transfer - Originating in (.+)")
BLOCK_STORAGE = re.compile(r"(?:OCI ?- ?)?Storage - Block Volume - Storage")
BLOCK_PERFORMANCE = re.compile(r"(?:OCI ?- ?)?Storage - Block Volume - Performance Units")
BALANCED_UNITS_PER_GB = 10


def parse(payload: Payload) -> Iterator[Record]:
    """One listing for each product that is a GPU by the hour, those that follow by rule, disks and traffic.

    Raises:
        PayloadShapeError: No `items`, or a GPU product without exactly one pay-as-you-go price.
    """
    products = list(At(payload.part, read_json(payload))["items"])
    listings = [_listing(product) for product in products if _is_gpu(product)]
    yield from listings
    named_as_spot = {_spelling(listing) for listing in listings if listing.purchase == "spot"}
    for listing in listings:
        if listing.product == "vm_gpu" and listing.price and _spelling(listing) not in named_as_spot:
            yield _preemptible(listing, listing.price)
    for product in products:
        yield from _traffic(product)
    yield from _block_volume(products)


def _spelling(listing: Listing) -> str:
    """The name of the GPU without the double spaces that some products have."""
    return " ".join(listing.gpu_text.split())


def _is_gpu(product: At) -> bool:
    if product["metricName"].text() != "GPU Per Hour":
        return False
    return not NOT_A_GPU_OFFER.search(product["displayName"].text())


def _name(product: At) -> str:
    return product.get("displayName").text_or_none() or ""


def _prices(product: At) -> tuple[str, list[At]]:
    """The currency and the pay-as-you-go prices of a product."""
    local = product["currencyCodeLocalizations"][0]
    prices = [price for price in local["prices"] if price["model"].text() == "PAY_AS_YOU_GO"]
    return local["currencyCode"].text(), prices


def _listing(product: At) -> Listing:
    currency, prices = _prices(product)
    name = product["displayName"].text()
    if len(prices) != 1:
        stated = product["currencyCodeLocalizations"][0]["prices"]
        raise stated.broken(f"one PAY_AS_YOU_GO price is due, found {len(prices)}")
    return Listing(
        provider="oracle",
        plan=product["partNumber"].text(),
        product="vm_gpu" if SOLD_AS_VM.search(name) else "bare_metal_gpu",
        gpu_text=PREEMPTIBLE.sub("", name),
        price=prices[0]["value"].decimal(),
        currency=currency,
        price_per="gpu",
        price_unit="hour",
        purchase="spot" if PREEMPTIBLE.search(name) else "on_demand",
        note=COUNT_NOTE,
        place=product.place,
    )


def _preemptible(listing: Listing, price: Decimal) -> Listing:
    return replace(
        listing,
        product="preemptible",
        purchase="spot",
        price=price / 2,
        evidence="derived",
        source_url=PREEMPTIBLE_RULE,
        note=f"{PREEMPTIBLE_NOTE}; {COUNT_NOTE}",
    )


def _traffic(product: At) -> Iterator[Extra]:
    """The tiers of traffic to the internet that begins in one part of the world."""
    found = TRAFFIC.fullmatch(_name(product))
    if not found or product["metricName"].text() != "Gigabyte Outbound Data Transfer Per Month":
        return
    currency, prices = _prices(product)
    for price in prices:
        yield Extra(
            provider="oracle",
            kind="egress",
            name="outbound data transfer",
            price=price["value"].decimal(),
            currency=currency,
            per="gb",
            region_text=found[1],
            from_gb=price.get("rangeMin").decimal_or_none() or Decimal(0),
            place=product.place,
        )


def _block_volume(products: list[At]) -> Iterator[Extra]:
    """A GB of a block volume of the balanced level, where the list has both of its parts."""
    parts = [_single_price(products, name) for name in (BLOCK_STORAGE, BLOCK_PERFORMANCE)]
    size, performance = parts
    if not size or not performance:
        return
    yield Extra(
        provider="oracle",
        kind="storage",
        name=f"block volume, balanced ({BALANCED_UNITS_PER_GB} performance units per GB)",
        price=size[1]["value"].decimal() + BALANCED_UNITS_PER_GB * performance[1]["value"].decimal(),
        currency=size[0],
        per="gb_month",
        region_text=None,
        place=f"{size[1].place} and {performance[1].place}",
    )


def _single_price(products: list[At], name: re.Pattern[str]) -> tuple[str, At] | None:
    """The currency and the price of the product of this name; None where it is missing or has tiers."""
    found = [_prices(product) for product in products if name.fullmatch(_name(product))]
    return (found[0][0], found[0][1][0]) if len(found) == 1 and len(found[0][1]) == 1 else None
