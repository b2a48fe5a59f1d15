"""The reference tables are believed only with a source, a date, known keys and possible figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from transforms.reference import limits
from transforms.reference.checks import check_references
from transforms.reference.specs import TABLES
from transforms.reference.tables import FactsError, assumption, read, read_text
from transforms.workloads.ranking import QUANTITY

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
    ("tier", "purchase_kinds_allowed", "on_demand|gift", "not of the shape"),
    ("tier", "mean_load", "1.5", "outside 0 to 1"),
    ("provider", "segment", "telco", "not one of"),
    ("provider", "billing_increment_s", "-1", "outside 0 to"),
    ("provider", "storage_usd_per_gb_month", "1.5", "outside 0 to 1"),
    ("provider", "egress_usd_per_gb_first_tier", "90", "outside 0 to 1"),
    ("region", "continent", "XX", "not one of"),
    ("region", "lat", "91", "outside -90 to 90"),
    ("assumption", "value", "9000", "outside its own low and high"),
    ("gpu", "int8_dense_tops", "-5", "outside 1 to 40000"),
    ("gpu", "retrieved_on", "2099-01-01", "not from 2010-01-01 to 2026-11-30"),
    ("gpu", "retrieved_on", "2009-12-31", "not from 2010-01-01 to 2026-11-30"),
    ("gpu", "vendor", "Acme", "not one of"),
    ("gpu_alias", "gpu_fraction", "7", "not of the shape"),
    ("model", "num_layers", "-3", "not of the shape"),
    ("model", "released", "2099", "not from 2010-01-01 to 2026-11-30"),
    ("model", "released", "soon", "not of the shape"),
    ("model", "attention", "full", "not one of"),
    ("tier", "deadline_hours", "-4", "outside 0.01 to 87600"),
    ("tier", "min_tokens_per_s_per_user", "-5", "outside 0.1 to 10000"),
    ("tier", "objective", "usd_per_banana", "not one of"),
    ("tier", "required_fabric", "magic", "not one of"),
    ("tier", "usage_pattern", "now and then", "not of the shape"),
    ("tier", "as_of", "2099-01-01", "not from 2010-01-01 to 2026-11-30"),
    ("provider", "as_of", "2026-12", "not from 2010-01-01 to 2026-11-30"),
    ("provider", "hq_country", "USA", "not of the shape"),
    ("region", "country_iso2", "ZZZ", "not of the shape"),
    ("interruption", "value", "-100", "not of the shape"),
    ("interruption", "date", "2099-01-01", "not from 2010-01-01 to 2026-11-30"),
    ("interruption", "statistic", "luck", "not one of"),
    ("quant_format", "embedding_bits", "-4", "outside 1 to 64"),
    ("quant_format", "native_unit", "1bit", "not one of"),
    ("optimizer", "weight_copy_bytes", "0", "outside 1 to 4"),
    ("audio_reference", "audio_s_per_s", "-1", "outside 0.01 to 1e+06"),
    ("denoiser", "token_params", "-1", "outside 1e+06 to 1e+12"),
    ("coefficient", "unit", "furlong", "not one of"),
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
        ("tier", "optimizer", "xx"),
        ("tier", "weight_precision", "int3"),
        ("interruption", "provider", "nobody"),
        ("region", "provider", "nobody"),
        ("plan_pattern", "provider", "nobody"),
        ("alias_context", "providers", "aws|nobody"),
        ("gpu_speed_class", "hardware_class", "zzz"),
        ("gpu_speed_class", "training_family", "zzz"),
        ("gpu_speed_class", "generation_family", "zzz"),
        ("denoiser", "denoiser_family", "zzz"),
        ("quant_format", "flops_factor_id", "zzz"),
    ],
)
def test_a_key_of_another_table_must_exist(name: str, column: str, value: str) -> None:
    rows = read_text(name, _cell(name, 0, column, value), TABLES[name])
    with pytest.raises(FactsError, match=f"{column} = .*names a key that"):
        check_references(name, rows, TABLES[name], lambda table, key: read(table)[key].to_list())


NEGATIVE = ("lat", "lon")
NUMBERS = [
    (name, column)
    for name, spec in sorted(TABLES.items())
    for column in (*spec.ints.split(), *spec.reals.split())
    if column not in NEGATIVE
]


@pytest.mark.parametrize(("name", "column"), NUMBERS)
def test_no_figure_of_any_table_is_negative_or_endless(name: str, column: str) -> None:
    endless = "inf" if column in TABLES[name].reals.split() else "9000000000000000"
    for value in ("-1", endless):
        with pytest.raises(FactsError, match=rf"{column} = .*: (?:outside|below|more than)"):
            read_text(name, _cell(name, 0, column, value), TABLES[name])


def test_the_figures_that_may_be_negative_are_degrees() -> None:
    """Control: the same change is taken where a figure may be negative."""
    for column in NEGATIVE:
        assert read_text("region", _cell("region", 0, column, "-1"), TABLES["region"])[column][0] == -1.0


# Columns that only people read: names, notes, addresses, sentences.
PROSE = """
    source source_1 source_2 notes note name architecture rule gpu_text pattern family native_dtype component_params
    license params_basis title_en precision_rule fits_classes_by_formula passes_constraints_by_formula speed_by_formula
    expected_class_of_winner rationale product homepage pricing_url status_page billed_while_stopped egress_note
    ingress_fee spot_discount_rule reserved_discount_note commitment_note multi_node_fabric nvlink_note
    account_needed_for_prices terms_url terms_note robots_note tax_note source_groups region_text city admin_area
    gpu_or_family region reason"""


def _unbounded_codes() -> set[tuple[str, str]]:
    found = set()
    for name, spec in TABLES.items():
        bounded = {*limits.VALUES.get(name, ()), *limits.SHAPES.get(name, ()), *spec.key[:1]}
        bounded |= {to.column for to in limits.REFERENCES.get(name, ())}
        found |= {(name, column) for column in spec.text.split() if column not in bounded | {*PROSE.split()}}
    return found


def test_every_code_has_a_list_a_shape_or_a_table() -> None:
    # the unit of an interruption is a phrase, as its source has it
    assert _unbounded_codes() == {("interruption", "unit")}


def test_a_code_without_a_list_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(limits.VALUES["tier"], "objective")
    assert ("tier", "objective") in _unbounded_codes()


def test_every_limit_is_of_a_column() -> None:
    """A limit under a misspelt name would limit nothing."""
    for kind in (limits.VALUES, limits.SHAPES, limits.BOUNDS, limits.TEXT_DAYS):
        for name, columns in kind.items():
            assert set(columns) <= set(TABLES[name].types()), name


def test_the_objectives_of_the_tiers_are_those_that_are_counted() -> None:
    assert limits.VALUES["tier"]["objective"] == set(QUANTITY)


# How the code asks for a row: by its name, by a name with a part left open, by a family, or in SQL.
ASKED = {
    "assumption": r"""(?:assumption\(\s*f?"|assumption_id = ')([^"']+)""",
    "coefficient": r"""coefficients?\(\s*"([^"]+)""",
}


def _unread(table: str, ids: Iterable[str]) -> list[str]:
    """Returns the rows of a table that no code asks for."""
    root = FOLDER.parents[1]
    files = [path for room in ("transforms", "sql") for path in (root / room).rglob("*.*")]
    text = "".join(path.read_text() for path in files if path.suffix in (".py", ".sql"))
    names = set(re.findall(ASKED[table], text))
    asked = [re.sub(r"\\\{\w+\\\}", r"\\w+", re.escape(name)) + r"(?:\.\w+)?" for name in names]
    return [one for one in ids if not any(re.fullmatch(pattern, one) for pattern in asked)]


@pytest.mark.parametrize("table", sorted(ASKED))
def test_every_row_is_asked_for_somewhere(table: str) -> None:
    assert _unread(table, read(table)[f"{table}_id"]) == []


@pytest.mark.parametrize("table", sorted(ASKED))
def test_a_row_that_nobody_asks_for_is_noticed(table: str) -> None:
    assert _unread(table, ["moon_phase", "split_factors.image"]) == ["moon_phase", "split_factors.image"]


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
    ours = ours.filter(~pl.col("gpu_key").str.starts_with("APPLE-"))  # have no cloud prices: from data sheets
    assert set(ours["gpu_key"]) == set(theirs["canonical_id"])
