"""The offers table: its columns, its first rows as HTML, and all rows as one columnar file for the script.

A column of words is a dictionary in display order plus one index a row, so that the script sorts and filters by index
and never needs to know a language. A column of numbers is the numbers. None is "not stated" in both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from page import words
from page.data import Row
from page.texts import Texts, name

FIRST_ROWS = 200  # rows that are there without a script

Cell = float | int | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table. `kind` says how a cell is written: words, number, money, link or hidden."""

    key: str
    group: str
    heading: Markup
    kind: str
    cells: list[Cell]
    codes: list[str]
    labels: list[str]
    digits: int = 0
    is_default: bool = True
    facet: Markup | None = None

    def text(self, index: int) -> str | None:
        """Returns the word of row `index`."""
        at = self.cells[index]
        return None if at is None else self.labels[int(at)]


@dataclass(frozen=True, slots=True)
class Table:
    """All offers by column, in the order of the rows: price for one GPU and hour, missing prices last."""

    rows: int
    columns: tuple[Column, ...]
    groups: list[tuple[Markup, str, list[Column]]]

    def column(self, key: str) -> Column:
        return next(column for column in self.columns if column.key == key)


def web(url: str | None) -> str | None:
    """Returns an address that a page may link to: http or https with a host. Everything else is None."""
    if url is None or not re.fullmatch(r"https?://[^\s\"'<>\\]+", url):
        return None
    try:
        return url if urlsplit(url).hostname else None
    except ValueError:
        return None


def host(url: str) -> str:
    """Returns the host of a web address without www."""
    return (urlsplit(url).hostname or url).removeprefix("www.")


def table(t: Texts, offers: Sequence[Row]) -> Table:
    """Returns the offers as columns with headings and words of one language."""
    columns = (*_offer(t, offers), *_price(t, offers), *_hardware(t, offers), *_terms(t, offers))
    columns = (*columns, *_proof(t, offers))
    titles = {
        "offer": t.say("Offer"),
        "price": t.say("Price, USD"),
        "hardware": t.say("Hardware, each GPU"),
        "terms": t.say("Terms"),
        "proof": t.say("Evidence"),
    }
    groups = [
        (title, key, [column for column in columns if column.group == key and column.kind != "hidden"])
        for key, title in titles.items()
    ]
    return Table(len(offers), columns, groups)


def script(t: Texts, offers: Table, night: str) -> str:
    """Returns the data file: one call with all columns. A script, since a page opened from a disk may not fetch."""
    data = {
        "rows": offers.rows,
        "first": FIRST_ROWS,
        "note": f"GPU Almanac, night of {night}, CC BY 4.0, prices in USD without VAT",
        "texts": {key: str(text) for key, text in _texts(t).items()},
        "columns": {column.key: _packed(column) for column in offers.columns},
    }
    return f"almanac.offers({json.dumps(data, separators=(',', ':'))});\n"


def _packed(column: Column) -> dict[str, Any]:
    """Returns a column for the data file. Labels are left out where they equal the codes."""
    packed: dict[str, Any] = {"kind": column.kind, "cells": column.cells}
    if column.codes:
        packed["codes"] = column.codes
        if column.labels != column.codes:
            packed["labels"] = column.labels
    return packed


def _texts(t: Texts) -> dict[str, str]:
    """Returns the words that the script puts together, with named places for values."""
    gettext = t.translations.gettext
    return {
        "from_price": gettext("from %(price)s"),
        "bid_floor": gettext("at least %(price)s"),
        "ask": gettext("ask"),
        "page": gettext("page"),
        "source": gettext("Source, %(offer)s"),
        "remove": gettext("Remove filter %(filter)s"),
        "at_most": gettext("≤ %(price)s an hour"),
        "memory": gettext("≥ %(amount)s GiB"),
        "age": gettext("≤ %(days)s days"),
        "shown": gettext("Offers: %(shown)s of %(all)s. Sorted by %(column)s, %(order)s."),
        "ascending": gettext("ascending"),
        "descending": gettext("descending"),
        "copied": gettext("Link copied"),
        "more": gettext("Show %(count)s more"),
        "not_a_number": gettext("“%(text)s” is not a number"),
    }


def _words(
    key: str,
    group: str,
    heading: Markup,
    values: Sequence[Any],
    label: Callable[[Any], object] = str,
    *,
    order: Callable[[Any], Any] | None = None,
    facet: Markup | None = None,
    kind: str = "words",
    is_default: bool = True,
) -> Column:
    """Returns a column of words: the dictionary in display order, and one index a row."""
    labels = {
        value: Markup(label(value)).striptags() if label is not str else str(value)
        for value in set(values) - {None}
    }
    codes = sorted(labels, key=order or (lambda value: (_natural(labels[value]), str(value))))
    places = {code: place for place, code in enumerate(codes)}
    return Column(
        key,
        group,
        heading,
        kind,
        [None if value is None else places[value] for value in values],
        [str(code) for code in codes],
        [labels[code] for code in codes],
        is_default=is_default,
        facet=facet,
    )


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Returns a sort key that puts A10 before A100."""
    parts = re.split(r"(\d+)", text.casefold())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part]


def _numbers(
    key: str,
    group: str,
    heading: Markup,
    values: Sequence[float | None],
    *,
    kind: str = "number",
    digits: int = 0,
    is_default: bool = True,
) -> Column:
    """Returns a column of numbers, held to six decimals as the database holds prices."""
    cells: list[Cell] = [None if value is None else round(value, 6) for value in values]
    whole: list[Cell] = [
        int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in cells
    ]
    return Column(key, group, heading, kind, whole, [], [], digits, is_default)


def _offer(t: Texts, offers: Sequence[Row]) -> list[Column]:
    """What is sold, and by whom."""
    gpus = [offer["gpu_name"] or offer["gpu_text"] for offer in offers]
    providers = [offer["provider_name"] for offer in offers]
    kinds = [
        f"{offer['purchase']}:{offer['term_months']}" if offer["term_months"] else offer["purchase"]
        for offer in offers
    ]

    def kind(code: str) -> Markup:
        purchase, _, months = code.partition(":")
        label = words.purchase(t, purchase)
        if not months:
            return label
        return t.say_n("%(kind)s, %(num)s month", "%(kind)s, %(num)s months", int(months), kind=label)

    purchases = [offer["purchase"] for offer in offers]
    return [
        _words("gpu", "offer", t.say("GPU"), gpus, t.gpu, facet=t.say("GPU")),
        _words("prov", "offer", t.say("Provider"), providers, facet=t.say("Provider")),
        _words("plan", "offer", t.say("Plan"), [offer["plan"] for offer in offers], kind="hidden"),
        _numbers("n", "offer", t.say("GPUs"), [offer["gpu_count"] for offer in offers], digits=2),
        _words("kind", "offer", t.say("Way to pay"), kinds, kind, order=_natural),
        _words(
            "pay",
            "offer",
            t.say("Way to pay"),
            purchases,
            lambda code: words.purchase(t, code),
            facet=t.say("Way to pay"),
            kind="hidden",
        ),
    ]


def _price(t: Texts, offers: Sequence[Row]) -> list[Column]:
    """The price, as sold and against what the GPU has."""

    def per(column: str, unit: float = 1.0) -> list[float | None]:
        return [
            offer["price_usd_per_gpu_hour"] / (offer[column] / unit)
            if offer["price_usd_per_gpu_hour"] is not None and offer[column]
            else None
            for offer in offers
        ]

    per_gib, per_tb_s = per("vram_gib"), per("memory_bandwidth_gb_per_s", 1000.0)
    listed = {_listed_code(offer): _listed(t, offer) for offer in offers}
    gpu_hour = [offer["price_usd_per_gpu_hour"] for offer in offers]
    machine_hour = [offer["price_usd_per_instance_hour"] for offer in offers]
    return [
        _numbers("gh", "price", t.say("GPU-hour"), gpu_hour, kind="money"),
        _numbers("ih", "price", t.say("Machine-hour"), machine_hour, kind="money"),
        _numbers("pgb", "price", t.say("GiB and hour"), per_gib, kind="money", is_default=False),
        _numbers("ptb", "price", t.say("TB/s and hour"), per_tb_s, kind="money", is_default=False),
        _words(
            "listed",
            "price",
            t.say("As listed"),
            [_listed_code(offer) for offer in offers],
            lambda code: listed[code],
            is_default=False,
        ),
    ]


def _listed_code(offer: Row) -> str | None:
    """Returns the price as the provider lists it, or None where that is the price in US dollars an hour."""
    if offer["price_listed"] is None or (offer["currency"], offer["price_unit"]) == ("USD", "hour"):
        return None
    code = f"{offer['price_listed']:g} {offer['currency']}/{offer['price_per']}/{offer['price_unit']}"
    return (
        code if offer["fx_date"] is None else f"{code} at {offer['usd_per_currency']:g} of {offer['fx_date']}"
    )


def _listed(t: Texts, offer: Row) -> Markup | None:
    """Returns the same in words: the price in its own currency and unit, and the dated rate."""
    if _listed_code(offer) is None:
        return None
    price = name(f"{t.number(offer['price_listed'], 6)} {offer['currency']}")
    text = words.price_basis(t, offer["price_per"], offer["price_unit"], price)
    if offer["fx_date"] is None or offer["currency"] == "USD":
        return text
    return t.say(
        "%(listed)s, at %(rate)s USD of %(day)s",
        listed=text,
        rate=t.number(offer["usd_per_currency"], 4),
        day=t.day(offer["fx_date"]),
    )


def _hardware(t: Texts, offers: Sequence[Row]) -> list[Column]:
    """What one GPU has."""
    bandwidth = [offer["memory_bandwidth_gb_per_s"] for offer in offers]
    links = [None if offer["link"] == "unknown" else offer["link"] for offer in offers]
    return [
        _numbers("vram", "hardware", t.say("Memory, GiB"), [offer["vram_gib"] for offer in offers], digits=1),
        _numbers(
            "bw",
            "hardware",
            t.say("Bandwidth, TB/s"),
            [None if value is None else value / 1000 for value in bandwidth],
            digits=2,
        ),
        _numbers(
            "tf",
            "hardware",
            t.say("BF16 dense, TFLOPS"),
            [offer["bf16_dense_tflops"] for offer in offers],
            is_default=False,
        ),
        _words("link", "hardware", t.say("Link"), links, lambda code: words.link(t, code)),
    ]


def _terms(t: Texts, offers: Sequence[Row]) -> list[Column]:
    """The terms of the offer."""

    def step(seconds: int) -> Markup:
        if seconds % 3600 == 0:
            return t.say("%(n)s h", n=t.number(seconds / 3600))
        if seconds % 60 == 0:
            return t.say("%(n)s min", n=t.number(seconds / 60))
        return t.say("%(n)s s", n=t.number(seconds))

    segments = [offer["segment"] for offer in offers]
    return [
        _words(
            "seg", "terms", t.say("Type"), segments, lambda code: words.segment(t, code), facet=t.say("Type")
        ),
        _words(
            "region", "terms", t.say("Region"), [offer["region_text"] or offer["country"] for offer in offers]
        ),
        _words(
            "area",
            "terms",
            t.say("Region"),
            [offer["continent"] for offer in offers],
            lambda code: words.area(t, code),
            facet=t.say("Region"),
            kind="hidden",
        ),
        _words(
            "eu",
            "terms",
            t.say("European Union"),
            ["eu_member" if offer["is_eu"] else None for offer in offers],
            lambda code: words.area(t, code),
            kind="hidden",
        ),
        _words(
            "inc",
            "terms",
            t.say("Billed per"),
            [offer["billing_increment_s"] for offer in offers],
            step,
            order=lambda seconds: seconds,
            facet=t.say("Billed per"),
        ),
    ]


def _proof(t: Texts, offers: Sequence[Row]) -> list[Column]:
    """How old the price is, where it is from, and whether the GPU can be had."""
    days = [offer["price_date"] for offer in offers]
    states = [offer["price_state"] for offer in offers]
    stocks = [offer["availability"] for offer in offers]
    nights = [offer["freshness"] for offer in offers]
    evidence = [offer["evidence"] for offer in offers]
    return [
        _words(
            "state",
            "proof",
            t.say("Price state"),
            states,
            lambda code: words.price_state(t, code),
            facet=t.say("Price state"),
        ),
        _words("stock", "proof", t.say("Stock"), stocks, lambda code: words.availability(t, code)),
        _numbers("age", "proof", t.say("Age, days"), [offer["age_days"] for offer in offers], kind="age"),
        _words("date", "proof", t.say("Price of"), days, t.day, order=lambda day: day),
        _words(
            "fresh",
            "proof",
            t.say("From"),
            nights,
            lambda code: words.freshness(t, code),
            facet=t.say("From"),
            is_default=False,
        ),
        _words(
            "proof",
            "proof",
            t.say("Evidence"),
            evidence,
            lambda code: words.evidence(t, code),
            is_default=False,
        ),
        _words(
            "origin", "proof", t.say("Resold from"), [offer["origin"] for offer in offers], is_default=False
        ),
        _words("src", "proof", t.say("Source"), [web(offer["source_url"]) for offer in offers], kind="link"),
    ]
