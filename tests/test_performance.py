"""Performance against the independent figures in tier.csv: loads, passes and speeds of 19 GPU classes per tier."""

from __future__ import annotations

from functools import lru_cache

import polars as pl

from transforms.reference import tables
from transforms.workloads import jobs, precision, text
from transforms.workloads.hardware import hardware, hardware_id
from transforms.workloads.layouts import layouts
from transforms.workloads.models import geometry
from transforms.workloads.performance import performance
from transforms.workloads.schema import PERFORMANCE

FAST_LINK = {
    "A100-SXM4-40GB": "nvlink",
    "A100-SXM4-80GB": "nvlink",
    "H100-SXM5-80GB": "nvlink",
    "H200-SXM-141GB": "nvlink",
    "B200-SXM-180GB": "nvlink",
    "B300-SXM-288GB": "nvlink",
    "MI300X-192GB": "xgmi",
}
OFFERED = {
    "gpu_candidates": pl.List(pl.String),
    "gpu_count": pl.Float64,
    "vram_gib": pl.Float64,
    "link": pl.String,
    "fabric_gbps": pl.Float64,
}
TOKEN_TIERS = ("serve", "batch", "embed")


def offer(key, count, link=None, fabric=None, vram_gib=None):
    """One offering with the columns that hardware is made of; the link is that of the class unless given."""
    alone = count is None or count <= 1
    link = link or ("none" if alone else FAST_LINK.get(key, "pcie"))
    keys = key if isinstance(key, list) else [key]
    return {
        "gpu_candidates": keys,
        "gpu_count": count,
        "vram_gib": vram_gib,
        "link": link,
        "fabric_gbps": fabric,
    }


def offers(*rows):
    return pl.DataFrame(list(rows), schema=OFFERED, strict=False)


@lru_cache
def stated(column):
    """The `class:value` pairs of a column of tier.csv, one row each."""
    pairs = [
        (tier, *pair.split(":", 1))
        for tier, text_of_tier in tables.read("tier").select("tier_id", column).iter_rows()
        for pair in (text_of_tier or "").split()
    ]
    return pl.DataFrame(pairs, schema=["tier_id", "gpu_key", "stated"], orient="row")


@lru_cache
def classes():
    """The 19 classes in nodes of 1, 2, 4, 8, 16 and 32, as the figures in tier.csv assume them."""
    keys = stated("fits_classes_by_formula")["gpu_key"].unique().sort()
    sizes = (1, 2, 4, 8, 16, 32)
    return hardware(offers(*(offer(key, n, fabric=3200.0) for key in keys for n in sizes)))


@lru_cache
def results():
    """Performance of all tiers on instances that are one layout: as many GPUs as the copy takes."""
    rows = performance(jobs.tier_jobs(), classes())
    names = classes().select("hardware_id", "gpu_count", pl.col("gpu_keys").list.first().alias("gpu_key"))
    return rows.join(names, on="hardware_id").filter(pl.col("gpus_per_replica") == pl.col("gpu_count"))


@lru_cache
def whole_loads():
    """Load of the whole demand on one copy: all users, or the fewest sequences, at the context of the job."""
    asked = jobs.tier_jobs().filter(pl.col("task").is_in(TOKEN_TIERS))
    rows = layouts(asked.with_columns(max_gpus=32.0), classes()).filter(
        pl.col("gpus_per_replica") == pl.col("gpu_count")
    )
    facts = tables.read("gpu_speed_class").select("gpu_key", "is_text_calibrated")
    rows = rows.with_columns(gpu_key=pl.col("gpu_keys").list.first(), compute_capability=pl.lit(9.0))
    rows = rows.join(facts, on="gpu_key").join(geometry(), on="model_id")
    rows = text.with_text_terms(precision.with_formats(rows))
    need = pl.col("base_gib") + pl.col("concurrent_users") * pl.col("sequence_gib")
    return rows.select("tier_id", "gpu_key", "gpu_count", load_ratio=need / pl.col("usable_gib"))


def test_every_tier_has_rows_in_the_schema():
    rows = results()
    assert set(rows["tier_id"]) == set(tables.read("tier")["tier_id"])
    assert rows.select(PERFORMANCE.names()).schema == PERFORMANCE


# The vision tower of the reading model stays at 16 bit here, as released FP8 checkpoints have it; the stated figures
# quantise it too: 0.5 GiB less, which is 0.027 of a 20 GB card.
LOAD_TOLERANCE = {"mm-ocr-8b": 0.03}


def all_loads():
    """Load of the whole demand on one copy, whatever the task."""
    others = results().join(whole_loads(), on="tier_id", how="anti")
    return pl.concat([whole_loads(), others.select("tier_id", "gpu_key", "gpu_count", "load_ratio")])


def stated_loads():
    load = pl.col("stated").str.extract(r"@([\d.]+)").cast(pl.Float64)
    count = pl.col("stated").str.extract(r"^(\d+)@").cast(pl.Float64)
    return stated("fits_classes_by_formula").with_columns(gpu_count=count, load=load)


def loads_that_differ(ours):
    both = stated_loads().drop_nulls("load").join(ours, on=["tier_id", "gpu_key", "gpu_count"])
    assert both.height > 480
    tolerance = pl.col("tier_id").replace_strict(LOAD_TOLERANCE, default=0.021)
    off = both.filter((pl.col("load_ratio") - pl.col("load")).abs() > tolerance)
    return off.select("tier_id", "gpu_key", "gpu_count", "load", "load_ratio").rows()


def test_loads_agree_with_the_stated_ones():
    assert loads_that_differ(all_loads()) == []


def test_the_load_comparison_would_see_loads_a_tenth_too_high():
    assert len(loads_that_differ(all_loads().with_columns(pl.col("load_ratio") * 1.1))) > 300


def test_the_fewest_gpus_that_hold_a_job_are_the_stated_ones():
    """A class that is stated not to hold it holds it at no number of GPUs that the job may rent."""
    limits = jobs.tier_jobs().select("tier_id", "max_gpus")
    is_clear = (pl.col("load_ratio") - 0.97).abs() > 0.02
    held = all_loads().join(limits, on="tier_id").filter(pl.col("gpu_count") <= pl.col("max_gpus"), is_clear)
    held = held.with_columns(holds=pl.col("load_ratio") < 0.97)
    both = stated_loads().filter(pl.col("stated") != "precision").join(held, on=["tier_id", "gpu_key"])
    enough = (pl.col("gpu_count_right") >= pl.col("gpu_count")).fill_null(False)
    # The stated figures split a served model over 16 GPUs at most.
    tried = (pl.col("gpu_count_right") <= 16) | ~pl.col("tier_id").is_in(whole_loads()["tier_id"].to_list())
    off = both.filter(pl.col("holds") != enough, tried)
    assert off.select("tier_id", "gpu_key", "stated", "gpu_count_right", "load_ratio").rows() == []


def test_precision_and_its_flags_agree_with_the_stated_ones():
    fits = stated("fits_classes_by_formula").with_columns(
        gpu_count=pl.col("stated").str.extract(r"^(\d+)@").cast(pl.Float64)
    )
    unsupported = results().filter(pl.col("verdict") == "unsupported_precision")
    ours = set(unsupported.select("tier_id", "gpu_key").unique().rows())
    assert ours == set(fits.filter(pl.col("stated") == "precision").select("tier_id", "gpu_key").rows())
    both = fits.drop_nulls("gpu_count").join(results(), on=["tier_id", "gpu_key", "gpu_count"])
    marked = pl.col("stated").str.ends_with("w")
    is_weight_only = pl.col("flags").list.contains("weight_only")
    off = both.filter(marked != is_weight_only).filter(pl.col("tier_id") != "lora-img-6b")
    assert off.select("tier_id", "gpu_key", "stated", "flags").rows() == []


def speed_pairs():
    """Stated and own speeds in the unit of the stated one, by kind."""
    own = results().with_columns(replica_speed=pl.col("speed") * pl.col("gpus_per_replica"))
    rows = stated("speed_by_formula").join(own, on=["tier_id", "gpu_key"])
    texts = pl.col("stated")
    layout = texts.str.extract(r"^x(\d+)=").cast(pl.Float64)
    return rows.with_columns(
        layout=layout,
        stated_speed=texts.str.extract(r"(?:=|^)([\d.e+]+)(?:tok|s|x)").cast(pl.Float64),
        stated_ttft=texts.str.extract(r",([\d.]+)ms").cast(pl.Float64),
    ).filter(pl.coalesce(pl.col("layout"), pl.lit(1.0)) == pl.col("gpu_count"))


def test_first_tokens_of_full_replicas_agree_with_the_stated_ones():
    rows = speed_pairs().filter(pl.col("stated_ttft").is_not_null())
    full = rows.filter(pl.col("sequences_in_flight") == pl.col("users_per_replica")).filter(
        pl.col("users_per_replica") > 0
    )
    asked = jobs.tier_jobs().select("tier_id", "concurrent_users")
    full = full.join(asked, on="tier_id").filter(pl.col("users_per_replica") == pl.col("concurrent_users"))
    assert full.height > 80
    off = full.filter((pl.col("ttft_ms") / pl.col("stated_ttft") - 1).abs() > 0.10)
    # The latent-attention node on slower links: the stated figures keep the link term of tensor parallelism.
    off = off.filter(pl.col("tier_id") != "reason-670b-fp8")
    assert off.select("tier_id", "gpu_key", "stated", "ttft_ms").rows() == []


def test_user_rates_of_full_replicas_agree_with_the_stated_ones():
    asked = jobs.tier_jobs().select("tier_id", "concurrent_users")
    rows = speed_pairs().filter(pl.col("speed_unit") == "tokens/s/user").join(asked, on="tier_id")
    full = rows.filter(pl.col("users_per_replica") == pl.col("concurrent_users"))
    assert full.height > 80
    difference = (pl.col("speed") - pl.col("stated_speed")).abs()
    # Stated rates are whole numbers.
    off = full.filter(difference > 0.5 + 0.10 * pl.col("stated_speed"))
    assert off.select("tier_id", "gpu_key", "stated", "speed").rows() == []


# Batch rates: how the stated ones fill the memory was not published with them; these are within a sixth of them.
SPEED_TOLERANCE = {"batch-235b-fp8": 0.16, "batch-8b-fp8": 0.13, "mm-ocr-8b": 0.17}


def test_unit_rates_agree_with_the_stated_ones():
    rows = speed_pairs().filter(pl.col("speed_unit") != "tokens/s/user")
    of_replica = (pl.col("speed_unit") == "tokens/s/gpu") & ~pl.col("stated").str.contains("tok/s/gpu")
    rows = rows.with_columns(ours=pl.when(of_replica).then("replica_speed").otherwise("speed"))
    assert set(rows["speed_unit"]) == {"tokens/s/gpu", "s/image", "s/clip", "audio s/s"}
    assert rows.height > 330
    last_digit = pl.when(pl.col("speed_unit") == "audio s/s").then(0.5).otherwise(0.0)
    allowed = last_digit + pl.col("stated_speed") * pl.col("tier_id").replace_strict(
        SPEED_TOLERANCE, default=0.01
    )
    off = rows.filter((pl.col("ours") - pl.col("stated_speed")).abs() > allowed)
    assert off.select("tier_id", "gpu_key", "stated", "ours").rows() == []


def test_extrapolated_speeds_are_the_stated_ones():
    rows = speed_pairs().filter(pl.col("speed_unit") != "tokens/s/user")
    marked = rows.filter(pl.col("stated").str.ends_with("?"))
    assert marked.height > 20
    assert marked["is_calibrated"].to_list() == [False] * marked.height


def passing():
    """Rows that pass every test of a layout, with what the job asks for."""
    columns = ["tier_id", "kind", "task", "concurrent_users", "max_gpus", "work_quantity"]
    return results().join(jobs.tier_jobs().select(columns), on="tier_id").filter(pl.col("reason").is_null())


# Users per copy at an edge: six people get 30.4 of the 30 tokens/s here, three in the stated figures.
AT_THE_EDGE = {("reason-32b-fp8", "RTXPRO6000-SE-96GB")}


def test_demands_pass_with_the_stated_copies():
    """`class:RxT`: R copies of T GPUs carry the demand, and no other class does."""
    copies = (pl.col("concurrent_users") / pl.col("users_per_replica")).ceil()
    ours = passing().filter(pl.col("kind") == "demand").with_columns(copies=copies)
    ours = ours.filter(pl.col("copies") * pl.col("gpus_per_replica") <= pl.col("max_gpus"))
    demands = ours.select("tier_id").unique()
    wanted = stated("passes_constraints_by_formula").join(demands, on="tier_id", how="semi")
    assert set(wanted.select("tier_id", "gpu_key").rows()) == set(ours.select("tier_id", "gpu_key").rows())
    layout = pl.format("{}x{}", pl.col("copies").cast(pl.Int64), pl.col("gpus_per_replica").cast(pl.Int64))
    layouts_of_ours = set(ours.select("tier_id", "gpu_key", layout.alias("stated")).rows())
    plain = wanted.with_columns(pl.col("stated").str.strip_suffix("?"))
    assert {(row[0], row[1]) for row in set(plain.rows()) - layouts_of_ours} == AT_THE_EDGE


HOURS_TOLERANCE = {"batch-235b-fp8": 0.18, "batch-8b-fp8": 0.15, "mm-ocr-8b": 0.32, "full-70b": 0.03}


def test_jobs_take_the_stated_hours():
    """`class:n/hours`: n GPUs do the job in so many hours, by one training run or by as many copies as they hold.

    The reading job splits where the stated one does not, so that two or four small cards read faster together. The
    stated hours of a run over several nodes hold the loss between them; here one large node stands for them.
    """
    texts = pl.col("stated")
    wanted = stated("passes_constraints_by_formula").with_columns(
        gpus=texts.str.extract(r"^(\d+)/").cast(pl.Float64),
        hours=texts.str.extract(r"/([\d.]+)h").cast(pl.Float64),
    )
    rows = wanted.drop_nulls("gpus").join(passing(), on=["tier_id", "gpu_key"])
    is_run = pl.col("task").is_in(["lora", "qlora", "full", "pretrain"])
    rows = rows.filter(pl.when(is_run).then(pl.col("gpus") == pl.col("gpu_count")).otherwise(True))
    copies = (pl.col("gpus") / pl.col("gpus_per_replica")).floor()
    rows = rows.filter(copies > 0).with_columns(
        ours=pl.col("work_quantity") / (pl.col("rate_per_hour") * copies)
    )
    best = rows.group_by("tier_id", "gpu_key", "hours").agg(pl.col("ours").min())
    assert best.height > 220
    tolerance = pl.col("tier_id").replace_strict(HOURS_TOLERANCE, default=0.022)
    off = best.filter((pl.col("ours") / pl.col("hours") - 1).abs() > tolerance)
    assert off.rows() == []


def test_every_kind_of_hardware_has_an_answer():
    """37 tiers on 220 kinds of hardware."""
    keys = tables.read("gpu")["gpu_key"].to_list()[:110]
    many = hardware(offers(*(offer(key, n) for key in keys for n in (1, 8))))
    rows = performance(jobs.tier_jobs(), many)
    assert rows.height > 15_000
    passed = rows.filter(pl.col("reason").is_null())
    assert passed.select("speed", "rate_per_hour", "load_ratio").null_count().row(0) == (0, 0, 0)
    assert set(rows.filter(pl.col("verdict") == "unknown")["reason"]) <= {"fabric", "gpu_figures", "figures"}


def test_what_fails_says_why_and_by_how_much():
    keys = ("H100-SXM5-80GB", "RTX4090-24GB", "T4-16GB", "TPU-V5E", "NO-SUCH-GPU")
    links = ("nvlink", "pcie", "unknown", "none")
    deck = offers(
        *(offer(k, n, link, f) for k in keys for n in (1, 6, 8) for link in links for f in (None, 800.0))
    )
    rows = performance(jobs.tier_jobs(), hardware(deck))
    failed = rows.filter(pl.col("reason").is_not_null())
    assert (
        failed.filter(pl.col("reason_detail").is_null()).select("tier_id", "hardware_id", "reason").rows()
        == []
    )
    by_degree = failed.filter(pl.col("reason").is_in(["memory", "speed", "ttft", "latency"]))
    assert by_degree.filter(~(pl.col("margin_ratio") > 0)).height == 0
    passed = rows.filter(pl.col("reason").is_null())
    assert passed.filter(~pl.col("verdict").is_in(["fits", "tight"])).height == 0
    unknown = failed.filter(pl.col("verdict") == "unknown")
    assert unknown.filter(pl.col("reason").is_in(["memory", "speed", "ttft", "latency"])).height == 0


def test_nothing_asked_or_nothing_offered_is_an_empty_frame():
    assert performance(jobs.tier_jobs().head(0), classes()).schema == PERFORMANCE
    assert performance(jobs.tier_jobs(), classes().head(0)).height == 0
    assert hardware(offers(offer([], 1), offer("T4-16GB", 0))).height == 0


def test_each_offer_finds_its_hardware():
    deck = offers(
        offer("H100-SXM5-80GB", 8, fabric=3200.0),
        offer(["H100-PCIE-80GB", "H100-SXM5-80GB"], 1),
        offer(["H100-SXM5-80GB", "H100-PCIE-80GB"], 1),
        offer("H100-SXM5-80GB", 0.5),
        offer("H100-SXM5-80GB", 1, vram_gib=10.0),
        offer("H100-SXM5-80GB", 1, vram_gib=74.5),
        offer([], 1),
        offer("H100-SXM5-80GB", None),
    )
    ids = hardware_id(deck).to_list()
    assert ids == [
        "H100-SXM5-80GB x8 nvlink 3200Gbps",
        "H100-PCIE-80GB|H100-SXM5-80GB x1 none",
        "H100-PCIE-80GB|H100-SXM5-80GB x1 none",
        "H100-SXM5-80GB x0.5 none 40GiB",
        "H100-SXM5-80GB x1 none 10GiB",
        "H100-SXM5-80GB x1 none",
        None,
        None,
    ]
    assert hardware(deck)["hardware_id"].to_list() == sorted({key for key in ids if key})
