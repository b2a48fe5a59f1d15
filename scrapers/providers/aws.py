"""Amazon EC2: three files behind public pages, told apart by what they hold.

* Unit map, one per region: the on-demand table of the price page. Per instance and hour as text, no GPU fields;
  in USD, which the address asks for, unless the manifest of the file names another currency: prices in China are
  in CNY. Only Linux without bought-in software is a listing; a "Bring your own license" row, which carries the
  Linux price, is not. A price of 0, as Capacity Blocks have, is passed on as said. Accelerated is what
  "Instance Family" says. Several of them in one file, each under the name of its region, are read too.
* spot.js, one for all regions: JSONP, USD per instance and hour. Some regions have their names of 2010
  ("us-east", "eu-ireland"), "N/A*" and "-1" mean that there is no price, and there is no family: accelerated
  are p*, g*, gr*, dl*, trn* and inf* followed by a digit. FPGA (f*) and video (vt*) machines are neither.
* Spot Advisor, one for all regions: how often spot machines were reclaimed in the last month, as a band, and the
  saving against on-demand in percent. The field `max` of a band is wider than its label; the label is the fact.

Which GPU and how many is not said anywhere: the instance type stands for the GPU. The bulk price list is
another format and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from urllib.parse import quote

from scrapers.contract import Interruption, Listing, Payload, Record, Request, Source
from scrapers.readers import At, holds_json, quantity, read_json, read_jsonp

ASKED_CURRENCY = "USD"
UNIT_MAP_URL = (
    "https://b0.p.awsstatic.com/pricing/2.0/meteredUnitMaps/ec2/"
    f"{ASKED_CURRENCY}/current/ec2-ondemand-without-sec-sel/"
)
# Regions whose name in the address is sure. There is no answer for another name, and the first request that fails
# ends the source: Zurich and Spain, seen as "EU (...)" and "Europe (...)", are left to spot.js.
REGIONS = (
    ("us-east-1", "US East (N. Virginia)"),
    ("us-east-2", "US East (Ohio)"),
    ("us-west-1", "US West (N. California)"),
    ("us-west-2", "US West (Oregon)"),
    ("ca-central-1", "Canada (Central)"),
    ("sa-east-1", "South America (Sao Paulo)"),
    ("eu-west-1", "EU (Ireland)"),
    ("eu-west-2", "EU (London)"),
    ("eu-west-3", "EU (Paris)"),
    ("eu-central-1", "EU (Frankfurt)"),
    ("eu-north-1", "EU (Stockholm)"),
    ("eu-south-1", "EU (Milan)"),
    ("il-central-1", "Israel (Tel Aviv)"),
    ("me-central-1", "Middle East (UAE)"),
    ("me-south-1", "Middle East (Bahrain)"),
    ("af-south-1", "Africa (Cape Town)"),
    ("ap-south-1", "Asia Pacific (Mumbai)"),
    ("ap-south-2", "Asia Pacific (Hyderabad)"),
    ("ap-southeast-1", "Asia Pacific (Singapore)"),
    ("ap-southeast-2", "Asia Pacific (Sydney)"),
    ("ap-southeast-3", "Asia Pacific (Jakarta)"),
    ("ap-southeast-4", "Asia Pacific (Melbourne)"),
    ("ap-northeast-1", "Asia Pacific (Tokyo)"),
    ("ap-northeast-2", "Asia Pacific (Seoul)"),
    ("ap-northeast-3", "Asia Pacific (Osaka)"),
    ("ap-east-1", "Asia Pacific (Hong Kong)"),
)

SOURCE = Source(
    id="aws",
    name="Amazon EC2",
    segment="hyperscaler",
    homepage="https://aws.amazon.com/",
    pricing_url="https://aws.amazon.com/ec2/pricing/on-demand/",
    requests=(
        *(
            Request(f"on_demand_{code}", f"{UNIT_MAP_URL}{quote(name)}/Linux/index.json")
            for code, name in REGIONS
        ),
        Request("spot", "https://spot-price.s3.amazonaws.com/spot.js"),
        Request("spot_advisor", "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"),
    ),
    allowed_hosts=(
        "b0.p.awsstatic.com",
        "spot-price.s3.amazonaws.com",
        "spot-bid-advisor.s3.amazonaws.com",
    ),
    terms="open",
    terms_url="https://aws.amazon.com/service-terms/",
    terms_note="The files are read by the public price pages without a key; the site terms were not read.",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2026-09: unit map recorded and parsed, as the Advisor of 2025-06-28; spot.js not recorded",
    min_listings=300,
    billing_increment_s=1,
    billing_minimum_s=60,
    billing_source="https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StartInstances.html",
)

ACCELERATED_FAMILIES = frozenset({"GPU instance", "Machine Learning ASIC Instances"})
ACCELERATED_TYPE = re.compile(r"(?:p|g|gr|dl|trn|inf)\d")
NO_SOFTWARE = frozenset({None, "NA"})
NO_SPOT_PRICE = ("N/A*", "N/A", "-1")
BAND = re.compile(r"(?:<(?P<below>\d{1,3})|(?P<low>\d{1,3})-(?P<high>\d{1,3})|>(?P<above>\d{1,3}))%")


def parse(payload: Payload) -> Iterator[Record]:
    """On-demand listings of a unit map, spot listings of spot.js, or interruption bands of the Spot Advisor.

    Raises:
        PayloadShapeError: None of the three, or a field of theirs is missing or not a number.
    """
    is_json = holds_json(payload)
    top = At(payload.part, read_json(payload) if is_json else read_jsonp(payload))
    if "regions" in top:
        return _unit_map(top)
    if _is_unit_maps(top):
        return (listing for _, region in top.items() for listing in _unit_map(region))
    if "config" in top:
        return _spot_prices(top)
    if "spot_advisor" in top:
        return _interruptions(top)
    if "offerCode" in top:
        raise top["offerCode"].broken("this is a bulk price list; only the unit maps are read")
    raise top.broken("no regions (unit map), no config (spot.js), no spot_advisor")


def _is_unit_maps(top: At) -> bool:
    """Whether every value is a unit map of its own."""
    values = [value for _, value in top.items()]
    return bool(values) and all(isinstance(value.value, dict) and "regions" in value for value in values)


def _unit_map(top: At) -> Iterator[Record]:
    manifest = top.get("manifest")
    stated = manifest.get("currencyCode").text_or_none() if manifest else None
    for _, rows in top["regions"].items():
        for _, row in rows.items():
            family = row.get("Instance Family").text_or_none()
            plan = row["Instance Type"].text()
            accelerated = family in ACCELERATED_FAMILIES if family else ACCELERATED_TYPE.match(plan)
            if not accelerated or not _is_plain_linux(row):
                continue
            yield Listing(
                provider="aws",
                plan=plan,
                gpu_text=plan,
                price=row["price"].decimal(),
                currency=stated or ASKED_CURRENCY,
                price_per="instance",
                price_unit="hour",
                purchase="on_demand",
                region_text=row["Location"].text(),
                fabric_text=row.get("Network Performance").text_or_none(),
                vcpus=row.get("vCPU").decimal_or_none(),
                ram=quantity(row.get("Memory").text_or_none() or ""),
                place=row.place,
            )


def _is_plain_linux(row: At) -> bool:
    return (
        row["Operating System"].text() == "Linux"
        and row.get("Pre Installed S/W").text_or_none() in NO_SOFTWARE
        and row.get("License Model").text_or_none() != "Bring your own license"
    )


def _spot_prices(top: At) -> Iterator[Record]:
    for region in top["config"]["regions"]:
        for group in region["instanceTypes"]:
            for size in group["sizes"]:
                plan = size["size"].text()
                linux = [column for column in size["valueColumns"] if column["name"].text() == "linux"]
                prices = [column["prices"]["USD"] for column in linux]
                if not ACCELERATED_TYPE.match(plan) or not prices:
                    continue
                has_price = prices[0].value not in NO_SPOT_PRICE
                yield Listing(
                    provider="aws",
                    plan=plan,
                    gpu_text=plan,
                    price=prices[0].decimal() if has_price else None,
                    currency="USD",
                    price_per="instance",
                    price_unit="hour",
                    purchase="spot",
                    region_text=region["region"].text(),
                    availability_text=None if has_price else prices[0].text(),
                    place=size.place,
                )


def _interruptions(top: At) -> Iterator[Record]:
    bands = {band["index"].integer(): _band(band["label"]) for band in top["ranges"]}
    for region, systems in top["spot_advisor"].items():
        for plan, row in systems["Linux"].items() if "Linux" in systems else ():
            if not ACCELERATED_TYPE.match(plan):
                continue
            index = row["r"].integer()
            if index not in bands:
                raise row["r"].broken(f"{index} is not the index of a band in ranges")
            low_pct, high_pct = bands[index]
            yield Interruption(
                provider="aws",
                plan=plan,
                region_text=region,
                monthly_low_pct=low_pct,
                monthly_high_pct=high_pct,
                saving_pct=row.get("s").decimal_or_none(),
                place=row.place,
            )


def _band(label: At) -> tuple[Decimal, Decimal | None]:
    """The edges of a band in percent; the second is None where it is open above: "<5%", "5-10%", ">20%"."""
    found = BAND.fullmatch(label.text())
    if not found:
        raise label.broken(f"{label.text()!r} is not a band such as '5-10%'")
    if found["above"]:
        return Decimal(found["above"]), None
    return Decimal(found["low"] or 0), Decimal(found["high"] or found["below"])
