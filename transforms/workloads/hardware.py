"""What can be rented: one row per distinct set of GPU candidates, count, link, fabric and slice among the offers."""

from __future__ import annotations

import polars as pl

from transforms.reference import tables
from transforms.workloads.coefficients import coefficient
from transforms.workloads.schema import HARDWARE

_RATES = (
    "memory_bandwidth_gb_per_s",
    "fp32_tflops",
    "fp16_dense_tflops",
    "bf16_dense_tflops",
    "fp8_dense_tflops",
    "int8_dense_tops",
    "fp4_dense_tflops",
)


def gpu_facts() -> pl.DataFrame:
    """Returns the figures of each GPU with its speed class: one row per gpu_key.

    `usable_gib` falls back to a stated share of the nominal memory. `nvlink_gb_per_s` is null where there is no
    NVLink or xGMI; `pcie_gb_per_s` is 16 lanes both ways, 32 GB/s for generation 3 and double for each later one.
    """
    has_fast_link = pl.col("has_nvlink").fill_null(False) | pl.col("link").is_in(["InfinityFabric"])
    facts = tables.read("gpu").select(
        "gpu_key",
        "vendor",
        "architecture",
        pl.col("compute_capability").cast(pl.String).cast(pl.Float64, strict=False),
        pl.col("vram_gb").cast(pl.Float64).alias("card_gib"),
        pl.col("usable_gib").fill_null(pl.col("vram_gb") * coefficient("usable_share_of_nominal")),
        *(pl.col(name).cast(pl.Float64) for name in _RATES),
        pl.when(has_fast_link).then(pl.col("link_gb_per_s")).alias("nvlink_gb_per_s"),
        (4.0 * 2.0 ** pl.col("pcie_gen")).alias("pcie_gb_per_s"),
    )
    classes = tables.read("gpu_speed_class").drop("source", "as_of", "note")
    return facts.join(classes, on="gpu_key", how="left", validate="1:1")


def _candidates() -> pl.Expr:
    return pl.col("gpu_candidates").list.unique().list.sort()


def _short(name: str, digits: int) -> pl.Expr:
    """The number as text, without a fraction where it is whole."""
    return pl.col(name).round(digits).cast(pl.String).str.strip_suffix(".0")


def _is_slice() -> pl.Expr:
    """True for a fraction of a GPU: less than one, or clearly less memory than the smallest candidate card."""
    is_fraction = pl.col("gpu_count") < 1
    is_small = pl.col("vram_gib") < coefficient("slice_memory_share") * pl.col("smallest_card_gib")
    return is_fraction | is_small.fill_null(False)


def _with_identity(offerings: pl.DataFrame) -> pl.DataFrame:
    """Adds gpu_keys, smallest_card_gib, slice_gib and hardware_id; the id is null where there is no hardware row."""
    card_gib = dict(tables.read("gpu").select("gpu_key", pl.col("vram_gb").cast(pl.Float64)).iter_rows())
    smallest = _candidates().list.eval(
        pl.element().replace_strict(card_gib, default=None, return_dtype=pl.Float64)
    )
    rows = offerings.with_columns(gpu_keys=_candidates(), smallest_card_gib=smallest.list.min())
    own_memory = pl.coalesce("vram_gib", pl.col("smallest_card_gib") * pl.col("gpu_count"))
    rows = rows.with_columns(slice_gib=pl.when(_is_slice()).then(own_memory).round(2))
    parts = [
        pl.col("gpu_keys").list.join("|"),
        pl.format("x{}", _short("gpu_count", 3)),
        pl.col("link").fill_null("unknown"),
        pl.when(pl.col("fabric_gbps").is_not_null()).then(pl.format("{}Gbps", _short("fabric_gbps", 1))),
        pl.when(pl.col("slice_gib").is_not_null()).then(pl.format("{}GiB", _short("slice_gib", 2))),
    ]
    # NaN is above every number for polars, so a range and not a floor
    is_counted = pl.col("gpu_count").round(3).is_between(0.001, tables.assumption("gpu_count_max"))
    is_memory = ((pl.col("vram_gib") > 0) & pl.col("vram_gib").is_finite()).fill_null(True)
    is_known = (pl.col("gpu_keys").list.len() > 0) & is_counted & is_memory
    hardware_id = pl.when(is_known).then(pl.concat_str(parts, separator=" ", ignore_nulls=True))
    return rows.with_columns(hardware_id=hardware_id)


def hardware_id(offerings: pl.DataFrame) -> pl.Series:
    """Returns the hardware_id of each offering in its order; null without a candidate or a count that can be."""
    return _with_identity(offerings)["hardware_id"]


def _weakest(facts: pl.DataFrame) -> list[pl.Expr]:
    """The weakest figure over the candidates: the least, and null as soon as one is not known."""
    numbers = [name for name, dtype in facts.schema.items() if dtype == pl.Float64 and name != "card_gib"]
    lowest = [pl.when(pl.col(n).null_count() == 0).then(pl.col(n).min()).alias(n) for n in numbers]
    common = ["vendor", "architecture", "hardware_class"]
    agreed = [pl.when(pl.col(n).n_unique() == 1).then(pl.col(n).first()).alias(n) for n in common]
    return lowest + agreed


def _link_rate() -> pl.Expr:
    """GB/s of the link between the GPUs of an instance, both ways; null where it is not known."""
    return (
        pl.when(pl.col("link").is_in(["nvlink", "xgmi"]))
        .then(pl.col("nvlink_gb_per_s"))
        .when(pl.col("link") == "pcie")
        .then(pl.col("pcie_gb_per_s"))
    )


def hardware(offerings: pl.DataFrame) -> pl.DataFrame:
    """Returns the distinct hardware of OFFERING rows as HARDWARE rows, ordered by hardware_id.

    Offerings without a candidate, or with a count or memory that cannot be, have none. Where several candidates
    remain, each figure is the weakest of theirs, and vendor, architecture and class are null unless all agree. A
    slice has its own memory, a share of the rates by the smaller of its count and its memory, and no link to a
    neighbour.
    """
    facts = gpu_facts()
    identity = [
        "hardware_id",
        "gpu_keys",
        "gpu_count",
        "link",
        "fabric_gbps",
        "smallest_card_gib",
        "slice_gib",
    ]
    known = _with_identity(offerings).filter(pl.col("hardware_id").is_not_null())
    rows = known.unique("hardware_id", keep="any").select(identity).with_columns(pl.col("gpu_count").round(3))
    figures = (
        rows.select("hardware_id", pl.col("gpu_keys").alias("gpu_key"))
        .explode("gpu_key")
        .join(facts, on="gpu_key", how="left")
        .group_by("hardware_id")
        .agg(_weakest(facts))
    )
    is_slice = pl.col("slice_gib").is_not_null()
    link = pl.when(is_slice).then(pl.lit("none")).otherwise(pl.col("link").fill_null("unknown"))
    by_memory = (pl.col("slice_gib") / pl.col("smallest_card_gib")).clip(upper_bound=1)
    by_count = pl.when(pl.col("gpu_count") < 1).then(pl.col("gpu_count")).otherwise(1.0)
    share = pl.when(is_slice).then(pl.min_horizontal(by_memory, by_count)).otherwise(1.0)
    slice_usable = pl.col("slice_gib") * coefficient("usable_share_of_nominal")
    return (
        rows.join(figures, on="hardware_id", how="left", validate="1:1")
        .with_columns(link=link, share_of_gpu=share)
        .with_columns(
            *(pl.col(name) * pl.col("share_of_gpu") for name in _RATES),
            vram_gib=pl.coalesce("slice_gib", "smallest_card_gib"),
            usable_gib=pl.when(is_slice).then(slice_usable).otherwise(pl.col("usable_gib")),
            link_gb_per_s=_link_rate(),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in HARDWARE.items())
        .sort("hardware_id")
    )
