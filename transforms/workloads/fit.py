"""What a model needs and how fast it runs on every GPU, without any price: the fewest cards of each that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from transforms.reference import tables
from transforms.workloads import outcome, sizing
from transforms.workloads.hardware import gpu_facts, hardware
from transforms.workloads.models import geometry
from transforms.workloads.performance import performance
from transforms.workloads.schema import PERFORMANCE, columns
from transforms.workloads.wishes import TRAINING

COUNTS = (1, 2, 4, 8)
GPUS = pl.col("gpu_count")
VERDICTS = (
    "fits",
    "tight",
    "loads_but_cannot_serve",
    "does_not_fit",
    "unsupported_precision",
    "unknown",
)
VARIANTS = {
    "with all activations kept": {"recompute": "none"},
    "with every second layer computed again": {"recompute": "selective"},
    "with all layers computed again": {"recompute": "full"},
    "with an 8-bit optimizer": {"optimizer": "adamw_8bit"},
}
OTHER_NEEDS = {
    "with a chunked loss": "need_chunked_loss_gib",
    "with the optimizer in host memory": "need_host_optimizer_gib",
}
FIT = columns(
    {
        "gpu_key": pl.String,
        "gpu_count": pl.Float64,  # of one copy
        "link": pl.String,
        "vram_gib": pl.Float64,  # nominal, of one GPU, as all that follows
        **{
            name: PERFORMANCE[name]
            for name in PERFORMANCE
            if name
            not in (
                "tier_id",
                "hardware_id",
                "gpus_per_replica",
                "replicas_per_instance",
                "instances_per_replica",
                "users_per_replica",
                "certain_users_per_replica",
            )
        },
        "state_low_gib": pl.Float64,  # of a cache: what its layers must hold, where an engine sets more aside
        "users_that_fit": pl.Float64,  # by memory alone; null where the work is no service
    }
)


def fit(job: pl.DataFrame, gpu_keys: Sequence[str] = ()) -> pl.DataFrame:
    """Returns one FIT row per GPU: the fewest of 1, 2, 4 or 8 on which one copy does the job, what fits first.

    Where none does, the row is the fewest that hold it, or the count that comes nearest. `job` is one JOB row;
    `gpu_keys` are those asked for, all that clouds rent without. All users of a service are in the one copy.
    Ordered by verdict, then least memory.
    """
    deck = hardware(machines(gpu_keys or _rented()))
    machine = ("hardware_id", "gpu_keys", "gpu_count", "link", "vram_gib")
    rows = performance(job, deck).join(deck.select(machine), on="hardware_id")
    one_copy = rows.filter(pl.col("gpus_per_replica") == pl.col("gpu_count"))
    asked = job.select("concurrent_users", "worst_verdict_allowed").row(0, named=True)
    one_copy = _with_cache_bounds(one_copy, job)
    judged = _with_all_users(one_copy.with_columns(pl.lit(value).alias(n) for n, value in asked.items()))
    places = {verdict: place for place, verdict in enumerate(VERDICTS)}
    order = pl.col("verdict").replace_strict(places, return_dtype=pl.Int32)
    fails = pl.col("reason").is_not_null()
    is_over = (pl.col("load_ratio") > outcome.load_limit()).fill_null(True)
    nearest = pl.when(is_over).then("load_ratio")
    return (
        judged.with_columns(gpu_key=pl.col("gpu_keys").list.first(), all_gib=pl.col("usable_gib") * GPUS)
        .sort(fails, is_over, nearest, "gpu_count", nulls_last=True)
        .unique("gpu_key", keep="first", maintain_order=True)
        .sort(order, fails, "all_gib", "gpu_count", "gpu_key", nulls_last=True)
        .select(pl.col(name).cast(dtype) for name, dtype in FIT.items())
    )


def variants(job: pl.DataFrame, gpu: str, gpus: float) -> dict[str, float]:
    """Returns GiB of one GPU that a training job needs when it is set up in another way, by what is changed.

    Empty for other work. Only ways that change the need, and that are known, are in it.
    """
    if job["task"][0] not in TRAINING:
        return {}
    machine = hardware(machines([gpu])).filter(pl.col("gpu_count") == gpus)

    def needs(changes: Mapping[str, str]) -> dict[str, float | None]:
        changed = job.with_columns(pl.lit(value).alias(name) for name, value in changes.items())
        rows = performance(changed, machine).filter(pl.col("gpus_per_replica") == gpus)
        return rows.select("need_gib", *OTHER_NEEDS.values()).row(0, named=True) if rows.height else {}

    asked = needs({})
    found = {text: asked.get(column) for text, column in OTHER_NEEDS.items()}
    found |= {text: needs(changes).get("need_gib") for text, changes in VARIANTS.items()}
    return {text: gib for text, gib in found.items() if gib is not None and gib != asked["need_gib"]}


def _with_cache_bounds(rows: pl.DataFrame, job: pl.DataFrame) -> pl.DataFrame:
    """Adds user_low_gib and user_gib: what the cache of one user must hold, and what an engine sets aside for it."""
    asked = job.select("model_id", "kv_precision", "context_tokens").join(
        geometry(), on="model_id", how="left"
    )
    terms = rows.select("hardware_id", "gpus_per_replica", "flags").join(asked, how="cross")
    is_wider = pl.col("flags").list.contains("kv16_fallback")
    terms = terms.with_columns(kv_precision=pl.when(is_wider).then(pl.lit("bf16")).otherwise("kv_precision"))
    one, tokens = pl.lit(1.0), pl.col("context_tokens")
    bounds = terms.select(
        "hardware_id",
        user_low_gib=sizing.state_gib(one, tokens),
        user_gib=sizing.state_reserved_gib(one, tokens),
    )
    return rows.join(bounds, on="hardware_id", how="left", maintain_order="left")


def _with_all_users(rows: pl.DataFrame) -> pl.DataFrame:
    """Puts all users of a service into one copy, where the ranking would add copies, and judges it anew."""
    users, limit = pl.col("concurrent_users"), outcome.load_limit()
    is_judged = (pl.col("speed_unit") == "tokens/s/user") & pl.col("verdict").is_in(VERDICTS[:4])
    base, of_a_user = pl.col("need_gib") - pl.col("state_gib"), pl.col("user_gib")
    held = ((pl.col("usable_gib") * limit - base) / of_a_user).floor().clip(lower_bound=0)
    rows = rows.with_columns(
        base_ratio=base / pl.col("usable_gib"),
        users_that_fit=pl.when(is_judged & (of_a_user > 0)).then(held),
        state_low_gib=pl.when(is_judged).then(pl.col("user_low_gib") * users),
        state_gib=pl.when(is_judged).then(of_a_user * users).otherwise("state_gib"),
        need_gib=pl.when(is_judged).then(base + of_a_user * users).otherwise("need_gib"),
    )
    load = pl.when(is_judged).then(pl.col("need_gib") / pl.col("usable_gib")).otherwise("load_ratio")
    rows = rows.with_columns(load_ratio=load)
    is_over = is_judged & (pl.col("load_ratio") > limit)
    is_slow = is_judged & ~is_over & pl.col("reason").is_null() & (pl.col("sequences_in_flight") < users)
    memory = outcome.memory_failure()
    few = pl.format("as fast as asked for {} users only", pl.col("sequences_in_flight").cast(pl.Int64))
    return rows.with_columns(
        verdict=pl.when(is_judged).then(outcome.memory_verdict()).otherwise("verdict"),
        reason=pl.when(is_over)
        .then(pl.lit("memory"))
        .when(is_slow)
        .then(pl.lit("users"))
        .otherwise("reason"),
        reason_detail=pl.when(is_over).then(memory.detail).when(is_slow).then(few).otherwise("reason_detail"),
        margin_ratio=pl.when(is_over).then(memory.margin).otherwise("margin_ratio"),
    )


def _rented() -> list[str]:
    """Returns the keys of all GPUs but those that are a part of a desktop machine or a board."""
    classes = tables.read("gpu_speed_class")
    return classes.filter(pl.col("hardware_class").ne_missing("soc"))["gpu_key"].to_list()


def machines(gpu_keys: Iterable[str]) -> pl.DataFrame:
    """Returns each GPU in each count, joined as clouds join it: cards in slots by PCIe, whatever bridges exist."""
    facts = gpu_facts().join(
        tables.read("gpu").select("gpu_key", "form_factor", pl.col("link").alias("own_link")), on="gpu_key"
    )
    is_fast = pl.col("nvlink_gb_per_s").is_not_null() & (pl.col("form_factor") != "PCIe")
    link = (
        pl.when(is_fast & (pl.col("vendor") == "AMD"))
        .then(pl.lit("xgmi"))
        .when(is_fast)
        .then(pl.lit("nvlink"))
        .when((pl.col("form_factor") == "PCIe") | pl.col("own_link").str.starts_with("PCIe"))
        .then(pl.lit("pcie"))
        .otherwise(pl.lit("unknown"))
    )
    counts = pl.DataFrame({"gpu_count": [float(count) for count in COUNTS]})
    cards = facts.filter(pl.col("gpu_key").is_in(list(gpu_keys))).with_columns(link=link)
    return cards.join(counts, how="cross").select(
        pl.concat_list("gpu_key").alias("gpu_candidates"),
        "gpu_count",
        link=pl.when(pl.col("gpu_count") == 1).then(pl.lit("none")).otherwise("link"),
        vram_gib=pl.lit(None, pl.Float64),
        fabric_gbps=pl.lit(None, pl.Float64),
    )
