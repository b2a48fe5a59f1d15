"""Cases of training speed: what the columns of throughput_training.csv mean for the formulas.

The framework decides the stack: Megatron, NeMo, MaxText and what is submitted to MLPerf are tuned; Hugging Face, PEFT
and their kin are hf, as is DeepSpeed where it trains adapters; the rest is native PyTorch. Where tokens per second are
not published but TFLOPS are, these are turned into tokens, unless what they count leaves more than a tenth open.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy.cases import CASE
from transforms.accuracy.names import with_gpu_key, with_model_id
from transforms.reference import tables
from transforms.workloads import kernels, precision, training, training_speed, training_work
from transforms.workloads.coefficients import coefficient, coefficients
from transforms.workloads.hardware import gpu_facts
from transforms.workloads.models import geometry

_NATIVE = r"automodel|torchtitan|torchao|composer|foundry|torchtune|lightning|litgpt"
_HF = r"\bhf\b|hugging|transformers|peft|sfttrainer|\btrl\b|axolotl|unsloth|llama.?factory|qlora|accelerate|swift"
_TUNED = r"mlperf|megatron|nemo|maxtext|neuron|primus|\bjax\b|habana|optimum"
_FUSED = r"foak|fast.?kernel|liger|unsloth|fused"
_FUSED_EXPERTS = r"accelerated|fused|foak|fast.?kernel|scatter|unsloth|megablocks"
_FIRST_FUSED_ATTENTION = 2024.45  # FlashAttention 3 and its kin; before, Hopper ran the kernels of Ampere
_MOST_OF_PEAK = 1.02
_EXPERT_ERA = 2026.3  # of the newest stacks for experts that were measured


def _text(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().fill_null("")


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the columns that `training_speed` reads, and why one is refused or proves nothing."""
    rows = measured.with_columns(
        pl.coalesce(pl.col("accelerator_id"), pl.col("gpu_canonical")).alias("gpu_written")
    )
    rows = with_gpu_key(rows, "gpu_written", "gpu").drop("gpu_problem")
    rows = with_model_id(rows, "model", "params_b").drop("model_problem")
    rows = rows.join(geometry(), on="model_id", how="left", maintain_order="left")
    rows = training_work.with_experts(_with_shape(rows))
    rows = rows.join(_gpus(), on="gpu_key", how="left", maintain_order="left")
    rows = rows.with_columns(gpu_keys=pl.concat_list("gpu_key")).with_columns(
        power_share=kernels.power_share()
    )
    rows = _with_outcome(_with_measured(_with_parallelism(_with_setting(rows))))
    return rows.with_columns(_classes())


def _gpus() -> pl.DataFrame:
    sustained = pl.min_horizontal(precision.rate_16bit_tflops(), "sustained_16bit_tflops")
    return gpu_facts().select(
        "gpu_key",
        "architecture",
        "vendor",
        "hardware_class",
        "training_family",
        "is_training_calibrated",
        "memory_bandwidth_gb_per_s",
        "fp16_dense_tflops",
        "bf16_dense_tflops",
        "fp8_dense_tflops",
        "int8_dense_tops",
        "fp4_dense_tflops",
        "nvlink_gb_per_s",
        "pcie_gb_per_s",
        vram_gib="card_gib",
        sustained_16bit_tflops=sustained,
    )


def _with_shape(rows: pl.DataFrame) -> pl.DataFrame:
    """Fills the geometry of models that are not in the table: from model_shape.csv, or by the law of their size.

    The law: layers x width grow with the parameters to the power of 0.69, and 12 x layers x width^2 are the
    parameters. It holds within a fifth over dense models from 1 to 405 billion.
    """
    stated = pl.col("params_b") * 1e9
    active = pl.col("active_params_b").fill_null(pl.col("params_b")) * 1e9
    name = _text("model").str.replace_all(r"[\s_]+", "-").str.replace(r"^.*/", "")
    shapes = tables.read("model_shape").select("pattern", "num_layers", "hidden_size").rows()
    layers, hidden = pl.lit(None, pl.Float64), pl.lit(None, pl.Float64)
    for pattern, count, width in reversed(shapes):
        is_named = name.str.contains(pattern)
        layers = pl.when(is_named).then(float(count)).otherwise(layers)
        hidden = pl.when(is_named).then(float(width)).otherwise(hidden)
    both = coefficient("layers_times_width") * (active / 6.7e9) ** coefficient("layers_times_width_power")
    is_known = pl.col("model_id").is_not_null() & pl.col("num_layers").is_not_null()
    has_shape = is_known | hidden.is_not_null()
    hidden = hidden.fill_null(active / (12 * both))
    layers = layers.fill_null(both / hidden)
    own = {
        "params_total": stated,
        "params_active": active,
        "params_embed": pl.lit(0.0),
        "params_head": pl.lit(0.0),
        "is_moe": active < 0.7 * stated,
        "num_layers": layers,
        "full_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": 4 * hidden,
        "num_attention_heads": hidden / 128,
        "head_dim": pl.lit(128.0),
        "attention": pl.lit("mha"),
    }
    rows = rows.with_columns(
        has_shape.alias("has_shape"),
        *(pl.when(is_known).then(pl.col(name)).otherwise(value).alias(name) for name, value in own.items()),
    )
    return rows.with_columns(
        intermediate_size=pl.col("intermediate_size").fill_null(4 * pl.col("hidden_size")),
        full_layers=pl.col("full_layers").fill_null(pl.col("num_layers")),
    )


def _with_setting(rows: pl.DataFrame) -> pl.DataFrame:
    framework, stated = _text("framework"), _text("precision")
    is_adapter = pl.col("task").is_in(["lora", "qlora"])
    is_hf = framework.str.contains(_HF) | (framework.str.contains("deepspeed") & is_adapter)
    is_native = framework.str.contains(_NATIVE) | framework.str.contains("deepspeed")
    stack = (
        pl.when(framework.str.contains("megatron"))
        .then(pl.lit("tuned"))
        .when(is_hf & ~framework.str.contains(_NATIVE))
        .then(pl.lit("hf"))
        .when(framework.str.contains(_TUNED) & ~is_native)
        .then(pl.lit("tuned"))
        .otherwise(pl.lit("native"))
    )
    is_weight_only = stated.str.contains(r"weight|wo$|nf4|gptq|int4|awq|bnb")
    # without units of the format a card multiplies in 16 bit, whatever is stored
    units_8bit = pl.coalesce("fp8_dense_tflops", "int8_dense_tops").is_not_null()
    has_8bit = stated.str.contains("fp8|int8") & ~is_weight_only & units_8bit
    has_4bit = stated.str.contains("fp4") & ~is_weight_only & pl.col("fp4_dense_tflops").is_not_null()
    family = pl.col("training_family")
    known = [name for name in coefficients("training_8bit_gain") if name not in ("native", "other")]
    of_family = (
        pl.when(family.str.starts_with("tpu"))
        .then(pl.lit("tpu"))
        .when(family == "h200")
        .then(pl.lit("hopper"))
        .when(family.is_in(known))
        .then(family)
        .otherwise(pl.lit("other"))
    )
    year = pl.col("date").str.extract(r"(20\d\d)").cast(pl.Float64)
    month = pl.col("date").str.extract(r"20\d\d-(\d\d)").cast(pl.Float64)
    rows = rows.with_columns(
        task=pl.col("task").str.to_lowercase().replace({"full_ft": "full"}),
        stack=stack,
        matrix_format=pl.when(has_4bit)
        .then(pl.lit("4bit"))
        .when(has_8bit)
        .then(pl.lit("8bit"))
        .otherwise(pl.lit("16bit")),
        is_unpacked=stated.str.contains("nf4|gptq|int4|awq|bnb"),
        year=(year + month.fill_null(6) / 12).fill_null(_EXPERT_ERA),
        has_fused_kernels=framework.str.contains(_FUSED),
        instances_per_replica=pl.col("nodes").fill_null(1.0).clip(lower_bound=1.0),
        gpus_per_replica=pl.col("gpu_count"),
    )
    is_hopper = pl.col("architecture") == "Hopper"
    kernel = (
        pl.when(pl.col("architecture").is_in(kernels.PLAIN_ATTENTION))
        .then(pl.lit("plain"))
        .when(pl.col("year") >= _FIRST_FUSED_ATTENTION)
        .then(pl.lit("fused"))
        .when(is_hopper)
        .then(pl.lit("plain_hopper"))
        .otherwise(pl.lit("plain"))
    )
    is_native_8bit = (pl.col("stack") != "tuned") & (pl.col("matrix_format") != "16bit")
    return rows.with_columns(
        attention_kernel=kernel,
        gain_class=pl.when(is_native_8bit).then(pl.lit("native")).otherwise(of_family),
        unpacked_params=pl.when("is_unpacked").then("params_total").otherwise(0.0),
        expert_years=(pl.col("year") - _EXPERT_ERA).clip(-0.8, 0.3),
    )


def _with_parallelism(rows: pl.DataFrame) -> pl.DataFrame:
    layout, gpus = _text("parallelism"), pl.col("gpus_per_replica")
    sequence = pl.col("seq_len")
    share = pl.col("global_batch") / gpus
    unstated = share.clip(1.0, 4.0) * sequence
    unstated = unstated.fill_null(pl.max_horizontal(sequence, coefficient("usual_step_tokens")))
    step = pl.coalesce(pl.col("micro_batch") * sequence, unstated)
    split = pl.lit(1.0)
    for name in ("tp", "cp"):
        split = split * layout.str.extract(rf"\b{name}(\d+)").cast(pl.Float64).fill_null(1.0)
    is_replicated = layout.str.contains(r"ddp|zero2|^dp") & (pl.col("stack") != "tuned")
    is_offloaded = layout.str.contains("offload")
    on_rack = _text("interconnect").str.contains("nvl72")
    fast = pl.col("nvlink_gb_per_s")
    is_pcie = (_text("interconnect") == "pcie") | fast.is_null()
    is_tpu_like = pl.col("hardware_class") == "tpu_like"
    link = (
        pl.when(gpus <= 1)
        .then(pl.lit("none"))
        .when(is_pcie & ~is_tpu_like)
        .then(pl.lit("pcie"))
        .otherwise(pl.lit("nvlink"))
    )
    one_way = pl.when(link == "pcie").then(pl.col("pcie_gb_per_s") / 2).otherwise(fast / 2)
    one_way = one_way.fill_null(coefficient("unstated_link_gb_per_s"))
    node_gpus = (gpus / pl.col("instances_per_replica")).clip(lower_bound=1.0)
    per_gpu = (_fabric_gbps() / 8).fill_null(coefficient("unstated_fabric_gb_per_s")) / node_gpus
    expert_gpus = layout.str.extract(r"\bep(\d+)").cast(pl.Float64)
    expert_gpus = expert_gpus.fill_null(pl.min_horizontal(gpus, 8.0))
    within = on_rack | (expert_gpus <= node_gpus)
    expert_rate = (
        pl.when(expert_gpus > 1)
        .then(pl.when(within).then(one_way).otherwise(per_gpu))
        .otherwise(float("inf"))
    )
    rows = rows.with_columns(
        link=link,
        has_known_fabric=(pl.col("instances_per_replica") <= 1) | pl.col("inter_node_fabric").is_not_null(),
        step_tokens=step,
        update_tokens=pl.coalesce((share * sequence).clip(lower_bound=1.0), step),
        is_gathered=(gpus > 1) & ~is_replicated & (pl.col("stack") != "tuned"),
        update_shards=pl.when(is_replicated).then(1.0).otherwise(gpus),
        gpus_per_sequence=(gpus / pl.col("global_batch")).fill_null(0.25),
        expert_gb_per_s=expert_rate,
        own_tokens=pl.when(split > 1)
        .then(step / split)
        .when(pl.col("micro_batch").is_not_null())
        .then(step)
        .otherwise(sequence * share.fill_null(1.0).clip(upper_bound=1.0)),
    )
    return rows.with_columns(
        recompute_share=_recompute_share(),
        offload_s=pl.when(is_offloaded).then(_offload_s()).otherwise(0.0),
    )


def _fabric_gbps() -> pl.Expr:
    """Gb/s of a node: InfiniBand and racks have 3,200; else the number that is written."""
    fabric = _text("inter_node_fabric")
    is_fast = fabric.str.contains(r"\bib\b|infiniband|quantum|dgx|nvl72|ici")
    written = fabric.str.extract(r"(\d[\d.]*)\s*gb").cast(pl.Float64, strict=False)
    return pl.when(is_fast).then(3200.0).otherwise(written)


def _recompute_share() -> pl.Expr:
    """As stated; for adapters in a loop that is not tuned, what the memory of the GPU leaves no choice about.

    34 bytes per element of the width are saved of each layer and token (Korthikanti et al. 2022, 34 s b h, with fused
    attention), beside the frozen weights; from the stated load on, up to twice of it, more layers are run again.
    """
    stated = _text("activation_checkpointing")
    shares = {"none": 0.0, **coefficients("recompute_share")}
    known = stated.replace_strict(shares, default=None, return_dtype=pl.Float64)
    weights = pl.when("is_unpacked").then(0.55).otherwise(2.0) * pl.col("params_total")
    saved = 34 * pl.col("hidden_size") * pl.col("num_layers") * pl.col("own_tokens")
    load = (weights / pl.col("gpus_per_replica") + saved) / (pl.col("vram_gib") * 2**30)
    needed = (load / coefficient("recompute_from_load")).log(2).clip(0.0, 1.0)
    is_guessed = pl.col("task").is_in(["lora", "qlora"]) & (pl.col("stack") != "tuned")
    return pl.coalesce(known, pl.when(is_guessed).then(needed), 0.0)


def _offload_s() -> pl.Expr:
    """Seconds per token of an optimizer on the host, or of frozen weights that are fetched twice a step from it."""
    own = pl.col("params_total") / pl.col("gpus_per_replica")
    update = coefficient("host_optimizer_s") * own / pl.col("update_tokens")
    stored = pl.when("is_unpacked").then(0.55).otherwise(2.0) * own
    fetched = 2 * stored / (pl.col("pcie_gb_per_s") / 2 * 1e9) / pl.col("step_tokens")
    return pl.when(pl.col("task").is_in(["lora", "qlora"])).then(fetched).otherwise(update)


def _with_measured(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds measured, tokens per second and GPU, and tflops_spread, what the count of published TFLOPS leaves open."""
    notes = _text("notes")
    is_causal = notes.str.contains("causal") & ~notes.str.contains("non-causal")
    attention = training_work.attention_flops()
    causal = 6 * pl.col("params_active") + attention
    full = causal + attention
    counted = pl.when(is_causal).then(causal).otherwise((causal * full).sqrt())
    tokens = pl.coalesce("tokens_s_per_gpu", pl.col("tokens_s_total") / pl.col("gpu_count"))
    return rows.with_columns(
        measured=pl.coalesce(tokens, pl.col("tflops_per_gpu") * 1e12 / counted),
        tflops_spread=pl.when(tokens.is_null() & ~is_causal).then(full / causal - 1).otherwise(0.0),
    )


def _exceeds_peak() -> pl.Expr:
    """True where what was multiplied is more than the units can, beyond what rounding explains.

    Nothing is assumed to be run again that the row does not state.
    """
    is_stated = pl.col("activation_checkpointing").fill_null("").str.strip_chars() != ""
    again = pl.when(is_stated).then("recompute_share").otherwise(0.0)
    flops = training_work.matrix_flops(again) + training_work.attention_run_flops(again)
    peak = (
        pl.when(pl.col("matrix_format") == "4bit")
        .then("fp4_dense_tflops")
        .when(pl.col("matrix_format") == "8bit")
        .then(pl.max_horizontal("fp8_dense_tflops", "int8_dense_tops"))
    )
    known = pl.coalesce(peak, precision.rate_16bit_tflops())
    return (pl.col("measured") * flops > _MOST_OF_PEAK * known * 1e12).fill_null(False)


def _with_outcome(rows: pl.DataFrame) -> pl.DataFrame:
    no_rate = pl.col("tokens_s_per_gpu").is_null() & pl.col("tokens_s_total").is_null()
    no_proof = (
        pl.when(no_rate & pl.col("tflops_per_gpu").is_null())
        .then(pl.lit("neither tokens per second nor TFLOPS are published"))
        .when(pl.col("tflops_spread") > 0.1)
        .then(pl.lit("only TFLOPS are published, and how attention is counted leaves more than 10 % open"))
        .when(pl.col("seq_len").is_null())
        .then(pl.lit("the length of the sequences is not stated"))
        .when(_exceeds_peak())
        .then(pl.lit("multiplies faster than the peak of the units"))
    )
    is_fused = _text("framework").str.contains(_FUSED_EXPERTS)
    refusal = (
        pl.when(~pl.col("task").is_in(["lora", "qlora", "full", "pretrain"]).fill_null(False))
        .then(pl.format("{} is not a kind of training that is modelled", pl.col("task").fill_null("none")))
        .when(pl.col("params_total").is_null())
        .then(pl.lit("the model is not known and its parameters are not stated"))
        .when(pl.col("gpu_key").is_null())
        .then(pl.format("{} is not a GPU of gpu.csv", pl.col("gpu_written").fill_null("none")))
        .when(pl.col("training_family").is_null())
        .then(pl.format("no training on {} or its kin was measured", "gpu_key"))
        .when((pl.col("params_total") < coefficient("smallest_trained_params")) & ~pl.col("has_shape"))
        .then(
            pl.lit("below 0.7 billion parameters the law of shapes does not hold, and this one is not known")
        )
        .when((pl.col("task") == "qlora") & pl.col("is_moe") & ~is_fused)
        .then(pl.lit("QLoRA of experts without fused kernels is off by more than 100 %: not predicted"))
        .when(pl.col("gpu_count").is_null() | (pl.col("gpu_count") < 1))
        .then(pl.lit("the number of GPUs is not stated"))
    )
    return rows.with_columns(no_proof=no_proof, refusal=pl.when(no_proof.is_null()).then(refusal))


def _classes() -> list[pl.Expr]:
    kind = pl.when(pl.col("task").is_in(["lora", "qlora"])).then("task").otherwise(pl.lit("full"))
    experts = pl.when("is_moe").then(pl.lit("experts_")).otherwise(pl.lit(""))
    case_class = pl.format("{}{}_{}_{}", experts, kind, "stack", "matrix_format").fill_null("other")
    is_small = pl.col("params_total") < coefficient("smallest_trained_params")
    also = [
        pl.when(is_small).then(pl.lit("below_0_7b")).otherwise(pl.lit("from_0_7b")),
        pl.when("is_moe").then(pl.lit("experts")),
        pl.col("task"),
    ]
    source = pl.col("source").str.extract(r"^(?:https?://)?([^/\s]+/[^/\s]+/[^/\s]+)")
    return [
        case_class.alias("case_class"),
        pl.concat_list(also).list.drop_nulls().alias("also_in"),
        source.fill_null(pl.col("source")).alias("source_group"),
    ]


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows under the coefficients in force; the band is that of dense models or of experts."""
    shares = coefficients("training_share")
    share = pl.col("training_family").replace_strict(shares, default=None, return_dtype=pl.Float64)
    rows = training_speed.with_training_speed(prepared.with_columns(training_share=share))
    band = training.band()
    is_asked = pl.col("refusal").is_null() & pl.col("no_proof").is_null()
    predicted = pl.when(is_asked).then("tokens_per_s_per_gpu")
    setting = (
        "source_group",
        "model",
        "task",
        "precision",
        "seq_len",
        "global_batch",
        "framework",
        "gpu_count",
    )
    return (
        rows.with_columns(
            part=pl.lit("training"),
            unit=pl.lit("tokens/s/gpu"),
            predicted=predicted,
            low=predicted * band["band_low"],
            high=predicted * band["band_high"],
            is_calibrated=pl.col("is_training_calibrated").fill_null(False),
            pair_group=pl.concat_str(setting, separator=" ", ignore_nulls=True),
        )
        .select(CASE.names())
        .cast(CASE)
    )
