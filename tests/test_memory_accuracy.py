"""Memory of inference against published measurements: gates per class, the eager loop by hand, rows that are odd."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.accuracy import measurements, memory_cases
from transforms.accuracy.cases import CASE
from transforms.workloads import eager, precision
from transforms.workloads.coefficients import coefficient, using
from transforms.workloads.models import geometry

GIB = 2**30
MEASURED = measurements.read("memory").drop("unreadable").filter(pl.col("workload") == "inference")


def cases_of(measured):
    return memory_cases.predict(memory_cases.prepare(measured))


@pytest.fixture(scope="module")
def cases():
    return cases_of(MEASURED)


def counted(cases, case_class):
    rows = cases.filter((pl.col("case_class") == case_class) & pl.col("no_proof").is_null())
    assert rows.height > 0
    return rows


def errors(cases, case_class):
    rows = counted(cases, case_class).filter(pl.col("refusal").is_null())
    return (rows["predicted"] / rows["measured"] - 1).abs()


def right_share(cases, case_class):
    return counted(cases, case_class).select((pl.col("predicted") == pl.col("measured")).mean()).item()


def test_every_row_is_a_case_and_none_is_refused(cases):
    assert cases.schema == CASE
    assert sorted(cases["case_id"]) == sorted(MEASURED["case_id"])
    refused = cases.filter(pl.col("refusal").is_not_null() & pl.col("no_proof").is_null())
    assert refused.select("case_id", "refusal").rows() == []


MEDIANS = {"weights": 0.003, "kv_cache": 0.005, "hf_inference_peak": 0.008}


@pytest.mark.parametrize("case_class", MEDIANS)
def test_the_median_error_of_each_class(cases, case_class):
    assert errors(cases, case_class).median() <= MEDIANS[case_class]


# An average hides two errors: how many rows of a class may miss by more than a few percent.
@pytest.mark.parametrize(
    ("case_class", "error", "share"),
    [("weights", 0.03, 0.10), ("kv_cache", 0.02, 0.0), ("hf_inference_peak", 0.04, 0.05)],
)
def test_few_rows_of_a_class_are_far_off(cases, case_class, error, share):
    assert (errors(cases, case_class) > error).mean() <= share


def test_minimum_counts_and_answers(cases):
    assert counted(cases, "min_gpus").height == 23
    assert right_share(cases, "min_gpus") >= 21 / 23
    assert counted(cases, "fits").height >= 60
    assert right_share(cases, "fits") >= 0.97


def test_the_gates_fail_for_a_wrong_model(cases):
    """The control: 5 % more of everything, or a prefill that needs nothing, does not pass."""
    off = cases.with_columns(predicted=pl.col("predicted") * 1.05)
    assert all(errors(off, name).median() > MEDIANS[name] for name in MEDIANS)
    with using({"activation_bytes_per_intermediate": 0.0, "activation_bytes_per_hidden": 0.0}):
        none = cases_of(MEASURED.filter(pl.col("engine").str.contains("4.46")))
    assert errors(none, "hf_inference_peak").median() > MEDIANS["hf_inference_peak"]
    with using({"minimum_load_limit": 0.5}):
        assert right_share(cases_of(MEASURED), "min_gpus") < 21 / 23


def test_nothing_comes_from_a_rule_of_thumb_or_from_its_own_figure(cases):
    silent = MEASURED.join(cases.select("case_id", "no_proof"), on="case_id").filter(
        pl.col("no_proof").is_null()
    )
    assert silent.filter(pl.col("evidence") == "rule_of_thumb").is_empty()
    assert silent.filter(pl.col("notes").str.contains("CIRCULAR")).is_empty()


def one(**changes):
    """The cases of one row of a published figure with changed cells."""
    row = MEASURED.filter(pl.col("case_id") == "mo0225")  # Llama-3.1-8B, GGUF F16, 14.96 GiB of weights
    values = {name: pl.lit(value, MEASURED.schema[name]) for name, value in changes.items()}
    return cases_of(row.with_columns(**values)).row(0, named=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"evidence": "rule_of_thumb"}, "rule of thumb"),
        ({"notes": "CIRCULAR: filled from this size"}, "comes from this row"),
        ({"notes": "also carries a second copy of them", "evidence": "file_size"}, "further copies"),
        ({"kind": "kv_cache", "kv_tokens": None}, "left for the cache"),
        ({"kind": "peak", "engine": "vllm 0.11"}, "fills the card"),
        ({"kind": "peak", "engine": "SGLang"}, "fills the card"),
        ({"kind": "fits_yes", "gpu": None}, "no GPU is stated"),
        ({"kind": "fits_no", "gpu": "any"}, "no GPU is stated"),
        ({"kind": "min_required", "measured_gb": 16.0}, "size of a card"),
    ],
)
def test_rows_that_prove_nothing(changes, reason):
    found = one(**changes)
    assert reason in found["no_proof"]
    assert found["refusal"] is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"catalog_id": None, "model": "Nobody-7B"}, "Nobody-7B"),
        ({"catalog_id": None, "model": None}, "no model is stated"),
        ({"precision": "ternary"}, "ternary"),
        ({"precision": None}, "no precision is stated"),
        ({"kind": "fits_yes", "gpu": "a graphics card"}, "a graphics card"),
        ({"kind": "kv_cache", "kv_tokens": 5.0, "catalog_id": "inkling-975b-a41b"}, "not published"),
        ({"catalog_id": "kimi-k3", "precision": "fp8"}, "a class of its tensors"),
    ],
)
def test_rows_that_cannot_be_predicted_say_why(changes, reason):
    found = one(**changes)
    assert found["no_proof"] is None
    assert reason in found["refusal"]
    assert found["predicted"] is None


def test_a_catalogue_id_that_is_not_ours_falls_back_to_the_name():
    assert one(catalog_id="another catalogue", model="Llama-3.1-8B-Instruct")["model_id"] == "llama-3.1-8b"


def test_units():
    assert one(unit="GB", measured_gb=16.06)["measured"] == pytest.approx(16.06e9 / GIB)
    assert one(unit="GiB", measured_gb=16.06)["measured"] == 16.06
    assert one()["predicted"] == pytest.approx(8_030_261_248 * 2 / GIB)


def test_weights_of_an_engine_are_per_gpu():
    assert one(engine="vllm", gpu_count=2.0, parallelism="tp2")["predicted"] == pytest.approx(
        8_030_261_248 / GIB
    )


def test_a_sum_over_gpus_is_that_of_one():
    whole = one(kind="peak", engine="transformers 4.51", seq_len="1000", gpu_count=1.0)["predicted"]
    assert one(kind="peak", engine="transformers 4.51", seq_len="1000", gpu_count=4.0)["predicted"] == whole


def test_an_8_bit_cache_of_llama_cpp_has_its_scales():
    cached = {"kind": "kv_cache", "kv_tokens": 1000.0}
    assert one(**cached, kv_dtype="q8_0")["predicted"] == pytest.approx(131_072_000 * 8.5 / 16 / GIB)
    assert one(**cached, kv_dtype="fp8")["predicted"] == pytest.approx(65_536_000 / GIB)
    assert one(**cached, kv_dtype="bf16/fp16 (default)")["predicted"] == pytest.approx(131_072_000 / GIB)


def test_smallest_count_by_hand():
    """Llama 3.1 405B in FP8 on 80 GB: 382.0 GiB over 4 are 95.5, over 8 are 47.7 GiB, and the runtime beside it."""
    asked = {"kind": "min_required", "measured_gb": None, "precision": "fp8", "catalog_id": "llama-3.1-405b"}
    found = one(**asked, gpu="H100 80GB", gpu_count=8.0)
    assert (found["case_class"], found["unit"]) == ("min_gpus", "GPUs")
    assert found["measured"] == found["predicted"] == 8
    assert one(**asked, gpu="192GB GPU", gpu_count=8.0)["predicted"] == 4


def test_an_engine_is_held_to_the_share_of_the_card_that_it_is_given():
    """14.96 GiB and 2.3 GiB beside them fit 22.5 GiB at 0.9 of them, not at 0.7."""
    fits = {"kind": "fits_yes", "engine": "vllm", "gpu": "L4 24GB", "precision": "bf16", "seq_len": "1024"}
    assert one(**fits, notes="gmu 0.9")["predicted"] == 1
    assert one(**fits, notes="gpu_memory_utilization=0.7")["predicted"] == 0


def test_layers_in_sequence_do_not_replicate_heads():
    """70B on 16 GPUs, 8 KV heads: tensor parallel holds an eighth of the cache, a pipeline a sixteenth."""
    cached = {"kind": "kv_cache", "catalog_id": "llama-3.1-70b", "kv_tokens": 1e6, "gpu_count": 16.0}
    assert one(**cached, parallelism="tp16")["predicted"] == pytest.approx(327_680e6 / 8 / GIB)


def generation(model_id, weight_precision, version, prompt, total):
    """GiB at the peak of one generation."""
    row = geometry().filter(pl.col("model_id") == model_id).with_columns(
        weight_precision=pl.lit(weight_precision),
        kv_precision=pl.lit("bf16"),
        engine_version=pl.lit(version, pl.Float64),
        prompt_tokens=pl.lit(float(prompt)),
        total_tokens=pl.lit(float(total)),
        sequences=1.0,
        gpus=1.0,
        gpus_per_replica=1.0,
        layer_width=pl.col("intermediate_size"),
    )  # fmt: skip
    return precision.with_formats(row).select(eager.peak_gib()).item()


def test_a_long_prompt_by_hand():
    """Qwen2.5-7B: 15.23e9 bytes, 57,344 bytes of cache and 6 x 18,944 + 8 x 3,584 bytes of one layer per token."""
    reserve = coefficient("eager_reserve_gib")
    weights = 7_615_616_512 * 2
    by_hand = (weights + 30_720 * (57_344 + 142_336)) / GIB + reserve
    assert generation("qwen2.5-7b", "bf16", 4.46, 30_720, 32_768) == pytest.approx(by_hand)
    # a short prompt: the last token has the whole cache, and nothing else
    short = (weights + 2_049 * 57_344) / GIB + reserve
    assert generation("qwen2.5-7b", "bf16", 4.46, 1, 2_049) == pytest.approx(short)


def test_an_early_version_keeps_the_logits_of_the_whole_prompt():
    """Qwen2-7B: 6 bytes x 152,064 for each of 30,720 tokens, more than a layer needs; published: 42.62 GiB.

    Each of 28 layers has sines and cosines of 128 for 32,768 positions in 16 bit: 0.44 GiB.
    """
    weights, rotary = 7_615_616_512 * 2, 28 * 2 * 128 * 32_768 * 2
    by_hand = (weights + rotary + 30_720 * (57_344 + 6 * 152_064)) / GIB + coefficient(
        "eager_early_reserve_gib"
    )
    assert generation("qwen2-7b", "bf16", 4.38, 30_720, 32_768) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(42.62, rel=0.01)


def test_a_late_version_leaves_the_prompt_out():
    weights = 8_190_735_360 * 2
    by_hand = (weights + 32_768 * 147_456) / GIB + coefficient("eager_reserve_gib")
    assert generation("qwen3-8b", "bf16", 4.51, 30_720, 32_768) == pytest.approx(by_hand)
    assert generation("qwen3-8b", "bf16", None, 30_720, 32_768) == pytest.approx(by_hand)


@settings(max_examples=25)
@given(st.sampled_from([4.38, 4.46, 4.51]), st.integers(1, 100_000), st.integers(0, 50_000))
def test_a_longer_text_never_peaks_lower(version, prompt, more):
    name = ("qwen3-8b", "awq-int4", version)
    assert generation(*name, prompt, prompt + 100) <= generation(*name, prompt + more, prompt + more + 100)


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("transformers 4.51.3 + FA2", 4.51),
        ("Transformers 4.9.2", 4.09),
        ("transformers 5.0", 5.0),
        ("transformers", None),
    ],
)
def test_versions_compare_as_numbers(engine, version):
    row = MEASURED.head(1).with_columns(engine=pl.lit(engine))
    assert memory_cases.prepare(row)["engine_version"].item() == pytest.approx(version)


ODD = st.sampled_from(
    [None, "", " ", "?", "0", "-3", "1e9", "NaN", "8192x8192", "\N{SNOWMAN}", "x" * 300, "tp0 pp0"]
)
TEXTS = [
    name
    for name, kind in MEASURED.schema.items()
    if kind == pl.String and name not in ("case_id", "workload")
]
NUMBERS = [name for name, kind in MEASURED.schema.items() if kind == pl.Float64]


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.sampled_from(TEXTS), ODD, max_size=5),
    st.dictionaries(st.sampled_from(NUMBERS), st.sampled_from([None, 0.0, -1.0, 0.5, 1e18]), max_size=3),
)
def test_no_cell_breaks_the_mapping(texts, numbers):
    """Each row comes back once, whatever a cell holds: scored, refused or no proof."""
    rows = MEASURED.filter(pl.col("case_id").is_in(["mo0225", "mo0139", "mo0333", "mo0310", "mo0166"]))
    changed = rows.with_columns(
        *(pl.lit(value, pl.String).alias(name) for name, value in texts.items()),
        *(pl.lit(value, pl.Float64).alias(name) for name, value in numbers.items()),
    )
    found = cases_of(changed)
    assert found.schema == CASE
    assert sorted(found["case_id"]) == sorted(rows["case_id"])
    outcomes = found.select("predicted", "refusal", "no_proof")
    assert outcomes.filter(pl.all_horizontal(pl.all().is_null())).is_empty()
