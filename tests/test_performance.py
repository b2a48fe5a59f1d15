"""Performance against the independent figures in tier.csv: loads, passes and speeds of 19 GPU classes per tier."""

from __future__ import annotations

from functools import lru_cache

import polars as pl
import pytest

from transforms.reference import tables
from transforms.workloads import jobs, precision, sizing, text
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
KEYS = ["tier_id", "gpu_key", "gpu_count"]
tier_id, gpus = pl.col("tier_id"), pl.col("gpu_count")


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
def token_loads():
    """GiB of one GPU for the whole demand on one copy: all users, or the fewest sequences, at the context of the job.

    held_gib is what the layers must keep, reserved_gib what an engine with pages of one size sets aside.
    """
    asked = jobs.tier_jobs().filter(pl.col("task").is_in(TOKEN_TIERS))
    rows = layouts(asked.with_columns(max_gpus=32.0), classes()).filter(
        pl.col("gpus_per_replica") == pl.col("gpu_count")
    )
    facts = tables.read("gpu_speed_class").select("gpu_key", "is_text_calibrated")
    rows = rows.with_columns(gpu_key=pl.col("gpu_keys").list.first(), compute_capability=pl.lit(9.0))
    rows = rows.join(facts, on="gpu_key").join(geometry(), on="model_id")
    rows = text.with_text_terms(precision.with_formats(rows))
    users, tokens = pl.col("concurrent_users"), pl.col("context_tokens")
    held = sizing.state_gib(users, tokens)
    return rows.select(
        *KEYS,
        "usable_gib",
        load_ratio=(pl.col("base_gib") + held) / pl.col("usable_gib"),
        held_gib=held,
        reserved_gib=users * pl.col("sequence_gib"),
    )


def test_every_tier_has_rows_in_the_schema():
    rows = results()
    assert set(rows["tier_id"]) == set(tables.read("tier")["tier_id"])
    assert rows.select(PERFORMANCE.names()).schema == PERFORMANCE


def all_loads():
    """Load of the whole demand on one copy, whatever the task; of text with what the layers hold."""
    columns = [*KEYS, "usable_gib", "load_ratio"]
    usable = classes().select("hardware_id", "usable_gib")
    others = results().join(token_loads(), on="tier_id", how="anti").join(usable, on="hardware_id")
    return pl.concat([token_loads().select(columns), others.select(columns)])


def stated_loads():
    load = pl.col("stated").str.extract(r"@([\d.]+)").cast(pl.Float64)
    count = pl.col("stated").str.extract(r"^(\d+)@").cast(pl.Float64)
    return stated("fits_classes_by_formula").with_columns(gpu_count=count, load=load)


IS_SPLIT = gpus > 1
# How full a card is of what an engine keeps on a common one: from 16 GiB on 0, from 22 GiB on 1.
GROWN = ((pl.col("usable_gib") - 16) / 6).clip(0, 1)
# GiB of one GPU that a load has above the stated one and why, worked out by hand from the published configs.
SHIFTS = [
    # A draft head is not loaded without speculative decoding: 0.845 billion parameters at 16 bit, 14 billion at 8 bit.
    ("^long-code-35b", -1.57 / gpus),
    ("^reason-670b", -13.0 / gpus),
    # Attention data parallel: each GPU keeps all but the experts, 15.3 billion parameters at 8 bit, 1.9 at 16 bit.
    ("^reason-670b", 17.65 * (1 - 1 / gpus)),
    # Recurrent state is divided by the GPUs, where the stated figure replicates it as it does the four KV heads.
    ("^text-27b", 32 * 153_944_064 / 2**30 * (1 / gpus - (1 / gpus).clip(lower_bound=0.25))),
    # FP8 releases store the head of a model with tied embeddings apart: 262,144 x 5,376 at 16 bit.
    ("^mm-chat", 2.62 / gpus),
    # The ten full layers have 4 KV heads, not the 16 of the windows: beyond four GPUs they are replicated.
    ("^mm-chat", 16 * 16_384 * 81_920 / 2**30 * ((1 / gpus).clip(lower_bound=0.25) - 1 / gpus)),
    # An engine on a card of 16 GB keeps 0.8 GiB beside weights and cache, not 2.
    ("^(text|rt|batch|embed|exp-8b|mm-ocr)", pl.when(~IS_SPLIT).then(-1.2 * (1 - GROWN)).otherwise(0.0)),
    # Sharded training holds the next layer beside the one at work, full training a gradient too: each 0.856 billion
    # parameters at 16 bit.
    ("^q?lora-70b", pl.when(IS_SPLIT).then(1.594).otherwise(0.0)),
    ("^full-70b", pl.when(IS_SPLIT).then(2 * 1.594).otherwise(0.0)),
    # Adapters keep their inputs in 32 bit in the layer at work, and frozen 16-bit matrices none of two widths.
    ("^lora-8b", 2 * 4096 * (4 * 38_912 - 2 * 14_336) / 2**30),
    ("^qlora-8b", 2048 * 4 * 38_912 / 2**30),
    ("^qlora-70b", 2048 * 4 * 77_824 / 2**30),
]
# Peaks of pictures, clips and sound are summed by component here, and were assumed there.
COMPONENT_GIB = 0.4


def loads_that_differ(ours, shifts=SHIFTS):
    """Loads off the stated ones, shifted for the reasons above, by more than the last digit and 2 %.

    The stated figures add 2 % to all weights for what kernels pad; here each format has its own padding.
    """
    both = stated_loads().drop_nulls("load").join(ours, on=KEYS)
    assert both.height > 480
    by_reason = [pl.when(tier_id.str.contains(tier)).then(gib).otherwise(0.0) for tier, gib in shifts]
    expected = pl.col("load") + pl.sum_horizontal(by_reason) / pl.col("usable_gib")
    by_component = tier_id.str.contains("^(img|vid|exp-image|lora-img|music|tts|asr)")
    component = pl.when(by_component).then(COMPONENT_GIB / pl.col("usable_gib")).otherwise(0.0)
    allowed = 0.006 + 0.02 * pl.col("load") + component
    off = both.filter((pl.col("load_ratio") - expected).abs() > allowed)
    return off.select(*KEYS, "load", "load_ratio", expected.alias("expected")).rows()


def test_loads_agree_with_the_stated_ones():
    assert loads_that_differ(all_loads()) == []


def test_the_load_comparison_would_see_loads_a_tenth_too_high():
    assert len(loads_that_differ(all_loads().with_columns(pl.col("load_ratio") * 1.1))) > 300


@pytest.mark.parametrize("left_out", range(len(SHIFTS)))
def test_each_reason_for_another_load_is_needed(left_out):
    kept = [shift for place, shift in enumerate(SHIFTS) if place != left_out]
    assert loads_that_differ(all_loads(), kept)


@pytest.mark.parametrize(
    ("tier", "reserved", "held"),
    [
        ("rt-agent-120b", 36 * 2048 * 65_536, 18 * 2048 * (65_536 + 128)),
        ("mm-chat-31b", 60 * 16_384 * 16_384, 10 * 8192 * 16_384 + 50 * 16_384 * 1024),
    ],
)
def test_an_engine_reserves_full_pages_for_windows(tier, reserved, held):
    """Bytes of a user: all layers with the page of the largest for all tokens; in the windows the last tokens only.

    The verdict uses the larger, the stated loads are those of the smaller.
    """
    users = jobs.tier_jobs().filter(tier_id == tier)["concurrent_users"].item()
    one = token_loads().filter(tier_id == tier, gpus == 1).select("held_gib", "reserved_gib").unique()
    assert one.rows() == [pytest.approx((users * held / 2**30, users * reserved / 2**30), rel=1e-6)]


def test_the_fewest_gpus_that_hold_a_job_are_the_stated_ones():
    """A class that is stated not to hold it holds it at no number of GPUs that the job may rent."""
    limits = jobs.tier_jobs().select("tier_id", "max_gpus")
    is_clear = (pl.col("load_ratio") - 0.97).abs() > 0.03
    held = all_loads().join(limits, on="tier_id").filter(gpus <= pl.col("max_gpus"), is_clear)
    held = held.with_columns(holds=pl.col("load_ratio") < 0.97)
    both = stated_loads().filter(pl.col("stated") != "precision").join(held, on=["tier_id", "gpu_key"])
    enough = (pl.col("gpu_count_right") >= gpus).fill_null(False)
    # The stated figures split a served model over 16 GPUs at most.
    tried = (pl.col("gpu_count_right") <= 16) | ~tier_id.is_in(token_loads()["tier_id"].to_list())
    off = both.filter(pl.col("holds") != enough, tried)
    # The inputs that adapters keep, which the stated figures leave out, take these two just above the whole card.
    above = [("lora-70b-bf16", "L40S-48GB"), ("qlora-70b", "RTX4000ADA-20GB")]
    assert sorted(off.select("tier_id", "gpu_key").rows()) == above


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


@lru_cache
def ratios():
    """How much faster a class does a tier here than stated: tier_id, gpu_key, gpu_count, kind, ratio.

    kind is ttft, hours, user (tokens per second of each user of a full copy) or unit (any other rate).
    """
    asked = jobs.tier_jobs().select("tier_id", "concurrent_users")
    rows = speed_pairs().join(asked, on="tier_id")
    is_user = pl.col("speed_unit") == "tokens/s/user"
    is_full = pl.col("users_per_replica") == pl.col("concurrent_users")
    rows = rows.filter(~is_user | is_full)
    takes_s = pl.col("speed_unit").is_in(["s/image", "s/clip"])
    of_replica = (pl.col("speed_unit") == "tokens/s/gpu") & ~pl.col("stated").str.contains("tok/s/gpu")
    ours = pl.when(of_replica).then("replica_speed").otherwise("speed")
    faster = ours / pl.col("stated_speed")
    rate = pl.when(takes_s).then(1 / faster).otherwise(faster)
    kind = pl.when(is_user).then(pl.lit("user")).otherwise(pl.lit("unit"))
    first = rows.drop_nulls("stated_ttft").select(
        *KEYS, kind=pl.lit("ttft"), ratio=pl.col("stated_ttft") / pl.col("ttft_ms")
    )
    found = pl.concat([rows.select(*KEYS, kind=kind, ratio=rate), first, hours()])
    # No host has sixteen cards in slots: such a copy is not laid out, whatever a formula says.
    return found.filter((gpus <= 8) | ~pl.col("gpu_key").str.contains(IN_SLOTS))


def hours():
    """`class:n/hours`: n GPUs do the job in so many hours, by one training run or by as many copies as they hold.

    The stated hours of a run over several nodes hold the loss between them; here one large node stands for them.
    """
    texts = pl.col("stated")
    wanted = stated("passes_constraints_by_formula").with_columns(
        gpus=texts.str.extract(r"^(\d+)/").cast(pl.Float64),
        hours=texts.str.extract(r"/([\d.]+)h").cast(pl.Float64),
    )
    rows = wanted.drop_nulls("gpus").join(passing(), on=["tier_id", "gpu_key"])
    is_run = pl.col("task").is_in(["lora", "qlora", "full", "pretrain"])
    rows = rows.filter(pl.when(is_run).then(pl.col("gpus") == gpus).otherwise(True))
    copies = (pl.col("gpus") / pl.col("gpus_per_replica")).floor()
    rows = rows.filter(copies > 0).with_columns(
        ours=pl.col("work_quantity") / (pl.col("rate_per_hour") * copies)
    )
    fastest = rows.sort("ours").unique(["tier_id", "gpu_key"], keep="first", maintain_order=True)
    return fastest.select(*KEYS, kind=pl.lit("hours"), ratio=pl.col("hours") / pl.col("ours"))


# Cards that hang on PCIe, and reach each other through the host.
IN_SLOTS = "^(RTX|A10-|L4|T4)"
# Tiers by kind of work, and where the median of ours over stated must lie.
GROUPS = [
    # The script behind the stated rates gave 0.81 of the measured ones in the median, 0.65 to 0.99 from the tenth to
    # the ninetieth of a hundred, on servers: a right rate is 1.01 to 1.54 times the stated one.
    ("^(text|rt|long|reason|exp-8b)", "user", 1.01, 1.54),
    # First tokens were no part of that figure. Their prompts are compute, as the rest below: a quarter, as the stated
    # figures ask of a test.
    ("^(text|rt|long|reason|exp-8b)", "ttft", 0.8, 1.25),
    ("^(batch|mm-ocr)", "unit", 0.8, 1.25),
    # The table of words is read and not multiplied: 440 of 596 million parameters are, where the stated rate has all.
    ("^embed", "unit", 0.8 * 596 / 440, 1.25 * 596 / 440),
    ("^(lora-8b|lora-70b)", "unit", 0.8, 1.25),
    ("^full", "unit", 0.8, 1.25),
    ("^pre", "unit", 0.8, 1.25),
    # Launches and unpacking of a step are the same for one sequence as for many. An A100 was measured at 2,341 tokens/s
    # with a 7.7B, one sequence of 2,048: 0.64 of the stated 3,508 for an 8B.
    ("^qlora", "unit", 0.8 * 0.64, 1.25 * 0.64),
    ("^(img|exp-image)", "unit", 0.8, 1.25),
    ("^vid", "unit", 0.8, 1.25),
    ("^lora-img", "hours", 0.8, 1.25),
    # A factor of 1.5 was stated for sound.
    ("^(music|tts|asr)", "unit", 1 / 1.5, 1.5),
]


def medians(rows):
    return [
        rows.filter(tier_id.str.contains(tier), pl.col("kind") == kind)["ratio"].median()
        for tier, kind, _, _ in GROUPS
    ]


def medians_outside(rows):
    pairs = zip(GROUPS, medians(rows), strict=True)
    return [(*group, median) for group, median in pairs if not group[2] <= median <= group[3]]


def test_the_median_speed_of_each_kind_of_work_is_where_measurements_put_it():
    assert medians_outside(ratios()) == []


@pytest.mark.parametrize("factor", [1.6, 1 / 1.6])
def test_the_medians_would_see_all_speeds_off(factor):
    """Sound alone has room for that."""
    off = medians_outside(ratios().with_columns(pl.col("ratio") * factor))
    assert len(off) >= len(GROUPS) - 1


# Farthest that one class may be from its stated speed, either way.
FARTHEST = 2.2
# Where the stated speed is known to be wrong: tiers, classes, kinds, fewest GPUs, lowest and highest ratio. The first
# row that fits a pair counts.
OTHER_LIMITS = [
    # A card of 72 W does not hold 121 TFLOPS, of which the stated rates of the L4 reach 0.6 to 0.8: it sustains about
    # 60. QLoRA has the price of its steps beside.
    ("^qlora", "^L4-", ".", 1, 0.2, 0.6),
    ("^(lora|full|pre|exp-image)", "^L4-", ".", 1, 0.25, 0.75),
    # The base is gathered through the host in each pass of a small step. Two RTX 3090 were measured at 670 tokens/s
    # each with one sequence of 2,048 and 1,050 with four; the stated loss is 12 % at any size.
    ("^(lora-8b|qlora-70b)", IN_SLOTS, "hours", 2, 0.3, 1.1),
    # Launches and unpacking of a step do not get faster with the units: the fastest lose most.
    ("^qlora-8b", "^(B|H|RTXPRO)", ".", 1, 0.4, 0.8),
    # The stated all-reduce over four and eight cards is the 1.2 and 0.57 GB/s of the L40S whatever the slot. Other
    # cards were measured at 6.6 and 5.7, and slots of generation 5 are twice as fast: the link can be 5 to 11 times
    # faster, and the rest of the time is not.
    ("^(text|rt|long|reason|batch)", IN_SLOTS, ".", 4, 1 / FARTHEST, 5.5),
    # The stated attention counts half of what 12,698 new tokens do with 114,278 cached ones, 4 and not 2 products of
    # each pair, and at FP8 rate where the cache has 16 bit: a quarter, where attention is all.
    ("^long-70b-128k-one", "^(B|H)", "ttft", 1, 0.25, 1.0),
    # The stated AMD rate is 0.27 of the data sheet, of kernels of 2024; batches measured since put it at 0.44 to 0.65.
    ("^embed", "^MI300X", ".", 1, 1.0, 0.65 / 0.27 * 596 / 440),
]


def pairs_outside(rows, other_limits):
    low, high = pl.lit(1 / FARTHEST), pl.lit(FARTHEST)
    for tier, gpu, kind, fewest, least, most in reversed(other_limits):
        is_it = tier_id.str.contains(tier) & pl.col("gpu_key").str.contains(gpu)
        is_it &= pl.col("kind").str.contains(kind) & (gpus >= fewest)
        low = pl.when(is_it).then(least).otherwise(low)
        high = pl.when(is_it).then(most).otherwise(high)
    return rows.filter((pl.col("ratio") < low) | (pl.col("ratio") > high)).rows()


def test_each_class_is_near_its_stated_speed():
    assert ratios().height > 750
    assert pairs_outside(ratios(), OTHER_LIMITS) == []


@pytest.mark.parametrize("left_out", range(len(OTHER_LIMITS)))
def test_each_other_limit_is_needed(left_out):
    kept = [limit for place, limit in enumerate(OTHER_LIMITS) if place != left_out]
    assert pairs_outside(ratios(), kept)


@pytest.mark.parametrize("factor", [3, 1 / 3])
def test_a_class_that_is_off_would_be_seen(factor):
    for gpu in stated("speed_by_formula")["gpu_key"].unique():
        wrong = pl.when(pl.col("gpu_key") == gpu).then(factor).otherwise(1.0)
        assert pairs_outside(ratios().with_columns(pl.col("ratio") * wrong), OTHER_LIMITS), gpu


def test_extrapolated_speeds_are_the_stated_ones():
    rows = speed_pairs().filter(pl.col("speed_unit") != "tokens/s/user")
    marked = rows.filter(pl.col("stated").str.ends_with("?"))
    assert marked.height > 20
    assert marked["is_calibrated"].to_list() == [False] * marked.height


def passing():
    """Rows that pass every test of a layout, with what the job asks for."""
    columns = ["tier_id", "kind", "task", "concurrent_users", "max_gpus", "work_quantity"]
    return results().join(jobs.tier_jobs().select(columns), on="tier_id").filter(pl.col("reason").is_null())


# Classes that pass there or here alone.
OTHER_PASSES = {
    # Cards in slots: the stated all-reduce of four is that of the L40S.
    ("long-code-35b-128k", "RTX3090-24GB"),
    ("long-code-35b-128k", "RTX4090-24GB"),
    ("text-27b-fp8-company", "L4-24GB"),
    ("text-27b-fp8-company", "RTX4000ADA-20GB"),
    # Sixteen in one node, which the stated figures do not try.
    ("batch-235b-fp8", "A100-SXM4-40GB"),
    # A step of the stated engine waits 2.8 ms, of a current one about 1 ms: one user gets 74 and 81 of 70 tokens/s.
    ("rt-code-7b", "L40S-48GB"),
    ("rt-code-7b", "RTX4090-24GB"),
    # At an edge: 20.3 s to the first token of 20 (the stated attention runs in FP8), and on a T4, for which no kernels
    # are written any more, 20 tokens/s for two of four users and 1.5 times real time for six of eight streams.
    ("long-70b-128k-one", "RTXPRO6000-SE-96GB"),
    ("exp-8b-bursts", "T4-16GB"),
    ("tts-live", "T4-16GB"),
    # A T4 of 70 W sustains 30 of its 65 TFLOPS.
    ("exp-image-evenings", "T4-16GB"),
    # Windows in full pages (above) take more cards than the job may rent.
    ("mm-chat-31b", "A100-SXM4-40GB"),
    ("mm-chat-31b", "L40S-48GB"),
    ("mm-chat-31b", "RTX5090-32GB"),
    # The next layer that sharded training gathers does not fit beside the stated 0.91 of 20 GB.
    ("lora-8b-bf16", "RTX4000ADA-20GB"),
    ("qlora-70b", "RTX4000ADA-20GB"),
}
# Demands that pass there and here, with other copies.
OTHER_COPIES = {
    # Eight users of a copy get 34 of 30 tokens/s here; the stated card gives 24 to sixteen, and 30 to three.
    ("reason-32b-fp8", "RTXPRO6000-SE-96GB"),
    # At an edge: one card takes 20.8 s to the first token of 20, since a token attends to all of the cached text.
    ("long-70b-128k-one", "H200-SXM-141GB"),
    # Four cards in slots carry all at once.
    ("text-27b-fp8-company", "RTX4090-24GB"),
    # Windows in full pages.
    ("rt-agent-120b", "A100-SXM4-80GB"),
    *(("mm-chat-31b", gpu) for gpu in ("A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB")),
    *(("mm-chat-31b", gpu) for gpu in ("B200-SXM-180GB", "B300-SXM-288GB", "MI300X-192GB")),
    *(("mm-chat-31b", gpu) for gpu in ("RTXA6000-48GB", "RTXPRO6000-SE-96GB")),
}


def carrying():
    """Rows that pass with as many GPUs as the job may rent, and the copies that a demand takes."""
    copies = (pl.col("concurrent_users") / pl.col("users_per_replica")).ceil()
    rows = passing().with_columns(copies=pl.when(pl.col("kind") == "demand").then(copies))
    rented = pl.col("copies").fill_null(1.0) * pl.col("gpus_per_replica")
    return rows.filter((rented <= pl.col("max_gpus")).fill_null(True))


def test_the_stated_classes_pass():
    """The stated runs over several nodes are left out: here each class is one node."""
    wanted = stated("passes_constraints_by_formula").filter(tier_id != "pre-7b-1t")
    ours = carrying().filter(tier_id != "pre-7b-1t")
    differ = set(wanted.select("tier_id", "gpu_key").rows()) ^ set(ours.select("tier_id", "gpu_key").rows())
    assert differ == OTHER_PASSES


def test_demands_pass_with_the_stated_copies():
    """`class:RxT`: R copies of T GPUs carry the demand."""
    ours = carrying().filter(pl.col("kind") == "demand")
    layout = pl.format("{}x{}", pl.col("copies").cast(pl.Int64), pl.col("gpus_per_replica").cast(pl.Int64))
    ours = ours.select("tier_id", "gpu_key", layout.alias("stated"))
    wanted = stated("passes_constraints_by_formula").with_columns(pl.col("stated").str.strip_suffix("?"))
    both = wanted.join(ours, on=["tier_id", "gpu_key"], how="semi")
    assert both.height > 150
    missing = both.join(ours, on=["tier_id", "gpu_key", "stated"], how="anti")
    assert set(missing.select("tier_id", "gpu_key").rows()) == OTHER_COPIES


def test_a_small_step_of_qlora_is_as_slow_as_measured():
    """One A100, a 7.7B, one sequence of 2,048 at a time, all recomputed: measured at 2,341 tokens/s."""
    a100 = results().filter(tier_id == "qlora-8b", pl.col("gpu_key") == "A100-SXM4-80GB", gpus == 1)
    assert a100["speed"].item() == pytest.approx(2341 * 7.72 / 8.03, rel=0.25)


def test_a_clip_on_an_a100_is_no_faster_than_measured():
    """A clip of 81 frames of 1280 x 720 from a 14B of the same shape: 3,343 s for 50 steps, here 20."""
    a100 = results().filter(tier_id == "vid-14b-720p-batch", pl.col("gpu_key") == "A100-SXM4-80GB", gpus == 1)
    assert a100["speed"].item() == pytest.approx(3343 * 20 / 50, rel=0.2)


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
