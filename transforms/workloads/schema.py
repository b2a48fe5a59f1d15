"""The columns of each step from a job and a GPU to a ranked offer. Names and units are decided here, once.

JOB          what is to be done: one row per tier, or the job that a user describes
HARDWARE     what can be rented: one row per distinct GPU set, count and link among the offers
PERFORMANCE  job x hardware x layout: does it hold, how fast is it
RANKING      job x offer that can do it: the bill, the place and the reasons
EXCLUSION    job x offer that cannot: the first reason and how far it was off
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars.datatypes import DataTypeClass


def columns(types: Mapping[str, pl.DataType | DataTypeClass]) -> pl.Schema:
    """Returns the schema of these columns, in this order."""
    return pl.Schema(types)


JOB = columns(
    {
        "tier_id": pl.String,
        "group": pl.String,
        "title_en": pl.String,
        "kind": pl.String,  # demand: users and a floor speed; job: a quantity and a deadline
        "task": pl.String,  # serve, batch, embed, image, video, audio, lora, qlora, full, pretrain, session
        "model_id": pl.String,
        "weight_precision": pl.String,
        "kv_precision": pl.String,
        "is_kv_fixed": pl.Boolean,  # the user said it: it is kept, and flagged where the engine must convert
        "input_tokens": pl.Float64,
        "output_tokens": pl.Float64,
        "cached_input_share": pl.Float64,
        "context_tokens": pl.Float64,
        "concurrent_users": pl.Float64,  # demand: all of them; batch: fewest sequences in flight per replica
        "max_sequences": pl.Float64,  # batch: most sequences in flight per replica
        "min_tokens_per_s_per_user": pl.Float64,
        "max_ttft_ms": pl.Float64,
        "max_latency_s": pl.Float64,
        "min_stream_rtf": pl.Float64,
        "width_px": pl.Float64,
        "height_px": pl.Float64,
        "frames": pl.Float64,
        "clip_seconds": pl.Float64,
        "steps": pl.Float64,
        "guidance_passes": pl.Float64,
        "batch": pl.Float64,
        "audio_hours": pl.Float64,
        "work_quantity": pl.Float64,
        "work_unit": pl.String,
        "train_tokens": pl.Float64,
        "train_samples": pl.Float64,
        "seq_len": pl.Float64,
        "micro_batch": pl.Float64,
        "global_batch_tokens": pl.Float64,
        "lora_rank": pl.Float64,
        "lora_targets": pl.String,
        "optimizer": pl.String,
        "recompute": pl.String,
        "assumed_peak_gib": pl.Float64,
        "is_peak_fixed": pl.Boolean,  # the user measured it: it counts before any formula
        "max_gpus": pl.Float64,
        "allow_multi_node": pl.Boolean,
        "required_fabric": pl.String,
        "hosts_allowed": pl.String,
        "purchase_kinds": pl.List(pl.String),
        "worst_verdict_allowed": pl.String,
        "checkpoint_interval_min": pl.Float64,
        "sessions_per_month": pl.Float64,  # null for one job; 1 for round the clock
        "session_minutes": pl.Float64,
        "hours_per_month": pl.Float64,
        "mean_load": pl.Float64,
        "start_minutes": pl.Float64,
        "deadline_hours": pl.Float64,
        "storage_gb": pl.Float64,
        "egress_gb_per_month": pl.Float64,
        "objective": pl.String,
        "secondary_objective": pl.String,
        "region": pl.String,  # null: anywhere; else eu, a continent, a country or a region key
        "max_billing_increment_s": pl.Float64,  # null: any
    }
)

HARDWARE = columns(
    {
        "hardware_id": pl.String,  # gpu keys joined by |, x count, link, fabric, memory of a slice
        "gpu_keys": pl.List(
            pl.String
        ),  # several when the name was ambiguous: every figure is then the weakest
        "gpu_count": pl.Float64,
        "link": pl.String,
        "fabric_gbps": pl.Float64,
        "vram_gib": pl.Float64,
        "usable_gib": pl.Float64,
        "memory_bandwidth_gb_per_s": pl.Float64,
        "fp32_tflops": pl.Float64,
        "fp16_dense_tflops": pl.Float64,
        "bf16_dense_tflops": pl.Float64,
        "fp8_dense_tflops": pl.Float64,
        "int8_dense_tops": pl.Float64,
        "fp4_dense_tflops": pl.Float64,
        "link_gb_per_s": pl.Float64,
        "vendor": pl.String,
        "architecture": pl.String,
        "hardware_class": pl.String,  # geforce, workstation, datacenter_gddr, nvidia_hbm, amd_hbm, tpu_like, soc
        "share_of_gpu": pl.Float64,  # 1 for whole GPUs, less for a slice
    }
)

PERFORMANCE = columns(
    {
        "tier_id": pl.String,
        "hardware_id": pl.String,
        "gpus_per_replica": pl.Float64,
        "replicas_per_instance": pl.Float64,
        "instances_per_replica": pl.Float64,  # above 1 when one copy spans nodes
        "verdict": pl.String,  # fits, tight, loads_but_cannot_serve, does_not_fit, unsupported_precision, unknown
        "reason": pl.String,  # null, or the first test that failed: memory, precision, heads, fabric, speed, ttft, ...
        "reason_detail": pl.String,
        "margin_ratio": pl.Float64,  # how far off: 0.1 = missed by 10 %; null when not a matter of degree
        "need_gib": pl.Float64,  # per GPU
        "usable_gib": pl.Float64,
        "load_ratio": pl.Float64,
        "weights_gib": pl.Float64,
        "state_gib": pl.Float64,  # KV cache and recurrent state, or optimizer states and gradients
        "activation_gib": pl.Float64,
        "runtime_gib": pl.Float64,
        "need_chunked_loss_gib": pl.Float64,  # training of text: with the loss in chunks, else plain
        "need_host_optimizer_gib": pl.Float64,  # full training: with the moments in host memory
        "users_per_replica": pl.Float64,  # demand: most users that meet floor and first-token limit
        "certain_users_per_replica": pl.Float64,  # the same with the low end of the band
        "sequences_in_flight": pl.Float64,
        "speed": pl.Float64,  # in speed_unit
        "speed_low": pl.Float64,
        "speed_high": pl.Float64,
        "speed_unit": pl.String,  # tokens/s/user, tokens/s/gpu, s/image, s/clip, audio s/s
        "ttft_ms": pl.Float64,
        "rate_per_hour": pl.Float64,  # work units of the job per hour of one replica
        "rate_low_per_hour": pl.Float64,
        "rate_high_per_hour": pl.Float64,
        "limiting_factor": pl.String,  # bandwidth, compute, link, overhead, cache_capacity
        "time_weights_share": pl.Float64,  # text: where the time goes; the six sum to 1
        "time_cache_share": pl.Float64,
        "time_compute_share": pl.Float64,
        "time_link_share": pl.Float64,
        "time_overhead_share": pl.Float64,
        "time_prefill_share": pl.Float64,
        "is_calibrated": pl.Boolean,
        "engine": pl.String,
        "flags": pl.List(pl.String),  # weight_only, fp16_for_bf16, kv16_fallback, ...
    }
)

RANKING = columns(
    {
        "tier_id": pl.String,
        "rank": pl.Int32,  # from 1; 1 stays empty where nothing may lead
        "offering_id": pl.String,
        "objective": pl.String,
        "objective_usd": pl.Float64,
        "secondary_objective": pl.String,
        "secondary_usd": pl.Float64,
        "total_usd": pl.Float64,  # per month for a demand, for the whole job otherwise
        "is_lower_bound": pl.Boolean,  # storage or egress price unknown
        "compute_usd": pl.Float64,
        "startup_usd": pl.Float64,
        "storage_usd": pl.Float64,  # null when the price is unknown
        "egress_usd": pl.Float64,
        "interruption_usd": pl.Float64,
        "commitment_usd": pl.Float64,  # the part of a commitment that the job does not use
        "billed_hours": pl.Float64,  # per instance
        "work_hours": pl.Float64,
        "instances": pl.Float64,
        "gpus_rented": pl.Float64,
        "gpus_per_replica": pl.Float64,
        "replicas": pl.Float64,
        "verdict": pl.String,
        "need_gib": pl.Float64,
        "usable_gib": pl.Float64,
        "load_ratio": pl.Float64,
        "weights_gib": pl.Float64,
        "state_gib": pl.Float64,
        "activation_gib": pl.Float64,
        "runtime_gib": pl.Float64,
        "users_per_replica": pl.Float64,
        "speed": pl.Float64,
        "speed_low": pl.Float64,
        "speed_high": pl.Float64,
        "speed_unit": pl.String,
        "ttft_ms": pl.Float64,
        "certainty": pl.String,  # certain, likely
        "limiting_factor": pl.String,
        "is_calibrated": pl.Boolean,
        "engine": pl.String,
        "flags": pl.List(pl.String),
        "is_headline": pl.Boolean,
        "would_lead_if": pl.String,  # null, or the one thing that keeps it from leading
        "tightest_constraint": pl.String,  # memory, speed, ttft, latency, deadline
        "tightest_slack_ratio": pl.Float64,  # 0.24 = floor + 24 %
        "break_even_usd_per_instance_hour": pl.Float64,  # below this hourly price it would win; for place 1: up to
        "bill_state": pl.String,  # exact, bounded (a fact is missing), partial (without a total)
        "total_low_usd": pl.Float64,  # what is missing read for the offer
        "total_high_usd": pl.Float64,  # and against it
        "objective_low_usd": pl.Float64,  # at the high end of the speed band
        "objective_high_usd": pl.Float64,  # at the low end; null where that end does not carry the job
        "commitment_break_even_hours": pl.Float64,  # used hours of the term from which on a reservation pays
        "commitment_break_even_share": pl.Float64,  # the same as a share of the term; above 1: never
        "checkpoint_advice_min": pl.Float64,  # spot: the interval that loses least
        "is_spot_sensitive": pl.Boolean,  # the order changes within the assumed rates of loss
        "survives_slower": pl.Boolean,  # headline only: does the same GPU lead at a lower speed
        "survives_faster": pl.Boolean,
        "survives_loss": pl.Boolean,  # and without this offer
        "time_weights_share": pl.Float64,  # as in PERFORMANCE
        "time_cache_share": pl.Float64,
        "time_compute_share": pl.Float64,
        "time_link_share": pl.Float64,
        "time_overhead_share": pl.Float64,
        "time_prefill_share": pl.Float64,
    }
)

EXCLUSION = columns(
    {
        "tier_id": pl.String,
        "offering_id": pl.String,
        "reason": pl.String,
        "detail": pl.String,
        "margin_ratio": pl.Float64,
        "is_unknown": pl.Boolean,
        "is_near_miss": pl.Boolean,
    }
)
