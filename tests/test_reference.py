"""The reference tables are believed only with a source, a date, known keys and possible figures."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from transforms.reference.checks import check_references
from transforms.reference.specs import TABLES
from transforms.reference.tables import FactsError, assumption, read, read_text

FOLDER = Path(__file__).parents[1] / "transforms" / "reference"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_believed(name: str) -> None:
    assert read(name).height > 0


def test_every_csv_has_a_spec() -> None:
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(TABLES)


@pytest.mark.parametrize(
    ("table", "key", "column", "value"),
    [
        ("gpu", "H100-SXM5-80GB", "vram_gb", 80),
        ("gpu", "H100-SXM5-80GB", "memory_bandwidth_gb_per_s", 3350.0),
        ("gpu", "H100-SXM5-80GB", "has_nvlink", True),
        ("gpu", "L40S-48GB", "has_nvlink", False),
        ("gpu", "T4-16GB", "fp8_dense_tflops", None),
        ("model", "llama-3.1-70b", "num_kv_heads", 8),
        ("model", "llama-3.1-70b", "kv_bytes_per_token_bf16", 2 * 2 * 80 * 8 * 128),
        ("assumption", "hours_per_month", "value", 730.0),
    ],
)
def test_known_cells_have_their_value_and_type(table: str, key: str, column: str, value: object) -> None:
    found = read(table).filter(pl.col(TABLES[table].key[0]) == key)[column].to_list()
    assert found == [value]
    assert type(found[0]) is type(value)


def test_north_america_is_text() -> None:
    places = read("region").filter(pl.col("provider") == "aws", pl.col("region_text") == "us-east-1")
    assert places["continent"].to_list() == ["NA"]


def test_a_table_is_read_once() -> None:
    assert read("gpu") is read("gpu")


def _cell(name: str, row: int, column: str, value: str) -> bytes:
    """Returns the CSV of a table with one cell changed."""
    raw = pl.read_csv(FOLDER / f"{name}.csv", infer_schema=False, null_values=[""])
    is_row = pl.int_range(pl.len()) == row
    changed = raw.with_columns(pl.when(is_row).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))
    return changed.write_csv().encode()


BROKEN = [
    ("gpu", "source_1", "", "no source"),
    ("gpu", "retrieved_on", "", "no date"),
    ("gpu", "retrieved_on", "last week", "not of type Date"),
    ("gpu", "gpu_key", "A100-SXM4-40GB", "the key is there twice"),
    ("gpu", "gpu_key", "", "no key"),
    ("gpu", "vram_gb", "0", "outside 1 to 1024"),
    ("gpu", "vram_gb", "40.5", "not of type Int64"),
    ("gpu", "vram_gb", "forty", "not of type Int64"),
    ("gpu", "memory_bandwidth_gb_per_s", "41000", "outside 10 to 40000"),
    ("gpu", "memory_bandwidth_gb_per_s", "NaN", "outside 10 to 40000"),
    ("gpu", "fp8_dense_tflops", "200", "below bf16_dense_tflops"),
    ("gpu", "usable_gib", "41", "more than the card has"),
    ("gpu", "has_nvlink", "maybe", "not of type Boolean"),
    ("gpu", "form_factor", "SXM99", "not one of"),
    ("gpu_alias", "source", "  ", "no source"),
    ("gpu_alias", "gpu_count", "0", "outside 1 to 1024"),
    ("model", "num_kv_heads", "5", "does not divide the attention heads"),
    ("model", "head_dim", "8", "heads x head_dim"),
    ("model", "params_active", "9999999999999", "more than params_total"),
    ("tier", "hosts_allowed", "everybody", "not one of"),
    ("tier", "purchase_kinds_allowed", "on_demand|gift", "not of on_demand"),
    ("tier", "mean_load", "1.5", "outside 0 to 1"),
    ("provider", "segment", "telco", "not one of"),
    ("provider", "billing_increment_s", "-1", "outside 0 to"),
    ("provider", "storage_usd_per_gb_month", "1.5", "outside 0 to 1"),
    ("provider", "egress_usd_per_gb_first_tier", "90", "outside 0 to 1"),
    ("region", "continent", "XX", "not one of"),
    ("region", "lat", "91", "outside -90 to 90"),
    ("assumption", "value", "9000", "outside its own low and high"),
]


@pytest.mark.parametrize(("name", "column", "value", "problem"), BROKEN)
def test_a_row_that_cannot_be_true_is_refused(name: str, column: str, value: str, problem: str) -> None:
    with pytest.raises(FactsError) as error:
        read_text(name, _cell(name, 0, column, value), TABLES[name])
    message = str(error.value)
    assert problem in message
    assert message.startswith(f"{name}.csv: ")
    assert column in message or problem.startswith(("the key", "no date"))
    assert "\n" not in message


@pytest.mark.parametrize("name", sorted({name for name, *_ in BROKEN}))
def test_the_same_row_unchanged_is_taken(name: str) -> None:
    column = TABLES[name].key[0]
    unchanged = pl.read_csv(FOLDER / f"{name}.csv", infer_schema=False)[column][0]
    assert read_text(name, _cell(name, 0, column, unchanged), TABLES[name]).height == read(name).height


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("gpu_alias", "gpu_keys", "H100-SXM5-80GB|H101-SXM5-80GB"),
        ("gpu_alias", "context", "a diary"),
        ("plan_pattern", "gpu_keys", "nothing"),
        ("tier", "model_id", "llama-99"),
        ("tier", "alt_model_ids", "qwen3-8b;llama-99"),
    ],
)
def test_a_key_of_another_table_must_exist(name: str, column: str, value: str) -> None:
    rows = read_text(name, _cell(name, 0, column, value), TABLES[name])
    with pytest.raises(FactsError, match=f"{column} = .*names a key that"):
        check_references(name, rows, TABLES[name], lambda table, key: read(table)[key].to_list())


def test_a_column_too_many_is_refused() -> None:
    more = read("assumption").with_columns(mood=pl.lit("fine")).write_csv().encode()
    with pytest.raises(FactsError, match="mood: the columns are not those of its entry"):
        read_text("assumption", more, TABLES["assumption"])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(FactsError, match="no such table"):
        read("horoscope")
    with pytest.raises(FactsError, match="no single row 'luck'"):
        assumption("luck")


def test_every_row_has_source_and_date_in_the_files_themselves() -> None:
    """Reads the files without the loader."""
    for path in sorted(FOLDER.glob("*.csv")):
        rows = pl.read_csv(path, infer_schema=False, null_values=[""])
        source = "source_1" if "source_1" in rows.columns else "source"
        days = [name for name in ("retrieved_on", "as_of") if name in rows.columns]
        assert rows[source].null_count() == 0, path.name
        assert rows.select(pl.any_horizontal(pl.col(days).is_not_null()).all()).item(), path.name


def test_no_row_cites_a_private_folder() -> None:
    private = re.compile(r"shared/|price_snapshot|api_sources|html_sources|(?<!\.)\.\./")
    found = [path.name for path in FOLDER.glob("*.csv") if private.search(path.read_text())]
    assert found == []
    assert private.search("see shared/facts/price_snapshot.csv")


def test_figures_agree_with_the_facts_they_were_copied_from() -> None:
    facts = Path(__file__).parents[2] / "shared" / "facts"
    if not facts.is_dir():
        pytest.skip("../shared/facts is not here")
    theirs = pl.read_csv(facts / "accelerators.csv", infer_schema=False)
    ours = pl.read_csv(FOLDER / "gpu.csv", infer_schema=False)
    assert set(ours["gpu_key"]) == set(theirs["canonical_id"])
