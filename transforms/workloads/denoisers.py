"""What one pass of a denoiser takes: its FLOPs in matrices and in attention, and what it moves, at any size.

Transformer, one pass of one sample of T latent tokens: 2 P T + 4 L T^2 d, with P the parameters that a token is
multiplied with, L the layers with full attention and d their width; text is added to the tokens of a two-stream
model, or attended to across: 4 L T T_text d. U-Net: a s + b s^2, with s the pixels over those of its usual picture.
Training and generation study, section 3. Functions return expressions over one row per job.
"""

from __future__ import annotations

import polars as pl

from transforms.reference import tables

_COUNTS = (
    "depth",
    "attention_layers",
    "width",
    "text_tokens",
    "pixels_per_token",
    "frames_per_latent",
    "latents_per_token",
    "unet_side_px",
    "token_params",
    "unet_linear_tflop",
    "unet_square_tflop",
)


def with_denoiser(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Adds the columns of denoiser.csv for the model that a column names, and usual_passes; null for an unknown one.

    The first row whose pattern the name fits, in lower case and without its owner, counts.
    """
    facts = tables.read("denoiser").with_row_index("place")
    asked = rows.select(pl.col(name)).unique().drop_nulls()
    spelt = pl.col(name).str.to_lowercase().str.replace_all(r"[\s_]+", "-").str.replace(r"^.*/", "")
    place = pl.coalesce(
        pl.lit(None, pl.UInt32),
        *(
            pl.when(spelt.str.contains(pattern)).then(pl.lit(place, pl.UInt32))
            for place, pattern in facts.select("place", "pattern").iter_rows()
        ),
    )
    found = asked.with_columns(place=place).join(facts, on="place", how="left")
    found = found.select(
        name,
        "denoiser",
        "denoiser_family",
        "is_text_in_sequence",
        pl.col("guidance_passes").cast(pl.Float64).alias("usual_passes"),
        *(pl.col(n).cast(pl.Float64) for n in _COUNTS),
    )
    return rows.join(found, on=name, how="left", maintain_order="left")


def is_unet() -> pl.Expr:
    """True for a U-Net, false for a transformer."""
    return pl.col("unet_side_px").is_not_null()


def is_video() -> pl.Expr:
    """True for a model of clips that is asked for more than one frame."""
    return (pl.col("denoiser_family") == "dit_video") & (pl.col("frames").fill_null(1) > 1)


def latent_tokens() -> pl.Expr:
    """Tokens of a picture or clip after the encoder and the patches."""
    latents = ((pl.col("frames").fill_null(1) - 1) / pl.col("frames_per_latent")).ceil() + 1
    side = pl.col("pixels_per_token")
    area = (pl.col("width_px") / side).floor() * (pl.col("height_px") / side).floor()
    return (latents / pl.col("latents_per_token")).ceil() * area


def _unet_size() -> pl.Expr:
    return pl.col("width_px") * pl.col("height_px") / pl.col("unet_side_px") ** 2


def _sequence() -> pl.Expr:
    return latent_tokens() + pl.when("is_text_in_sequence").then("text_tokens").otherwise(0.0)


def matrix_tflop() -> pl.Expr:
    """TFLOP of one pass that grow with the size: matrices, convolutions, and attention to the text."""
    across = 4 * pl.col("attention_layers") * latent_tokens() * pl.col("text_tokens") * pl.col("width")
    text = pl.when("is_text_in_sequence").then(0.0).otherwise(across)
    transformer = (2 * pl.col("token_params") * _sequence() + text) / 1e12
    unet = pl.col("unet_linear_tflop") * _unet_size()
    return pl.when(is_unet()).then(unet).otherwise(transformer)


def attention_tflop() -> pl.Expr:
    """TFLOP of one pass that grow with the square of the size."""
    transformer = 4 * pl.col("attention_layers") * _sequence() ** 2 * pl.col("width") / 1e12
    unet = pl.col("unet_square_tflop") * _unet_size() ** 2
    return pl.when(is_unet()).then(unet).otherwise(transformer)


def tflop_per_pass() -> pl.Expr:
    """TFLOP of one pass of one sample, without guidance."""
    return matrix_tflop() + attention_tflop()


def layer_values() -> pl.Expr:
    """Elements of the width that all layers of a transformer hold for one pass of one sample."""
    return _sequence() * pl.col("width") * pl.col("depth")
