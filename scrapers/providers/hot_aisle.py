"""Hot Aisle: the public price page, or with a key and a team the API of machines that are free now. AMD GPUs only.

The page has plan cards. A card says above its name what it is, "VM" or "Bare metal", then how many GPUs, the chip and
the price per GPU and hour; a card of several counts ("2x & 4x") is one listing for each. Bare metal has a minimum of
one month, which the card says beside the price, so it is a commitment of one month. The two big prices above the cards
repeat those of the cards, and the rate of older customers can no longer be had: neither is read.

The API lists virtual machines that are free: `OnDemandPrice` is in cents per machine and hour, memory and disk are in
bytes. `MinimumReservationMinutes` is billed in full even when the machine is stopped earlier. An empty list, when
nothing is free, cannot be told from an answer of nobody, and raises. The API does not say where the machines are.

Shape: the page as recorded on 2026-08-22; the API as others read it, no answer of it was recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from bs4 import Tag

from scrapers.contract import Auth, Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.readers import At, holds_json, html, money, number, read_json, text

URL = "https://hotaisle.xyz/pricing"

SOURCE = Source(
    id="hot_aisle",
    name="Hot Aisle",
    segment="neocloud",
    homepage="https://hotaisle.xyz/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    keyed_requests=(
        Request("available", "https://admin.hotaisle.app/api/teams/{team}/virtual_machines/available/"),
    ),
    auth=Auth("HOTAISLE_API_KEY", template="Token {key}", address_env=(("team", "HOTAISLE_TEAM_HANDLE"),)),
    allowed_hosts=("hotaisle.xyz", "admin.hotaisle.app"),
    terms="unknown",
    terms_url="https://hotaisle.xyz/",
    terms_note="terms not read; one page or one API request a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: page recorded by others, not parsed here; no answer of the API recorded",
    min_listings=1,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source=URL,
)

PRICE = re.compile(r"\$[\d.,]{1,12}/GPU/hr")
COUNT = re.compile(r"\d{1,3}x")
MONTH = "one-month minimum"
LONGEST_MINIMUM = 5 * 366 * 24 * 60


def parse(payload: Payload) -> list[Listing]:
    """The cards of the page, or the machines of the API.

    Raises:
        PayloadShapeError: A card without its parts, a field is missing, or there is nothing at all.
    """
    if holds_json(payload):
        machines = At(payload.part, read_json(payload))
        listings = [_machine(machine) for machine in machines]
    else:
        listings = list(_cards(payload.part, html(payload)))
    if not listings:
        raise PayloadShapeError(payload.part, "plan cards or machines", "none")
    return listings


def _machine(machine: At) -> Listing:
    specs = machine["Specs"]
    gpus = list(specs["gpus"])
    if not gpus:
        raise specs["gpus"].broken("no GPU")
    models = sorted({gpu["model"].text() for gpu in gpus})
    gpu_count = sum((gpu["count"].decimal() for gpu in gpus), Decimal(0))
    free = machine.get("Quantity").integer_or_none()
    minutes = machine.get("MinimumReservationMinutes").integer_or_none()
    if minutes is not None and not 0 <= minutes <= LONGEST_MINIMUM:
        raise machine["MinimumReservationMinutes"].broken(f"{minutes} minutes are no minimum")
    return Listing(
        provider="hot_aisle",
        product="vm",
        plan=f"{gpu_count}x {', '.join(models)} {specs['cpu_cores'].integer()} cores",
        gpu_text=", ".join(models),
        gpu_count=gpu_count,
        vcpus=specs["cpu_cores"].decimal(),
        ram=_bytes(specs.get("ram_capacity")),
        disk=_bytes(specs.get("disk_capacity")),
        price=machine["OnDemandPrice"].decimal() / 100,
        currency="USD",
        price_per="instance",
        price_unit="hour",
        purchase="on_demand",
        availability="unknown" if free is None else "in_stock" if free > 0 else "out_of_stock",
        availability_text=None if free is None else f"Quantity: {free}",
        available_count=free,
        billing_minimum_s=minutes * 60 if minutes else None,
        place=machine.place,
    )


def _bytes(amount: At) -> Quantity | None:
    value = amount.decimal_or_none()
    return None if value is None else Quantity(value, "bytes")


def _cards(part: str, page: Tag) -> Iterator[Listing]:
    for heading in page.select("h2"):
        kicker = heading.find_previous_sibling("p")
        kind = text(kicker).lower() if isinstance(kicker, Tag) else ""
        head = heading.parent
        if kind in ("vm", "bare metal") and head is not None:
            yield from _card(part, kind, text(heading), head)


def _card(part: str, kind: str, name: str, head: Tag) -> Iterator[Listing]:
    """A listing for each count of GPUs of a card, whose head holds count, chip and price."""
    place = f"card '{name}'"
    words = text(head)
    prices = PRICE.findall(words)
    chip = next((text(span) for span in head.select("span") if text(span).upper().startswith("MI")), None)
    counts = COUNT.findall(words.split(chip)[0]) if chip else []
    if chip is None or not counts or len(prices) != 1:
        raise PayloadShapeError(part, place, f"no count, chip and one price in {short(words)}")
    if kind == "bare metal" and MONTH not in words.lower():
        raise PayloadShapeError(part, place, f"bare metal without '{MONTH}', so its term is not known")
    said = money(prices[0])
    body = head.parent
    for count in counts:
        yield Listing(
            provider="hot_aisle",
            product=kind.replace(" ", "_"),
            segment="bare_metal" if kind == "bare metal" else None,
            plan=f"{name} {count} {chip}",
            gpu_text=chip,
            gpu_count=number(count),
            price=said.amount,
            currency=said.currency,
            price_per="gpu",
            price_unit="hour",
            price_state=said.state,
            purchase="reserved" if kind == "bare metal" else "on_demand",
            term_months=1 if kind == "bare metal" else None,
            availability="listed_only",
            note="; ".join(text(item) for item in body.select("li")) if body else None,
            place=place,
        )
