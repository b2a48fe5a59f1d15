"""Price cells of pages, believed only where they say what is due at their place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

from scrapers.contract import Listing, PriceUnit
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.money import LONGEST_CELL, Money, Per, money

NUMBER = r"(?:[2-9]|[1-9]\d)"
SEVERAL = re.compile(
    rf"(?<![\w.]){NUMBER} ?[x×]|[x×]{NUMBER}(?!\w)|(?<!\w)[x×] {NUMBER}(?!\w)|(?<![\w.-]){NUMBER}[ -]gpus?\b",
    re.IGNORECASE,
)


def priced(
    part: str,
    place: str,
    cell: str,
    *,
    currencies: tuple[str | None, ...] = ("USD",),
    units: tuple[PriceUnit | None, ...] = (None, "hour"),
    pers: tuple[Per | None, ...] = (None, "gpu"),
) -> Money:
    """What a price cell says. One of words alone, such as "Sold out", has no amount, and is no error.

    Args:
        part: The part of the payload, for the error.
        place: Where the cell stands, for the error.
        cell: The text of the cell.
        currencies: Codes that may stand in the cell; None allows a bare number.
        units: Times that it may be for; None allows a cell that does not say it.
        pers: Things that it may be for; None allows a cell that does not say it.

    Raises:
        PayloadShapeError: A number that is no price, or a price in another currency, for another time or thing.
    """
    said = money(cell)
    if said.amount is None:
        if re.search(r"\d", cell) and not said.is_contact:
            raise PayloadShapeError(part, place, f"{short(cell)} is not a price")
        return said
    if said.currency not in currencies or said.unit not in units or said.per not in pers:
        due = " or ".join(filter(None, currencies)), " or ".join(filter(None, units))
        things = " or ".join(filter(None, pers))
        raise PayloadShapeError(part, place, f"{short(cell)} is not in {due[0]} per {due[1]} and {things}")
    return said


def check_one_gpu(part: str, place: str, name: str) -> None:
    """Raises where a name counts GPUs on a page whose prices are of one GPU.

    Whether the price is of one of them or of all is not known then, and a wrong guess is off by that factor.

    Raises:
        PayloadShapeError: The name says more than one, as in "8x H100", "H100 x8" and "8-GPU H100".
    """
    if SEVERAL.search(name[:LONGEST_CELL]):
        raise PayloadShapeError(
            part, place, f"{short(name)} counts GPUs, so it is not known what its price is for"
        )


def check_one_price(part: str, listings: Iterable[Listing]) -> None:
    """Raises where one plan, bought in one way, has two prices.

    That is how a second table of the same columns shows, such as one of commitments, whose lower price would go for
    that on demand.

    Raises:
        PayloadShapeError: Two listings differ in their price alone. One without a price differs from none.
    """
    seen: dict[tuple[object, ...], Decimal] = {}
    for one in listings:
        if one.price is None:
            continue
        way = one.product, one.purchase, one.term_months, one.currency, one.price_unit
        known = seen.setdefault((one.plan, one.gpu_count, one.region_text, one.vcpus, *way), one.price)
        if known != one.price:
            problem = f"{short(one.plan)} has two prices, {known} and {one.price}"
            raise PayloadShapeError(part, one.place, problem)
