"""Oracle Cloud Infrastructure: the product list of the cost estimator, all of Oracle Cloud in one answer.

A GPU is a product with the metric "GPU Per Hour", priced in the asked currency per GPU and hour, the same in
every commercial region. How many GPUs are sold together is not said: most come as whole bare-metal nodes of four
or eight, A10 and V100 ("V2") also in virtual machines. The facts about names hold the smallest shape of each.
Preemptible machines cost half by rule and have not been seen in the list; a product whose name says so is spot.

* Look-alikes with the same metric: licences ("NVIDIA AI Enterprise - ..."), Cloud@Customer (machines in the
  customer's own building), and "H100T", which is no public shape. Others differ in the metric: VMware is per
  node, Roving Edge devices (RED.2) are per day.
* Names come with and without "OCI - ", with double and missing spaces ("OCI- Compute - GPU - MI355X"), and some
  name a generation of the shape, not a chip ("GPU Standard - V2", "GPU - E3"). They are passed on as said.
* Tiers (rangeMin, rangeMax) occur with storage and traffic, not with GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from scrapers.contract import Listing, Payload, Record, Request, Source
from scrapers.readers import At, read_json

SOURCE = Source(
    id="oci",
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
    min_listings=7,
    billing_increment_s=1,
    billing_source="https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/resource-billing-stopped-instances.htm",
)

SOLD_AS_VM = re.compile(r"Virtual Machine|\bA10\b|GPU Standard - V2")
PREEMPTIBLE = re.compile(r"(?<!\s)\s*+-?\s*+\bPreemptible\b", re.IGNORECASE)
NOT_A_GPU_OFFER = re.compile(r"^\s*NVIDIA AI Enterprise|Cloud@Customer|VMware|\bH100T\b|\bRED\.2\b")


def parse(payload: Payload) -> Iterator[Record]:
    """One listing for each product that is a GPU by the hour.

    Raises:
        PayloadShapeError: No `items`, or a GPU product without exactly one pay-as-you-go price.
    """
    for product in At(payload.part, read_json(payload))["items"]:
        if product["metricName"].text() != "GPU Per Hour":
            continue
        name = product["displayName"].text()
        if NOT_A_GPU_OFFER.search(name):
            continue
        local = product["currencyCodeLocalizations"][0]
        prices = [price for price in local["prices"] if price["model"].text() == "PAY_AS_YOU_GO"]
        if len(prices) != 1:
            raise local["prices"].broken(f"one PAY_AS_YOU_GO price is due, found {len(prices)}")
        yield Listing(
            provider="oracle",
            plan=product["partNumber"].text(),
            product="vm_gpu" if SOLD_AS_VM.search(name) else "bare_metal_gpu",
            gpu_text=PREEMPTIBLE.sub("", name),
            price=prices[0]["value"].decimal(),
            currency=local["currencyCode"].text(),
            price_per="gpu",
            price_unit="hour",
            purchase="spot" if PREEMPTIBLE.search(name) else "on_demand",
            note="the list does not say how many GPUs are sold together",
            place=product.place,
        )
