"""Region text to a place: region key, country, continent, and whether it lies in the European Union.

The order is: the provider's own spelling, the same without regard to case, the spelling without its zone suffix,
the same for the cloud that a reseller resells, then the spellings that hold for everybody, then the names of places
in the text. A bare code that is a country's and a state's, GA or IL, is no place but for a provider that has codes of
countries among its own spellings. Without a provider a spelling that only providers have is what they all mean by it,
or what their places have in common. A text that none of these knows has no place; it is reported, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from transforms.offers.place_words import Spot, can_hold, common, spot_in_words, spots
from transforms.reference.tables import read

EVERYBODY = "*"
LONGEST_TEXT = 120
COUNTRY_FIRST = frozenset({"de"})  # Germany has the data centres, Delaware hardly any
TWO_WRITINGS = re.compile(r"([^()]+?)\s?\(([^()]+)\)")  # eu-central-1 (Frankfurt)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a region lies. Each field is None when the text does not say it.

    `is_known` is False for a spelling that region.csv does not have. One that is known to name no place, such as
    "n/a" or "EU / US", is known and has no key.
    """

    region_key: str | None = None
    country: str | None = None
    continent: str | None = None
    is_eu: bool | None = None
    is_known: bool = True


NOWHERE = Place()
NOT_KNOWN = Place(is_known=False)
Key = tuple[str, str]


@lru_cache
def _places() -> tuple[dict[Key, Place], dict[Key, Place]]:
    """Returns the places by provider and exact spelling, and by provider and spelling in lower case."""
    exact: dict[Key, Place] = {}
    folded: dict[Key, Place] = {}
    columns = ("provider", "region_text", "region_key", "country_iso2", "continent", "is_eu_member")
    for provider, text, key, country, continent, is_eu in read("region").select(columns).iter_rows():
        place = NOWHERE if key == "unknown" else Place(key, country, continent, is_eu)
        exact[provider, text] = place
        folded.setdefault((provider, text.casefold()), place)
    return exact, folded


@lru_cache
def _zone_suffixes() -> dict[str, re.Pattern[str]]:
    """Returns how each provider writes a zone of a region."""
    rows = read("zone_suffix").select("provider", "pattern").iter_rows()
    return {provider: re.compile(pattern, re.ASCII) for provider, pattern in rows}


def _shorter(provider: str, text: str) -> Iterator[str]:
    """Yields the text, then the text without its zone suffix."""
    yield text
    suffix = _zone_suffixes().get(provider)
    if suffix and (found := suffix.search(text.casefold())):
        yield text[: found.start()]


@lru_cache
def _users_of_country_codes() -> frozenset[str]:
    """Returns the providers that have the code of a country among their own spellings."""
    return frozenset(
        provider
        for (provider, text), place in _places()[1].items()
        if provider != EVERYBODY and len(text) == 2 and text == place.region_key
    )


def _is_state_too(code: str) -> bool:
    """Returns whether a code is that of a country and that of a state: GA is Gabon and Georgia."""
    return code in spots() and f"us-{code}" in spots() and code not in COUNTRY_FIRST


@lru_cache
def _meanings() -> dict[str, tuple[tuple[str, Place], ...]]:
    """Returns what each spelling in lower case means at the providers that have it."""
    meanings: dict[str, list[tuple[str, Place]]] = {}
    for (provider, text), place in _places()[1].items():
        meanings.setdefault(text, []).append((provider, place))
    return {text: tuple(found) for text, found in meanings.items()}


def _of_any_provider(text: str) -> Spot | None:
    """Returns what all providers that use a spelling mean by it, or what their places have in common."""
    found = [place for _, place in _meanings().get(text.casefold(), ())]
    for provider in _zone_suffixes():
        found += [
            place
            for shorter in list(_shorter(provider, text))[1:]
            for owner, place in _meanings().get(shorter.casefold(), ())
            if owner == provider
        ]
    return common(spots()[place.region_key] for place in found if place.region_key)


def resolve_region(text: str | None, provider: str | None = None, origin: str | None = None) -> Place:
    """Returns the place of a region spelling at a provider, or at the cloud `origin` that it resells."""
    cleaned = " ".join((text or "").split())
    if not cleaned or len(cleaned) > LONGEST_TEXT:
        return NOT_KNOWN
    exact, folded = _places()
    has_codes = not _users_of_country_codes().isdisjoint((provider, origin))
    for owner in (provider, origin, EVERYBODY):
        if owner is None:
            continue
        if owner == EVERYBODY and not has_codes and _is_state_too(cleaned.casefold()):
            return NOWHERE
        for candidate in _shorter(owner, cleaned):
            for table, key in ((exact, candidate), (folded, candidate.casefold())):
                place = table.get((owner, key))
                if place is not None:
                    return place
    spot = _of_any_provider(cleaned) if provider is None and origin is None else None
    spot = spot or spot_in_words(cleaned) or _written_twice(cleaned, (provider, origin))
    return NOT_KNOWN if spot is None else Place(spot.key, spot.country, spot.continent, spot.is_eu)


def _written_twice(text: str, owners: tuple[str | None, ...]) -> Spot | None:
    """Returns the place of "eu-central-1 (Frankfurt)": a spelling of an owner's, with words that do not deny it."""
    found = TWO_WRITINGS.fullmatch(text)
    said = spot_in_words(found[2]) if found else None
    for owner in owners:
        place = _places()[1].get((owner or "", found[1].casefold())) if found else None
        if said and place and place.region_key and can_hold(spots()[place.region_key], said):
            return spots()[place.region_key]
    return None


def region_frame(texts: pl.DataFrame) -> pl.DataFrame:
    """Returns the place of each distinct (provider, origin, place_text) of `texts`, with `region_is_known`."""
    asked = texts.select("provider", "origin", "place_text").unique().drop_nulls("place_text")
    places = [resolve_region(text, provider, origin) for provider, origin, text in asked.iter_rows()]
    return asked.with_columns(
        pl.Series("region_key", [place.region_key for place in places], pl.String),
        pl.Series("country", [place.country for place in places], pl.String),
        pl.Series("continent", [place.continent for place in places], pl.String),
        pl.Series("is_eu", [place.is_eu for place in places], pl.Boolean),
        pl.Series("region_is_known", [place.is_known for place in places], pl.Boolean),
    )


def place_key() -> pl.Expr:
    """Returns what two spellings of one place have in common: the region key, or the text where it is not known."""
    return pl.coalesce("region_key", "place_text")
