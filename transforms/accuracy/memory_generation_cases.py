"""Cases of the memory of diffusion, video and audio models, also of training them: rows about no text model.

What is quantised, moved to host memory or decoded in tiles is read from precision, parallelism and notes. A mode that
the model does not have is refused.
"""

from __future__ import annotations

import polars as pl

from transforms.accuracy import names
from transforms.accuracy.cases import CASE
from transforms.reference import tables
from transforms.workloads import denoisers, formats, precision, training_memory
from transforms.workloads import generation_memory as memory
from transforms.workloads.coefficients import coefficient
from transforms.workloads.models import geometry
from transforms.workloads.sizing import GIB

WORKLOADS = ("diffusion", "video", "audio")
TRAINING = {"lora": "lora", "qlora": "qlora", "full_ft": "full"}
_GB_PER_GIB = 2**30 / 1e9
# Whether something holds cannot be told from the weights alone, unless there is this much room to spare.
_ROOM_TO_SPARE = 2.0

_NOTES = pl.col("notes").fill_null("").str.to_lowercase()
_MODES = pl.concat_str(pl.col("parallelism").fill_null(""), pl.lit(" "), _NOTES).str.to_lowercase()
_PRECISION = pl.col("precision").fill_null("").str.to_lowercase()
_ENGINE = pl.col("engine").fill_null("").str.to_lowercase()
_IS_FIT = pl.col("kind").is_in(["fits_yes", "fits_no"])


def prepare(measured: pl.DataFrame) -> pl.DataFrame:
    """Returns all rows with what no coefficient changes; those of another workload are refused."""
    known = geometry()["model_id"].implode()
    rows = names.with_model_id(measured, "model", "params_b")
    stated = pl.when(pl.col("catalog_id").is_in(known)).then("catalog_id")
    rows = rows.with_columns(model_id=pl.coalesce(stated, "model_id"))
    rows = formats.with_weight_precision(rows, "precision").join(geometry(), on="model_id", how="left")
    rows = memory.with_components(precision.with_formats(rows)).with_columns(
        has_batch=pl.col("batch").is_not_null(), **_shape(), **_modes()
    )
    rows = _with_training(_with_bits(rows))
    rows = names.with_gpu_key(rows, "gpu", "gpu").join(_usable(), on="gpu_key", how="left")
    rows = rows.with_columns(usable_gib=pl.coalesce(_stated_gib("usable"), "usable_gib", _stated_gib("")))
    return rows.with_columns(no_proof=_no_proof(), refusal=_refusal())


def _usable() -> pl.DataFrame:
    return tables.read("gpu").select("gpu_key", "usable_gib")


def _stated_gib(what: str) -> pl.Expr:
    """GiB that the GPU or, of usable memory, the notes state; cards are named in powers of two."""
    if what == "usable":
        return _NOTES.str.extract(r"(\d+(?:\.\d+)?) ?gib usable").cast(pl.Float64)
    return pl.col("gpu").str.extract(r"(\d+(?:\.\d+)?) ?GB\b").cast(pl.Float64)


def _shape() -> dict[str, pl.Expr]:
    """Frames, height and width of a text such as 49x480x720 or 1024x1024; width goes last."""
    text = pl.col("seq_len").fill_null("").str.to_lowercase()
    last = text.str.extract_groups(r"^(?:(\d+)x)?(\d+)x(\d+)$")
    return {
        "frames": last.struct.field("1").cast(pl.Float64),
        "height_px": last.struct.field("2").cast(pl.Float64),
        "width_px": last.struct.field("3").cast(pl.Float64),
        "batch": pl.col("batch").fill_null(1.0),
    }


def _modes() -> dict[str, pl.Expr]:
    return {
        "is_tiled": _MODES.str.contains("tiling|tiled|slicing")
        & ~_MODES.str.contains("no tiling|without tiling"),
        "is_offloaded": _MODES.str.contains("offload") & ~_MODES.str.contains("no offload|without offload"),
        "is_reserved": _NOTES.str.contains("reserved"),
        "is_split": _MODES.str.contains(r"\btp\d|fsdp|group offload|sequential|te-tp"),
    }


def _with_bits(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds <role>_weight_bits: by default denoiser and largest text encoder are quantised, the decoder is not."""
    bits = pl.col("other_bits_dense")
    # each of these says in its own way which parts are quantised
    only_encoder = _NOTES.str.contains(r"8.?bit t5")
    only_denoiser = _NOTES.str.contains("only the transformer") | _PRECISION.str.contains(
        r"transformer \+ te1$"
    )
    with_decoder = _NOTES.str.contains(r"\bvae quantised") & (bits == 8)
    no_encoder = _NOTES.str.contains(r"t5.?cpu|t5 on cpu|te on cpu")
    without_largest = _NOTES.str.contains(r"no t5|without t5")
    whole, largest = pl.col("text_encoder_params"), pl.col("largest_text_encoder_params")
    of_largest = pl.when(only_encoder).then(8.0).when(only_denoiser).then(16.0).otherwise(bits)
    left = pl.when(without_largest).then(0.0).otherwise(of_largest)
    average = ((whole - largest) * 16 + largest * left) / whole
    return rows.with_columns(
        text_encoder_weight_bits=pl.when(no_encoder).then(0.0).otherwise(average),
        denoiser_weight_bits=bits,
        decoder_weight_bits=pl.when(with_decoder).then(bits).otherwise("decoder_bits"),
        largest_text_encoder_params=pl.when(no_encoder | without_largest).then(0.0).otherwise(largest),
    )


def _with_training(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds what `generation_memory.training_peak_gib` reads; usual are 16-bit states, 32-bit adapters, recompute."""
    task = pl.col("workload").replace_strict(TRAINING, default=None, return_dtype=pl.String)
    is_8bit = pl.col("optimizer").fill_null("").str.to_lowercase().str.contains("8.?bit")
    usual = pl.when(task == "full").then(pl.lit("adamw_bf16")).otherwise(pl.lit("adamw_fp32_adapters"))
    layout = pl.col("parallelism").fill_null("").str.to_lowercase()
    gpus = pl.col("gpu_count").fill_null(1.0).clip(lower_bound=1.0)
    stays_whole = (
        pl.col("gradient_checkpointing").fill_null("").str.to_lowercase().str.contains("^(?:no|none)")
    )
    rows = rows.with_columns(
        task=task,
        optimizer=pl.when(is_8bit).then(pl.lit("adamw_8bit")).otherwise(usual),
        recompute=pl.when(stays_whole).then(pl.lit("none")).otherwise(pl.lit("full")),
        lora_rank=pl.col("lora_rank").fill_null(16.0),
        gradient_shards=pl.when(layout.str.contains("zero-?[23]|fsdp")).then(gpus).otherwise(1.0),
        moment_shards=pl.when(layout.str.contains("zero|fsdp")).then(gpus).otherwise(1.0),
        encodes_in_step=_ENGINE.str.contains(r"\bsat\b") | _NOTES.str.contains("on the fly|not cached"),
    )
    return training_memory.with_optimizer(denoisers.with_denoiser(rows, "model_id"))


def _no_proof() -> pl.Expr:
    asks_peak = pl.col("kind") == "peak"
    is_asr = pl.col("modality") == "asr"
    return (
        pl.when(~pl.col("kind").is_in(["peak", "weights", "fits_yes", "fits_no"]))
        .then(pl.format("a {} is one number without the way it was met", "kind"))
        .when(pl.col("evidence").is_in(["rule_of_thumb", "formula", "published_requirement"]))
        .then(pl.format("{}: not a measurement", "evidence"))
        .when(_ENGINE.str.contains("vllm|sglang") & asks_peak & ~_has_shape())
        .then(pl.lit("a serving engine fills the memory that it is given"))
        .when(_NOTES.str.contains("not inference|transient|not at inference"))
        .then(pl.lit("the peak of loading, not of a step"))
        .when(asks_peak & ~_has_shape() & ~is_asr.fill_null(False))
        .then(pl.lit("size or length of the output is not stated"))
        .when(asks_peak & ~pl.col("has_batch") & ~pl.col("workload").is_in(WORKLOADS))
        .then(pl.lit("the batch of a step is not stated"))
        .when(_IS_FIT & _NOTES.str.contains("qualitative|tier \\d"))
        .then(pl.lit("a recommendation, not a run"))
    )


def _has_shape() -> pl.Expr:
    return pl.col("width_px").is_not_null()


def _refusal() -> pl.Expr:
    is_picture = pl.col("workload").is_in(["diffusion", "video"])
    return (
        pl.when(~pl.col("workload").is_in([*WORKLOADS, *TRAINING]).fill_null(False))
        .then(
            pl.format(
                "the memory of {} on this model is not modelled", pl.col("workload").fill_null("nothing")
            )
        )
        .when(pl.col("model_id").is_null())
        .then(pl.coalesce("model_problem", pl.lit("not a model of model.csv")))
        .when(pl.col("weight_precision").is_null())
        .then("precision_problem")
        .when((is_picture | pl.col("task").is_not_null()) & pl.col("denoiser_params").is_null())
        .then(pl.format("the components of {} are not known", "model_id"))
        .when(pl.col("is_split") & (pl.col("kind") == "peak"))
        .then(pl.lit("a split or group offload is not modelled"))
        .when((pl.col("workload") == "audio") & (pl.col("modality") != "asr"))
        .then(pl.format("the codec of {} is not known", "model_id"))
        .when(_IS_FIT & pl.col("usable_gib").is_null())
        .then(pl.lit("the memory of the GPU is not known"))
    )


def predict(prepared: pl.DataFrame) -> pl.DataFrame:
    """Returns CASE rows: GiB or GB of the row, or 1 and 0 for what fits and what does not."""
    is_asr, is_weights = pl.col("modality") == "asr", pl.col("kind") == "weights"
    offloaded = memory.offloaded_peak_gib() + coefficient("offload_reserve_gib")
    kept = coefficient("reserved_generation_gib")
    resident = memory.resident_peak_gib() + pl.when("is_reserved").then(kept).otherwise(0.0)
    picture = pl.when("is_offloaded").then(offloaded).otherwise(resident)
    peak = (
        pl.when(pl.col("task").is_not_null())
        .then(memory.training_peak_gib())
        .when(is_asr)
        .then(memory.recogniser_peak_gib(pl.col("batch")))
        .otherwise(picture)
    )
    rows = prepared.with_columns(peak_gib=peak, stored_gib=_stored_gib())
    need = pl.when(is_weights).then("stored_gib").otherwise("peak_gib")
    in_unit = need * pl.when(pl.col("unit") == "GiB").then(1.0).otherwise(_GB_PER_GIB)
    band = coefficient("generation_memory_band")
    predicted = pl.when(_IS_FIT).then(_fits()).otherwise(in_unit)
    predicted = pl.when(pl.col("refusal").is_null()).then(predicted)
    rows = rows.with_columns(predicted=predicted).with_columns(
        part=pl.lit("memory"),
        case_class=_case_class(),
        also_in=pl.lit([], pl.List(pl.String)),
        measured=pl.when(_IS_FIT)
        .then((pl.col("kind") == "fits_yes").cast(pl.Float64))
        .otherwise("measured_gb"),
        low=pl.when(_IS_FIT).then("predicted").otherwise(pl.col("predicted") / band),
        high=pl.when(_IS_FIT).then("predicted").otherwise(pl.col("predicted") * band),
        refusal=pl.coalesce("refusal", pl.when(pl.col("predicted").is_null()).then(_what_is_missing())),
        is_calibrated=pl.lit(True),
        source_group=pl.col("source").str.extract(r"^(\S+)"),
        pair_group=pl.lit(None, pl.String),
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in CASE.items())


def _stored_gib() -> pl.Expr:
    whole = pl.col("params_total") * pl.col("other_bits_dense") / 8 / GIB
    return pl.coalesce(memory.resident_weights_gib(), whole)


def _what_is_missing() -> pl.Expr:
    what = pl.when(pl.col("task").is_null()).then(pl.lit("no activation constant of the decoder"))
    return pl.format(
        "{} of {}", what.otherwise(pl.lit("no transformer")), pl.col("model_id").fill_null("the model")
    )


def _fits() -> pl.Expr:
    """1 or 0; without an activation constant only where the weights alone decide. Null where they do not."""
    limit = coefficient("tight_load_limit") * pl.col("usable_gib")
    runtime = coefficient("generation_runtime_gib")
    largest = pl.max_horizontal(memory.component_weights_gib(role, "largest_") for role in memory.ROLES)
    weights = pl.when("is_offloaded").then(largest).otherwise("stored_gib")
    by_weights = (
        pl.when(weights > limit).then(0.0).when((weights + runtime) * _ROOM_TO_SPARE <= limit).then(1.0)
    )
    by_peak = (pl.col("peak_gib") + runtime <= limit).cast(pl.Float64)
    return pl.coalesce(by_peak, by_weights)


def _case_class() -> pl.Expr:
    is_known = pl.col("workload").is_in(WORKLOADS).fill_null(False)
    return (
        pl.when(pl.col("task").is_not_null())
        .then(pl.lit("denoiser_training_peak"))
        .when(~is_known)
        .then(pl.lit("other_peak"))
        .when(_IS_FIT)
        .then(pl.lit("fits"))
        .when(pl.col("kind") == "weights")
        .then(pl.lit("generation_weights"))
        .otherwise(pl.format("{}_peak", "workload"))
    )
