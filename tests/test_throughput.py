"""Text speed against sums worked out by hand, and what must hold for every GPU."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.workloads import jobs
from transforms.workloads.coefficients import UnknownCoefficientError, coefficient, coefficients
from transforms.workloads.hardware import hardware
from transforms.workloads.performance import performance
from transforms.workloads.schema import HARDWARE

OFFERED = {
    "gpu_candidates": pl.List(pl.String),
    "gpu_count": pl.Float64,
    "vram_gib": pl.Float64,
    "link": pl.String,
    "fabric_gbps": pl.Float64,
}
RATES = [name for name in HARDWARE if name.endswith(("_tflops", "_tops"))]


def rented(*offers):
    """HARDWARE of (keys, count, link) or (keys, count, link, memory of a slice) tuples."""
    rows = [
        {
            "gpu_candidates": keys if isinstance(keys, list) else [keys],
            "gpu_count": float(count),
            "vram_gib": memory[0] if memory else None,
            "link": link,
            "fabric_gbps": None,
        }
        for keys, count, link, *memory in offers
    ]
    return hardware(pl.DataFrame(rows, schema=OFFERED))


def results(job, *offers):
    return performance(job, rented(*offers))


def only(rows, gpus=1):
    return rows.row(by_predicate=pl.col("gpus_per_replica") == gpus, named=True)


def chat(**fields):
    common = {
        "model_id": "llama-3.1-8b",
        "context_tokens": 2048,
        "input_tokens": 1000,
        "output_tokens": 200,
        "concurrent_users": 1,
    }
    return jobs.job(**(common | fields))


def test_a_single_stream_adds_up():
    """Llama-3.1-8B at 16 bit on one H100 SXM, one user of 1,000 + 200 tokens.

    Weights: 16.0605e9 / (3350e9 x 0.86) = 5.5747 ms. FLOPs: 2 x 8.0303e9 / (989.4e12 x 0.49) = 0.0331 ms; soft sum
    (5.5747^1.5 + 0.0331^1.5)^(2/3) = 5.5764 ms. Cache: 1,100 x 131,072 / (3350e9 x 0.86 x 0.83) = 0.0603 ms.
    Overhead: 32 x 0.020 + 2.8 + 0.007 = 3.447 ms. Step 9.0837 ms.
    Prefill: (2 x 8.0303e9 x 1000 + 2 x 32 x 4096 x 1000 x 1000) / (484.8e12 x 1000 / 1025) + 3.44 = 37.95 ms.
    Rate: 200 / (0.03795 + 200 x 0.0090837) = 107.8 tokens/s; first token 2 x 37.95 + 9.08 = 85.0 ms.
    """
    row = only(results(chat(), ("H100-SXM5-80GB", 1, "none")))
    assert row["speed"] == pytest.approx(107.8, rel=0.002)
    assert row["ttft_ms"] == pytest.approx(85.0, rel=0.002)
    assert row["speed_low"] == pytest.approx(0.68 * 107.8, rel=0.002)
    assert row["speed_high"] == pytest.approx(1.35 * 107.8, rel=0.002)
    assert row["limiting_factor"] == "bandwidth"
    assert row["flags"] == []


def test_a_split_over_nvlink_pays_for_its_all_reduces():
    """Two H100: 64 all-reduces of 8 us + 8,192 bytes / (450e9 x 0.28 / 1 B/s) = 0.516 ms a step.

    Weights (2.7874^1.5 + 0.0166^1.5)^(2/3) = 2.788, cache 0.030, overhead 3.447: step 6.781 ms.
    """
    row = only(results(chat(), ("H100-SXM5-80GB", 2, "nvlink")), gpus=2)
    prefill_s = (row["ttft_ms"] / 1e3 - 0.006781) / 2
    assert 200 / row["speed"] == pytest.approx(prefill_s + 200 * 0.006781, rel=0.002)


def test_experts_are_read_as_far_as_they_are_touched():
    """gpt-oss-120b, one user: 1 - (1 - 5.712 / 116.83) of the weights, not all of them."""
    job = chat(model_id="gpt-oss-120b", weight_precision="mxfp4")
    row = only(results(job, ("H200-SXM-141GB", 1, "none")))
    stored = (114_701_598_720 * 4.25 + (116_829_156_672 - 114_701_598_720) * 16) / 8
    read_s = stored * 5_711_982_912 / 116_829_156_672 / (4800e9 * 0.86)
    overhead_s = 36 * 23e-6 + 2.8e-3
    assert 1 / row["speed"] == pytest.approx(read_s + overhead_s, rel=0.12)
    assert row["limiting_factor"] == "overhead"


def test_one_fast_gpu_beats_a_split_over_pcie_for_a_voice():
    """Qwen2.5-32B in FP8: 32.8e9 bytes a token; at most 102 tokens/s on an H100, 26 on an L40S, 53 on two of them."""
    job = chat(model_id="qwen2.5-32b", weight_precision="fp8", context_tokens=8192, input_tokens=200)
    fast = only(results(job, ("H100-SXM5-80GB", 1, "none")))
    slow = results(job, ("L40S-48GB", 2, "pcie"))
    assert 51 <= fast["speed"] <= 72
    assert only(slow)["speed"] < 26
    assert only(slow)["speed"] < only(slow, 2)["speed"] < 0.8 * 53


def test_two_24_gb_cards_and_their_ceilings():
    """Llama-3.1-8B at 16 bit: at most 63 tokens/s on an RTX 4090 and 19 on an L4, estimate 0.5 to 0.75 of that."""
    for key, ceiling in (("RTX4090-24GB", 63), ("L4-24GB", 19)):
        speed = only(results(chat(output_tokens=1000, input_tokens=100), (key, 1, "none")))["speed"]
        assert 0.5 * ceiling < speed < 0.86 * ceiling


def test_fp8_on_a_card_without_fp8_units_is_flagged_and_gains_no_compute():
    long = {"context_tokens": 8192, "input_tokens": 8000, "output_tokens": 10}
    sixteen = only(results(chat(**long), ("A100-SXM4-80GB", 1, "none")))
    eight = only(results(chat(weight_precision="fp8", **long), ("A100-SXM4-80GB", 1, "none")))
    native = only(results(chat(weight_precision="fp8", **long), ("H100-SXM5-80GB", 1, "none")))
    assert eight["flags"] == ["weight_only"]
    assert native["flags"] == []
    assert eight["weights_gib"] < 0.6 * sixteen["weights_gib"]
    step_gain_ms = sixteen["weights_gib"] * 1024**3 / 1.02 / (2039e9 * 0.86) * 1e3
    assert eight["ttft_ms"] > sixteen["ttft_ms"] - step_gain_ms
    peak_s = 2 * 8.03e9 * 8000 / 312e12
    assert eight["ttft_ms"] / 1e3 > 2 * peak_s


def test_fp8_does_not_run_before_ampere_and_bf16_becomes_fp16():
    eight = only(results(chat(weight_precision="fp8"), ("T4-16GB", 1, "none")))
    assert (eight["verdict"], eight["reason"]) == ("unsupported_precision", "precision")
    sixteen = only(results(chat(), ("T4-16GB", 4, "pcie")), gpus=4)
    assert "fp16_for_bf16" in sixteen["flags"]


def test_an_8_bit_cache_falls_back_without_fp8_units():
    job = chat(weight_precision="fp8", kv_precision="fp8")
    old = only(results(job, ("A100-SXM4-80GB", 1, "none")))
    new = only(results(job, ("H100-SXM5-80GB", 1, "none")))
    assert "kv16_fallback" in old["flags"]
    assert old["state_gib"] == pytest.approx(2 * new["state_gib"])


def test_six_gpus_serve_with_four_and_heads_must_divide():
    """64 heads do not divide by 6; Qwen2.5-7B has 28, which do not divide by 8."""
    seventy = jobs.job(model_id="llama-3.1-70b", context_tokens=4096)
    assert results(seventy, ("H100-PCIE-80GB", 6, "pcie"))["gpus_per_replica"].to_list() == [1, 2, 4]
    seven = results(chat(model_id="qwen2.5-7b"), ("H100-SXM5-80GB", 8, "nvlink"))
    assert seven.filter(pl.col("reason") == "heads")["gpus_per_replica"].to_list() == [8]


def test_a_split_needs_a_link_that_is_known_and_fast_enough():
    strict = jobs.job("rt-chat-70b")
    slow = only(results(strict, ("H100-SXM5-80GB", 8, "pcie")), gpus=4)
    assert (slow["reason"], slow["verdict"]) == ("fabric", "fits")
    for job in (strict, jobs.job("long-70b-32k")):
        unsaid = only(results(job, ("H100-SXM5-80GB", 8, "unknown")), gpus=4)
        assert (unsaid["reason"], unsaid["verdict"]) == ("fabric", "unknown")
    single = only(results(strict, ("H200-SXM-141GB", 8, "unknown")))
    assert single["reason"] is None


def test_a_slice_has_its_own_memory_its_share_of_rates_and_no_link():
    seventh = rented(("H100-SXM5-80GB", 0.143, "nvlink", 10.0)).row(0, named=True)
    assert (seventh["vram_gib"], seventh["link"], seventh["share_of_gpu"]) == (10.0, "none", 0.125)
    assert seventh["memory_bandwidth_gb_per_s"] == pytest.approx(3350 / 8)
    pair = rented(("H100-SXM5-80GB", 2, "nvlink", 20.0))
    assert performance(chat(), pair)["gpus_per_replica"].to_list() == [1]


def test_an_ambiguous_name_has_the_weakest_figures():
    either = rented((["A100-PCIE-40GB", "A100-SXM4-80GB"], 1, "none")).row(0, named=True)
    assert (either["vram_gib"], either["memory_bandwidth_gb_per_s"]) == (40.0, 1555.0)
    mixed = rented((["A100-SXM4-80GB", "H100-SXM5-80GB"], 1, "none")).row(0, named=True)
    assert mixed["fp8_dense_tflops"] is None
    assert mixed["architecture"] is None


def test_what_is_not_known_is_unknown():
    plain = chat(model_id="qwen3.8-2.4t-a95b", weight_precision="fp8")
    assert only(results(plain, ("H100-SXM5-80GB", 1, "none")))["verdict"] == "unknown"
    assert only(results(chat(), ("ASCEND-910C-128GB", 1, "none")))["verdict"] == "unknown"
    assert only(results(chat(), ("NO-SUCH-GPU", 1, "none")))["reason"] == "gpu_figures"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_id": "llama-3.1-7b"}, "did you mean 'llama-3.1-70b'"),
        ({"concurrent_users": 0}, "concurrent_users must be above 0, not 0"),
        ({"concurrent_users": float("nan")}, "concurrent_users must be a number, not nan"),
        ({"max_ttft_ms": "soon"}, "max_ttft_ms must be a number, not 'soon'"),
        ({"context_tokens": 200_000}, "context_tokens 200000 is above the 131072 of llama-3.1-8b"),
        ({"input_tokens": 2000}, "exceed context_tokens 2048"),
        ({"cached_input_share": 1.5}, "between 0 and 1, not 1.5"),
        ({"weight_precision": "fp9"}, "no weight_precision 'fp9'; one of fp32, bf16"),
        ({"kv_precision": "int3"}, "no kv_precision 'int3'"),
        ({"model_id": "flux.1-dev"}, "does not write text"),
        ({"concurent_users": 3}, "no field 'concurent_users'; did you mean 'concurrent_users'?"),
    ],
)
def test_bad_jobs_are_refused_in_one_line(fields, message):
    with pytest.raises(ValueError, match="job: ") as caught:
        chat(**fields)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_changed_tier_keeps_the_rest_and_counts_its_tokens_anew():
    """8 people at 20 tokens/s, 730 h at 30 %: 126,144,000 tokens a month; 16 people: twice as many."""
    assert jobs.job("text-8b-int4-team")["work_quantity"].item() == 126_144_000
    changed = jobs.job("text-8b-int4-team", concurrent_users=16)
    assert changed["work_quantity"].item() == 252_288_000
    assert changed["context_tokens"].item() == 8192
    assert changed["tier_id"].item() == "text-8b-int4-team-changed"
    with pytest.raises(ValueError, match="did you mean 'text-8b-int4-team'"):
        jobs.job("text-8b-int4-teams")


def test_tiers_are_read_as_their_columns_say():
    tiers = {row["tier_id"]: row for row in jobs.tier_jobs().to_dicts()}
    assert len(tiers) == 37
    bursts = tiers["exp-8b-bursts"]
    assert (bursts["sessions_per_month"], bursts["session_minutes"], bursts["kind"]) == (150, 12, "demand")
    batch = tiers["batch-8b-fp8"]
    assert (batch["concurrent_users"], batch["max_sequences"], batch["kind"]) == (32, 512, "job")
    assert (tiers["vid-5b-720p-batch"]["width_px"], tiers["vid-5b-720p-batch"]["height_px"]) == (1280, 704)
    assert tiers["mm-ocr-8b"]["width_px"] is None
    assert tiers["lora-8b-bf16"]["purchase_kinds"] == ["on_demand", "spot", "reserved"]
    assert {row["task"] for row in tiers.values()} == {
        "serve", "batch", "embed", "image", "video", "audio", "lora", "qlora", "full", "pretrain", "session",
    }  # fmt: skip


def deck():
    return rented(
        ("RTX4090-24GB", 4, "pcie"),
        ("L40S-48GB", 8, "pcie"),
        ("A100-SXM4-80GB", 8, "nvlink"),
        ("H100-SXM5-80GB", 8, "nvlink"),
        ("MI300X-192GB", 8, "xgmi"),
        ("T4-16GB", 1, "none"),
    )


def served(hardware_rows):
    service = jobs.tier_jobs().filter(pl.col("task") == "serve")
    return performance(service, hardware_rows).sort("tier_id", "hardware_id", "gpus_per_replica")


@settings(max_examples=5)
@given(st.floats(1.0, 3.0))
def test_more_of_anything_never_serves_fewer(factor):
    improved = {
        "memory": ["usable_gib"],
        "bandwidth": ["memory_bandwidth_gb_per_s"],
        "compute": RATES,
        "link": ["link_gb_per_s"],
    }
    better = [
        deck().with_columns(
            *(pl.col(column) * factor for column in columns),
            hardware_id=pl.format("{} with more {}", "hardware_id", pl.lit(what)),
        )
        for what, columns in improved.items()
    ]
    rows = served(pl.concat([deck(), *better]))
    rows = rows.with_columns(plain_id=pl.col("hardware_id").str.replace(r" with more .*", ""))
    before = rows.filter(pl.col("hardware_id") == pl.col("plain_id"))
    both = before.join(rows, on=["tier_id", "plain_id", "gpus_per_replica"], suffix="_after")
    assert both.height == 5 * before.height
    assert both.filter(pl.col("users_per_replica_after") < pl.col("users_per_replica")).height == 0
    assert both.filter(pl.col("reason").is_null() & pl.col("reason_after").is_not_null()).height == 0


def test_the_property_would_see_a_loss():
    before, after = served(deck()), served(deck().with_columns(pl.col("usable_gib") * 0.7))
    assert (after["users_per_replica"] < before["users_per_replica"]).any()


def test_what_is_certain_is_likely_and_what_passes_holds():
    rows = served(deck())
    assert (rows["certain_users_per_replica"] <= rows["users_per_replica"]).all()
    passed = rows.filter(pl.col("reason").is_null()).join(
        jobs.tier_jobs().select(
            "tier_id", "min_tokens_per_s_per_user", "max_ttft_ms", "worst_verdict_allowed"
        ),
        on="tier_id",
    )
    assert passed.height > 40
    assert (passed["speed"] >= passed["min_tokens_per_s_per_user"]).all()
    assert (passed["ttft_ms"] <= passed["max_ttft_ms"]).all()
    limit = pl.when(pl.col("worst_verdict_allowed") == "tight").then(0.97).otherwise(0.92)
    assert passed.filter(pl.col("load_ratio") > limit).height == 0


def test_a_stronger_candidate_never_helps():
    job = jobs.tier_jobs().filter(pl.col("task") == "serve")
    alone = performance(job, rented(("A100-PCIE-40GB", 1, "none")))
    either = performance(job, rented((["A100-PCIE-40GB", "H100-SXM5-80GB"], 1, "none")))
    both = alone.join(either, on=["tier_id", "gpus_per_replica"], suffix="_either")
    assert both.filter(pl.col("users_per_replica_either") > pl.col("users_per_replica")).height == 0
    assert both.height == job.height


def test_the_order_of_the_input_does_not_matter():
    once = performance(jobs.tier_jobs(), deck())
    again = performance(
        jobs.tier_jobs().sample(fraction=1, shuffle=True, seed=3),
        deck().sample(fraction=1, shuffle=True, seed=4),
    )
    assert once.equals(again)


def test_an_unknown_coefficient_is_an_error():
    for read, name in ((coefficient, "no_such"), (coefficients, "no_such_family")):
        with pytest.raises(UnknownCoefficientError, match=name):
            read(name)


def test_a_prompt_that_is_cached_whole_still_takes_a_step():
    row = only(results(chat(cached_input_share=1.0), ("H100-SXM5-80GB", 1, "none")))
    part = only(results(chat(cached_input_share=0.9), ("H100-SXM5-80GB", 1, "none")))
    assert 0 < row["ttft_ms"] < part["ttft_ms"]
