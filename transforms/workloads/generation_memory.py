"""Memory of pictures, clips, adapters of their models, and sound, in GiB per GPU; the layouts copy all of it.

peak = weights of the components (text encoders, denoisers, decoder), each at its own bits
     + activations of the decoder or of the denoiser, whichever are larger + runtime.

No constant turns pixels into bytes for all models. Each decoder and denoiser has a measured one
(activation_reference.csv), which grows with batch and pixels and, where all frames are worked on at once, with frames.
With the components in host memory until their turn, the largest stage counts and not the sum. Where a component or
its constant is not known the peak that the job states stands in, flagged. Memory sizing study, section 10.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads import denoisers, precision
from transforms.workloads.coefficients import coefficient
from transforms.workloads.sizing import GIB

ROLES = ("text_encoder", "denoiser", "decoder")
_PICTURES = ("image", "video", "video+audio")


def with_components(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the parts of the model to rows with model_id; null where the table does not have them.

    Columns: <role>_params for the three roles, largest_<role>_params, decoder_bits, and of the reference of decoder
    and denoiser <role>_reference_gib, <role>_reference_voxels, <role>_reference_frames, <role>_grows_with_frames
    and denoiser_reference_width.
    """
    parts = tables.read("model_component")
    sizes = parts.group_by("model_id").agg(
        *(_of_role(role).sum().replace(0.0, None).alias(f"{role}_params") for role in ROLES),
        *(_of_role(role).max().alias(f"largest_{role}_params") for role in ROLES),
        decoder_bits=pl.col("kept_bits").filter(pl.col("role") == "decoder").max().cast(pl.Float64),
    )
    rows = rows.join(sizes, on="model_id", how="left")
    for role in ("denoiser", "decoder"):
        rows = rows.join(_references(parts, role), on="model_id", how="left")
    return rows


def _of_role(role: str) -> pl.Expr:
    return pl.col("parameters").filter(pl.col("role") == role).cast(pl.Float64)


def _references(parts: pl.DataFrame, role: str) -> pl.DataFrame:
    known = parts.filter(pl.col("role") == role).join(
        tables.read("activation_reference"), on="activation_family"
    )
    pixels = pl.col("width_px") * pl.col("height_px")
    return known.select(
        "model_id",
        pl.col("activation_gib").alias(f"{role}_reference_gib"),
        pixels.cast(pl.Float64).alias(f"{role}_reference_pixels"),
        pl.col("frames").cast(pl.Float64).alias(f"{role}_reference_frames"),
        pl.col("scales_with_frames").alias(f"{role}_grows_with_frames"),
        pl.col("hidden_size").cast(pl.Float64).alias(f"{role}_reference_width"),
    ).unique("model_id")


def component_weights_gib(role: str, size: str = "") -> pl.Expr:
    """GiB of the components of a role, or of the `largest_` of them, at `<role>_weight_bits`."""
    return pl.col(f"{size}{role}_params") * pl.col(f"{role}_weight_bits") / 8 / GIB


def resident_weights_gib() -> pl.Expr:
    """GiB of all components together; null when one of the three roles is not known."""
    return sum((component_weights_gib(role) for role in ROLES), start=pl.lit(0.0))


def decoder_activations_gib() -> pl.Expr:
    """GiB of the decoder above the weights: its reference x pictures x pixels, capped where it works in tiles."""
    pixels = pl.col("width_px") * pl.col("height_px")
    tile = coefficient("decode_tile_px") ** 2
    in_tiles = pl.min_horizontal(pixels, pl.lit(tile))
    batch = pl.col("batch").fill_null(1.0)
    at_once = pl.when("is_tiled").then(in_tiles).otherwise(pixels * batch)
    return _scaled("decoder", at_once)


def denoiser_activations_gib() -> pl.Expr:
    """GiB of the denoiser above the weights, also in proportion to its width; null where it has no reference."""
    pixels = pl.col("width_px") * pl.col("height_px") * pl.col("batch").fill_null(1.0)
    return _scaled("denoiser", pixels) * pl.col("hidden_size") / pl.col("denoiser_reference_width")


def _scaled(role: str, pixels: pl.Expr) -> pl.Expr:
    frames = pl.col("frames").fill_null(1.0) / pl.col(f"{role}_reference_frames")
    longer = pl.when(f"{role}_grows_with_frames").then(frames).otherwise(1.0)
    return pl.col(f"{role}_reference_gib") * pixels / pl.col(f"{role}_reference_pixels") * longer


def activations_gib() -> pl.Expr:
    """GiB above the weights at the peak: denoiser and decoder take turns. Null where the decoder is not known."""
    decoder = decoder_activations_gib()
    return pl.when(decoder.is_not_null()).then(pl.max_horizontal(decoder, denoiser_activations_gib()))


def resident_peak_gib() -> pl.Expr:
    """GiB that the tensors take with every component on the GPU."""
    return resident_weights_gib() + activations_gib()


def offloaded_peak_gib() -> pl.Expr:
    """The same when each component is on the GPU in its turn only: the largest stage."""
    stages = (
        component_weights_gib("text_encoder", "largest_"),
        component_weights_gib("denoiser", "largest_") + denoiser_activations_gib().fill_null(0.0),
        component_weights_gib("decoder", "largest_") + decoder_activations_gib(),
    )
    known = pl.all_horizontal(stage.is_not_null() for stage in stages)
    return pl.when(known).then(pl.max_horizontal(stages))


def recogniser_peak_gib(sequences: pl.Expr) -> pl.Expr:
    """GiB of a speech recogniser: weights, runtime with beams, and what each further sequence of 30 s adds."""
    weights = pl.col("params_total") * pl.col("other_bits_dense") / 8 / GIB
    further = coefficient("recogniser_sequence_gib") * (sequences - 1)
    return weights + coefficient("recogniser_runtime_gib") + further


def training_peak_gib() -> pl.Expr:
    """GiB of training a denoiser: its weights, states, activations by recompute policy, and reserve.

    Latents and texts are prepared beforehand, unless `encodes_in_step`: then all components stay and the encoder
    works as the decoder does. Reads the columns of `denoisers.with_denoiser`, those of optimizer.csv, task,
    lora_rank, recompute, batch and the GPUs that share gradients and moments. Null for a U-Net.
    """
    is_adapter = pl.col("task").is_in(["lora", "qlora"])
    adapters = 8 * pl.col("lora_rank") * pl.col("width") * pl.col("depth") * pl.col("adapter_state_bytes")
    gradients = pl.col("gradient_bytes") / pl.col("gradient_shards")
    trained = pl.col("weight_copy_bytes") + gradients + pl.col("moment_bytes") / pl.col("moment_shards")
    full = pl.col("denoiser_params") * trained / GIB
    frozen = component_weights_gib("denoiser") + adapters / pl.col("moment_shards") / GIB
    layer = coefficient("denoiser_layer_bytes_per_width") * pl.col("width")
    recomputed = 2 * pl.col("width") * pl.col("depth") + layer
    per_token = pl.when(pl.col("recompute") == "none").then(layer * pl.col("depth")).otherwise(recomputed)
    tokens = (denoisers.latent_tokens() + pl.col("text_tokens")) * pl.col("batch")
    others = (
        component_weights_gib("text_encoder") + component_weights_gib("decoder") + decoder_activations_gib()
    )
    encoded = pl.when("encodes_in_step").then(others).otherwise(0.0)
    states = pl.when(is_adapter).then(frozen).otherwise(full)
    return states + per_token * tokens / GIB + encoded + coefficient("training_reserve_gib")


def with_peak(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds memory per GPU by parts, need_gib and load_ratio of jobs; flag stated_peak where the job states the peak."""
    rows = with_components(rows).with_columns(
        text_encoder_weight_bits=pl.col("other_bits_dense"),
        denoiser_weight_bits=pl.col("other_bits_dense"),
        decoder_weight_bits=pl.max_horizontal("decoder_bits", pl.lit(16.0)),
        is_tiled=pl.lit(False),
    )
    makes_pictures = pl.col("task").is_in(["image", "video", "session"]) & pl.col("modality").is_in(_PICTURES)
    pictures = resident_peak_gib() + coefficient("generation_runtime_gib")
    recogniser = recogniser_peak_gib(pl.col("batch").fill_null(1.0))
    known = pl.when(makes_pictures).then(pictures).when(pl.col("modality") == "asr").then(recogniser)
    # A peak that the user measured counts more than the formula.
    measured = pl.when("is_peak_fixed").then("assumed_peak_gib")
    peak = pl.coalesce(measured, known, "assumed_peak_gib")
    is_stated = (measured.is_not_null() | known.is_null()) & pl.col("assumed_peak_gib").is_not_null()
    weights = pl.col("params_total") * pl.col("other_bits_dense") / 8 / GIB
    # A peak below the resident weights means that some are moved out: then the parts are not known.
    parts = pl.coalesce(pl.when(makes_pictures).then(resident_weights_gib()), weights)
    resident = pl.when(parts <= peak).then(parts)
    stated = pl.when(is_stated).then(pl.lit(["stated_peak"])).otherwise(pl.lit([], pl.List(pl.String)))
    return rows.with_columns(
        need_gib=peak,
        weights_gib=resident,
        activation_gib=peak - resident,
        load_ratio=peak / pl.col("usable_gib"),
        base_ratio=pl.lit(None, pl.Float64),
        kv_falls_back=False,
        is_calibrated=pl.col("is_generation_calibrated"),
    ).with_columns(flags=precision.flags().list.concat(stated))
