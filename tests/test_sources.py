"""Every provider that we know is asked, bundled or named with the reason why not; and what is told of one source."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from conftest import MIDNIGHT, NIGHT, ROOT
from test_warehouse import describe, offerings, source_night

from flows.answers import UnknownNameError, source_history, source_list
from flows.settings import Settings
from flows.sources import BUNDLED_ONLY, bundled_providers, provider_of, source_rows
from scrapers import registry
from scrapers.contract import Source
from transforms.offers.schema import FINDING, LISTING
from transforms.reference.tables import read
from warehouse.connection import writing
from warehouse.load import SourceNight, load


def gaps(known: set[str], asked: set[str], bundled: set[str], without: set[str]) -> set[str]:
    """Returns the providers that nothing is said of, and those of which a price is known that are said to have none."""
    return (known - asked - bundled - without) | (without & (asked | bundled))


def test_every_provider_is_asked_bundled_or_named_with_a_reason() -> None:
    asked = {provider_of(module.SOURCE) or "" for module in registry.load().values()}
    known, bundled = set(read("provider")["provider"]), bundled_providers()
    without = set(read("not_collected")["source_id"])
    assert gaps(known, asked, bundled, without) == set()
    assert gaps(known | {"new"}, asked, bundled, without) == {"new"}  # control
    assert gaps(known, asked, bundled, without | {"vast", "acecloud"}) == {"vast", "acecloud"}  # control


def said_of(source: Source) -> set[str]:
    """Returns the providers of the listings in the golden file of a source."""
    golden = json.loads(
        (ROOT / "tests" / "captures" / source.id / "listings.json").read_text(encoding="utf-8")
    )
    return {record["provider"] for record in golden.get("records", ()) if record["record"] == "Listing"}


def misnamed(source: Source, said: set[str]) -> bool:
    """Whether a source lists offers of another provider than its SOURCE says."""
    return provider_of(source) is not None and bool(said) and said != {provider_of(source)}


def test_a_source_lists_the_offers_of_the_provider_that_it_names() -> None:
    sources = [module.SOURCE for module in registry.load().values()]
    assert [source.id for source in sources if misnamed(source, said_of(source))] == []
    oracle = registry.load_one("oci").SOURCE
    assert provider_of(oracle) == "oracle"
    assert misnamed(replace(oracle, provider=None), said_of(oracle))  # control


def test_modules_bundled_and_silent_providers_are_told_apart() -> None:
    sources = [registry.load_one(name).SOURCE for name in ("oci", "list_prices", "ecb")]
    off = {"oci": None, "list_prices": None, "ecb": "turned off"}
    rows = {row["source_id"]: row for row in source_rows(sources, off).iter_rows(named=True)}
    kinds = {name: rows[name]["kind"] for name in ("oci", "list_prices", "ecb", "vast", "ibm_cloud")}
    assert kinds == {
        "oci": "module",
        "list_prices": "module",
        "ecb": "module",
        "vast": "bundled",
        "ibm_cloud": "none",
    }
    assert (rows["oci"]["provider"], rows["oci"]["basis"], rows["oci"]["is_on"]) == ("oracle", "own", True)
    assert "oracle" not in rows  # the module asks it
    assert (rows["ecb"]["provider"], rows["ecb"]["off_reason"]) == (None, "turned off")
    assert (rows["vast"]["off_reason"], rows["vast"]["is_on"]) == (BUNDLED_ONLY, False)
    assert rows["ibm_cloud"]["off_reason"].startswith("the price list needs an account")
    assert rows["ibm_cloud"]["homepage"] == "https://www.ibm.com/cloud"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home with one published night of the source alpha; alpha is a GPU cloud of three plans and four names."""
    named: tuple[dict[str, Any], ...] = (
        {"plan": "one", "gpu_text": "H100 SXM", "place": "rows[0]"},
        {"plan": "two", "gpu_text": "Warp 9", "place": "rows[1]", "gpu_memory": "96", "note": "new in May"},
        {"plan": "three", "gpu_text": "L40S", "place": "rows[2]"},
        {"plan": "four", "gpu_text": "A100", "place": "rows[3]"},
    )
    made = offerings(
        {"offering_id": "a", "plan": "one", "region_text": "east", "region_key": "us-va", "country": "US"},
        {
            "offering_id": "b",
            "plan": "two",
            "gpu_text": "Warp 9",
            "gpu_key": None,
            "gpu_candidates": [],
            "availability": "unknown",
            "region_text": "moon",
        },
        {
            "offering_id": "c",
            "plan": "three",
            "gpu_text": "L40S",
            "purchase": "spot",
            "price_usd_per_gpu_hour": None,
            "price_usd_per_instance_hour": None,
            "price_gap": "contact sales",
            "availability": "out_of_stock",
        },
    )
    finding = ("alpha", "unmapped_gpu", False, "alpha: Warp 9", "1 offerings, such as two")
    old = ("alpha", "price_jump", True, "offerings", "of an earlier night")
    result = replace(
        source_night(NIGHT),
        offerings=made,
        listings=pl.DataFrame([{"source_id": "alpha", **row} for row in named], schema=LISTING),
        findings=pl.DataFrame([finding], schema=FINDING, orient="row"),
    )
    earlier = SourceNight(
        source_id="alpha",
        night=NIGHT - timedelta(days=1),
        started_at=MIDNIGHT,
        outcome="held",
        reason="price_jump",
        seconds=1.0,
        findings=pl.DataFrame([old], schema=FINDING, orient="row"),
    )
    home = Settings(home=tmp_path)
    with writing(home.warehouse) as connection:
        describe(connection, "alpha", "quiet")
        nobody = "insert into source by name select $id as source_id, $kind as kind, $id as provider, false as is_on"
        connection.execute(nobody, {"id": "gamma", "kind": "bundled"})
        connection.execute(nobody, {"id": "delta", "kind": "none"})
        load(connection, earlier)
        load(connection, result)
        _accept(connection)
    home.database.parent.mkdir()
    shutil.copy(home.warehouse, home.database)
    return home


def _accept(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "insert into acceptance values (?, 'alpha', ?, 'the vendor said so', ['price_jump: all'])",
        [NIGHT - timedelta(days=1), MIDNIGHT],
    )


def test_the_list_has_sources_first_and_then_who_is_not_asked(settings: Settings) -> None:
    rows = [(row["source_id"], row["kind"], row["outcome"]) for row in source_list(settings)]
    assert rows == [
        ("alpha", "module", "ok"),
        ("quiet", "module", "never"),
        ("gamma", "bundled", "bundled"),
        ("delta", "none", "not_asked"),
    ]
    short = source_list(settings, short=True)
    assert [(row["source_id"], row["outcome"]) for row in short] == [("alpha", "ok"), ("quiet", "never")]
    assert "kind" not in short[0]  # all of them are modules


def test_what_is_told_of_a_source(settings: Settings) -> None:
    told = source_history(settings, "alpha")
    coverage = {
        "gpu_names": 4,
        "gpu_names_priced": 2,  # H100 SXM and Warp 9; L40S is on request, A100 gave no offer
        "gpu_names_mapped": 2,  # H100 SXM and L40S
        "names_without_price": ["A100", "L40S"],
        "names_unmapped": ["A100", "Warp 9"],
        "offers": 3,
        "offers_priced": 2,
        "regions": 2,
        "regions_unknown": 1,
        "purchases": ["on_demand", "spot"],
        "stock_told_share": pytest.approx(2 / 3),
    }
    assert {name: told[name] for name in coverage} == coverage
    assert (told["outcome"], told["age_days"], told["last_good_night"]) == ("ok", 0, NIGHT)
    assert [(row["night"], row["outcome"]) for row in told["nights"]] == [
        (NIGHT, "ok"),
        (NIGHT - timedelta(days=1), "held"),
    ]
    assert [row["rule"] for row in told["findings"]] == ["unmapped_gpu"]  # not those of an earlier night
    assert [(row["reason"], row["findings"]) for row in told["acceptances"]] == [
        ("the vendor said so", ["price_jump: all"])
    ]
    unmapped: list[Mapping[str, Any]] = told["unmapped_gpus"]
    assert unmapped == [
        {"place": "rows[1]", "plan": "two", "gpu_text": "Warp 9", "gpu_memory": "96", "note": "new in May"}
    ]


def test_a_source_without_a_night_and_a_provider_that_is_not_asked_are_told_too(settings: Settings) -> None:
    for name, outcome in (("quiet", "never"), ("gamma", "bundled"), ("delta", "not_asked")):
        told = source_history(settings, name)
        assert (told["outcome"], told["nights"], told["unmapped_gpus"]) == (outcome, [], [])
    with pytest.raises(UnknownNameError, match="did you mean alpha"):
        source_history(settings, "alfa")
