"""How far predicted speeds of text lie from published ones, and which published ones prove nothing."""

from __future__ import annotations

from functools import lru_cache

import polars as pl
import pytest

from transforms.accuracy import measurements, text_cases
from transforms.accuracy.cases import CASE
from transforms.workloads.coefficients import coefficient, using

# Median error that a class may have, and the share of its rows that may be off by more than a factor of 2.
GATES = {
    "single_stream_decode": (0.084, 0.06),
    "batched_decode": (0.125, 0.08),
    "offline_throughput": (0.10, 0.04),
    "server": (0.14, 0.06),
    "prefill": (0.165, 0.08),
}
MOE_GATE = (0.155, 0.08)


@lru_cache
def prepared():
    return text_cases.prepare(measurements.read("text").drop("unreadable"))


def scored(rows=None):
    cases = text_cases.predict(prepared() if rows is None else rows)
    cases = cases.filter(pl.col("no_proof").is_null() & pl.col("refusal").is_null())
    ratio = pl.col("predicted") / pl.col("measured")
    return cases.with_columns(error=(ratio - 1).abs(), is_far=(ratio > 2) | (ratio < 0.5))


def misses(cases, gates):
    """Classes whose median or whose share of far points lies beyond its gate."""
    found = []
    for case_class, (median, far) in gates.items():
        own = cases.filter((pl.col("case_class") == case_class) | pl.col("also_in").list.contains(case_class))
        if own["error"].median() > median or own["is_far"].mean() > far:
            found.append(case_class)
    return found


def test_every_class_is_within_its_gates():
    cases = scored()
    assert misses(cases, {**GATES, "moe": MOE_GATE}) == []
    assert cases["error"].median() < 0.112
    assert cases["error"].quantile(0.9) < 0.45


@pytest.mark.parametrize(
    ("name", "case_class"),
    [
        ("bandwidth_share.nvidia_hbm", "single_stream_decode"),
        ("cache_share.paged", "offline_throughput"),
        ("flops_share.hopper_hbm", "server"),
        ("flops_share.ampere_hbm", "offline_throughput"),
        ("attention_share.gguf", "prefill"),
        ("expert_flops_share", "moe"),
    ],
)
def test_a_doubled_coefficient_breaks_a_gate(name, case_class):
    with using({name: 2 * coefficient(name)}):
        assert case_class in misses(scored(), {**GATES, "moe": MOE_GATE})


def test_nearly_every_measurement_is_predicted():
    cases = text_cases.predict(prepared())
    assert cases.schema == CASE
    counted = cases.filter(pl.col("no_proof").is_null())
    assert counted["refusal"].is_null().mean() > 0.97
    moe = counted.filter(pl.col("also_in").list.contains("moe"))
    assert moe["refusal"].is_null().mean() > 0.95


def test_the_bands_hold_about_four_in_five():
    cases = scored()
    inside = cases.select(pl.col("measured").is_between("low", "high").mean()).item()
    assert 0.75 < inside < 0.9
    assert (cases["low"] < cases["predicted"]).all()
    assert (cases["predicted"] < cases["high"]).all()


def measured(**cells):
    """One row of Llama-3-8B at 16 bit on one A100 SXM4 80GB: 16.06e9 bytes of weights, 2,039e9 bytes a second."""
    row = dict.fromkeys(measurements.FILES["text"].types())
    row |= {
        "case_id": "made-up",
        "gpu": "A100 SXM 80GB",
        "gpu_canonical": "A100-SXM4-80GB",
        "gpu_count": 1.0,
        "tp": 1.0,
        "pp": 1.0,
        "interconnect": "none",
        "model": "Llama-3-8B",
        "params_b": 8.03,
        "active_params_b": 8.03,
        "weight_precision": "bf16",
        "engine": "vllm",
        "engine_version": "0.11.0",
        "scenario": "single_stream_decode",
        "concurrency_or_batch": 1.0,
        "input_len": 128.0,
        "output_len": 128.0,
        "output_tok_s_total": 90.0,
        "source": "site.org/owner/repository file.md",
        "date": "2025-11",
        "notes": "",
    }
    return row | cells


def outcome(*rows):
    frame = pl.DataFrame(list(rows), schema=measurements.FILES["text"].types())
    return text_cases.predict(text_cases.prepare(frame))


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({}, None),
        ({"output_tok_s_total": 136.0}, None),  # 136 x 15.01e9 = 2,041e9: rounding
        ({"output_tok_s_total": 150.0}, "faster than the memory"),
        ({"scenario": "prefill", "prefill_tok_s": 15_000.0, "output_len": 0.0}, None),
        ({"scenario": "prefill", "prefill_tok_s": 25_000.0, "output_len": 0.0}, "faster than the peak"),
        ({"model": "Llama-3-70B", "params_b": 70.6, "output_tok_s_total": 9.0}, "larger than the memory"),
        ({"notes": "beam width 4"}, "beam search"),
        ({"notes": "beam width 1, without speculative decoding"}, None),
        ({"notes": "MLPerf v4.1 closed", "model": "GPT-J-6B", "params_b": 6.05}, "beam search"),
        ({"notes": "Pruned to half of its layers"}, "pruned"),
        ({"notes": "power limited to 250 W"}, "power of the board"),
        ({"gpu": "A100-80GB (330 W limit)"}, "power of the board"),
        ({"notes": "speculative decoding, 3 draft tokens"}, "speculative"),
        ({"notes": "speculative rows were filtered out"}, None),
        ({"notes": "F16 rate far below Q4: suspect"}, "suspect"),
    ],
)
def test_what_breaks_physics_or_is_another_thing_proves_nothing(cells, reason):
    found = outcome(measured(**cells))["no_proof"].item()
    assert (found is None) if reason is None else (reason in found)


def test_a_figure_that_stands_for_two_gpus_stands_for_none():
    here = measured(case_id="a", gpu="H100 SXM", gpu_canonical="H100-SXM5-80GB")
    there = measured(case_id="b")
    assert outcome(here, there)["no_proof"].is_not_null().all()
    other = measured(case_id="b", output_tok_s_total=91.0)
    assert outcome(here, other)["no_proof"].is_null().all()


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"gpu": "Quantum 9000", "gpu_canonical": "Quantum-9000"}, "Quantum"),
        ({"model": "Gigantor-9T", "params_b": 9000.0}, "Gigantor"),
        ({"weight_precision": "int3.14"}, "int3"),
        ({"scenario": "haggling"}, "scenario"),
    ],
)
def test_what_is_not_known_is_refused_with_the_reason(cells, reason):
    assert reason.lower() in outcome(measured(**cells))["refusal"].item().lower()


def test_blank_and_odd_cells_are_no_crash():
    """Whatever a cell holds, each row has one outcome: a figure above zero, a refusal or no proof."""
    types = measurements.FILES["text"].types()
    rows = []
    for name, dtype in types.items():
        if name == "case_id":
            continue
        odd = (
            [None, "", "  ", "?!", "ünïcode " * 30] if dtype == pl.String() else [None, 0.0, -1.0, 1e12, 0.3]
        )
        rows += [measured(case_id=f"{name} {n}", **{name: value}) for n, value in enumerate(odd)]
    cases = outcome(*rows)
    assert cases.height == len(rows)
    is_figure = pl.col("predicted").is_finite() & (pl.col("predicted") > 0)
    open_rows = cases.filter(pl.col("no_proof").is_null() & pl.col("refusal").is_null())
    assert open_rows.filter(~is_figure.fill_null(False))["case_id"].to_list() == []


def test_a_run_that_offers_few_requests_delivers_no_more():
    """2 requests a second of 128 tokens each are 256 tokens a second, whatever the GPU could do."""
    row = measured(
        scenario="server", concurrency_or_batch=None, notes="ShareGPT, offered 2 req/s, 100 requests"
    )
    assert outcome(row)["predicted"].item() == pytest.approx(256.0)


def test_weights_count_a_crowd_of_like_rows_less():
    rows = pl.DataFrame(
        {"source_group": ["a"] * 100 + ["b"], "gpu_key": ["g"] * 101, "scenario": ["server"] * 101}
    )
    found = text_cases.weights(rows)
    assert found[0] == pytest.approx(0.1)
    assert found[100] == pytest.approx(1 / 5**0.5)


def test_one_stream_runs_on_one_copy() -> None:
    """Llama-2-70B in 4 bit over two, four or eight cards without tensor parallelism: no faster than over two.

    One stream is on one copy, whatever else the machine has.
    """
    measured = measurements.read("text").drop("unreadable")
    base = measured.filter(pl.col("case_id") == "LT-O-00001").drop("case_id")
    given = {
        "gpu": "RTX 3090",
        "gpu_canonical": "RTX3090-24GB",
        "tp": 1,
        "pp": 1,
        "model": "Llama-2-70B",
        "params_b": 69.0,
        "active_params_b": 69.0,
        "weight_precision": "q4_k_m",
        "engine": "llama.cpp",
        "engine_version": "2024-05",
        "scenario": "single_stream_decode",
        "concurrency_or_batch": 1,
        "input_len": 128,
        "output_len": 128,
        "output_tok_s_total": 15.0,
        "interconnect": "PCIe",
        "notes": "",
    }
    said = {name: pl.lit(value) for name, value in given.items()}
    rows = [base.with_columns(case_id=pl.lit(str(n)), gpu_count=pl.lit(n), **said) for n in (2, 4, 8)]
    alike = [row.select(measured.columns).cast(dict(measured.schema)) for row in rows]
    found = text_cases.predict(text_cases.prepare(pl.concat(alike)))
    assert found["refusal"].null_count() == 3
    assert found["predicted"].n_unique() == 1
    assert found["predicted"][0] < 936 / 41.4  # bytes of 4.8 bits a weight over the bandwidth of one card
