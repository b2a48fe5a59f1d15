"""What a cell of a reference table may hold: the range of a figure, the codes, the shape of a text, known keys.

A figure without a range of its own lies above zero. A code without a list points to the table that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

EARLIEST_DAY = date(2010, 1, 1)
# The day that the tables were last looked through. A row with a later date moves it.
LATEST_DAY = date(2026, 11, 30)

ABOVE_ZERO = (1e-9, 1e15)

# Lowest and highest figure that can be true, in the unit of the column.
BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "gpu": {
        "vram_gb": (1, 1024),
        "usable_gib": (1, 1024),
        "memory_bandwidth_gb_per_s": (10, 40_000),
        "fp64_tflops": (0.01, 500),
        "fp32_tflops": (0.1, 1_000),
        "tf32_dense_tflops": (1, 10_000),
        "fp16_dense_tflops": (0.01, 20_000),
        "bf16_dense_tflops": (0.01, 20_000),
        "fp8_dense_tflops": (1, 40_000),
        "int8_dense_tops": (1, 40_000),
        "fp4_dense_tflops": (1, 80_000),
        "int4_dense_tops": (1, 80_000),
        "link_gb_per_s": (1, 10_000),
        "pcie_gen": (1, 8),
        "tdp_w": (10, 5_000),
        "release_year": (2010, 2030),
    },
    "gpu_alias": {"gpu_count": (1, 1024)},
    "plan_pattern": {"units_per_gpu": (1, 4096), "gpu_count": (1, 1024)},
    "model": {
        "params_total": (1e6, 1e14),
        "params_active": (1e6, 1e14),
        "params_checkpoint": (1e6, 1e14),
        "params_embed_head": (1e3, 1e12),
        "params_routed_experts": (1e6, 1e14),
        "hidden_size": (16, 65_536),
        "num_attention_heads": (1, 1024),
        "num_kv_heads": (1, 1024),
        "head_dim": (8, 1024),
        "vocab_size": (16, 2_000_000),
        "max_context": (16, 100_000_000),
        "sliding_window": (16, 100_000_000),
        "layers_with_full_attention": (0, 1000),
        "kv_lora_rank": (1, 65_536),
        "qk_rope_head_dim": (1, 1024),
        "moe_num_experts": (2, 10_000),
        "moe_top_k": (1, 1000),
        "moe_shared": (0, 100),
        "kv_bytes_per_token_bf16": (0, 1e8),
        "kv_const_bytes_per_seq": (0, 1e12),
        "kv_indexer_bytes_per_token_bf16": (0, 1e8),
    },
    "tier": {
        "input_tokens": (1, 100_000_000),
        "output_tokens": (0, 100_000_000),
        "cached_input_share": (0, 1),
        "context_tokens": (1, 100_000_000),
        "concurrent_users": (1, 1_000_000),
        "min_tokens_per_s_per_user": (0.1, 10_000),
        "max_ttft_ms": (1, 3_600_000),
        "max_latency_s": (0.001, 86_400),
        "min_stream_rtf": (0.01, 1000),
        "frames": (1, 100_000),
        "clip_seconds": (0.01, 86_400),
        "steps": (1, 1_000_000),
        "guidance_passes": (1, 10),
        "batch": (1, 10_000),
        "seq_len": (1, 100_000_000),
        "micro_batch": (1, 10_000),
        "lora_rank": (1, 10_000),
        "assumed_peak_gib": (0.1, 10_000),
        "max_gpus": (1, 100_000),
        "needs_checkpoint_interval_min": (1, 10_080),
        "hours_per_month": (0, 744),
        "mean_load": (0, 1),
        "start_minutes": (0, 10_080),
        "deadline_hours": (0.01, 87_600),
        "storage_gb": (0, 1e9),
        "egress_gb_per_month": (0, 1e9),
    },
    "provider": {
        "billing_increment_s": (0, 32_000_000),
        "billing_minimum_s": (0, 32_000_000),
        "monthly_cap_hours": (1, 744),
        "storage_usd_per_gb_month": (0, 1),
        "object_storage_usd_per_gb_month": (0, 1),
        "egress_usd_per_gb_first_tier": (0, 1),
        "egress_free_gb_per_month": (0, 1_000_000),
        "spot_notice_s": (0, 604_800),
        "min_gpus": (0.001, 10_000),
        "sla_uptime_pct": (0, 100),
    },
    "egress_tier": {"from_gb": (0, 1e7), "usd_per_gb": (0, 1)},
    "storage_term": {
        "storage_month_hours": (672, 744),
        "storage_free_gb": (0, 1e6),
        "stopped_usd_per_gb_month": (0, 1),
        "smallest_disk_gb": (1, 1024),
    },
    "region": {"lat": (-90, 90), "lon": (-180, 180)},
    "assumption": {"low": (0, 1e15)},
    "quality_rule": {
        "hard_share": (0.01, 1),
        "min_rows": (1, 1000),
        "min_wrong": (1, 1000),
        "min_others": (1, 1000),
        "stands_days": (1, 90),
    },
    "coefficient": {"low": (0, 1e15), "prior_low": (0, 1e15), "rows_used": (0, 100_000)},
    "accuracy_target": {"at_least": (0, 1), "at_most": (0, 1)},
    "accuracy_score": {
        **dict.fromkeys(("scored", "refused", "no_proof", "false_fits", "false_refusals", "pairs"), (0, 1e6)),
        **dict.fromkeys(("coverage", "in_band_share", "right_share", "right_pairs_share"), (0, 1)),
        **dict.fromkeys(("median_error", "p90_error"), (0, 1e6)),
        "bias": (-0.9999, 1e6),  # what is predicted lies above zero
    },
    "audio_reference": {"steps": (1, 1000), "streams": (1, 10_000), "audio_s_per_s": (0.01, 1e6)},
    "denoiser": {
        "depth": (1, 1000),
        "attention_layers": (0, 1000),
        "width": (64, 65_536),
        "text_tokens": (0, 10_000),
        "pixels_per_token": (1, 256),
        "frames_per_latent": (1, 64),
        "latents_per_token": (1, 16),
        "unet_side_px": (64, 65_536),
        "guidance_passes": (1, 2),
        "token_params": (1e6, 1e12),
        "unet_linear_tflop": (0.001, 1000),
        "unet_square_tflop": (0.001, 1000),
    },
    "model_shape": {"num_layers": (1, 1000), "hidden_size": (64, 65_536)},
    "engine": {"max_sequences": (1, 65_536), "max_offline_sequences": (1, 65_536)},
    "gpu_speed_class": {"sustained_16bit_tflops": (1, 20_000)},
    "optimizer": {
        "weight_copy_bytes": (1, 4),
        "gradient_bytes": (0, 4),
        "moment_bytes": (0, 12),
        "adapter_state_bytes": (2, 32),
    },
    "model_component": {"parameters": (1e5, 1e13), "kept_bits": (16, 32)},
    "activation_reference": {
        "activation_gib": (0.01, 1000),
        "width_px": (16, 65_536),
        "height_px": (16, 65_536),
        "frames": (1, 100_000),
        "hidden_size": (16, 65_536),
    },
    "training_recipe": {"lora_rank": (1, 10_000), "adapter_input_bytes": (0, 8)},
    "quant_format": {
        "routed_expert_bits": (1, 64),
        "other_bits_moe": (1, 64),
        "other_bits_dense": (1, 64),
        "embedding_bits": (1, 64),
        "head_bits": (1, 64),
        "vision_bits": (0, 64),  # 0: not in the file
        "draft_bits": (0, 64),
        "kernel_tile": (1, 1024),
        "load_factor": (1, 2),
        "min_compute_capability": (1, 20),
    },
    "attention_layer": {
        "layers": (1, 1000),
        "kv_heads": (1, 1024),
        "key_dim": (1, 65_536),
        "value_dim": (0, 65_536),
        "tokens": (16, 100_000_000),
        "tokens_per_entry": (1, 1024),
        "state_bytes": (1e3, 1e10),
    },
    "model_type": {
        "ffn_matrices": (2, 3),
        "norm_vectors": (0, 8),
        "final_norm_vectors": (0, 2),
        "window_every": (2, 64),
    },
    "model_part": {"parameters": (1e6, 1e12)},
    "checkpoint": {"stored_bytes": (1e6, 1e14)},
}


def _codes(names: str) -> frozenset[str]:
    """Returns the codes of a text that divides them by spaces."""
    return frozenset(names.split())


_OBJECTIVES = _codes(
    """usd_per_month usd_per_job usd_per_hour usd_per_million_output_tokens usd_per_1000_images usd_per_audio_hour
    usd_per_video_second usd_per_billion_train_tokens"""
)
_CONFIDENCE = _codes("high medium low")
_ANSWERS = _codes("yes no unknown")
_FORMATS = _codes("16bit fp8 int8 fp4 fp32")
_PARTS = _codes("memory text training generation")
_UNITS = _codes(
    """1 1/h GB/s GPUs GiB TFLOP USD/h byte characters days h ms offerings offers parameters ratio rows s sequences
    tokens µs"""
)
_RECOMPUTE = _codes("none full selective per_op mlp offload")
_TARGETS = frozenset(("all linear layers", "attention projections", "query and value", "feed-forward"))

VALUES: dict[str, dict[str, frozenset[str]]] = {
    "gpu": {
        "vendor": _codes("AMD AWS Apple Google Huawei Intel NVIDIA Qualcomm T-Head Tenstorrent"),
        "form_factor": _codes("PCIe SXM NVL OAM embedded pod"),
        "memory_type": _codes(
            """DDR4 GDDR5 GDDR5X GDDR6 GDDR6X GDDR7 HBM HBM2 HBM2e HBM3 HBM3e HBM4 LPDDR4x LPDDR5
            LPDDR5X"""
        ),
        "link": _codes(
            """ConnectX-7 Ethernet/PCIe HCCS ICI ICN InfinityFabric InfinityFabric/UALink NVLink1 NVLink2 NVLink3
            NVLink4 NVLink5 NVLink6 NeuronLink NeuronLink-v2 NeuronLink-v3 NeuronLink-v4 PCIe3 PCIe4 PCIe5 XeLink"""
        )
        | {"RoCE 10x100GbE", "RoCE 24x100GbE", "RoCE 24x200GbE"},
        "confidence": _CONFIDENCE,
    },
    "model": {
        "modality": _codes(
            "asr audio encoder encoder_decoder image llm music omni tts video video+audio vlm"
        ),
        "attention": _codes("gqa hybrid linear mha mla mqa sliding"),
    },
    "model_alias": {"relation": _codes("spelling release fine_tune")},
    "region": {
        "continent": _codes("AF AN AS EU NA OC SA"),
        "kind": _codes("region zone local_zone country continent global unknown"),
        "opt_in_or_restricted": _codes(
            "air_gapped china dedicated gov opt_in restricted retired sovereign staging"
        ),
    },
    "provider": {
        "segment": _codes("hyperscaler neocloud marketplace peer_host serverless reseller bare_metal"),
        "terms_automated_access": _codes("open restricted unknown"),
        "startup_billed": _ANSWERS,
        "spot_offered": _ANSWERS,
        "vat_in_prices": _ANSWERS,
        "confidence": _CONFIDENCE,
    },
    "interruption": {
        "statistic": _codes(
            """availability_fraction co_interruption cost_saving distribution eviction_rate_definition free_first_hour
            hardware_interruptions host_reliability_start interruption_rule interruptions_seen max_lifetime mean_gap
            mean_time_to_interruption min_lifetime monthly_band_definition monthly_fraction monthly_interruption_band
            node_reliability notice paper preemption_rate_definition protected_time study"""
        )
    },
    "tier": {
        "group": _codes(
            """asr batch_text embedding experiment full_ft image long_context lora multimodal music pretrain qlora
            reasoning serve_realtime serve_text speech video"""
        ),
        "kv_precision": _codes("bf16 fp16 fp8 int8 none"),
        "work_unit": _codes(
            """audio_hours audio_hours_per_month clips clips_per_month images images_per_month output_tokens
            output_tokens_per_month pages passages samples session_hours_per_month songs train_tokens"""
        ),
        "lora_targets": frozenset(("all linear layers", "attention projections")),
        "required_fabric": _codes("any nvlink_if_split nvlink_node nvlink_node+rdma_1600gbps"),
        "hosts_allowed": _codes("any no_peer"),
        "worst_verdict_allowed": _codes("fits tight"),
        "recompute": _codes("none selective full"),
        "objective": _OBJECTIVES,
        "secondary_objective": _OBJECTIVES,
    },
    "assumption": {"unit": _codes("1/h GPUs USD/GB USD/h characters days h min ratio rows s tokens")},
    "quality_rule": {"severity": _codes("hard soft hard_when_many"), "unit": _codes("ratio")},
    "accuracy_target": {
        "held_out": _codes("none gpu source"),
        "part": _PARTS,
        "statistic": _codes("coverage median_error p90_error in_band_share right_share right_pairs_share"),
    },
    "accuracy_score": {"held_out": _codes("none gpu source"), "part": _PARTS},
    "coefficient": {
        "unit": _codes("1 GB/s GPUs GiB TFLOP W/TFLOP byte ms parameters ratio s sequences tokens µs"),
        "part": _PARTS,
    },
    "engine": {"kernels": _codes("paged paged_2023 gguf gguf_fused exl awq eager")},
    "quant_format": {"native_unit": _FORMATS, "multiplied_unit": _FORMATS},
    "attention_layer": {"kind": _codes("full window latent index side compressed state cross")},
    "model_type": {
        "block": _codes("plain delta latent sinks falcon whisper"),
        "qk_norm": _codes("none head width"),
        "window_rule": _codes("none all flag pattern"),
    },
    "model_part": {"part": _codes("vision draft")},
    "model_component": {"role": _codes("text_encoder denoiser decoder")},
    "training_recipe": {
        "lora_targets": _TARGETS,
        "recompute": _RECOMPUTE,
        "selective_policy": _RECOMPUTE,
        "loss": _codes("plain chunked fused"),
        "compiled_loss": _codes("plain chunked fused"),
    },
}

_DAY = r"20\d\d(?:-[01]\d(?:-[0-3]\d)?)?"  # a day, a month or a year
_COUNTRY = "[A-Z]{2}"
_WEB = r"https://\S+"
_KINDS = "(?:on_demand|spot|reserved)"
_SIZE = r"[1-9]\d*"

# What the whole text of a cell must match.
SHAPES: dict[str, dict[str, str]] = {
    "gpu": {"compute_capability": r"\d+\.\d|gfx[0-9a-f]+"},
    "gpu_alias": {"gpu_fraction": rf"1/{_SIZE}(?: compute, {_SIZE} GB)?|by size|slice(?: \({_SIZE} GB\))?"},
    "accuracy_target": {"case_class": "[a-z0-9_]+"},
    "accuracy_score": {"case_class": "[a-z0-9_]+"},
    "model": {
        "num_layers": rf"{_SIZE}(?:[+x]{_SIZE})*",
        "intermediate_size": rf"(?:(?:dense|moe|dense\+moe):)?{_SIZE}(?:\|moe:{_SIZE})?",
        "released": _DAY,
    },
    "engine": {
        "version_before": r"\d{1,2}\.\d{1,3}",
        "date_before": _DAY,
        "label": r"[A-Za-z][A-Za-z0-9 .+-]*",
    },
    "tier": {
        "resolution": rf"{_SIZE}x{_SIZE}|\D.* megapixels .*",
        "concurrency_rule": rf"all users at context_tokens|fill: {_SIZE}-{_SIZE} sequences per replica",
        "purchase_kinds_allowed": rf"{_KINDS}(?:\|{_KINDS})*",
        "usage_pattern": rf"24x7|one job|sessions:{_SIZE}x{_SIZE}min x{_SIZE}days",
    },
    "provider": {
        "as_of": _DAY,
        "hq_country": _COUNTRY,
        "listing_currency": r"[A-Z]{3,5}(?:\|[A-Z]{3,5})*",
        "reserved_terms_months": rf"{_SIZE}(?:[|-]{_SIZE})*",
        "api_key_env": "[A-Z][A-Z_|]+",
    },
    "not_collected": {"source_id": "[a-z][a-z0-9_]*", "homepage": _WEB, "pricing_url": _WEB, "source": _WEB},
    "region": {"country_iso2": _COUNTRY, "region_key": "[a-z0-9-]+"},
    "training_recipe": {"until": _DAY},
    "model_component": {"component": "[a-z0-9_./-]+"},
    "interruption": {"date": _DAY, "value": r"[<>]?\d+(?:\.\d+)?(?:-\d+(?:\.\d+)?)?"},
}
# Days, months and years that are kept as text.
TEXT_DAYS = {"model": ("released",), "provider": ("as_of",), "interruption": ("date",)}


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that names keys of another table: `prefix` and the name are the key, `also` are names without a row."""

    column: str
    table: str
    key: str
    separator: str = "\n"
    prefix: str = ""
    also: frozenset[str] = frozenset()


# Lists of prices and names of old that spell GPUs in their own way, without being a provider of the table.
_LISTS = _codes("* ibm huawei skypilot gpuhunt dstack datacrunch gpuai ovh oci linode open_telekom_cloud")
_NOT_ONE_PROVIDER = frozenset(("several", "meta (own cluster, not spot)"))
_MODEL = Reference("model_id", "model", "model_id")
_GPU = Reference("gpu_key", "gpu", "gpu_key")
_GPUS = Reference("gpu_keys", "gpu", "gpu_key", "|")
_OF_COEFFICIENT = ("coefficient", "coefficient_id", "\n")

REFERENCES: dict[str, tuple[Reference, ...]] = {
    "model_alias": (_MODEL,),
    "gpu_alias": (_GPUS, Reference("context", "alias_context", "context")),
    "alias_context": (Reference("providers", "provider", "provider", "|", also=_LISTS),),
    "plan_pattern": (_GPUS, Reference("provider", "provider", "provider")),
    "zone_suffix": (Reference("provider", "provider", "provider", also=_LISTS),),
    "audio_reference": (_GPU, _MODEL),
    "denoiser": (Reference("denoiser_family", *_OF_COEFFICIENT, prefix="denoiser_share."),),
    "gpu_speed_class": (
        _GPU,
        Reference("hardware_class", *_OF_COEFFICIENT, prefix="bandwidth_share."),
        Reference("training_family", *_OF_COEFFICIENT, prefix="training_share."),
        Reference("generation_family", *_OF_COEFFICIENT, prefix="architecture_factor."),
    ),
    "engine": tuple(
        Reference(column, *_OF_COEFFICIENT, prefix=f"{family}.")
        for column, family in (
            ("layer_cost", "layer_overhead_us"),
            ("expert_cost", "expert_layer_overhead_us"),
            ("step_cost", "step_overhead_ms"),
            ("sequence_cost", "sequence_overhead_us"),
        )
    ),
    "quant_format": (Reference("flops_factor_id", *_OF_COEFFICIENT),),
    "quant_alias": (Reference("weight_precision", "quant_format", "weight_precision"),),
    "attention_layer": (_MODEL,),
    "model_part": (_MODEL,),
    "checkpoint": (_MODEL, Reference("weight_precision", "quant_format", "weight_precision")),
    "model_component": (_MODEL, Reference("activation_family", "activation_reference", "activation_family")),
    "training_recipe": tuple(
        Reference(column, "optimizer", "optimizer")
        for column in ("full_optimizer", "sharded_optimizer", "adapter_optimizer")
    ),
    "tier": (
        _MODEL,
        Reference("alt_model_ids", "model", "model_id", ";"),
        Reference("weight_precision", "quant_format", "weight_precision"),
        Reference("optimizer", "optimizer", "optimizer"),
    ),
    "egress_tier": (Reference("provider", "provider", "provider"),),
    "storage_term": (Reference("provider", "provider", "provider"),),
    "region": (Reference("provider", "provider", "provider", also=_LISTS),),
    "interruption": (Reference("provider", "provider", "provider", "|", also=_NOT_ONE_PROVIDER),),
}
