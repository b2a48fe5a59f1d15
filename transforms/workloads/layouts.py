"""How one copy of a model can be laid out on an instance: one row per job, hardware and number of GPUs.

A layout uses 1, 2, 4, 8 ... GPUs, so an instance of six uses four. Where the job may span nodes and its work can be
sharded over them, a copy also takes 2, 4, 8 ... whole nodes.
"""

from __future__ import annotations

import polars as pl

from transforms.workloads.coefficients import coefficient

TRAINING = ("lora", "qlora", "full", "pretrain")
_TEXT = ("serve", "batch")
_DENOISING = ("image", "video", "session")
_FAST = ("nvlink", "xgmi")


def layouts(jobs: pl.DataFrame, hardware: pl.DataFrame) -> pl.DataFrame:
    """Returns JOB and HARDWARE columns with gpus_per_replica, replicas_per_instance, instances_per_replica.

    Embedding and audio run on one GPU per copy. A training job is one copy: it never shares an instance.
    """
    devices = pl.when(pl.col("gpu_count") < 1).then(1.0).otherwise(pl.col("gpu_count").floor())
    is_slice = pl.col("share_of_gpu") < 1
    node = 2.0 ** pl.when(is_slice).then(1.0).otherwise(devices).log(2).floor()
    can_split = pl.col("task").is_in([*_TEXT, *_DENOISING, *TRAINING]) & pl.col("assumed_peak_gib").is_null()
    can_split |= pl.col("task").is_in(_DENOISING)
    can_span = pl.col("allow_multi_node") & pl.col("task").is_in(TRAINING)
    largest = (
        pl.when(~can_split)
        .then(1.0)
        .when(can_span)
        .then(2.0 ** pl.coalesce("max_gpus", "node_gpus").log(2).floor())
        .otherwise(pl.min_horizontal("node_gpus", "max_gpus"))
    )
    rows = jobs.join(hardware, how="cross").with_columns(devices=devices, node_gpus=node)
    sizes = pl.int_ranges(0, largest.log(2).floor().cast(pl.Int64) + 1)
    rows = rows.with_columns(exponent=sizes).explode("exponent")
    gpus = 2.0 ** pl.col("exponent")
    per_instance = (pl.col("devices") / gpus).floor().clip(lower_bound=1)
    return rows.with_columns(
        gpus_per_replica=gpus,
        replicas_per_instance=pl.when(pl.col("task").is_in(TRAINING)).then(1.0).otherwise(per_instance),
        instances_per_replica=(gpus / pl.col("node_gpus")).clip(lower_bound=1.0),
    ).drop("exponent")


def _is_split() -> pl.Expr:
    return pl.col("gpus_per_replica") > 1


def heads_fail() -> pl.Expr:
    """True where the attention heads do not divide by a tensor-parallel split."""
    rest = pl.col("num_attention_heads") % pl.col("gpus_per_replica")
    return pl.col("task").is_in(_TEXT) & _is_split() & (rest != 0).fill_null(True)


def link_fail() -> pl.Expr:
    """True where the stated link or the size of a node is not of the kind that the job needs."""
    required = pl.col("required_fabric")
    is_slow = ~pl.col("link").is_in([*_FAST, "unknown"])
    slow_split = (required != "any") & _is_split() & is_slow
    full_node = coefficient("full_node_gpus")
    no_full_node = (pl.col("devices") < full_node) | (pl.col("gpus_per_replica") < full_node) | is_slow
    return slow_split | (required.str.starts_with("nvlink_node") & no_full_node)


def fabric_unknown() -> pl.Expr:
    """True where a split needs a link or a fabric of which the offer says nothing."""
    between = (pl.col("instances_per_replica") > 1) & pl.col("fabric_gbps").is_null()
    within = _is_split() & (pl.col("devices") > 1) & (pl.col("link") == "unknown").fill_null(True)
    return within | between


def required_fabric_gbps() -> pl.Expr:
    """Gb/s per node that the job needs between nodes; null where it names none."""
    return pl.col("required_fabric").str.extract(r"rdma_(\d+)gbps").cast(pl.Float64)


def fabric_shortfall() -> pl.Expr:
    """By how much the fabric between nodes misses the need, as a share of the need; null within one node."""
    missing = 1 - pl.col("fabric_gbps") / required_fabric_gbps()
    return pl.when((pl.col("instances_per_replica") > 1) & (missing > 0)).then(missing)
