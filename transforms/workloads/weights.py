"""Bytes of the weights: each class of tensors at its own bits, or the size of the release where it is published.

Functions return expressions over the columns of `models.geometry()` and `precision.with_formats`. Formulas: memory
sizing study, section 3. A format never stores everything in its nominal bits: embeddings, head, vision tower and
draft head each have a column of their own in quant_format.csv.
"""

from __future__ import annotations

import polars as pl


def weight_bytes() -> pl.Expr:
    """Bytes of the stored tensors, without the padding of kernels; null where a class that matters is unknown."""
    of_other = pl.col("file_precision") != pl.col("weight_precision")
    of_file = pl.when(~of_other.fill_null(False)).then("file_bytes")
    return pl.coalesce(of_file, "checkpoint_bytes", _uniform_bytes(), _class_bytes())


def loaded_bytes() -> pl.Expr:
    """Bytes of the weights in memory of an engine that runs without speculative decoding.

    Kernels pad the width of an expert to a multiple of their tile; a draft head stays on disk.
    """
    tile, width = pl.col("kernel_tile"), pl.col("expert_width")
    padding = (width / tile).ceil() * tile / width - 1
    padded = pl.col("params_routed") * pl.col("routed_expert_bits") / 8 * padding
    unused = pl.col("params_draft") * pl.col("draft_bits") / 8
    return (weight_bytes() + padded.fill_null(0.0) - unused) * pl.col("load_factor")


def body_bits() -> pl.Expr:
    """Bits of a parameter of attention, dense layers, routers and norms."""
    return pl.when("is_moe").then("other_bits_moe").otherwise("other_bits_dense")


def _uniform_bytes() -> pl.Expr:
    """Bytes in a format that stores every tensor in the same bits: no class needs to be known."""
    bits = body_bits()
    classes = ("routed_expert_bits", "embedding_bits", "head_bits", "vision_bits", "draft_bits")
    is_uniform = pl.all_horizontal(pl.col(name) == bits for name in classes)
    stored = pl.col("params_total") + pl.col("params_vision_extra") + pl.col("params_draft")
    return pl.when(is_uniform).then(stored * bits / 8)


def _class_bytes() -> pl.Expr:
    kept = pl.col("params_embed") + pl.col("params_routed") + pl.col("params_vision")
    # the one table of a model with tied embeddings counts as its head
    table = pl.col("params_embed") - pl.col("params_head")
    is_copied = pl.col("is_tied") & pl.col("unties_head")
    copy = pl.when(is_copied).then("params_head").otherwise(0.0)
    vision = pl.col("params_vision") + pl.col("params_vision_extra")
    bits = (
        (pl.col("params_total") - kept) * body_bits()
        + pl.col("params_routed") * pl.col("routed_expert_bits")
        + (table + copy) * pl.col("embedding_bits")
        + pl.col("params_head") * pl.col("head_bits")
        + vision * pl.col("vision_bits")
        + pl.col("params_draft") * pl.col("draft_bits")
    )
    return bits / 8
