"""Pictures, clips and sound: speed against figures worked out by hand and against published checks."""

from __future__ import annotations

import polars as pl
import pytest

from transforms.reference import tables
from transforms.workloads import jobs
from transforms.workloads.hardware import hardware
from transforms.workloads.performance import performance

OFFERED = {
    "gpu_candidates": pl.List(pl.String),
    "gpu_count": pl.Float64,
    "vram_gib": pl.Float64,
    "link": pl.String,
    "fabric_gbps": pl.Float64,
}


def on(job, key, count=1, gpus=1, link=None, vram_gib=None):
    link = link or ("none" if count == 1 else "nvlink")
    row = {"gpu_candidates": [key], "gpu_count": float(count), "link": link, "vram_gib": vram_gib}
    rows = performance(job, hardware(pl.DataFrame([row], schema=OFFERED)))
    return rows.row(by_predicate=pl.col("gpus_per_replica") == gpus, named=True)


def test_a_picture_of_flux_on_an_h100():
    """28 steps of 43 ms + 74.3 TFLOP / (0.50 x 0.67 x 989.4 TFLOPS): 7.5 s, measured 6.6."""
    job = jobs.job("img-12b-batch", model_id="flux.1-dev", steps=28, batch=1)
    row = on(job, "H100-SXM5-80GB")
    assert row["speed"] == pytest.approx(28 * (0.043 + 74.3 / (0.335 * 989.4)), rel=1e-6)
    assert row["speed"] == pytest.approx(7.5, abs=0.05)
    assert row["speed_unit"] == "s/image"
    assert (row["speed_low"], row["speed_high"]) == pytest.approx((row["speed"] / 1.3, row["speed"] / 0.7))
    assert row["rate_per_hour"] == pytest.approx(3600 / row["speed"])


def test_a_clip_over_eight_gpus():
    """Wan2.1-14B, 720p, 50 steps, 8 H100: 285 s with FA2-class attention, 288 measured; fused is 1.73 faster."""
    job = jobs.job("vid-14b-720p-batch", model_id="wan2.1-t2v-14b", steps=50)
    row = on(job, "H100-SXM5-80GB", 8, gpus=8)
    launches = 50 * 0.043
    assert launches + (row["speed"] - launches) * 1.73 == pytest.approx(285, rel=0.01)
    assert row["speed_unit"] == "s/clip"
    slow = on(job, "H100-SXM5-80GB", 8, gpus=8, link="pcie")
    assert slow["speed"] - launches == pytest.approx((row["speed"] - launches) * (0.98 / 0.79) ** 3)


def test_only_a_split_over_a_fast_link_makes_a_clip_in_time():
    """14B at 480p within 45 s: 128 s on one H100, 34 s on four over NVLink; not over PCIe."""
    job = jobs.job("vid-14b-480p-fast")
    one, four = on(job, "H100-SXM5-80GB", 8), on(job, "H100-SXM5-80GB", 8, gpus=4)
    assert (one["reason"], one["users_per_replica"]) == ("latency", 0)
    assert one["margin_ratio"] == pytest.approx(128 / 45 - 1, rel=0.01)
    assert (four["reason"], four["users_per_replica"]) == (None, 1)
    assert four["speed"] == pytest.approx(34, abs=0.5)
    assert on(job, "H100-SXM5-80GB", 8, gpus=4, link="pcie")["reason"] == "fabric"


def test_peak_memory_decides_and_not_the_weights():
    """40.5 GiB with batch 4: 24 and 32 GB cards are out, 48 GB holds it; resident weights are 31.4 GiB."""
    job = jobs.job("img-12b-batch")
    assert on(job, "RTX4090-24GB")["verdict"] == "does_not_fit"
    assert on(job, "RTX5090-32GB")["margin_ratio"] == pytest.approx(40.5 / (0.92 * 31.84) - 1)
    fits = on(job, "L40S-48GB")
    assert fits["verdict"] == "fits"
    assert fits["weights_gib"] == pytest.approx(31.4, abs=0.05)
    assert fits["activation_gib"] == pytest.approx(40.5 - 31.4, abs=0.05)


def test_a_size_without_a_count_is_unknown():
    odd = on(jobs.job("img-6b-ui", width_px=1000), "H100-SXM5-80GB")
    assert (odd["verdict"], odd["reason"]) == ("unknown", "figures")
    other = on(jobs.job("music-song-batch", model_id="stable-audio-open-1.0"), "H100-SXM5-80GB")
    assert (other["verdict"], other["speed"]) == ("unknown", None)
    no_peak = on(jobs.job("img-6b-ui", assumed_peak_gib=None), "H100-SXM5-80GB")
    assert (no_peak["verdict"], no_peak["reason"]) == ("unknown", "architecture")


def test_a_small_denoiser_is_not_split():
    job = jobs.job("img-12b-batch", model_id="sdxl-base-1.0", assumed_peak_gib=12)
    assert on(job, "H100-SXM5-80GB", 8, gpus=2)["reason"] == "layout"
    assert on(jobs.job("img-12b-batch"), "H100-SXM5-80GB", 8, gpus=2)["reason"] is None
    assert on(jobs.job("img-12b-batch"), "H100-SXM5-80GB", 8, gpus=8)["reason"] == "layout"


def test_a_server_card_does_not_hold_its_nominal_rate():
    """L40S: 180 of 362 TFLOPS sustained, x 1.8 for its family: the time of an RTX 4090 within a third."""
    job = jobs.job("img-20b-batch", assumed_peak_gib=20)
    l40s, rtx4090 = on(job, "L40S-48GB")["speed"], on(job, "RTX4090-24GB")["speed"]
    assert l40s == pytest.approx(50 * (0.043 + 2 * 132.3 / (0.5 * 1.8 * 180)), rel=1e-6)
    assert 0.6 < l40s / rtx4090 < 1


def test_adapters_of_a_picture_model():
    """One pass forward and twice that backward: 43 ms + 3 x 59.25 / 331.4 = 0.58 s a sample, 2,500 in 0.40 h."""
    row = on(jobs.job("lora-img-6b"), "H100-SXM5-80GB")
    assert 2500 / row["rate_per_hour"] == pytest.approx(0.401, rel=0.01)


def test_sound_scales_from_its_reference():
    """(989.4 / 312 x 3350 / 2039)^0.4 = 1.94 times the A100: 387 times real time, 2.6 h for 1,000 hours."""
    row = on(jobs.job("asr-batch-1000h"), "H100-SXM5-80GB")
    assert row["speed"] == pytest.approx(200 * (989.4 / 312 * 3350 / 2039) ** 0.4, rel=1e-6)
    assert 1000 / row["rate_per_hour"] == pytest.approx(2.58, rel=0.01)
    assert on(jobs.job("asr-batch-1000h"), "A100-SXM4-80GB")["speed"] == 200


def test_a_measured_gpu_keeps_its_own_speed():
    """ACE-Step at 60 steps: 15.6 on an RTX 4090, 6.5 on an RTX 3090; half the steps, twice the speed."""
    job = jobs.job("music-song-batch")
    assert on(job, "RTX4090-24GB")["speed"] == 15.6
    assert on(job, "RTX3090-24GB")["speed"] == 6.5
    assert on(jobs.job("music-song-batch", steps=30), "RTX4090-24GB")["speed"] == 31.2
    half = on(job, "RTX4090-24GB", vram_gib=16.0)
    assert half["speed"] < 12.3
    assert 150 / on(job, "RTX4090-24GB")["rate_per_hour"] == pytest.approx(10 / 15.6)


def test_streams_of_live_speech():
    """53 times real time on an A100 carry 35 streams of 1.5; eight are asked for."""
    row = on(jobs.job("tts-live"), "A100-SXM4-80GB")
    assert row["users_per_replica"] == 8
    assert "ttft_not_modelled" in row["flags"]
    many = on(jobs.job("tts-live", concurrent_users=100), "A100-SXM4-80GB")
    assert (many["users_per_replica"], many["certain_users_per_replica"]) == (35, 23)
    none = on(jobs.job("tts-live", min_stream_rtf=60), "A100-SXM4-80GB")
    assert none["reason"] == "speed"


def test_what_is_calibrated():
    picture, clip = jobs.job("img-20b-batch"), jobs.job("vid-5b-720p-batch")
    for key, expected in (("H100-SXM5-80GB", True), ("RTXPRO6000-SE-96GB", True), ("MI300X-192GB", False)):
        assert on(picture, key)["is_calibrated"] is expected
        assert on(clip, key)["is_calibrated"] is expected


def test_facts_name_known_models_and_gpus():
    models = set(tables.read("model")["model_id"])
    assert set(tables.read("denoiser")["model_id"]) <= models
    assert set(tables.read("audio_reference")["model_id"]) <= models
    assert set(tables.read("audio_reference")["gpu_key"]) <= set(tables.read("gpu")["gpu_key"])
    assert set(tables.read("gpu_speed_class")["gpu_key"]) == set(tables.read("gpu")["gpu_key"])
    assert not models >= {"no-such-model"}
