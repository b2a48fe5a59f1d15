"""How sure a ranking is: what its rows cost at the ends of the speed band, and what would change the order.

Everything is worked out from the rows of the ranking; no speed is predicted again.
"""

from __future__ import annotations

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.bill import USD_DIGITS, bill, is_loss_assumed, total_usd
from transforms.workloads.commitment import break_even_share
from transforms.workloads.eligibility import judge
from transforms.workloads.instances import instance_rules, sized
from transforms.workloads.interruption import daly_interval_hours, extra_share
from transforms.workloads.meter import HOUR_DIGITS
from transforms.workloads.order import price_keys, rounded, tie_keys

SPEED_REASONS = ("speed", "ttft", "latency")


def with_speed_band(placed: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the objective at both ends of the speed band, `objective_low_usd` and `_high_usd`.

    A job takes the same instances for shorter or longer, a demand no fewer or more of them. Null where the end of
    the band is not known, or does not carry the demand with any number of copies.
    """
    fast = [pl.col(f"fast_{name}").alias(name) for name in ("work_hours", "storage_hours")]
    slow = [pl.col(f"slow_{name}").alias(name) for name in ("work_hours", "storage_hours", "instances")]
    return placed.with_columns(
        (total_usd(placed, changes) / placed["quantity"]).round(USD_DIGITS).alias(f"objective_{end}_usd")
        for end, changes in (("low", fast), ("high", slow))
    )


def with_commitment_break_even(placed: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the use of its term at which a reservation costs as much as the best other way.

    That is the cheapest hour of work, losses included, of the same hardware bought by the hour in the same ranking.
    Null for other purchases, and where nobody sells it by the hour.
    """
    by_work = (pl.col("compute_usd") + pl.col("interruption_usd")) / (
        pl.col("instances") * pl.col("work_hours")
    )
    rows = placed.select(
        "job", "purchase", offers["hardware_id"].gather(placed["offer"]), usd_per_hour=by_work
    )
    others = (
        rows.filter(pl.col("purchase") != "reserved")
        .group_by("job", "hardware_id")
        .agg(other=pl.col("usd_per_hour").min())
    )
    other = rows.join(others, on=["job", "hardware_id"], how="left", maintain_order="left")["other"]
    share = break_even_share(pl.col("price_usd_per_instance_hour"), pl.lit(other))
    of_term = pl.when(pl.col("purchase") == "reserved").then(share)
    term_hours = pl.col("term_months") * assumption("hours_per_month")
    return placed.with_columns(
        commitment_break_even_share=of_term.round(HOUR_DIGITS),
        commitment_break_even_hours=(of_term * term_hours).round(HOUR_DIGITS),
    )


def with_spot_advice(placed: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with `checkpoint_advice_min` for spot, and whether they are `is_spot_sensitive`.

    A row whose rate of losses is assumed is sensitive where, between the favourable and the unfavourable rate, it
    passes an offer that does not hang on that assumption, or misses the deadline.
    """
    is_spot, loss = pl.col("purchase") == "spot", pl.col("loss_per_hour")
    write_hours = pl.lit(assumption("checkpoint_write_minutes") / 60)
    advice = daly_interval_hours(write_hours, loss) * 60
    assumed = placed.filter(is_loss_assumed())
    often = assumption("spot_losses_per_hour_high")
    ends = {"low": assumption("spot_losses_per_hour_low"), "high": often}
    moved_usd = {
        end: total_usd(assumed, [pl.lit(rate).alias("loss_per_hour")]) / assumed["quantity"]
        for end, rate in ends.items()
    }
    moved = assumed.select("merit", "job", is_late=_is_late(often)).with_columns(**moved_usd)
    firm = placed.filter(~is_loss_assumed()).select("job", usd=rounded("objective_usd"))
    below = [_firm_rows_below(moved, firm, end) for end in ends]
    is_passing = pl.col("is_late") | (pl.col("below_low") < pl.col("below_high"))
    passing = moved.with_columns(*below).filter(is_passing)["merit"]
    return placed.with_columns(
        checkpoint_advice_min=pl.when(is_spot & (loss > 0)).then(advice),
        is_spot_sensitive=pl.col("merit").is_in(passing.implode()),
    )


def _is_late(loss_rate: float) -> pl.Expr:
    """Returns whether a job misses its deadline when losses come at that rate."""
    interval_hours = pl.col("checkpoint_interval_min").fill_null(0) / 60
    stretch = 1 + extra_share(pl.lit(loss_rate), interval_hours, pl.col("start_hours"))
    late = pl.col("start_hours") + pl.col("work_hours") * stretch > pl.col("deadline_hours")
    return late.fill_null(False)


def _firm_rows_below(moved: pl.DataFrame, firm: pl.DataFrame, end: str) -> pl.Series:
    """Returns how many firm rows of the same job cost less than each moved row at that end."""
    counted = firm.drop_nulls().sort("usd").with_columns(below=pl.int_range(1, pl.len() + 1).over("job"))
    asked = moved.select("merit", "job", usd=rounded(end)).sort("usd")
    found = asked.join_asof(
        counted, on="usd", by="job", strategy="backward", allow_exact_matches=False, check_sortedness=False
    )
    in_order = moved.select("merit").join(found, on="merit", how="left", maintain_order="left")
    return in_order["below"].fill_null(0).alias(f"below_{end}")


def with_survival(
    placed: pl.DataFrame, cheapest: pl.DataFrame, offers: pl.DataFrame, machine_rows: pl.DataFrame
) -> pl.DataFrame:
    """Returns the rows with what the headline survives: is the first offer still one with the same GPU?

    `survives_slower` and `survives_faster` are with all speeds lower or higher by a factor, `survives_loss` is
    without the offer itself; null in the other rows. `cheapest` are the priced rows that stand for each machine.
    """
    gpus = offers.select("offer", gpu=pl.col("gpu_candidates").list.sort().list.join("|"))
    leads = placed.filter("is_headline").join(gpus, on="offer", how="left")
    may_lead = cheapest.join(leads.select("job", "obstacle"), on=["job", "obstacle"])
    next_ones = placed.filter(pl.col("can_lead") & ~pl.col("is_headline")).unique(
        "job", keep="first", maintain_order=True
    )
    firsts = {
        "survives_slower": _first_at_speed(may_lead, machine_rows, assumption("slower_speed_factor")),
        "survives_faster": _first_at_speed(may_lead, machine_rows, assumption("faster_speed_factor")),
        "survives_loss": next_ones,
    }
    kept = [pl.Series("job", leads["job"])]
    for name, first in firsts.items():
        now = first.select("job", "offer").join(gpus, on="offer").select("job", now="gpu")
        told = leads.select("job", "gpu").join(now, on="job", how="left", maintain_order="left")
        kept.append((told["gpu"] == told["now"]).fill_null(False).alias(name))
    survivals = placed.select("job", "is_headline").join(
        pl.DataFrame(kept), on="job", how="left", maintain_order="left"
    )
    return placed.with_columns(
        pl.when("is_headline").then(pl.lit(survivals[name])).alias(name) for name in firsts
    )


def _first_at_speed(cheapest: pl.DataFrame, machine_rows: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Returns job and offer of the first of the cheapest offers of each machine when all speeds are multiplied.

    Jobs are sized again. A demand keeps its copies where its limits have the slack, and gets users in proportion to
    the speed where they have not; a cache that is full holds no more at a higher speed.
    """
    own = [
        name for name in cheapest.columns if name not in machine_rows.columns or name in ("job", "machine")
    ]
    rows = cheapest.lazy().select(own).join(machine_rows.lazy(), on=["job", "machine"], how="left")
    slack = pl.min_horizontal("slack_speed", "slack_ttft", "slack_latency").fill_null(float("inf"))
    is_kept = pl.col("limiting_factor") == "cache_capacity" if factor > 1 else slack >= 1 / factor - 1
    users = pl.col("users_per_replica")
    reason = pl.col("layout_reason")
    is_met_now = reason.is_in(SPEED_REASONS) & (pl.col("layout_margin_ratio") <= factor - 1)
    moved = rows.with_columns(
        *(pl.col(name) * factor for name in ("rate_per_hour", "rate_low_per_hour", "rate_high_per_hour")),
        users_per_replica=pl.when(is_met_now)
        .then(pl.max_horizontal(users, pl.lit(1.0)))
        .when(is_kept.fill_null(False))
        .then(users)
        .otherwise((users * factor).floor()),
        layout_reason=pl.when(~is_met_now.fill_null(False)).then(reason),
    )
    passing = judge(sized(moved), instance_rules()).filter(pl.col("failed_rules") == 0)
    return (
        bill(passing)
        .with_columns(
            objective_usd=pl.col("total_usd") / pl.col("quantity"),
            gpus_rented=pl.col("instances") * pl.col("gpu_count"),
        )
        .sort("job", *price_keys(), *tie_keys(), nulls_last=True)
        .unique("job", keep="first", maintain_order=True)
        .select("job", "offer")
        .collect()
    )
