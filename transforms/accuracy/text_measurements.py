"""Reads a measured speed of text: model, GPU, engine, layout, sequences in flight, and whether it proves anything."""

from __future__ import annotations

import polars as pl

from transforms.accuracy import names
from transforms.reference import tables
from transforms.workloads import cache, engines, formats, hardware, kernels, models, precision, weights
from transforms.workloads.coefficients import coefficient, coefficients

GIB = 2.0**30
NO_LIMIT = 1e9
# A source without the file in it: a site, an owner and a repository.
_SOURCE_GROUP = r"^((?:https?://)?[^\s@/]*(?:/[^\s@/]+){0,2})"
_NOTES = pl.col("notes").fill_null("").str.to_lowercase()
_SOURCE = pl.col("source").fill_null("").str.to_lowercase()
_SCENARIO = pl.col("scenario")


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per measurement with the columns that the formulas read, and no_proof or refusal."""
    rows = measured.with_columns(source_group=pl.col("source").str.extract(_SOURCE_GROUP))
    rows = names.with_gpu_key(rows, "gpu_canonical", "gpu")
    rows = names.with_model_id(rows, "model", "params_b")
    rows = rows.with_columns(stated_precision=_stated_precision())
    rows = formats.with_weight_precision(rows.drop("weight_precision"), "stated_precision")
    rows = engines.with_engine(rows).rename({"engine": "engine_text"})
    rows = rows.join(models.geometry(), on="model_id", how="left", maintain_order="left")
    rows = rows.join(hardware.gpu_facts(), on="gpu_key", how="left", maintain_order="left")
    top_k = tables.read("model").select("model_id", top_k=pl.col("moe_top_k").cast(pl.Float64))
    rows = precision.with_formats(rows.join(top_k, on="model_id", how="left", maintain_order="left"))
    rows = rows.with_columns(_what_is_measured()).with_columns(_figures()).with_columns(_layout_stated())
    rows = rows.with_columns(kv_precision=_cache_precision(), power_share=kernels.power_share())
    rows = rows.with_columns(gpus_per_replica=_split()).with_columns(replicas=_replicas(), **_link())
    rows = rows.with_columns(link_gb_per_s=_link_rate(), sequences=_sequences())
    return rows.with_columns(no_proof=_no_proof(), refusal=_refusal()).with_columns(_groups())


def _stated_precision() -> pl.Expr:
    """MLPerf lists no format for some systems: they run what is fastest at the accuracy, FP8 where there are units."""
    is_blank = pl.col("weight_precision").is_null() | (pl.col("weight_precision").str.strip_chars() == "")
    return pl.when(is_blank & _is_mlperf()).then(pl.lit("fp8")).otherwise("weight_precision")


def _is_mlperf() -> pl.Expr:
    return _SOURCE.str.contains("mlcommons|mlperf") | _NOTES.str.contains("mlperf")


def _what_is_measured() -> list[pl.Expr]:
    vendor = _SOURCE.str.contains(
        r"nvidia|rocm|\bamd\b|intel\.com|habana|mlcommons|mlperf|cloud\.google|aws-neuron"
    )
    decode = r"llama-bench|decode (?:phase )?only|near-empty context|context nearly full|decode rate only"
    # local engines print the rates of the prompt and of the output apart
    is_local = pl.col("kernels").is_in(["gguf", "gguf_fused", "exl"])
    reports_apart = is_local & (_SCENARIO == "single_stream_decode")
    return [
        _is_mlperf().alias("is_mlperf"),
        (vendor | _is_mlperf()).alias("is_tuned"),
        (_NOTES.str.contains(r"\binteractive\b") & _is_mlperf()).alias("is_interactive"),
        ((_NOTES.str.contains(decode) & (_SCENARIO != "prefill")) | reports_apart).alias("is_decode_only"),
        pl.col("engine_version")
        .fill_null("")
        .str.to_lowercase()
        .str.contains("nightly|main|master")
        .alias("is_unreleased_build"),
        _NOTES.str.contains("kernel gemv").alias("is_vector_kernel"),
        _NOTES.str.contains(r"static batch").alias("is_static"),
        (_NOTES.str.contains(r"attention dp|dp attention|attention data|dp-attention") & pl.col("is_moe"))
        .fill_null(False)
        .alias("is_attention_data_parallel"),
        _NOTES.str.extract(r"(\d+) requests in [\d.]+ s").cast(pl.Float64).alias("finite_requests"),
        _NOTES.str.extract(r"offered ([\d.]+) req").cast(pl.Float64).alias("offered_requests_per_s"),
        pl.concat_list("gpu_key").alias("gpu_keys"),
    ]


def _figures() -> list[pl.Expr]:
    """The measured figure, the lengths and the requested sequences; MLPerf logs no input lengths."""
    is_prefill = _SCENARIO == "prefill"
    mean_input = coefficients("benchmark_input_tokens")
    by_data = (
        pl.when(_NOTES.str.contains("openorca") & pl.col("is_moe").fill_null(False))
        .then(mean_input["openorca_mix"])
        .when(_NOTES.str.contains("cnn|dailymail"))
        .then(mean_input["cnn"])
        .when(_NOTES.str.contains("reasoning"))
        .then(mean_input["reasoning"])
        .otherwise(mean_input["openorca"])
    )
    unstated = pl.when(_is_mlperf()).then(by_data).otherwise(mean_input["unstated"])
    is_single = _SCENARIO == "single_stream_decode"
    one = pl.when(is_single | is_prefill).then(1.0)
    return [
        pl.when(is_prefill)
        .then(pl.coalesce("prefill_tok_s", "total_tok_s"))
        .otherwise("output_tok_s_total")
        .alias("measured"),
        pl.coalesce("input_len", unstated).clip(lower_bound=0).alias("input_tokens"),
        pl.col("output_len").fill_null(mean_input["unstated"]).clip(lower_bound=1).alias("output_tokens"),
        pl.coalesce("concurrency_or_batch", one, pl.lit(NO_LIMIT)).clip(lower_bound=1).alias("requested"),
        pl.lit(0.0).alias("cached_input_share"),
        (pl.col("shares_steps") & ~pl.col("is_static") & ~is_single).alias("shares_steps"),
        pl.col("is_text_calibrated").fill_null(False).alias("is_calibrated"),
    ]


def _layout_stated() -> list[pl.Expr]:
    """GPUs, stages and the split as the source states them; accelerators with two cores count cores."""
    gpus = pl.col("gpu_count").fill_null(1.0).clip(lower_bound=1)
    stages = pl.col("pp").fill_null(1.0).clip(lower_bound=1)
    stages = pl.when(stages <= gpus).then(stages).otherwise(1.0)
    return [
        gpus.alias("gpus"),
        stages.alias("pipeline_stages"),
        pl.when(pl.col("tp").is_not_null())
        .then(pl.min_horizontal(pl.col("tp"), (gpus / stages).floor()))
        .clip(lower_bound=1)
        .alias("stated_split"),
    ]


def _cache_precision() -> pl.Expr:
    """The stated format of the cache; without one, what the engine takes by default.

    TensorRT-LLM takes the 8-bit cache that vendor checkpoints of 8 and 4 bits name; the others keep 16 bit.
    """
    stated = pl.col("kv_precision").str.to_lowercase().str.strip_chars()
    known = pl.when(stated.is_in(["fp8", "int8", "bf16", "fp16", "fp32"])).then(stated)
    is_vendor = pl.col("engine_id").str.starts_with("trt") & pl.col("native_unit").is_in(["fp8", "fp4"])
    is_vendor &= pl.col("weight_precision") != "mxfp4"
    default = pl.when(is_vendor).then(pl.lit("fp8")).otherwise(pl.lit("bf16"))
    wanted = pl.coalesce(known, default)
    has_no_units = (wanted == "fp8") & pl.col("fp8_dense_tflops").is_null()
    return pl.when(has_no_units).then(pl.lit("bf16")).otherwise(wanted)


def _device_bytes() -> pl.Expr:
    return pl.col("usable_gib") * GIB


def _split() -> pl.Expr:
    """GPUs of one copy; where the source does not say, or says what cannot hold, the fewest that hold a cache too.

    One stream of a model that one GPU cannot hold goes through the layers of several, as fast as through one.
    """
    held = _device_bytes() * pl.col("stated_split") * pl.col("pipeline_stages")
    is_single = _SCENARIO == "single_stream_decode"
    stated = pl.when(is_single | (weights.weight_bytes() <= held)).then("stated_split")
    needed = weights.weight_bytes() / (coefficient("weights_share_of_replica") * _device_bytes())
    smallest = 2.0 ** needed.log(2).ceil().clip(0, 10)
    return pl.coalesce(stated, pl.min_horizontal(smallest, "gpus"))


def _replicas() -> pl.Expr:
    """Copies that work side by side. One stream is on one of them, whatever else the machine has."""
    used = pl.col("gpus_per_replica") * pl.col("pipeline_stages")
    copies = (pl.col("gpus") / used).floor().clip(lower_bound=1)
    return pl.when(_SCENARIO == "single_stream_decode").then(1.0).otherwise(copies)


def _link() -> dict[str, pl.Expr]:
    """The kind of link; where it is not stated, the one of the board."""
    text = pl.col("interconnect").fill_null("").str.to_lowercase()
    own = (
        pl.when(pl.col("hardware_class") == "tpu_like")
        .then(pl.lit("accelerator"))
        .when(
            pl.col("nvlink_gb_per_s").is_null() | ~pl.col("hardware_class").is_in(["nvidia_hbm", "amd_hbm"])
        )
        .then(pl.lit("pcie"))
        .when(pl.col("vendor") == "AMD")
        .then(pl.lit("xgmi"))
        .otherwise(pl.lit("nvlink"))
    )
    stated = (
        pl.when(text.str.contains("roce|ici|neuron|accelerator|on-board"))
        .then(pl.lit("accelerator"))
        .when(text.str.contains("xgmi|infinity"))
        .then(pl.lit("xgmi"))
        .when(text.str.contains("nvl|nvswitch|sxm"))
        .then(pl.lit("nvlink"))
        .when(text.str.contains("pci"))
        .then(pl.lit("pcie"))
    )
    return {"link": pl.coalesce(stated, own)}


def _link_rate() -> pl.Expr:
    one_of_class = coefficient("unstated_link_gb_per_s")
    fast = pl.col("nvlink_gb_per_s").fill_null(one_of_class)
    slow = pl.col("pcie_gb_per_s").fill_null(coefficient("unstated_pcie_gb_per_s"))
    return pl.when(pl.col("link") == "pcie").then(slow).otherwise(fast)


def _sequences() -> pl.Expr:
    """Sequences that run together on one replica: as requested, as the cache holds, as the engine allows."""
    split, stages = pl.col("gpus_per_replica"), pl.col("pipeline_stages")
    gpus = split * stages
    routed = pl.col("params_routed") * pl.col("routed_expert_bits") / 8
    copies = (weights.weight_bytes() - routed) * gpus + routed
    stored = pl.when("is_attention_data_parallel").then(copies).otherwise(weights.weight_bytes())
    free = gpus * (_device_bytes() - coefficient("engine_reserve_gib") * GIB) - stored
    free = free.clip(lower_bound=0) * coefficient("cache_share_of_free")
    kept = pl.when("reserves_output").then(1.0).otherwise(coefficient("mean_output_in_cache"))
    tokens = pl.col("input_tokens") + kept * pl.col("output_tokens")
    spread = cache.kv_bytes(tokens) / split
    of_one = pl.when("is_attention_data_parallel").then(spread).otherwise(cache.held_bytes(tokens))
    held = (free / (of_one * split)).clip(lower_bound=1)
    is_offline = _SCENARIO == "offline_throughput"
    most = pl.when(is_offline).then("max_offline_sequences").otherwise("max_sequences_of_engine")
    most = most * pl.when("is_attention_data_parallel").then(split).otherwise(1.0)
    running = pl.min_horizontal(pl.col("requested") / pl.col("replicas"), held, most).clip(lower_bound=1)
    return (
        pl.when(_SCENARIO == "single_stream_decode")
        .then(1.0)
        .when(_SCENARIO == "prefill")
        .then("requested")
        .otherwise(running)
    )


def _no_proof() -> pl.Expr:
    """Why a row is no measurement of this: what its notes say, what physics forbids, or a copy of another row."""
    said = {
        r"beam search|beam width [2-9]|beams?[ =:]+[2-9]": "beam search",
        r"pruned|sparsity|sparse weights": "a pruned model",
        r"power[ -]?limit|power[ -]?cap|underclock": "the power of the board was limited",
        r"suspect": "the source calls it suspect",
        r"cpu offload|offloaded to (?:cpu|ram|disk)": "part of the model was not on the GPU",
        r"speculative|draft model|medusa|eagle|\bmtp\b": "speculative decoding",
    }
    # what a source took out of its rows, or says that it did not do, is not in them
    left = ~_NOTES.str.contains(r"filtered out|(?:no|without|not) (?:speculative|draft|mtp|eagle|beam)")
    reason = pl.lit(None, pl.String)
    for pattern, why in said.items():
        reason = pl.coalesce(reason, pl.when(_NOTES.str.contains(pattern) & left).then(pl.lit(why)))
    watts = pl.col("gpu").fill_null("").str.contains(r"(?i)\d+ ?w limit")
    # MLPerf lets this model search four beams
    searches = _is_mlperf() & pl.col("model").str.to_lowercase().str.contains("gpt-?j")
    alike = ["source_group", "model", "engine_text", "measured", "requested", "input_tokens", "output_tokens"]
    is_copied = pl.col("gpu_key").n_unique().over(alike) > 1
    return pl.coalesce(
        reason,
        pl.when(searches).then(pl.lit("beam search")),
        pl.when(watts).then(pl.lit("the power of the board was limited")),
        pl.when(_is_above_bandwidth()).then(pl.lit("reads weights faster than the memory is")),
        pl.when(_is_above_peak()).then(pl.lit("multiplies faster than the peak of the units")),
        pl.when(_is_too_large()).then(pl.lit("the weights are larger than the memory of the GPUs")),
        pl.when(is_copied).then(pl.lit("the same figure is given for another GPU")),
    )


def _is_above_bandwidth() -> pl.Expr:
    """One stream of a dense model cannot be faster than its weights are read; 2 % are left for rounding."""
    read = (
        weights.weight_bytes()
        - (pl.col("params_embed") - pl.col("params_head")) * pl.col("embedding_bits") / 8
    )
    gpus = pl.col("gpus_per_replica")
    share = pl.col("measured") * read / (pl.col("memory_bandwidth_gb_per_s") * 1e9 * gpus)
    return (_SCENARIO == "single_stream_decode") & ~pl.col("is_moe") & (share > 1.02)


def _is_above_peak() -> pl.Expr:
    """Prompts cannot be read faster than the units multiply; GeForce cards have twice the rate of the data sheet."""
    peak = precision.compute_tflops() * 1e12 * pl.col("gpus")
    doubled = pl.when(pl.col("hardware_class") == "geforce").then(2.0).otherwise(1.0)
    needed = 2 * (pl.col("params_active") - pl.col("params_embed")) * pl.col("measured")
    return (_SCENARIO == "prefill") & (needed > 1.02 * peak * doubled)


def _is_too_large() -> pl.Expr:
    return weights.weight_bytes() > _device_bytes() * pl.col("gpus")


def _refusal() -> pl.Expr:
    """Why the model does not predict a row."""
    needed = {
        "num_layers": "the layers of the model are not known",
        "hidden_size": "the width of the model is not known",
        "params_total": "the parameters of the model are not known",
        "kv_bytes_per_token": "the cache of the model is not known",
        "memory_bandwidth_gb_per_s": "the memory rate of the GPU is not known",
        "usable_gib": "the memory of the GPU is not known",
    }
    unknown = [pl.when(pl.col(name).is_null()).then(pl.lit(why)) for name, why in needed.items()]
    is_known = _SCENARIO.is_in(
        ["single_stream_decode", "batched_decode", "offline_throughput", "server", "prefill"]
    )
    return pl.coalesce(
        "gpu_problem",
        "model_problem",
        "precision_problem",
        pl.when(~is_known.fill_null(False)).then(pl.lit("no formula for such a scenario")),
        *unknown,
        pl.when(precision.compute_tflops().is_null()).then(pl.lit("the tensor rate of the GPU is not known")),
    )


def _groups() -> list[pl.Expr]:
    setting = ["source_group", "model", "stated_precision", "engine_text", "scenario"]
    lengths = ["concurrency_or_batch", "input_len", "output_len"]
    texts = [pl.col(name).cast(pl.String).fill_null("") for name in (*setting, *lengths)]
    kind = pl.when(pl.col("is_moe")).then(pl.lit("moe")).otherwise(pl.lit("dense"))
    return [
        pl.lit("text").alias("part"),
        pl.col("scenario").fill_null("other").alias("case_class"),
        pl.concat_list(kind.fill_null("dense"), "hardware_class").list.drop_nulls().alias("also_in"),
        pl.lit("tokens/s").alias("unit"),
        pl.concat_str(texts, separator="|").alias("pair_group"),
    ]
