"""The 25 questions of the user stories, on their fixture of 19 offers.

Numbers are those of the stories, worked out there by hand from data sheets; where our facts say another thing about a
GPU or a model, the number is worked out again from them. What the product does not have is an expected failure.
What the page and the night do is also tested where they are: US-21 in test_quality and test_gpu_names, US-24 in
test_page and test_page_browser, US-25 in test_night and test_warehouse.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from conftest import MIDNIGHT, NIGHT
from ranking_decks import LAYOUT
from story_offers import H100, some, story_offers

from transforms.offers.gpu_names import resolve_gpu
from transforms.offers.market import outside_market_band
from transforms.offers.quality import quality
from transforms.offers.schema import OFFERING, REJECT
from transforms.workloads.ask import Answer, ExcludedOffer, Job, RankedOffer, rank_offers
from transforms.workloads.asked_job import job_row
from transforms.workloads.fit import fit
from transforms.workloads.hardware import hardware, hardware_id
from transforms.workloads.performance import performance
from transforms.workloads.ranking import rank
from transforms.workloads.schema import PERFORMANCE

GIB = 2.0**30


def order(answer: Answer) -> list[str]:
    return [offer.offering_id for offer in answer.ranked]


def offer(answer: Answer, offering_id: str) -> RankedOffer:
    return next(one for one in answer.ranked if one.offering_id == offering_id)


def lost(answer: Answer, offering_id: str) -> ExcludedOffer:
    return next(one for one in answer.excluded if one.offering_id == offering_id)


def fitting(job: Job, gpu: str) -> dict[str, Any]:
    """Returns the FIT row of one GPU."""
    return fit(job_row(job), [gpu]).row(0, named=True)


def changed(rows: pl.DataFrame, **values: Any) -> pl.DataFrame:
    return rows.with_columns(pl.lit(value, OFFERING[name]).alias(name) for name, value in values.items())


def bills(job: Job, rows: pl.DataFrame, per_hour: float) -> dict[str, float]:
    """Returns the bill of each offer at a stated rate of one copy, where the story gives the speed."""
    asked = job_row(job)
    layouts = [
        LAYOUT | {"tier_id": asked["tier_id"][0], "hardware_id": key} | dict.fromkeys(RATES, per_hour)
        for key in hardware_id(rows).unique().drop_nulls().sort()
    ]
    stated = pl.DataFrame(layouts, schema=PERFORMANCE, strict=False)
    ranking = rank(rows, asked, stated, night=NIGHT, has_live_price=True).ranking
    return dict(ranking.select("offering_id", "total_usd").iter_rows())


RATES = ("rate_per_hour", "rate_low_per_hour", "rate_high_per_hour")

# --- inference and serving ------------------------------------------------------------------------------------------

# A conversation that has filled its context, with the prefix cache of an earlier turn: each step reads 32k tokens.
SEVENTY_B: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "precision": "fp8",
    "context": 32_768,
    "users": 20,
    "input": 32_256,
    "output": 512,
    "cached_input": 1.0,
}
EU_BY_THE_SECOND: dict[str, Any] = {
    "min_tok_s": 30,
    "purchase": ("on-demand",),
    "region": "eu",
    "billing": "second",
}
OF_US_01 = some("F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F13")


def test_us_01_a_70b_for_20_people_at_long_context() -> None:
    answer = rank_offers(Job(**SEVENTY_B, **EU_BY_THE_SECOND, kv_precision="fp8"), OF_US_01)
    assert answer.headline
    assert answer.headline.offering_id == "F02"
    assert set(order(answer)) == {"F01", "F02", "F08"}
    reasons = {one.offering_id: one.reason for one in answer.excluded}
    assert reasons == {
        "F03": "memory",
        "F04": "billing_increment",
        "F05": "region",
        "F06": "speed",
        "F07": "memory",
        "F13": "region",
    }
    assert lost(answer, "F04").is_near_miss
    assert "weight_only" in offer(answer, "F08").flags
    assert "cache fp8" in answer.assumed


def test_us_01_memory_and_speed_of_four_cards() -> None:
    """107.4e9 or 214.7e9 bytes of cache; 38-53 and 23-33 tokens/s at 0.5-0.7 of bandwidth.

    Of 70.6e9 parameters the 2.1e9 of table and head stay at 16 bit: 72.7e9 bytes, and 2 % when loaded.
    """
    eight_bit = fitting(Job(**SEVENTY_B, kv_precision="fp8"), H100)
    sixteen_bit = fitting(Job(**SEVENTY_B, kv_precision="bf16"), H100)
    for row, cache_bytes, low, high in ((eight_bit, 107.4e9, 38, 53), (sixteen_bit, 214.7e9, 23, 33)):
        assert row["gpu_count"] == 4
        assert row["verdict"] == "fits"
        assert row["state_gib"] * 4 * GIB == pytest.approx(cache_bytes, rel=0.01)
        assert row["weights_gib"] * 4 * GIB == pytest.approx(72.7e9, rel=0.03)
        assert low <= row["speed"] <= high


def test_us_01_a_fixed_cache_precision_is_kept_and_flagged() -> None:
    answer = rank_offers(Job(**SEVENTY_B, **EU_BY_THE_SECOND, kv_precision="fp8"), OF_US_01)
    a100 = offer(answer, "F08")
    assert a100.state_gib is not None
    in_flight = 20 / a100.replicas
    assert a100.state_gib * a100.gpus_per_replica * GIB == pytest.approx(
        in_flight * 32_768 * 163_840, rel=0.01
    )
    assert any(flag.startswith("kv8") for flag in a100.flags)


def test_us_02_which_small_card_for_an_8b() -> None:
    """16.06e9 bytes of weights and 4.3e9 of cache: an RTX 4090 holds four users, an L4 two."""
    four = Job(model="llama-3.1-8b", precision="bf16", context=8192, users=4, max_gpus=1, tight=True)
    two = Job(model="llama-3.1-8b", precision="bf16", context=8192, users=2, max_gpus=1)
    cards = some("F09", "F14")
    assert offer(rank_offers(four, cards), "F09").verdict in ("fits", "tight")
    assert order(rank_offers(two, cards)) == ["F09", "F14"]
    strict = Job(model="llama-3.1-8b", precision="bf16", context=8192, users=4, max_gpus=1)
    assert lost(rank_offers(strict, cards), "F14").reason in ("memory", "users")
    big, small = fitting(four, "RTX4090-24GB"), fitting(four, "L4-24GB")
    assert big["vram_gib"] == small["vram_gib"] == 24
    assert small["usable_gib"] < 23 < big["usable_gib"] <= 24
    assert big["weights_gib"] * GIB == pytest.approx(16.06e9, rel=0.03)
    assert big["state_gib"] * GIB == pytest.approx(4 * 8192 * 131_072)


ONE_STREAM = Job(model="llama-3.1-8b", precision="bf16", context=8192, users=1, max_gpus=1)


def test_us_02_one_stream_stays_below_bandwidth_over_bytes() -> None:
    """16.06e9 bytes a token: 63 tokens/s on an RTX 4090 and 19 on an L4 at most, and half of it at least."""
    for gpu, ceiling in (("RTX4090-24GB", 63), ("L4-24GB", 19)):
        assert 0.5 * ceiling <= fitting(ONE_STREAM, gpu)["speed"] <= ceiling


@pytest.mark.xfail(
    strict=True, reason="the calibrated model gives a lone stream 0.9 of the bandwidth of an RTX 4090"
)
def test_us_02_one_stream_reaches_half_to_three_quarters() -> None:
    for gpu, ceiling in (("RTX4090-24GB", 63), ("L4-24GB", 19)):
        assert 0.5 * ceiling <= fitting(ONE_STREAM, gpu)["speed"] <= 0.75 * ceiling


def half_of_f05() -> pl.DataFrame:
    return changed(some("F05"), gpu_count=1.0, link="none", price_usd_per_instance_hour=3.5)


@pytest.mark.parametrize(("kv_precision", "cache_bytes"), [("bf16", 42.9e9), ("fp8", 21.5e9)])
def test_us_03_one_person_and_a_very_long_chat(kv_precision: str, cache_bytes: float) -> None:
    job = Job(
        model="llama-3.1-70b",
        precision="fp8",
        kv_precision=kv_precision,
        context=131_072,
        users=1,
        max_gpus=1,
    )
    answer = rank_offers(job, pl.concat([some("F03", "F16"), half_of_f05()]))
    assert set(order(answer)) == {"F05", "F16"}
    assert lost(answer, "F03").reason == "memory"
    assert {one.verdict for one in answer.ranked} == {"fits"}
    h200 = offer(answer, "F05")
    assert h200.state_gib is not None
    assert h200.weights_gib is not None
    assert h200.state_gib * GIB == pytest.approx(cache_bytes, rel=0.01)
    assert 0.27 <= h200.state_gib / h200.weights_gib <= 0.65
    # without the cache the H100 would do: the cache decided
    assert h200.need_gib - h200.state_gib < 80


def test_us_04_one_fast_gpu_before_several_slow_ones() -> None:
    """32.8e9 bytes a token: an H100 makes 51-72 of its 102 tokens/s; two L40S meet over PCIe."""
    job = Job(model="qwen2.5-32b", precision="fp8", min_tok_s=40, context=4096, users=1)
    answer = rank_offers(job, some("F03", "F06", "F07", "F11"))
    assert answer.headline
    assert answer.headline.offering_id == "F03"
    # "about 51 to 72": a tenth beyond either end is still about
    assert 51 * 0.9 <= answer.headline.speed <= 72 * 1.1
    assert lost(answer, "F07").reason == "speed"
    assert lost(answer, "F11").reason == "purchase_kind"
    asked_for = Job(
        model="qwen2.5-32b", precision="fp8", min_tok_s=40, context=4096, users=1, purchase=("spot",)
    )
    assert order(rank_offers(asked_for, some("F03", "F11"))) == ["F11"]


def test_us_04_a_split_over_pcie_is_slower_than_its_bandwidth() -> None:
    two = changed(some("F06"), gpu_count=2.0, price_usd_per_instance_hour=2.4)
    job = Job(model="qwen2.5-32b", precision="bf16", context=4096)
    answer = rank_offers(job, two)
    split = fitting(job, "L40S-48GB")
    assert split["gpu_count"] == 2
    assert split["time_link_share"] > 0
    assert split["speed"] < 2 * 864e9 / 65.5e9
    assert answer.ranked[0].gpus_per_replica == 2
    # a small model fits on one card: two of them are not twice as fast
    small = performance(job_row(Job(model="llama-3.1-8b", precision="bf16", context=4096)), hardware(two))
    one_card, both = small.sort("gpus_per_replica")["speed"]
    assert one_card < both < 0.95 * 2 * one_card


def eight_b(**more: Any) -> Job:
    """64 conversations of 1,500 tokens in the mean."""
    return Job(
        model="llama-3.1-8b",
        users=64,
        context=2048,
        input=1244,
        output=512,
        cached_input=1.0,
        max_gpus=1,
        **more,
    )


def test_us_05_a_million_tokens() -> None:
    """28.6e9 bytes a step: 3,740 to 5,240 tokens/s at 0.5 to 0.7 of bandwidth; 3.20 an hour over what it makes."""
    capacity = rank_offers(eight_b(), some("F03")).ranked[0].speed
    assert 3740 <= 64 * capacity <= 5240
    for load, low, high in ((1.0, 0.17, 0.24), (0.3, 0.57, 0.79)):
        job = eight_b(min_tok_s=capacity * 0.9999, load=load, objective="usd-per-million-output-tokens")
        (one,) = rank_offers(job, some("F03")).ranked
        assert one.objective_usd is not None
        assert low <= one.objective_usd <= high


def test_us_05_input_is_priced_apart() -> None:
    """By the share of the time that goes into reading prompts; input and output together are the bill."""
    job = Job(model="llama-3.1-8b", users=64, context=2048, input=1024, output=512, max_gpus=1, min_tok_s=20)
    (one,) = rank_offers(job, some("F03")).ranked
    cheap, dear = one.usd_per_million_input_tokens, one.usd_per_million_output_tokens
    assert cheap is not None
    assert dear is not None
    assert 0 < cheap < dear
    outputs = 64 * 20 * 3600 * 730 * 0.3 / 1e6
    assert cheap * 2 * outputs + dear * outputs == pytest.approx(one.total_usd)
    uncounted = rank_offers(Job(model="llama-3.1-8b"), some("F03")).ranked[0]
    assert uncounted.usd_per_million_output_tokens is None


def test_us_05_no_cost_without_an_estimate() -> None:
    answer = rank_offers(Job(model="qwen3.8-2.4t-a95b", precision="fp8", max_gpus=64), some("F01", "F03"))
    assert not answer.ranked
    assert all(one.is_unknown for one in answer.excluded)


def test_us_06_fp8_on_an_older_card() -> None:
    """405e9 bytes: memory would do on both; the A100 unpacks FP8 to 16 bit, a V100 has no kernel for it at all."""
    job = Job(model="llama-3.1-405b", precision="fp8", context=4096)
    answer = rank_offers(job, some("F01", "F08"))
    assert {one.verdict for one in answer.ranked} == {"fits"}
    assert "weight_only" in offer(answer, "F08").flags
    assert "weight_only" not in offer(answer, "F01").flags
    assert offer(answer, "F08").speed < offer(answer, "F01").speed
    assert (
        fitting(Job(model="llama-3.1-8b", precision="fp8"), "V100-SXM2-32GB")["verdict"]
        == "unsupported_precision"
    )
    assert fitting(Job(model="llama-3.1-8b", precision="bf16"), "V100-SXM2-32GB")["flags"] == [
        "fp16_for_bf16"
    ]
    four_bit = rank_offers(Job(model="llama-3.1-405b", precision="awq-int4", context=4096), some("F08"))
    assert order(four_bit) == ["F08"]


def test_us_07_a_machine_with_six_gpus() -> None:
    """64 heads do not divide by six; the machine is paid whole: 13.20 an hour."""
    job = Job(model="llama-3.1-70b", precision="bf16", context=4096, max_gpus=6, start_minutes=0)
    answer = rank_offers(job, some("F02", "F17"))
    assert order(answer) == ["F02", "F17"]
    six = offer(answer, "F17")
    assert six.gpus_per_replica in (2, 4)
    assert six.total_usd == pytest.approx(13.20 * 730)
    assert six.need_gib <= six.usable_gib
    assert six.need_gib * six.gpus_per_replica > 130


@pytest.mark.parametrize(
    ("model", "bytes_per_token"),
    [("gpt-oss-120b", 73_728), ("gemma-4-31b", 983_040), ("deepseek-v3", 70_272)],
)
def test_us_08_cache_of_one_token(model: str, bytes_per_token: int) -> None:
    """Both lengths lie within the windows, so that the difference is so many tokens of every layer."""
    row = fitting(Job(model=model, precision="bf16", context=64, users=1), "B300-SXM-288GB")
    longer = fitting(Job(model=model, precision="bf16", context=128, users=1), "B300-SXM-288GB")
    grown = (longer["state_gib"] - row["state_gib"]) * row["gpu_count"] * GIB / 64
    assert grown == pytest.approx(bytes_per_token, rel=0.02)


def test_us_08_an_unknown_architecture_is_unknown() -> None:
    assert fitting(Job(model="qwen3.8-2.4t-a95b", precision="fp8"), H100)["verdict"] == "unknown"


def test_us_08_an_embedding_model_has_no_cache() -> None:
    row = fitting(Job(task="embed", model="qwen3-0.6b", passages=1000), "L4-24GB")
    assert row["verdict"] == "fits"
    assert row["users_that_fit"] is None


def test_us_08_both_bounds_of_a_sliding_window() -> None:
    """gpt-oss-20b, 32 sequences of 8,192 tokens at 16 bit: 6.1 GiB in the windows, 12.0 GiB reserved."""
    job = Job(model="gpt-oss-20b", precision="mxfp4", kv_precision="bf16", context=8192, users=32)
    row = fitting(job, H100)
    assert row["state_gib"] == pytest.approx(12.0, rel=0.02)
    assert row["state_low_gib"] == pytest.approx(6.1, rel=0.03)


# --- other than text --------------------------------------------------------------------------------------------------


def test_us_09_a_batch_of_images() -> None:
    """12 s a picture on an L40S: 33.3 h x 1.10 = 36.67, spot 20.00 and 20.08 with 5 % losses of 5 minutes."""
    job = Job(
        model="flux.1-dev", images=10_000, resolution="1024x1024", steps=28, peak_gib=36, start_minutes=0
    )
    cards = some("F07", "F09", "F14", "F15")
    answer = rank_offers(job, cards)
    assert order(answer) == ["F15", "F07"]
    assert {lost(answer, card).reason for card in ("F09", "F14")} == {"memory"}
    assert 33 <= offer(answer, "F07").need_gib <= 38
    often = changed(some("F15"), interruptions_per_hour=0.05)
    ten_minutes = Job(
        model="flux.1-dev",
        images=10_000,
        resolution="1024x1024",
        steps=28,
        peak_gib=36,
        start_minutes=0,
        checkpoint_min=10,
    )
    found = bills(ten_minutes, pl.concat([some("F07"), often]), per_hour=300)
    assert found["F07"] == pytest.approx(36.67, abs=0.01)
    assert found["F15"] == pytest.approx(20.08, abs=0.02)


def test_us_10_video_by_resolution_and_frames() -> None:
    """21.3 GiB and 16.04 bytes for each of 960 x 544 x 345 voxels make 24.0; twice the frames add 2.7, not 24."""
    voxels = 960 * 544 * 345
    peak_gib = 21.3 + 16.04 * voxels / GIB
    assert peak_gib == pytest.approx(24.0, abs=0.02)
    job = Job(model="hunyuanvideo", clips=1, resolution="960x544", frames=129, steps=25, peak_gib=peak_gib)
    small, large = fitting(job, "RTX4090-24GB"), fitting(job, "L40S-48GB")
    assert small["need_gib"] == large["need_gib"] == pytest.approx(peak_gib)
    assert small["verdict"] == "does_not_fit"
    assert large["verdict"] == "fits"


def test_us_10_frames_add_to_what_is_resident() -> None:
    """Twice the frames add the same again to what is above the weights, and nothing to the weights."""
    one, two, three = (
        fitting(
            Job(model="wan2.1-t2v-14b", clips=1, resolution="832x480", frames=n, steps=50), "B300-SXM-288GB"
        )
        for n in (80, 160, 240)
    )
    assert one["weights_gib"] == two["weights_gib"]
    assert two["need_gib"] - one["need_gib"] == pytest.approx(three["need_gib"] - two["need_gib"], rel=1e-6)
    assert one["need_gib"] < two["need_gib"] < 1.5 * one["need_gib"]


def test_us_11_transcribe_1000_hours() -> None:
    """A real-time factor of 0.02 makes 20 hours: 8.00; the spot row is a floor of a bid and no price."""
    job = Job(model="whisper-large-v3", precision="fp16", audio_hours=1000, peak_gib=5, start_minutes=0)
    everywhere = story_offers().filter(pl.col("price_state") == "priced")
    answer = rank_offers(job, everywhere)
    assert {one.verdict for one in answer.ranked} == {"fits"}
    assert not answer.excluded
    assert offer(answer, "F19").weights_gib is not None
    assert (offer(answer, "F19").weights_gib or 0) * GIB == pytest.approx(3.1e9, rel=0.03)
    assert bills(job, some("F09"), per_hour=50)["F09"] == pytest.approx(8.00)
    floor = lost(rank_offers(job, some("F10")), "F10")
    assert (floor.reason, floor.detail) == ("price_state", "bid_floor")


# --- adapting models --------------------------------------------------------------------------------------------------


def qlora(model: str, **more: Any) -> Job:
    return Job(
        **({"task": "qlora", "model": model, "train_tokens": 1e6, "seq_len": 2048, "micro_batch": 1} | more)
    )


def test_us_12_qlora_of_an_8b() -> None:
    """About 5.8e9 bytes of base, under 1e9 of adapters, 3 to 6e9 of activations and logits."""
    row = fitting(qlora("llama-3.1-8b"), "RTX4090-24GB")
    assert (row["gpu_count"], row["verdict"]) == (1, "fits")
    assert row["weights_gib"] * GIB == pytest.approx(5.8e9, rel=0.05)
    assert row["state_gib"] * GIB < 1e9
    small = fitting(qlora("llama-3.1-8b"), "RTX4080S-16GB")
    assert small["gpu_count"] == 1
    assert small["verdict"] in ("fits", "tight")
    kept = fitting(qlora("llama-3.1-8b", recompute="none"), "RTX4090-24GB")
    assert kept["need_gib"] > row["need_gib"]


@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-14b", "qwen2.5-32b", "llama-3.1-70b"])
def test_us_12_each_method_needs_less_than_the_next(model: str) -> None:
    shape: dict[str, Any] = {"model": model, "train_tokens": 1e6, "seq_len": 2048, "micro_batch": 1}
    machine = hardware(changed(some("F03"), gpu_candidates=["B300-SXM-288GB"]))
    needs = [
        performance(job_row(Job(task=task, **shape)), machine)["need_gib"][0]
        for task in ("qlora", "lora", "full")
    ]
    assert needs == sorted(needs)


def test_us_13_qlora_of_a_70b_on_48_gb() -> None:
    """40.5e9 bytes of base and 3 to 7e9 beside it, against 48 GB: at best tight, and nothing at 32k tokens."""
    card = some("F07")
    for tight in (False, True):
        answer = rank_offers(qlora("llama-3.1-70b", max_gpus=1, tight=tight), card)
        assert all(one.verdict == "tight" for one in answer.ranked)
        assert all((one.reason, one.is_near_miss) == ("memory", True) for one in answer.excluded)
    long = rank_offers(
        qlora("llama-3.1-70b", seq_len=32_768, global_batch=65_536, max_gpus=1, tight=True), card
    )
    assert lost(long, "F07").reason == "memory"
    assert (lost(long, "F07").margin_ratio or 0) > 1
    two = changed(some("F09"), gpu_count=2.0, link="pcie")
    assert lost(rank_offers(qlora("llama-3.1-70b", tight=True), two), "F09").reason == "memory"


def full(model: str, **more: Any) -> Job:
    return Job(task="full", model=model, train_tokens=1e6, **more)


@pytest.mark.parametrize(("gpus", "verdict"), [(1, None), (2, "tight"), (4, "fits")])
def test_us_14_full_tuning_of_an_8b(gpus: int, verdict: str | None) -> None:
    """16 bytes a parameter: 128e9 before activations."""
    cards = changed(some("F02"), gpu_count=float(gpus), link="nvlink" if gpus > 1 else "none")
    answer = rank_offers(full("llama-3.1-8b", max_gpus=4, tight=True), cards)
    assert [one.verdict for one in answer.ranked] == ([] if verdict is None else [verdict])
    assert [one.reason for one in answer.excluded] == (["memory"] if verdict is None else [])


def test_us_14_full_tuning_of_a_70b() -> None:
    """1,130e9 bytes: not on eight cards; on sixteen the offer must say what joins the two nodes."""
    one_node = rank_offers(full("llama-3.1-70b"), some("F01"))
    assert lost(one_node, "F01").reason == "memory"
    unstated = lost(rank_offers(full("llama-3.1-70b", max_gpus=16), some("F01")), "F01")
    assert (unstated.reason, unstated.is_unknown) == ("fabric", True)
    stated = rank_offers(full("llama-3.1-70b", max_gpus=32), changed(some("F01"), fabric_gbps=3200.0))
    assert stated.ranked[0].instances >= 2
    less = rank_offers(
        full("llama-3.1-70b", optimizer="adamw_8bit", max_gpus=16), changed(some("F01"), fabric_gbps=3200.0)
    )
    assert less.ranked[0].need_gib < stated.ranked[0].need_gib * stated.ranked[0].gpus_per_replica / 16


def pretraining(**more: Any) -> Job:
    return Job(
        task="pretrain",
        model="llama-2-7b",
        train_tokens=1e12,
        max_gpus=64,
        deadline_hours=600,
        start_minutes=0,
        **more,
    )


def test_us_15_pretraining_in_days_and_money() -> None:
    """6 x 7e9 x 1e12 FLOPs at 0.40 of 989 TFLOPS: 29,491 GPU-hours, 88,473 on demand; 1,065,216 for a year."""
    nodes = changed(some("F01", "F11", "F12"), fabric_gbps=3200.0)
    answer = rank_offers(pretraining(), nodes)
    assert order(answer) == ["F01", "F12"]
    on_demand, reserved = answer.ranked
    assert on_demand.gpus_rented == 64
    assert on_demand.total_usd == pytest.approx(88_473, rel=0.25)
    assert reserved.total_usd == pytest.approx(64 * 8760 * 1.90)
    assert reserved.commitment_usd is not None
    assert reserved.commitment_usd > 0.9 * (reserved.total_usd or 0)
    # one lost node stops all: spot is not for a run over several nodes, and one node alone takes too long
    assert lost(answer, "F11").reason in ("purchase_kind", "deadline")
    assert lost(rank_offers(pretraining(), some("F01")), "F01").is_unknown


def test_us_15_spot_on_one_node_bears_its_losses() -> None:
    """1.375 a GPU-hour against 3.00: 0.458 of the bill, and the interruptions on top."""
    small = Job(task="pretrain", model="smollm2-1.7b", train_tokens=1e11, start_minutes=0)
    answer = rank_offers(small, some("F01", "F11"))
    assert order(answer) == ["F11", "F01"]
    spot, on_demand = answer.ranked
    assert spot.compute_usd == pytest.approx((on_demand.compute_usd or 0) * 11 / 24, rel=1e-3)
    assert (spot.interruption_usd or 0) > 0


def test_us_15_only_active_experts_count() -> None:
    sparse, dense = (
        fitting(Job(task="lora", model=model, train_tokens=1e6, lora_targets="attention"), "B300-SXM-288GB")
        for model in ("qwen3-30b-a3b", "qwen2.5-32b")
    )
    assert sparse["speed"] > 2 * dense["speed"]


# --- money ------------------------------------------------------------------------------------------------------------


def test_us_16_bursts_and_started_hours() -> None:
    """Five runs of 12 minutes a day: 0.40, 1.10 and five started hours at 0.60, over 30 days."""
    job = Job(
        model="llama-3.1-8b",
        precision="awq-int4",
        sessions_per_month=150,
        session_minutes=12,
        start_minutes=0,
        max_gpus=1,
    )
    unknown = changed(some("F09"), offering_id="F09?", billing_increment_s=None, billing_minimum_s=None)
    answer = rank_offers(job, pl.concat([some("F07", "F09", "F14"), unknown]))
    daily = {one.offering_id: (one.total_usd or 0) / 30 for one in answer.ranked}
    assert daily == pytest.approx({"F09": 0.40, "F07": 1.10, "F14": 3.00, "F09?": 2.00})
    rates = {one.offering_id: one.price_usd_per_instance_hour for one in answer.ranked}
    assert order(answer) != sorted(rates, key=lambda name: rates[name])
    assert "assumed_increment" in offer(answer, "F09?").flags


def test_us_17_storage_and_egress_in_the_total() -> None:
    """210 + 64 + 171 = 445 against 240 + 64 + 0 = 304."""
    job = Job(
        model="llama-3.1-70b",
        precision="fp8",
        context=4096,
        hours_per_month=10,
        start_minutes=0,
        storage_gb=640,
        egress_gb=2000,
    )
    answer = rank_offers(job, some("F01", "F08"))
    assert order(answer) == ["F01", "F08"]
    parts = {
        one.offering_id: (one.compute_usd, one.storage_usd, one.egress_usd, one.total_usd)
        for one in answer.ranked
    }
    assert parts["F08"] == pytest.approx((210, 64, 171, 445))
    assert parts["F01"] == pytest.approx((240, 64, 0, 304))
    (open_bill,) = rank_offers(job, changed(some("F08"), egress_usd_per_gb=None)).ranked
    assert open_bill.is_lower_bound


def eight_h100(**more: Any) -> Job:
    return Job(model="llama-3.1-70b", precision="fp8", context=4096, region="eu", start_minutes=0, **more)


def test_us_18_one_row_for_each_way_to_buy() -> None:
    ways = some("F01", "F11", "F12", "F13", "F18")
    answer = rank_offers(eight_h100(purchase=("on-demand", "spot", "reserved")), ways)
    bought = {one.purchase: one.price_usd_per_instance_hour for one in answer.ranked}
    assert bought == {"on_demand": 24.00, "spot": 11.00, "reserved": 15.20}
    assert lost(answer, "F13").reason == "region"
    preview = lost(answer, "F18")
    assert (preview.reason, preview.is_unknown) == ("price_state", True)
    assert "F11" not in order(rank_offers(eight_h100(), ways))


def test_us_19_bandwidth_for_a_dollar_after_the_fit() -> None:
    """GB/s x GPUs over the hourly price: 2,208, 1,371, 1,231, 1,047; the RTX 4090 has 2,520 and does not hold it."""
    job = Job(model="qwen2.5-32b", precision="bf16", context=4096)
    answer = rank_offers(job, some("F03", "F04", "F05", "F07", "F09", "F14", "F16"))
    assert all(60e9 <= one.need_gib * one.gpus_per_replica * GIB <= 75e9 for one in answer.ranked)
    best = sorted(answer.ranked, key=lambda one: -(one.gb_per_s_per_usd_hour or 0))
    shown = {one.offering_id: round(one.gb_per_s_per_usd_hour or 0) for one in best}
    assert list(shown) == ["F16", "F05", "F04", "F03"]
    assert list(shown.values()) == pytest.approx([2208, 1371, 1231, 1047], abs=1)
    assert {one.reason for one in answer.excluded} == {"memory"}
    loose = rank_offers(Job(model="llama-3.1-8b", precision="awq-int4", max_gpus=1), some("F09", "F03"))
    assert (offer(loose, "F09").gb_per_s_per_usd_hour or 0) == pytest.approx(2520, abs=1)


def test_us_20_what_is_known_of_the_stock() -> None:
    answer = rank_offers(
        eight_h100(purchase=("on-demand", "spot", "reserved"), max_gpus=8),
        some("F01", "F11", "F12", "F13", "F17"),
    )
    states = {one.offering_id: one.availability for one in answer.ranked}
    assert states == {"F01": "in_stock", "F11": "unknown", "F12": "unknown", "F17": "in_stock"}
    gone = changed(some("F01"), availability="out_of_stock")
    assert lost(rank_offers(eight_h100(), gone), "F01").reason == "availability"


def test_us_20_stock_has_a_time_and_a_source() -> None:
    (one,) = rank_offers(eight_h100(), some("F01")).ranked
    assert (one.evidence, one.source_url) == ("live", "https://alpha.example/prices")
    assert one.fetched_at is not None
    assert MIDNIGHT - one.fetched_at == timedelta(hours=2)


def test_us_20_scarcity_comes_from_history() -> None:
    deck = some("F01", "F17").with_columns(
        nights_in_stock_share=pl.when(pl.col("offering_id") == "F01").then(0.75)
    )
    job = eight_h100(purchase=("on-demand", "spot", "reserved"), max_gpus=8)
    shares = {one.offering_id: one.nights_in_stock_share for one in rank_offers(job, deck).ranked}
    assert shares == {"F01": 0.75, "F17": None}
    (alone,) = rank_offers(eight_h100(), some("F01")).ranked
    assert alone.nights_in_stock_share is None


def market(*prices: float) -> pl.DataFrame:
    rows = [
        changed(
            some("F03"), offering_id=f"M{i}", price_usd_per_gpu_hour=price, price_usd_per_instance_hour=price
        )
        for i, price in enumerate(prices)
    ]
    return pl.concat(rows)


def test_us_21_is_this_price_real() -> None:
    deck = market(3.0, 3.1, 2.9, 3.2, 3.0, 2.8, 0.3)
    assert outside_market_band(deck) == {"M6"}
    cheap = rank_offers(eight_b(), deck, outlier_ids=outside_market_band(deck))
    assert cheap.headline
    assert cheap.headline.offering_id == "M5"
    assert offer(cheap, "M6").would_lead_if == "outlier"
    eight = changed(some("F03"), offering_id="same", gpu_count=8.0, link="nvlink", price_usd_per_gpu_hour=0.4)
    odd = quality(pl.concat([some("F03"), eight]), REJECT.to_frame(), deck.head(0), source_id="alpha")
    assert "eight_gpu_price_equals_one" in odd["rule"].to_list()
    # a slice is kept, and is no whole GPU
    assert offer(rank_offers(Job(model="llama-3.2-1b"), some("F19")), "F19").usable_gib < 11


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("RTX 6000 Ada", "RTX6000ADA-48GB"),
        ("RTX A6000", "RTXA6000-48GB"),
        ("Quadro RTX 6000", "QUADRO-RTX6000-24GB"),
        ("H100 NVL", "H100-NVL-94GB"),
        ("H100 SXM", H100),
    ],
)
def test_us_21_names_that_look_alike_are_other_gpus(text: str, key: str) -> None:
    assert list(resolve_gpu(text, None).candidates) == [key]


@pytest.mark.xfail(strict=True, reason="the command line has no `history` and no `changes` yet")
def test_us_22_what_changed_since_last_month() -> None:
    from flows.cli import app

    named = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    assert {"history", "changes"} <= named


def test_us_23_the_ceiling_of_one_stream() -> None:
    """The figure of the answer (d): 1,008 GB/s over 16.06e9 bytes is 63 tokens/s; fewer bytes or more users help."""
    one = fitting(Job(model="llama-3.1-8b", precision="bf16", users=1), "RTX4090-24GB")
    assert one["speed"] <= 1008e9 / 16.06e9
    assert one["limiting_factor"] == "bandwidth"
    fewer_bytes = fitting(Job(model="llama-3.1-8b", precision="fp8", users=1), "RTX4090-24GB")
    assert fewer_bytes["speed"] > 1.3 * one["speed"]
    faster = fitting(Job(model="llama-3.1-8b", precision="bf16", users=1), H100)
    assert faster["speed"] > one["speed"]
    together = fitting(Job(model="llama-3.1-8b", precision="bf16", users=4), "RTX4090-24GB")
    assert 4 * together["speed"] > 2 * one["speed"]


@pytest.mark.xfail(strict=True, reason="the page has no questions and answers yet")
def test_us_23_the_page_answers_questions() -> None:
    from importlib.resources import files

    templates = files("page.templates").iterdir()
    assert any(
        "faq" in template.read_text(encoding="utf-8").lower() for template in templates if template.is_file()
    )


def test_us_24_the_file_has_raw_numbers_with_a_dot(capsys: pytest.CaptureFixture[str]) -> None:
    from flows.show import Format, out

    (one,) = rank_offers(eight_h100(), some("F01")).ranked
    row = {"price": one.price_usd_per_instance_hour, "price_date": one.price_date, "gpu": one.gpu_candidates}
    out([row], Format.csv)
    assert capsys.readouterr().out == f"price,price_date,gpu\n24.0,2026-11-30,{H100}\n"
    out([row], Format.json)
    assert json.loads(capsys.readouterr().out)[0]["price"] == 24.0


def test_us_25_twice_gives_the_same() -> None:
    job = Job(**SEVENTY_B, **EU_BY_THE_SECOND)
    assert rank_offers(job, OF_US_01) == rank_offers(job, OF_US_01.sample(fraction=1, shuffle=True, seed=7))
