"""Training on a layout: LoRA, QLoRA, full fine-tuning and pretraining of text models.

The ranking assumes what users run: HF and PEFT for adapters, PyTorch for full fine-tuning, a Megatron-class stack for
pretraining, 16-bit matrices, current attention kernels. Speed: training_speed. Memory: training_memory.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads import kernels, outcome, precision, training_memory, training_speed, training_work
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.training_work import IS_ADAPTER

_GPUS = pl.col("gpus_per_replica")
_STACK_OF_TASK = {"lora": "hf", "qlora": "hf", "full": "native", "pretrain": "tuned"}
_ENGINE_OF_TASK = {
    "lora": "hf peft",
    "qlora": "hf peft",
    "full": "pytorch fsdp",
    "pretrain": "megatron class",
}


def _with_usual_setting(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns of `training_speed` for a job on a layout, with what the ranking assumes."""
    step = pl.col("micro_batch") * pl.col("seq_len")
    update = pl.coalesce(pl.col("global_batch_tokens") / _GPUS, step)
    recompute = {"none": 0.0, **coefficients("recompute_share")}
    expert_gb_per_s = pl.when(_GPUS > 1).then(pl.col("link_gb_per_s") / 2).otherwise(float("inf"))
    return training_work.with_experts(rows).with_columns(
        power_share=kernels.power_share(),
        stack=pl.col("task").replace_strict(_STACK_OF_TASK, default=None, return_dtype=pl.String),
        matrix_format=pl.lit("16bit"),
        gain_class=pl.lit(None, pl.String),
        attention_kernel=pl.when(kernels.has_own_attention())
        .then(pl.lit("fused"))
        .otherwise(pl.lit("plain")),
        unpacked_params=pl.when(pl.col("task") == "qlora").then("params_total").otherwise(0.0),
        recompute_share=pl.col("recompute").replace_strict(recompute, default=None, return_dtype=pl.Float64),
        step_tokens=pl.min_horizontal(step, update),
        update_tokens=update,
        update_shards=_GPUS,
        gpus_per_sequence=_GPUS * pl.col("seq_len") / pl.col("global_batch_tokens"),
        expert_gb_per_s=expert_gb_per_s,
        expert_years=pl.lit(0.0),
        has_fused_kernels=pl.lit(False),
        has_known_fabric=pl.lit(True),
        offload_s=pl.lit(0.0),
    )


def train(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the outcome of training jobs on text models; one copy takes all GPUs of its layout."""
    rows = training_speed.with_training_speed(_with_usual_setting(training_memory.with_need(rows)))
    rows = rows.with_columns(
        speed="tokens_per_s_per_gpu",
        speed_unit=pl.lit("tokens/s/gpu"),
        engine=pl.col("task").replace_strict(_ENGINE_OF_TASK, default=None),
        is_calibrated=pl.col("is_training_calibrated"),
        flags=precision.flags(),
        rate_per_hour=pl.col("tokens_per_s_per_gpu") * _GPUS * 3600,
        time_cache_share=pl.lit(0.0),
        time_prefill_share=pl.lit(0.0),
        **band(),
    )
    return outcome.with_outcome(rows, _failures())


def band() -> dict[str, pl.Expr]:
    """Edges of the 80 % band, as shares of the predicted speed: of dense models, or of experts."""
    low = (coefficient("band_expert_training_low"), coefficient("band_training_low"))
    high = (coefficient("band_expert_training_high"), coefficient("band_training_high"))
    return {
        "band_low": pl.when("is_moe").then(low[0]).otherwise(low[1]),
        "band_high": pl.when("is_moe").then(high[0]).otherwise(high[1]),
    }


def _failures() -> list[outcome.Failure]:
    """What stops a training layout, in the order in which the first failure is the reason."""
    sequences = pl.col("global_batch_tokens") / pl.col("seq_len")
    too_many = outcome.Failure(
        "layout",
        sequences < _GPUS,
        pl.format(
            "a global batch of {} sequences cannot feed {} GPUs",
            sequences.floor().cast(pl.Int64),
            _GPUS.cast(pl.Int64),
        ),
        _GPUS / sequences - 1,
    )
    unmeasured = outcome.Failure(
        "performance",
        (pl.col("task") == "qlora") & pl.col("is_moe"),
        pl.lit("QLoRA of experts is off by more than 100 % in the measurements: not predicted"),
        verdict="unknown",
    )
    low_precision = outcome.Failure(
        "performance",
        ~IS_ADAPTER & ~pl.col("weight_precision").is_in(["bf16", "fp16"]),
        pl.format("training in {} is not modelled, only in 16 bit", "weight_precision"),
        verdict="unknown",
    )
    return [
        *outcome.precision_failures(),
        low_precision,
        outcome.figure_failure("load_ratio", "architecture", "the size in training"),
        *outcome.fabric_failures(),
        _memory_failure(),
        too_many,
        unmeasured,
        outcome.figure_failure("speed", "gpu_figures", "the training speed"),
    ]


def _memory_failure() -> outcome.Failure:
    """The load is above what the job allows; names what a loss in chunks would need, the first thing to try."""
    plain = outcome.memory_failure()
    chunked = pl.format("{}; {} with a chunked loss", plain.detail, pl.col("need_chunked_loss_gib").round(1))
    return outcome.Failure(plain.reason, plain.is_true, chunked, plain.margin)
