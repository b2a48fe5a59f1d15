"""What an offer is made of: the GPU behind its name, how many, its memory, its link, and the fabric between nodes."""

from __future__ import annotations

import re
from decimal import Decimal

import polars as pl

from transforms.offers.gpu_cards import cards
from transforms.offers.gpu_names import GpuMatch, is_known_plan, resolve_gpu

NAME_FIELDS = ("gpu_text", "provider", "memory_as_sold", "form_factor_text", "link_text", "known_plan")
GIB = 2**30
SLICE_SHARE = 0.9  # with more of the card's memory than this, the memory is that of the whole card

# GPU makers write GB for 2^30 bytes, so a GPU's 80 GB and 80 GiB are the same number.
GPU_MEMORY_FACTORS = {
    "bytes": 1 / GIB,
    "MB": 1 / 1000,
    "MiB": 1 / 1024,
    "GB": 1,
    "GiB": 1,
    "TB": 1000,
    "TiB": 1024,
}
BYTES = {"bytes": 1, "MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": GIB, "TB": 1e12, "TiB": 2**40}

FAST_LINK = re.compile(r"nvlink|nvswitch|sxm|hgx|nvl\s?-?72")
NO_FAST_LINK = re.compile(r"\b(?:no|without|non)\b[\s-]*(?:nvlink|nvswitch)")
FABRIC = r"(?i:(?:(\d{1,2})\s?[x×]\s?)?)(\d{1,5}(?:\.\d+)?)\s?(G|T)(?:b/s|bps|bit/s|bit\b|igabit|bE\b)"
NO_FABRIC = r"(?i)per gpu|/gpu|per card|up to"


def number(column: str) -> pl.Expr:
    """Returns a text column as a finite number that is not negative; anything else is null."""
    value = pl.col(column).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite() & (value >= 0)).then(value)


def said(column: str) -> pl.Expr:
    """Returns a text column without the spaces around it; a blank text is null."""
    text = pl.col(column).str.strip_chars()
    return pl.when(text != "").then(text)


def scaled(column: str, unit_column: str, factors: dict[str, float]) -> pl.Expr:
    """Returns a quantity in the unit that the factors lead to; an unknown unit gives null."""
    factor = pl.col(unit_column).replace_strict(factors, default=None, return_dtype=pl.Float64)
    return number(column) * factor


def with_quantities(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with GPU memory as sold, host memory in GiB, disk in GB, counts and prices as numbers."""
    count = number("gpu_count")
    memory = scaled("gpu_memory", "gpu_memory_unit", GPU_MEMORY_FACTORS)
    return rows.with_columns(
        listed_count=pl.when(count > 0).then(count),
        ram_gib=scaled("ram", "ram_unit", {unit: size / GIB for unit, size in BYTES.items()}),
        disk_gb=scaled("disk", "disk_unit", {unit: size / 1e9 for unit, size in BYTES.items()}),
        vcpus=number("vcpus"),
        price_number=pl.col("price").cast(pl.Float64, strict=False),
        upfront_number=number("upfront"),
        gpu_text=pl.col("gpu_text").fill_null(""),
        currency=said("currency").str.to_uppercase(),
    ).with_columns(
        memory_as_sold=pl.when(pl.col("gpu_memory_is_total").fill_null(value=False))
        .then(memory / pl.col("listed_count"))
        .otherwise(memory)
        .round(3),
    )


def with_gpus(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with `gpu_candidates`, `gpu_key`, counts, memory and form, each distinct name read once."""
    plans = rows.select("provider", "plan").unique(maintain_order=True)
    known = [plan if plan and is_known_plan(plan, provider) else None for provider, plan in plans.iter_rows()]
    rows = rows.join(
        plans.with_columns(pl.Series("known_plan", known, pl.String)),
        on=["provider", "plan"],
        how="left",
        nulls_equal=True,
    )
    names = rows.select(NAME_FIELDS).unique(maintain_order=True)
    matches = [_resolve(*fields) for fields in names.iter_rows()]
    found = names.with_columns(
        pl.Series("gpu_candidates", [list(match.candidates) for match in matches], pl.List(pl.String)),
        pl.Series("match_count", [_real(match.count) for match in matches], pl.Float64),
        pl.Series("fraction", [_real(match.fraction) for match in matches], pl.Float64),
        pl.Series("is_slice", [match.is_slice for match in matches], pl.Boolean),
        pl.Series("match_memory", [_real(match.memory_gib) for match in matches], pl.Float64),
        pl.Series("nominal_gib", [_nominal(match) for match in matches], pl.Float64),
        pl.Series("contradicted", [list(match.contradicted) for match in matches], pl.List(pl.String)),
        pl.Series("link_class", [_link_class(match) for match in matches], pl.String),
    )
    return (
        rows.join(found, on=NAME_FIELDS, how="left", nulls_equal=True)
        .with_columns(unit_count=pl.coalesce("listed_count", "match_count"), fraction=_fraction())
        .with_columns(gpu_count=_whole_gpus(), vram_gib=_vram())
        .with_columns(
            gpu_key=pl.when(pl.col("gpu_candidates").list.len() == 1).then(
                pl.col("gpu_candidates").list.first()
            )
        )
    )


def _resolve(
    text: str, provider: str, memory: float | None, form: str | None, link: str | None, plan: str | None
) -> GpuMatch:
    gib = None if memory is None else Decimal(str(memory))
    return resolve_gpu(text, provider, gib, form, link, plan)


def _real(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _nominal(match: GpuMatch) -> float | None:
    """Returns the memory of one whole GPU when all candidates have the same."""
    sizes = {cards()[key].vram_gb for key in match.candidates}
    return sizes.pop() if len(sizes) == 1 else None


def _link_class(match: GpuMatch) -> str:
    """Returns how several of these GPUs are joined in one machine, if the name alone decides it."""
    kinds = {_card_link(key) for key in match.candidates}
    return kinds.pop() if len(kinds) == 1 else "unknown"


def _card_link(key: str) -> str:
    card = cards()[key]
    if card.form_factor in ("SXM", "embedded") and card.has_nvlink:
        return "nvlink"
    if card.form_factor == "OAM" and card.link.startswith("InfinityFabric"):
        return "xgmi"
    return "pcie" if card.form_factor in ("PCIe", "NVL") else "unknown"


def _fraction() -> pl.Expr:
    """Returns the share of one GPU that a slice is: as named, else its memory over that of the whole card."""
    memory = pl.coalesce("match_memory", "memory_as_sold")
    by_memory = memory / pl.col("nominal_gib")
    return pl.coalesce("fraction", pl.when(pl.col("is_slice") & (by_memory < SLICE_SHARE)).then(by_memory))


def _whole_gpus() -> pl.Expr:
    """Returns the number of whole GPUs: a slice counts as its share, unless the listing counts in shares itself.

    A slice of unknown share has an unknown number.
    """
    units = pl.col("unit_count")
    is_share = units != units.floor()
    return pl.when(pl.col("is_slice") & ~is_share).then(units * pl.col("fraction")).otherwise(units)


def _vram() -> pl.Expr:
    """Returns the memory of one GPU, or of the slice, as sold.

    Of a slice of unknown share it is what is listed, but not the memory of the whole card.
    """
    nominal, listed = pl.col("nominal_gib"), pl.col("memory_as_sold")
    share = pl.coalesce("fraction", pl.when(pl.col("unit_count") < 1).then("unit_count"))
    is_whole_card = listed.is_null() | (listed >= SLICE_SHARE * nominal)
    of_slice = pl.when(is_whole_card).then(pl.coalesce("match_memory", nominal * share)).otherwise(listed)
    of_part = pl.when(~is_whole_card.fill_null(value=False)).then(listed)
    unshared = pl.when("is_slice").then(of_part).otherwise(pl.coalesce(listed, nominal))
    return pl.when(share.is_not_null()).then(of_slice).otherwise(unshared)


def with_link(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with `link` between the GPUs of one machine and `fabric_gbps` between machines.

    A PCIe card that can take a bridge counts as PCIe unless the listing says that it has NVLink.
    """
    said = pl.concat_str(
        [pl.col(name).fill_null("") for name in ("form_factor_text", "link_text", "gpu_text", "plan")],
        separator=" ",
    ).str.to_lowercase()
    is_fast = said.str.contains(FAST_LINK.pattern) & ~said.str.contains(NO_FAST_LINK.pattern)
    kind = pl.col("link_class")
    return rows.with_columns(
        link=pl.when(pl.col("gpu_count").is_null())
        .then(pl.lit("unknown"))
        .when(pl.col("gpu_count") <= 1)
        .then(pl.lit("none"))
        .when(kind == "xgmi")
        .then(kind)
        .when(is_fast & kind.is_in(["nvlink", "pcie", "unknown"]))
        .then(pl.lit("nvlink"))
        .otherwise(kind),
        fabric_gbps=_fabric(),
    )


def _fabric() -> pl.Expr:
    """Returns Gb/s per node where the fabric text states it; a rate per GPU, or "up to" a rate, is none per node."""
    text = pl.col("fabric_text").str.replace_all(r"(\d),(\d{3})", "$1$2")
    parts = text.str.extract_groups(FABRIC)
    lanes = parts.struct.field("1").cast(pl.Float64, strict=False).fill_null(1.0)
    rate = parts.struct.field("2").cast(pl.Float64, strict=False)
    scale = pl.when(parts.struct.field("3") == "T").then(1000.0).otherwise(1.0)
    return pl.when(~text.str.contains(NO_FABRIC)).then(lanes * rate * scale)
