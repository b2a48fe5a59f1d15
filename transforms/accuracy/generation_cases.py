"""Cases of pictures, clips and sound: what the columns of throughput_generation.csv mean for the formulas.

Pictures and clips are predicted from the FLOPs of their denoiser; sound, whose models have no count, from the other
GPUs on which the same model, engine and setting were measured (`audio_cases`).

The time is that of one output where the steps are stated, else that of one step. MLPerf and rates of whole systems are
replicas side by side; other rows of several GPUs share one output. A range of batches is taken as eight.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy import audio_cases
from transforms.accuracy.cases import CASE
from transforms.accuracy.names import with_gpu_key
from transforms.workloads import denoiser_speed, denoisers, generation, kernels, precision
from transforms.workloads.coefficients import coefficients
from transforms.workloads.hardware import gpu_facts

_FIRST_NEW_STACK = 2023.7  # fused attention in PyTorch 2.1
_UI = r"a1111|automatic1111|forge|sd\.?next|comfy|invoke|fooocus|swarmui"
_COMPILED = r"compile|stable-?fast|tensorrt|\btrt\b|aitemplate|oneflow|\bxla\b|flax|mlperf|onediff"
_FUSED_ATTENTION = r"fa-?[34]\b|flash-?att\w*-?[34]|cudnn"
_REUSED = r"cache|t-?gate"
_RANGE_BATCH = 8.0
# What a row needs more of than the GPU has cannot be its setting, nor that of its like.
_MOST_OF_PEAK = 1.05


def _text(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().fill_null("")


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the columns that the formulas read, and why one is refused or proves nothing."""
    rows = measured.with_columns(gpu_written=pl.coalesce("accelerator_id", "gpu_canonical"))
    rows = with_gpu_key(rows, "gpu_written", "gpu").drop("gpu_problem")
    rows = rows.join(_gpus(), on="gpu_key", how="left", maintain_order="left")
    rows = rows.with_columns(gpu_keys=pl.concat_list("gpu_key")).with_columns(
        power_share=kernels.power_share()
    )
    rows = denoisers.with_denoiser(_with_size(rows), "model")
    rows = _with_engine(_with_setting(rows))
    rows = _with_source(_with_outcome(_with_measured(rows)))
    return audio_cases.with_others(rows).with_columns(_classes())


def _gpus() -> pl.DataFrame:
    sustained = pl.min_horizontal(precision.rate_16bit_tflops(), "sustained_16bit_tflops")
    return gpu_facts().select(
        "gpu_key",
        "architecture",
        "compute_capability",
        "hardware_class",
        "generation_family",
        "is_generation_calibrated",
        "memory_bandwidth_gb_per_s",
        "fp32_tflops",
        "fp16_dense_tflops",
        "bf16_dense_tflops",
        "fp8_dense_tflops",
        "int8_dense_tops",
        "nvlink_gb_per_s",
        "pcie_gb_per_s",
        sustained_16bit_tflops=sustained,
    )


def _with_size(rows: pl.DataFrame) -> pl.DataFrame:
    pixels = _text("resolution").str.extract_groups(r"^(?<width>\d+)\s*[x*]\s*(?<height>\d+)$")
    frames = _text("frames_or_seconds").str.extract(r"^(\d+)\s*frame").cast(pl.Float64)
    return rows.with_columns(
        task=pl.col("task").str.to_lowercase(),
        width_px=pixels.struct.field("width").cast(pl.Float64),
        height_px=pixels.struct.field("height").cast(pl.Float64),
        frames=frames,
    )


def _with_setting(rows: pl.DataFrame) -> pl.DataFrame:
    engine, batch, guidance = _text("engine"), _text("batch"), _text("guidance")
    is_mlperf = engine.str.contains("mlperf")
    has_range = batch.str.contains(r"\d+\s*-\s*\d+")
    offline = is_mlperf & ~engine.str.contains("single")
    one = batch.str.extract(r"^(\d+)$").cast(pl.Float64)
    unstated = pl.when(has_range | offline).then(_RANGE_BATCH).otherwise(1.0)
    is_default = (guidance == "") | (guidance.str.contains("default") & ~guidance.str.contains("cfg"))
    is_single = guidance.str.contains(r"distill|embedded|none|no cfg|off")
    is_whole = is_mlperf | _text("notes").str.contains("whole-system")
    gpus = pl.col("gpu_count").fill_null(1.0).clip(lower_bound=1.0)
    passes = pl.when(is_default).then("usual_passes").when(is_single).then(1.0).otherwise(2.0)
    is_pcie = pl.col("nvlink_gb_per_s").is_null() | (pl.col("nvlink_gb_per_s") < 100)
    per_way = pl.when(is_pcie).then("pcie_gb_per_s").otherwise("nvlink_gb_per_s") / 2
    shared = pl.when(is_whole).then(1.0).otherwise(gpus)
    return rows.with_columns(
        batch_text="batch",
        batch=pl.coalesce(one, unstated).clip(lower_bound=1.0),
        guidance_passes=passes,
        replicas=pl.when(is_whole).then(gpus).otherwise(1.0),
        gpus_per_replica=shared,
        peer_gb_per_s=pl.when(shared > 1).then(per_way),
    )


def _with_engine(rows: pl.DataFrame) -> pl.DataFrame:
    engine, stated = _text("engine"), _text("precision")
    is_tensorrt = engine.str.contains(r"tensorrt|\btrt\b|stable-?fast|aitemplate|oneflow")
    engine_class = (
        pl.when(engine.str.contains(_UI) & ~is_tensorrt)
        .then(pl.lit("ui"))
        .when(engine.str.contains(_COMPILED))
        .then(pl.lit("compiled"))
        .otherwise(pl.lit("eager"))
    )
    is_mlperf = engine.str.contains("mlperf")
    is_dynamic = stated.str.contains("dq")
    is_8bit = is_dynamic | stated.str.contains(r"^(?:fp8|int8)$|fp8/int8|fp8\+")
    is_weight_only = stated.str.contains(r"wo$|fp6|fp5|fp4|nf4|int4|gguf")
    has_8bit = pl.col("fp8_dense_tflops").is_not_null() | is_mlperf
    is_compiled = engine_class == "compiled"
    by_family = pl.when(denoisers.is_unet()).then(pl.lit("compiled_unet")).otherwise(pl.lit("compiled_dit"))
    eager = pl.when(is_dynamic).then(pl.lit("eager_dynamic")).otherwise(pl.lit("eager"))
    gain = (
        pl.when(is_8bit & has_8bit)
        .then(pl.when(is_compiled).then(by_family).otherwise(eager))
        .when(stated.str.contains(r"^(?:fp32|tf32)"))
        .then(pl.lit("fp32"))
        .when(is_weight_only & (engine_class == "eager"))
        .then(pl.lit("weight_only"))
    )
    is_geforce = pl.col("hardware_class") == "geforce"
    year = pl.col("date").str.extract(r"(20\d\d)").cast(pl.Float64)
    month = pl.col("date").str.extract(r"20\d\d-(\d\d)").cast(pl.Float64)
    return rows.with_columns(
        engine_class=engine_class,
        matrix_gain=gain,
        attention_kernel=generation.attention_kernel(engine.str.contains(_FUSED_ATTENTION)),
        is_old_stack=((year + month.fill_null(6) / 12) < _FIRST_NEW_STACK).fill_null(False) & ~is_mlperf,
        has_half_accumulate=(is_geforce & is_compiled & (is_8bit | is_tensorrt)).fill_null(False),
        is_sparse=engine.str.contains("natten|sparse"),
        is_cached=engine.str.contains(_REUSED),
    )


def _with_measured(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds measured, in seconds for pictures and clips, and steps, null where the time is that of one step."""
    has_output = pl.col("s_per_output").is_not_null() & pl.col("steps").is_not_null()
    is_sound = pl.col("task").is_in(audio_cases.TASKS)
    seconds = pl.when(has_output).then("s_per_output").otherwise(1 / pl.col("it_s"))
    sound = pl.coalesce("real_time_factor", 1 / pl.col("s_per_output"))
    return rows.with_columns(
        measured=pl.when(is_sound).then(sound).otherwise(seconds),
        is_sound=is_sound,
        counted_steps=pl.when(has_output).then("steps"),
    )


def _with_outcome(rows: pl.DataFrame) -> pl.DataFrame:
    flops = denoisers.tflop_per_pass() * pl.col("guidance_passes") * pl.col("counted_steps").fill_null(1.0)
    gpus = pl.col("gpus_per_replica") * pl.col("replicas")
    rate = flops / pl.col("measured") / gpus
    is_plain = pl.col("matrix_gain").is_null() & ~pl.col("is_sparse") & ~pl.col("is_cached")
    # GeForce peaks are those with 32-bit accumulation, which its kernels need not use.
    is_judge = is_plain & ~pl.col("hardware_class").is_in(["geforce", "soc"])
    exceeds = is_judge & (rate > _MOST_OF_PEAK * denoiser_speed.peak_tflops())
    setting = ("source", "model", "resolution", "frames_or_seconds", "guidance", "engine")
    alike = pl.concat_str(setting, separator=" ", ignore_nulls=True)
    rows = rows.with_columns(alike=alike, exceeds=exceeds.fill_null(False))
    rows = rows.with_columns(is_beyond=pl.col("exceeds").any().over("alike"))
    no_rate = pl.col("it_s").is_null() & (pl.col("s_per_output").is_null() | pl.col("steps").is_null())
    is_clip = (pl.col("task") == "video") | (pl.col("denoiser_family") == "dit_video")
    no_size = pl.col("width_px").is_null() | ((pl.col("task") == "video") & pl.col("frames").is_null())
    no_proof = (
        pl.when(pl.col("gpu_key").is_null() & _text("gpu").str.contains(r"^$|not stated|unknown|unspecified"))
        .then(pl.lit("the GPU is not stated"))
        .when(_text("notes").str.contains("upper bound"))
        .then(pl.lit("an upper bound, not a measurement"))
        .when(pl.col("is_sound"))
        .then(None)
        .when(no_rate)
        .then(pl.lit("neither steps per second nor the time and the steps of an output are stated"))
        .when(no_size)
        .then(pl.lit("the size of the output is not stated"))
        .when(pl.col("is_beyond"))
        .then(pl.lit("the setting would need more than the peak of one of its GPUs: it is not what was run"))
    )
    known_task = pl.col("task").is_in(["image", "video", "edit", "i2v", "t2v", "i2i"])
    refusal = (
        pl.when(pl.col("gpu_key").is_null())
        .then(pl.format("{} is not a GPU of gpu.csv", pl.coalesce("gpu_written", "gpu").fill_null("none")))
        .when(pl.col("is_sound"))
        .then(None)
        .when(~known_task.fill_null(False))
        .then(pl.format("{} is not a kind of generation that is modelled", pl.col("task").fill_null("none")))
        .when(pl.col("denoiser").is_null())
        .then(pl.format("the FLOPs of {} are not known", pl.col("model").fill_null("no model")))
        .when("is_sparse")
        .then(pl.lit("sparse attention is not modelled"))
        .when(pl.col("generation_family").is_null() | denoiser_speed.peak_tflops().is_null())
        .then(pl.format("the rate of {} in 16 bit is not known", "gpu_key"))
    )
    return rows.with_columns(
        is_clip=is_clip,
        no_proof=no_proof,
        refusal=pl.when(no_proof.is_null()).then(refusal),
    )


def _with_source(rows: pl.DataFrame) -> pl.DataFrame:
    source = pl.col("source").str.extract(r"^(?:https?://)?([^/\s]+/[^/\s]+/[^/\s]+)")
    return rows.with_columns(source_group=source.fill_null(pl.col("source")))


def _classes() -> list[pl.Expr]:
    drawn = pl.format("{}_{}", "denoiser_family", "engine_class").fill_null("picture_other")
    split = pl.when(pl.col("gpus_per_replica") > 1).then(pl.lit("split"))
    sound = audio_cases.case_class()
    also = pl.concat_list(pl.lit("image_video"), "task", split).list.drop_nulls()
    return [
        pl.when("is_sound").then(sound).otherwise(drawn).alias("case_class"),
        pl.when("is_sound").then(pl.concat_list(pl.lit("audio"), "task")).otherwise(also).alias("also_in"),
    ]


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows under the coefficients in force."""
    factors = coefficients("architecture_factor")
    factor = pl.col("generation_family").replace_strict(factors, default=None, return_dtype=pl.Float64)
    rows = prepared.with_columns(architecture_factor=factor, steps=pl.col("counted_steps").fill_null(1.0))
    rows = denoiser_speed.with_denoiser_speed(rows)
    drawn = pl.when(pl.col("counted_steps").is_null()).then("step_s").otherwise("output_s")
    predicted = pl.when("is_sound").then(audio_cases.audio_s_per_s()).otherwise(drawn / pl.col("replicas"))
    is_asked = pl.col("refusal").is_null() & pl.col("no_proof").is_null()
    predicted = pl.when(is_asked).then(predicted)
    picture_band, sound_band = generation.band(), audio_cases.band()
    setting = ("source_group", "model", "resolution", "frames_or_seconds", "steps", "batch_text", "precision")
    return (
        rows.with_columns(
            part=pl.lit("generation"),
            unit=pl.when("is_sound")
            .then(pl.lit("audio s/s"))
            .when(pl.col("counted_steps").is_null())
            .then(pl.lit("s/step"))
            .otherwise(pl.lit("s/output")),
            predicted=predicted,
            # a time is short where the speed is high
            low=pl.when("is_sound")
            .then(predicted * sound_band["band_low"])
            .otherwise(predicted / picture_band["band_high"]),
            high=pl.when("is_sound")
            .then(predicted * sound_band["band_high"])
            .otherwise(predicted / picture_band["band_low"]),
            is_calibrated=pl.col("is_generation_calibrated").fill_null(False),
            model_id="denoiser",
            pair_group=pl.concat_str(*setting, "engine_class", separator=" ", ignore_nulls=True),
        )
        .select(CASE.names())
        .cast(CASE)
    )
