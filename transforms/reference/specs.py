"""The columns of each reference table, with their types, key, source and date. Nothing is inferred from the rows."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What a table must look like. Each of `text` to `days` names columns, divided by spaces.

    `key` is unique and never empty. One of `dates` must be filled in each row, and each of `sources`.
    """

    key: tuple[str, ...]
    sources: tuple[str, ...] = ("source",)
    dates: tuple[str, ...] = ("retrieved_on",)
    text: str
    ints: str = ""
    reals: str = ""
    flags: str = ""
    days: str = ""

    def types(self) -> dict[str, pl.DataType]:
        """Returns the type of each column."""
        kinds: tuple[tuple[str, pl.DataType], ...] = (
            (self.text, pl.String()),
            (self.ints, pl.Int64()),
            (self.reals, pl.Float64()),
            (self.flags, pl.Boolean()),
            (self.days, pl.Date()),
        )
        return {name: kind for names, kind in kinds for name in names.split()}


TABLES = {
    "gpu": Table(
        key=("gpu_key",),
        sources=("source_1",),
        text="""gpu_key vendor name architecture compute_capability form_factor memory_type link source_1 source_2
            confidence notes""",
        ints="release_year vram_gb pcie_gen tdp_w",
        reals="""usable_gib memory_bandwidth_gb_per_s fp64_tflops fp32_tflops tf32_dense_tflops fp16_dense_tflops
            bf16_dense_tflops fp8_dense_tflops int8_dense_tops fp4_dense_tflops int4_dense_tops link_gb_per_s""",
        flags="is_hbm has_nvlink has_mig",
        days="retrieved_on",
    ),
    "gpu_alias": Table(
        key=("gpu_text", "context"),
        text="gpu_text context gpu_keys rule source gpu_fraction",
        ints="gpu_count",
        days="retrieved_on",
    ),
    "alias_context": Table(key=("context",), dates=("as_of",), text="context providers source", days="as_of"),
    "plan_pattern": Table(
        key=("provider", "pattern"),
        dates=("as_of",),
        text="provider pattern gpu_keys source note",
        ints="units_per_gpu gpu_count",
        days="as_of",
    ),
    "zone_suffix": Table(
        key=("provider",), dates=("as_of",), text="provider pattern source note", days="as_of"
    ),
    "model": Table(
        key=("model_id",),
        text="""model_id family modality num_layers intermediate_size attention native_dtype component_params license
            released source params_basis notes""",
        ints="""params_total params_active hidden_size num_attention_heads num_kv_heads head_dim vocab_size max_context
            sliding_window layers_with_full_attention kv_lora_rank qk_rope_head_dim moe_num_experts moe_top_k moe_shared
            kv_bytes_per_token_bf16 kv_const_bytes_per_seq kv_indexer_bytes_per_token_bf16 params_checkpoint
            params_embed_head params_routed_experts""",
        flags="tied_embeddings",
        days="retrieved_on",
    ),
    "model_alias": Table(key=("alias",), text="alias model_id relation source", days="retrieved_on"),
    "tier": Table(
        key=("tier_id",),
        dates=("as_of",),
        text="""tier_id group title_en model_id alt_model_ids weight_precision kv_precision precision_rule
            concurrency_rule resolution work_unit lora_targets optimizer recompute required_fabric hosts_allowed
            purchase_kinds_allowed worst_verdict_allowed usage_pattern objective secondary_objective
            fits_classes_by_formula passes_constraints_by_formula speed_by_formula expected_class_of_winner rationale
            source""",
        ints="""input_tokens output_tokens context_tokens concurrent_users min_tokens_per_s_per_user max_ttft_ms
            max_latency_s frames steps guidance_passes batch audio_hours work_quantity train_tokens train_samples
            seq_len micro_batch global_batch_tokens lora_rank max_gpus needs_checkpoint_interval_min hours_per_month
            start_minutes deadline_hours storage_gb egress_gb_per_month""",
        reals="cached_input_share min_stream_rtf clip_seconds assumed_peak_gib mean_load",
        flags="allow_multi_node",
        days="as_of",
    ),
    "provider": Table(
        key=("provider", "product"),
        dates=("as_of", "retrieved_on"),
        text="""provider product name segment hq_country homepage pricing_url status_page billed_while_stopped
            startup_billed egress_note ingress_fee spot_offered spot_discount_rule reserved_terms_months
            reserved_discount_note commitment_note multi_node_fabric nvlink_note account_needed_for_prices api_key_env
            terms_automated_access terms_url terms_note robots_note vat_in_prices listing_currency tax_note source
            source_groups as_of confidence notes""",
        ints="billing_minimum_s monthly_cap_hours egress_free_gb_per_month spot_notice_s",
        reals="""billing_increment_s storage_usd_per_gb_month object_storage_usd_per_gb_month
            egress_usd_per_gb_first_tier min_gpus sla_uptime_pct""",
        days="retrieved_on",
    ),
    "not_collected": Table(
        key=("source_id",),
        dates=("as_of",),
        text="source_id name homepage pricing_url reason source",
        days="as_of",
    ),
    "egress_tier": Table(
        key=("provider", "from_gb"),
        dates=("as_of",),
        text="provider source note",
        reals="from_gb usd_per_gb",
        days="as_of",
    ),
    "storage_term": Table(
        key=("provider",),
        dates=("as_of",),
        text="provider source note",
        reals="storage_month_hours storage_free_gb stopped_usd_per_gb_month smallest_disk_gb",
        days="as_of",
    ),
    "region": Table(
        key=("provider", "region_text"),
        text="""provider region_text region_key city admin_area country_iso2 continent kind opt_in_or_restricted source
            notes""",
        reals="lat lon",
        flags="is_eu_member is_eea",
        days="retrieved_on",
    ),
    "interruption": Table(
        key=("provider", "gpu_or_family", "region", "statistic", "value", "source", "date", "notes"),
        dates=("date", "retrieved_on"),
        text="provider gpu_or_family region statistic value unit source date notes",
        days="retrieved_on",
    ),
    "assumption": Table(
        key=("assumption_id",),
        dates=("as_of",),
        text="assumption_id unit source note",
        reals="value low high",
        days="as_of",
    ),
    "quality_rule": Table(
        key=("rule",),
        dates=("as_of",),
        text="rule severity unit source note",
        ints="min_rows min_wrong min_others stands_days",
        reals="low high hard_share",
        days="as_of",
    ),
    "coefficient": Table(
        key=("coefficient_id",),
        dates=("as_of",),
        text="coefficient_id unit part source note",
        ints="rows_used",
        reals="value low high prior prior_low prior_high",
        days="as_of",
    ),
    "accuracy_target": Table(
        key=("target_id",),
        dates=("as_of",),
        text="target_id held_out part case_class statistic source note",
        reals="at_least at_most",
        days="as_of",
    ),
    "accuracy_score": Table(
        key=("held_out", "part", "case_class"),
        dates=("as_of",),
        text="held_out part case_class source",
        ints="scored refused no_proof false_fits false_refusals pairs",
        reals="""coverage median_error p90_error bias in_band_share right_share right_pairs_share""",
        days="as_of",
    ),
    "audio_reference": Table(
        key=("model_id", "gpu_key", "steps", "streams"),
        dates=("as_of",),
        text="model_id gpu_key source note",
        ints="steps streams",
        reals="audio_s_per_s",
        flags="is_base",
        days="as_of",
    ),
    "denoiser": Table(
        key=("denoiser",),
        dates=("as_of",),
        text="denoiser pattern denoiser_family source note",
        ints="""depth attention_layers width text_tokens pixels_per_token frames_per_latent latents_per_token
            unet_side_px guidance_passes""",
        reals="token_params unet_linear_tflop unet_square_tflop",
        flags="is_text_in_sequence",
        days="as_of",
    ),
    "model_shape": Table(
        key=("pattern",),
        dates=("as_of",),
        text="pattern source note",
        ints="num_layers hidden_size",
        days="as_of",
    ),
    "engine": Table(
        key=("engine_id",),
        dates=("as_of",),
        text="""engine_id pattern version_before date_before layer_cost expert_cost step_cost sequence_cost kernels
            label source note""",
        ints="max_sequences max_offline_sequences",
        flags="shares_steps reserves_output",
        days="as_of",
    ),
    "gpu_speed_class": Table(
        key=("gpu_key",),
        dates=("as_of",),
        text="gpu_key hardware_class training_family generation_family source note",
        ints="sustained_16bit_tflops",
        flags="""is_text_calibrated is_training_calibrated is_generation_calibrated is_asr_calibrated
            is_tts_calibrated is_music_calibrated""",
        days="as_of",
    ),
    "optimizer": Table(
        key=("optimizer",),
        dates=("as_of",),
        text="optimizer source note",
        ints="weight_copy_bytes gradient_bytes moment_bytes adapter_state_bytes",
        days="as_of",
    ),
    "model_component": Table(
        key=("model_id", "component"),
        text="model_id component role activation_family source note",
        ints="parameters kept_bits",
        days="retrieved_on",
    ),
    "activation_reference": Table(
        key=("activation_family",),
        dates=("as_of",),
        text="activation_family source note",
        ints="width_px height_px frames hidden_size",
        reals="activation_gib",
        flags="scales_with_frames",
        days="as_of",
    ),
    "training_recipe": Table(
        key=("recipe",),
        dates=("as_of",),
        text="""recipe pattern until full_optimizer sharded_optimizer adapter_optimizer lora_targets recompute
            selective_policy loss compiled_loss source note""",
        ints="lora_rank adapter_input_bytes",
        flags="keeps_embedding_gathered is_padded_to_longest has_8bit_inputs reports_reserved",
        days="as_of",
    ),
    "quant_format": Table(
        key=("weight_precision",),
        dates=("as_of",),
        text="weight_precision native_unit multiplied_unit flops_factor_id note source",
        ints="kernel_tile",
        reals="""routed_expert_bits other_bits_moe other_bits_dense embedding_bits head_bits vision_bits draft_bits
            load_factor min_compute_capability""",
        flags="unties_head keeps_unpacked_layer repeats_heads copies_head_at_load",
        days="as_of",
    ),
    "quant_alias": Table(
        key=("pattern",), dates=("as_of",), text="pattern weight_precision source note", days="as_of"
    ),
    "attention_layer": Table(
        key=("model_id", "kind", "tokens_per_entry"),
        dates=("as_of",),
        text="model_id kind source note",
        ints="layers kv_heads key_dim value_dim tokens tokens_per_entry state_bytes",
        days="as_of",
    ),
    "model_type": Table(
        key=("model_type",),
        dates=("as_of",),
        text="model_type block qk_norm window_rule source note",
        ints="ffn_matrices norm_vectors final_norm_vectors window_every",
        flags="has_qkv_bias has_output_bias has_ffn_bias has_head_bias is_tied has_positions",
        days="as_of",
    ),
    "model_part": Table(
        key=("model_id", "part"),
        dates=("as_of",),
        text="model_id part source note",
        ints="parameters",
        days="as_of",
    ),
    "checkpoint": Table(
        key=("model_id", "weight_precision"),
        dates=("as_of",),
        text="model_id weight_precision source note",
        ints="stored_bytes",
        days="as_of",
    ),
}
