"""Memory of training: figures worked out by hand, published examples and measured ladders."""

from __future__ import annotations

from functools import lru_cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.workloads import jobs, precision, training_memory
from transforms.workloads.hardware import hardware
from transforms.workloads.models import TEXT_MODALITIES, geometry
from transforms.workloads.performance import performance

GIB = 2**30
OFFERED = {
    "gpu_candidates": pl.List(pl.String),
    "gpu_count": pl.Float64,
    "vram_gib": pl.Float64,
    "link": pl.String,
    "fabric_gbps": pl.Float64,
}


def on(job, key, count=1):
    """The layout of a job on all GPUs of one offer."""
    row = {"gpu_candidates": [key], "gpu_count": float(count), "link": "none" if count == 1 else "nvlink"}
    rows = performance(job, hardware(pl.DataFrame([row], schema=OFFERED)))
    return rows.row(by_predicate=pl.col("gpus_per_replica") == count, named=True)


def needs(job, gpus=1, **layout):
    """The parts of the need and its variants, of one job on so many GPUs, without a GPU in sight."""
    rows = job.join(geometry(), on="model_id").with_columns(
        gpus_per_replica=pl.lit(float(gpus)), usable_gib=pl.lit(80.0)
    )
    rows = training_memory.with_need(precision.with_formats(rows)).with_columns(**layout)
    return rows.with_columns(
        need=training_memory.need_gib(),
        weights=training_memory.weights_gib(),
        states=training_memory.states_gib(),
        saved=training_memory.activations_gib(),
        logits=training_memory.logits_gib(),
        chunked=training_memory.need_gib_with_chunked_loss(),
        on_host=training_memory.need_gib_with_host_optimizer(),
    ).row(0, named=True)


def shared(params_routed=0.0, params_total=7.5e9, **shards):
    """Gigabytes of weights and states of a GPU, with the states of ZeRO; what is not named is not kept at all."""
    kinds = ("weight", "gradient", "moment", "expert_weight", "expert_gradient", "expert_moment")
    layout = {f"{kind}_shards": pl.lit(float(shards.get(kind, "inf"))) for kind in kinds}
    sizes = {"params_total": pl.lit(params_total), "params_routed": pl.lit(params_routed)}
    row = needs(jobs.job("full-8b", optimizer="adamw_zero_16B"), **layout, **sizes)
    return (row["weights"] + row["states"]) * GIB / 1e9


@pytest.mark.parametrize(
    ("weight", "gradient", "moment", "gigabytes"),
    [(1, 1, 1, 120.0), (1, 1, 64, 31.4), (1, 64, 64, 16.6), (64, 64, 64, 1.9)],
)
def test_zero_example(weight, gradient, moment, gigabytes):
    """7.5 billion parameters on 64 GPUs: 16, 4 + 12/64, 2 + 14/64 and 16/64 bytes each."""
    assert shared(weight=weight, gradient=gradient, moment=moment) == pytest.approx(gigabytes, abs=0.05)


def test_experts_are_shared_by_their_own_group():
    """60 % experts over 8 GPUs, the rest over 2: (0.4 / 2 + 0.6 / 8) of 10e9 x 12 bytes of moments and copies."""
    found = shared(params_routed=6e9, params_total=10e9, moment=2, expert_moment=8)
    assert found == pytest.approx(0.275 * 120)


def test_qlora_of_an_8b():
    """Base 5.7e9 bytes, adapters and 8-bit moments under 1e9, activations and logits 3 to 6e9 at 2,048 tokens.

    By hand: body 6.9796e9 x 4.127 / 8 + 1.0507e9 x 2 = 5.702e9; adapters 16 x 81,920 x 32 x 10 = 0.419e9; saved
    2 x 4096 x 32 + 167,936 and 4 x 38,912 of the inputs of the adapters = 585,728 B a token;
    logits 12 x 128,256; one layer unpacked 0.436e9; 0.5 GiB.
    """
    need = (5.702e9 + 0.419e9 + 2048 * (585_728 + 12 * 128_256) + 0.436e9) / GIB + 0.5
    row = on(jobs.job("qlora-8b"), "RTX4090-24GB")
    assert row["need_gib"] == pytest.approx(need, rel=0.002)
    assert row["verdict"] == "fits"
    assert on(jobs.job("qlora-8b"), "T4-16GB")["verdict"] == "fits"


def test_more_is_needed_where_nothing_is_recomputed():
    """32 layers of 167,936 + 155,648 bytes a token are kept in place of 32 inputs of 8,192 and one layer."""
    kept = needs(jobs.job("qlora-8b", recompute="none"))["saved"]
    recomputed = needs(jobs.job("qlora-8b"))["saved"]
    assert kept - recomputed == pytest.approx(2048 * (31 * 323_584 - 32 * 8192) / GIB)


def test_qlora_of_a_70b_does_not_plainly_fit_48_gb():
    """47.5 GiB at 2,048 tokens: 0.99 of a card with 48.0 GiB usable, 1.055 of one with 45.0; 42.5 at 512 tokens.

    Of one layer 331,776 bytes a token and 4 x 77,824 of the inputs of its adapters, 0.6 GiB of the whole.
    """
    job = jobs.job("qlora-70b")
    assert on(job, "L40S-48GB")["need_gib"] == pytest.approx(47.5, rel=0.005)
    assert on(job, "L40S-48GB")["load_ratio"] == pytest.approx(1.055, abs=0.01)
    assert on(job, "RTXA6000-48GB")["load_ratio"] == pytest.approx(0.99, abs=0.01)
    assert on(job, "RTXA6000-48GB")["reason"] == "memory"
    assert on(jobs.job("qlora-70b", seq_len=512), "L40S-48GB")["need_gib"] == pytest.approx(42.5, rel=0.005)
    assert on(jobs.job("qlora-70b", seq_len=32768), "L40S-48GB")["verdict"] == "does_not_fit"


def test_a_chunked_loss_saves_seven_eighths_of_the_logits():
    """12 x 128,256 x 2,048 bytes are 2.94 GiB; 47.5 becomes 44.9."""
    row = needs(jobs.job("qlora-70b"))
    assert row["logits"] == pytest.approx(12 * 128_256 * 2048 / GIB)
    assert row["need"] - row["chunked"] == pytest.approx(7 / 8 * row["logits"])
    assert row["chunked"] == pytest.approx(44.9, rel=0.005)


def test_full_tuning_of_an_8b_and_of_a_70b():
    """16 bytes a parameter: 128e9 and 1,129e9, before activations and logits of 16.1e9 at 8,192 tokens."""
    eight = jobs.job("full-8b")
    one = on(eight, "H100-SXM5-80GB")
    assert one["need_gib"] == pytest.approx((128.48e9 + 16.13e9) / GIB + 0.5, rel=0.002)
    verdicts = {n: on(eight, "H100-SXM5-80GB", n)["verdict"] for n in (1, 2, 4)}
    assert verdicts == {1: "does_not_fit", 2: "tight", 4: "fits"}
    seventy = jobs.job("full-70b")
    assert on(seventy, "H100-SXM5-80GB", 8)["verdict"] == "does_not_fit"
    assert on(seventy, "H200-SXM-141GB", 8)["verdict"] == "does_not_fit"
    assert on(seventy, "B200-SXM-180GB", 8)["reason"] is None


def test_the_variants_of_full_tuning_are_lines_of_their_own():
    """8.03e9 parameters: 8-bit moments need 6 bytes of each in place of 16, moments on the host 8 bytes less."""
    row = needs(jobs.job("full-8b"))
    moments_8bit = needs(jobs.job("full-8b", optimizer="adamw_8bit"))
    assert row["need"] - moments_8bit["need"] == pytest.approx(10 * 8_030_261_248 / GIB)
    assert row["need"] - row["on_host"] == pytest.approx(8 * 8_030_261_248 / GIB)
    assert needs(jobs.job("qlora-8b"))["on_host"] is None


def test_published_ladder_of_a_3b():
    """torchtune, Llama-3.2-3B, 16-bit AdamW, 2 x 4,096 tokens; GiB measured, and the formula within 12 %."""
    shape = {"model_id": "llama-3.2-3b", "micro_batch": 2, "seq_len": 4096, "optimizer": "adamw_bf16"}
    plain = jobs.job("full-8b", **shape, recompute="none")
    recomputed = jobs.job("full-8b", **shape, recompute="full")
    in_backward = {**shape, "optimizer": "adamw_bf16_in_backward"}
    # 8 x 3.2127e9 bytes of states, 28 layers of 106,496 bytes and 12 x 128,256 bytes a token, and 0.5 GiB
    hand = (8 * 3_212_749_824 + 8192 * (28 * 106_496 + 12 * 128_256)) / GIB + 0.5
    assert needs(plain)["need"] == pytest.approx(hand, rel=1e-6)
    assert needs(plain)["need"] == pytest.approx(60.0, rel=0.03)
    assert needs(recomputed)["chunked"] == pytest.approx(24.9, rel=0.13)
    assert needs(jobs.job("full-8b", **in_backward, recompute="full"))["chunked"] == pytest.approx(
        23.1, rel=0.06
    )
    assert needs(jobs.job("full-8b", **in_backward, recompute="offload"))["chunked"] == pytest.approx(
        21.8, rel=0.06
    )


def test_published_pretraining_of_an_8b():
    """torchtitan, Llama-3.1-8B on 8 H100, 2 x 8,192 tokens, every other layer recomputed: measured 82.4 GiB."""
    job = jobs.job("pre-7b-1t", model_id="llama-3.1-8b", micro_batch=2, seq_len=8192)
    assert on(job, "H100-SXM5-80GB", 8)["need_gib"] == pytest.approx(82.4, rel=0.03)


def test_matrices_of_a_feed_forward_block_are_told_from_the_parameters():
    """Llama, Qwen and Gemma have a gate; Falcon, Phi-2 and MPT have none."""
    rows = geometry().filter(
        pl.col("model_id").is_in(["llama-2-7b", "qwen2.5-7b", "gemma-7b", "falcon-7b", "phi-2"])
    )
    found = dict(rows.select("model_id", training_memory.ffn_matrices()).iter_rows())
    assert found == {"llama-2-7b": 3, "qwen2.5-7b": 3, "gemma-7b": 3, "falcon-7b": 2, "phi-2": 2}


def test_adapters_of_experts_stay_out():
    """All linear layers of a mixture are its attention: 16 x (2 x (2048 + 4096) + 2 x (2048 + 512)) x 48 layers."""
    job = jobs.job("lora-8b-bf16", model_id="qwen3-30b-a3b", lora_rank=16, lora_targets="all linear layers")
    rows = job.join(geometry(), on="model_id")
    assert rows.select(training_memory.adapter_params()).item() == 16 * (2 * 6144 + 2 * 2560) * 48


def test_unknown_ways_of_training_have_no_figure():
    for changed in ({"recompute": "sometimes"}, {"optimizer": "sgd"}):
        assert needs(jobs.job("full-8b", **changed))["need"] is None
    assert needs(jobs.job("lora-8b-bf16", lora_targets="embeddings"))["need"] is None


@lru_cache
def text_models():
    return geometry().filter(
        pl.col("modality").is_in(TEXT_MODALITIES),
        pl.col("num_layers") > 1,
        pl.col("hidden_size").is_not_null(),
    )


def ordered_needs(seq_len, micro_batch, lora_rank):
    """Needs of QLoRA, LoRA and full tuning of every text model, on one GPU."""
    ways = {
        "qlora": ("nf4", "paged_adamw_8bit"),
        "lora": ("bf16", "adamw_fp32_adapters"),
        "full": ("bf16", "adamw_mixed_16B"),
    }
    columns = {}
    for task, (weights, optimizer) in ways.items():
        rows = text_models().with_columns(
            task=pl.lit(task),
            weight_precision=pl.lit(weights),
            optimizer=pl.lit(optimizer),
            recompute=pl.lit("full"),
            lora_targets=pl.lit("all linear layers"),
            lora_rank=pl.lit(float(lora_rank)),
            seq_len=pl.lit(float(seq_len)),
            micro_batch=pl.lit(float(micro_batch)),
            gpus_per_replica=pl.lit(1.0),
            usable_gib=pl.lit(80.0),
        )
        found = training_memory.with_need(precision.with_formats(rows))
        columns[task] = dict(found.select("model_id", "need_gib").iter_rows())
    return [
        (model_id, columns["qlora"][model_id], columns["lora"][model_id], full)
        for model_id, full in columns["full"].items()
        if None not in (full, columns["lora"][model_id], columns["qlora"][model_id])
    ]


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    seq_len=st.integers(1, 2048),
    micro_batch=st.integers(1, 2),
    lora_rank=st.sampled_from([4, 8, 16, 32, 64]),
)
def test_qlora_needs_no_more_than_lora_and_lora_no_more_than_full(seq_len, micro_batch, lora_rank):
    """In steps of usual length; in very long ones the inputs that adapters keep outweigh what they save."""
    rows = ordered_needs(seq_len, micro_batch, lora_rank)
    assert len(rows) > 100
    assert [row for row in rows if not row[1] <= row[2] <= row[3]] == []


def test_the_order_of_needs_could_fail():
    """With a rank far above what is useful the adapters outgrow full tuning."""
    assert [row for row in ordered_needs(512, 1, 8192) if row[2] > row[3]]


def test_more_gpus_never_need_more_of_each():
    """From two GPUs on: the first split adds the layers that are gathered."""
    job = jobs.job("full-8b").drop("model_id", "seq_len")
    layouts = pl.DataFrame({"gpus_per_replica": [2.0, 4.0, 8.0, 64.0]})
    rows = text_models().join(job, how="cross").join(layouts, how="cross")
    rows = rows.with_columns(seq_len=pl.lit(4096.0), usable_gib=pl.lit(80.0))
    needs_of = training_memory.with_need(precision.with_formats(rows)).drop_nulls("need_gib")
    by_model = needs_of.sort("gpus_per_replica").group_by("model_id").agg("need_gib")
    assert by_model.height > 100
    assert [row for row in by_model.rows() if row[1] != sorted(row[1], reverse=True)] == []
