"""How many instances of an offer a job needs with each layout, whether they keep up, and what binds them."""

from __future__ import annotations

import polars as pl

from transforms.reference.tables import assumption
from transforms.workloads.coefficients import coefficient
from transforms.workloads.eligibility import RATIO_DIGITS, Frame, Rule
from transforms.workloads.interruption import extra_share
from transforms.workloads.meter import HOUR_DIGITS

TRAINING = ("lora", "qlora", "full", "pretrain")
DEFAULT_REASON = {
    "does_not_fit": "memory",
    "tight": "memory",
    "loads_but_cannot_serve": "speed",
    "unsupported_precision": "precision",
}
ROUNDING = 1e-9  # a quotient that is whole but for the rounding of floats stays whole


def sized(frame: Frame) -> Frame:
    """Returns the frame with instances, replicas and hours; null where a fact is missing.

    A demand gets the copies that carry its users and its monthly quantity; a job the fewest instances that
    meet the deadline. `needed_groups` may exceed `max_groups`; `instances` stays within. A group is what is rented
    together: one instance, or the instances that one copy spans. A training run is one group. Columns with `slow_`
    and `fast_` are those at the ends of the speed band: a job takes the same instances for longer or shorter, a
    demand takes more instances, or no fewer.
    """
    is_demand = pl.col("kind") == "demand"
    span = pl.max_horizontal(pl.col("instances_per_replica").fill_null(1), pl.lit(1.0))
    grouped = (
        frame.with_columns(span=span, start_hours=pl.col("start_minutes").fill_null(0) / 60)
        .with_columns(
            group_replicas=pl.when(pl.col("span") > 1).then(1.0).otherwise(pl.col("replicas_per_instance")),
            stretch=1 + _share_lost(),
            max_groups=_max_groups(),
        )
        .with_columns(
            copies=pl.when(is_demand).then(_copies("users_per_replica", "rate_per_hour")),
            slow_copies=_copies("certain_users_per_replica", "rate_low_per_hour"),
        )
        .with_columns(
            needed_groups=pl.when(is_demand)
            .then((pl.col("copies") / pl.col("group_replicas") - ROUNDING).ceil())
            .otherwise(_groups_of_job())
        )
    )
    # a horizontal minimum passes over nulls; what is unknown stays unknown
    groups = pl.when(pl.col("needed_groups").is_not_null()).then(
        pl.min_horizontal("needed_groups", "max_groups")
    )
    running = groups * pl.col("group_replicas")
    slow_groups = (pl.col("slow_copies") / pl.col("group_replicas") - ROUNDING).ceil()

    def hours(rate_per_hour: str) -> pl.Expr:
        of_job = pl.col("work_quantity") / (pl.col(rate_per_hour) * running)
        return pl.when(is_demand).then(pl.col("hours_per_month")).otherwise(of_job).round(HOUR_DIGITS)

    return (
        grouped.with_columns(
            running_replicas=running,
            instances=groups * pl.col("span"),
            slow_instances=pl.when(is_demand).then(slow_groups).otherwise(groups) * pl.col("span"),
            replicas=pl.when(is_demand).then(pl.min_horizontal(pl.col("copies"), running)).otherwise(running),
            work_hours=hours("rate_per_hour"),
            slow_work_hours=hours("rate_low_per_hour"),
            fast_work_hours=hours("rate_high_per_hour"),
        )
        .with_columns(
            _elapsed_hours(pl.col(f"{end}work_hours")).round(HOUR_DIGITS).alias(f"{end}elapsed_hours")
            for end in ("", "slow_", "fast_")
        )
        .with_columns(
            pl.when(is_demand)
            .then(assumption("hours_per_month"))
            .otherwise(f"{end}elapsed_hours")
            .alias(f"{end}storage_hours")
            for end in ("", "slow_", "fast_")
        )
        .with_columns(
            certainty=pl.when(_is_certain().fill_null(False))
            .then(pl.lit("certain"))
            .otherwise(pl.lit("likely"))
        )
    )


def _share_lost() -> pl.Expr:
    """Returns the time that interruptions add, as a share of the work."""
    return extra_share(
        pl.col("loss_per_hour"), pl.col("checkpoint_interval_min").fill_null(0) / 60, pl.col("start_hours")
    )


def _max_groups() -> pl.Expr:
    """Returns the most groups that may be rented: one at least, since an instance too large is another test."""
    group_gpus = pl.col("gpu_count") * pl.col("span")
    by_gpus = (pl.col("max_gpus") / group_gpus + ROUNDING).floor().fill_null(float("inf"))
    return (
        pl.when(pl.col("task").is_in(TRAINING)).then(1.0).otherwise(pl.max_horizontal(by_gpus, pl.lit(1.0)))
    )


def _copies(users_per_replica: str, rate_per_hour: str) -> pl.Expr:
    """Returns the copies that carry all users of a demand at once and the quantity of the month."""
    users_of_copy = pl.when(pl.col(users_per_replica) >= 1).then(users_per_replica)
    by_users = (pl.col("concurrent_users") / users_of_copy - ROUNDING).ceil()
    monthly = pl.col(rate_per_hour) * pl.col("hours_per_month")
    by_quantity = pl.when(monthly > 0).then((pl.col("work_quantity") / monthly - ROUNDING).ceil())
    return pl.when(by_users.is_not_null()).then(pl.max_horizontal(by_users, by_quantity))


def _groups_of_job() -> pl.Expr:
    """Returns the fewest groups that finish before the deadline; one without a deadline, null without a rate."""
    group_rate = pl.col("rate_per_hour") * pl.col("group_replicas")
    group_hours = pl.col("work_quantity") * pl.col("stretch") / pl.when(group_rate > 0).then(group_rate)
    hours_left = pl.col("deadline_hours") - pl.col("start_hours")
    in_time = (
        pl.when(hours_left > 0).then((group_hours / hours_left - ROUNDING).ceil()).otherwise(float("inf"))
    )
    groups = pl.when(pl.col("deadline_hours").is_null()).then(1.0).otherwise(in_time)
    return pl.when(group_hours.is_not_null()).then(pl.max_horizontal(groups, pl.lit(1.0)))


def _elapsed_hours(work_hours: pl.Expr) -> pl.Expr:
    """Returns hours from the first command to the last result: start-up, work and what interruptions cost."""
    return pl.col("start_hours") + work_hours * pl.col("stretch")


def _is_certain() -> pl.Expr:
    """Returns whether the low end of the speed band still does the job with the same instances."""
    users_of_copy = (pl.col("concurrent_users") / pl.col("running_replicas") - ROUNDING).ceil()
    in_time = pl.col("deadline_hours").is_null() | (pl.col("slow_elapsed_hours") <= pl.col("deadline_hours"))
    carried = users_of_copy <= pl.col("certain_users_per_replica")
    return pl.when(pl.col("kind") == "demand").then(carried).otherwise(in_time)


def instance_rules() -> tuple[Rule, ...]:
    """Returns the tests of a sized layout, in the order in which the first failure is the reason."""
    return (*_hold_rules(), *_keep_up_rules())


def _hold_rules() -> tuple[Rule, ...]:
    verdict, reason = pl.col("verdict"), pl.col("layout_reason")
    is_unknown = verdict.fill_null("unknown") == "unknown"
    is_held = (verdict == "fits") | ((verdict == "tight") & (pl.col("worst_verdict_allowed") == "tight"))
    default = verdict.replace_strict(DEFAULT_REASON, default=None, return_dtype=pl.String)
    # the margin of a test that failed for another reason than memory is its own, and may be none
    is_over = (verdict == "tight") & reason.is_null()
    over_limit = pl.when(is_over).then(pl.col("load_ratio") / coefficient("fit_load_limit") - 1)
    return (
        Rule(
            reason=pl.coalesce(reason, pl.lit("performance")),
            passes=pl.when(~is_unknown).then(True),
            detail=pl.col("layout_detail"),
        ),
        Rule(
            reason=pl.coalesce(reason, default, pl.lit("memory")),
            passes=is_unknown | (is_held & reason.is_null()),
            margin_ratio=pl.coalesce(pl.col("layout_margin_ratio"), over_limit),
            detail=pl.col("layout_detail"),
        ),
    )


def _keep_up_rules() -> tuple[Rule, ...]:
    is_demand, spans = pl.col("kind") == "demand", pl.col("span") > 1
    # a layout that was out before has no figures to judge, and is not counted twice
    is_out = (
        ~pl.col("verdict").is_in(["fits", "tight"]).fill_null(False) | pl.col("layout_reason").is_not_null()
    )
    capacity = pl.col("max_groups") * pl.col("group_replicas") * pl.col("users_per_replica")
    group_gpus = pl.col("gpu_count") * pl.col("span")
    return (
        Rule(pl.lit("speed"), is_out | pl.when(pl.col("needed_groups").is_not_null()).then(True)),
        Rule(
            pl.lit("max_gpus"),
            ~spans | (group_gpus <= pl.col("max_gpus")).fill_null(True),
            margin_ratio=group_gpus / pl.col("max_gpus") - 1,
        ),
        # one lost node stops a run over several
        Rule(pl.lit("purchase_kind"), ~spans | (pl.col("purchase") != "spot"), detail=pl.col("purchase")),
        Rule(
            pl.when(is_demand).then(pl.lit("users")).otherwise(pl.lit("deadline")),
            is_out | (pl.col("needed_groups") <= pl.col("max_groups")).fill_null(True),
            margin_ratio=pl.when(is_demand)
            .then(pl.col("concurrent_users") / capacity - 1)
            .otherwise(pl.col("elapsed_hours") / pl.col("deadline_hours") - 1),
        ),
    )


def with_tightest(frame: Frame) -> Frame:
    """Returns the frame with the constraint that has least slack, and the slack: 0.24 is limit + 24 %."""
    allows_tight = pl.col("worst_verdict_allowed") == "tight"
    limit = (
        pl.when(allows_tight).then(coefficient("tight_load_limit")).otherwise(coefficient("fit_load_limit"))
    )
    is_seconds = pl.col("speed_unit").str.starts_with("s/").fill_null(False)
    floor = pl.coalesce("min_tokens_per_s_per_user", "min_stream_rtf")
    slack = {
        "memory": limit / pl.col("load_ratio") - 1,
        "speed": pl.when(~is_seconds).then(pl.col("speed") / floor - 1),
        "ttft": pl.col("max_ttft_ms") / pl.col("ttft_ms") - 1,
        "latency": pl.when(is_seconds).then(pl.col("max_latency_s") / pl.col("speed") - 1),
        "deadline": pl.when(pl.col("kind") == "job").then(
            pl.col("deadline_hours") / pl.col("elapsed_hours") - 1
        ),
    }
    named = frame.with_columns(
        value.round(RATIO_DIGITS).alias(f"slack_{name}") for name, value in slack.items()
    )
    least = pl.min_horizontal(f"slack_{name}" for name in slack)
    which = pl.coalesce(pl.when(pl.col(f"slack_{name}") == least).then(pl.lit(name)) for name in slack)
    return named.with_columns(tightest_slack_ratio=least, tightest_constraint=which)
