"""Reads a place that no provider's list has, from the names of countries, states and cities in it.

"Frankfurt (FRA1)", "Leipzig, Germany", "Austin, TX" and a flag beside a name are read part by part. Each part can mean
several places; what all parts agree on is the place. A part that nothing knows leaves the level that is certain, and a
text whose parts contradict each other has no place. The names come from region.csv.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from transforms.reference.tables import read

EVERYBODY = "*"
FIELDS = (
    "provider",
    "region_text",
    "region_key",
    "city",
    "admin_area",
    "country_iso2",
    "continent",
    "is_eu_member",
    "kind",
)
MOST_PARTS = 5
MOST_WORDS = 2  # of a part that nothing knows; more are a sentence
SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
LATIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "’": "'"})
FLAG_MARK = "="  # before the code of a flag, which is a country's and never a state's
FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
PICTURE = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]")
BETWEEN = re.compile(r"\s[\-–—]+\s|[,()\[\]/|:·•→>]|\s@\s")
NOT_OF_A_PLACE = re.compile(
    r"[;<>{}=\\$`\"*?!]|\b(?:gpus?|v?ram|v?cpus?|prices?|per|hour|month)\b", re.IGNORECASE
)
# Words of a place that do not say where it lies, and the number of a data centre behind a name.
DRESSING = re.compile(
    r"\b(?:data\s?cent(?:er|re)s?|region|zone|metro(?:politan)?|area|greater|location|site)\b"
    r"|\b(?:city|state|province) of\b"
    r"|\b(?:dc|az|pop|zone|region)\s?\d*\b"
)
NUMBER_BEHIND = re.compile(r"(?:\s|(?<=[^\x00-\x7f]))\d{1,2}$")
CODE = re.compile(r"(?:[a-z]{1,5}\s?\d{1,3}[a-z]?|[a-z]{3,4}|\d{1,3})(?:\s[a-z]{0,4}\d{1,3})?")
UNITED_STATES = re.compile(r"\b(?:usa|united states)\b(?=\s(?:north|south|east|west|central))")
FIRST_CODES = frozenset({"us", "uk", "eu"})
STATE = re.compile(r"(us|ca)-[a-z]{2}")

# City names that are well known in more than one country, and are no place without one.
HOMONYMS = frozenset({"carlsbad", "fremont", "luster", "newport", "quincy", "wilmington"})
# Texts of region.csv that name no place because they can be two.
TWO_PLACES = {
    "fra": ["de-fra", "fr"],
    "georgia": ["ge", "us-ga"],
    "me": ["me", "us-me"],
    "na": ["na", "north-america"],
}
CONTINENT_KEYS = frozenset({"africa", "asia", "eu", "north-america", "oceania", "south-america"})
CONTINENTS_OF = {
    "emea": ("EU", "AS", "AF"),
    "apac": ("AS", "OC"),
    "americas": ("NA", "SA"),
    "latin-america": ("NA", "SA"),
    "mena": ("AS", "AF"),
    "global": ("AF", "AN", "AS", "EU", "NA", "OC", "SA"),
}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place and how exactly it is told: 5 a city, 4 a state, 3 a part of a country, 2 a country, else a continent."""

    key: str
    country: str | None
    continent: str | None
    is_eu: bool | None
    rank: int


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """The names of places: those of everybody, and the cities and states that providers name.

    `cities` are the names of cities, also where the name means a state as well: New York, Washington.
    """

    names: dict[str, tuple[Spot, ...]]
    spots: dict[str, Spot]
    cities: frozenset[str]


def plain(text: str) -> str:
    """Returns the text in small Latin letters without accents, with single spaces for hyphens and underlines."""
    bare = unicodedata.normalize("NFKD", text.casefold().translate(LATIN))
    bare = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return " ".join(re.sub(r"[\-_.]+", " ", unicodedata.normalize("NFKC", bare)).split())


def _rank(key: str, city: str | None, country: str | None) -> int:
    """Returns how exactly a key tells a place."""
    if country is None:
        return 0 if key in CONTINENT_KEYS or "-" not in key else 1
    if key == country.casefold():
        return 2
    return 5 if city else 4 if STATE.fullmatch(key) else 3


@lru_cache
def _gazetteer() -> Gazetteer:
    """Returns the names of region.csv by their plain spelling. A name of everybody goes before one of a column."""
    spots: dict[str, Spot] = {}
    general: dict[str, set[Spot]] = {}
    columns: dict[str, set[str]] = {}
    rows = read("region").select(FIELDS).rows()
    for provider, text, key, city, area, country, continent, is_eu, kind in rows:
        if key == "unknown":
            continue
        spot = spots.setdefault(key, Spot(key, country, continent, is_eu, _rank(key, city, country)))
        if provider == EVERYBODY:
            is_inside = kind == "region" and spot.rank == 2  # a city of which only the country is kept
            for name in {plain(text), plain(text.casefold().translate(SPELT_OUT))}:
                general.setdefault(name, set()).add(replace(spot, rank=5) if is_inside else spot)
        if city:
            columns.setdefault(plain(city), set()).add(key)
            columns.setdefault(key.rpartition("-")[2], set()).add(key)  # FRA, beside the name of the city
        elif area and STATE.fullmatch(key):
            columns.setdefault(plain(area), set()).add(key)
            columns.setdefault(key[3:], set()).add(key)
    for _, _, _, _, area, country, *_ in rows:
        is_named = area and (plain(area) in columns or plain(area) in general)
        if area and not is_named and country and country.casefold() in spots:
            columns.setdefault(plain(area), set()).add(country.casefold())
    listed = {name: sorted(keys) for name, keys in columns.items()} | TWO_PLACES
    names = {name: [spots[key] for key in keys if key in spots] for name, keys in listed.items()}
    for name, own in general.items():
        # CA is Canada and California; Singapore is the country, not the city in it.
        countries = {spot.country for spot in own if spot.rank == 2}
        others = [spot for spot in names.get(name, []) if spot.country not in countries]
        names[name] = [*sorted(own, key=lambda spot: spot.key), *others]
    cities = {plain(city) for _, _, _, city, *_ in rows if city}
    cities |= {name for name, own in general.items() if any(spot.rank == 5 for spot in own)}
    return Gazetteer(
        {name: tuple(dict.fromkeys(found)) for name, found in names.items()}, spots, frozenset(cities)
    )


def spots() -> dict[str, Spot]:
    """Returns every place of region.csv by its key."""
    return _gazetteer().spots


def spot_in_words(text: str) -> Spot | None:
    """Returns the place that the parts of a text agree on; None when they name none, or contradict each other."""
    if NOT_OF_A_PLACE.search(text):
        return None
    parts = _parts(text)
    if not 0 < len(parts) <= MOST_PARTS:
        return None
    meanings = [_meanings(part) for part in parts]
    if len(parts) == 1 and (parts[0] in HOMONYMS or _is_short_code(parts[0])):
        return None
    known = [found for found in meanings if found]
    unknown = [part for part, found in zip(parts, meanings, strict=True) if not found]
    if not known:
        return None
    agreed = _agreed(known)
    if agreed is None:
        return None if unknown else _of_cities(known) or _of_state_behind(text, parts, known)
    if all(CODE.fullmatch(part) for part in unknown):
        return agreed
    is_name = all(len(part.split()) <= MOST_WORDS for part in unknown)
    return agreed if is_name and agreed.rank < 5 else None


def _is_short_code(part: str) -> bool:
    """Returns whether a part is as short as the codes that every provider has of its own."""
    return part.isascii() and len(part) < 4 and not part.startswith(FLAG_MARK)


def _parts(text: str) -> list[str]:
    """Returns the parts of a text in plain spelling; a flag is the code of its country."""
    for flag in FLAG.findall(text):
        code = "".join(chr(ord(sign) - 0x1F1E6 + ord("A")) for sign in flag)
        text = text.replace(flag, f", {FLAG_MARK}{code}, ")
    pieces = [plain(piece) for piece in BETWEEN.split(PICTURE.sub(" ", unicodedata.normalize("NFKC", text)))]
    return list(dict.fromkeys(piece for piece in pieces if _bare(piece)))


def _bare(part: str) -> str:
    """Returns a part without the words that do not say where it lies."""
    return " ".join(DRESSING.sub(" ", part).split())


def _meanings(part: str) -> tuple[Spot, ...]:
    """Returns what one part can mean."""
    if part.startswith(FLAG_MARK):
        spot = _gazetteer().spots.get(part.removeprefix(FLAG_MARK))
        return (spot,) if spot else ()
    part = UNITED_STATES.sub("us", part)
    return _of_name(part) or _of_name(_bare(part))


def _of_name(part: str) -> tuple[Spot, ...]:
    """Returns what a name can mean, or a name with a number behind it, or several names side by side."""
    names = _gazetteer().names
    if part in names:
        return names[part]
    shorter = NUMBER_BEHIND.sub("", part)
    if shorter != part:
        return tuple(
            spot for spot in names.get(shorter, ()) if spot.rank in (2, 5) and not _is_short_code(shorter)
        )
    words = part.split()
    if not 1 < len(words) <= MOST_PARTS:
        return ()
    spans = _spans(words)
    agreed = _agreed([names[span] for span in spans]) if spans else None
    return (agreed,) if agreed else ()


def _spans(words: Sequence[str]) -> list[str]:
    """Returns the words as known names, longest first; none when one of them is of no name."""
    spans: list[str] = []
    at = 0
    while at < len(words):
        ends = [end for end in range(len(words), at, -1) if _is_name(words[at:end], is_first=at == 0)]
        if not ends:
            return []
        spans.append(" ".join(words[at : ends[0]]))
        at = ends[0]
    return spans


def _is_name(words: Sequence[str], *, is_first: bool) -> bool:
    """Returns whether words are a name. A code of two letters is one behind other names: in Americas is not Indiana."""
    name = " ".join(words)
    is_code = len(name) == 2 and name.isascii() and name not in FIRST_CODES
    return name in _gazetteer().names and not (is_code and is_first)


def _agreed(meanings: Sequence[tuple[Spot, ...]]) -> Spot | None:
    """Returns the exactest place of the only way to read all parts together.

    Where several ways are left, it is what they have in common.
    """
    ways = [way for way in product(*meanings) if all(can_hold(one, other) for one in way for other in way)]
    most = max((len({spot.key for spot in way}) for way in ways), default=0)  # New York, NY is the city
    return common(max(way, key=_exactness) for way in ways if len({spot.key for spot in way}) == most)


def _exactness(spot: Spot) -> int:
    """Returns how exactly the key tells a place, which of some cities is that of their country."""
    return 2 if spot.country and spot.key == spot.country.casefold() else spot.rank


def can_hold(one: Spot, other: Spot) -> bool:
    """Returns whether two places can be of one spot: one lies in the other, or nothing keeps them apart."""
    wide, near = sorted((one, other), key=lambda spot: spot.rank)
    if wide.key == near.key:
        return True
    if wide.rank == near.rank and wide.rank in (2, 4, 5):
        return False
    if wide.rank >= 4:
        return near.key.startswith(f"{wide.key}-")
    if wide.is_eu and near.is_eu is False:
        return False
    if wide.country:
        return wide.country == near.country
    return near.continent is None or near.continent in CONTINENTS_OF.get(wide.key, (wide.continent,))


def _of_cities(known: Sequence[tuple[Spot, ...]]) -> Spot | None:
    """Returns the country that several cities have in common."""
    if any(spot.rank != 5 for found in known for spot in found):
        return None
    country = common(spot for found in known for spot in found)
    return country if country and country.country else None


def _of_state_behind(text: str, parts: Sequence[str], known: Sequence[tuple[Spot, ...]]) -> Spot | None:
    """Returns the state behind a city of another country: Paris, TX; London, Ontario; Paris, TX, USA.

    North America is so full of the names of other cities that the city gives way there, but only behind a comma, and
    to a state whose name is not that of a city as well: "London, New York" and "Frankfurt | Virginia" are two places.
    """
    if any(mark != "," for mark in BETWEEN.findall(unicodedata.normalize("NFKC", text))):
        return None
    named = [at for at, part in enumerate(parts) if not part.startswith(FLAG_MARK)]
    is_city = len(named) > 1 and all(spot.rank == 5 for spot in known[named[0]])
    if not is_city or any(parts[at] in _gazetteer().cities for at in named[1:]):
        return None
    near = {spot.country for spot in known[named[0]]}  # ME behind Portland is Maine and not Montenegro
    wide = [
        tuple(spot for spot in found if spot.country in near) or found
        for at, found in enumerate(known)
        if at != named[0]
    ]
    agreed = _agreed(wide) if any(spot.rank == 4 for found in wide for spot in found) else None
    return agreed if agreed and (agreed.country in ("US", "CA") or agreed.key == "north-america") else None


def common(spots: Iterable[Spot]) -> Spot | None:
    """Returns the exactest place that holds all of these; None when they have not even a continent in common."""
    found = sorted(set(spots), key=lambda spot: (spot.rank, spot.key))
    if not found:
        return None
    widest = found[0]
    if all(spot.key == widest.key or spot.key.startswith(f"{widest.key}-") for spot in found):
        return widest
    known = _gazetteer().spots
    countries, continents = {spot.country for spot in found}, {spot.continent for spot in found}
    if len(countries) == 1 and (country := countries.pop()):
        return known.get(country.casefold())
    of_continent = {spot.continent: spot for spot in known.values() if spot.key in CONTINENT_KEYS}
    return of_continent.get(continents.pop()) if len(continents) == 1 else None
