"""Amazon EC2: what is sold with a commitment, from the bulk price lists. Three kinds of answer, told by content.

* Price list of a region: a CSV of 1 GB and more, of which only the lines with an accelerator, Linux and shared
  tenancy are kept while it streams by. Five lines stand above the names of the columns. A reservation is two rows
  of one SKU and term: so much per hour (unit "Hrs") and so much at once (unit "Quantity"); "No Upfront" has no
  second row. They are joined to one listing. Standard and convertible reservations of one term are two products.
* Index of the Savings Plans: where the list of each region lies tonight. It holds no price.
* Savings Plans of a region: a CSV of the same kind, whose rate per hour is what an hour costs under the plan.
  "All Upfront" and "Partial Upfront" plans state the same kind of rate, of which all or half is paid at the start;
  the payment stands in the product, for the list gives no sum. Compute Savings Plans and those for one family of
  instances (EC2 Instance Savings Plans) are two products.

Left out: on-demand rows, which come from the unit maps of `aws`; machines with Windows, software or dedicated
hardware; unused and allocated capacity reservations. Rows of Capacity Blocks stand in the list with 0 per hour;
they are listings of the product capacity_blocks without a price. Lists of China are in CNY, which the currency
column says; they lie on another host and are not asked for.
General purpose disks (gp3) are in the same list. Traffic to the internet is in a list of its own and is not read.

Columns and places as a public description of the files had them on 2025-09-12; of no full file an answer was
recorded. us-west-2 and us-east-1 had the most accelerated types in the Spot Advisor of 2025-06-28 (68 and 67),
eu-central-1 the most in Europe (60).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from scrapers.contract import Extra, LineFilter, Listing, Payload, Record, Request, Source
from scrapers.readers import At, holds_json, quantity, read_csv, read_json

HOST = "https://pricing.us-east-1.amazonaws.com"
SAVINGS_PLANS = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
REGIONS = ("us-east-1", "us-west-2", "eu-central-1")
DISK = b"General Purpose (gp3) provisioned storage"

# A line that is found by DISK passes the other conditions by it too. Where these change, the names of the parts
# must change with them: an answer that has not changed since is what the old conditions kept.
MACHINES_AND_DISKS = LineFilter(
    head=6,
    any_of=(b'"GPU instance"', b'"Machine Learning ASIC Instances"', DISK),
    all_of=(
        (b'"Shared"', DISK),
        (b'"RunInstances"', b'"CapacityBlock"', DISK),
        (b'"Reserved"', b'"CapacityBlock"', DISK),
    ),
)
LINUX_MACHINES = LineFilter(
    head=6,
    any_of=(b",RunInstances,",),
    all_of=((b"BoxUsage:p", b"BoxUsage:g", b"BoxUsage:dl", b"BoxUsage:trn", b"BoxUsage:inf"),),
)

SOURCE = Source(
    id="aws_price_list",
    provider="aws",
    name="Amazon EC2 (reservations and savings plans)",
    segment="hyperscaler",
    homepage="https://aws.amazon.com/",
    pricing_url="https://aws.amazon.com/ec2/pricing/reserved-instances/pricing/",
    requests=(
        *(
            Request(
                f"ec2_{region}",
                f"{HOST}/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv",
                keep_lines=MACHINES_AND_DISKS,
            )
            for region in REGIONS
        ),
        Request("savings_plans", f"{HOST}{SAVINGS_PLANS}/current/region_index.json"),
    ),
    allowed_hosts=("pricing.us-east-1.amazonaws.com",),
    terms="open",
    terms_url="https://aws.amazon.com/service-terms/",
    terms_note="The bulk price list is a documented download; the site terms were not read.",
    terms_reviewed_on=date(2026, 9, 20),
    last_proof="2025-09-12: columns by a public description; no full file recorded",
    min_listings=300,
    cadence=timedelta(days=7),  # the files hold gigabytes, and change by the month
    billing_increment_s=3600,
    billing_source="https://aws.amazon.com/ec2/pricing/reserved-instances/pricing/",
)

HEADER = re.compile(rb'^"?SKU"?,', re.MULTILINE)
FAMILIES = frozenset({"GPU instance", "Machine Learning ASIC Instances"})
PLAN = r"(?:p|g|gr|dl|trn|inf)\d[\w-]{0,20}\.[\w-]{1,20}"
SHARED_USE = re.compile(rf"(?:[A-Z0-9]{{2,8}}-)?BoxUsage:({PLAN})")
YEARS = re.compile(r"([1-9])(?: ?yr)?")
UNITS_OF_OPTION = {
    "No Upfront": {"Hrs"},
    "Partial Upfront": {"Hrs", "Quantity"},
    "All Upfront": {"Quantity"},
}
PLAN_FAMILIES = {
    "ComputeSavingsPlans": "compute_savings_plan",
    "EC2InstanceSavingsPlans": "ec2_instance_savings_plan",
}
PAYMENTS = {
    "No Upfront": ("", None),
    "Partial Upfront": ("_partial_upfront", "half of it is paid at the start; the rate holds both parts"),
    "All Upfront": (
        "_all_upfront",
        "all of it is paid at the start; the rate is the sum spread over the hours",
    ),
}
BLOCK_NOTE = "sold as a booked window that is paid at the start; its price stands in another list"


def parse(payload: Payload) -> Iterator[Record]:
    """Reservations, Capacity Blocks and disks of a price list, or the rates of Savings Plans.

    Raises:
        PayloadShapeError: None of the three kinds, a list without one accelerated machine, or a row without
            price, unit, term or region.
    """
    if holds_json(payload):
        list(_addresses(payload))
        return
    rows = list(_rows(payload))
    is_plans = bool(rows) and "DiscountedSKU" in rows[0]
    records = list(_savings_plans(rows) if is_plans else _price_list(rows))
    if not any(isinstance(record, Listing) for record in records):
        raise At(payload.part, rows, "rows").broken("no accelerated Linux machine among them")
    yield from records


def follow(payload: Payload) -> Iterator[Request]:
    """The Savings Plans of the regions, where the payload is their index.

    Raises:
        PayloadShapeError: The index does not name one of the regions, or leads elsewhere.
    """
    if holds_json(payload):
        for region, address in _addresses(payload):
            yield Request(f"savings_plans_{region}", HOST + address, keep_lines=LINUX_MACHINES)


def _addresses(payload: Payload) -> Iterator[tuple[str, str]]:
    """Each of our regions with the address of its Savings Plans below the host."""
    regions = At(payload.part, read_json(payload))["regions"]
    stated = {region["regionCode"].text(): region["versionUrl"] for region in regions}
    for name in REGIONS:
        if name not in stated:
            raise regions.broken(f"{name} is not among the {len(stated)} regions")
        address = stated[name].text()
        if not re.fullmatch(rf"{SAVINGS_PLANS}/\d{{14}}/{name}/index\.json", address):
            raise stated[name].broken(f"{address[:80]!r} is not the list of {name}")
        yield name, address.removesuffix("json") + "csv"


def _rows(payload: Payload) -> Iterator[At]:
    """The rows of a CSV below its preamble."""
    header = HEADER.search(payload.body)
    if not header:
        raise At(payload.part, None, "line 1").broken("no row of column names that begins with SKU")
    table = replace(payload, body=payload.body[header.start() :])
    return (At(payload.part, row, f"row {number}") for number, row in enumerate(read_csv(table), start=1))


def _price_list(rows: list[At]) -> Iterator[Record]:
    reservations: dict[tuple[str, str], dict[str, At]] = {}
    for row in rows:
        if row["Volume API Name"].text_or_none() == "gp3":
            if row["usageType"].text().endswith("EBS:VolumeUsage.gp3"):
                yield _disk(row)
        elif not _is_plain_linux(row):
            continue
        elif row["TermType"].text() == "Reserved":
            if row["Unit"].text() not in ("Hrs", "Quantity"):
                raise row["Unit"].broken(f"{row['Unit'].text()[:30]!r} is neither Hrs nor Quantity")
            key = row["SKU"].text(), row["OfferTermCode"].text()
            reservations.setdefault(key, {})[row["Unit"].text()] = row
        elif row["MarketOption"].text_or_none() == "CapacityBlock":
            yield _capacity_block(row)
    for parts in reservations.values():
        yield _reservation(parts)


def _is_plain_linux(row: At) -> bool:
    return (
        row["Instance Family"].text_or_none() in FAMILIES
        and row["Operating System"].text_or_none() == "Linux"
        and row["Tenancy"].text_or_none() == "Shared"
        and row["CapacityStatus"].text_or_none() == "Used"
        and row["Pre Installed S/W"].text_or_none() in (None, "NA")
        and row["License Model"].text_or_none() != "Bring your own license"
    )


def _disk(row: At) -> Extra:
    if row["Unit"].text() != "GB-Mo":
        raise row["Unit"].broken(f"{row['Unit'].text()[:30]!r} is not GB-Mo")
    return Extra(
        provider="aws",
        kind="storage",
        name="gp3",
        price=row["PricePerUnit"].decimal(),
        currency=row["Currency"].text(),
        per="gb_month",
        region_text=row["Region Code"].text(),
        place=row.place,
    )


def _machine(row: At) -> Listing:
    """What a row says of the machine, as a reservation of no term, no product and no price yet."""
    plan = row["Instance Type"].text()
    return Listing(
        provider="aws",
        plan=plan,
        gpu_text=plan,
        gpu_count=_number(row["GPU"]),
        price=None,
        currency=row["Currency"].text(),
        price_per="instance",
        price_unit="hour",
        purchase="reserved",
        region_text=row["Region Code"].text(),
        fabric_text=row["Network Performance"].text_or_none(),
        vcpus=_number(row["vCPU"]),
        ram=quantity(row["Memory"].text_or_none() or ""),
        place=row.place,
    )


def _number(cell: At) -> Decimal | None:
    return None if cell.text_or_none() in (None, "NA") else cell.decimal()


def _capacity_block(row: At) -> Listing:
    price = row["PricePerUnit"].decimal()
    return replace(_machine(row), product="capacity_blocks", price=price or None, note=BLOCK_NOTE)


def _reservation(parts: dict[str, At]) -> Listing:
    """The listing of the hourly row and the upfront row of one SKU and term."""
    row = next(iter(parts.values()))
    option = row["PurchaseOption"].text()
    if option not in UNITS_OF_OPTION:
        raise row["PurchaseOption"].broken(f"{option[:30]!r} is not one of {', '.join(UNITS_OF_OPTION)}")
    amounts = {unit: part["PricePerUnit"].decimal() for unit, part in parts.items()}
    missing = UNITS_OF_OPTION[option] - amounts.keys()
    return replace(
        _machine(row),
        product=f"reserved_instance_{row['OfferingClass'].text()}",
        price=None if missing else amounts.get("Hrs", Decimal(0)),
        upfront=amounts.get("Quantity"),
        term_months=_term_months(row["LeaseContractLength"]),
        note=f"{option}, but the list has no row of unit {', '.join(sorted(missing))}" if missing else None,
    )


def _term_months(cell: At) -> int:
    """The months of a term in years: "3yr" in the price list, "3" among the Savings Plans."""
    years = YEARS.fullmatch(cell.text())
    if not years:
        raise cell.broken(f"{cell.text()[:30]!r} is no term such as 3yr")
    return int(years[1]) * 12


def _savings_plans(rows: list[At]) -> Iterator[Listing]:
    for row in rows:
        use = SHARED_USE.fullmatch(row["DiscountedUsageType"].text())
        if not use or row["DiscountedOperation"].text() != "RunInstances":
            continue
        family, option = row["Product Family"].text(), row["PurchaseOption"].text()
        if family not in PLAN_FAMILIES or option not in PAYMENTS:
            raise row["Product Family"].broken(
                f"{family[:40]!r} with {option[:40]!r} is no plan that is known"
            )
        if row["Unit"].text() != "Hrs" or row["LeaseContractLengthUnit"].text() != "year":
            raise row["Unit"].broken("the rate is not per hour of a term in years")
        suffix, note = PAYMENTS[option]
        yield Listing(
            provider="aws",
            product=PLAN_FAMILIES[family] + suffix,
            plan=use[1],
            gpu_text=use[1],
            price=row["DiscountedRate"].decimal(),
            currency=row["Currency"].text(),
            price_per="instance",
            price_unit="hour",
            purchase="reserved",
            term_months=_term_months(row["LeaseContractLength"]),
            region_text=row["DiscountedRegionCode"].text(),
            note=note,
            place=row.place,
        )
