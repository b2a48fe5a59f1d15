"""Massed Compute: the tables of virtual machines of the public price page, from the data in its scripts.

The page draws each GPU twice: as cards for a phone, whose keys end in "-mobile", and as a <table>. Only the tables
are read. They stand in the scripts as elements, ["$", tag, key, properties], and the key of a row names the GPU and
how many ("H100 NVL (94GB) NVLink-x 2-0"). Any part of a table can be a chunk that is sent later, of which the table
holds only the number ("$L2f"): these are looked up, or a row would lose its price, or get that of its neighbour.

A price is per hour for all GPUs of the row; a dollar sign is doubled ("$$52.80"). "Request" stands where there is no
public price. The memory in the name is of one GPU; storage has no unit, and is in GB. The bare metal further down
has no prices.

Shape: as recorded on 2026-08-22.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from scrapers.cells import priced
from scrapers.contract import Listing, Payload, Quantity, Request, Source
from scrapers.errors import PayloadShapeError
from scrapers.fields import short
from scrapers.flight import flight
from scrapers.readers import embedded_json, number, quantity

URL = "https://vm.massedcompute.com/pricing"

SOURCE = Source(
    id="massed_compute",
    name="Massed Compute",
    segment="neocloud",
    homepage="https://massedcompute.com/",
    pricing_url=URL,
    requests=(Request("pricing", URL),),
    allowed_hosts=("vm.massedcompute.com",),
    terms="unknown",
    terms_url="https://massedcompute.com/",
    terms_note="terms not read; robots.txt is obeyed, one page a night",
    terms_reviewed_on=date(2026, 8, 22),
    last_proof="2026-08-22: page recorded by others; that recording was not parsed here",
    min_listings=8,
    max_body_mb=16,
    billing_increment_s=60,
    billing_minimum_s=60,
    billing_source="https://vm-docs.massedcompute.com/docs/billing/overview",
)

TABLE = re.compile(r'\["\$","table",')
CHUNK = re.compile(r"^([0-9a-f]{1,6}):(?=[\[{])", re.MULTILINE)
REFERENCE = re.compile(r"\$L?([0-9a-f]{1,6})")
ROW_KEY = re.compile(r"(?P<name>.+?)-x ?(?P<count>\d{1,3})-\d+")
MEMORY = re.compile(r"\((\d+ ?GB)\)")
COLUMNS = ("vcpu", "ram", "storage", "price")
MOST_TABLES = 300


def parse(payload: Payload) -> list[Listing]:
    """The rows of the tables.

    Raises:
        PayloadShapeError: A chunk, a column or a key is not as known, a price is not in USD per hour, the quantity of a
            row is not that of its key, or no row has a price.
    """
    content = flight(payload)
    page = _Page(payload.part, content, {found[1]: found.end() for found in CHUNK.finditer(content)})
    starts = [found.start() for found in TABLE.finditer(content)]
    if len(starts) > MOST_TABLES:
        raise PayloadShapeError(payload.part, "tables", f"{len(starts)} of them")
    listings = [listing for start in starts for listing in _listings(page, page.value_at(start))]
    if not any(listing.price for listing in listings):
        raise PayloadShapeError(payload.part, f"{len(starts)} tables in the scripts", "no row with a price")
    return listings


@dataclass(frozen=True, slots=True)
class _Page:
    """The text of the scripts, and where its chunks begin."""

    part: str
    content: str
    chunks: dict[str, int]

    def value_at(self, start: int) -> Any:
        return embedded_json(self.part, self.content[start:], "")

    def parts(self, value: Any) -> Iterator[Any]:
        """A value and what it holds in order, depth first, with chunks in the place of their numbers; each once."""
        waiting, seen = [value], set()
        while waiting:
            item = waiting.pop()
            found = REFERENCE.fullmatch(item) if isinstance(item, str) else None
            if found and found[1] in self.chunks:
                if found[1] not in seen:
                    seen.add(found[1])
                    waiting.append(self.value_at(self.chunks[found[1]]))
                continue
            if found and item.startswith("$L"):
                raise PayloadShapeError(self.part, item, "this chunk is not in the page")
            yield item
            if isinstance(item, list):
                is_element = len(item) == 4 and item[0] == "$"
                waiting += [item[3]] if is_element else reversed(item)
            elif isinstance(item, dict) and "children" in item:
                waiting.append(item["children"])

    def elements(self, value: Any, tag: str) -> Iterator[list[Any]]:
        for item in self.parts(value):
            if isinstance(item, list) and len(item) == 4 and item[:2] == ["$", tag]:
                yield item

    def words(self, value: Any) -> str:
        """What a reader sees of an element; "$$" is a dollar sign."""
        texts = (str(item) for item in self.parts(value) if isinstance(item, str | Decimal))
        return "".join(text.replace("$$", "$", 1) for text in texts if text != "$undefined").strip()


def _listings(page: _Page, table: Any) -> Iterator[Listing]:
    heads = [page.words(head).lower() for head in page.elements(table, "th")]
    for row in page.elements(table, "tr"):
        cells = [page.words(cell) for cell in page.elements(row, "td")]
        if not cells:
            continue
        key = ROW_KEY.fullmatch(str(row[2]))
        place = f"row {short(row[2])}"
        if key is None or len(cells) != len(heads):
            raise PayloadShapeError(page.part, place, f"{len(cells)} cells under {len(heads)} columns")
        named = dict(zip(heads, cells, strict=True))
        for column in COLUMNS:
            if column not in named:
                raise PayloadShapeError(
                    page.part, place, f"no column '{column}' in {short(', '.join(heads))}"
                )
        if named.get("qty", "").strip("×x ") not in ("", key["count"]):
            raise PayloadShapeError(page.part, place, f"a quantity of {short(named['qty'])}")
        yield _listing(page.part, key["name"], key["count"], named, place)


def _listing(part: str, name: str, count: str, cells: dict[str, str], place: str) -> Listing:
    said = priced(part, place, cells["price"], pers=(None, "instance"))
    memory, storage = MEMORY.search(name), number(cells["storage"])
    return Listing(
        provider="massed_compute",
        product="vm",
        plan=f"{name} x{count}",
        gpu_text=name,
        gpu_count=number(count),
        gpu_memory=quantity(memory[1]) if memory else None,
        vcpus=number(cells["vcpu"]),
        ram=quantity(cells["ram"]),
        disk=None if storage is None else Quantity(storage, "GB"),
        price=said.amount,
        currency=said.currency,
        price_per="instance",
        price_unit="hour",
        price_state=said.state,
        purchase="on_demand",
        availability="unknown" if said.amount is None else "listed_only",
        availability_text=cells["price"] or None if said.amount is None else None,
        place=place,
    )
