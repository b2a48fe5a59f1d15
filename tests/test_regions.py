"""Region spellings lead to a place, and what names no place leads to none."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.offers.place_words import plain
from transforms.offers.regions import NOT_KNOWN, NOWHERE, Place, region_frame, resolve_region
from transforms.reference.tables import read

ASHBURN = Place("us-va-ashburn", "US", "NA", is_eu=False)
STATES_TOO = frozenset(
    "al ar az ca co ga id il in ky la ma md me mn mo ms mt nc ne pa sc sd tn va".split()  # noqa: SIM905
)
PARIS = Place("fr-par", "FR", "EU", is_eu=True)


@pytest.mark.parametrize(
    ("provider", "text", "place"),
    [
        ("aws", "us-east-1", ASHBURN),
        ("aws", "us-east-1a", ASHBURN),
        ("aws", "US-EAST-1", ASHBURN),
        ("aws", "  us-east-1 ", ASHBURN),
        ("aws", "US East (N. Virginia)", ASHBURN),
        ("oracle", "us-ashburn-1", ASHBURN),
        ("scaleway", "fr-par", PARIS),
        ("scaleway", "fr-par-2", PARIS),
        ("scaleway", "fr-par-9", PARIS),
    ],
)
def test_provider_spellings(provider: str, text: str, place: Place) -> None:
    assert resolve_region(text, provider) == place


@pytest.mark.parametrize(
    ("provider", "zone", "region"),
    [
        ("aws", "us-east-2c", "us-east-2"),
        ("gcp", "us-central1-b", "us-central1"),
        ("gcp", "europe-west4-a", "europe-west4"),
        ("azure", "eastus-1", "eastus"),
        ("scaleway", "nl-ams-3", "nl-ams"),
    ],
)
def test_a_zone_lies_where_its_region_lies(provider: str, zone: str, region: str) -> None:
    assert resolve_region(zone, provider) == resolve_region(region, provider)
    assert resolve_region(zone, provider).region_key


def test_zone_rules_are_the_providers_own() -> None:
    assert resolve_region("us-central1-b", "aws") == NOT_KNOWN
    assert resolve_region("us-east-1-b", "aws") == NOT_KNOWN


@pytest.mark.parametrize(
    "text", ["", "   ", None, "moon", "🚀", "x" * 10_000, "us-east-1; drop table region"]
)
def test_what_is_not_known_is_said_to_be_not_known(text: str | None) -> None:
    assert resolve_region(text, "aws") == NOT_KNOWN


@pytest.mark.parametrize("text", ["NA", "n/a", "EU / US", "Georgia"])
def test_an_ambiguous_text_is_known_and_still_no_place(text: str) -> None:
    assert resolve_region(text) == NOWHERE


def test_europe_is_a_continent_and_not_the_union() -> None:
    place = resolve_region("Europe")
    assert (place.continent, place.country, place.is_eu) == ("EU", None, None)
    union = resolve_region("European Union")
    assert union.is_eu is True


@pytest.mark.parametrize(
    ("country", "is_eu"),
    [("DE", True), ("NO", False), ("CH", False), ("GB", False), ("IE", True), ("IS", False)],
)
def test_countries(country: str, is_eu: bool) -> None:
    place = resolve_region(country)
    assert (place.country, place.continent, place.is_eu) == (country, "EU", is_eu)


@pytest.mark.parametrize("code", ["GA", "IL", "ca", "IN", "PA"])
def test_a_code_of_a_country_and_a_state_is_no_place_but_where_codes_are_of_countries(code: str) -> None:
    assert resolve_region(code) == resolve_region(code, "somebody") == NOWHERE
    assert resolve_region(code, "clore").country == code.upper()
    assert resolve_region(code, "nobody", "lium").country == code.upper()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("eu-central-1 (Frankfurt)", "de-fra"),
        ("us-east-1 (N. Virginia)", "us-va-ashburn"),
        ("us-east-1 (Virginia)", "us-va-ashburn"),
        ("eu-central-1 (Paris)", None),
        ("moon-1 (Frankfurt)", "de-fra"),
    ],
)
def test_a_spelling_with_its_city_behind_it(text: str, key: str | None) -> None:
    assert resolve_region(text, "aws").region_key == key


def test_a_reseller_uses_the_spellings_of_the_cloud_it_resells() -> None:
    assert resolve_region("us-gov-west-1", "nobody") == NOT_KNOWN
    assert resolve_region("us-gov-west-1", "nobody", "aws") == resolve_region("us-gov-west-1", "aws")


def test_every_row_of_the_table_resolves_to_itself() -> None:
    columns = ("provider", "region_text", "region_key", "country_iso2", "continent", "is_eu_member")
    for provider, text, key, country, continent, is_eu in read("region").select(columns).iter_rows():
        is_no_place = key == "unknown" or (provider == "*" and text.casefold() in STATES_TOO)
        expected = NOWHERE if is_no_place else Place(key, country, continent, is_eu)
        assert resolve_region(text, None if provider == "*" else provider) == expected, (provider, text)


def test_frame_has_one_row_for_each_distinct_text() -> None:
    asked = pl.DataFrame(
        {
            "provider": ["aws", "aws", "aws", "vast"],
            "origin": [None, None, None, None],
            "place_text": ["us-east-1", "us-east-1", None, "moon"],
        },
        schema_overrides={"origin": pl.String},
    )
    frame = region_frame(asked).sort("provider")
    assert frame["place_text"].to_list() == ["us-east-1", "moon"]
    assert frame["country"].to_list() == ["US", None]
    assert frame["region_is_known"].to_list() == [True, False]


@given(st.text(max_size=200), st.sampled_from([None, "aws", "gcp", "nobody"]))
def test_any_text_gives_a_place(text: str, provider: str | None) -> None:
    place = resolve_region(text, provider)
    assert place.continent in {None, "AF", "AN", "AS", "EU", "NA", "OC", "SA"}
    assert place.is_known or place == NOT_KNOWN


SPELLINGS = Path(__file__).parent / "region_spellings.csv"


def _spellings() -> list[dict[str, str]]:
    with SPELLINGS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _misread(row: dict[str, str]) -> str | None:
    """Returns how a row of the table is read otherwise than its expectation says."""
    found = resolve_region(row["text"], row["provider"] or None).region_key or ""
    return (
        None if found == row["expected_key"] else f"{row['text']!r}: {row['expected_key']!r}, not {found!r}"
    )


def test_every_spelling_of_the_table_is_read_as_meant() -> None:
    rows = _spellings()
    assert [fault for row in rows if (fault := _misread(row))] == []
    assert len(rows) > 300
    assert {row["expected_key"] for row in rows} - {""} <= set(read("region")["region_key"])
    assert sum(not row["expected_key"] for row in rows) > 50


@pytest.mark.parametrize(
    ("text", "provider", "wrong"),
    [
        ("Paris, TX", "", "fr-par"),
        ("Ontario, CA", "", "us-ca"),
        ("California, CA", "", "ca"),
        ("Georgia", "", "ge"),
        ("FRA1", "somebody", "de-fra"),
        ("Leipzig, Germany", "", ""),
    ],
)
def test_a_wrong_expectation_fails_the_table(text: str, provider: str, wrong: str) -> None:
    assert _misread({"text": text, "provider": provider, "expected_key": wrong})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Leipzig, DE", Place("de", "DE", "EU", is_eu=True)),
        ("Zurich (ZRH1)", Place("ch-zrh", "CH", "EU", is_eu=False)),
        ("Oslo, Norway", Place("no-osl", "NO", "EU", is_eu=False)),
        ("EU-West / Paris", PARIS),
        ("us-east-1", Place("us", "US", "NA", is_eu=False)),  # of several providers, in several places
        ("\u202eynamreG", NOT_KNOWN),
    ],
)
def test_a_place_in_words_has_country_and_continent(text: str, place: Place) -> None:
    assert resolve_region(text) == place


def test_the_words_of_other_providers_are_not_asked_for_a_named_one() -> None:
    assert resolve_region("eastus2") == resolve_region("eastus2", "azure")
    assert resolve_region("eastus2", "nobody") == NOT_KNOWN


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("São_Paulo", "sao paulo"),
        ("Île-de-France", "ile de france"),
        ("TROMSØ", "tromso"),
        ("대한민국", "대한민국"),
    ],
)
def test_plain_spelling(text: str, spelt: str) -> None:
    assert plain(text) == spelt


PARTS = "Germany DE Frankfurt CA Ontario US TX Paris Georgia EU Asia 中国 🇩🇪 🇺🇸 fra1 zone-1 moon NYC Berlin"


@given(st.lists(st.sampled_from(PARTS.split()), max_size=8), st.sampled_from([", ", " ", "/", " (", "-"]))
def test_names_of_places_in_any_order_give_a_place_of_the_table(parts: list[str], separator: str) -> None:
    place = resolve_region(separator.join(parts), "nobody")
    assert place in (NOT_KNOWN, NOWHERE) or place.region_key in set(read("region")["region_key"])
    assert place.country is None or place.continent is not None
